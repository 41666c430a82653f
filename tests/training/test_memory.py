"""The memory that a dry run states, against the peak of a training of a random model of 50 M parameters."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from nlac_bench.agents import methods
from nlac_bench.harness.measure.estimate import estimate_of
from nlac_bench.harness.measure.memory_estimate import memory_estimate
from nlac_bench.harness.measure.sampled_episodes import MeanEpisode
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.learner.batch import TokenSequence, pack
from nlac_bench.learner.learner import Learner
from nlac_bench.learner.memory import Shape, learner_bytes
from nlac_bench.learner.outputs import Outputs
from nlac_bench.learner.source import push
from nlac_bench.rollout.engines.hf.engine import HFEngine
from tests.learner.memory import peak_bytes
from tests.rollout import tiny_model

ROW = 512


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of 48 million parameters, stored in bf16 as most models are, with a tokenizer."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        vocab_size=32_000, hidden_size=512, intermediate_size=1536, num_hidden_layers=10,
        num_attention_heads=8, num_key_value_heads=4, max_position_embeddings=2048, tie_word_embeddings=True,
    )  # fmt: skip
    where = tmp_path_factory.mktemp("model")
    torch.manual_seed(0)
    Qwen2ForCausalLM(config).bfloat16().save_pretrained(where)
    tiny_model.tokenizer().save_pretrained(where)
    return where


def peak_of_training(folder: Path, agent: str, settings: dict[str, Any]) -> int:
    """The peak of loading, of the first transfer of weights, and of two steps, of which the second, when all
    that stays is there, has two micro-batches of whole rows."""
    method = methods.find(agent)
    train = method.config(settings)
    generator = torch.Generator().manual_seed(0)

    def row(_: int) -> TokenSequence:
        ids = torch.randint(0, 32_000, (ROW,), generator=generator).tolist()
        return TokenSequence(ids, [0.0] * (ROW // 2) + [1.0] * (ROW // 2))

    def loss(outputs: Outputs, micro: Any) -> Any:
        total = -outputs.logprobs_BT.sum()
        return total + outputs.reference_kl_BT.sum() if train.kl_coef else total, {}

    copied: list[int] = []

    def run() -> None:
        engine = HFEngine.from_pretrained(str(folder), dtype="float32")  # as a run in fp32 starts it
        learner = Learner(str(folder), train.learner(0, **method.learner))
        push(learner, engine, 1)
        if learner.ema is not None:  # the engine's thread has made this copy, which stays
            copied.append(sum(p.nbytes for p in engine.decoders["target"].model.parameters()))
        for count in (1, 2 * train.micro_rows):
            batch = pack([row(i) for i in range(count)], ROW)
            learner.forward_backward(batch, loss)
            learner.optim_step()
            if learner.ema is not None:
                learner.ema_update(0.1)
        engine.close()

    return peak_bytes(run) + sum(copied)


@pytest.mark.slow  # two steps of a model of 50 M parameters, four times
@pytest.mark.parametrize(
    ("agent", "settings"),
    [
        ("nlac", {}),
        ("nlac", {"kl_coef": 0.1}),
        ("rft", {"kl_probe": False, "micro_rows": 2}),
        ("rft", {"kl_probe": False, "activation_checkpointing": True, "micro_rows": 2}),
    ],
)
def test_a_dry_run_states_the_peak_of_a_training(
    folder: Path, agent: str, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # By default transformers converts weights to float32 in threads, whose tensors are not counted.
    monkeypatch.setenv("HF_DEACTIVATE_ASYNC_LOAD", "1")
    shared = {"precision": "fp32", "row_tokens": ROW, "max_prompt_length": ROW // 2, "budget": "steps=2"}
    train = {**shared, **settings}
    config = RunConfig.from_mapping(
        {"env": "twenty_questions", "agent": agent, "model": str(folder), "replicas": 1, "train": train},
        "test",
    )
    episode = MeanEpisode(turns=1, prompt=100, fixed=0, context=100, user=0, talk=0, answer=100)
    found = memory_estimate(config, 48e6, episode, episodes=1)
    assert found is not None
    stated = found.engines + found.learner + found.gradient_step
    measured = peak_of_training(folder, agent, train)
    print(f"{agent} {settings}: stated {stated / 1e9:.3f} GB, measured {measured / 1e9:.3f} GB")
    assert stated == pytest.approx(measured, rel=0.15)


def test_engines_on_servers_take_no_memory_here(tmp_path: Path) -> None:
    settings = {"env": "twenty_questions", "agent": "nlac", "model": str(tmp_path)}
    episode = MeanEpisode(turns=1, prompt=100, fixed=0, context=100, user=0, talk=0, answer=100)
    servers = {"servers": "http://h:1@policy,http://h:2@target"}
    here, there = (
        memory_estimate(RunConfig.from_mapping({**settings, **more, "train": {}}, "test"), 7e9, episode, 1)
        for more in ({"engine": "vllm"}, servers)
    )
    assert here is not None and there is not None
    assert here.engines >= 2 * 7e9 * 2 and there.engines == 0 and there.learner == here.learner > 0


def parts(**changes: Any) -> dict[str, float]:
    options: dict[str, Any] = {"ranks": 8, "bf16": True, "device": "cuda", **changes}
    settings = methods.find("nlac").config(options.pop("settings", {}))
    return learner_bytes(Shape.usual(7e9), settings, {"ema": True}, **options)


def test_ranks_share_what_is_sharded() -> None:
    eight, sixteen = parts(), parts(ranks=16)
    for name in ("fp32 master weights", "gradients", "AdamW's moments", "moving average", "initial weights"):
        assert eight[name] == 2 * sixteen[name] > 0
    assert eight["gradients"] == 4 * 7e9 / 8
    assert eight["activations"] == sixteen["activations"] > 0


def test_what_a_setting_saves_is_counted() -> None:
    whole = parts()
    assert parts(settings={"kl_probe": False})["initial weights"] == 0
    assert parts(settings={"kl_probe": False, "kl_coef": 0.1})["initial weights"] > 0
    assert parts(settings={"kl_coef": 0.1})["logits of a chunk"] == 3.6 * whole["logits of a chunk"]
    assert parts(settings={"lora_rank": 8})["gradients"] < 0.01 * whole["gradients"]
    assert parts(settings={"activation_checkpointing": True}).get("activations", 0) < whole["activations"] / 9
    alone = [
        parts(ranks=1, settings={"activation_checkpointing": on})["gathered weights"] for on in (False, True)
    ]
    assert alone[1] == whole["gathered weights"] < alone[0] / 4


def test_a_step_of_fewer_tokens_has_fewer_activations() -> None:
    whole = parts()
    few, many = parts(step_tokens=3000.0), parts(step_tokens=1e9)
    assert few["activations"] == pytest.approx(whole["activations"] * 3000 / 4096) and many == whole
    kept = ("fp32 master weights", "gradients", "AdamW's moments", "moving average")
    assert [few[name] for name in kept] == [whole[name] for name in kept]


def test_samples_of_one_prompt_are_estimated_with_one_prompt() -> None:
    """A CPU computes the prompt of a GRPO group once; RFT's episodes have prompts of their own."""

    def step(agent: str, **train: Any) -> tuple[float, int]:
        made = {"env": "first_steps", "agent": agent, "model": "owner/m-0.5b", "replicas": 1, "train": train}
        found = estimate_of(RunConfig.from_mapping(made, "test"))
        assert found.memory is not None and found.training is not None
        return found.training.step_tokens, found.memory.gradient_step

    shared = {
        "budget": "steps=2", "train_batch_size": 32, "mini_batch_size": 32, "precision": "fp32",
        "max_response_length": 4,
    }  # fmt: skip
    (few, less), (many, more) = step("grpo", **shared), step("rft", **shared)
    assert few < 0.3 * many and less < 0.85 * more
    large = shared | {"train_batch_size": 256, "mini_batch_size": 256}
    assert step("grpo", **large)[1] > less
    assert step("grpo", **shared | {"max_response_length": 64})[1] > less  # which some answers may reach


def test_the_shape_is_read_from_the_model_or_guessed(tmp_path: Path) -> None:
    from nlac_bench import tiny

    shape = Shape.read(tiny.path(), 3_674_368)
    assert (shape.layers, shape.hidden, shape.keys, shape.vocabulary) == (4, 256, 128, 2048)
    assert shape.embeddings + 4 * shape.block == pytest.approx(3_674_368, rel=0.01)
    (tmp_path / "config.json").write_text('{"hidden_size": "wide"}')
    for found in (Shape.read(tmp_path, 7e9), Shape.read("Qwen/Qwen2.5-7B", 7e9)):
        assert found == Shape.usual(7e9) and math.isclose(found.layers * found.block, 7e9, rel_tol=0.1)
