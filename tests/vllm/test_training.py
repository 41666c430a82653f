"""Training runs with ``--engine vllm``, from the command line to the end of the process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.vllm import WHERE

pytest.importorskip("vllm", reason=WHERE)
pytestmark = [pytest.mark.vllm, pytest.mark.slow]


def test_a_run_trains_the_embedded_model_and_ends_without_traces(tmp_path: Path) -> None:
    """NLAC uses both slots, each with a vLLM of its own."""
    command = [
        "run", "--agent", "nlac", "--engine", "vllm", "--env", "tau_retail", "--budget", "steps=1",
        "--train=train_batch_size=4", "--train=mini_batch_size=1000", "--limit", "2", "--train=val_tasks=2",
        "--train=probes=2", "--train=probe_states=0", "--max-model-len", "4096",
        "--gpu-memory-utilization", "0.2", "--out", str(tmp_path / "run"), "--json",
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "nlac_bench", *command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for trace in ("Traceback", "EngineDeadError", "ERROR", "leaked"):
        assert trace not in done.stderr, done.stderr[-3000:]
    result = json.loads(done.stdout)
    assert result["learned"] and result["gradient_steps"] == 1
    rows = [json.loads(line) for line in (tmp_path / "run" / "rollouts.jsonl").read_text().splitlines()]
    assert rows
