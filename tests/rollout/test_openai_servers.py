"""OpenAIEngine and servers that differ: limits, addresses, proxies, streams, thoughts, errors in replies."""

import asyncio
import json
import ssl
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import trustme

from nlac_bench.envs.call_markers import call_marker
from nlac_bench.rollout.engines.backoff import Pause, Retries, TransientFault
from nlac_bench.rollout.engines.engine import EngineError, Sample, SampleRequest, Sampling, ToolCall
from nlac_bench.rollout.engines.openai.address import read_address
from nlac_bench.rollout.engines.openai.engine import OpenAIEngine
from nlac_bench.rollout.engines.openai.failures import EngineSetupError
from nlac_bench.rollout.engines.openai.stream import read_body
from tests.rollout.fault_server import FaultServer, Reply, completion
from tests.timing import scans

HELLO = [{"role": "user", "content": "hi"}]
TOOL = {"type": "function", "function": {"name": "get", "parameters": {"type": "object", "properties": {}}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "get", "arguments": "{}"}}

pytestmark = pytest.mark.filterwarnings("ignore:.*requests are changed")


def ask(
    answer: Callable[[str, dict[str, Any]], Reply],
    *conversations: Sequence[dict[str, Any]],
    tools: Sequence[Any] = (),
    path: str | None = None,
    **options: Any,
) -> tuple[list[Sample], FaultServer, OpenAIEngine]:
    """Ask each conversation in turn."""

    async def run() -> tuple[list[Sample], FaultServer, OpenAIEngine]:
        async with FaultServer(answer).running() as server:
            url = server.url if path is None else server.url.removesuffix("/v1") + path
            retries = Retries(attempts=2, first=0.01, max_wait=0)
            engine = OpenAIEngine("m", base_url=url, **{"retries": retries, "timeout": 20, **options})
            samples = []
            for messages in conversations or [HELLO]:
                samples += await engine.sample(SampleRequest(messages=messages, tools=tools, seed=3))
            return samples, server, engine

    return asyncio.run(run())


def refused(message: str = "no", status: int = 400, headers: str = "") -> Reply:
    return status, {"error": {"message": message}}, headers


# --- rate limits ----------------------------------------------------------------------------


def test_a_rate_limit_costs_no_episode_and_no_attempt() -> None:
    """Ten requests a quarter of a second; twenty conversations of three turns, and one attempt for each."""
    window, accepted = 0.25, [0.0]

    def answer(_path: str, _body: dict[str, Any]) -> Reply:
        now = time.monotonic()
        accepted[:] = [at for at in accepted if at > now - window]
        if len(accepted) >= 10:
            return refused("slow down", 429, f"retry-after-ms: {window * 1000}\r\n")
        accepted.append(now)
        return completion("yes")

    async def run() -> FaultServer:
        async with FaultServer(answer).running() as server:
            retries = Retries(attempts=1, first=0.01, longest=0.05, max_wait=60)
            engine = OpenAIEngine("m", base_url=server.url, retries=retries)

            async def episode() -> None:
                for _ in range(3):
                    await engine.sample(SampleRequest(messages=HELLO))

            await asyncio.gather(*(episode() for _ in range(20)))
            return server

    assert asyncio.run(run()).served["none"] >= 60


def test_all_requests_to_a_server_wait_together() -> None:
    async def run() -> list[str]:
        pause, order = Pause(), []

        async def refused_once() -> str:
            if "refused" not in order:
                order.append("refused")
                pause.extend(0.05)
                raise TransientFault("slow down", "rate_limit", 0.05)
            order.append("first")
            return ""

        async def other() -> str:
            order.append("second" if time.monotonic() >= began + 0.05 else "too early")
            return ""

        began, retries = time.monotonic(), Retries(attempts=1, first=0.001, max_wait=10)
        await asyncio.gather(retries.run("a", refused_once, pause), retries.run("b", other, pause))
        return order

    order = asyncio.run(run())
    assert order[0] == "refused" and "too early" not in order and set(order[1:]) == {"first", "second"}


def test_a_wait_that_is_too_long_is_not_waited_for() -> None:
    limit = refused("come back tomorrow", 429, "Retry-After: 86400\r\n")
    with pytest.raises(EngineError, match=r"86,400 s, longer than --max-wait"):
        ask(lambda *_: limit, retries=Retries(attempts=5, max_wait=900))


def test_a_server_that_only_refuses_is_given_up_after_the_longest_wait() -> None:
    with pytest.raises(EngineError, match="failed 2 times") as caught:
        ask(lambda *_: refused("overloaded", 503), retries=Retries(attempts=2, first=0.01, max_wait=0.2))
    assert caught.value.kind == "rate_limit"


# --- refusals of everything -------------------------------------------------------------------


def test_a_server_that_refuses_everything_alike_stops_the_run_at_once() -> None:
    server_of: list[FaultServer] = []

    async def run() -> None:
        async with FaultServer(lambda *_: refused("Your plan has ended")).running() as server:
            server_of.append(server)
            engine = OpenAIEngine("m", base_url=server.url)
            await engine.sample(SampleRequest(messages=HELLO, seed=1))

    with pytest.raises(EngineSetupError, match=r"Your plan has ended.*refuses every request"):
        asyncio.run(run())
    assert len(server_of[0].requests) <= 3


@pytest.mark.parametrize(
    "names",
    [("temperature",), ("seed",), ("max_tokens",), ("temperature", "seed"), ("max_tokens", "temperature")],
)
@pytest.mark.parametrize("message", ["Bad Request", "Not offered here: {}"])
def test_fields_that_no_message_names_are_found(names: tuple[str, ...], message: str) -> None:
    words = refused(message.format(", ".join(reversed(names)).upper()))
    answer = lambda _path, body: words if set(names) & set(body) else completion("yes")  # noqa: E731
    samples, server, engine = ask(answer, HELLO, HELLO)
    assert [s.text for s in samples] == ["yes", "yes"]
    assert engine.adapted == dict.fromkeys(names, "left out")
    assert set(server.requests[-1]) == {"model", "messages", "temperature", "max_tokens", "seed"} - {*names}


SYSTEM = [
    {"role": "system", "content": "Be very brief, please."},
    {"role": "user", "content": "Who are you?"},
]


@pytest.mark.parametrize(
    "words",
    [
        "Set stream to true.",
        "Only streaming responses are available",
        "This endpoint streams only.",
        "Field required: stream",
        "Synchronous responses are disabled",
        [{"loc": ["body", "stream"], "msg": "Field required", "type": "missing"}],
        "Bad Request",
    ],
)
@pytest.mark.parametrize("options", [(), ("stream_options",)])
def test_a_server_that_only_streams_is_understood_in_any_words(words: Any, options: tuple[str, ...]) -> None:
    def answer(_path: str, body: dict[str, Any]) -> Reply:
        if body.get("stream") and not set(options) & set(body):
            return events(delta("stop", content="yes"))
        return 422, {"detail": "Bad Request" if body.get("stream") else words}

    samples, server, engine = ask(answer, SYSTEM, SYSTEM)
    assert [s.text for s in samples] == ["yes", "yes"]
    assert engine.adapted == {"stream": "set to true", **dict.fromkeys(options, "left out")}
    assert len(server.requests) <= (7 if not options else 18)


@pytest.mark.parametrize(
    "message",
    [
        "Only user and assistant roles are supported!",
        "Unexpected role 'system' in the conversation",
        "Conversation must start with a user turn",
        "messages[0].role: Input should be 'user' or 'assistant'",
        "Bad Request",
    ],
)
def test_a_server_without_system_messages_is_understood_in_any_words(message: str) -> None:
    def answer(_path: str, body: dict[str, Any]) -> Reply:
        return refused(message) if body["messages"][0]["role"] == "system" else completion("yes")

    samples, server, engine = ask(answer, SYSTEM, SYSTEM)
    assert [s.text for s in samples] == ["yes", "yes"]
    assert engine.adapted == {"system message": "put into the first user message"}
    assert server.requests[-1]["messages"] == [
        {"role": "user", "content": "Be very brief, please.\n\nWho are you?"}
    ]
    assert server.requests[-1]["seed"] == 3 and len(server.requests) <= 8


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 1, 0, 1), (1, 1, 0, 0)])
def test_the_same_words_may_refuse_a_length_and_a_text(order: tuple[int, ...]) -> None:
    """Bare words say nothing, so what they meant for one prompt is not taken to be meant for another."""
    prompts = ["word " * 1000, "a forbidden word in a short prompt"]

    def answer(_path: str, body: dict[str, Any]) -> Reply:
        text = body["messages"][0]["content"]
        return refused("Bad Request") if len(text) > 2000 or "forbidden" in text else completion("yes")

    async def run() -> list[str]:
        async with FaultServer(answer).running() as server:
            engine = OpenAIEngine("m", base_url=server.url, retries=Retries(attempts=1))
            ends: list[str] = []
            for index in order:
                asked = SampleRequest(messages=[{"role": "user", "content": prompts[index]}])
                try:
                    ends.append((await engine.sample(asked))[0].finish)
                except EngineError as error:
                    ends.append(error.kind)
            return [*ends, str(len(server.requests))]

    *ends, requests = asyncio.run(run())
    assert ends == [("context_overflow", "refused")[index] for index in order]
    assert int(requests) <= 3 * len(order) + 5


@pytest.mark.parametrize(
    "message",
    [
        "Internal error: invalid temperature tensor on device",
        "unexpected worker exit while applying `seed`",
        "Unable to allocate max_tokens buffer",
    ],
)
@pytest.mark.parametrize("passes", [True, False])
def test_a_failure_that_names_a_field_leaves_it_out_only_if_it_is_repeated(
    message: str, passes: bool
) -> None:
    name = next(each for each in ("temperature", "seed", "max_tokens") if each in message)
    first = iter([True])
    answer = lambda _path, body: (  # noqa: E731
        refused(message, 500) if (next(first, False) if passes else name in body) else completion("yes")
    )
    (sample,), _, engine = ask(answer, retries=Retries(attempts=3, first=0.001, max_wait=0))
    assert sample.text == "yes" and (name in engine.adapted) is not passes


@pytest.mark.parametrize(
    ("message", "asked", "sent", "others"),
    [
        ("temperature must be at least 0.01", 0.0, 0.01, 0.7),
        ("temperature must be at least 0.1", 0.0, 0.1, 0.7),
        ("temperature: ensure this value is greater than 0", 0.0, 0.01, 0.7),
        ("temperature must be nonzero", 0.0, 0.01, 0.7),
        ("temperature must be in (0,1]", 0.0, 0.01, 0.7),
        ("temperature must be within the range [0,1]", 1.5, 1.0, 0.7),
        ("temperature is not supported", 0.0, None, None),
    ],
)
def test_a_bound_of_the_temperature_is_kept_and_other_values_are_sent(
    message: str, asked: float, sent: float | None, others: float | None
) -> None:
    answer = lambda _p, body: refused(message) if body.get("temperature") == asked else completion("yes")  # noqa: E731

    async def run() -> list[float | None]:
        async with FaultServer(answer).running() as server:
            engine = OpenAIEngine("m", base_url=server.url, retries=Retries(attempts=1, max_wait=0))
            for temperature in (asked, 0.7):
                sampling = Sampling(temperature=temperature)
                await engine.sample(SampleRequest(messages=HELLO, sampling=sampling))
            return [body.get("temperature") for body in server.requests[1:]]

    assert asyncio.run(run()) == [sent, others]


@pytest.mark.parametrize(
    ("message", "most"),
    [
        ("max_tokens must be in [1,512]", 512),
        ("max_tokens must be in [1, 512]", 512),
        ("max_tokens must be at most 1,000", 1000),
        ("max_tokens: 1,024 exceeds the limit of 512", 512),
    ],
)
def test_a_bound_of_the_answer_is_read(message: str, most: int) -> None:
    answer = lambda _path, body: refused(message) if body["max_tokens"] > most else completion("yes")  # noqa: E731
    assert ask(answer)[1].requests[-1]["max_tokens"] == most


def test_an_html_page_is_explained() -> None:
    page = "\n<!DOCTYPE html><html><body>Welcome</body></html>"
    with pytest.raises(EngineSetupError, match="HTML page instead of a reply; check the path in --base-url"):
        ask(lambda *_: page)
    pages: Any = iter([completion("yes"), page, completion("yes")])
    assert [s.text for s in ask(lambda *_: next(pages), HELLO, HELLO)[0]] == ["yes", "yes"]
    with pytest.raises(EngineError, match="not valid JSON"):
        ask(lambda *_: "<")


@pytest.mark.parametrize(
    "message",
    [
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        "m does not support tools",
        "No endpoints found that support tool use.",
        "Bad Request",
    ],
)
def test_a_server_without_tools_is_refused_with_what_to_use_instead(message: str) -> None:
    status = 404 if "endpoints" in message else 400
    answer = lambda _path, body: refused(message, status) if "tools" in body else completion("yes")  # noqa: E731
    with pytest.raises(EngineSetupError, match="use --agent react"):
        ask(answer, tools=[TOOL])
    assert ask(answer)[0][0].text == "yes"


def test_values_that_a_server_does_not_accept() -> None:
    """TGI has no temperature 0, and others none above 1; many have no ``n``."""

    def answer(_path: str, body: dict[str, Any]) -> Reply:
        if body["temperature"] <= 0:
            return refused("Input validation error: `temperature` must be strictly positive", 422)
        if body["temperature"] > 1:
            return refused("temperature must be between 0 and 1")
        return refused("'n' : number must be at most 1") if "n" in body else completion("yes")

    async def run(sampling: Sampling, n: int) -> tuple[int, dict[str, str], float]:
        async with FaultServer(answer).running() as server:
            engine = OpenAIEngine("m", base_url=server.url, retries=Retries(attempts=1))
            samples = await engine.sample(SampleRequest(messages=HELLO, sampling=sampling, n=n))
            return len(samples), engine.adapted, server.requests[-1]["temperature"]

    assert asyncio.run(run(Sampling(temperature=0), 1)) == (1, {"temperature": "0.01 instead of 0"}, 0.01)
    assert asyncio.run(run(Sampling(temperature=1.5), 1)) == (1, {"temperature": "1 instead of 1.5"}, 1.0)
    assert asyncio.run(run(Sampling(temperature=1), 3)) == (3, {"n": "left out"}, 1)


@pytest.mark.filterwarnings("ignore:.*reads only a part")
@pytest.mark.parametrize(
    ("tokens", "cut"),
    [
        (lambda characters: characters // 4, False),
        (lambda characters: min(characters // 4, 900), True),
        (lambda characters: min(characters // 4, 900 - characters % 7), True),
    ],
)
def test_prompts_that_a_server_cuts_silently_are_noticed(tokens: Callable[[int], int], cut: bool) -> None:
    def answer(_path: str, body: dict[str, Any]) -> Reply:
        used = {"prompt_tokens": tokens(len(body["messages"][0]["content"])), "completion_tokens": 2}
        return {**completion("yes"), "usage": used}

    prompts = [
        [{"role": "user", "content": "word " * words}] for words in (500, 600, 700, 720, 800, 1500, 4000)
    ]
    assert ("context" in ask(answer, *prompts)[2].adapted) is cut


# --- addresses, proxies -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "known"),
    [
        ("/v1/chat/completions", "/v1"), ("/v1/", "/v1"), ("", "/v1"), ("/", "/v1"), ("", ""),
        ("/api", "/api"), ("/api", "/api/v1"), (" ", "/v1"), ("/v1/models", "/v1"),
        ("/openai/deployments/m?api-version=2", "/openai/deployments/m"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("status", "message"), [(404, "Not Found"), (405, "Method Not Allowed"),
                                               (404, "Cannot POST /model/chat/completions")])  # fmt: skip
def test_an_address_is_corrected(given: str, known: str, status: int, message: str) -> None:
    def answer(path: str, _body: dict[str, Any]) -> Reply:
        return (
            completion("yes")
            if path.partition("?")[0] == f"{known}/chat/completions"
            else refused(message, status)
        )

    (sample,), server, engine = ask(answer, path=given)
    assert sample.text == "yes" and len(server.requests) <= 2
    assert ("base_url" in engine.adapted) is (len(server.requests) == 2)


@pytest.mark.parametrize(("given", "known"), [("/api", "/api/v1"), ("", ""), ("/api", "/other")])
def test_an_address_is_corrected_for_requests_that_are_sent_together(given: str, known: str) -> None:
    def answer(path: str, _body: dict[str, Any]) -> Reply:
        return completion("yes") if path.startswith(f"{known}/chat") else refused("Not Found", 404)

    async def run() -> tuple[list[Any], dict[str, str]]:
        async with FaultServer(answer).running() as server:
            engine = OpenAIEngine("m", base_url=server.url.removesuffix("/v1") + given, concurrency=3)
            asked = (engine.sample(SampleRequest(messages=HELLO)) for _ in range(8))
            return await asyncio.gather(*asked, return_exceptions=True), engine.adapted

    replies, adapted = asyncio.run(run())
    if known == "/other":
        assert {type(reply) for reply in replies} == {EngineSetupError} and not adapted
    else:
        assert [sample.text for (sample,) in replies] == ["yes"] * 8 and "base_url" in adapted


@pytest.mark.parametrize(
    ("message", "requests"),
    [
        ("models/gemini-9 is not found for API version v1main", 1),
        ("The API deployment for this resource does not exist", 1),
        ("The model m does not exist", 1),
        ("Nothing of that name", 3),  # it is sent to both addresses, and to the given one once more
    ],
)
def test_a_wrong_model_is_no_wrong_address(message: str, requests: int) -> None:
    def answer(path: str, _body: dict[str, Any]) -> Reply:
        asked.append(path)
        return refused(message, 404) if path.startswith("/v1beta/openai/chat") else (404, "", "")

    asked: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the address is not said to be changed
        with pytest.raises(EngineSetupError, match=f"HTTP 404 from .*{message}"):
            ask(answer, path="/v1beta/openai/")
    assert len(asked) == requests


@pytest.mark.parametrize(
    "wrong", ["localhost:8000", "ftp://x/v1", "http://", "http://a b/v1", "http://x:99999/v1"]
)
def test_what_is_no_address_is_explained(wrong: str) -> None:
    with pytest.raises(
        EngineSetupError, match=r"--base-url .* is not a server address: .*; write it as http"
    ):
        OpenAIEngine("m", base_url=wrong)


def test_a_missing_model_is_no_wrong_route() -> None:
    with pytest.raises(EngineSetupError, match=r"--model 'm'"):
        ask(lambda *_: refused("The model `m` does not exist", 404), path="")
    with pytest.raises(EngineSetupError, match="--base-url '' is not a server address"):
        OpenAIEngine("m", base_url="")  # not OpenAI's own


def test_this_machine_is_never_reached_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert ask(lambda *_: completion("yes"))[0][0].text == "yes"


@pytest.mark.parametrize(
    ("host", "here"),
    [("0.0.0.0", True), ("[::]", True), ("127.1.2.3", True), ("10.0.0.1", False), ("host", False)],
)
def test_which_addresses_are_this_machine(host: str, here: bool) -> None:
    assert read_address(f"http://{host}:8000/v1", "--base-url").loopback is here


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ALL_PROXY", "gopher://127.0.0.1:9"),
        ("HTTPS_PROXY", "socks5://127.0.0.1:9"),
        ("SSL_CERT_FILE", "/no/such/file"),
        ("HTTPS_PROXY", "http://proxy:notaport"),
        ("HTTPS_PROXY", "proxy:80x"),
        ("HTTPS_PROXY", "http://proxü..example:80"),
    ],
)
def test_a_wrong_proxy_or_certificate_is_one_error_before_the_first_episode(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(EngineSetupError, match=rf"Correct or unset {name}$"):
        OpenAIEngine("m", base_url="https://models.example/v1")


@pytest.mark.parametrize("proxy", [None, "http://127.0.0.1:9"])
def test_a_host_that_is_no_name_is_one_error_before_the_first_episode(
    proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy)
    OpenAIEngine("m", base_url="http://bücher.example/v1")
    with pytest.raises(EngineSetupError, match=r"--base-url 'http://bü..example/v1' is not a server address"):
        OpenAIEngine("m", base_url="http://bü..example/v1")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://bü..example/v1")
    with pytest.raises(EngineSetupError, match=r"^OPENAI_BASE_URL 'http"):
        OpenAIEngine("m", api_key="sk-x")


def test_a_proxy_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ALL_PROXY", "http_proxy", "all_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    for direct, words in (
        ("", "through the proxy in HTTP_PROXY failed"),
        ("models.invalid", "invalid failed"),
    ):
        monkeypatch.setenv("NO_PROXY", direct)
        engine = OpenAIEngine(
            "m", base_url="http://models.invalid/v1", retries=Retries(attempts=1, max_wait=0)
        )
        with pytest.raises(EngineError, match=words):
            asyncio.run(engine.sample(SampleRequest(messages=HELLO)))


def test_a_certificate_that_is_not_trusted_is_one_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    authority, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")

    async def run() -> tuple[str, FaultServer]:
        async with FaultServer(lambda *_: completion("yes")).running(tls) as server:
            retries = Retries(attempts=2, first=0.01, max_wait=0)
            engine = OpenAIEngine("m", base_url=server.url, retries=retries, timeout=20)
            return (await engine.sample(SampleRequest(messages=HELLO)))[0].text, server

    with pytest.raises(EngineSetupError, match=r"certificate of 127\.0\.0\.1 is not trusted.*SSL_CERT_FILE"):
        asyncio.run(run())
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    text, server = asyncio.run(run())
    assert text == "yes" and len(server.requests) == 1
    monkeypatch.setenv("SSL_CERT_FILE", "/no/such/file")
    with pytest.raises(EngineSetupError, match=r"Correct or unset SSL_CERT_FILE$"):
        OpenAIEngine("m", base_url=server.url)
    OpenAIEngine("m", base_url=server.url.replace("https", "http"))


def test_https_to_a_server_without_tls_is_one_error() -> None:
    async def bad_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async def run() -> None:
        async with await asyncio.start_server(bad_request, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            engine = OpenAIEngine("m", base_url=f"https://127.0.0.1:{port}/v1", timeout=20)
            await engine.sample(SampleRequest(messages=HELLO))

    with pytest.raises(EngineSetupError, match=r"does not answer with TLS; use http://"):
        asyncio.run(run())


def test_a_failed_connection_says_its_cause() -> None:
    engine = OpenAIEngine("m", base_url="http://127.0.0.1:9/v1", retries=Retries(attempts=1, max_wait=0))
    with pytest.raises(EngineError, match="ConnectionRefusedError"):
        asyncio.run(engine.sample(SampleRequest(messages=HELLO)))


# --- what the server sent goes back ----------------------------------------------------------------


def test_thoughts_and_signatures_go_back_to_the_server_that_sent_them_and_to_no_other() -> None:
    signed = {**CALL, "extra_content": {"google": {"thought_signature": "sig"}}}

    def answer(_path: str, body: dict[str, Any]) -> Reply:
        if len(body["messages"]) > 1:
            return completion("done")
        return completion("", tool_calls=[signed], reasoning_content="hm", reasoning_details=[{"text": "hm"}])

    made = {"role": "assistant", "content": "", "tool_calls": [CALL]}
    later: list[dict[str, Any]] = [*HELLO, made, {"role": "tool", "tool_call_id": "c1", "content": "7"}]
    _, server, _ = ask(answer, HELLO, later, tools=[TOOL])
    back = server.requests[1]["messages"][1]
    assert back == {
        **made,
        "tool_calls": [signed],
        "reasoning_content": "hm",
        "reasoning_details": [{"text": "hm"}],
    }
    assert made == {"role": "assistant", "content": "", "tool_calls": [CALL]}, (
        "the caller's message is not changed"
    )
    _, other, _ = ask(answer, later, tools=[TOOL])
    assert other.requests[0]["messages"][1] == made
    # The same text in another conversation is another reply.
    elsewhere: list[dict[str, Any]] = [{"role": "user", "content": "other"}, *later[1:]]
    _, server, _ = ask(answer, HELLO, elsewhere, tools=[TOOL])
    assert server.requests[1]["messages"][1] == made


def test_calls_after_the_same_words_keep_their_own_thoughts_and_signatures() -> None:
    """Three episodes begin alike, and their replies have the same text. One call has no id of the server."""

    def signed(number: int) -> dict[str, Any]:
        own = {"id": f"c{number}" if number else "", "extra_content": {"signature": f"sig {number}"}}
        return {**CALL, **own, "function": {"name": "get", "arguments": f'{{"id": {number}}}'}}

    numbers = iter(range(3))

    def answer(_path: str, body: dict[str, Any]) -> Reply:
        if len(body["messages"]) > 1:
            return completion("done")
        number = next(numbers)
        return completion(None, tool_calls=[signed(number)], reasoning_content=f"thought {number}")

    def later(number: int) -> list[dict[str, Any]]:
        call = {key: value for key, value in signed(number).items() if key != "extra_content"}
        made = {"role": "assistant", "content": "", "tool_calls": [{**call, "id": call["id"] or "call_2"}]}
        return [*HELLO, made, {"role": "tool", "tool_call_id": "x", "content": "7"}]

    _, server, _ = ask(answer, *[HELLO] * 3, *map(later, range(4)), tools=[TOOL])
    back = [body["messages"][1] for body in server.requests[3:]]
    assert [made.get("reasoning_content") for made in back] == [*(f"thought {i}" for i in range(3)), None]
    assert [made["tool_calls"][0].get("extra_content") for made in back] == [
        *({"signature": f"sig {i}"} for i in range(3)), None,
    ]  # fmt: skip


@pytest.mark.parametrize("thoughts", ["", None])
def test_an_empty_text_of_thoughts_goes_back_and_none_does_not(thoughts: str | None) -> None:
    replies = iter([completion(None, tool_calls=[CALL], reasoning_content=thoughts), completion("done")])
    made = {"role": "assistant", "content": "", "tool_calls": [CALL]}
    later: list[dict[str, Any]] = [*HELLO, made, {"role": "tool", "tool_call_id": "c1", "content": "7"}]
    _, server, _ = ask(lambda *_: next(replies), HELLO, later, tools=[TOOL])
    assert server.requests[1]["messages"][1] == made | ({} if thoughts is None else {"reasoning_content": ""})


# --- replies ---------------------------------------------------------------------------------


def choice(**changes: Any) -> dict[str, Any]:
    made = completion("hello")
    made["choices"][0].update(changes)
    return made


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(("letters", "context"), [(1_000, 4096), (100_000, None)])
def test_a_list_of_models_is_read_up_to_the_limit_of_replies(
    letters: int, context: int | None, compressed: bool
) -> None:
    async def run() -> int | None:
        async with FaultServer(lambda *_: completion("x")).running() as server:
            server.models = {"data": [{"id": "m", "max_model_len": 4096, "about": "x" * letters}]}
            server.compressed = compressed
            engine = OpenAIEngine("m", base_url=server.url, max_reply_bytes=20_000)
            return await engine.client.context_length()

    assert asyncio.run(run()) == context


@pytest.mark.parametrize(
    "body",
    [
        *(f'{{"error": {"[" * depth}{"]" * depth}, "choices": []}}' for depth in (300, 700, 900)),
        f'{{"error": {"[" * 700}1{"]" * 700}, "choices": []}}',
        'data: {"choices": [{"index": 1e999, "delta": {"content": "x"}, "finish_reason": "stop"}]}\n\n',
    ],
    ids=["300", "700", "900", "not empty", "index"],
)  # fmt: skip
def test_a_reply_that_no_server_writes_is_an_ordinary_fault(body: str) -> None:
    with pytest.raises(EngineError, match="failed 2 times") as caught:
        ask(lambda *_: body)
    assert caught.value.kind == "bad_reply"


def test_a_call_in_other_forms_is_understood() -> None:
    as_object = {**CALL, "function": {"name": "get", "arguments": {"id": "é"}}}
    assert ask(lambda *_: completion(None, tool_calls=[as_object]), tools=[TOOL])[0][0].tool_calls == (
        ToolCall("get", '{"id": "é"}', "c1"),
    )
    legacy = choice(
        message={"content": None, "function_call": {"name": "get", "arguments": "{}"}},
        finish_reason="function_call",
    )
    (sample,), *_ = ask(lambda *_: legacy, tools=[TOOL])
    assert (sample.finish, sample.tool_calls) == ("tool_calls", (ToolCall("get", "{}"),))


@pytest.mark.parametrize("finish", [None, "", " "])
def test_a_reply_that_does_not_say_why_it_ended(finish: str | None) -> None:
    assert ask(lambda *_: choice(finish_reason=finish))[0][0].finish == "stop"
    full = {**choice(finish_reason=finish), "usage": {"completion_tokens": 1024}}
    assert ask(lambda *_: full)[0][0].finish == "length"
    called = choice(message={"content": None, "tool_calls": [CALL]}, finish_reason=finish)
    assert ask(lambda *_: called, tools=[TOOL])[0][0].finish == "tool_calls"
    with pytest.raises(EngineError, match="is empty"):
        ask(lambda *_: choice(message={"content": ""}, finish_reason=finish))


def events(*chunks: dict[str, Any], done: bool = True) -> str:
    made = [f": PROCESSING\r\n\r\ndata:{json.dumps(chunk)}\r\n\r\n" for chunk in chunks]
    return "".join(made) + ("data: [DONE]\n\n" if done else "")


def delta(finish: str | None = None, **parts: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": parts, "finish_reason": finish}], "usage": None}


TOO_LONG = "This model's maximum context length is 100 tokens. However, your messages resulted in 400 tokens."


RAW = {"raw": json.dumps({"error": {"message": TOO_LONG}})}


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": TOO_LONG, "code": 400}},
        {"error": TOO_LONG, "choices": None},
        {"choices": [], "error": {"code": 400, "message": "Provider returned error", "metadata": RAW}},
        choice(error={"code": 400, "message": TOO_LONG}, finish_reason="error"),
        [{"error": {"code": 400, "message": TOO_LONG, "status": "INVALID_ARGUMENT"}}],
        "data: " + json.dumps({"error": {"message": TOO_LONG, "code": 400}}) + "\n\n",
        choice(finish_reason="error") | {"error": {"code": 400, "message": TOO_LONG}},
        choice() | {"error": {"code": 400, "message": TOO_LONG}},
        choice(message={"content": "x", "error": {"message": TOO_LONG}}),
        {"choices": None, "code": 20015, "message": TOO_LONG},
        {"choices": [], "code": 20015, "message": TOO_LONG},
        {"Error": {"Message": TOO_LONG}},
        {"status": "error", "reason": TOO_LONG},
        events({"message": TOO_LONG}),
        "error: " + json.dumps({"code": 400, "message": TOO_LONG}) + "\n\n",
        events(delta(content="x"), {"detail": TOO_LONG}),
        events(delta(content="x"), {**delta("error", content=""), "error": {"message": TOO_LONG}}),
        choice(message={"content": ""}, finish_reason="context_length_exceeded"),
    ],
)  # fmt: skip
def test_an_error_inside_a_reply_is_read_by_the_same_rules(body: Any) -> None:
    assert ask(lambda *_: body)[0][0].finish == "context_overflow"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"error": {"message": "upstream died", "code": 502}}, "server"),
        ({"choices": None, "error": "something else"}, "bad_reply"),
        (choice(error={"code": 429, "message": "rate limited"}, finish_reason="error"), "rate_limit"),
        ({"detail": "queue is full"}, "rate_limit"),
        (choice() | {"error": {"code": 429, "message": "slow down"}}, "rate_limit"),
        (choice() | {"error": {"code": 502, "message": "Provider disconnected"}}, "server"),
        (choice(finish_reason="rate_limit_exceeded"), "rate_limit"),
    ],
)
def test_a_failure_inside_a_reply_is_no_result(body: Any, kind: str) -> None:
    with pytest.raises(EngineError) as caught:
        ask(lambda *_: body)
    assert caught.value.kind == kind


@pytest.mark.parametrize("empty", [None, "", {}, [], False, {"code": 0, "message": ""}])
def test_an_empty_error_beside_an_answer_is_none(empty: Any) -> None:
    assert ask(lambda *_: choice() | {"error": empty})[0][0].text == "hello"
    streamed = events(delta("stop", content="hello") | {"error": empty})
    assert ask(lambda *_: streamed)[0][0].text == "hello"


def test_a_streamed_reply_is_read_like_a_whole_one() -> None:
    part = {"index": 0, "function": {"arguments": '"7"}'}}
    first = {"index": 0, "id": "c1", "type": "function", "function": {"name": "get", "arguments": '{"id": '}}
    text = events(
        delta(role="assistant", reasoning_content="h"), delta(reasoning_content="m"), delta(content="so "),
        delta(content="on"), delta(tool_calls=[first]), delta(tool_calls=[part]), delta("tool_calls"),
        {"choices": [], "usage": {"prompt_tokens": 4, "completion_tokens": 2}},
    )  # fmt: skip
    (sample,), server, _ = ask(lambda *_: text, tools=[TOOL], extra={"stream": True})
    assert server.requests[0]["stream"] is True
    assert server.requests[0]["stream_options"] == {"include_usage": True}
    assert (sample.text, sample.finish) == ("so on", "tool_calls")
    assert sample.tool_calls == (ToolCall("get", '{"id": "7"}', "c1"),)
    assert (sample.usage.prompt_tokens, sample.usage.completion_tokens) == (4, 2)
    # Two calls with the same index and other ids, as Gemini numbers them.
    twice = events(
        delta("stop", tool_calls=[first | {"function": CALL["function"]}, {**CALL, "index": 0, "id": "c2"}])
    )
    assert [call.id for call in ask(lambda *_: twice, tools=[TOOL])[0][0].tool_calls] == ["c1", "c2"]


def called(index: int | None, own: str | None, **function: Any) -> dict[str, Any]:
    part = {"index": index, "id": own, "type": "function", "function": function}
    return delta(tool_calls=[{key: value for key, value in part.items() if value is not None}])


@pytest.mark.parametrize(
    "chunks",
    [
        # Older versions of vLLM give each part of a call another id.
        [called(0, "a", name="get"), called(0, "b", arguments='{"id": '), called(0, "c", arguments="7}")],
        # Others repeat id and name in each part, also in one without arguments or with all of them.
        [called(0, "a", name="get", arguments='{"id": 7}'), called(0, "a", name="get", arguments="")],
        [called(0, "a", name="get", arguments='{"id": 7}')] * 2,
        [called(0, "", name="get", arguments='{"id": 7}'), called(0, "", name="get", arguments="")],
        # Others repeat the id, and number nothing.
        [called(None, "a", name="get", arguments=""), called(None, "a", name="get", arguments='{"id": '),
         called(None, "a", arguments="7}")],
    ],
)  # fmt: skip
def test_the_parts_of_a_streamed_call_are_one_call(chunks: list[dict[str, Any]]) -> None:
    (sample,), *_ = ask(lambda *_: events(*chunks, delta("tool_calls")), tools=[TOOL], extra={"stream": True})
    assert [(call.name, call.arguments) for call in sample.tool_calls] == [("get", '{"id": 7}')]


def test_two_complete_calls_of_a_stream_are_two_also_without_ids() -> None:
    whole = {"name": "get", "arguments": '{"id": 7}'}
    text = events(called(0, "", **whole), called(0, "", **whole), delta("tool_calls"))
    (sample,), *_ = ask(lambda *_: text, tools=[TOOL], extra={"stream": True})
    assert [(call.name, call.arguments) for call in sample.tool_calls] == [("get", '{"id": 7}')] * 2


def test_events_of_a_stream_that_no_empty_line_separates_are_read() -> None:
    lines = [delta(content="he"), delta("stop", content="llo")]
    text = "".join(f"data: {json.dumps(line)}\n" for line in lines) + "data: [DONE]\n"
    assert ask(lambda *_: text, extra={"stream": True})[0][0].text == "hello"
    one = json.dumps(delta("stop", content="hello")).replace(', "finish', ',\ndata: "finish')
    assert ask(lambda *_: f"data: {one}\n\n", extra={"stream": True})[0][0].text == "hello"


def test_text_and_lists_of_parts_in_one_stream_are_joined_in_order() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    said = [{"type": "text", "text": "22"}, {"type": "reference", "reference_ids": [1]}]
    parts: list[Any] = [[thought], "The ", "answer: ", said, ""]
    text = events(*(delta(content=part) for part in parts), delta("stop", content="."))
    (sample,), *_ = ask(lambda *_: text, extra={"stream": True})
    assert sample.text == "The answer: 22."


def test_a_code_of_0_beside_the_token_counts_of_a_stream_is_no_error() -> None:
    fine = {"code": 0, "message": "Success"}
    used = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
    text = events({**fine, **delta(content="hello")}, {**fine, **used})
    (sample,), *_ = ask(lambda *_: text, extra={"stream": True})
    assert (sample.text, sample.usage.completion_tokens) == ("hello", 2)


# --- what is no failure of the server, and what passes ------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (
            (400, {"error": {"message": "Failed to call a function. See 'failed_generation'.",
                             "code": "tool_use_failed", "failed_generation": "<function=get {7"}}, ""),
            "<tool_call><function=get {7",
        ),
        ((500, {"error": "error parsing tool call: raw='{7', err=invalid"}, ""),
         "<tool_call>error parsing tool call: raw='{7', err=invalid"),
        (choice(message={"content": "I look. "}, finish_reason="MALFORMED_FUNCTION_CALL"),
         "<tool_call>I look. "),
        (choice(message={"content": None}, finish_reason="error",
                native_finish_reason="MALFORMED_FUNCTION_CALL"), "<tool_call>"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*could not read a call")
def test_a_call_that_the_server_cannot_read_is_an_invalid_action(reply: Reply, text: str) -> None:
    (sample,), server, _ = ask(lambda *_: reply, tools=[TOOL])
    assert (sample.text, sample.finish, sample.tool_calls) == (text, "stop", ())
    assert call_marker(sample.text) == "<tool_call>" and len(server.requests) == 1


def test_a_server_without_tools_made_no_malformed_call() -> None:
    for message in ("m does not support tool calling", "tool calls are not supported", "no tool call parser"):
        with pytest.raises((EngineError, EngineSetupError)):
            ask(lambda *_: refused(message), tools=[TOOL])  # noqa: B023


@pytest.mark.parametrize("status", [408, 409, 421, 424, 425, 460, 499])
def test_a_status_that_is_not_about_the_request_passes(status: int) -> None:
    replies = iter([refused("Failed", status), completion("yes")])
    (sample,), *_ = ask(lambda *_: next(replies))
    assert sample.text == "yes"


@pytest.mark.parametrize("status", [420, 430])
def test_other_statuses_of_rate_limits(status: int) -> None:
    replies = iter([refused("Calm down", status), completion("yes")])
    retries = Retries(attempts=1, first=0.01, max_wait=60)
    assert ask(lambda *_: next(replies), retries=retries)[0][0].text == "yes"


def test_a_refusal_that_is_not_repeated_costs_no_episode() -> None:
    """A gateway's 400 "Provider returned error" passes."""
    replies = iter([completion("a"), refused("Provider returned error"), *[completion("b")] * 4])
    samples, *_ = ask(lambda *_: next(replies), HELLO, HELLO)
    assert [sample.text for sample in samples] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [("ERROR: maximum context length is 100 tokens, requested 900", None),
     ("Too Many Requests", "rate_limit"), ("upstream failed", "bad_reply")],
)  # fmt: skip
def test_an_error_in_plain_text_is_read_by_the_same_rules(text: str, kind: str | None) -> None:
    if kind is None:
        assert ask(lambda *_: text)[0][0].finish == "context_overflow"
        return
    with pytest.raises(EngineError) as failed:
        ask(lambda *_: text)
    assert failed.value.kind == kind


def test_reasoning_that_a_server_wants_back_is_not_left_out() -> None:
    first = {"role": "assistant", "content": "4", "reasoning_content": "2 + 2"}

    def answer(_path: str, body: dict[str, Any]) -> Reply:
        if len(body["messages"]) > 1 and "reasoning_content" in body["messages"][1]:
            if "lost" in str(body):
                return refused("The `reasoning_content` in the thinking mode must be passed back to the API.")
            return choice(message={"content": "b"})
        return choice(message=first)

    again = [*HELLO, {"role": "assistant", "content": "4"}]
    *_, engine = ask(answer, HELLO, [*again, {"role": "user", "content": "and 3?"}])
    with pytest.raises(EngineError):
        *_, engine = ask(answer, HELLO, [*again, {"role": "user", "content": "lost"}])
    assert not engine.adapted


def test_a_text_that_a_validator_repeats_is_not_its_message() -> None:
    quoted = "1 validation error [type=x, input_value='too many requests per minute', input_type=str]"
    with pytest.raises((EngineError, EngineSetupError)) as failed:
        ask(lambda *_: refused(quoted, 422))
    assert getattr(failed.value, "kind", "") != "rate_limit"


def test_a_stop_string_that_the_server_ignored_ends_the_text() -> None:
    async def run() -> str:
        async with FaultServer(lambda *_: completion("Action: a\nObservation: b")).running() as server:
            engine = OpenAIEngine("m", base_url=server.url)
            sampling = Sampling(stop=("\nObservation:",))
            return (await engine.sample(SampleRequest(messages=HELLO, sampling=sampling)))[0].text

    assert asyncio.run(run()) == "Action: a"


def both(content: str, so_far: str, finish: str | None = None) -> dict[str, Any]:
    message = {"role": "assistant", "content": so_far}
    return {"choices": [{"index": 0, "delta": {"content": content}, "message": message,
                         "finish_reason": finish}]}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        events(both("The ", "The "), both("22", "The 22"), both("", "The 22", "stop")),
        events(both("", "The "), both("", "The 22", "stop")),
        events(*({"choices": [{"message": {"content": part}}]} for part in ("The ", "22"))),
        events(both("", "The 22", "stop")),
        "data:\n\n" + events(delta(content="The "), delta("stop", content="22")),
    ],
)
def test_a_stream_is_joined_once(text: str) -> None:
    assert ask(lambda *_: text)[0][0].text == "The 22"


def a_call(**parts: Any) -> Callable[[int], dict[str, Any]]:
    def made(number: int) -> dict[str, Any]:
        known = {name: number if value is None else value for name, value in parts.items()}
        return delta(tool_calls=[{"function": {"name": "f", "arguments": "{x}" * 100}, **known}])

    return made


@pytest.mark.parametrize(
    ("part", "calls", "length"),
    [
        (lambda _: delta(content="x" * 300), 0, 6_000_000),
        (lambda n: delta(content="x" * 300 if n % 2 else [{"type": "text", "text": "y"}] * 10), 0, 110_000),
        (lambda n: {"choices": [{"message": {"content": "y" if n == 0 else "x" * 300}}]}, 0, 5_999_701),
        (a_call(index=None), 20_000, 0),
        (a_call(id=None), 20_000, 0),
        (a_call(index=0), 1, 0),
        (a_call(index=0, id="a"), 1, 0),
    ],
    ids=["text", "parts", "messages", "calls by index", "calls by id", "arguments", "arguments by id"],
)
def test_a_stream_is_joined_in_linear_time(
    part: Callable[[int], dict[str, Any]], calls: int, length: int
) -> None:
    text = events(*map(part, range(20_000)), delta("stop"))
    (choice,) = read_body(text.encode())["choices"]
    message = choice["message"]
    assert len(message.get("tool_calls", ())) == calls and len(message.get("content", "")) == length
    assert scans(lambda: read_body(text.encode()), text, tries=1) < 4


def test_what_is_waited_for_and_the_tokens_of_a_stream_are_known_before_the_reply_ends() -> None:
    halves = [events(*[delta(content="a ")] * 5, done=False), events(delta("stop"), {"choices": [],
        "usage": {"prompt_tokens": 4, "completion_tokens": 5}})]  # fmt: skip

    async def run() -> tuple[list[Any], OpenAIEngine]:
        goes_on = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            await reader.readexactly(int(head.partition("content-length: ")[2].split()[0]))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + halves[0].encode())
            await writer.drain()
            await goes_on.wait()
            writer.write(halves[1].encode())
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        engine = OpenAIEngine("m", base_url=url, extra={"stream": True})
        seen: list[Any] = [engine.waiting]
        asked = [asyncio.create_task(engine.sample(SampleRequest(messages=HELLO))) for _ in range(2)]
        while engine.generated_tokens < 10:
            await asyncio.sleep(0.01)
        seen.append(engine.waiting)
        goes_on.set()
        await asyncio.gather(*asked)
        server.close()
        return seen, engine

    (before, during), engine = asyncio.run(run())
    assert before == engine.waiting == (0, 0.0) and during[0] == 2 and during[1] > 0
    assert engine.generated_tokens == 10


@pytest.mark.parametrize(
    "text",
    [
        events(delta(content="half"), done=False),
        "data: {\n\n",
        "data: 7\n\n",
        events(delta("error", content="x")),
        events({"choices": ["a"]}),
        events({"choices": [{"index": []}]}),
        events(delta(tool_calls=[{"function": "x"}, {"function": "y"}])),
    ],
)
def test_a_stream_that_breaks_is_a_fault(text: str) -> None:
    with pytest.raises(EngineError, match="failed 2 times"):
        ask(lambda *_: text)


def test_the_lengths_in_a_message_say_how_much_room_is_left() -> None:
    message = (
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. "
        "Given: 4000 `inputs` tokens and 200 `max_new_tokens`"
    )

    def answer(_path: str, body: dict[str, Any]) -> Reply:
        return refused(message, 422) if body["max_tokens"] > 96 else completion("yes")

    async def run() -> list[Sample]:
        async with FaultServer(answer).running() as server:
            engine = OpenAIEngine("m", base_url=server.url, retries=Retries(attempts=1, max_wait=0))
            return await engine.sample(SampleRequest(messages=HELLO, sampling=Sampling(max_tokens=200)))

    assert [sample.text for sample in asyncio.run(run())] == ["yes"]
