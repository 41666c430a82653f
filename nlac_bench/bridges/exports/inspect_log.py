"""Writes a run as logs of Inspect, which ``inspect view`` and ``inspect_ai.analysis`` read."""

import math
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlac_bench.api.exporting import refuse_records
from nlac_bench.bridges.exports.sides import ExportedSide, Words, call_of, clean, sides_of
from nlac_bench.bridges.require import require
from nlac_bench.errors import ConfigError
from nlac_bench.harness.runs.folder import row_key
from nlac_bench.harness.runs.lines import new_files
from nlac_bench.types import Episode, Turn, Usage

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample
    from inspect_ai.model import ChatMessage, ModelOutput, ModelUsage

_STOPS = {"length": "max_tokens", "context_overflow": "model_length", "content_filter": "content_filter"}


def export_inspect(folder: Path, out: Path) -> int:
    """Write the run in ``folder`` to ``out``, a file that ends with ``.eval`` or ``.json``.

    The other sides of a training run (``ExportedSide``) become files beside it: ``NAME_untrained.eval`` …

    A turn becomes a model event, an info event for each reading of the critic, and a tool event if the action
    called a tool. A sample is an episode: its id is the task, its epoch the trial, counted from 1. A
    planned episode that only failed for reasons outside the agent is a sample with an error and no score. A
    run does not store when an episode began, so its events have times from the start of the run on, nor when
    the run ended, which is shown as its start. System prompts are not stored in a run either.

    Returns:
        The number of recorded episodes.

    Raises:
        ConfigError: ``out`` has another ending.
        MissingError: inspect-ai is not installed.
        RunFolderError: the run cannot be read, or a file cannot be written.
    """
    if out.suffix not in (".eval", ".json"):
        raise ConfigError(f"--out {out}: expected the name of a file that ends with .eval or .json")
    refuse_records(out)
    log = require("inspect_ai.log", "inspect")
    episodes = 0
    with new_files(out.parent) as draft:
        for side in sides_of(folder):
            made, recorded = _log(side)
            main = side.measured and side.run.path == folder
            log.write_eval_log(made, draft / (out.name if main else f"{out.stem}_{side.name}{out.suffix}"))
            episodes += recorded
    return episodes


def _log(side: ExportedSide) -> tuple["EvalLog", int]:
    """Return the log of a side, and its number of recorded episodes."""
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSpec, EvalStats, recompute_metrics

    samples = list(_samples(side))
    recorded = sum(sample.error is None for sample in samples)
    if side.measured:
        failed = _failed(side, {(sample.id, sample.epoch) for sample in samples})
        samples += failed
    run, started = side.run, side.started.isoformat()
    tasks = list(dict.fromkeys(str(sample.id) for sample in samples))
    conditions, subject = clean(dict(run.conditions)), clean(dict(run.subject))
    name = sha256(f"{started} {side.name} {run.plan}".encode()).hexdigest()[:22]
    metrics = [{"name": f"inspect_ai/{each}"} for each in ("mean", "stderr")]
    made = EvalLog(
        status="success" if side.shown.planned in (None, len(samples)) else "cancelled",
        eval=EvalSpec(
            eval_id=name, run_id=name, task_id=name, created=started,
            task=f"nlac_bench/{conditions['env']}", task_version=conditions.get("env_version") or 0,
            task_args=conditions.get("env_args") or {}, solver=clean(run.label), tags=[side.name],
            dataset=EvalDataset(name=conditions["env"], samples=len(tasks), sample_ids=tasks),
            model=side.model,
            config=EvalConfig(epochs=max((sample.epoch for sample in samples), default=1)),
            packages={"nlac_bench": str(run.manifest["sessions"][0].get("nlac_bench"))},
            metadata={"conditions": conditions, "subject": subject},
            scorers=[{"name": each, "metrics": metrics} for each in ("success", "reward")],
        ),
        stats=EvalStats(started_at=started, completed_at=started, model_usage=_summed(samples)),
        samples=samples,
    )  # fmt: skip
    recompute_metrics(made)
    return made, recorded


def _samples(side: ExportedSide) -> Iterator["EvalSample"]:
    epochs: dict[str, int] = {}
    for episode, words in side.episodes():
        # Training plays a task with the same trial number more than once.
        epochs[episode.task_id] = epochs.get(episode.task_id, 0) + 1
        yield _sample(side, episode, words, episode.trial + 1 if side.measured else epochs[episode.task_id])


def _sample(side: ExportedSide, episode: Episode, words: Words, epoch: int) -> "EvalSample":
    from inspect_ai.event import InfoEvent, ModelEvent, ScoreEvent, ToolEvent
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ChatMessageTool, ChatMessageUser, GenerateConfig, ModelOutput
    from inspect_ai.scorer import Score
    from inspect_ai.tool import ToolCallError

    first = ChatMessageUser(content=episode.first_observation, source="input")
    messages: list[ChatMessage] = [first]
    events: list[Any] = []
    elapsed = 0.0

    def at() -> dict[str, Any]:
        return {"timestamp": _after(side.started, elapsed), "working_start": elapsed}

    output = ModelOutput()
    for number, turn in enumerate(episode.turns):
        output = _output(side.model, turn, number)
        events.append(
            ModelEvent(
                model=side.model, role=turn.role, input=list(messages), tools=[], tool_choice="none",
                config=GenerateConfig(), output=output, working_time=turn.usage.seconds, **at(),
                metadata={"reward": turn.reward, "weight_version": turn.weight_version},
            )
        )  # fmt: skip
        elapsed += turn.usage.seconds
        events += [InfoEvent(source="critic", data=each, **at()) for each in words.get(number, ())]
        messages.append(output.choices[0].message)
        if call := call_of(turn, number):
            problem = turn.info.get("tool_error")
            error = ToolCallError("unknown", str(problem)) if problem else None
            messages.append(
                ChatMessageTool(
                    content=turn.observation, tool_call_id=call.id, function=call.name, error=error
                )
            )
            events.append(
                ToolEvent(id=call.id, function=call.name, arguments=call.arguments, result=turn.observation,
                          error=error, **at())
            )  # fmt: skip
        elif turn.observation:
            messages.append(ChatMessageUser(content=turn.observation))
    parts = episode.info.get("reward_parts")
    facts = {"end_reason": episode.end_reason, "reward_parts": parts if isinstance(parts, dict) else {}}
    answer = episode.turns[-1].text if episode.turns else None
    scores = {}
    if not episode.filtered:
        won = math.nan if episode.success is None else float(episode.success)
        scores = {
            "success": Score(value=won, answer=answer, explanation=episode.end_reason),
            "reward": Score(value=episode.total_reward, metadata=facts["reward_parts"]),
        }
    events += [ScoreEvent(score=score, scorer=name, **at()) for name, score in scores.items()]
    spent = sum(episode.usage.values(), Usage())
    return EvalSample(
        id=episode.task_id, epoch=epoch, input=[first], target="", messages=messages, output=output,
        scores=scores or None, events=events, total_time=episode.seconds, turn_count=len(episode.turns),
        metadata={**facts, "seed": episode.seed, "trial": episode.trial, "truncated": episode.truncated},
        model_usage={side.model: _usage(spent)} if spent.calls else {},
        role_usage={role: _usage(each) for role, each in episode.usage.items() if each.calls},
    )  # fmt: skip


def _output(model: str, turn: Turn, number: int) -> "ModelOutput":
    from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelOutput
    from inspect_ai.tool import ToolCall

    call = call_of(turn, number)
    calls = [ToolCall(id=call.id, function=call.name, arguments=call.arguments)] if call else None
    message = ChatMessageAssistant(content=turn.text, tool_calls=calls, model=model, source="generate")
    stop: Any = _STOPS.get(turn.finish, "tool_calls" if call else "stop")
    return ModelOutput(
        model=model, choices=[ChatCompletionChoice(message=message, stop_reason=stop)],
        usage=_usage(turn.usage) if turn.usage.calls else None, time=turn.usage.seconds,
    )  # fmt: skip


def _failed(side: ExportedSide, recorded: set[tuple[int | str, int]]) -> list["EvalSample"]:
    """Return a sample with the last error for each episode that has no result."""
    from inspect_ai.log import EvalError, EvalSample

    errors = {row_key(row): clean(row) for row in side.run.errors()}
    return [
        EvalSample(
            id=clean(item.task_id), epoch=item.trial + 1, input="", target="",
            error=EvalError(
                message=f"{errors[item.key].get('error')}: {errors[item.key].get('message')}",
                traceback=str(errors[item.key].get("traceback")), traceback_ansi="",
            ),
        )
        for item in side.run.plan
        if item.key in errors and (clean(item.task_id), item.trial + 1) not in recorded
    ]  # fmt: skip


def _usage(spent: Usage) -> "ModelUsage":
    from inspect_ai.model import ModelUsage

    return ModelUsage(
        input_tokens=spent.prompt_tokens, output_tokens=spent.completion_tokens,
        total_tokens=spent.prompt_tokens + spent.completion_tokens, total_cost=spent.cost or None,
    )  # fmt: skip


def _summed(samples: list["EvalSample"]) -> Mapping[str, "ModelUsage"]:
    total: dict[str, ModelUsage] = {}
    for sample in samples:
        for name, spent in sample.model_usage.items():
            total[name] = total[name] + spent if name in total else spent
    return total


def _after(start: datetime, seconds: float) -> datetime:
    return start + timedelta(seconds=min(seconds, 1e9))
