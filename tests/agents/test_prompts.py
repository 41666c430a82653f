"""Wording given by an environment or by the user: which file is read, and what is refused."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nlac_bench.agents import prompts
from nlac_bench.agents.prompted import PromptedAgent
from nlac_bench.agents.prompts import PACKAGED, PromptFiles, prompt_files
from nlac_bench.agents.registry import AgentContext, make, prompt_hashes
from nlac_bench.agents.roles.chat import FILES, ChatPrompts
from nlac_bench.agents.roles.role_prompts import Critique
from nlac_bench.agents.roles.transition import Transition, first_state
from nlac_bench.errors import NlacBenchError
from tests.envs.count_down import CountDown

OURS = ("tau_retail", "tau_airline", "twenty_questions", "math500_hard")
TAU_WORDS = ("tool", "the user", "the rules", "order", "customer")


def write(folder: Path, **texts: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


def shown(style: ChatPrompts, info: dict[str, Any]) -> dict[str, str]:
    """Each role's prompt as one text, in an episode's second state."""
    first = first_state("count_down", "3", info)
    state = first.after("Thought: down\nAction: 2", "2", "message")
    step = Transition(
        state=first, action="2", reward=0.0, next_state=state, terminated=False, success=None, task_id="3",
        seed=0, step=0, weight_version=0,
    )  # fmt: skip
    made = {
        "policy": style.policy(state),
        "successor": style.successor(state, "1"),
        "backup": style.backup(step, "1", "It ends.\nOutcome: success"),
        "evaluator": style.evaluator(state, "1", ["It ends.\nOutcome: success"]),
        "refiner": style.refiner(state, "0", Critique(False, "Optimal: no\nWhy: too low")),
        "aggregator": style.aggregator(state, "1", ["It ends.\nOutcome: success"]),
        "picker": style.picker(state, [("1", "It ends."), ("0", "It goes on.")]),
    }
    return {role: "\n\n".join(str(m["content"]) for m in prompt.messages) for role, prompt in made.items()}


@pytest.mark.parametrize("policy", ["", "Count down to 1."])
def test_prompts_of_an_environment_without_prompt_files(policy: str) -> None:
    for role, text in shown(ChatPrompts(), {"policy": policy}).items():
        assert policy in text
        assert not re.search(r"<(\w+)>\s*</\1>", text), f"{role}: nothing is between two tags"
        told = text.replace('"Tool result:"', "")
        assert not [word for word in TAU_WORDS if word in told], role


def test_the_users_folder_is_read_before_the_environments(tmp_path: Path) -> None:
    ours = write(tmp_path / "run", act_plain="{policy}\nRUN")
    theirs = write(tmp_path / "env", act_plain="{policy}\nENV", react_plain="{policy}\nENV")
    files = prompt_files(str(ours), theirs)
    assert files.fill("act_plain", policy="P") == "P\nRUN"
    assert files.fill("react_plain", policy="{tools}") == "{tools}\nENV"
    assert files.load("nlac_refiner") == PACKAGED.load("nlac_refiner")


def test_given_wording_is_said_and_hashed(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "p", nlac_successor="{setting}|{conversation}|{action}", react_plain="{policy}!"
    )
    files = prompt_files(folder, None)
    style = ChatPrompts(files=files)
    texts = shown(style, {"policy": "P"})
    assert texts["successor"].endswith("\n\nP!|User: 3\n\nAgent: Thought: down\nAction: 2\n\nUser: 2|1")
    assert texts["successor"].startswith(PACKAGED.load("role_system"))
    assert texts["policy"].startswith("P!\n\n3")
    changed = {n for n in FILES if style.hashes()[n] != ChatPrompts().hashes()[n]}
    assert changed == {"nlac_successor", "react_plain"}


def test_every_agent_that_is_prompted_takes_the_wording(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "p", act_plain="{policy} A", react_plain="{policy} B", tool_calling="{policy} C"
    )
    engine: Any = SimpleNamespace(tokenizer=None)  # as a server's
    context = AgentContext(engine=engine, prompts=prompt_files(folder, None))
    for name, file in (("act", "act_plain"), ("tool_calling", "tool_calling"), ("nlac", "react_plain")):
        assert (
            prompt_hashes(make(name, context))[file] == context.prompts.sha256(file) != PACKAGED.sha256(file)
        )
    assert isinstance(make("react", context), PromptedAgent)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (
            {"nlac_succesor": "{setting}"},
            r"nlac_succesor.txt does not have the name of a prompt; .*nlac_successor",
        ),
        ({"nlac_successor": "{setting} {action}"}, r"each of \{action\}, \{conversation\}, \{setting\}"),
        ({"act_plain": "{policy} {rules}"}, r"it has \{policy\}, \{rules\}"),
        ({"act_plain": "{policy} {policy}"}, "exactly once"),
        ({"act_plain": "act"}, "it has no part in braces"),
        ({}, "not a folder with files"),
    ],
)
def test_wrong_names_and_placeholders_are_refused(texts: dict[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(NlacBenchError, match=said):
        PromptFiles((write(tmp_path / "p", **texts),))


def test_a_folder_that_does_not_exist_and_other_encodings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NlacBenchError, match="nowhere"):
        prompt_files(tmp_path / "nowhere", None)
    (tmp_path / "act_plain.txt").write_bytes("{policy} ä".encode("latin-1"))
    with pytest.raises(NlacBenchError, match="UTF-8"):
        prompt_files(tmp_path, None)


def test_json_examples_are_no_placeholders() -> None:
    assert prompts.parts(PACKAGED.load("react_tools")) == ["policy", "tools"]
    assert CountDown.prompts is None
