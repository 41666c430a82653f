"""Generates the embedded model's training text: episodes of mediocre players with each role's answers.

Only training splits are played (for mathematics, further problems of the training side). Futures are what
actually happened next, in the episode or in a fork of it; verdicts are those of a teacher, with errors at the
rates below.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, cast, get_args

from nlac_bench.agents.roles.compact import CompactPrompts, brief
from nlac_bench.agents.roles.role_prompts import Critique, Prompt
from nlac_bench.agents.roles.transition import State, Transition, first_state
from nlac_bench.envs.math500_hard import Math500HardEnv
from nlac_bench.envs.math500_hard.generator import generate
from nlac_bench.envs.tau.env import TauAirlineEnv, TauRetailEnv
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.envs.twenty_questions import TwentyQuestionsEnv
from workshop.curriculum import History, TauTeaching, Teaching, Verdict
from workshop.curriculum_games import MathTeaching, TwentyTeaching
from workshop.mistakes import SKILL_SHARES, SKILLS, Skill

Taught = Literal["policy", "successor", "backup", "evaluator", "refiner", "aggregator", "picker", "drill"]
ROLES: tuple[Taught, ...] = get_args(Taught)

CRITICISED = 2
"""Maximum number of criticised steps per episode; the policy role is trained on all steps."""
OVERLOOKED = 0.10
"""Share of mistakes that the evaluator's training answers call optimal."""
FALSE_ALARM = 0.05
"""Share of optimal actions that the evaluator's training answers object to."""
MISADVICE = 0.08
"""Share of justified objections whose advice is a mistake itself."""
DEAF = 0.04
"""Share of the refiner's training answers that repeat the criticised action."""
AGGREGATED = 0.3
"""Share of criticised actions whose future is played three times for a row of the aggregator."""

ENVS: Mapping[str, Callable[[str], TextEnv]] = {
    "tau_retail": lambda split: TauRetailEnv(split=split, level="easy"),
    "tau_airline": lambda split: TauAirlineEnv(split=split, level="easy"),
    "twenty_questions": lambda split: TwentyQuestionsEnv(split=split, level="easy", unknowns="no"),
    "math500_hard": lambda split: Math500HardEnv(split=split, level=1),
}
"""Makes the embedded environments at the taught level, by split."""
PROBLEMS = 12_000
"""Number of mathematics problems in the corpus. They come from the training side, but none of them is in the
training split: level 1 has so few problems there that the model would memorise them, and training methods
could then improve nothing."""
TEACHINGS: Mapping[str, Teaching] = {
    "tau_retail": TauTeaching(),
    "tau_airline": TauTeaching(),
    "twenty_questions": TwentyTeaching(),
    "math500_hard": MathTeaching(),
}


@dataclass(frozen=True, slots=True)
class CorpusRow:
    """A training example: ``answer`` follows ``prompt``."""

    role: Taught
    prompt: str
    answer: str
    truth: bool | None = None
    """Whether the action was optimal (evaluator) or the episode succeeded (successor)."""


@dataclass(slots=True)
class _Step:
    """A step of an episode: the environment before the action, the action and the observations after it."""

    env: TextEnv
    state: State
    history: History
    action: str
    heard: list[str]
    """The environment's observations after this action and after the next one."""


def episodes(name: str, count: int, seed: int, first: int = 0) -> Iterator[list[CorpusRow]]:
    """Yield the rows of episodes ``first`` to ``count`` (exclusive) of the training split of ``name``.

    An episode depends only on its number and ``seed``.
    """
    env, tasks = taught_tasks(name)
    for number in range(first, count):
        rng = random.Random(f"{name}/{seed}/{number}")
        yield episode_rows(env, rng.choice(tasks), rng)


@lru_cache(maxsize=4)
def taught_tasks(name: str) -> tuple[TextEnv, Sequence[str]]:
    """Return an environment and its tasks that are in the corpus."""
    training = ENVS[name]("train")
    if name != "math500_hard":
        return training, training.task_ids
    more = Math500HardEnv(split="train", level=1, problem_seed=1, num_tasks=PROBLEMS)
    theirs = {generate(task_id).statement for task_id in training.task_ids}
    return more, [task_id for task_id in more.task_ids if generate(task_id).statement not in theirs]


def episode_rows(env: TextEnv, task_id: str, rng: random.Random) -> list[CorpusRow]:
    """Play one episode of a task, and return the rows of all roles for it.

    The first row is that of the last action, whose prompt contains the whole conversation.
    """
    teaching, prompts = TEACHINGS[env.name], CompactPrompts()
    first, info = env.reset(seed=rng.randrange(2**31), options={"task_id": task_id})
    start = first_state(env.name, first, {**info, "tools": (), "policy": ""})
    skill = rng.choices(SKILLS, SKILL_SHARES)[0]
    steps, success = _play(teaching, env.fork(), start, (), skill, rng)
    rows = [_row("policy", prompts.policy(step.state), step.action) for step in reversed(steps)]
    for number in rng.sample(range(len(steps)), min(CRITICISED, len(steps))):
        step = steps[number]
        tried = [_criticised(teaching, prompts, step, success, rng)]
        if rng.random() < 0.5 and tried[0].verdict is not None:
            tried += _forked(teaching, prompts, step, skill, rng, tried[0].verdict)
        for one in tried:
            rows += one.rows
        if len(tried) > 1:
            rows.append(_picker_row(prompts, step.state, tried, rng))
        if rng.random() < AGGREGATED:
            rows.append(_aggregator_row(teaching, prompts, step, tried[0].future, skill, rng))
        if number:
            rows.append(_backup_row(prompts, steps[number - 1], step.state, tried[-1]))
    return rows


def _play(
    teaching: Teaching, env: TextEnv, state: State, history: History, skill: Skill, rng: random.Random,
    action: str | None = None,
) -> tuple[list[_Step], bool]:  # fmt: skip
    """Play ``env``, which is changed, from ``state`` to the end; ``action`` is the first action if given."""
    first = str(state.messages[0]["content"])
    steps: list[_Step] = []
    while True:
        before = env.fork()
        if action is None:
            action = teaching.act(env, first, history, skill, rng)
        observation, _, ended, _, info = env.step(action)
        steps.append(_Step(before, state, history, action, [observation]))
        if len(steps) > 1:
            steps[-2].heard.append(observation)
        if ended:
            return steps, bool(info["success"])
        state = state.after(action, observation, str(info["action_kind"]))
        history = (*history, (action, observation))
        action = None


@dataclass(frozen=True, slots=True)
class _Tried:
    """An action in a state, its future and success, its verdict, and the rows about it."""

    action: str
    future: str
    success: bool
    verdict: Verdict | None
    rows: list[CorpusRow]


def _criticised(
    teaching: Teaching, prompts: CompactPrompts, step: _Step, success: bool, rng: random.Random
) -> _Tried:
    """Return the rows of successor, evaluator and refiner for an action; without a verdict only the first."""
    state, action = step.state, step.action
    future = prompts.hindsight(step.heard, success)
    rows = [_row("successor", prompts.successor(state, action), future, truth=success)]
    first = str(state.messages[0]["content"])
    verdict = teaching.judge(step.env, first, step.history, action)
    if verdict is not None:
        critique = _critique(teaching, step, verdict, rng)
        prompt = prompts.evaluator(state, action, [future])
        rows.append(_row("evaluator", prompt, critique.text, truth=verdict.optimal))
        better = action if critique.optimal or rng.random() < DEAF else verdict.instead
        rows.append(_row("refiner", prompts.refiner(state, action, critique), better))
    return _Tried(action, future, success, verdict, rows)


def _critique(teaching: Teaching, step: _Step, verdict: Verdict, rng: random.Random) -> Critique:
    """Return the verdict as a critique, which is wrong at the rates above."""
    first = str(step.state.messages[0]["content"])
    says_yes = verdict.optimal != (rng.random() < (FALSE_ALARM if verdict.optimal else OVERLOOKED))
    if says_yes:
        why = verdict.why if verdict.optimal else "it does what is needed"
        return Critique(True, f"optimal: yes; why: {why}; instead: nothing")
    instead = verdict.instead
    why = "this is not what is needed now" if verdict.optimal else verdict.why
    if verdict.optimal or rng.random() < MISADVICE:
        instead = teaching.slip(step.env, first, step.history, rng)
    return Critique(False, f"optimal: no; why: {why}; instead: {teaching.describe(instead)}")


def _forked(
    teaching: Teaching, prompts: CompactPrompts, step: _Step, skill: Skill, rng: random.Random,
    verdict: Verdict,
) -> list[_Tried]:  # fmt: skip
    """Return another action in the same state, played to the end; an empty list if the same action is
    drawn."""
    first = str(step.state.messages[0]["content"])
    right = verdict.instead if rng.random() < 0.4 else None
    action = right or teaching.slip(step.env, first, step.history, rng)
    if action == step.action:
        return []
    played, success = _play(teaching, step.env.fork(), step.state, step.history, skill, rng, action)
    return [_criticised(teaching, prompts, played[0], success, rng)]


def _backup_row(prompts: CompactPrompts, step: _Step, after: State, ahead: _Tried) -> CorpusRow:
    """Return the row that derives the future of an action from that of the next action."""
    transition = Transition(
        state=step.state, action=step.action, reward=0.0, next_state=after, terminated=False, success=None,
        task_id="", seed=0, step=0, weight_version=0,
    )  # fmt: skip
    next_clause, end = (
        ahead.future.partition("; ")[0].removeprefix("next: "),
        ahead.future.rpartition("; ")[2],
    )
    target = f"next: {brief(step.heard[0])}; then: {next_clause}; {end}"
    return _row("backup", prompts.backup(transition, ahead.action, ahead.future), target)


def _aggregator_row(
    teaching: Teaching, prompts: CompactPrompts, step: _Step, future: str, skill: Skill, rng: random.Random
) -> CorpusRow:
    """Return the row that merges three futures of an action into the first that has the outcome of the
    majority."""
    futures = [future]
    for _ in range(2):
        played, success = _play(teaching, step.env.fork(), step.state, step.history, skill, rng, step.action)
        futures.append(prompts.hindsight(played[0].heard, success))
    wins = [text.endswith("success") for text in futures]
    merged = futures[wins.index(sum(wins) >= 2)]
    return _row("aggregator", prompts.aggregator(step.state, step.action, futures), merged)


def _picker_row(prompts: CompactPrompts, state: State, tried: list[_Tried], rng: random.Random) -> CorpusRow:
    """Return the row whose answer is the best action's number: optimal before successful before the
    others."""
    rng.shuffle(tried)
    worth = [(one.verdict is not None and one.verdict.optimal, one.success) for one in tried]
    best = worth.index(max(worth))
    shown = [(one.action, one.future) for one in tried]
    return _row("picker", prompts.picker(state, shown), str(best + 1))


def _row(role: Taught, prompt: Prompt, answer: str, truth: bool | None = None) -> CorpusRow:
    text = cast(str, prompt.messages[0]["content"])
    return CorpusRow(role, text, prompt.codec.encode(answer.strip()), truth)
