"""Makes entries from plain lists of successes, without run folders."""

from collections.abc import Mapping, Sequence
from typing import Any

from nlac_bench.leaderboards.entry import BoardKey, Entry, RunOutcomes, TaskOutcome
from nlac_bench.leaderboards.entry_file import sealed
from nlac_bench.leaderboards.numbers import numbers_of
from nlac_bench.leaderboards.subject import Subject

KEY = BoardKey(
    env="tau_retail",
    env_version="1",
    arguments={"level": "easy"},
    split="test",
    data_source="embedded",
    data_sha256="8f" * 32,
    reward="original",
    rules={"user": "scripted", "user_prompts": {}},
)

Won = bool | None


def run_outcomes(success: Mapping[str, Sequence[Won]], seed: int = 0) -> RunOutcomes:
    """Outcomes by task; None is an episode that failed for a reason outside the agent."""
    return RunOutcomes(seed=seed, tasks={task: _task(won) for task, won in success.items()})


def _task(won: Sequence[Won]) -> TaskOutcome:
    return TaskOutcome(
        state=["infra" if each is None else "scored" for each in won],
        success=list(won),
        reward=[None if each is None else float(each) for each in won],
        end_reason=[None if each is None else "success" if each else "failure" for each in won],
        truncated=[False for _ in won],
    )


def entry(agent: str, *runs: Sequence[Won], key: BoardKey = KEY, **fields: Any) -> Entry:
    """An entry of ``agent`` on tasks 000, 001, …; ``runs`` are its seeds, each a success for every task."""
    outcomes = [
        run_outcomes({f"{i:03d}": [won] for i, won in enumerate(run)}, seed) for seed, run in enumerate(runs)
    ]
    return sealed(
        {
            "kind": "models" if len(runs) == 1 else "algorithms",
            "board": key,
            "subject": Subject(agent=agent, model="tiny"),
            "outcomes": outcomes,
            "numbers": numbers_of(outcomes) if outcomes else None,
            "level": "recomputed",
            **fields,
        }
    )
