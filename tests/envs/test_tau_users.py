"""Users: the protocol of each simulator, their bounds and their failures."""

import asyncio
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlac_bench.envs.tau.domain import Task
from nlac_bench.envs.tau.users import (
    GREETING,
    OPENING,
    STOP,
    HumanUser,
    LLMUser,
    NoUser,
    ReactUser,
    ReflectionUser,
    ReplayUser,
    User,
    VerifyUser,
    load_conversations,
)
from nlac_bench.envs.tau.users.base import MAX_REPLY_CHARS
from nlac_bench.envs.tau.users.models import prompt
from nlac_bench.envs.tau.users.offline import RecordedConversation
from nlac_bench.errors import DataError, EnvInfraError
from nlac_bench.types import ChatReply, ContentFilterError, Messages, Role, Usage

TASK = Task("retail/test/7", 7, "ada_1", "You are Ada {curly} in 12345 and want your lamp returned.", (), ())


class Script:
    """A model that says what it is told to say, and keeps what it was asked."""

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[Messages, Role]] = []

    async def __call__(self, messages: Messages, role: Role) -> ChatReply:
        self.asked.append((messages, role))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return ChatReply(answer, Usage(calls=1, prompt_tokens=10, completion_tokens=2, cost=0.5))

    @property
    def roles(self) -> list[Role]:
        return [role for _, role in self.asked]


def begin(user: User, task: Task = TASK) -> str:
    return asyncio.run(user.begin(task, np.random.default_rng(0)))


def reply(user: User, message: str) -> str:
    return asyncio.run(user.reply(message))


def test_llm_user_is_told_the_instruction_and_the_rules_and_opened_by_the_greeting() -> None:
    chat = Script("Hi, I want to return a lamp.", "It is order 5.")
    user = LLMUser(chat)
    assert begin(user) == "Hi, I want to return a lamp."
    assert reply(user, "Which order?") == "It is order 5."
    system, *talk = chat.asked[1][0]
    assert system["role"] == "system"
    assert TASK.instruction in system["content"]
    assert STOP in system["content"]
    assert talk == [
        {"role": "user", "content": GREETING},
        {"role": "assistant", "content": "Hi, I want to return a lamp."},
        {"role": "user", "content": "Which order?"},
    ]
    assert chat.roles == ["user", "user"]
    assert user.usage == {"user": Usage(2, 20, 4, 1.0)}


def test_what_a_model_was_asked_does_not_grow_afterwards() -> None:
    chat = Script("a", "b")
    user = LLMUser(chat)
    begin(user)
    reply(user, "x")
    assert len(chat.asked[0][0]) == 2


def test_a_new_episode_starts_from_nothing() -> None:
    chat = Script("a", "b", "c")
    user = LLMUser(chat)
    begin(user)
    reply(user, "x")
    begin(user)
    assert len(chat.asked[2][0]) == 2


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("Thought:\nI must not say all.\n\nUser Response:\nI need help.", "I need help."),
        ("Thought: secret\nUser Response: I need help.", "I need help."),
        ("User Response: I need help.", "I need help."),
        ("I need help.", "I need help."),
        ("Thought: all done, so ###STOP###\nUser Response:\n###STOP###", STOP),
        ("Thought: I should not say ###STOP### yet\nUser Response: One more thing.", "One more thing."),
        ("<think>deep</think>Thought: x\nUser Response: I need help.", "I need help."),
        ("**Thought:**\nx\n\n**User Response:**\nI need help.", "I need help."),
        ("**Thought**: x\n**User Response**: I need **help**.", "I need **help**."),
        ("Thought: x\nUser Response: **Help**, please.", "**Help**, please."),
    ],
)
def test_react_user_keeps_its_thought(raw: str, said: str) -> None:
    user = ReactUser(Script(raw))
    assert begin(user) == said


def test_react_user_tries_again_without_a_response_and_then_fails_as_infrastructure() -> None:
    assert begin(ReactUser(Script("Thought: a secret", "Thought: x\nUser Response: Hello"))) == "Hello"
    with pytest.raises(EnvInfraError, match="User Response"):
        begin(ReactUser(Script(*["Thought: a secret"] * 3)))


@pytest.mark.parametrize(
    ("make", "answers", "calls"),
    [
        (LLMUser, [OSError("down")], {"user": 1}),
        (LLMUser, ["<think>endless"], {"user": 2}),
        (ReactUser, ["Thought: a secret"] * 3, {"user": 4}),
        (VerifyUser, ["bad", "False", "worse", ContentFilterError("judge")], {"user": 3, "judge": 3}),
        (ReflectionUser, ["bad", "False", OSError("down")], {"user": 2, "judge": 2}),
    ],
)
def test_a_failure_has_the_cost_of_the_calls_before_it(
    make: type[LLMUser], answers: list[str | Exception], calls: dict[str, int]
) -> None:
    opening = ["Hello", "True"] if issubclass(make, VerifyUser) else ["Hello"]
    user = make(Script(*opening, *answers))
    begin(user)
    with pytest.raises(EnvInfraError) as caught:
        reply(user, "Which order?")
    assert {role: usage.calls for role, usage in caught.value.spent.items()} == calls


def test_verify_user_takes_the_first_message_that_passes() -> None:
    chat = Script("bad", "False", "worse", "false.", "good", "True")
    user = VerifyUser(chat)
    assert begin(user) == "good"
    assert chat.roles == ["user", "judge"] * 3
    question = chat.asked[1][0][0]["content"]
    assert TASK.instruction in question
    assert f"Agent: {GREETING}" in question
    assert "bad" in question
    assert [len(messages) for messages, role in chat.asked if role == "user"] == [2, 2, 2]
    assert user.usage == {"user": Usage(3, 30, 6, 1.5), "judge": Usage(3, 30, 6, 1.5)}


def test_verify_user_says_the_third_message_whatever_the_judge_finds_and_remembers_it() -> None:
    chat = Script("one", "false", "two", "false", "three", "false", "next", "true")
    user = VerifyUser(chat)
    assert begin(user) == "three"
    assert reply(user, "And?") == "next"
    assert chat.asked[6][0][2] == {"role": "assistant", "content": "three"}


@pytest.mark.parametrize(("verdict", "said"), [("true", "second"), ("false", "first")])
def test_reflection_user_rewrites_a_rejected_message_once(verdict: str, said: str) -> None:
    chat = Script(
        "first", "false", "Reflection: too much.\nResponse: less", "second", verdict, "next", "true"
    )
    user = ReflectionUser(chat)
    assert begin(user) == said
    assert chat.roles == ["user", "judge", "judge", "user", "judge"]
    assert "too much" in chat.asked[3][0][-1]["content"]
    reply(user, "And?")
    assert [m["content"] for m in chat.asked[5][0][1:]] == [GREETING, said, "And?"]


def test_reflection_user_says_an_accepted_message_at_once() -> None:
    chat = Script("first", "TRUE")
    assert begin(ReflectionUser(chat)) == "first"
    assert chat.roles == ["user", "judge"]


@pytest.mark.parametrize("make", [LLMUser, ReactUser, VerifyUser, ReflectionUser])
@pytest.mark.parametrize("error", [RuntimeError("down"), EnvInfraError("down"), KeyError("down")])
def test_a_failing_model_is_infrastructure(make: Callable[[Any], User], error: Exception) -> None:
    with pytest.raises(EnvInfraError, match="down"):
        begin(make(Script(error)))


def test_a_models_text_is_bounded_and_valid_unicode() -> None:
    user = LLMUser(
        Script("x" * 50_000, "x" * 50_000 + STOP, "a\ud800b", "<think>x</think> ok", "<think>cut off")
    )
    assert len(begin(user)) == MAX_REPLY_CHARS
    stopped = reply(user, "?")
    assert stopped.endswith(STOP)
    assert len(stopped) <= MAX_REPLY_CHARS + len(STOP)
    reply(user, "?").encode("utf-8")
    assert reply(user, "?") == "ok"
    with pytest.raises(EnvInfraError, match="raise the limit"):
        reply(user, "?")


@pytest.mark.parametrize("make", [LLMUser, ReactUser, VerifyUser, ReflectionUser])
def test_a_copy_of_a_model_user_shares_nothing(make: Callable[[Any], LLMUser]) -> None:
    chat = Script("hello", "true", *["here", "true"] * 4)
    user = make(chat)
    begin(user)
    before = list(user._messages)
    twin = user.copy()
    reply(twin, "to the twin")
    assert user._messages == before
    assert len(twin._messages) == len(before) + 2


def test_prompts_take_any_text() -> None:
    hostile = "{0} {instruction} %s {{"
    assert hostile in prompt("user", instruction=hostile)
    assert hostile in prompt("judge", transcript=hostile, reply="x")


def test_no_user_hangs_up() -> None:
    user = NoUser()
    assert begin(user) == OPENING
    assert reply(user.copy(), "anything") == STOP


RECORD: RecordedConversation = {
    "task_id": TASK.task_id,
    "first": "Hi",
    "turns": [["Name?", "Ada"], ["Bye", STOP]],
}
OTHER: RecordedConversation = {
    "task_id": TASK.task_id,
    "first": "Hi",
    "turns": [["Name?", "Ada"], ["Zip?", "12345"]],
}


def test_replay_user_follows_the_record() -> None:
    user = ReplayUser([RECORD, OTHER])
    assert begin(user) == "Hi"
    assert reply(user, "Name?") == "Ada"
    twin = user.copy()
    assert reply(twin, "Zip?") == "12345"
    assert reply(user, "Bye") == STOP


def test_replay_user_makes_nothing_up() -> None:
    user = ReplayUser([RECORD, OTHER])
    begin(user)
    with pytest.raises(EnvInfraError, match=r"'What\?' as message 1"):
        reply(user, "What?")
    assert reply(user, "Name?") == "Ada"
    assert reply(user, "Zip?") == "12345"
    with pytest.raises(EnvInfraError, match="message 3"):
        reply(user, "Bye")
    with pytest.raises(EnvInfraError, match="retail/test/8"):
        begin(user, Task("retail/test/8", 8, "x", "y", (), ()))


@pytest.mark.official
def test_recorded_conversations_of_the_original_are_replayed(official_data: Path) -> None:
    played = 0
    for line in (
        (official_data / "tau_bench" / "expected_sample.jsonl").read_text(encoding="utf-8").splitlines()
    ):
        record = json.loads(line)
        if record["kind"] != "traj":
            continue
        talk = [(c["kwargs"]["content"], c["obs"]) for c in record["calls"] if c["name"] == "respond"]
        task_id = f"{record['domain']}/{record['split']}/{record['task']}"
        user = ReplayUser([{"task_id": task_id, "first": record["first_user"], "turns": talk}])
        assert begin(user, Task(task_id, record["task"], "", "", (), ())) == record["first_user"]
        for said, heard in talk:
            assert reply(user, said) == heard
        played += 1
    assert played > 0


def test_conversations_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "users.jsonl"
    path.write_text(json.dumps(RECORD) + "\n\n" + json.dumps(OTHER) + "\n", encoding="utf-8")
    assert load_conversations(path) == [RECORD, OTHER]
    spaced = {**RECORD, "turns": [["a\u2028b\u2029c\x85d", "e"]]}  # such characters are not escaped in JSON
    path.write_bytes(json.dumps(spaced, ensure_ascii=False).encode() + b"\r\n" + json.dumps(OTHER).encode())
    assert load_conversations(path) == [spaced, OTHER]


@pytest.mark.parametrize(
    "line",
    ["{", "5", "[]", "{}", '{"task_id": 5, "first": "x", "turns": []}',
     '{"task_id": "x", "first": "x", "turns": [["a"]]}',
     '{"task_id": "x", "first": "x", "turns": [["a", 5]]}',
     '{"task_id": "x", "first": "x", "turns": {"ab": 1}}',
     '{"task_id": "x", "first": "x", "turns": 5}', "[" * 5000],
)  # fmt: skip
def test_a_broken_record_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "users.jsonl"
    path.write_text(json.dumps(RECORD) + "\n" + line, encoding="utf-8")
    with pytest.raises(DataError, match="line 2"):
        load_conversations(path)


def test_a_missing_record_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.jsonl"):
        load_conversations(tmp_path / "none.jsonl")


def test_human_user_is_shown_the_instruction_and_what_the_agent_says() -> None:
    shown: list[str] = []

    def ask(text: str) -> str:
        shown.append(text)
        return "typed"

    user = HumanUser(ask)
    assert begin(user) == "typed"
    assert reply(user.copy(), "Which order?") == "typed"
    assert TASK.instruction in shown[0]
    assert "Which order?" in shown[1]


def test_what_moves_a_cursor_does_not_reach_a_human_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """A NUL would hide the rest of a prompt, and an escape sequence could write to the title or clipboard."""
    monkeypatch.setenv("SOME_API_KEY", "sk-0123456789abcdef")
    shown: list[str] = []
    user = HumanUser(lambda text: shown.append(text) or "typed")  # type: ignore[func-returns-value]
    begin(user)
    reply(user, "Hi\nthere:\t2 × 3 é\x1b]0;owned\x07 a\x00b \u202e sk-0123456789abcdef \ud800")
    assert shown[1] == (
        "Agent: Hi\nthere:\t2 × 3 é\\x1b]0;owned\\x07 a\\x00b \\u202e [redacted: $SOME_API_KEY] \\ud800\n> "
    )


def test_a_closed_terminal_is_infrastructure() -> None:
    def ask(text: str) -> str:
        raise EOFError

    with pytest.raises(EnvInfraError, match="standard input"):
        begin(HumanUser(ask))


@pytest.mark.parametrize("user", [NoUser(), ReplayUser([RECORD, OTHER])], ids=lambda user: user.kind)
def test_users_survive_pickling_in_the_middle_of_an_episode(user: User) -> None:
    begin(user)
    twin = pickle.loads(pickle.dumps(user))
    assert reply(twin, "Name?") == reply(user, "Name?")
