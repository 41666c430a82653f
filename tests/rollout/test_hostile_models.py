"""Model folders that somebody else made: nothing in them is executed, and each refusal says why."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from nlac_bench.errors import NlacBenchError
from nlac_bench.learner.model import load_causal_lm
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.rollout.engines.model_files import ModelFilesError, check_model, tensor_shapes
from tests.cli.command import call
from tests.payload import Payload
from tests.rollout import tiny_model

SECRET = "AKIA-not-to-be-read"
Plant = Callable[[Path, Path], None]


def code(marker: Path) -> str:
    """Python source that creates the folder ``marker`` when it is imported."""
    return f"import os\nos.mkdir({str(marker)!r})\nclass Own: pass\ngenerate = Own\n"


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clean")
    tiny_model.model(3).save_pretrained(folder)
    tiny_model.tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def folder(clean: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(clean, tmp_path / "model"))


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "executed"


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused_by_name() -> None:
    model, tokenizer = tiny_model.model(3), tiny_model.tokenizer()
    model.resize_token_embeddings(len(tokenizer.get_vocab()))
    HFEngine(model, tokenizer).close()
    model.resize_token_embeddings(len(tokenizer.get_vocab()) - 1)
    with pytest.raises(
        NlacBenchError, match=r"'tiny-test' does not belong to the model: its token .* has number"
    ):
        HFEngine(model, tokenizer)


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def in_config(**changes: Any) -> Plant:
    return lambda folder, _: edit(folder / "config.json", **changes)


def in_tokenizer(**changes: Any) -> Plant:
    return lambda folder, _: edit(folder / "tokenizer_config.json", **changes)


def text_in(name: str, text: str) -> Plant:
    def plant(folder: Path, _: Path) -> None:
        (folder / name).write_text(text)

    return plant


def pickled_as(*names: str, instead_of_weights: bool = True, **config: Any) -> Plant:
    def plant(folder: Path, marker: Path) -> None:
        if instead_of_weights:
            (folder / "model.safetensors").unlink()
        for name in names:
            (folder / name).write_bytes(pickle.dumps(Payload(marker)))
        edit(folder / "config.json", **config)

    return plant


def shards(named: str) -> Plant:
    def plant(folder: Path, marker: Path) -> None:
        (folder / "model.safetensors").rename(folder / "model-1.safetensors")
        names = dict.fromkeys(load_file(folder / "model-1.safetensors"), "model-1.safetensors")
        names[next(iter(names))] = named
        (folder / "payload.bin").write_bytes(pickle.dumps(Payload(marker)))
        index = {"metadata": {}, "weight_map": names}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))

    return plant


def own_code(where: str, **changes: Any) -> Plant:
    def plant(folder: Path, marker: Path) -> None:
        (folder / "own.py").write_text(code(marker))
        edit(folder / where, **changes)

    return plant


def adapter(keep_base: bool) -> Plant:
    def plant(folder: Path, marker: Path) -> None:
        other = folder.parent / "other"
        shutil.copytree(folder, other)
        (folder / "adapter_model.bin").write_bytes(pickle.dumps(Payload(marker)))
        settings = {"base_model_name_or_path": str(other), "peft_type": "LORA", "task_type": "CAUSAL_LM"}
        (folder / "adapter_config.json").write_text(json.dumps(settings))
        if not keep_base:
            for name in ("config.json", "model.safetensors"):
                (folder / name).unlink()

    return plant


def weights(change: Callable[[bytes], bytes]) -> Plant:
    def plant(folder: Path, _: Path) -> None:
        path = folder / "model.safetensors"
        path.write_bytes(change(path.read_bytes()))

    return plant


def without_a_tensor(folder: Path, _: Path) -> None:
    found = load_file(folder / "model.safetensors")
    del found["model.layers.1.mlp.up_proj.weight"]
    save_file(found, folder / "model.safetensors", {"format": "pt"})


def other_shape(folder: Path, _: Path) -> None:
    found = load_file(folder / "model.safetensors")
    found["model.layers.1.mlp.up_proj.weight"] = torch.zeros(3, 3)
    save_file(found, folder / "model.safetensors", {"format": "pt"})


def pipe(name: str) -> Plant:
    def plant(folder: Path, _: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return plant


def link_to_a_secret(folder: Path, _: Path) -> None:
    secret = folder.parent / "credentials"
    secret.write_text(SECRET)
    (folder / "chat_template.jinja").unlink(missing_ok=True)
    (folder / "chat_template.jinja").symlink_to(secret)


def only_pickled_tokenizer(folder: Path, marker: Path) -> None:
    (folder / "tokenizer.json").unlink()
    for name in ("tokenizer.pkl", "vocab.pkl", "vocab.bin", "tokenizer.model"):
        (folder / name).write_bytes(pickle.dumps(Payload(marker)))


REFUSED: dict[str, tuple[Plant, str]] = {
    "pickled weights": (pickled_as("pytorch_model.bin"), "convert them to model.safetensors"),
    "pickled weights of torch": (pickled_as("model.pt"), "convert them to model.safetensors"),
    "pickled shards": (
        pickled_as("pytorch_model.bin.index.json", "pytorch_model-00001-of-00001.bin"), "safetensors"),
    "pickled weights named safetensors": (pickled_as("model.safetensors"), "not a safetensors file"),
    "pickled weights named in the configuration": (
        pickled_as("adapter_model.bin", instead_of_weights=False, transformers_weights="adapter_model.bin"),
        "not safetensors"),
    "pickled weights named deep in it": (
        pickled_as("a.bin", instead_of_weights=False, text_config={"transformers_weights": "a.bin"}),
        "not safetensors"),
    "a pickled shard": (shards("payload.bin"), "not a safetensors file beside it"),
    "a shard of another folder": (shards("../other.safetensors"), "not a safetensors file beside it"),
    "an absolute shard": (shards("/etc/passwd.safetensors"), "not a safetensors file beside it"),
    "a missing shard": (shards("model-2.safetensors"), "cannot load the model"),
    "code of a model": (
        own_code("config.json", model_type="own",
                 auto_map={"AutoConfig": "own.Own", "AutoModelForCausalLM": "own.Own"}), "never executed"),
    "an adapter with its model": (adapter(keep_base=True), "merge_and_unload"),
    "an adapter alone": (adapter(keep_base=False), "merge_and_unload"),
    "a tokenizer that is a model": (
        in_tokenizer(tokenizer_class="AutoModelForCausalLM"), "not a tokenizer of transformers"),
    "a tokenizer that unpickles": (
        in_tokenizer(tokenizer_class="RagRetriever"), "not a tokenizer of transformers"),
    "a tokenizer that is a function": (
        in_config(tokenizer_class="pipeline"), "not a tokenizer of transformers"),
    "a tokenizer that is a number": (in_tokenizer(tokenizer_class=7), "not a tokenizer of transformers"),
    "a pickled tokenizer": (only_pickled_tokenizer, "cannot load the model"),
    "a template that leaves the sandbox": (
        text_in("chat_template.jinja", "{{ ''.__class__.__mro__[1].__subclasses__() }}"), "leave Jinja"),
    "a template that calls the system": (
        text_in("chat_template.jinja", "{{ lipsum.__globals__['os'].getcwd() }}"), "leave Jinja's sandbox"),
    "a template that fills the memory": (
        text_in("chat_template.jinja", "{{ 'a' * 10 ** 10 }}"), "needs more than"),
    "a template that doubles": (
        text_in("chat_template.jinja", "{% set n = namespace(x='aaaa') %}{% for i in range(60) %}"
                "{% set n.x = n.x ~ n.x %}{% endfor %}"), "needs more than"),
    "a template that fills it later": (
        text_in("chat_template.jinja", "{% if tools %}{{ 'a' * 10 ** 10 }}{% endif %}"), "needs more than"),
    "a named pipe as template": (pipe("chat_template.jinja"), "not a regular file"),
    "a named pipe as configuration": (pipe("config.json"), "not a regular file"),
    "a link out of the folder": (link_to_a_secret, "replace it with a copy"),
    "no weights": (weights(lambda _: b""), "not a safetensors file"),
    "half of the weights": (weights(lambda data: data[: len(data) // 2]), "not a safetensors file"),
    "a header without end": (weights(lambda _: b"\xff" * 8 + b"{}"), "not a safetensors file"),
    "weights of zeros": (weights(lambda data: bytes(len(data))), "not a safetensors file"),
    "a missing tensor": (without_a_tensor, "lack 1 tensors"),
    "a tensor of another shape": (other_shape, "have other shapes of 1 tensors"),
    "no JSON": (text_in("config.json", "{"), "not a JSON object"),
    "a list": (text_in("config.json", "[]"), "not a JSON object"),
    "JSON nested deeply": (text_in("config.json", '{"a":' * 100_000), "not a JSON object"),
    "a model nobody knows": (in_config(model_type="nothing"), "cannot load the model"),
    "too many layers": (in_config(num_hidden_layers=10**9), "must belong to the same model"),
    "too many words": (in_config(vocab_size=10**13), "must belong to the same model"),
    "too wide": (in_config(hidden_size=10**13), "must belong to the same model"),
    "a negative size": (in_config(hidden_size=-64), "cannot load the model"),
    "a text as size": (in_config(hidden_size="64"), "cannot load the model"),
    "code as auto_map": (in_config(auto_map=7), "cannot load the model"),
    "an empty tokenizer": (text_in("tokenizer.json", ""), "cannot load the model"),
    "a tokenizer that is a list": (text_in("tokenizer.json", "[]"), "cannot load the model"),
    "an end that is a text": (text_in("generation_config.json", '{"eos_token_id": "x"}'), "eos_token_id"),
    "an end that is an object": (
        text_in("generation_config.json", '{"eos_token_id": {"a": 1}}'), "eos_token_id"),
    "settings that are a list": (text_in("generation_config.json", "[1]"), "cannot load the model"),
    "attention of the Hub": (in_config(_attn_implementation="own/kernel"), "download and execute"),
    "attention of the Hub by part": (
        in_config(text_config={"_attn_implementation": {"": "own/kernel"}}), "download and execute"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "key"),
    [("gpt2", "n_layer"), ("gpt2", "n_positions"), ("t5", "num_layers"), ("qwen2_moe", "num_experts"),
     ("mixtral", "num_local_experts"), ("deepseek_v3", "n_routed_experts"), ("nothing", "num_hidden_layers")],
)  # fmt: skip
def test_sizes_that_the_weights_do_not_have_are_refused_under_any_name(
    folder: Path, kind: str, key: str
) -> None:
    for nested in (False, True):
        size: dict[str, Any] = {"model_type": kind, key: 10**9}
        edit(folder / "config.json", **({"text_config": size} if nested else size))
        with pytest.raises(ModelFilesError, match=f"has {key} 1000000000, but the weights have"):
            check_model(folder)
        edit(folder / "config.json", **{"model_type": "qwen2", "text_config": None, key: None})
    check_model(folder)


@pytest.mark.parametrize("merged", [False, True])
def test_a_model_may_have_as_many_experts_as_its_weights(tmp_path: Path, merged: bool) -> None:
    names = ["e"] if merged else [f"e.{i}" for i in range(9)]
    shape = (9, 2, 2) if merged else (2, 2)
    save_file({name: torch.zeros(shape) for name in names}, tmp_path / "model.safetensors", {"format": "pt"})
    for experts in (9, 10):
        (tmp_path / "config.json").write_text(
            json.dumps({"model_type": "mixtral", "num_local_experts": experts})
        )
        if experts == 9:
            check_model(tmp_path)
    with pytest.raises(ModelFilesError, match="num_local_experts 10"):
        check_model(tmp_path)


def generation_code(folder: Path, marker: Path) -> None:
    (folder / "custom_generate").mkdir()
    (folder / "custom_generate" / "generate.py").write_text(code(marker))


def package_code(folder: Path, marker: Path) -> None:
    for name in ("__init__.py", "sitecustomize.py", "modeling_qwen2.py", "tokenization_qwen2.py", "setup.py"):
        (folder / name).write_text(code(marker))


IGNORED: dict[str, Plant] = {
    "code of a known model": own_code(
        "config.json", auto_map={"AutoConfig": "own.Own", "AutoModelForCausalLM": "own.Own"}),
    "code of a tokenizer": own_code(
        "tokenizer_config.json", auto_map={"AutoTokenizer": ["own.Own", "own.Own"]}),
    "code of another repository": own_code("config.json", auto_map={"AutoModelForCausalLM": "a/b--own.Own"}),
    "code for generation": generation_code,
    "code beside the weights": package_code,
    "pickled weights beside safetensors": pickled_as(
        "pytorch_model.bin", "training_args.bin", "optimizer.pt", instead_of_weights=False),
    "kernels": in_config(use_kernels=True),
    "an unknown quantization": in_config(quantization_config={"quant_method": "own", "modules": ["os"]}),
    "a tokenizer file elsewhere": in_tokenizer(tokenizer_file="/etc/passwd", vocab_file="/etc/passwd"),
    "an unknown tokenizer class": in_tokenizer(tokenizer_class="OwnTokenizer"),
}  # fmt: skip


@pytest.mark.parametrize("name", IGNORED)
def test_it_is_loaded_and_nothing_is_executed(folder: Path, marker: Path, name: str) -> None:
    IGNORED[name](folder, marker)
    before = list(sys.path)
    engine = HFEngine.from_pretrained(str(folder), device="cpu")
    assert engine.tokenizer("Hello")["input_ids"] == tiny_model.tokenizer()("Hello")["input_ids"]
    engine.close()
    assert not marker.exists() and sys.path == before and "own" not in sys.modules


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_and_nothing_is_executed(folder: Path, marker: Path, name: str) -> None:
    plant, reason = REFUSED[name]
    plant(folder, marker)
    with pytest.raises(NlacBenchError, match=reason) as refused:
        HFEngine.from_pretrained(str(folder), device="cpu").close()
    assert not marker.exists() and SECRET not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_learner_refuses_the_same(folder: Path, marker: Path) -> None:
    pickled_as("pytorch_model.bin")(folder, marker)
    with pytest.raises(NlacBenchError, match="safetensors"):
        load_causal_lm(folder)
    assert not marker.exists()


@pytest.mark.parametrize("command", ["eval", "run"])
def test_the_command_line_refuses_it_with_exit_code_2(
    folder: Path, marker: Path, tmp_path: Path, command: str
) -> None:
    pickled_as("pytorch_model.bin")(folder, marker)
    agent = "act" if command == "eval" else "grpo"
    out = tmp_path / "run"
    done = call(
        command, "--env", 'math500_hard@{"level": 1}', "--agent", agent, "--model", str(folder),
        "--limit", "1", "--out", str(out), "--json",
    )  # fmt: skip
    assert done.returncode == 2 and not done.stdout and "convert them to model.safetensors" in done.stderr
    assert not marker.exists() and not out.exists()


def test_a_dry_run_names_damaged_weights(folder: Path) -> None:
    weights(lambda data: data[:100])(folder, folder)
    with pytest.raises(NlacBenchError, match="truncated"):
        list(tensor_shapes(folder))


def test_a_snapshot_of_the_cache_may_consist_of_links(clean: Path, tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "models--a--b" / "blobs", tmp_path / "models--a--b" / "snapshots" / "0123"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for number, file in enumerate(sorted(clean.iterdir())):
        shutil.copy(file, blobs / str(number))
        (snapshot / file.name).symlink_to(Path("..", "..", "blobs", str(number)))
    HFEngine.from_pretrained(str(snapshot), device="cpu").close()


@pytest.mark.slow  # starts Python twice, because the cache's place is read when huggingface_hub is imported
@pytest.mark.parametrize("hostile", [False, True])
def test_a_model_of_the_cache_is_checked_like_a_folder(folder: Path, tmp_path: Path, hostile: bool) -> None:
    if hostile:
        adapter(keep_base=True)(folder, tmp_path / "executed")
    home = tmp_path / "hub" / "models--a--b"
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text("0" * 40)
    shutil.copytree(folder, home / "snapshots" / ("0" * 40))
    source = """
from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.hf.engine import HFEngine
try:
    HFEngine.from_pretrained("a/b", device="cpu").close()
    print("loaded")
except NlacBenchError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", source],
        cwd=Path(__file__).parents[2], check=True, capture_output=True, text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(tmp_path / "hub")},
    )  # fmt: skip
    assert ("merge_and_unload" if hostile else "loaded") in done.stdout
    assert not (tmp_path / "executed").exists()
