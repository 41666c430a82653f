"""Asks services for a verdict: a verifier, and SandboxFusion for code. An outage is never a score."""

import asyncio
import http.client
import json
import math
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

from nlac_bench.envs.prompts.rows import PromptRow
from nlac_bench.errors import ConfigError, EnvInfraError
from nlac_bench.untrusted import parse_json

ATTEMPTS = 3
PAUSE_S = 0.5
TIMEOUT_S = 60.0
RUN_S = 10
"""Seconds that a sandbox gives a program for one case."""
MEMORY_MB = 1024
AT_ONCE = 8
"""Cases of one program that are run at the same time."""
MAX_REPLY_BYTES = 2**20
_CODE = re.compile(r"```(?:python|py)?[^\S\n]*\n(.*?)```", re.DOTALL)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any) -> None:
        """Follow no redirection: the user named the server."""


_opener = urllib.request.build_opener(_NoRedirect, urllib.request.ProxyHandler({}))


def checked_url(name: str, url: object) -> str | None:
    """Return the address of a service.

    Raises:
        ConfigError: ``url`` is no http or https address.
    """
    if url is None:
        return None
    parts = urllib.parse.urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{name} must be an address such as http://localhost:8080, got {url!r:.80}")
    return str(url)


async def verified(url: str, row: PromptRow, solution: str) -> tuple[float, bool]:
    """Return the score of a verifier service for ``solution``, and whether it is a success.

    The service gets ``{solution, ground_truth, data_source, extra_info}`` by POST. It answers with status 200
    and ``{score: number, success?: true or false, info?: {}}``; without ``success``, a score of at least 1 is
    a success.

    Raises:
        EnvInfraError: ``ATTEMPTS`` times it answered otherwise, or not within ``TIMEOUT_S`` seconds.
    """
    body = {
        "solution": solution,
        "ground_truth": row.gold,
        "data_source": row.source,
        "extra_info": dict(row.extra),
    }

    def read(reply: Mapping[str, Any]) -> tuple[float, bool]:
        score, success = reply.get("score"), reply.get("success")
        if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
            raise ValueError(f"score must be a finite number, got {score!r:.80}")
        if success is not None and not isinstance(success, bool):
            raise ValueError(f"success must be true or false, got {success!r:.80}")
        return float(score), score >= 1 if success is None else success

    return await _asked(url, body, read)


async def share_passed(url: str, row: PromptRow, solution: str) -> float:
    """Return the share of the row's test cases that the last block of Python in ``solution`` passes.

    SandboxFusion (``/run_code``) runs it: with an input and output of text, or, if ``fn_name`` is set, a call
    of that function with the JSON lines of the input as arguments.

    Raises:
        EnvInfraError: the sandbox does not work, or cannot be reached.
    """
    blocks = _CODE.findall(solution)
    if not blocks:
        return 0.0
    cases, function = row.gold, row.gold.get("fn_name")
    code = blocks[-1] if function is None else f"{blocks[-1]}\n{_call(str(function))}"
    slots = asyncio.Semaphore(AT_ONCE)
    target = f"{url.rstrip('/')}/run_code"

    async def passed(given: Any, wanted: Any) -> bool:
        body = {
            "code": code,
            "language": "python",
            "stdin": given if isinstance(given, str) else json.dumps(given),
            "compile_timeout": RUN_S,
            "run_timeout": RUN_S,
            "memory_limit_MB": MEMORY_MB,
        }
        async with slots:
            output = await _asked(target, body, _output)
        return output is not None and _equal(output, wanted, parsed=function is not None)

    results = await asyncio.gather(*map(passed, cases["inputs"], cases["outputs"]))
    return sum(results) / len(results)


def _call(function: str) -> str:
    """Return the code that calls ``function``, of the module or of its class ``Solution``."""
    return (
        "import json as _json, sys as _sys\n"
        f"_name = {function!r}\n"
        "_call = globals().get(_name) or getattr(Solution(), _name)\n"
        "print(_json.dumps(_call(*[_json.loads(line) for line in _sys.stdin])))\n"
    )


def _output(reply: Mapping[str, Any]) -> str | None:
    """Return what a program has printed; None if it failed, which is the program's fault."""
    status, ran = reply.get("status"), reply.get("run_result")
    if status == "Failed":
        return None
    if status != "Success" or not isinstance(ran, dict) or not isinstance(ran.get("stdout"), str):
        raise ValueError(f"the sandbox reports {status!r:.40}: {reply.get('message')!r:.200}")
    return ran["stdout"] if ran.get("status") == "Finished" else None


def _equal(output: str, wanted: Any, *, parsed: bool) -> bool:
    if not parsed:
        return output.rstrip("\n") == str(wanted).rstrip("\n")
    try:
        value = parse_json(output.encode("utf-8", "surrogatepass"))
        return bool(value == (parse_json(wanted.encode()) if isinstance(wanted, str) else wanted))
    except ValueError:
        return False


async def _asked(url: str, body: Mapping[str, Any], read: Any) -> Any:
    """Return what ``read`` returns of the service's reply; a failure is tried again."""
    fault = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            await asyncio.sleep(PAUSE_S * attempt)
        try:
            reply = parse_json(await asyncio.to_thread(replied, url, json.dumps(body).encode()))
            if not isinstance(reply, dict):
                raise ValueError(f"expected an object, got {reply!r:.80}")
            return read(reply)
        except (OSError, ValueError, urllib.error.URLError) as error:
            fault = f"{type(error).__name__}: {error}"
    raise EnvInfraError(f"the service {url} gave no verdict in {ATTEMPTS} attempts ({fault:.300})")


def replied(url: str, body: bytes | None) -> bytes:
    """Return the reply of a service to ``body``, which is JSON and sent by POST, or to a GET without one.

    Raises:
        OSError: the service cannot be reached, does not answer within ``TIMEOUT_S`` seconds, or answers with
            the status of an error (``HTTPError``).
        ValueError: the reply has more than ``MAX_REPLY_BYTES``.
    """
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    until, data = time.monotonic() + TIMEOUT_S, b""
    try:
        with _opener.open(request, timeout=TIMEOUT_S) as reply:
            while len(data) <= MAX_REPLY_BYTES and (part := reply.read1(2**16)):
                data += part
                if time.monotonic() > until:
                    raise TimeoutError(f"the reply did not end within {TIMEOUT_S:g} s")
    except http.client.HTTPException as error:
        raise OSError(f"the reply is not HTTP ({type(error).__name__}: {error})") from error
    if reply.status != 200 or len(data) > MAX_REPLY_BYTES:
        raise ValueError(f"status {reply.status}, {len(data):,} bytes; expected 200 and less than a megabyte")
    return data
