"""Samples of two real vLLM servers, and faults in pushes to them: each is caught by the layer named here."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nlac_bench import tiny
from nlac_bench.rollout.engines.engine import SampleRequest, Sampling, SyncError
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.rollout.engines.vllm.http import Http
from nlac_bench.rollout.engines.vllm.server import Server
from nlac_bench.rollout.engines.vllm.servers import SlotEngine
from nlac_bench.rollout.engines.weights import ModelSource
from tests.vllm import WHERE
from tests.vllm.servers.conftest import VERSIONS
from tests.vllm.servers.served import PYTHON, Served, plant
from tests.vllm.updates import SIZES, Half, perturbed

pytestmark = [pytest.mark.vllm, pytest.mark.slow]
if PYTHON is None:
    pytest.skip(WHERE, allow_module_level=True)

LAYERS = ("versions", "digests", "probe", "prefix cache")


@pytest.fixture
def start(engine: SlotEngine, pair: list[Served], model: Any) -> Iterator[Any]:
    """A model whose weights the policy's server has; at the end it gets them again, without a fault."""
    plant(pair, "keep")  # what a stale layer keeps
    engine.sync(ModelSource(model), next(VERSIONS))
    plant(pair, "none")
    yield model
    plant(pair, "none")
    engine.sync(ModelSource(model), next(VERSIONS))


# --- samples and doctor -----------------------------------------------------------------------------------


def test_doctor_accepts_the_servers(pair: list[Served]) -> None:
    command = [sys.executable, "-m", "nlac_bench", "doctor", "--server", pair[0].url, "--model", "tiny"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)
    assert (done.returncode, found["ok"], found["problems"]) == (0, True, []) and found["version"]


@pytest.mark.usefixtures("pushed")
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


@pytest.mark.usefixtures("pushed")
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

    async def post(self: Http, path: str, *args: Any, **options: Any) -> Any:
        return await right(self, path.replace("clear_cache=true", "clear_cache=false"), *args, **options)

    patch.setattr(Http, "post", post)
    patch.setattr(Server, "salt", "the same for all weights")


def never_sent(pair: list[Served], patch: pytest.MonkeyPatch) -> None:
    async def transfer(self: Server, source: Any, version: int) -> None:
        self.version, self._label = version, f"{self.slot}:{version}:never sent"

    patch.setattr(Server, "transfer", transfer)


def to_the_other_slot(pair: list[Served], patch: pytest.MonkeyPatch) -> None:
    """The server of the moving average takes the policy's weights."""
    right = Server.transfer

    async def transfer(self: Server, *args: Any) -> None:
        own, self.http = self.http, Http(pair[1].url, self.http.timeout)
        try:
            await right(self, *args)
        finally:
            await self.http.close()
            self.http = own

    patch.setattr(Server, "transfer", transfer)


def lagging(pair: list[Served], patch: pytest.MonkeyPatch) -> None:
    """It takes the weights and keeps the name of the earlier ones."""
    right = Http.post

    async def post(self: Http, path: str, body: Any = None, timeout: float | None = None) -> Any:
        return await right(self, path, None if path == "/finish_weight_update" else body, timeout)

    patch.setattr(Http, "post", post)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("fault", "layer"),
    [
        (never_sent, "versions"),
        (to_the_other_slot, "versions"),
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
