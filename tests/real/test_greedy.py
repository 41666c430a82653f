"""Greedy texts of the engine are those of plain transformers."""

from pathlib import Path

from nlac_bench.rollout.engines.hf.engine import HFEngine
from tests.real.greedy import check_greedy


def test_the_engine_writes_the_same_greedy_tokens(smollm2: Path) -> None:
    engine = HFEngine.from_pretrained(str(smollm2), dtype="float32", device="cpu")
    try:
        check_greedy(engine, smollm2)
    finally:
        engine.close()
