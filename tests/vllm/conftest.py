"""One vLLM for each of two models, shared by all tests: starting one takes a minute of CPU time."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from nlac_bench import tiny
from tests.vllm import ONE_PROCESS

if TYPE_CHECKING:
    from nlac_bench.rollout.engines.vllm.engine import VLLMEngine

CONTEXT = 256


@pytest.fixture(scope="session", autouse=True)
def environment() -> Iterator[None]:
    """Settings of all vLLM processes: 1 GiB for keys and values, and one thread that is not bound to a core.

    By default vLLM leaves one core free and binds itself to the others, so that on two cores all instances
    would run on the same one.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
        patch.setenv("VLLM_CPU_OMP_THREADS_BIND", "nobind")
        yield


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator["VLLMEngine"]:
    """The random model of ``tiny_model``; its workers can be given faults."""
    from nlac_bench.rollout.engines.vllm.engine import VLLMEngine
    from tests.rollout import tiny_model

    folder = tmp_path_factory.mktemp("model")
    tiny_model.model(0, context=CONTEXT).save_pretrained(folder)
    tiny_model.tokenizer().save_pretrained(folder)
    faults = "tests.vllm.faults.Faults"
    made = VLLMEngine(str(folder), dtype="float32", gpu_memory_utilization=0.2, worker_extension_cls=faults)
    yield made
    made.close()


@pytest.fixture(scope="module")
def embedded() -> Iterator["VLLMEngine"]:
    """The embedded model; prompts of more than 512 tokens are computed in chunks."""
    from nlac_bench.rollout.engines.vllm.engine import VLLMEngine

    with pytest.MonkeyPatch.context() as patch:
        for name, value in ONE_PROCESS.items():
            patch.setenv(name, value)
        made = VLLMEngine(
            str(tiny.path()),
            dtype="float32", max_model_len=4096, gpu_memory_utilization=0.2, max_num_batched_tokens=512,
        )  # fmt: skip
    yield made
    made.close()
