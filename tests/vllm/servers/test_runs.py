"""Two ranks train on two real vLLM servers: verified pushes; kills of a server and of the whole job."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.rollout.engines.engine import EngineError, SampleRequest, Sampling
from nlac_bench.rollout.engines.vllm.servers import SlotEngine
from nlac_bench.rollout.engines.weights import ModelSource
from tests.harness.test_server_runs import check_complete, kept
from tests.vllm import WHERE
from tests.vllm.servers.conftest import VERSIONS
from tests.vllm.servers.served import PYTHON, ROOT, Served

pytestmark = [pytest.mark.vllm, pytest.mark.slow]
if PYTHON is None:
    pytest.skip(WHERE, allow_module_level=True)

TWO_RANKS = [
    sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "nlac_bench",
]  # fmt: skip
TRAIN = {
    "budget": "steps=3", "train_batch_size": 6, "mini_batch_size": 1000, "val_tasks": 4, "save_freq": 1,
    "precision": "fp32",  # as the servers
}  # fmt: skip
"""Three iterations of 6 episodes, each with one gradient step and a checkpoint."""
OWN = {"nlac": {"probes": 2, "probe_states": 0}, "ppo": {"num_epochs": 1}}
GAP = 1e-3
"""Largest mean difference of log-probabilities between server and learner; both compute in float32."""


def training(method: str, out: Path, servers: str) -> list[str]:
    settings = [f"--train={name}={value}" for name, value in (TRAIN | OWN[method]).items()]
    return [
        *TWO_RANKS, "run", "--agent", method, "--env", 'tau_retail@{"level": "easy"}', "--servers", servers,
        "--limit", "4", *settings, "--out", str(out), "--json",
    ]  # fmt: skip


def iterations(folder: Path) -> list[dict[str, Any]]:
    path = folder / "metrics.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [row for row in rows if row["kind"] == "iteration"]


def finished(command: list[str]) -> dict[str, Any]:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    for trace in ("Traceback", "ERROR", "leaked"):
        assert trace not in done.stderr, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize(("method", "weights_by"), [("nlac", "nccl"), ("ppo", "file")])
def test_two_ranks_train_on_the_servers(
    method: str, weights_by: str, pair: list[Served], tmp_path: Path
) -> None:
    servers = f"{pair[0].url}@policy,{pair[1].url}@target"
    command = [*training(method, tmp_path / "run", servers), "--weights-by", weights_by]
    result = finished(command)
    rows = iterations(tmp_path / "run")
    assert result["learned"] and [row["iteration"] for row in rows] == [1, 2, 3]
    assert (tmp_path / "run" / "checkpoints" / "last" / "rank-1.safetensors").exists()
    for row in rows:
        assert row["push_seconds"] > 0 and 0 < row["prefix_hit_rate"] < 1
        assert row["logprob_gap"] < GAP
        assert row["push_slope"] is None or row["push_slope"] == pytest.approx(1.0, abs=0.2)
    assert any(row["push_slope"] is not None for row in rows)


def test_a_killed_server_and_a_killed_job(
    pair: list[Served], engine: SlotEngine, model: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """One of two servers is killed, and the job goes on; the job is killed, and resumed with the other.

    The killed server is then started again, so that it has the weights of its folder.
    """
    folder = tmp_path / "run"
    servers = ",".join(f"{server.url}@policy" for server in pair)
    with (tmp_path / "told").open("w") as told:
        job = subprocess.Popen(
            training("ppo", folder, servers), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=told
        )
        await_iterations(folder, 1, job)
        pair[0].kill()
        await_iterations(folder, 2, job)
        kill(job)
    pair[0].start()
    message = (tmp_path / "told").read_text()
    assert pair[0].url in message and "its requests go to the other replicas, of which 1 are left" in message
    plan, before = RunFolder.open(folder).plan, kept(folder)
    result = finished([*TWO_RANKS, "resume", str(folder), "--servers", pair[1].url, "--json"])
    assert result["learned"] and result["gradient_steps"] == 3
    check_complete(folder, plan, before)
    rows = iterations(folder)
    numbers = [row["iteration"] for row in rows]
    assert set(numbers) == {1, 2, 3} and len(numbers) <= 4  # the kill loses one iteration at most
    assert all(row["logprob_gap"] < GAP for row in rows)

    pair[0].wait()
    request = SampleRequest(prompt_ids=[5, 6, 7], sampling=Sampling(max_tokens=4))
    with pytest.raises(EngineError, match="all 1 replicas were lost"):
        asyncio.run(engine.sample(request))
    assert "versions: the server has the weights" in capfd.readouterr().err
    version = next(VERSIONS)
    engine.sync(ModelSource(model), version)
    (sample,) = asyncio.run(engine.sample(request))
    assert sample.weight_version == version
    assert "is used again" in capfd.readouterr().err


def await_iterations(folder: Path, count: int, job: "subprocess.Popen[bytes]") -> None:
    while len(iterations(folder)) < count:
        assert job.poll() is None
        time.sleep(0.05)


def kill(job: "subprocess.Popen[bytes]") -> None:
    """Kill torchrun and its ranks, as a machine that is lost."""
    children = Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
    for pid in (job.pid, *map(int, children)):
        os.kill(pid, signal.SIGKILL)
    job.wait()
