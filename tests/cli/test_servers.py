"""Commands against servers that differ: ``doctor --base-url``, ``run --request``, adaptations, templates."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.errors import ConfigError
from nlac_bench.harness.runs.configuration import RunConfig
from tests.cli.command import call, one_json
from tests.rollout.fault_server import FaultServer, Reply, completion

QUESTION = "Is it an animal?"
TEMPERATURE = {
    "message": "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) "
    "value is supported.",
    "param": "temperature",
    "code": "unsupported_value",
}
OVERFLOW = {
    "message": "This model's maximum context length is 2000 tokens. However, you requested 9000 tokens."
}
STREAMED = "".join(
    f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': part}, 'finish_reason': end}]})}\n\n"
    for part, end in (("ye", None), ("s", "stop"))
)


def real(_path: str, body: dict[str, Any]) -> Reply:
    """A server with tools and streaming that refuses temperatures."""
    if "temperature" in body:
        return 400, {"error": TEMPERATURE}
    if len(json.dumps(body["messages"])) > 8000:
        return 400, {"error": OVERFLOW}
    if body.get("stream"):
        return STREAMED
    if body.get("tools") and body["messages"][-1]["role"] == "user":
        called = {
            "id": "c1",
            "type": "function",
            "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
        }
        return completion(None, tool_calls=[called])
    return completion("yes")


def plain(_path: str, body: dict[str, Any]) -> Reply:
    """A server without tools, streaming or usage, which leaves out the beginning of long prompts."""
    if body.get("tools") or body.get("stream"):
        return 400, {"error": {"message": "not here"}}
    return {**completion("yes"), "usage": {}}


def doctor(answer: Any, *more: str, models: Any = None) -> tuple[dict[str, Any], int, int]:
    server = FaultServer(answer)
    server.models = models
    with server.in_thread():
        done = call("doctor", "--base-url", server.url, "--model", "m", "--json", *more)
    return one_json(done), done.returncode, len(server.requests)


def test_doctor_says_what_was_adapted_and_what_works() -> None:
    found, code, requests = doctor(real, models={"data": [{"id": "m", "max_model_len": 2000}]})
    assert (code, found["ok"], found["adapted"], found["problems"]) == (
        0,
        True,
        {"temperature": "left out"},
        [],
    )
    assert requests <= 10
    assert [found[key] for key in ("context", "usage", "tools", "streaming", "overflow")] == [
        2000,
        *[True] * 4,
    ]


def test_doctor_learns_what_a_server_refuses_once() -> None:
    refused = dict.fromkeys(("temperature", "seed"), "left out")
    refused["max_tokens"] = "renamed to max_completion_tokens"

    def picky(path: str, body: dict[str, Any]) -> Reply:
        for name in (*refused, "stream_options"):
            if name in body:
                return 400, {"error": {"message": f"Unsupported parameter: '{name}'", "param": name}}
        return real(path, body)

    found, code, requests = doctor(picky, models={"data": [{"id": "m", "max_model_len": 2000}]})
    assert (code, found["adapted"], found["problems"], requests) == (0, refused, [], 9)
    assert found["streaming"] and found["overflow"] and found["tools"]


def test_doctor_lists_problems_and_what_to_do() -> None:
    found, code, requests = doctor(
        plain, models={"data": [{"id": "other"}, {"id": "m", "context_length": 500}]}
    )
    problems = " ".join(found["problems"])
    assert (code, found["ok"], found["adapted"]) == (0, True, {}) and requests <= 16
    assert not (found["usage"] or found["tools"] or found["streaming"] or found["overflow"])
    for said in ("usage", "use --agent react", "silently left out the rest"):
        assert said in problems
    found, *_ = doctor(real, models={"data": [{"id": "other"}, {"id": "another"}]})
    assert "lacks 'm'; it has other, another" in found["problems"][0] and found["overflow"] is None


@pytest.mark.parametrize(("known", "models"), [("/api/v1", ["m"]), ("/elsewhere", [])])
def test_doctor_asks_for_the_models_at_the_address_that_answers(known: str, models: list[str]) -> None:
    def answer(path: str, _body: dict[str, Any]) -> Reply:
        return completion("yes") if path == f"{known}/chat/completions" else (404, {"detail": "Not Found"})

    server = FaultServer(answer)
    server.models, server.models_at = {"data": [{"id": "m", "context_length": 2048}]}, f"{known}/models"
    with server.in_thread():
        given = server.url.replace("/v1", "/api")
        found = one_json(call("doctor", "--base-url", given, "--model", "m", "--json"))
    assert found["ok"] is bool(models) and found["models"] == models


def test_doctor_of_a_server_that_cannot_be_used() -> None:
    found, code, _ = doctor(lambda *_: (401, {"error": {"message": "who are you?"}}))
    assert (code, found["ok"]) == (1, False) and "who are you?" in found["problems"][0]
    found, code, _ = doctor(lambda *_: "<!doctype html><html></html>")
    assert (code, found["ok"]) == (1, False) and "check the path in --base-url" in found["problems"][0]
    for wrong, says in (
        (("--base-url", "http://x/v1"), "needs --model"),
        (("--base-url", "http://x y/v1", "--model", "m"), "white space"),
        (("--base-url", "http://x", "--server", "http://y", "--model", "m"), "cannot be used together"),
    ):
        done = call("doctor", *wrong)
        assert done.returncode == 2 and says in done.stderr, done.stderr


def test_a_run_says_stores_and_lists_what_it_adapted(tmp_path: Path) -> None:
    folder = tmp_path / "run"

    def answer(_path: str, body: dict[str, Any]) -> Reply:
        if "temperature" in body:
            return 400, {"error": TEMPERATURE}
        if "max_tokens" in body:
            return 400, {
                "error": {"message": "Use 'max_completion_tokens' instead of unsupported max_tokens"}
            }
        return completion(QUESTION)

    with (
        FaultServer(answer).in_thread() as server,
        pytest.warns(UserWarning, match="changed for the whole run") as said,
    ):
        done = call(
            "run", "--env", "twenty_questions", "--agent", "act", "--model", "m", "--base-url", server.url,
            "--limit", "3", "--max-turns", "2", "--json", "--out", str(folder),
            "--request", 'reasoning_effort="low"', "--request", "seed=7",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    adapted = {"temperature": "left out", "max_tokens": "renamed to max_completion_tokens"}
    assert one_json(done)["adapted"] == adapted
    assert sum("changed for the whole run" in str(each.message) for each in said) == 2
    assert json.loads((folder / "manifest.json").read_text())["adapted"] == adapted
    assert "temperature: left out" in call("score", str(folder)).stdout
    assert one_json(call("score", str(folder), "--json"))["adapted"] == adapted
    last = server.requests[-1]
    assert (last["reasoning_effort"], last["seed"], last["max_completion_tokens"]) == ("low", 7, 1024)
    assert (
        len(server.requests) <= 6 + 2 * 3
    )  # each of three requests at once may be refused once by each field


@pytest.mark.parametrize("wrong", ["stream", "=1", "a={", 'model="x"', "messages=[]", "top_p=NaN"])
def test_fields_that_cannot_be_requested(wrong: str) -> None:
    done = call(
        "run",
        "--env",
        "twenty_questions",
        "--agent",
        "act",
        "--model",
        "m",
        "--base-url",
        "http://x",
        "--request",
        wrong,
    )
    assert done.returncode == 2 and "request" in done.stderr


def test_a_model_whose_template_has_no_tools_cannot_call_them() -> None:
    done = call("run", "--env", "tau_retail", "--agent", "tool_calling", "--model", "tiny", "--limit", "1")
    assert done.returncode != 0 and "use --agent react or act" in done.stderr


@pytest.mark.parametrize("value", [0.5, {"1": -100.0}, None, True, [1, "x"]])
def test_each_value_of_json_can_be_requested(value: object) -> None:
    assert RunConfig(env="math500_hard", agent="random", request={"top_p": value}).request == {"top_p": value}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"1": -float("inf")}, [float("nan")]])
def test_a_number_that_json_cannot_express_is_named(value: object) -> None:
    with pytest.raises(ConfigError, match=rf"cannot set top_p = {re.escape(repr(value))}, .*finite numbers"):
        RunConfig(env="math500_hard", agent="random", request={"top_p": value})
