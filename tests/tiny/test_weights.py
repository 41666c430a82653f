"""The shipped weights: small, of the promised architecture, tied to the prompts, and they play."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nlac_bench import tiny
from nlac_bench.agents.roles import codec, compact
from nlac_bench.cli import app
from nlac_bench.envs.twenty_questions import TwentyQuestionsEnv
from nlac_bench.harness.measure.engines import engine_kind, local_model
from nlac_bench.harness.measure.model_defaults import is_tiny
from nlac_bench.rollout.engines.hf.engine import HFEngine
from workshop.fingerprint import fingerprint


@pytest.mark.parametrize("model", tiny.FOLDERS)
def test_weights_and_prompts_belong_together(model: str) -> None:
    """When this fails, the prompts have changed: build the weights anew, or take the change back."""
    manifest = json.loads((tiny.path(model) / "manifest.json").read_text())
    assert manifest["prompts"] == fingerprint()


def test_the_fingerprint_sees_prompts_and_numbering(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint()
    assert before == fingerprint()
    with monkeypatch.context() as patch:
        patch.setattr(compact, "FUTURE", "<|then|>")
        assert fingerprint() != before
    with monkeypatch.context() as patch:
        patch.setattr(codec, "_IDENTIFIER", re.compile(r"#W\d+"))
        assert fingerprint() != before
    assert fingerprint() == before


def test_weights_are_small_and_of_the_architecture_promised() -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = tiny.path()
    assert sum(path.stat().st_size for path in folder.iterdir()) < 25_000_000
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert model.config.model_type == "qwen2" and model.num_parameters() <= 12_000_000
    assert model.config.max_position_embeddings >= 2_048
    found = AutoTokenizer.from_pretrained(folder)
    assert 1_000 <= len(found) <= 4_096
    assert found.convert_ids_to_tokens(found("~1", add_special_tokens=False)["input_ids"]) == ["~1"]
    assert model.config.eos_token_id == found.eos_token_id


def test_tiny_worlds_is_at_most_8_mb_and_has_the_tokenizer_of_tiny() -> None:
    folder = tiny.path("tiny-worlds")
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 8_000_000
    assert (folder / "tokenizer.json").read_bytes() == (tiny.path() / "tokenizer.json").read_bytes()
    assert local_model("tiny-worlds") == str(folder) and is_tiny("tiny-worlds")
    assert engine_kind("tiny-worlds", None, "auto") == "hf"


@pytest.mark.parametrize(
    ("model", "env"),
    [("tiny", "tau_retail"), ("tiny-worlds", "shop_worlds"), ("tiny-worlds", "twenty_questions")],
)
def test_weights_play(model: str, env: str) -> None:
    from workshop.report import family, play

    assert family(tiny.path(model)) == model
    engine = HFEngine.from_pretrained(str(tiny.path(model)), device="cpu")
    episodes = play(engine, env, temperature=0.0, tasks=3, model=model)
    assert len(episodes) == 3 and all(episode.success is not None for episode in episodes)
    kinds = [turn.info.get("action_kind") for episode in episodes for turn in episode.turns]
    assert kinds.count("invalid") <= 0.2 * len(kinds)


def test_a_report_measures_what_the_model_is_taught() -> None:
    from workshop.report import ENVS, family

    assert ENVS["tiny-worlds"]["twenty_questions"]("test").task_ids == TwentyQuestionsEnv().task_ids
    assert ENVS["tiny"]["twenty_questions"]("test").task_ids != TwentyQuestionsEnv().task_ids
    assert family(Path("a/folder/without/manifest")) == "tiny"
    result = CliRunner().invoke(app, ["tiny", "report", "--model", "tiny-worlds", "--env", "tau_retail"])
    assert result.exit_code == 2
    said = " ".join(result.output.split())
    assert "tiny-worlds is not taught tau_retail; choose from shop_worlds, twenty_questions" in said
