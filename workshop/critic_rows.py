"""Makes the rows of the critic of ``tiny-worlds``, which knows no rule and no object: it follows the futures.

The futures of a row are drawn independently of the state and the action. An objection advises another
action, which the caller draws at random.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from nlac_bench.agents.roles.compact import CompactPrompts, brief
from nlac_bench.agents.roles.role_prompts import Critique, Prompt
from nlac_bench.agents.roles.transition import State, Transition
from workshop.corpus import CorpusRow, Taught

MOST_FUTURES = 5
"""Largest number of futures in a row of the evaluator; half of the rows have one."""
REJECTED = 0.65
"""Share of the refiner's critiques that object."""
CRITICISED = 4
"""Maximum number of steps of an episode whose actions are criticised: one of them is a moment of a choice."""
MERGED = 0.3
"""Share of criticised steps with a row of the aggregator or the picker."""
NOTHING = "nothing"
"""The advice of a critique that approves, or if there is no other action."""


@dataclass(frozen=True, slots=True)
class Advice:
    """Another action, and the words by which a critique advises it."""

    action: str
    words: str


Advise: TypeAlias = Callable[[str, str], Advice | None]
"""Returns the advice of an objection to an action, given the future that it quotes."""


@dataclass(slots=True)
class TaughtStep:
    """A step: the state, the action, and the observations after this action and after the next one."""

    state: State
    action: str
    heard: list[str]


def clauses_of(steps: Sequence[TaughtStep], success: bool) -> list[str]:
    """Return the observations after the actions of an episode as futures without outcomes."""
    return [future_of(steps, number, success).rpartition("; ")[0] for number in range(len(steps))]


def future_of(steps: Sequence[TaughtStep], number: int, success: bool, reasons: str = "") -> str:
    """Return the future of a step in hindsight; for ``reasons`` see ``step_rows``."""
    return _explained(CompactPrompts().hindsight(steps[number].heard, success), reasons)


def _explained(future: str, reasons: str) -> str:
    """Replace the observations in a future by ``reasons``, if there are any; the outcome remains."""
    return f"{reasons}; {future.rpartition('; ')[2]}" if reasons else future


def criticised(steps: Sequence[TaughtStep], choice: Callable[[int], bool], rng: random.Random) -> list[int]:
    """Return the numbers of the criticised steps: one at which there is a ``choice``, and another one."""
    numbers = rng.sample(range(len(steps)), len(steps))
    numbers.sort(key=lambda i: not choice(i))  # stable: choices first
    return [numbers[0], *rng.sample(numbers[1:], min(len(numbers) - 1, CRITICISED - 1))]


def step_rows(
    steps: Sequence[TaughtStep],
    number: int,
    success: bool,
    tried: Sequence[str],
    advise: Advise,
    futures: Sequence[str],
    rng: random.Random,
    reasons: str = "",
) -> Iterator[CorpusRow]:
    """Yield the rows of all roles but the policy for a step.

    Args:
        steps: the episode.
        number: the number of the step.
        success: of the episode.
        tried: different actions in the state of the step.
        futures: clauses of futures without outcomes, from which those of a critique are drawn.
        reasons: clauses that explain the outcome of the episode. They replace the observations in a future,
            so that the outcome can be learned from these words alone.
    """
    step, prompts = steps[number], CompactPrompts()
    future = future_of(steps, number, success, reasons)
    yield row("successor", prompts.successor(step.state, step.action), future, truth=success)
    if number:
        before = steps[number - 1]
        observation = before.heard[0]
        yield backup_row(before.state, before.action, observation, step.state, step.action, future, reasons)
    for make in (evaluator_row, refiner_row):
        yield make(step.state, rng.choice(tried), advise, futures, rng)
    if rng.random() < MERGED:
        yield rng.choice((aggregator_row, picker_row))(step.state, tried, futures, rng)


def critique(
    action: str, clauses: Sequence[str], wins: Sequence[bool], advise: Advise
) -> tuple[Critique, Advice | None]:
    """Return the critique that follows from futures alone, and its advice: approval if at least half succeed.

    The reason counts them and quotes the last clause of the first one with the outcome of the majority.
    """
    optimal = 2 * sum(wins) >= len(wins)
    future = clauses[wins.index(optimal)]
    verdict, outcome = ("yes", "success") if optimal else ("no", "failure")
    why = f"{wins.count(optimal)} of {len(wins)} end in {outcome}, {future.rpartition('; ')[2]}"
    advice = None if optimal else advise(action, future)
    instead = advice.words if advice else NOTHING
    return Critique(optimal, f"optimal: {verdict}; why: {why}; instead: {instead}"), advice


def _drawn(
    futures: Sequence[str], count: int, rng: random.Random, success: float = 0.5
) -> tuple[list[str], list[bool]]:
    """Draw clauses and outcomes of ``count`` futures, independently of each other."""
    return [rng.choice(futures) for _ in range(count)], [rng.random() < success for _ in range(count)]


def ended(clauses: str, success: bool) -> str:
    """Return the future with ``clauses`` and this outcome."""
    return f"{clauses}; end: {'success' if success else 'failure'}"


def evaluator_row(
    state: State, action: str, advise: Advise, futures: Sequence[str], rng: random.Random
) -> CorpusRow:
    """Return the row whose answer is the critique of 1 to ``MOST_FUTURES`` futures.

    Args:
        futures: clauses of futures without outcomes, from which the row's are drawn.
    """
    count = 1 if rng.random() < 0.5 else rng.randint(2, MOST_FUTURES)
    clauses, wins = _drawn(futures, count, rng)
    criticism, _ = critique(action, clauses, wins, advise)
    prompt = CompactPrompts().evaluator(state, action, list(map(ended, clauses, wins)))
    return row("evaluator", prompt, criticism.text, truth=criticism.optimal)


def refiner_row(
    state: State, action: str, advise: Advise, futures: Sequence[str], rng: random.Random
) -> CorpusRow:
    """Return the row whose answer is the advised action, or the same action if none is advised."""
    clauses, wins = _drawn(futures, rng.randint(1, 2), rng, 1 - REJECTED)
    criticism, advice = critique(action, clauses, wins, advise)
    return row(
        "refiner", CompactPrompts().refiner(state, action, criticism), advice.action if advice else action
    )


def backup_row(
    before: State, action: str, observation: str, after: State, following: str, ahead: str, reasons: str = ""
) -> CorpusRow:
    """Return the row that derives the future of ``action`` from that of the next action.

    Args:
        before: the state of ``action``.
        heard: the observation that followed.
        after: the state after it.
        following: the next action.
        ahead: the future of ``following``.
        reasons: see ``step_rows``.
    """
    transition = Transition(
        state=before, action=action, reward=0.0, next_state=after, terminated=False, success=None, task_id="",
        seed=0, step=0, weight_version=0,
    )  # fmt: skip
    then, end = ahead.partition("; ")[0].removeprefix("next: "), ahead.rpartition("; ")[2]
    target = _explained(f"next: {brief(observation)}; then: {then}; {end}", reasons)
    return row("backup", CompactPrompts().backup(transition, following, ahead), target)


def ending_row(step: TaughtStep, success: bool, reasons: str = "") -> CorpusRow:
    """Return the row that explains the outcome after the last step; for ``reasons`` see ``step_rows``."""
    transition = Transition(
        state=step.state, action=step.action, reward=0.0, next_state=None, terminated=True, success=success,
        task_id="", seed=0, step=0, weight_version=0, last_words=step.heard[0],
    )  # fmt: skip
    ending = CompactPrompts().hindsight(step.heard, success)
    return row("backup", CompactPrompts().ending(transition, ending), _explained(ending, reasons))


def aggregator_row(
    state: State, tried: Sequence[str], futures: Sequence[str], rng: random.Random
) -> CorpusRow:
    """Return the row that merges three futures of one of the actions ``tried`` into the first that has the
    outcome of the majority."""
    clauses, wins = _drawn(futures, 3, rng)
    shown = list(map(ended, clauses, wins))
    merged = shown[wins.index(sum(wins) >= 2)]
    return row("aggregator", CompactPrompts().aggregator(state, rng.choice(tried), shown), merged)


def picker_row(state: State, tried: Sequence[str], futures: Sequence[str], rng: random.Random) -> CorpusRow:
    """Return the row whose answer is the number of the first action that succeeds, or 1 if none does."""
    actions = rng.sample(tried, min(len(tried), rng.randint(2, 4)))
    clauses, wins = _drawn(futures, len(actions), rng)
    shown = list(zip(actions, map(ended, clauses, wins), strict=True))
    best = wins.index(True) if any(wins) else 0
    return row("picker", CompactPrompts().picker(state, shown), str(best + 1))


def row(role: Taught, prompt: Prompt, answer: str, truth: bool | None = None) -> CorpusRow:
    """Return the row with ``answer`` in the prompt's numbers of identifiers."""
    text = cast(str, prompt.messages[0]["content"])
    return CorpusRow(role, text, prompt.codec.encode(answer.strip()), truth)
