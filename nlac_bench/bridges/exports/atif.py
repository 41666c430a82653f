"""Writes a run as trajectories in the Agent Trajectory Interchange Format (ATIF), version 1.8."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nlac_bench.api.exporting import write_file
from nlac_bench.bridges.exports.sides import ExportedSide, Words, call_of, clean, sides_of
from nlac_bench.harness.runs.episode_json import dump_line
from nlac_bench.types import Episode, Turn, Usage

VERSION = "ATIF-v1.8"


def export_atif(folder: Path, out: Path) -> int:
    """Write each episode of the run in ``folder`` to a JSON file in the folder ``out``.

    The file's name has the side (``ExportedSide``), the episode's number and the task. An action is a step of
    the agent: with a tool call, its observation is the tool's result, else the answer is the next step of the
    user. What the format has no field for is in ``extra``: the reward of a step and the critic's texts about
    it; success, parts of the reward and conditions of the trajectory.

    Returns:
        The number of episodes. Infrastructure errors have no trajectory.

    Raises:
        RunFolderError: the run cannot be read.
        NlacBenchError: a file cannot be written.
    """
    count = 0
    for side in sides_of(folder):
        for number, (episode, words) in enumerate(side.episodes()):
            name = re.sub(
                r"[^\w.-]", "_", f"{side.name[:40]}_{number:05}_{episode.task_id[:80]}", flags=re.ASCII
            )
            write_file(out / f"{name}.json", dump_line(_trajectory(side, episode, words)).encode())
            count += 1
    return count


def _trajectory(side: ExportedSide, episode: Episode, words: Words) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"source": "user", "message": episode.first_observation}]
    for number, turn in enumerate(episode.turns):
        steps += _steps(turn, number, words)
    spent = sum(episode.usage.values(), Usage())
    run = side.run
    return {
        "schema_version": VERSION,
        "session_id": f"{clean(run.path.name)}/{side.name}",
        "trajectory_id": f"{side.name}/{episode.task_id}/{episode.trial}/{episode.seed}",
        "agent": {
            "name": clean(run.label),
            "version": str(run.manifest["sessions"][0].get("nlac_bench")),
            "model_name": side.model,
        },
        "steps": [{"step_id": place, **step} for place, step in enumerate(steps, start=1)],
        "final_metrics": {
            "total_prompt_tokens": spent.prompt_tokens,
            "total_completion_tokens": spent.completion_tokens,
            "total_cost_usd": spent.cost,
            "total_steps": len(steps),
        },
        "extra": {
            "side": side.name,
            "task_id": episode.task_id,
            "trial": episode.trial,
            "seed": episode.seed,
            "success": episode.success,
            "reward": episode.total_reward,
            "end_reason": episode.end_reason,
            "truncated": episode.truncated,
            "reward_parts": episode.info.get("reward_parts"),
            "conditions": clean(dict(run.conditions)),
        },
    }


def _steps(turn: Turn, number: int, words: Words) -> Iterator[dict[str, Any]]:
    """Yield the step of an action, and that of the user's answer."""
    extra: dict[str, Any] = {"reward": turn.reward, "action_kind": turn.info.get("action_kind")}
    if number in words:
        extra["critic"] = words[number]
    step: dict[str, Any] = {
        "source": "agent", "message": turn.text, "llm_call_count": turn.usage.calls, "extra": extra,
    }  # fmt: skip
    if turn.usage.calls:
        step["metrics"] = {
            "prompt_tokens": turn.usage.prompt_tokens,
            "completion_tokens": turn.usage.completion_tokens,
            "cost_usd": turn.usage.cost,
            "prompt_token_ids": turn.prompt_ids,
            "completion_token_ids": turn.output_ids,
            "logprobs": turn.logprobs,
        }
    if call := call_of(turn, number):
        step["tool_calls"] = [
            {"tool_call_id": call.id, "function_name": call.name, "arguments": call.arguments}
        ]
        result = {"source_call_id": call.id, "content": turn.observation}
        step["observation"] = {"results": [result]}
        extra["tool_error"] = turn.info.get("tool_error")
    yield step
    if not call and turn.observation:
        yield {"source": "user", "message": turn.observation}
