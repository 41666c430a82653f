"""Defines the environment twenty questions: find the hidden object with yes/no questions."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from nlac_bench.envs.datasets import DataSource
from nlac_bench.envs.text_env import Outcome, TextEnv
from nlac_bench.envs.twenty_questions import player
from nlac_bench.envs.twenty_questions.games import games
from nlac_bench.envs.twenty_questions.objects import official_world
from nlac_bench.envs.twenty_questions.oracles import (
    SAID,
    KnowledgeOracle,
    LLMOracle,
    Oracle,
    Recorder,
    ReplayOracle,
    Unknowns,
)
from nlac_bench.simulators.oracle20 import World, embedded_world, find_question
from nlac_bench.types import ChatFn, Info

QUESTIONS = 20
MAX_NAMED = 4
"""Maximal number of objects that a question may name, so that an agent cannot enumerate the object list."""

OracleName = Literal["knowledge", "llm", "replay"]
RewardName = Literal["lmrl", "binary"]
Level = Literal["full", "easy"]

OPENING = (
    "I am thinking of an object. You have 20 questions to find out what it is. Ask one yes/no question at a "
    'time; to guess, name the object in a question, such as "Is it a ...?". What is your first question?'
)
RULES = (
    "You are playing twenty questions. The other player is thinking of an everyday object, and you have to "
    "find out which one. Each turn, ask exactly one question that can be answered with yes or no; write "
    'nothing else. When you think you know the object, name it in a question, such as "Is it a ...?". You '
    "win when you name the right object within 20 questions; the fewer questions you need, the better. A "
    "message that is not a yes/no question also counts as one of the 20."
)
RULES_OF_UNKNOWNS = (
    f' If the other player does not know the answer, the reply is "{SAID[None]}"; that question counts, too.'
)
COMMON_QUESTIONS = (
    "Is it alive?",
    "Is it an animal?",
    "Is it man-made?",
    "Can you eat it?",
    "Is it bigger than a breadbox?",
)


@dataclass(slots=True)
class GameState:
    """All state that changes during a game."""

    hidden: int
    asked: list[tuple[str, bool | None]] = field(default_factory=list)
    """The questions that were answered: True for yes, False for no, None for "I can't say."."""
    turns: int = 0
    unknown: int = 0

    def copy(self) -> "GameState":
        """Return an independent copy."""
        return GameState(self.hidden, list(self.asked), self.turns, self.unknown)


class TwentyQuestionsEnv(TextEnv):
    """Twenty questions: find the hidden object by asking yes/no questions.

    The rules are those of LMRL-Gym's twenty questions (Abdulhai et al. 2023, arXiv 2311.18232), the official
    objects are those of the NLAC paper (arXiv 2512.04601): the 1,823 words of THINGS (Hebart et al. 2019).

    ## Action Space
    Text: one yes/no question. Of a longer message the last question is used; text in ``<think>`` tags and
    statements are ignored. A message without a question, or whose question cannot be answered by yes or no
    ("What colour is it?"), has more than 60 words or names more than four objects, is an invalid action: the
    step is counted and the observation states the reason.

    A *guess* is a question that claims that the thing is one object, named by its word or an accepted variant
    (plural, synonym), as whole words: "Is it a violin?", "Is it a brown wooden violin?", "Is it a couch or
    sofa?" (two names of one object). A question that only mentions an object ("is it like a violin?", "is it
    used to play the violin?", "is it a violin case?"), denies it, or names several objects ("Is it a dog or
    a cat?") is answered, but is not a guess and cannot win.

    ## Observation Space
    Text: "Yes.", "No." or "I can't say." and how many questions are left. If a message has several questions,
    the observation says which one was answered.

    ## Starting State
    A hidden object, drawn from the split's games with ``np_random`` or selected by
    ``options={"task_id": …}``, and a fixed opening message.

    ## Reward
    ``lmrl``: -1 per question, 0 for the winning one: a win on question k returns -(k-1), a loss -20.
    ``binary``: 1 for a win, else 0. The NLAC results use ``binary``.

    ## Episode End
    An episode terminates with ``success`` when a guess is right and the oracle says yes, and with
    ``max_steps`` after question 20. It is never truncated.

    ## Information
    In addition to the keys of every ``TextEnv``: ``oracle`` (its name; scores under different oracles cannot
    be compared), ``level``; at each step also ``guess`` (whether the question was a guess), ``known`` (False
    if the oracle does not know the answer), ``unknown_rate`` (share of this episode's answered questions to
    which the oracle did not know the answer).

    ## Arguments
    * ``split``: ``"train"``, ``"validation"`` or ``"test"``, which have different objects: 102, 51 and 102 of
      the embedded ones (33, 10 and 21 at level ``"easy"``), 1,000, 100 and 500 of the official ones.
    * ``data``: ``"embedded"`` (255 everyday objects, a knowledge base of this project), ``"official"`` or a
      folder with ``things_objects.tsv`` and ``oewn_things.jsonl.gz``.
    * ``level``: ``"full"`` (all objects) or ``"easy"`` (64 well-known ones).
    * ``reward``: ``"lmrl"`` or ``"binary"``.
    * ``oracle``: ``"knowledge"`` (offline, deterministic), ``"llm"`` (a model through ``chat``; the reference
      for official data if a model is available) or ``"replay"`` (the answers of ``recording``).
    * ``unknowns``: the answer to a question whose answer the oracle does not know: ``"say"`` ("I can't say.")
      or ``"no"`` ("No.", as in LMRL-Gym, whose oracle says only yes or no). Either costs a question. Scores
      with different values cannot be compared.
    * ``chat``: function with which the ``llm`` oracle calls its model.
    * ``recording``: a JSON-lines file of answers; ``replay`` reads it, other oracles append to it.
    * ``render_mode``: None or ``"ansi"``.

    ## Version History
    * v0: first version. Its ``env_version`` is "1" since most cells of the official objects are decided, fair
      guesses with a modifier win, and an answer that depends on a part of the question that was not
      understood is unknown; "2" since objects are divided into train, validation and test (the tests of
      level ``"easy"`` and of official data are those of "1"); "3" since an unknown answer is "I can't
      say." by default, the name of what a thing is used as is not a guess, and "is it a" is not answered with
      no for the kinds of a thing in WordNet, and a question that leaves its object open ("Is it a ...?") is
      not answered; "4" since "not" denies both sides of "not a and not b", heights are compared with
      heights, more amounts are read, and others are not answered with no; and "5" since a comma ends what
      "not" denies, and "non" denies the next word only.

    Raises:
        ValueError: a split, level, reward, oracle or value of ``unknowns`` is unknown, or an argument of the
            oracle is missing.
        DataError: the data are missing, altered or unreadable.
    """

    name: ClassVar[str] = "twenty_questions"
    env_version: ClassVar[str] = "5"
    one_line = True
    splits = ("train", "validation", "test")
    max_steps: int = QUESTIONS
    _state: GameState

    def __init__(
        self,
        *,
        split: str = "test",
        data: str | os.PathLike[str] = "embedded",
        level: Level = "full",
        reward: RewardName = "lmrl",
        oracle: OracleName = "knowledge",
        unknowns: Unknowns = "say",
        chat: ChatFn | None = None,
        recording: str | os.PathLike[str] | None = None,
        render_mode: str | None = None,
    ) -> None:
        for what, value, allowed in (("level", level, Level), ("reward", reward, RewardName),
                                     ("oracle", oracle, OracleName),
                                     ("unknowns", unknowns, Unknowns)):  # fmt: skip
            if value not in get_args(allowed):
                raise ValueError(f"{what} must be one of {', '.join(get_args(allowed))}, got {value!r}")
        if chat is not None and not callable(chat):
            raise TypeError(f"chat must be a function that calls a model, got {chat!r:.80}")
        self.world, source = _world(os.fspath(data))
        episodes = games(self.world, split, level, official=source.kind != "embedded")
        self._games = {game.task_id: game for game in episodes}
        super().__init__(task_ids=tuple(self._games), split=split, source=source, render_mode=render_mode)
        self.level = level
        self.reward = reward
        easy = set(self.world.kb.easy)
        self._candidates = np.array([level == "full" or name in easy for name in self.world.names])
        self.unknowns: Unknowns = unknowns
        self._oracle = _oracle(oracle, self.world, unknowns, chat, recording)
        self.remote = self._oracle.remote

    async def areset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[str, Info]:
        """Reset the environment; ``info`` also names the oracle and the level."""
        observation, info = await super().areset(seed=seed, options=options)
        return observation, {**info, "oracle": self._oracle.name, "level": self.level}

    async def _begin(self, task_id: str) -> str:
        self._state = GameState(self._games[task_id].hidden)
        return OPENING

    async def _respond(self, action: str) -> Outcome:
        question = find_question(action)
        if question.problem is not None:
            return self._invalid(f"{question.problem} Ask one question that can be answered with yes or no.")
        if len(question.words) > World.max_words:
            return self._invalid(f"That question is too long; use at most {World.max_words} words.")
        if self.world.mentioned(question.words) > MAX_NAMED:
            return self._invalid(f"That question names too many objects; name at most {MAX_NAMED}.")
        formula = self.world.read(question.words)
        state = self._state
        answer = await self._oracle.answer(state.hidden, question.text, formula)
        state.turns += 1
        yes = False if answer.yes is None and self.unknowns == "no" else answer.yes
        state.asked.append((question.text, yes))
        state.unknown += not answer.known
        named = self.world.guessed(formula)
        won = yes is True and state.hidden in named
        says = SAID[yes]
        if question.questions > 1:
            says += f' (That answers only your last question, "{question.text[:200]}".)'
        outcome = Outcome(
            observation=f"{says} You found it." if won else f"{says} {self._left()}",
            reward=self._step_reward(won),
            usage=dict(answer.usage),
            extra=self._extra(guess=bool(named), known=answer.known),
        )
        if won:
            outcome.end_reason, outcome.success = "success", True
            outcome.reward_parts = {"solved": 1.0, "questions": float(state.turns)}
        return outcome

    def _invalid(self, problem: str) -> Outcome:
        self._state.turns += 1
        return Outcome(
            observation=f"{problem} {self._left()}",
            reward=self._step_reward(False),
            action_kind="invalid",
            extra=self._extra(guess=False, known=True),
        )

    def _out_of_steps(self, outcome: Outcome) -> Outcome:
        outcome.end_reason = "max_steps"
        outcome.reward_parts = {"solved": 0.0, "questions": float(self._state.turns)}
        return outcome

    def _step_reward(self, won: bool) -> float:
        if self.reward == "binary":
            return 1.0 if won else 0.0
        return 0.0 if won else -1.0

    def _left(self) -> str:
        left = QUESTIONS - self._state.turns
        return f"{left} question{'' if left == 1 else 's'} left."

    def _extra(self, *, guess: bool, known: bool) -> Info:
        answered = len(self._state.asked)
        return {
            "oracle": self._oracle.name,
            "guess": guess,
            "known": known,
            "unknown_rate": self._state.unknown / answered if answered else 0.0,
        }

    def oracle_action(self) -> str:
        """Return the information-theoretic player's next question; it does not know the hidden object."""
        return player.next_question(self.world, self._candidates, self._state.asked, self.unknowns)

    def random_action(self, rng: np.random.Generator) -> str:
        """Return a random guess or a random question of the repertoire."""
        names = [n for n, c in zip(self.world.names, self._candidates, strict=True) if c]
        return player.random_question(self.world, names, rng, self.unknowns)

    def constant_actions(self) -> Sequence[str]:
        """Return a guess of each object, and the most frequent first questions."""
        names = dict.fromkeys(n for n, c in zip(self.world.names, self._candidates, strict=True) if c)
        return (*COMMON_QUESTIONS, *(player.guess(name) for name in names))

    def describe_state(self) -> dict[str, Any]:
        """Return the objects that contradict the fewest answers so far, and were not guessed."""
        left = player.remaining(self.world, self._candidates, self._state.asked, self.unknowns)
        return {"candidates": sorted({self.world.names[i] for i in np.flatnonzero(left)})}

    def conditions(self) -> dict[str, Any]:
        """Return the oracle, hashes of what determines its answers, ``unknowns``, reward and level."""
        return {"oracle": self._oracle.name, **self._oracle.conditions(), "unknowns": self.unknowns,
                "reward": self.reward, "level": self.level}  # fmt: skip

    def policy(self) -> str:
        """Return the rules that the agent is told."""
        return RULES + (RULES_OF_UNKNOWNS if self.unknowns == "say" else "")


def _world(data: str) -> tuple[World, DataSource]:
    if data == "embedded":
        world = embedded_world()
        return world, DataSource(kind="embedded", sha256=world.kb.sha256)
    return official_world(data)


def _oracle(
    name: OracleName,
    world: World,
    unknowns: Unknowns,
    chat: ChatFn | None,
    recording: str | os.PathLike[str] | None,
) -> Oracle:
    if (chat is not None) != (name == "llm"):
        raise ValueError(
            f"oracle={name!r} with chat={chat!r}: chat calls the model of oracle='llm'; pass it "
            "with that oracle only"
        )
    if name == "replay":
        if recording is None:
            raise ValueError("oracle='replay' needs recording=, the file of recorded answers")
        return ReplayOracle(world, recording)
    inner: Oracle = KnowledgeOracle(world) if chat is None else LLMOracle(world, chat, unknowns)
    return inner if recording is None else Recorder(inner, world, recording)
