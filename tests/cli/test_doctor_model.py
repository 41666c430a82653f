"""``doctor --model``: what works with a model's folder, and what is refused with what to do."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the checks load the model")

from tests.cli.command import call
from tests.rollout import tiny_model

IGNORES_TOOLS = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + IGNORES_TOOLS
)
LOSES_SYSTEM = IGNORES_TOOLS.replace("messages %}", "messages if m.role != 'system' %}")
LOSES_RESULTS = tiny_model.TEMPLATE.replace(
    "{{ content }}", "{{ content if message.role != 'tool' else '' }}"
)
ESCAPES = "{{ messages.__class__.__mro__ }}"


def examined(folder: Path, change: Callable[[Path], Any] = lambda folder: None) -> tuple[dict[str, Any], int]:
    tiny_model.saved(folder)
    change(folder)
    done = call("doctor", "--model", str(folder), "--json")
    assert "Traceback" not in done.stderr, done.stderr
    return json.loads(done.stdout), done.returncode


def template(text: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / "chat_template.jinja").write_text(text)


def values(file: str, **changed: Any) -> Callable[[Path], Any]:
    def change(folder: Path) -> None:
        path = folder / file
        path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))

    return change


def test_a_model_that_can_do_everything(tmp_path: Path) -> None:
    found, code = examined(tmp_path / "model")
    size = len(tiny_model.tokenizer())
    assert (code, found) == (0, {
        "ok": True, "problems": [], "chat_template": True, "system_role": True, "tools": True,
        "end_tokens": ["<|im_end|>"], "context": 512, "tokens": size, "embeddings": size,
    })  # fmt: skip
    text = call("doctor", "--model", str(tmp_path / "model"))
    assert text.returncode == 0 and "tools (--agent tool_calling): yes" in text.stdout


@pytest.mark.parametrize(
    ("text", "said", "system_role"),
    [
        (IGNORES_TOOLS, "the name of the tool does not reach the prompt; use --agent react or act", True),
        (NO_SYSTEM, "the name of the tool does not reach the prompt; use --agent react or act", False),
        (LOSES_RESULTS, "the result of a call does not reach the prompt; use --agent react or act", True),
    ],
)
def test_a_template_without_tools_can_play_other_agents(
    text: str, said: str, system_role: bool, tmp_path: Path
) -> None:
    found, code = examined(tmp_path / "model", template(text))
    (problem,) = found["problems"]
    assert code == 0 and found["ok"] and found["chat_template"] and not found["tools"]
    assert problem.startswith("tools (--agent tool_calling): ") and said in problem
    assert found["system_role"] is system_role


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (template(LOSES_SYSTEM), "the system text does not reach the prompt"),
        (template(ESCAPES), "tries to leave Jinja's sandbox"),
        (lambda folder: (folder / "chat_template.jinja").unlink(), "has no chat template"),
        (values("generation_config.json", eos_token_id=[]), "ends a reply with '<|im_end|>'"),
        (values("config.json", max_position_embeddings=None), "max_position_embeddings"),
        (values("config.json", hidden_size=96), "have other shapes"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"x"), "model.safetensors"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "it has no tokens for text"),
    ],
)
def test_a_model_that_cannot_play(change: Callable[[Path], Any], said: str, tmp_path: Path) -> None:
    def changed(folder: Path) -> None:
        if "ends a reply" in said:
            values("tokenizer_config.json", eos_token="<|endoftext|>")(folder)
        change(folder)

    found, code = examined(tmp_path / "model", changed)
    assert code == 1 and not found["ok"] and any(said in each for each in found["problems"]), found
    shown = call("doctor", "--model", str(tmp_path / "model"))
    assert shown.returncode == 1 and "cannot be used" in shown.stdout and said in shown.stdout


def test_a_tokenizer_with_more_tokens_than_embeddings(tmp_path: Path) -> None:
    tokenizer = tiny_model.tokenizer().__class__.from_pretrained(tiny_model.saved(tmp_path / "model"))
    tokenizer.add_tokens(["<extra>"])
    tokenizer.save_pretrained(tmp_path / "model")
    done = call("doctor", "--model", str(tmp_path / "model"), "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 1 and found["tokens"] == found["embeddings"] + 1
    assert any("'<extra>'" in each and "resize the embeddings" in each for each in found["problems"])


def test_a_name_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    done = call("doctor", "--model", str(tmp_path / "nothing"))
    assert done.returncode == 2 and "there is no such folder" in done.stderr
    named = call("doctor", "--model", "tiny", "--json")
    assert named.returncode == 0 and json.loads(named.stdout)["context"] == 4096
