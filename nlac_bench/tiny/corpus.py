"""The text that the embedded model learns from: episodes of mediocre players and every role's words on them.

Only training splits are played (of mathematics, more problems of the training side). Futures are what really
happened next, on the episode or on a fork of it; verdicts are a teacher's, with errors of the rates below.
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
from nlac_bench.tiny.curriculum import History, TauTeaching, Teaching, Verdict
from nlac_bench.tiny.curriculum_games import MathTeaching, TwentyTeaching
from nlac_bench.tiny.mistakes import SKILL_SHARES, SKILLS, Skill

Taught = Literal["policy", "successor", "backup", "evaluator", "refiner", "aggregator", "picker", "drill"]
ROLES: tuple[Taught, ...] = get_args(Taught)

CRITICISED = 2
"""At most so many steps of an episode are criticised; the policy role learns all of them."""
OVERLOOKED = 0.10
"""How often the taught evaluator calls a mistake optimal."""
FALSE_ALARM = 0.05
"""How often it objects to what is right."""
MISADVICE = 0.08
"""How often its advice, where it objects rightly, is a mistake itself."""
DEAF = 0.04
"""How often the taught refiner repeats its action instead."""
AGGREGATED = 0.3
"""How often the future of a criticised action is played a second and third time, and the three are merged."""

ENVS: Mapping[str, Callable[[str], TextEnv]] = {
    "tau_retail": lambda split: TauRetailEnv(split=split, level="easy"),
    "tau_airline": lambda split: TauAirlineEnv(split=split, level="easy"),
    "twenty_questions": lambda split: TwentyQuestionsEnv(split=split, level="easy"),
    "math500_hard": lambda split: Math500HardEnv(split=split, level=1),
}
"""The embedded environments at the level that is taught, by split."""
PROBLEMS = 12_000
"""Problems of the training side that mathematics is taught with, none of them in the training split: there
are few enough on level 1 for a model to know them by heart, and then nothing is left to be learned."""
TEACHINGS: Mapping[str, Teaching] = {
    "tau_retail": TauTeaching(),
    "tau_airline": TauTeaching(),
    "twenty_questions": TwentyTeaching(),
    "math500_hard": MathTeaching(),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One thing to learn: after ``prompt`` comes ``answer``."""

    role: Taught
    prompt: str
    answer: str
    truth: bool | None = None
    """For an evaluator's row whether the action was optimal, for a successor's whether it succeeded."""


@dataclass(slots=True)
class _Step:
    """A moment of an episode: the environment before the action, and what followed."""

    env: TextEnv
    state: State
    history: History
    action: str
    heard: list[str]
    """What the environment said to this action and to the next."""


def episodes(name: str, count: int, seed: int, first: int = 0) -> Iterator[list[Row]]:
    """Episodes number ``first`` to ``count`` of the training split of ``name``, each as its rows.

    An episode depends on its number and ``seed`` alone.
    """
    env, tasks = _taught(name)
    for number in range(first, count):
        rng = random.Random(f"{name}/{seed}/{number}")
        yield episode_rows(env, rng.choice(tasks), rng)


@lru_cache(maxsize=4)
def _taught(name: str) -> tuple[TextEnv, Sequence[str]]:
    """An environment and those of its tasks that are taught."""
    training = ENVS[name]("train")
    if name != "math500_hard":
        return training, training.task_ids
    more = Math500HardEnv(split="train", level=1, problem_seed=1, num_tasks=PROBLEMS)
    theirs = {generate(task_id).statement for task_id in training.task_ids}
    return more, [task_id for task_id in more.task_ids if generate(task_id).statement not in theirs]


def episode_rows(env: TextEnv, task_id: str, rng: random.Random) -> list[Row]:
    """Play one episode of a task, and write down what each role has to say about it.

    The first row is the last action's, whose prompt holds the whole conversation.
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
    """Play ``env`` (consumed) from ``state`` to its end, beginning with ``action`` where one is given."""
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
    """An action in a state, what became of it, and what was said of it."""

    action: str
    future: str
    success: bool
    verdict: Verdict | None
    rows: list[Row]


def _criticised(
    teaching: Teaching, prompts: CompactPrompts, step: _Step, success: bool, rng: random.Random
) -> _Tried:
    """Successor, evaluator and refiner on one action; no verdict where the teacher has none."""
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
    """The verdict in words, sometimes a wrong one."""
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
    """Another action in the same state, played to its end; none if the same one is drawn."""
    first = str(step.state.messages[0]["content"])
    right = verdict.instead if rng.random() < 0.4 else None
    action = right or teaching.slip(step.env, first, step.history, rng)
    if action == step.action:
        return []
    played, success = _play(teaching, step.env.fork(), step.state, step.history, skill, rng, action)
    return [_criticised(teaching, prompts, played[0], success, rng)]


def _backup_row(prompts: CompactPrompts, step: _Step, after: State, ahead: _Tried) -> Row:
    """From the future of an action in the next state to that of the action that led there."""
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
) -> Row:
    """Three futures of one action: the first of those that end as most do."""
    futures = [future]
    for _ in range(2):
        played, success = _play(teaching, step.env.fork(), step.state, step.history, skill, rng, step.action)
        futures.append(prompts.hindsight(played[0].heard, success))
    wins = [text.endswith("success") for text in futures]
    merged = futures[wins.index(sum(wins) >= 2)]
    return _row("aggregator", prompts.aggregator(step.state, step.action, futures), merged)


def _picker_row(prompts: CompactPrompts, state: State, tried: list[_Tried], rng: random.Random) -> Row:
    """The optimal action's number; of two alike, the one that ended well, else the first."""
    rng.shuffle(tried)
    worth = [(one.verdict is not None and one.verdict.optimal, one.success) for one in tried]
    best = worth.index(max(worth))
    shown = [(one.action, one.future) for one in tried]
    return _row("picker", prompts.picker(state, shown), str(best + 1))


def _row(role: Taught, prompt: Prompt, answer: str, truth: bool | None = None) -> Row:
    text = cast(str, prompt.messages[0]["content"])
    return Row(role, text, prompt.codec.encode(answer.strip()), truth)
