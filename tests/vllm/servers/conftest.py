"""Two vLLM servers with the embedded model for all tests and an engine that pushes weights to them."""

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from nlac_bench import tiny
from tests.vllm.servers.served import Served

if TYPE_CHECKING:
    from nlac_bench.rollout.engines.vllm.servers import SlotEngine

VERSIONS = itertools.count(100)
"""Versions of pushed weights."""


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Served]]:
    """Two servers; faults can be planted in their workers."""
    logs = tmp_path_factory.mktemp("servers")
    flags = (
        "--max-model-len", "4096", "--worker-extension-cls", "tests.vllm.faults.Faults",
        "--enable-auto-tool-choice", "--tool-call-parser", "hermes",
    )  # fmt: skip
    servers = [Served(str(tiny.path()), logs / f"{number}.log", *flags) for number in range(2)]
    try:
        for server in servers:
            server.wait()
        yield servers
    finally:
        for server in servers:
            server.kill()


@pytest.fixture(scope="session")
def model() -> Any:
    import torch

    from nlac_bench.rollout.engines.hf.loading import load_model

    return load_model(str(tiny.path()), torch.float32)


@pytest.fixture(scope="module")
def engine(pair: list[Served]) -> Iterator["SlotEngine"]:
    """One server for each slot; earlier runs may have left other weights there."""
    from nlac_bench.rollout.engines.vllm.servers import connect

    made = connect(str(tiny.path()), [(pair[0].url, "policy"), (pair[1].url, "target")], timeout=300.0)
    yield made
    made.close()


@pytest.fixture
def pushed(engine: "SlotEngine", model: Any) -> Any:
    """The embedded model, whose weights the policy's server has."""
    from nlac_bench.rollout.engines.weights import ModelSource

    engine.sync(ModelSource(model), next(VERSIONS))
    return model
