"""Lessons: a transition with the target for the successor model and the action for the policy to learn."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from nlac_bench.agents.roles.role_prompts import Critique, ExplainingPrompts, Prompt, RolePrompts
from nlac_bench.agents.roles.speaker import Action, Speaker, decoded
from nlac_bench.agents.roles.speaking import Speaking
from nlac_bench.agents.roles.transition import State, Transition
from nlac_bench.learner.batch import LossName, TokenSequence
from nlac_bench.rollout.engines.chat_template import ChatFormat
from nlac_bench.rollout.engines.common_beginning import common_length
from nlac_bench.rollout.engines.engine import Sample, SampleRequest
from nlac_bench.rollout.engines.forms import Filled, Form, FormTokens
from nlac_bench.rollout.engines.tokenizer import Tokenizer, special_ids
from nlac_bench.types import Episode

REAL = "real"
"""The note of a transition's real future."""
REASONS = "reasons"
"""The note, at the last transition of an episode, of the answer with the reasons for its end."""


@dataclass(slots=True)
class Lesson:
    """The texts made for one drawn transition, from the backup to the refined action."""

    transition: Transition
    weight: float
    """Importance weight of L1."""
    speaker: Speaker
    index: int = 0
    """The index of the transition in the replay buffer."""
    target: str | None = None
    """d, the successor model's target for (s, a)."""
    proposed: Action | None = None
    """The action that is criticised; after the last refinement, the action that is distilled (a^r)."""
    first: str | None = None
    """The text of the action before any refinement."""
    future: str | None = None
    """d⁽¹⁾, the first future that the evaluator read."""
    success_probability: float | None = None
    """P("success") of ``future``; None if the model wrote its outcome freely."""
    critique: Critique | None = None
    done: bool = False
    """Whether refinement has ended: the action was judged optimal, or an answer could not be parsed."""
    rounds: int = 0

    @property
    def refined(self) -> str | None:
        """The text of a^r if it was produced by a refinement."""
        return self.proposed.text if self.proposed and self.rounds else None

    def keep(self) -> None:
        """Store the texts with the transition."""
        texts = {
            "target": self.target,
            "proposed": self.first,
            "future": self.future,
            "critique": self.critique.text if self.critique else None,
            "optimal": self.critique.optimal if self.critique else None,
            "refined": self.refined,
        }
        real = {name: text for name, text in self.transition.notes.items() if name in (REAL, REASONS)}
        self.transition.notes = real | {name: text for name, text in texts.items() if text is not None}


def note_real_futures(new: Sequence[Transition], episode: Episode, prompts: RolePrompts) -> None:
    """Note with the transitions of ``episode`` their real futures, without reasons.

    A truncated episode has none, because its outcome is unknown.
    """
    answers = [turn.observation for turn in episode.turns]
    for t in new if episode.terminated else ():
        t.notes[REAL] = prompts.hindsight(answers[t.step :], bool(episode.success), episode.total_reward)


async def note_reasons(lessons: Sequence[Lesson], roles: Speaking, *key: object) -> None:
    """Sample the reasons for the ends of the lessons' episodes, once for each episode; see ``real_future``.

    Args:
        key: of the random numbers.
    """
    if not explains_episodes(roles.prompts):
        return

    async def explain(lesson: Lesson) -> None:
        end = lesson.transition
        end.notes[REASONS] = await reasons_of(end, lesson.speaker, roles.prompts)

    ends = {id(end): end for lesson in lessons if (end := end_of(lesson.transition)) is not None}
    untold = [end for end in ends.values() if REAL in end.notes and REASONS not in end.notes]
    speakers = (roles.speaker(*key, end.task_id, end.trial, end.seed) for end in untold)
    await roles.each([Lesson(end, 1.0, s) for end, s in zip(untold, speakers, strict=True)], explain)


async def reasons_of(end: Transition, speaker: Speaker, prompts: RolePrompts) -> str:
    """Sample the reasons for ``end``, the last transition of an episode; empty if the model explains none."""
    return await speaker.reasons(prompts, end, ending_of(end, prompts)) if explains_episodes(prompts) else ""


def real_future(transition: Transition, prompts: RolePrompts, written: str | None = None) -> str | None:
    """Return the noted real future of the played action in the form of the successor's answers, or None.

    Successors of models that explain whole episodes are taught to state reasons. Where none fit, the future
    has none.

    Args:
        written: the answer with the reasons for the episode's end; by default the noted one
            (``note_reasons``).
    """
    future, end = transition.notes.get(REAL), end_of(transition)
    if future is None or (end is None and explains_episodes(prompts)):
        return None
    if written is None:
        written = "" if end is None else str(end.notes.get(REASONS, ""))
    return with_reasons(str(future), written, prompts)


def with_reasons(future: str, written: str, prompts: RolePrompts) -> str:
    """Return ``future`` with the reasons in ``written``; ``future`` itself if there are none that fit."""
    fits = prompts.parse_ending(written, future) if written and explains_episodes(prompts) else None
    return fits or future


def end_of(transition: Transition) -> Transition | None:
    """Return the last transition of a terminated episode, if it is known; see ``link``."""
    return transition if transition.terminated else transition.end


def ending_of(last: Transition, prompts: RolePrompts) -> str:
    """Return the terminal target: what the last transition of an episode led to, without reasons."""
    return prompts.hindsight([last.last_words], bool(last.success), last.reward_before + last.reward)


def explains(prompts: RolePrompts) -> TypeGuard[ExplainingPrompts]:
    """Return whether the model writes reasons for the outcomes of episodes."""
    return isinstance(prompts, ExplainingPrompts) and prompts.explains


def explains_episodes(prompts: RolePrompts) -> TypeGuard[ExplainingPrompts]:
    """Return whether the reasons that the model writes fit the futures of all actions of an episode."""
    return isinstance(prompts, ExplainingPrompts) and prompts.explains_episodes


class Encoder:
    """Converts lessons to token sequences.

    Prompts are tokenised like the engine's. Sampled answers keep their sampled tokens; other texts are
    tokenised.
    """

    def __init__(
        self, tokenizer: Tokenizer, prompts: RolePrompts, max_prompt_length: int, max_response_length: int
    ) -> None:
        self.format = ChatFormat(tokenizer)
        self._prompts = prompts
        self._limits = max_prompt_length, max_response_length
        self._forms: dict[Form, FormTokens] = {}
        self.too_long = 0

    def fits(self, transition: Transition) -> bool:
        """Return whether the prompt of L1 or of L2 is short enough to be trained on.

        A prompt that is too long stays too long, so drawing such a transition again would be useless.
        """
        return self.policy_fits(transition) or self._fits(
            self._prompt_ids(self._prompts.successor(transition.state, transition.action))
        )

    def policy_fits(self, transition: Transition) -> bool:
        """Return whether the policy's prompt is short enough to be trained on."""
        state = transition.state
        return self._fits(state.prompt_ids or self._prompt_ids(self._prompts.policy(state)))

    def _fits(self, prompt: Sequence[int]) -> bool:
        return len(prompt) <= self._limits[0]

    def answer(
        self,
        prompt: Prompt,
        answer: Action | Sample | Sequence[int] | str,
        loss: LossName,
        weight: float = 1.0,
        group: int = 0,
        prompt_ids: Sequence[int] | None = None,
    ) -> TokenSequence | None:
        """Return the sequence of a prompt and an answer in any role; None if it is too long.

        Args:
            answer: an action or a sample, whose sampled tokens are kept; tokens; or a text, which is
                tokenised in the form of the role's answers, if they have one.
            loss: which loss the answer is learned by.
            prompt_ids: the prompt's tokens, if they are known.
        """
        ids, filled = self._answer(prompt, answer)
        known = prompt_ids or (answer.prompt_ids if isinstance(answer, Sample) else None)
        asked = list(known) if known else self._prompt_ids(prompt)
        return self._sequence(asked, ids, weight, group, loss, filled)

    def critic(self, lesson: Lesson, group: int) -> TokenSequence | None:
        """Return the sequence of L1 = −log M_θ(d | s, a); None if there is no target or it is too long."""
        if lesson.target is None:
            return None
        prompt = self._prompts.successor(lesson.transition.state, lesson.transition.action)
        return self.answer(prompt, lesson.target, "critic", lesson.weight, group)

    def policy(self, lesson: Lesson, group: int) -> TokenSequence | None:
        """Return the sequence of L2 = −log π_θ(a^r | s); None if there is no action or it is too long."""
        action = lesson.proposed
        return None if action is None else self.acted(lesson.transition.state, action, "policy", group=group)

    def played(self, lesson: Lesson, group: int) -> TokenSequence | None:
        """Return the sequence of the played (s, a), for a scalar critic; None if it is too long."""
        t = lesson.transition
        return self.acted(t.state, t.action_ids or t.action, "critic", lesson.weight, group)

    def acted(
        self,
        state: State,
        action: Action | Sample | Sequence[int] | str,
        loss: LossName,
        weight: float = 1.0,
        group: int = 0,
    ) -> TokenSequence | None:
        """Return the sequence of the policy's prompt in ``state`` and an action; see ``answer``."""
        return self.answer(self._prompts.policy(state), action, loss, weight, group, state.prompt_ids)

    def arrived(self, state: State, group: int) -> TokenSequence | None:
        """Return the policy's prompt in ``state`` plus one token; None if it is too long.

        The value of a ``state`` head at the added token is the value of the state.
        """
        prompt = list(state.prompt_ids) if state.prompt_ids else self._prompt_ids(self._prompts.policy(state))
        return self._sequence(prompt, prompt[-1:], 1.0, group, "critic")

    def observed(
        self, state: State, action: str, observation: str, kind: str, group: int
    ) -> TokenSequence | None:
        """Return the sequence of −log p(s′ | s, a): the policy's next prompt, with a loss on the observation.

        The observation's tokens are those that a prompt without it does not have. None if the prompt is too
        long, or if the style shortens other parts of it to make room for the observation.

        Args:
            kind: of the environment's message; see ``State``.
        """
        after = [state.after(action, text, kind) for text in (observation, "")]
        whole, without = (self._prompt_ids(self._prompts.policy(s)) for s in after)
        start = common_length(whole, without)
        end = common_length(whole[start:][::-1], without[start:][::-1])
        own = len(whole) - start - end
        if own <= 0 or start + end < len(without) or not self._fits(whole):
            self.too_long += 1
            return None
        mask = [0.0] * start + [1.0] * own + [0.0] * end
        return TokenSequence(whole, mask, group_id=group, loss="critic")

    def _answer(
        self, prompt: Prompt, answer: Action | Sample | Sequence[int] | str
    ) -> tuple[list[int], Filled | None]:
        """Return the tokens of ``answer``, and if it fills in a form, which of them were chosen."""
        if isinstance(answer, Action):
            return self._answer_ids(prompt, answer), None
        if isinstance(answer, Sample):
            return (list(answer.ids), answer.filled) if answer.ids else self._filled(prompt, answer.text)
        return self._filled(prompt, answer) if isinstance(answer, str) else (list(answer), None)

    def _answer_ids(self, prompt: Prompt, action: Action) -> list[int]:
        """Return the sampled tokens if they encode the action after ``prompt``, else the tokens of its text.

        They do not if a thought was rewritten, or if the refiner's prompt numbered identifiers differently.
        An answer in a form may have ended at a stop string, which is no part of the action, or at a limit;
        the policy learns to end the action with the end token.
        """
        sample = action.sample
        if sample.ids and decoded(prompt, sample) == action.text:
            in_form = prompt.form is not None or sample.filled is not None
            if not in_form or self._is_end(sample.ids[-1]):
                return list(sample.ids)
        return self._text_ids(prompt, action.text)

    def _is_end(self, token: int) -> bool:
        """Return whether ``token`` ends answers; models may have several such tokens, and all are special."""
        tokenizer = self.format.tokenizer
        return token == tokenizer.eos_token_id or token in special_ids(tokenizer)

    def _filled(self, prompt: Prompt, text: str) -> tuple[list[int], Filled | None]:
        """Return the tokens of ``text``, and if the role's answers have a form, which of them it samples."""
        written = text.removeprefix(prompt.opening)
        if prompt.form is not None and (found := self._form(prompt.form).encoded(written)) is not None:
            return found
        return self._text_ids(prompt, text), None

    def _form(self, form: Form) -> FormTokens:
        if form not in self._forms:
            self._forms[form] = FormTokens(form, self.format.tokenizer)
        return self._forms[form]

    def _text_ids(self, prompt: Prompt, text: str) -> list[int]:
        tokenizer = self.format.tokenizer
        written = prompt.codec.encode(text).removeprefix(prompt.opening)
        ids: Sequence[int] = tokenizer(written, add_special_tokens=False)["input_ids"]
        assert tokenizer.eos_token_id is not None  # a model that is trained ends its answers
        return [*ids, tokenizer.eos_token_id]

    def _prompt_ids(self, prompt: Prompt) -> list[int]:
        return self.format.prompt_ids(SampleRequest(messages=prompt.messages))

    def _sequence(
        self,
        ids: list[int],
        answer: list[int],
        weight: float,
        group: int,
        loss: LossName,
        filled: Filled | None = None,
    ) -> TokenSequence | None:
        if not self._fits(ids) or len(answer) > self._limits[1] or not answer:
            self.too_long += 1
            return None
        learned = [True] * len(answer) if filled is None else filled.sampled
        mask = [0.0] * len(ids) + list(map(float, learned))
        few = {} if filled is None else {len(ids) + at: x for at, x in filled.restricted.items()}
        return TokenSequence([*ids, *answer], mask, weight, group_id=group, loss=loss, restricted=few)
