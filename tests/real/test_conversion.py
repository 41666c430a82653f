"""The converted model is a plain Hugging Face folder with the tokenizer and template of the original."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from nlac_bench.pretrained import smollm2 as source


@pytest.fixture(scope="module")
def tokenizer(smollm2: Path) -> Any:
    return AutoTokenizer.from_pretrained(smollm2)


def test_every_file_is_as_it_was_converted(smollm2: Path, tmp_path: Path) -> None:
    assert all(row["ok"] for row in source.verify(smollm2))
    copy = Path(shutil.copytree(smollm2, tmp_path / "copy", ignore=shutil.ignore_patterns("*.safetensors")))
    (copy / "config.json").write_text("{}")
    wrong = {row["file"] for row in source.verify(copy) if not row["ok"]}
    assert wrong == {"config.json", "model.safetensors"}


def test_digits_are_single_tokens_and_text_survives(tokenizer: Any) -> None:
    for text in ("2026-11-26", "a  b\n\nc", "naïve — 北京 🙂", " leading", "x=1234567;"):
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert tokenizer.decode(ids) == text
    assert tokenizer.tokenize("2026") == ["2", "0", "2", "6"]


def test_the_template_marks_turns_with_single_tokens(tokenizer: Any) -> None:
    messages = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hi"}]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert text == (
        "<|im_start|>system\nBe short.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert [tokenizer.decode([i]) for i in ids].count("<|im_start|>") == 3
    assert tokenizer.decode(tokenizer.eos_token_id) == "<|im_end|>"


def test_the_configuration_is_of_a_plain_model(smollm2: Path) -> None:
    config = json.loads((smollm2 / "config.json").read_text())
    assert not {"quantization_config", "unk_token_id"} & config.keys()
    assert config["num_hidden_layers"] == 30 and config["tie_word_embeddings"]
    generation = json.loads((smollm2 / "generation_config.json").read_text())
    assert generation["eos_token_id"] == config["eos_token_id"]


def test_plain_transformers_answers_a_question(smollm2: Path, tokenizer: Any) -> None:
    model = AutoModelForCausalLM.from_pretrained(smollm2)
    inputs = tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is the capital of France?"}],
        add_generation_prompt=True, return_tensors="pt", return_dict=True,
    )  # fmt: skip
    ids = model.generate(**inputs, do_sample=False, max_new_tokens=16)[0, inputs["input_ids"].shape[1] :]
    assert "Paris" in tokenizer.decode(ids) and int(ids[-1]) == tokenizer.eos_token_id
