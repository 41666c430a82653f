"""Writes a run as records of Every Eval Ever (https://github.com/evaleval/every_eval_ever), schema 0.3.0."""

import re
import time
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

from nlac_bench import tiny
from nlac_bench.api.exporting import write_file
from nlac_bench.bridges.exports.sides import ExportedSide, call_of, clean, sides_of
from nlac_bench.errors import DataError
from nlac_bench.harness.runs.episode_json import dump_line
from nlac_bench.stats.summary import Summary, summarise
from nlac_bench.types import Episode, Usage

SCHEMA_VERSION = "0.3.0"
_METRIC = "success"


def export_eee(folder: Path, out: Path) -> int:
    """Write the success rate of the run in ``folder``, and its scored episodes, below the folder ``out``.

    The files have the paths of the project's collection, ``data/ENV/DEVELOPER/MODEL/UUID.json`` and
    ``UUID_samples.jsonl``. A training run has a record of the untrained model and one of the trained model,
    which is named MODEL+METHOD. Episodes without a score are counted in the record and not listed.

    Returns:
        The number of episodes.

    Raises:
        DataError: no episode has a score.
        RunFolderError: the run cannot be read.
        NlacBenchError: a file cannot be written.
    """
    count = 0
    for side in sides_of(folder):
        summary = summarise(side.run)
        if side.measured and summary.success is not None:
            record, rows = _record(side, summary)
            path = out / record["detailed_evaluation_results"]["file_path"]
            write_file(path, b"".join(rows))
            write_file(path.with_name(path.name.replace("_samples.jsonl", ".json")), _line(record))
            count += len(rows)
    if not count:
        raise DataError(f"{folder}: no episode has a score, so there is no result to export")
    return count


def _record(side: ExportedSide, summary: Summary) -> tuple[dict[str, Any], list[bytes]]:
    run, stated = side.run, clean(dict(side.run.conditions))
    env, model = str(stated["env"]), _model_id(side)
    now = str(time.time())
    evaluation = f"{env}/{model}/{now}"
    digest = sha256(f"{side.started} {side.name} {run.plan}".encode()).digest()
    stem = UUID(bytes=digest[:16], version=4)
    common = {"schema_version": SCHEMA_VERSION, "evaluation_id": evaluation}
    rows = [
        _line({**common, "model_id": model, **_row(env, episode)})
        for episode, _ in side.episodes()
        if episode.success is not None
    ]
    counts = summary.outcomes.counts
    uncertainty: dict[str, Any] = {"num_samples": counts.scored}
    if summary.interval is not None:
        uncertainty["confidence_interval"] = {
            "lower": summary.interval.low, "upper": summary.interval.high, "confidence_level": 0.95,
            "method": summary.interval.method,
        }  # fmt: skip
    limits = {name: run.subject.get(name) for name in ("temperature", "max_tokens")}
    result = {
        "evaluation_result_id": _METRIC,
        "evaluation_name": env,
        "evaluation_timestamp": side.started.isoformat(),
        "source_data": {"dataset_name": env, "source_type": "other", "additional_details": _strings(stated)},
        "metric_config": {
            "evaluation_description": "mean over tasks of the success rate over scored trials",
            "metric_id": "nlac_bench.success", "metric_name": "success rate", "metric_kind": "pass_rate",
            "metric_unit": "proportion", "lower_is_better": False, "score_type": "continuous",
            "min_score": 0, "max_score": 1,
        },
        "score_details": {
            "score": summary.success, "uncertainty": uncertainty, "details": _strings(counts.to_json()),
        },
        "generation_config": {"generation_args": {k: v for k, v in limits.items() if v is not None}},
    }  # fmt: skip
    local = run.subject.get("engine") in ("HFEngine", "VLLMEngine")
    details = {"deployment_type": "self_deployed" if local else "unknown", "model_availability": "unknown"}
    content = b"".join(rows)
    return {
        **common,
        "evaluation_timestamp": side.started.isoformat(),
        "retrieved_timestamp": now,
        "source_metadata": {
            "source_name": "nlac-bench", "source_type": "evaluation_run",
            "source_organization_name": "unknown", "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": "nlac-bench", "version": str(run.manifest["sessions"][0].get("nlac_bench")),
            "additional_details": {"agent": clean(run.label)},
        },
        "model_info": {"name": model, "id": model, "additional_details": details},
        "evaluation_results": [result],
        "detailed_evaluation_results": {
            "format": "jsonl", "file_path": f"data/{_component(env)}/{_folder(model)}/{stem}_samples.jsonl",
            "hash_algorithm": "sha256", "checksum": sha256(content).hexdigest(), "total_rows": len(rows),
        },
    }, rows  # fmt: skip


def _model_id(side: ExportedSide) -> str:
    """Return the model as ``developer/name``; an agent without a model is one of this project's."""
    if side.run.subject.get("model") is None:
        return f"nlac-bench/{clean(side.run.label)}"
    if side.run.subject["model"] in tiny.FOLDERS:
        return f"nlac-bench/{side.model}"
    return side.model if "/" in side.model else f"unknown/{side.model}"


def _row(env: str, episode: Episode) -> dict[str, Any]:
    """Return the record of an episode, without what all have in common."""
    messages = list(_messages(episode))
    calls = sum(len(message.get("tool_calls", ())) for message in messages)
    spent = sum(episode.usage.values(), Usage())
    facts = {
        "trial": episode.trial, "seed": episode.seed, "reward": episode.total_reward,
        "end_reason": episode.end_reason, "truncated": episode.truncated,
        "reward_parts": episode.info.get("reward_parts"),
    }  # fmt: skip
    return {
        "evaluation_name": env,
        "evaluation_result_id": _METRIC,
        "sample_id": episode.task_id,
        "sample_hash": sha256(episode.first_observation.encode()).hexdigest(),
        "interaction_type": "agentic" if calls else "multi_turn",
        "input": {"raw": episode.first_observation, "reference": []},
        "messages": [{"turn_idx": place, **message} for place, message in enumerate(messages)],
        "answer_attribution": [],
        "evaluation": {
            "score": float(episode.success or 0), "is_correct": episode.success,
            "num_turns": len(episode.turns) or None, "tool_calls_count": calls,
        },
        "token_usage": {
            "input_tokens": spent.prompt_tokens, "output_tokens": spent.completion_tokens,
            "total_tokens": spent.prompt_tokens + spent.completion_tokens,
        },
        "performance": {"latency_ms": 1000 * episode.seconds},
        "metadata": _strings(facts),
    }  # fmt: skip


def _messages(episode: Episode) -> Iterator[dict[str, Any]]:
    yield {"role": "user", "content": episode.first_observation}
    for number, turn in enumerate(episode.turns):
        action: dict[str, Any] = {"role": "assistant", "content": turn.text}
        if call := call_of(turn, number):
            action["tool_calls"] = [{"id": call.id, "name": call.name, "arguments": _strings(call.arguments)}]
            yield action
            yield {"role": "tool", "content": turn.observation, "tool_call_id": [call.id]}
            continue
        yield action
        if turn.observation:
            yield {"role": "user", "content": turn.observation}


def _strings(values: Mapping[str, Any]) -> dict[str, str]:
    """Return ``values`` as strings, as the schema requires: texts as they are, others as JSON."""
    return {name: x if isinstance(x, str) else dump_line({"": x})[4:-1] for name, x in values.items()}


def _folder(model: str) -> str:
    developer, _, name = model.partition("/")
    return f"{_component(developer)}/{_component(name)}"


def _component(name: str) -> str:
    return re.sub(r"[^\w.+-]", "_", name, flags=re.ASCII)[:100].rstrip(".") or "_"


def _line(row: Mapping[str, Any]) -> bytes:
    return f"{dump_line(row)}\n".encode()
