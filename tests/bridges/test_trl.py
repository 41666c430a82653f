"""TRL's GRPO trains on environments of this package, with a tiny model that calls tools."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from gymnasium.error import ResetNeeded

from nlac_bench.bridges.trl import TrlEpisode, environment, rows
from nlac_bench.envs.registry import make_text_env
from nlac_bench.envs.tau import TauRetailEnv
from nlac_bench.envs.tau.actions import CallAction, parse_action
from nlac_bench.errors import ConfigError, EnvInfraError, NlacBenchError

ENV = "tau_retail"


def called(action: str) -> tuple[str, dict[str, Any]]:
    """The tool and the arguments with which a model takes ``action``."""
    parsed = parse_action(action)
    if isinstance(parsed, CallAction):
        return parsed.name, dict(parsed.arguments)
    return "respond", {"content": action}


def play(episode: TrlEpisode, name: str, row: dict[str, Any]) -> float:
    """Play the oracle's actions as TRL would call them, and in an environment; return the reward there."""
    env, total, ended = make_text_env(name, split="train"), 0.0, False
    first, _ = env.reset(seed=row["seed"], options={"task_id": row["task_id"]})
    assert episode.reset(**row) == first
    while not ended:
        tool, arguments = called(env.oracle_action())
        told = getattr(episode, tool)(**arguments)
        observation, reward, ended, _, _ = env.step(env.oracle_action())
        assert told == observation
        total += reward
    return total


@pytest.mark.parametrize("name", ["tau_retail", "tau_airline", "twenty_questions", "first_steps"])
def test_the_oracle_earns_the_local_reward(name: str) -> None:
    episode = environment(name)()
    for row in rows(name)[:3]:
        earned = play(episode, name, row)
        assert episode.get_reward() == earned
        assert earned == 1.0 or name == "twenty_questions"  # where each question costs a point
    assert episode.respond("more") == "The conversation has ended."
    assert episode.get_reward() == earned


def test_an_infrastructure_error_has_no_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any) -> Any:
        raise EnvInfraError("the user's server is down")

    row, episode = rows(ENV)[0], environment(ENV)()
    episode.reset(**row)
    episode.think(thought="wait")  # type: ignore[attr-defined]
    with monkeypatch.context() as patch:
        patch.setattr(TauRetailEnv, "_respond", fail)
        with pytest.raises(EnvInfraError):
            episode.respond("hello")
    assert episode.respond("hello") == "The conversation has ended."
    assert episode.get_reward() is None
    with monkeypatch.context() as patch:
        patch.setattr(TauRetailEnv, "_begin", fail)
        assert "server is down" in episode.reset(**row)
    assert episode.get_reward() is None
    assert play(episode, ENV, row) == episode.get_reward() == 1.0


def test_rows_without_tasks_and_tools_with_taken_names_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="no column task_id"):
        environment(ENV)().reset(prompt=[])
    tool = {"type": "function", "function": {"name": "reset", "description": "Reset."}}
    monkeypatch.setattr(TauRetailEnv, "tools", lambda self: [tool])
    with pytest.raises(ConfigError, match="its tool reset has the name of a method"):
        environment(ENV)


def test_tasks_without_a_user_are_refused() -> None:
    for make in (environment, rows):
        with pytest.raises(NlacBenchError, match="needs a model that plays the user"):
            make(ENV, user="none")
        make(ENV, user="scripted", level="easy")


def test_the_split_is_train_unless_another_is_given() -> None:
    assert {row["task_id"].split("/")[1] for row in rows(ENV)} == {"train"}
    assert {row["task_id"].split("/")[1] for row in rows('tau_retail@{"split": "test"}')} == {"test"}
    assert {row["task_id"].split("/")[1] for row in rows(ENV, split="test", level="easy")} == {"test"}
    prompt = rows("first_steps")[0]["prompt"]
    assert [message["role"] for message in prompt] == ["system", "user"]
    assert "You call respond with: " in prompt[0]["content"]


@pytest.mark.bridge
@pytest.mark.parametrize("name", ["tau_retail", "tau_airline", "twenty_questions"])
def test_transformers_reads_the_tools(name: str) -> None:
    pytest.importorskip("trl")
    from transformers.utils import get_json_schema

    made = environment(name)()
    for tool in make_text_env(name).tools():
        told, wanted = get_json_schema(getattr(made, tool["function"]["name"]))["function"], tool["function"]
        assert told["name"] == wanted["name"]
        assert told["description"] == wanted["description"]
        assert told["parameters"].get("required", []) == wanted["parameters"].get("required", [])
        for argument, schema in wanted["parameters"]["properties"].items():
            read = told["parameters"]["properties"][argument]
            assert (read["type"], read.get("enum")) == (schema["type"], schema.get("enum"))
            assert read["description"].startswith(schema.get("description", argument))
    assert get_json_schema(made.respond)["function"]["parameters"]["required"] == ["content"]


@pytest.mark.bridge
def test_a_step_of_grpo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One real step. The samples are written in place of the model's, which has random weights: a rollout of
    the oracle, one that says nothing, and one with an infrastructure error."""
    trl = pytest.importorskip("trl")
    from datasets import Dataset
    from transformers import Qwen3Config, Qwen3ForCausalLM

    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    tokenizer = byte_tokenizer(Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja")
    config = Qwen3Config(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=1, num_key_value_heads=1, head_dim=16, max_position_embeddings=60_000,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    data = Dataset.from_list(rows(ENV, level="easy")[:1])
    trainer = trl.GRPOTrainer(
        Qwen3ForCausalLM(config), train_dataset=data, processing_class=tokenizer,
        environment_factory=environment(ENV, level="easy"),
        args=trl.GRPOConfig(
            output_dir=str(tmp_path), max_steps=1, per_device_train_batch_size=3, num_generations=3,
            max_completion_length=2_000, report_to=[], use_cpu=True, bf16=False, learning_rate=1e-3,
            gradient_checkpointing=False,
        ),
    )  # fmt: skip

    env = make_text_env(ENV, split="train", level="easy")
    env.reset(seed=data[0]["seed"], options={"task_id": data[0]["task_id"]})

    def sample(prompt_ids: Any, *_: Any, **__: Any) -> tuple[list[list[int]], None]:
        texts = ["done"] * len(prompt_ids)
        if len(prompt_ids) == 3:
            texts[2] = as_text("respond", {"content": "no connection"})
        with contextlib.suppress(ResetNeeded):  # after the end
            tool, arguments = called(action := env.oracle_action())
            env.step(action)
            texts[0] = as_text(tool, arguments)
        return [tokenizer.encode(f"{text}<|im_end|>") for text in texts], None

    def as_text(name: str, arguments: dict[str, Any]) -> str:
        return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"

    respond = TauRetailEnv._respond

    async def fails(self: TauRetailEnv, action: str) -> Any:
        if action == "no connection":
            raise EnvInfraError(action)
        return await respond(self, action)

    monkeypatch.setattr(TauRetailEnv, "_respond", fails)
    monkeypatch.setattr(trainer, "_generate_single_turn", sample)
    before = [p.detach().clone() for p in trainer.model.parameters()]
    trainer.train()
    log = trainer.state.log_history[0]
    assert [e.get_reward() for e in trainer.environments] == [1.0, 0.0, None]
    assert log["rewards/tau_retail/mean"] == log["reward"] == 0.5
    assert any((a != b).any() for a, b in zip(before, trainer.model.parameters(), strict=True))


def byte_tokenizer(template: Path) -> Any:
    """A tokenizer whose tokens are bytes and the marks of Qwen3's chat template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({each: i for i, each in enumerate(alphabet)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|pad|>")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    tokenizer.chat_template = template.read_text()
    return tokenizer
