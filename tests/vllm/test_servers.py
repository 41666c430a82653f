"""Training on two real vLLM servers, which all tests share: verified pushes, faults, a kill and a resume."""

import asyncio
import itertools
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nlac_bench import tiny
from nlac_bench.rollout.engines.engine import SampleRequest, Sampling, SyncError
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.rollout.engines.hf.loading import load_model
from nlac_bench.rollout.engines.vllm.http import Http
from nlac_bench.rollout.engines.vllm.server import Server
from nlac_bench.rollout.engines.vllm.servers import SlotEngine, connect
from nlac_bench.rollout.engines.weights import ModelSource
from tests.vllm.servers import Served
from tests.vllm.test_push import SIZES, Half, perturbed

pytest.importorskip("vllm", reason="vLLM is not installed; run make test-vllm")
pytestmark = [pytest.mark.vllm, pytest.mark.slow]

LAYERS = ("versions", "digests", "probe", "prefix cache")
VERSIONS = itertools.count(100)
ENV = 'tau_retail@{"level": "easy"}'


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Served]]:
    """Two servers with the embedded model; faults can be planted in their workers."""
    logs = tmp_path_factory.mktemp("servers")
    flags = ("--max-model-len", "4096", "--worker-extension-cls", "tests.vllm.faults.Faults")
    servers = [Served(str(tiny.path()), logs / f"{number}.log", *flags) for number in range(2)]
    try:
        for server in servers:
            server.wait()
        yield servers
    finally:
        for server in servers:
            server.kill()


@pytest.fixture(scope="module")
def model() -> Any:
    import torch

    return load_model(str(tiny.path()), torch.float32)


@pytest.fixture(scope="module")
def engine(pair: list[Served]) -> Iterator[SlotEngine]:
    """One server for each slot."""
    made = connect(str(tiny.path()), [(pair[0].url, "policy"), (pair[1].url, "target")], timeout=300.0)
    yield made
    made.close()


@pytest.fixture
def start(engine: SlotEngine, pair: list[Served], model: Any) -> Iterator[Any]:
    """A model whose weights the policy's server has; at the end it gets them again, without a fault."""
    plant(pair, "keep")  # what a stale layer keeps
    engine.sync(ModelSource(model), next(VERSIONS))
    plant(pair, "none")
    yield model
    plant(pair, "none")
    engine.sync(ModelSource(model), next(VERSIONS))


def plant(pair: list[Served], fault: str) -> None:
    for server in pair:
        body = json.dumps({"method": "plant", "args": [fault]}).encode()
        header = {"Content-Type": "application/json"}
        urllib.request.urlopen(
            urllib.request.Request(f"{server.url}/collective_rpc", body, header), timeout=300
        )


def both(pair: list[Served]) -> str:
    return f"{pair[0].url}@policy,{pair[1].url}@target"


# --- samples and doctor -----------------------------------------------------------------------------------


def test_doctor_accepts_the_servers(pair: list[Served]) -> None:
    command = [sys.executable, "-m", "nlac_bench", "doctor", "--server", pair[0].url, "--model", "tiny"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)
    assert (done.returncode, found["ok"], found["problems"]) == (0, True, []) and found["version"]


def test_samples_are_those_of_the_transformers_engine(engine: SlotEngine) -> None:
    here = HFEngine.from_pretrained(str(tiny.path()), device="cpu", dtype="float32")
    said = [[{"role": "user", "content": f"Order {i}: is it here?"}] for i in range(20)]
    greedy = [SampleRequest(messages=m, sampling=Sampling(0.0, max_tokens=40)) for m in said]
    stops = [SampleRequest(messages=m, sampling=Sampling(0.0, max_tokens=40, stop=("e",))) for m in said[:4]]

    async def ask(one: Any) -> list[Any]:
        return await asyncio.gather(*(one.sample(request) for request in [*greedy, *stops]))

    pairs = [(a, b) for (a,), (b,) in zip(asyncio.run(ask(engine)), asyncio.run(ask(here)), strict=True)]
    assert sum(a.ids == b.ids and a.text == b.text and a.finish == b.finish for a, b in pairs) >= 23
    for a, b in pairs:
        if a.ids == b.ids:
            assert a.logprobs == pytest.approx(b.logprobs, abs=2e-3)
    here.close()


def test_seeded_samples_do_not_depend_on_the_concurrency(engine: SlotEngine) -> None:
    said = [[{"role": "user", "content": f"Order {i % 7}: where?"}] for i in range(64)]
    asked = [SampleRequest(messages=m, seed=i, sampling=Sampling(max_tokens=24)) for i, m in enumerate(said)]

    async def ask(most: int) -> list[Any]:
        free = asyncio.Semaphore(most)

        async def one(request: SampleRequest) -> Any:
            async with free:
                return (await engine.sample(request))[0].ids

        return await asyncio.gather(*map(one, asked))

    few, many = asyncio.run(ask(16)), asyncio.run(ask(64))
    assert sum(a == b for a, b in zip(few, many, strict=True)) >= 61  # rounding may decide a token


# --- pushes -----------------------------------------------------------------------------------------------


def skipped_by_the_worker(pair: list[Served], patch: pytest.MonkeyPatch) -> None:
    plant(pair, "skipped push")


def one_stale_layer(pair: list[Served], patch: pytest.MonkeyPatch) -> None:
    plant(pair, "stale layer")


def no_salt(pair: list[Served], patch: pytest.MonkeyPatch) -> None:
    """A cache that is cleared at each pause would hide that its keys do not depend on the weights."""
    right = Http.post

    async def post(self: Http, path: str, body: Any = None) -> Any:
        return await right(self, path.replace("clear_cache=true", "clear_cache=false"), body)

    patch.setattr(Http, "post", post)
    patch.setattr(Server, "salt", "the same for all weights")


def never_sent(pair: list[Served], patch: pytest.MonkeyPatch) -> None:
    async def transfer(self: Server, path: Any, digests: Any, version: int) -> None:
        self.version, self._label = version, f"{self.slot}:{version}:never sent"

    patch.setattr(Server, "transfer", transfer)


def lagging(pair: list[Served], patch: pytest.MonkeyPatch) -> None:
    """It takes the weights and keeps the name of the earlier ones."""
    right = Http.post

    async def post(self: Http, path: str, body: Any = None) -> Any:
        return await right(self, path, None if path == "/finish_weight_update" else body)

    patch.setattr(Http, "post", post)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("fault", "layer"),
    [
        (never_sent, "versions"),
        (lagging, "versions"),
        (one_stale_layer, "digests"),
        (skipped_by_the_worker, "probe"),
        (no_salt, "prefix cache"),
    ],
)
def test_a_fault_in_a_push_is_caught(
    engine: SlotEngine, pair: list[Served], start: Any, monkeypatch: pytest.MonkeyPatch,
    fault: Callable[[list[Served], pytest.MonkeyPatch], None], layer: str, size: float,
) -> None:  # fmt: skip
    with monkeypatch.context() as patch:
        fault(pair, patch)
        with pytest.raises(SyncError, match=f"{layer}:") as caught:
            engine.sync(ModelSource(perturbed(start, size)), next(VERSIONS))
    assert not any(f"{other}:" in str(caught.value) for other in LAYERS if other != layer)


@pytest.mark.parametrize("size", SIZES)
def test_half_a_push_is_caught_and_a_whole_one_passes(engine: SlotEngine, start: Any, size: float) -> None:
    moved = ModelSource(perturbed(start, size))
    assert engine.sync(moved, next(VERSIONS)) == pytest.approx(1.0, abs=0.1)
    with pytest.raises(SyncError, match=r"digests: .* weights were not sent"):
        engine.sync(Half(perturbed(start, size)), next(VERSIONS))
    assert engine.sync(moved, next(VERSIONS)) is None  # the weights before it are not known


# --- runs -------------------------------------------------------------------------------------------------


def training(method: str, out: Path, servers: str) -> list[str]:
    """A run of 3 iterations of 16 episodes, with a checkpoint after each."""
    return [
        sys.executable, "-m", "nlac_bench", "run", "--agent", method, "--env", ENV, "--servers", servers,
        "--limit", "8", "--train", "val_tasks=8", "--train", "save_freq=1", "--train", "train_batch_size=16",
        "--train", "precision=fp32",  # as the servers
        "--train", "mini_batch_size=16", "--budget", "env_steps=300", "--out", str(out), "--json",
    ]  # fmt: skip


def iterations(folder: Path) -> list[dict[str, Any]]:
    path = folder / "metrics.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [row for row in rows if row["kind"] == "iteration"]


def finished(command: list[str]) -> dict[str, Any]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    for trace in ("Traceback", "ERROR", "leaked"):
        assert trace not in done.stderr, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("method", ["nlac", "ppo"])
def test_a_run_trains_on_the_servers(method: str, pair: list[Served], tmp_path: Path) -> None:
    result = finished(training(method, tmp_path / "run", both(pair)))
    rows = iterations(tmp_path / "run")
    assert result["learned"] and len(rows) >= 3
    for row in rows:
        assert row["push_seconds"] > 0 and 0 < row["prefix_hit_rate"] < 1
        assert row["logprob_gap"] < 1e-3
        assert row["push_slope"] is None or row["push_slope"] == pytest.approx(1.0, abs=0.2)
    assert any(row["push_slope"] is not None for row in rows)


def test_a_killed_server_and_a_killed_run(pair: list[Served], tmp_path: Path) -> None:
    """One of two servers is killed, and the run goes on; the run is killed, and continued with the other."""
    folder = tmp_path / "run"
    servers = ",".join(server.url for server in pair)
    with (tmp_path / "told").open("w") as told:
        run = subprocess.Popen(training("ppo", folder, servers), stdout=subprocess.DEVNULL, stderr=told)
        await_iterations(folder, 1, run)
        pair[0].kill()
        await_iterations(folder, 2, run)
        run.kill()
        run.wait()
    message = (tmp_path / "told").read_text()
    assert pair[0].url in message and "its requests go to the other replicas, of which 1 are left" in message
    resume = [sys.executable, "-m", "nlac_bench", "resume", str(folder), "--servers", pair[1].url, "--json"]
    result = finished(resume)
    assert result["learned"] and result["scored"] == result["planned"] == 8
    rows = iterations(folder)
    numbers = [row["iteration"] for row in rows]
    assert set(numbers) >= {1, 2, 3} and len(numbers) - len(set(numbers)) <= 1  # the kill loses one at most
    assert all(row["logprob_gap"] < 1e-3 for row in rows)


def await_iterations(folder: Path, count: int, process: "subprocess.Popen[Any]") -> None:
    while len(iterations(folder)) < count:
        assert process.poll() is None
        time.sleep(0.05)
