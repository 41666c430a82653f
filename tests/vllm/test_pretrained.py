"""A pretrained chat model in vLLM writes the greedy text of plain transformers."""

from pathlib import Path

import pytest

from nlac_bench.rollout.engines.vllm.engine import VLLMEngine
from tests.real.greedy import QUESTIONS, check_greedy
from tests.vllm import WHERE

pytest.importorskip("vllm", reason=WHERE)
pytestmark = [pytest.mark.vllm, pytest.mark.real, pytest.mark.slow]


def test_greedy_text_is_that_of_plain_transformers(smollm2: Path) -> None:
    engine = VLLMEngine(str(smollm2), dtype="float32", max_model_len=256, gpu_memory_utilization=0.2)
    try:
        check_greedy(engine, smollm2, QUESTIONS[:3])
    finally:
        engine.close()
