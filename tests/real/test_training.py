"""The model is trained from the command line; every push is verified, and the result is a plain model."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.rollout.engines.hf.engine import HFEngine
from tests.cli.command import call
from tests.real.greedy import QUESTIONS, check_greedy

SMALL = (
    "--limit", "4", "--max-tokens", "8", "--train=train_batch_size=8", "--train=rollouts_per_task=4",
    "--train=val_tasks=2", "--train=lr=2e-5",
)  # fmt: skip


def run(folder: Path, *options: str, in_a_process: bool = False) -> tuple[int, dict[str, Any], str]:
    arguments = (
        "run",
        "--model",
        "smollm2",
        "--env",
        "first_steps",
        *options,
        "--out",
        str(folder),
        "--json",
    )
    if in_a_process:
        command = [sys.executable, "-m", "nlac_bench", *arguments]
        done: Any = subprocess.run(command, capture_output=True, text=True, check=False)
    else:
        done = call(*arguments)
    return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr


@pytest.mark.usefixtures("smollm2")
@pytest.mark.parametrize("adapters", ["0", "4"])
def test_two_steps_of_grpo_and_a_checkpoint_for_plain_transformers(tmp_path: Path, adapters: str) -> None:
    """The moved weights must arrive in the engine, or the run ends with an error."""
    code, result, stderr = run(
        tmp_path / "run", "--agent", "grpo", "--budget", "steps=2", f"--train=lora_rank={adapters}", *SMALL,
        in_a_process=adapters == "0",  # what is leaked shows at its end
    )  # fmt: skip
    assert code == 0, stderr[-3000:]
    assert result["gradient_steps"] == 2
    for trace in ("Traceback", "leaked"):
        assert trace not in stderr
    best = tmp_path / "run" / "checkpoints" / "best"
    assert not list(best.glob("adapter*")), "adapters are merged into the weights"
    engine = HFEngine.from_pretrained(str(best), dtype="float32", device="cpu")
    try:
        check_greedy(engine, best, QUESTIONS[:2])
    finally:
        engine.close()


@pytest.mark.usefixtures("smollm2")
def test_a_critic_that_cannot_be_read_is_reported_after_one_iteration(tmp_path: Path) -> None:
    """Without forms, this model's predictions cannot be read; each of the played actions gets one."""
    done = call(
        "run", "--model", "smollm2", "--env", "first_steps", "--agent", "nlac", "--budget", "steps=9",
        "--replicas", "1", "--train=forms=free", "--train=max_response_length=8", "--train=replay_ratio=2",
        "--train=refine_source=replayed", "--train=probes=0", "--train=probe_states=0", *SMALL, "--out",
        str(tmp_path / "run"),
    )  # fmt: skip
    assert done.returncode == 3, done.stderr[-3000:]
    assert "at the start of the training" in done.stderr and "could not be read" in done.stderr
    assert "set --train forms=filled" in done.stderr and "Traceback" not in done.stderr
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [row["kind"] for row in rows].count("iteration") == 1


@pytest.mark.usefixtures("smollm2")
def test_native_tool_calls_are_refused_because_the_template_ignores_tools(tmp_path: Path) -> None:
    done = call(
        "run", "--model", "smollm2", "--env", "tau_retail", "--agent", "tool_calling", "--limit", "1",
        "--out", str(tmp_path / "run"),
    )  # fmt: skip
    assert done.returncode == 2 and not (tmp_path / "run").exists(), done.stderr
    assert "the name of the tool does not reach the prompt; use --agent react or act" in done.stderr
    found = json.loads(call("doctor", "--model", "smollm2", "--json").stdout)
    assert found["ok"] and not found["tools"] and found["end_tokens"] == ["<|im_end|>"]


@pytest.mark.usefixtures("smollm2")
@pytest.mark.parametrize("agent", ["react", "act"])
def test_prompted_agents_play_and_their_answers_are_graded(tmp_path: Path, agent: str) -> None:
    code, _, stderr = run(tmp_path / "run", "--agent", agent, "--limit", "6", "--max-tokens", "16")
    assert code == 0, stderr[-3000:]
    rows = [json.loads(line) for line in (tmp_path / "run" / "episodes.jsonl").read_text().splitlines()]
    assert len(rows) == 6 and all(row["success"] in (True, False) for row in rows)
    short = [row for row in rows if len(row["turns"][-1]["text"]) <= 3]  # the form of the examples: a number
    assert len(short) >= 4
