"""Requests to a vLLM server, each within a time limit; the status is read before the body."""

import asyncio
import json
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

from nlac_bench.errors import NlacBenchError
from nlac_bench.redaction import redact
from nlac_bench.rollout.engines.backoff import TransientFault

CONNECT_S = 10.0
"""Time limit of opening a connection."""
KEY = "NLAC_BENCH_API_KEY"
"""The environment variable with the key of servers that were started with ``--api-key``."""
_LONGEST = 256_000_000
_SHOWN = 1000


class RefusedError(Exception):
    """The server answered with a status between 201 and 499: the same request would fail again.

    Args:
        status: the HTTP status.
        message: the server's reason.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def check_address(url: str) -> SplitResult:
    """Return the parts of ``url``.

    Raises:
        NlacBenchError: the URL has another scheme than http and https, no host, or an invalid port.
    """
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts
    except ValueError:  # unclosed brackets, or an invalid port
        pass
    raise NlacBenchError(f"{redact(url)!r} is not the address of a server; write it as http://host:port")


class Http:
    """JSON requests to the server at ``url``. All of them are made on one event loop.

    Proxies that the environment names are not used: servers whose weights can be replaced belong to a private
    network.

    Args:
        url: such as ``http://10.0.0.5:8000``; a path ``/v1`` at its end is ignored.
        timeout: seconds for one request, from sending to the last byte.

    Raises:
        NlacBenchError: ``url`` is not the address of a server.
    """

    def __init__(self, url: str, timeout: float) -> None:
        parts = check_address(url)
        if "@" in parts.netloc:
            raise NlacBenchError(
                f"the address of the server {parts.hostname} contains a user name or a password; write it as "
                f"http://host:port, and set {KEY} for servers that were started with --api-key"
            )
        self.url = url.rstrip("/").removesuffix("/v1")
        self.timeout = timeout
        self._client: Any = None

    def __repr__(self) -> str:
        return self.url

    async def get(self, path: str, timeout: float | None = None) -> Any:
        """Return the JSON reply to a GET request; see ``post``.

        Args:
            timeout: used instead of the client's time limit if it is shorter.
        """
        return await self._request("GET", path, None, min(self.timeout, timeout or self.timeout))

    async def post(
        self, path: str, body: Mapping[str, object] | None = None, timeout: float | None = None
    ) -> Any:
        """Return the JSON reply to a POST request.

        Args:
            timeout: used instead of the client's time limit if it is shorter.

        Raises:
            TransientFault: there was no complete answer within the time limit, or the status is 429 or at
                least 500.
            RefusedError: the status is another one that is not a success.
        """
        return await self._request("POST", path, body, min(self.timeout, timeout or self.timeout))

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _request(
        self, method: str, path: str, body: Mapping[str, object] | None, timeout: float
    ) -> Any:
        from nlac_bench.rollout.engines.openai.connection import transport_errors

        try:
            async with asyncio.timeout(timeout):
                status, data = await self._read(method, path, body)
        except TimeoutError:
            advice = "" if timeout < self.timeout else "; increase --request-timeout if the server works"
            raise TransientFault(
                f"{self.url} did not answer {path} within {timeout:g} s{advice}", "timeout"
            ) from None
        except transport_errors() as error:
            raise TransientFault(
                f"the connection to {self.url} failed ({type(error).__name__})", "connection"
            ) from None
        if status == 200:
            try:
                return json.loads(data) if data else None
            except (ValueError, RecursionError):
                raise TransientFault(f"{self.url}: the reply to {path} is not JSON", "bad_reply") from None
        problem = f"{self.url} answered {path} with HTTP {status}: {_reason(data)}"
        if status == 429 or status >= 500:
            raise TransientFault(problem, "server")
        raise RefusedError(status, problem)

    async def _read(self, method: str, path: str, body: Mapping[str, object] | None) -> tuple[int, bytes]:
        """Return the status and the body; of an error, the beginning of the body."""
        if self._client is None:
            self._client = _client(self.url)
        arguments = {} if body is None else {"json": dict(body)}
        async with self._client.stream(method, self.url + path, **arguments) as response:
            data, status = bytearray(), int(response.status_code)
            # vLLM closes the connection after an error of its own without saying so. If a reply is not read
            # to its end, the next request on its connection would fail: close it here too.
            last = response.headers.get("content-length") if status >= 500 else None
            async for chunk in response.aiter_bytes():
                data += chunk
                if len(data) > (_LONGEST if status == 200 else 16 * _SHOWN) or str(len(data)) == last:
                    break
            return status, bytes(data)


def _client(url: str) -> Any:
    import openai  # the name of its HTTP library depends on the version

    from nlac_bench.rollout.engines.openai.connection import no_certificates

    key = os.environ.get(KEY)
    return openai.DefaultAsyncHttpxClient(
        timeout=openai.Timeout(None, connect=CONNECT_S),
        headers={"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {key}"} if key else {}),
        trust_env=False,
        follow_redirects=False,
        verify=True if url.lower().startswith("https:") else no_certificates(),
    )


def _reason(data: bytes) -> str:
    """Return the message of an error's body: vLLM's ``{"error": {"message": …}}``, or the text itself."""
    text = data.decode("utf-8", "replace")
    try:
        reply = json.loads(text)
        error = reply.get("error", reply.get("detail", reply))
        text = str(error.get("message", error) if isinstance(error, dict) else error)
    except (ValueError, RecursionError, AttributeError):
        pass
    return redact(" ".join(text.split()))[:_SHOWN]
