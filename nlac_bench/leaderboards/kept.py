"""Makes entries from results whose run folders no longer exist, and from published figures.

The former have level ``imported``, the latter ``reported``.

``python -m nlac_bench.leaderboards.kept --out leaderboards/results``, in the repository, reads
``leaderboards/miniature/comparison.json`` and ``leaderboards/reported.toml``. Neither kind of entry has a
place on a board.
"""

import argparse
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nlac_bench.leaderboards.entry import BoardKey, Curve, CurvePoint, Entry, RunOutcomes, Source, TaskOutcome
from nlac_bench.leaderboards.entry_file import sealed
from nlac_bench.leaderboards.numbers import numbers_of, stated_numbers
from nlac_bench.leaderboards.subject import Subject, Training, TrainingCost
from nlac_bench.leaderboards.submit import write_entries

KEPT_VERSION = "0"
"""``env_version`` of all environments when the miniature comparison was made."""
KEPT_ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "tau_retail": {"level": "easy"},
    "tau_airline": {"level": "easy"},
    "twenty_questions": {"level": "easy", "reward": "binary"},
    "math500_hard": {"level": 1},
}
"""The environments' arguments then; those of ``--model tiny`` may change."""
_KEPT = Source(title="the miniature comparison", url=None, where="leaderboards/miniature/comparison.json")
UNTRAINED = "base"


def imported(comparison: Mapping[str, Any]) -> Iterator[Entry]:
    """Yield an entry for each environment and method of a sweep's ``comparison.json``.

    The file has the success of every task and seed, and the training's costs and validations. It has no end
    reasons, no hashes of data and no episodes.
    """
    for env, runs in comparison["runs"].items():
        seeds: dict[str, dict[int, Any]] = {}
        for name, run in runs.items():
            method, _, seed = name.rpartition("-")
            seeds.setdefault(method, {})[int(seed)] = run
        rows = {row["method"]: row for row in comparison["rows"] if row["env"] == env}
        for method, by_seed in seeds.items():
            outcomes = [_outcomes(seed, run["success"]) for seed, run in by_seed.items()]
            training = None if method == UNTRAINED else _training(method, by_seed, rows[method])
            arguments = dict(KEPT_ARGUMENTS[env])
            yield sealed(
                {
                    "kind": "algorithms" if len(outcomes) > 1 else "models",
                    "board": BoardKey(
                        env=env,
                        env_version=KEPT_VERSION,
                        reward=arguments.pop("reward", None),
                        arguments=arguments,
                        split="test",
                        data_source="embedded",
                    ),
                    "subject": Subject(agent=method, model="tiny", training=training),
                    "outcomes": outcomes,
                    "numbers": numbers_of(outcomes),
                    "curves": [] if training is None else [_curve(s, run) for s, run in by_seed.items()],
                    "level": "imported",
                    "warnings": [
                        "the episodes are not kept, so that nothing can be derived again",
                        f"measured with env_version {KEPT_VERSION}; not comparable with later versions",
                    ],
                    "source": _KEPT,
                }
            )


def reported(table: Mapping[str, Any]) -> Iterator[Entry]:
    """Yield an entry for each figure in the content of ``reported.toml``."""
    for source in table["source"]:
        cited = Source(title=source["title"], url=source["url"], where=source["where"])
        for row in source["rows"]:
            for subject, success in row["success"].items():
                yield sealed(
                    {
                        "kind": "models",
                        "board": BoardKey(env=row["env"], data_source="official"),
                        "subject": Subject(agent=subject),
                        "outcomes": [],
                        "numbers": stated_numbers(success),
                        "level": "reported",
                        "warnings": ["reported, not reproduced", *([row["note"]] if "note" in row else [])],
                        "source": cited,
                    }
                )


def _outcomes(seed: int, success: Mapping[str, float]) -> RunOutcomes:
    return RunOutcomes(
        seed=seed,
        tasks={
            task: TaskOutcome(
                state=["scored"], success=[won == 1.0], reward=[None], end_reason=[None], truncated=[False]
            )
            for task, won in success.items()
        },
    )


def _training(method: str, by_seed: Mapping[int, Any], row: Mapping[str, Any]) -> Training:
    return Training(
        method=method,
        budget=None,
        runs=[
            TrainingCost(
                seed=seed,
                gradient_steps=int(run["cost"]["gradient steps"]),
                environment_steps=int(run["cost"]["environment steps"]),
                generated_tokens=int(run["cost"]["generated tokens"]),
                seconds=run["cost"]["training seconds"],
                tokens_by_role={},
                chosen_step=row["chosen_steps"].get(str(seed)),
                base_success=row["base"].get(str(seed)),
            )
            for seed, run in by_seed.items()
        ],
    )


def _curve(seed: int, run: Mapping[str, Any]) -> Curve:
    points, best = [], -1.0
    for row in run.get("validations", []):
        points.append(
            CurvePoint(
                gradient_steps=row["gradient_steps_total"],
                environment_steps=row["env_steps"],
                tokens=row["tokens"],
                seconds=row["seconds"],
                success=row["success"],
                ci=None,
                tasks=row["tasks"],
                best=row["success"] > best,
            )
        )
        best = max(best, row["success"])
    return Curve(seed=seed, points=points)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write all imported and reported entries."""
    parser = argparse.ArgumentParser(description="Write the imported and reported entries of the boards.")
    parser.add_argument(
        "--leaderboards", type=Path, default=Path("leaderboards"), help="folder of the sources"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("leaderboards/results"), help="folder of the entries"
    )
    chosen = parser.parse_args(arguments)
    comparison = json.loads((chosen.leaderboards / "miniature" / "comparison.json").read_bytes())
    table = tomllib.loads((chosen.leaderboards / "reported.toml").read_text(encoding="utf-8"))
    for folder, entries in (("imported", imported(comparison)), ("reported", reported(table))):
        paths = write_entries(list(entries), chosen.out / folder)
        print(f"{chosen.out / folder}: {len(paths)} entries")


if __name__ == "__main__":
    main()
