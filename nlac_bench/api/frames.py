"""The records of a run as pandas data frames. pandas is an extra, imported when a frame is made."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from nlac_bench.agents.nlac.records import CritiqueRecord
from nlac_bench.errors import MissingError
from nlac_bench.harness.runs.critiques import read_critiques
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.types import Episode, Usage
from nlac_bench.visible import encodable

if TYPE_CHECKING:
    import pandas as pd

EPISODE_COLUMNS = (
    "task_id", "trial", "seed", "success", "reward", "turns", "terminated", "truncated", "end_reason",
    "seconds", "prompt_tokens", "completion_tokens", "cost",
)  # fmt: skip
TURN_COLUMNS = (
    "task_id", "trial", "turn", "text", "observation", "reward", "role", "finish", "weight_version",
    "action_kind", "tool_name", "tool_error", "prompt_tokens", "completion_tokens", "cost", "seconds",
)  # fmt: skip
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
"""How a run's files write the numbers that JSON does not have."""


def episodes_frame(run: RunFolder) -> "pd.DataFrame":
    """Return one row for each recorded episode. Tokens and cost are those of all roles.

    ``success`` is missing where an episode has no score; a part of the reward has the column ``reward.PART``.
    """
    return _frame(map(_episode_row, run.episodes()), EPISODE_COLUMNS, nullable=("success",))


def turns_frame(run: RunFolder) -> "pd.DataFrame":
    """Return one row for each turn: the agent's ``text`` and the ``observation`` that answers it."""
    return _frame(_turn_rows(run), TURN_COLUMNS)


def metrics_frame(run: RunFolder) -> "pd.DataFrame":
    """Return one row for each line of ``metrics.jsonl``: iterations, validations, tested weights."""
    rows = ({name: _number(x) for name, x in row.items()} for row in run.metrics())
    return _frame(rows, ("kind", "iteration"))


def critiques_frame(run: RunFolder) -> "pd.DataFrame":
    """Return one row for each lesson of a language critic; its columns are those of ``CritiqueRecord``."""
    rows = map(asdict, read_critiques(run.path))
    return _frame(rows, [each.name for each in fields(CritiqueRecord)], nullable=("success", "optimal"))


def _frame(
    rows: Iterable[Mapping[str, Any]], columns: Sequence[str], nullable: Sequence[str] = ()
) -> "pd.DataFrame":
    """Return ``rows`` with ``columns`` first; texts and missing values do not become numbers.

    Lone surrogates in texts are escaped, because the strings of a data frame are UTF-8.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingError("data frames need pandas", "pip install 'nlac-bench[frames]'") from error
    listed = [{k: encodable(x) if isinstance(x, str) else x for k, x in row.items()} for row in rows]
    frame = pd.DataFrame(listed, columns=list(dict.fromkeys([*columns, *(k for row in listed for k in row)])))
    return frame.astype(dict.fromkeys(nullable, "boolean"))


def _episode_row(episode: Episode) -> dict[str, Any]:
    parts = episode.info.get("reward_parts")
    return {
        "task_id": episode.task_id,
        "trial": episode.trial,
        "seed": episode.seed,
        "success": episode.success,
        "reward": episode.total_reward,
        "turns": len(episode.turns),
        "terminated": episode.terminated,
        "truncated": episode.truncated,
        "end_reason": episode.end_reason,
        "seconds": episode.seconds,
        **_spent(sum(episode.usage.values(), Usage())),
        **(
            {f"reward.{name}": _number(value) for name, value in parts.items()}
            if isinstance(parts, dict)
            else {}
        ),
    }


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, str) and value in _NOT_FINITE else value


def _turn_rows(run: RunFolder) -> Iterator[dict[str, Any]]:
    for episode in run.episodes():
        for number, turn in enumerate(episode.turns):
            yield {
                "task_id": episode.task_id,
                "trial": episode.trial,
                "turn": number,
                "text": turn.text,
                "observation": turn.observation,
                "reward": turn.reward,
                "role": turn.role,
                "finish": turn.finish,
                "weight_version": turn.weight_version,
                **{name: turn.info.get(name) for name in ("action_kind", "tool_name", "tool_error")},
                **_spent(turn.usage),
                "seconds": turn.usage.seconds,
            }


def _spent(usage: Usage) -> dict[str, float]:
    return {name: getattr(usage, name) for name in ("prompt_tokens", "completion_tokens", "cost")}
