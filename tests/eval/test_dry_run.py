"""`run --dry-run`: what a run would play, take and lack."""

from pathlib import Path
from typing import Any

import pytest

from nlac_bench.envs.twenty_questions.official import official_world
from nlac_bench.eval.measure import estimate
from nlac_bench.eval.measure.missing import missing
from nlac_bench.eval.runs.configuration import RunConfig, read_config

PAPER = Path(__file__).parents[2] / "configs" / "paper"
SERVER = "http://127.0.0.1:9/v1"


def config(**settings: Any) -> RunConfig:
    return RunConfig.from_mapping({"env": "tau_retail", **settings}, "test")


@pytest.fixture
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither data nor weights nor network."""
    monkeypatch.setenv("NLAC_BENCH_DATA", str(tmp_path))
    monkeypatch.setenv("NLAC_BENCH_CACHE", str(tmp_path))
    monkeypatch.setattr("nlac_bench.eval.measure.missing._available", lambda name: False)
    official_world.cache_clear()  # another test of this process may have read the data


@pytest.mark.usefixtures("empty_machine")
@pytest.mark.parametrize("path", sorted(PAPER.glob("*.toml")), ids=lambda path: path.stem)
def test_the_papers_configurations_are_estimated_on_an_empty_machine(path: Path) -> None:
    found = estimate.of(RunConfig.from_mapping(read_config(path), path.name)).to_json()
    counts = {"tau_retail": 115, "math500_hard": 134, "twenty_questions": 500}
    (tests,) = (count for name, count in counts.items() if path.name.startswith(name))
    assert found["planned"] == found["episodes"]["test"] == found["episodes"]["base"] == tests
    assert found["episodes"]["validation"] == 65 * 100 and found["episodes"]["training"] > 0
    assert found["tokens"] > 1e9 and found["memory_bytes"] > 1e11 and found["seconds_here"] is None
    said = [each["what"] for each in found["missing"]]
    assert any("weights of Qwen" in what for what in said) and any("official data" in what for what in said)
    assert all(each["fix"] for each in found["missing"])


def test_a_training_of_the_embedded_model_is_timed_here() -> None:
    train = {"budget": "env_steps=100", "val_tasks": 8, "train_batch_size": 8}
    found = estimate.of(
        config(agent="ppo", model="tiny", env='math500_hard@{"level": 1}', limit=5, train=train)
    )
    shown = found.to_json()
    assert shown["episodes"]["base"] == shown["episodes"]["test"] == 5
    assert shown["episodes"]["training"] >= 100 / (found.turns_per_episode or 0)
    assert shown["episodes"]["validation"] % 8 == 0
    assert shown["seconds_here"] > 0 and shown["memory_bytes"] > 3_674_368 * 16 and not shown["missing"]
    text = found.to_text()
    assert "time here: about" in text and "validation" in text


def test_a_served_model_takes_the_stated_seconds_a_call() -> None:
    found = estimate.of(config(agent="react", model="m", base_url=SERVER, limit=3, concurrency=1))
    assert found.seconds_here == pytest.approx(3 * (found.turns_per_episode or 0) * estimate.SECONDS_PER_CALL)
    assert found.memory_bytes == 0 and found.missing == ()


def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (found,) = missing(config(agent="act", model="gpt-5"))
    assert "OPENAI_API_KEY" in found.fix
    assert not missing(config(agent="act", model="m", base_url=SERVER))
    assert not missing(config(agent="oracle"))
