"""Faults of model servers, from the reply to the tables: none of them becomes a score."""

import functools
import itertools
import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.rollout.engines.backoff import Retries
from tests.cli.command import Done, call, one_json
from tests.rollout.fault_server import FaultServer, Reply, completion

QUESTION = "Is it an animal?"


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Retries, "wait", lambda *_: 0.001)


def choice(finish: str, content: Any = "", **message: Any) -> dict[str, Any]:
    made = completion(content, **message)
    made["choices"][0]["finish_reason"] = finish
    return made


def model(answer: Callable[[dict[str, Any]], Reply], _path: str, body: dict[str, Any]) -> Reply:
    return answer(body)


def play(
    folder: Path,
    answer: Callable[[dict[str, Any]], Reply],
    *more: str,
    verb: str = "run",
    env: str = "twenty_questions",
    agent: str = "act",
) -> Done:
    """Play three tasks against a server on which ``answer(request)`` is the model."""
    with FaultServer(functools.partial(model, answer)).in_thread() as server:
        return call(
            verb, "--env", env, "--agent", agent, "--model", "m", "--base-url", server.url, "--limit", "3",
            "--retries", "1", "--max-wait", "0", "--out", str(folder), "--json", *more,
        )  # fmt: skip


def resume(folder: Path, answer: Callable[[dict[str, Any]], Reply], monkeypatch: pytest.MonkeyPatch) -> Done:
    """Resume the run with a server at another port, in place of the one that is gone."""
    config = json.loads((folder / "config.json").read_text())
    with FaultServer(functools.partial(model, answer)).in_thread() as server:
        (folder / "config.json").write_text(json.dumps({**config, "base_url": server.url}))
        return call("resume", str(folder), "--json")


@pytest.mark.parametrize(("retries", "requests"), [("0", 3), ("1", 6), ("5", 6)])
def test_a_server_that_hangs_is_not_asked_a_second_time_for_each_episode(
    tmp_path: Path, retries: str, requests: int
) -> None:
    with FaultServer(lambda *_: completion("x"), ["timeout"], rate=1.0).in_thread() as server:
        done = call(
            "run", "--env", "twenty_questions", "--agent", "act", "--model", "m", "--base-url", server.url,
            "--limit", "3", "--request-timeout", "1", "--retries", retries, "--json",
            "--out", str(tmp_path / "run"),
        )  # fmt: skip
        assert done.returncode == 3 and "--request-timeout" in done.stderr
        assert len(server.requests) == requests and one_json(done)["infra_errors"] == 3
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    with FaultServer(lambda *_: completion(QUESTION)).in_thread() as server:
        (tmp_path / "run" / "config.json").write_text(json.dumps({**config, "base_url": server.url}))
        refused = call("resume", str(tmp_path / "run"), "--request-timeout", "-1")
        assert refused.returncode == 2 and "must be above 0" in refused.stderr
        done = call("resume", str(tmp_path / "run"), "--request-timeout", "60", "--retries", "2", "--json")
    assert done.returncode == 0 and one_json(done)["scored"] == 3


def test_an_episode_whose_request_failed_is_played_again(tmp_path: Path) -> None:
    """The server closes the connection of the first request, and answers all others."""
    waits = itertools.chain([True], itertools.repeat(False))

    def answer(_path: str, _body: dict[str, Any]) -> Reply:
        if next(waits):
            raise ConnectionError
        return completion(QUESTION)

    with FaultServer(answer).in_thread() as server:
        done = call(
            "run", "--env", "twenty_questions", "--agent", "act", "--model", "m", "--base-url", server.url,
            "--limit", "3", "--retries", "0", "--out", str(tmp_path / "run"), "--json",
        )  # fmt: skip
    assert done.returncode == 0 and one_json(done)["recovered_errors"] == 1


def says(text: str) -> Callable[[dict[str, Any]], Reply]:
    return lambda body: completion(text)


def gives(reply: Reply) -> Callable[[dict[str, Any]], Reply]:
    return lambda body: reply


class GivesEach:
    """Answers the first request with the first of ``replies``, the next with the next, over and over."""

    def __init__(self, replies: Iterable[Reply]) -> None:
        self.requests: list[dict[str, Any]] = []
        self._replies = itertools.cycle(replies)

    def __call__(self, body: dict[str, Any]) -> Reply:
        """Keep the request and give the next reply."""
        self.requests.append(body)
        return next(self._replies)


EMPTY = {
    "null": completion(None),
    "empty": completion(""),
    "blank": completion(" \n\t"),
    "no content": {
        **completion("x"),
        "choices": [{"message": {"role": "assistant"}, "finish_reason": "stop"}],
    },
    "reasoning_content": completion(None, reasoning_content="Let me think."),
    "reasoning": completion("", reasoning="Let me think."),
    "thoughts in tags": completion("<think>Let me think.</think>\n"),
    "open thoughts": completion("<think>Let me think."),
    "unknown finish": choice("end_turn", None),
    "no parts": completion([]),  # type: ignore[arg-type]
    "parts of thoughts": completion([{"type": "thinking", "thinking": "x"}]),  # type: ignore[arg-type]
    "blank refusal": completion(None, refusal=" "),
    "no tool calls": completion(None, tool_calls=[]),
    "number": completion(7),  # type: ignore[arg-type]
    "null function": completion(None, tool_calls=[{"id": "a", "function": None}]),
    "no choices": {**completion("x"), "choices": []},
    "no message": {**completion("x"), "choices": [{"finish_reason": "stop"}]},
    "broken off": choice("insufficient_system_resource", "part of an ans"),
}


@pytest.mark.parametrize("agent", ["act", "tool_calling"])
def test_a_reply_without_an_answer_is_an_infrastructure_error_and_is_played_again(
    agent: str, tmp_path: Path
) -> None:
    """As many episodes as replies: each is played twice, with two requests, and no reply is a turn."""
    folder, episodes = tmp_path / "run", len(EMPTY)
    replies = GivesEach(EMPTY.values())
    done = play(folder, replies, "--limit", str(episodes), agent=agent)
    found = one_json(done)
    assert done.returncode == 3, done.stderr
    asked = [body["messages"] for body in replies.requests]
    assert [messages for messages in asked if len(messages) > len(asked[0])] == [], "a reply was a turn"
    assert len(asked) == 4 * episodes
    counts = [
        found[key] for key in ("planned", "scored", "unscored", "infra_errors", "owed", "content_filter")
    ]
    assert counts == [episodes, 0, 0, episodes, 0, 0]
    assert found["success"] is None and found["complete"] is False
    rows = [json.loads(line) for line in (folder / "errors.jsonl").read_text().splitlines()]
    assert len(rows) == 2 * episodes
    for row in rows:
        assert row["error"] == "EngineError", row
        assert row["message"].startswith("OpenAIEngine('m', host='127.0.0.1') failed 2 times"), row
    assert found["commonest_error"].startswith(
        "EngineError: OpenAIEngine('m', host='127.0.0.1') failed 2 times"
    )
    last = done.stderr.strip().splitlines()[-1]
    assert f"nlac-bench resume {folder}" in last and found["commonest_error"] in last


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_server_that_rejects_every_request_stops_the_run_and_says_why(status: int, tmp_path: Path) -> None:
    done = play(tmp_path / "run", gives((status, {"error": {"message": "who are you?"}})))
    found = one_json(done)
    assert done.returncode == 3 and (found["owed"], found["scored"], found["complete"]) == (3, 0, False)
    assert found["commonest_error"].startswith(f"EngineSetupError: HTTP {status}")
    assert "who are you?" in done.stderr and f"nlac-bench resume {tmp_path / 'run'}" in done.stderr


def test_errors_that_were_recovered_are_counted_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run fails, one of its episodes recovers in the same session, and the others after a resume."""
    folder, calls = tmp_path / "run", itertools.count()

    def at_first_nothing(body: dict[str, Any]) -> Reply:
        return completion("") if next(calls) < 10 else completion(QUESTION)

    done = play(folder, at_first_nothing, "--concurrency", "1", "--max-turns", "1")
    found = one_json(done)
    assert (done.returncode, found["scored"], found["infra_errors"]) == (3, 1, 2)
    assert (found["recovered_errors"], found["complete"]) == (1, False)
    done = resume(folder, says(QUESTION), monkeypatch)
    found = one_json(done)
    assert (done.returncode, found["scored"], found["infra_errors"]) == (0, 3, 0), done.stderr
    # Every failed attempt is counted: 3 in the first pass, 2 in the second.
    assert (found["recovered_errors"], found["complete"], found["commonest_error"]) == (5, True, None)
    assert "5 recovered errors" in call("score", str(folder)).stdout


def test_the_commonest_of_several_reasons_is_shown(tmp_path: Path) -> None:
    def fails(body: dict[str, Any]) -> Reply:
        seldom = body["seed"] % 3 == 0
        return (
            (500, {"error": {"message": "seldom \ud800"}})
            if seldom
            else (503, {"error": {"message": "often"}})
        )

    found = one_json(play(tmp_path / "run", fails, "--limit", "30"))
    assert found["infra_errors"] == 30 and found["commonest_error"].endswith("HTTP 503 from 127.0.0.1: often")


FILTERED: dict[str, Reply] = {
    "finish": choice("content_filter", None),
    "fragment": choice("content_filter", "Is it an ani"),
    "call": choice("content_filter", None, tool_calls=[{"id": "a", "function": {"name": "guess"}}]),
    "no message": {**completion("x"), "choices": [{"finish_reason": "content_filter"}]},
    "Gemini": choice("content_filter: PROHIBITED_CONTENT", None),
    "Azure": (400, {"error": {"code": "content_filter", "message": "The response was filtered due to …"}}),
    "OpenRouter": (403, {"error": {"code": 403, "message": "Input was flagged for: violence"}}),
    "DeepSeek": (400, {"error": {"message": "Content Exists Risk", "type": "invalid_request_error"}}),
}  # fmt: skip


def test_a_content_filter_ends_an_episode_without_a_score_and_for_good(tmp_path: Path) -> None:
    """One episode a reply, each of one request."""
    folder, episodes = tmp_path / "run", len(FILTERED)
    replies = GivesEach(FILTERED.values())
    done = play(folder, replies, "--limit", str(episodes))
    found = one_json(done)
    assert done.returncode == 0, done.stderr
    counts = [found[key] for key in ("planned", "scored", "unscored", "infra_errors", "owed", "truncated")]
    assert counts == [episodes, 0, episodes, 0, 0, 0]
    assert (found["content_filter"], found["complete"], found["commonest_error"]) == (episodes, True, None)
    assert len(replies.requests) == episodes
    assert (found["success"], found["mean_reward"], found["success_if_missing_failed"]) == (None, None, 0.0)
    assert found["end_reasons"] == {"content_filter": episodes}
    text = call("score", str(folder)).stdout
    assert f"{episodes} stopped by a content filter" in text
    assert "success if all other episodes had failed: 0.000" in text
    assert "info['success']" not in text


def test_some_filtered_episodes_in_every_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three tasks the first is stopped in its second turn; a resume plays nothing, and tables count it."""
    seen: list[str] = []

    def stops_one(body: dict[str, Any]) -> Reply:
        seen.append(str(body["seed"]))
        if len(body["messages"]) > 2 and len(seen) == 2:
            return choice("content_filter", "Is")
        return completion(QUESTION)

    a, b = tmp_path / "a", tmp_path / "b"
    done = play(a, stops_one, "--concurrency", "1", verb="eval")
    found = one_json(done)
    assert done.returncode == 0 and (found["scored"], found["unscored"], found["content_filter"]) == (2, 1, 1)
    played = len(seen)
    assert resume(a, stops_one, monkeypatch).returncode == 0 and len(seen) == played
    row = json.loads((a / "episodes.jsonl").read_text().splitlines()[0])
    assert (row["success"], row["terminated"], row["truncated"]) == (None, False, False)
    assert row["info"]["content_filter"] == "policy" and [t["text"] for t in row["turns"]] == [QUESTION, "Is"]
    assert one_json(play(b, says(QUESTION)))["scored"] == 3
    refused = call("compare", str(a), str(b))
    assert refused.returncode == 2 and "resume that run" not in refused.stderr
    both = one_json(call("compare", str(a), str(b), "--common", "--json"))
    assert (both["tasks"], both["tasks_left_out"], both["a"]["content_filter"]) == (2, 1, 1)
    text = call("compare", str(a), str(b), "--common").stdout
    assert "filtered" in text and "1 of 3 episodes are not scored (1 by a content filter)" in text
    assert "filtered A" in call("compare", str(a), str(b), str(b), "--common").stdout


def test_a_filtered_reply_of_the_oracle_or_user_is_no_score_either(tmp_path: Path) -> None:
    def oracle_is_stopped(body: dict[str, Any]) -> Reply:
        asked_as_oracle = "The hidden object is" in str(body["messages"][0]["content"])
        return choice("content_filter", "Ye") if asked_as_oracle else completion(QUESTION)

    def user_is_stopped(body: dict[str, Any]) -> Reply:
        return choice("content_filter", None)

    for env, answer, role in (
        ('twenty_questions@{"oracle": "llm"}', oracle_is_stopped, "oracle"),
        ("tau_retail", user_is_stopped, "user"),
    ):
        folder = tmp_path / role
        with FaultServer(functools.partial(model, answer)).in_thread() as server:
            done = call(
                "run", "--env", env, "--agent", "act", "--model", "m", "--base-url", server.url,
                "--user-model", "u", "--user-base-url", server.url, "--limit", "2", "--out", str(folder),
                "--json", *(["--user", "llm"] if role == "user" else []),
            )  # fmt: skip
        found = one_json(done)
        assert done.returncode == 0, done.stderr
        assert (found["content_filter"], found["scored"], found["complete"]) == (2, 0, True)
        assert found["usage"][role]["calls"] == 2
        row = json.loads((folder / "episodes.jsonl").read_text().splitlines()[0])
        assert row["info"]["content_filter"] == role


def test_a_simulator_that_only_thinks_is_an_infrastructure_error(tmp_path: Path) -> None:
    def only_thoughts(body: dict[str, Any]) -> Reply:
        if "The hidden object is" in str(body["messages"][0]["content"]):
            return choice("length", None, reasoning_content="Hm.")
        return completion(QUESTION)

    with FaultServer(functools.partial(model, only_thoughts)).in_thread() as server:
        done = call(
            "run", "--env", 'twenty_questions@{"oracle": "llm"}', "--agent", "act", "--model", "m",
            "--base-url", server.url, "--limit", "1", "--user-model", "u", "--user-base-url", server.url,
            "--out", str(tmp_path / "run"), "--json",
        )  # fmt: skip
    found = one_json(done)
    assert done.returncode == 3 and found["infra_errors"] == 1 and found["length"] == 0
    assert "--user-max-tokens" in found["commonest_error"]


LENGTH = {
    "reasoning_content": choice("length", None, reasoning_content="Let me think"),
    "empty content": choice("length", "", reasoning="Let me think"),
    "hidden thoughts": {
        **choice("length", ""),
        "usage": {"completion_tokens": 1024, "completion_tokens_details": {"reasoning_tokens": 1024}},
    },
    "tags": choice("length", "<think>Let me think"),
    "closed tags": choice("MAX_TOKENS", "<think>Let me think</think>\n"),
}  # fmt: skip


def test_a_budget_that_went_into_thoughts_is_a_truncated_failure(tmp_path: Path) -> None:
    """One episode a reply, each of one request."""
    replies, episodes = GivesEach(LENGTH.values()), len(LENGTH)
    done = play(tmp_path / "run", replies, "--limit", str(episodes))
    found = one_json(done)
    assert done.returncode == 0, done.stderr
    counts = [found[key] for key in ("scored", "truncated", "length", "infra_errors", "content_filter")]
    assert counts == [episodes, episodes, episodes, 0, 0] and found["success"] == 0.0
    assert found["end_reasons"] == {"length": episodes} and len(replies.requests) == episodes


def test_a_long_answer_that_is_cut_is_still_played(tmp_path: Path) -> None:
    reply = {**choice("length", QUESTION), "usage": {"prompt_tokens": 5, "completion_tokens": 1024}}
    found = one_json(play(tmp_path / "run", gives(reply)))
    assert found["length"] == 0 and found["end_reasons"] == {"max_steps": 3}
    replies = found["replies"]
    assert replies["cut"] == 1.0 and replies["invalid"] == 0.0 and replies["count"] > 3


FULL = [
    "max_tokens must be at least 1, got 0.",
    "max_tokens must be at least 1, got -17",
    "max_completion_tokens must be at least 1, got 0.",
    "[{'type': 'value_error', 'loc': ('body', 'max_tokens'), 'msg': 'max_tokens must be at least 1, got 0'}]",
    "Input validation error: `max_new_tokens` must be strictly positive",
    "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got 0 instead.",
]


def test_a_prompt_that_fills_the_context_exactly_is_an_overflow(tmp_path: Path) -> None:
    """One episode a message, each of one request."""
    replies, episodes = GivesEach((400, {"error": {"message": each}}) for each in FULL), len(FULL)
    found = one_json(done := play(tmp_path / "run", replies, "--limit", str(episodes)))
    assert done.returncode == 0, done.stderr
    assert found["end_reasons"] == {"context_overflow": episodes} and len(replies.requests) == episodes
    assert found["truncated"] == found["scored"] == episodes


def test_a_lone_surrogate_that_a_model_writes_is_sent_back_to_it(tmp_path: Path) -> None:
    found = one_json(done := play(tmp_path / "run", says(f"\ud83d {QUESTION} \udc00"), "--max-turns", "3"))
    assert done.returncode == 0, done.stderr
    assert found["scored"] == 3 and found["end_reasons"] == {"turn_limit": 3}


@pytest.mark.parametrize(
    ("reply", "says"), [("length", "limit before it had an answer"), ("content_filter", "content filter")]
)
def test_an_episode_that_is_watched_says_why_it_ends(reply: str, says: str) -> None:
    with FaultServer(functools.partial(model, gives(choice(reply, None)))).in_thread() as server:
        where = ("--model", "m", "--base-url", server.url)
        done = call("play", "twenty_questions", "--agent", "act", *where)
    assert done.returncode == 0 and says in " ".join(done.stdout.split())


HUGE = int("9" * 400)
USAGES: dict[str, Any] = {
    "infinite": {"cost": math.inf, "prompt_tokens": math.inf, "completion_tokens": -math.inf},
    "NaN": {"cost": math.nan, "prompt_tokens": math.nan},
    "400 digits": {"cost": HUGE, "prompt_tokens": HUGE, "completion_tokens": HUGE},
    "minus 400 digits": {"cost": -HUGE, "prompt_tokens": -HUGE},
    "bools": {"cost": True, "prompt_tokens": True, "completion_tokens": False},
    "negative": {"cost": -0.5, "prompt_tokens": -10, "completion_tokens": -1},
    "text": {"cost": "1.5", "prompt_tokens": "ten", "completion_tokens": "Infinity"},
    "containers": {"cost": {"total": 1}, "prompt_tokens": [1], "completion_tokens": {}},
    "1e300": {"cost": 1e300, "completion_tokens": 1e300},
    "no object": [1, 2],
    "nulls": {"cost": None, "prompt_tokens": None, "completion_tokens": None},
}


@pytest.mark.filterwarnings("ignore:.* reports a")
@pytest.mark.parametrize("price", [(), ("--price", "1,2")], ids=["told", "priced"])
def test_usage_that_is_no_number_is_not_counted(price: tuple[str, ...], tmp_path: Path) -> None:
    """As many episodes as usages, each of two requests: every usage is reported twice."""
    folder, episodes = tmp_path / "run", len(USAGES)
    replies = GivesEach({**completion(QUESTION), "usage": usage} for usage in USAGES.values())
    done = play(folder, replies, "--max-turns", "2", "--limit", str(episodes), *price)
    assert done.returncode == 0, done.stderr
    found = strict_json(done.stdout)
    assert (found["cost"], found["tokens"]) == (0, 0) and found["scored"] == episodes
    assert found["usage"]["policy"]["calls"] == 2 * episodes
    for row in map(json.loads, (folder / "episodes.jsonl").read_text().splitlines()):
        for turn in row["turns"]:
            counted = [turn["usage"][name] for name in ("cost", "prompt_tokens", "completion_tokens")]
            assert counted == [0, 0, 0], turn
    assert strict_json(call("score", str(folder), "--json").stdout)["tokens"] == 0


def test_usage_that_is_ignored_gives_one_warning(tmp_path: Path) -> None:
    reply = {
        **completion(QUESTION),
        "usage": {"cost": math.inf, "prompt_tokens": 7, "completion_tokens": 3.0},
    }
    with pytest.warns(
        UserWarning, match=r"usage\.cost that is larger than 10\^12 or NaN; it is counted as 0"
    ):
        found = one_json(play(tmp_path / "run", gives(reply), "--max-turns", "1"))
    assert (found["cost"], found["tokens"]) == (0, 30)


FIELDS = ("cost", "prompt_tokens", "calls", "seconds")


# Apart by their sign, so that none is taken away from another in a sum.
@pytest.mark.filterwarnings("ignore:.* reports a")
@pytest.mark.parametrize(
    "values", [["Infinity", "NaN", math.inf, HUGE, True, "x", None, 1e400], [-HUGE, -1]],
    ids=["positive", "negative"],
)  # fmt: skip
def test_folders_that_hold_such_usage_stay_readable(values: list[Any], tmp_path: Path) -> None:
    """Each episode has one of ``values`` in one of the fields."""
    folder, wrong = tmp_path / "run", list(itertools.product(values, FIELDS))
    done = play(folder, says(QUESTION), "--max-turns", "1", "--limit", str(len(wrong)))
    assert done.returncode == 0, done.stderr
    path = folder / "episodes.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row, (value, name) in zip(rows, wrong, strict=True):
        row["usage"]["policy"][name] = row["turns"][0]["usage"][name] = value
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for command in (("score", str(folder)), ("compare", str(folder), str(folder)), ("resume", str(folder))):
        assert strict_json((done := call(*command, "--json")).stdout), done.stderr
        assert done.returncode == 0 and call(*command).returncode == 0
    found = strict_json(call("score", str(folder), "--json").stdout)
    assert found["planned"] == found["scored"] == len(wrong) and math.isfinite(found["cost"])


def strict_json(text: str) -> dict[str, Any]:
    """The one object in ``text``, which must not contain the names of numbers that JSON lacks."""

    def refuse(name: str) -> Any:
        raise AssertionError(f"{name} is not JSON")

    assert text.count("\n") == 1
    value = json.loads(text, parse_constant=refuse)
    assert isinstance(value, dict)
    return value
