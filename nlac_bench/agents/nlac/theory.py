"""Checks NLAC's theory in a gridworld whose roles answer without errors.

If futures describe the next states and the outcome correctly, the language Bellman backup is policy
evaluation and the distillation of refined actions is policy improvement. Algorithm 1 is then policy
iteration (paper, section 4) and must converge to the optimal policy, with a critic that orders actions as Q*
does. The roles are asked by the code that trains models (``nlac.ask``); tables replace θ and θ̄.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from nlac_bench.agents.nlac.config import NlacConfig
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.nlac.nlac import ask, fresh, predicted
from nlac_bench.agents.nlac.replay import Replay
from nlac_bench.agents.roles.role_prompts import Critique, Outcome, Prompt
from nlac_bench.agents.roles.speaking import Speaking
from nlac_bench.agents.roles.transition import State, Transition, transitions
from nlac_bench.rollout.engines.engine import Sample, SampleRequest, Sampling, Slot, derive_seed
from nlac_bench.types import Episode, Turn

GAMMA = 0.9
MOVES: Mapping[str, tuple[int, int]] = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
UNKNOWN = "then: nothing is known; end: failure after 0 steps"


@dataclass(frozen=True)
class Grid:
    """A deterministic gridworld with a goal (``G``), pits (``o``) and walls (``#``)."""

    rows: tuple[str, ...] = ("....#...", ".##.#.o.", ".#......", "...#.#.G", "o..#....")

    @property
    def cells(self) -> list[tuple[int, int]]:
        """The cells in which the agent can act."""
        return [(r, c) for r, row in enumerate(self.rows) for c, x in enumerate(row) if x == "."]

    def move(self, cell: tuple[int, int], action: str) -> tuple[tuple[int, int], bool, bool]:
        """Return the next cell, whether the episode ends there, and whether it is the goal."""
        r, c = cell[0] + MOVES[action][0], cell[1] + MOVES[action][1]
        inside = 0 <= r < len(self.rows) and 0 <= c < len(self.rows[0]) and self.rows[r][c] != "#"
        there = (r, c) if inside else cell
        mark = self.rows[there[0]][there[1]]
        return there, mark in "oG", mark == "G"

    def optimal_values(self) -> dict[tuple[tuple[int, int], str], float]:
        """Return Q* by value iteration: γ to the power (steps to the goal − 1), or 0 if it is not reached."""
        q = {(cell, action): 0.0 for cell in self.cells for action in MOVES}
        for _ in range(len(self.cells) + 1):
            v = {cell: max(q[cell, a] for a in MOVES) for cell in self.cells}
            for cell, action in q:
                there, ends, won = self.move(cell, action)
                q[cell, action] = float(won) if ends else GAMMA * v[there]
        return q


class ExactPrompts:
    """``RolePrompts`` as JSON questions. A future names the nearest cells, the outcome and the step count."""

    grows = False

    def policy(self, state: State) -> Prompt:
        """Return the prompt for an action."""
        return _question(state=state.observation)

    def successor(self, state: State, action: str) -> Prompt:
        """Return the prompt for M(d | s, a)."""
        return _question(state=state.observation, action=action)

    def backup(self, transition: Transition, next_action: str, next_future: str) -> Prompt:
        """Return the prompt for B(s, a, r, s′, d′)."""
        assert transition.next_state is not None
        return _question(next_state=transition.next_state.observation, future=next_future)

    def hindsight(self, answers: Sequence[str], success: bool, reward: float | None = None) -> str:
        """Return the future of the last step: the next cell and the outcome."""
        return f"next: {answers[0]}; end: {'success' if success else 'failure'} after {len(answers)} steps"

    def evaluator(self, state: State, action: str, futures: Sequence[str]) -> Prompt:
        """Return the prompt for E(s, a, d¹…dᵏ)."""
        return _question(state=state.observation, action=action, futures=list(futures))

    def refiner(self, state: State, action: str, critique: Critique) -> Prompt:
        """Return the prompt for π_r(· | s, a, critique)."""
        return _question(critique=critique.text)

    def parse_action(self, written: str) -> str | None:
        """Return ``written`` if it is a move."""
        return written if written in MOVES else None

    parse_refined = parse_action

    def reply(self, action: str) -> str:
        """Return the move unchanged."""
        return action

    def heard(self, action: str, state: State) -> str:
        """Return the move unchanged."""
        return action

    def parse_future(self, written: str) -> str | None:
        """Return ``written`` if it names an outcome."""
        return written if self.outcome(written) else None

    def parse_critique(self, written: str) -> Critique | None:
        """Return the verdict with the better move."""
        return Critique("optimal: yes" in written, written)

    def outcome(self, future: str) -> Outcome | None:
        """Return the outcome that ``future`` names."""
        return "success" if "end: success" in future else "failure" if "end: failure" in future else None

    def hashes(self) -> dict[str, str]:
        """Return an empty dictionary, since these prompts are not recorded in a run's manifest."""
        return {}


class Tables:
    """Tables for θ and θ̄, and an engine that answers in every role from them without errors."""

    tokenizer: None = None
    """Tables have no tokens."""

    def __init__(self, grid: Grid, seed: int) -> None:
        start = {str(cell): np.random.default_rng([seed, *cell]).choice(list(MOVES)) for cell in grid.cells}
        self.policy: dict[str, str] = {cell: str(move) for cell, move in start.items()}
        self.futures: dict[tuple[str, str], str] = {}
        self.target: dict[tuple[str, str], str] = {}

    def value(self, cell: str, action: str) -> float:
        """Return the value of the critic's future for ``action`` in ``cell``."""
        return value_of(self.futures.get((cell, action), UNKNOWN))

    async def sample(self, request: SampleRequest) -> list[Sample]:
        """Return the answer of the request's role."""
        assert request.messages is not None
        question = json.loads(str(request.messages[0]["content"]))
        return [Sample(getattr(self, f"_{request.role}")(question, request.slot), "stop")] * request.n

    async def logprobs(self, ids: Sequence[int], prompt_len: int, slot: Slot = "policy") -> list[float]:
        """Raise an error, because tables have no tokens."""
        raise NotImplementedError

    def _policy(self, q: dict[str, Any], slot: Slot) -> str:
        return self.policy[q["state"]]

    def _successor(self, q: dict[str, Any], slot: Slot) -> str:
        table = self.futures if slot == "policy" else self.target
        return table.get((q["state"], q["action"]), UNKNOWN)

    def _backup(self, q: dict[str, Any], slot: Slot) -> str:
        """Return the next cell, the nearest two cells of the later future, and its outcome one step later."""
        later, _, end = q["future"].partition("; end: ")
        outcome, _, count = end.partition(" after ")
        steps = int(count.split()[0]) + (outcome == "success")
        near = later.replace("next: ", "").replace("then: ", "").split(", then ")[:2]
        return f"next: {q['next_state']}, then {', then '.join(near)}; end: {outcome} after {steps} steps"

    def _evaluator(self, q: dict[str, Any], slot: Slot) -> str:
        best = max(MOVES, key=lambda move: self.value(q["state"], move))
        own = max(map(value_of, q["futures"]))
        if own >= self.value(q["state"], best):
            return "optimal: yes"
        return f"optimal: no; why: worth {own:.3f}; instead: {best}"

    def _refiner(self, q: dict[str, Any], slot: Slot) -> str:
        return str(q["critique"].rpartition("instead: ")[2])


class TabularPolicyIteration:
    """Algorithm 1 with tables: the texts are written into them, which is the exact minimum of L1 and L2."""

    def __init__(self, tables: Tables, seed: int, drawn: int, **settings: Any) -> None:
        self.tables = tables
        self.config = NlacConfig(train_batch_size=drawn, **settings)
        c, plain = self.config, Sampling()
        draws = derive_seed(seed, "replay")
        self.replay = Replay(c.replay_capacity, c.priority_alpha, c.priority_beta, draws)
        self.roles = Speaking(tables, ExactPrompts(), plain, plain, seed, concurrency=64)

    def remember(self, episodes: Sequence[Episode]) -> None:
        """Append the transitions of ``episodes`` to D."""
        self.replay.add([t for e in episodes for t in transitions(e, "grid", {})])

    async def update(self) -> None:
        """Draw from D, ask the roles, and set M(s, a) ← d, unless L1 has no weight, π(s) ← a^r and θ̄ ← θ."""
        indices, weights = self.replay.draw(self.config.train_batch_size)
        lessons = [
            Lesson(self.replay.items[i], w, self.roles.speaker(self.replay.iteration, n))
            for n, (i, w) in enumerate(zip(indices.tolist(), weights.tolist(), strict=True))
        ]
        await ask(lessons, self.roles, self.config, fresh, partial(predicted, k=1))
        for lesson in lessons:
            cell = lesson.transition.state.observation
            if lesson.target is not None and self.config.critic_coef > 0:
                self.tables.futures[cell, lesson.transition.action] = lesson.target
            if lesson.proposed is not None:
                self.tables.policy[cell] = lesson.proposed.text
        self.tables.target = dict(self.tables.futures)
        self.replay.iteration += 1


@dataclass(frozen=True)
class TheoryReport:
    """The result that ``nlac-bench theory`` prints.

    ``history`` is the share of cells with an optimal action after each iteration. ``order_agreement`` is the
    share of action pairs of a cell with different Q* that the final critic orders as Q* does.
    """

    cells: int
    transitions: int
    iterations: int
    history: list[float]
    optimal_cells: float
    order_agreement: float
    largest_error: float

    @property
    def holds(self) -> bool:
        """Whether the policy is optimal and the critic orders all pairs of actions as Q* does."""
        return self.optimal_cells == 1.0 and self.order_agreement == 1.0


def check(
    seed: int = 0,
    episodes: int = 400,
    iterations: int = 60,
    drawn: int = 1_500,
    on_iteration: Callable[[int, int, float], None] = lambda number, count, optimal: None,
) -> TheoryReport:
    """Run language policy iteration off-policy, on random walks only, and compare it with value iteration.

    Args:
        seed: of the random walks and the initial policy.
        episodes: number of random walks to learn from.
        iterations: number of iterations.
        drawn: number of transitions that each iteration learns from.
        on_iteration: called after each iteration with its number, ``iterations``, and the share of cells
            in which the policy's action is optimal.
    """
    grid = Grid()
    best = grid.optimal_values()
    tables = Tables(grid, seed)
    learner = TabularPolicyIteration(tables, seed, drawn)
    learner.remember(random_walks(grid, episodes, seed))
    history: list[float] = []
    for number in range(1, iterations + 1):
        asyncio.run(learner.update())
        history.append(
            float(np.mean([_is_optimal(best, cell, tables.policy[str(cell)]) for cell in grid.cells]))
        )
        on_iteration(number, iterations, history[-1])
    pairs = [
        (best[c, a] > best[c, b]) == (tables.value(str(c), a) > tables.value(str(c), b))
        for c in grid.cells for a in MOVES for b in MOVES if abs(best[c, a] - best[c, b]) > 1e-9
    ]  # fmt: skip
    errors = [abs(best[c, a] - tables.value(str(c), a)) for c, a in best]
    agreement, error = float(np.mean(pairs)), max(errors)
    counts = len(grid.cells), len(learner.replay), iterations
    return TheoryReport(*counts, history, history[-1], agreement, error)


def random_walks(grid: Grid, count: int, seed: int) -> list[Episode]:
    """Return episodes of a random policy; with enough of them, every action is tried in every cell."""
    rng = np.random.default_rng(seed)
    episodes = []
    for number in range(count):
        cell = grid.cells[int(rng.integers(len(grid.cells)))]
        episode = Episode("grid", f"walk-{number}", 0, number, first_observation=str(cell))
        for _ in range(30):
            action = str(rng.choice(list(MOVES)))
            cell, ends, won = grid.move(cell, action)
            episode.turns.append(Turn(action, str(cell), reward=float(won), info={"action_kind": "message"}))
            if ends:
                episode.terminated, episode.success = True, won
                break
        episodes.append(episode)
    return episodes


def value_of(future: str) -> float:
    """Return the value of a future: γ^(steps − 1) for a success, 0 for a failure."""
    _, _, end = future.partition("; end: ")
    outcome, _, count = end.partition(" after ")
    return GAMMA ** (int(count.split()[0]) - 1) if outcome == "success" else 0.0


def _is_optimal(best: Mapping[tuple[tuple[int, int], str], float], cell: tuple[int, int], move: str) -> bool:
    return best[cell, move] >= max(best[cell, other] for other in MOVES) - 1e-9


def _question(**parts: object) -> Prompt:
    return Prompt(({"role": "user", "content": json.dumps(parts)},))
