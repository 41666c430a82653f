"""The HTTP client for a server: one for each event loop, made before the first episode."""

import asyncio
import contextlib
import importlib
import importlib.util
import os
import ssl
import urllib.request
import weakref
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import openai

from nlac_bench.rollout.engines.openai.address import Address, EngineSetupError
from nlac_bench.rollout.engines.openai.waits import header_wait

CONNECT_S = 20.0
"""Seconds to connect. A running server accepts connections at once, even if its replies take long."""
_MAX_ERROR_BYTES = 64_000
_VARIABLES = (
    "ALL_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "SSLKEYLOGFILE",
)
"""Environment variables that the HTTP library reads when a client is made."""


class HttpFailure(openai.OpenAIError):
    """A reply with an error status, its body read up to a limit; of a redirect, ``body`` is the address."""

    def __init__(self, status: int, retry_after: float | None, body: bytes) -> None:
        super().__init__(f"HTTP {status}")
        self.status, self.retry_after, self.body = status, retry_after, body


@dataclass(slots=True)
class Connection:
    """The client and semaphore of one event loop; neither can be shared between event loops."""

    client: openai.AsyncOpenAI
    free: asyncio.Semaphore
    probing: asyncio.Lock = field(default_factory=asyncio.Lock)


class Connections:
    """The connections to one server.

    Servers on this machine are never reached through a proxy.

    Raises:
        EngineSetupError: no client can be made, because of an environment variable that the message names.
    """

    def __init__(self, address: Address, key: str, concurrency: int) -> None:
        self.address, self._key, self._concurrency = address, key, concurrency
        self._by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Connection] = (
            weakref.WeakKeyDictionary()
        )
        self._spare: openai.AsyncOpenAI | None = self._client()

    def get(self) -> Connection:
        """Return the connection of the running event loop."""
        loop = asyncio.get_running_loop()
        connection = self._by_loop.get(loop)
        if connection is None:
            client, self._spare = self._spare or self._client(), None
            connection = self._by_loop[loop] = Connection(client, asyncio.Semaphore(self._concurrency))
        return connection

    def move(self, base: str) -> None:
        """Send later requests to ``base``."""
        self.address = replace(self.address, base=base, others=())
        for connection in list(self._by_loop.values()):
            connection.client.base_url = base
        self._spare = None

    def _client(self) -> openai.AsyncOpenAI:
        failures: tuple[type[BaseException], ...] = (ImportError, ValueError, OSError, *_http("InvalidURL"))
        headers = {"Accept-Encoding": "identity"}  # against decompression bombs
        if "api-version" in self.address.query and self._key:
            headers["api-key"] = self._key  # Azure's own header
        try:
            return openai.AsyncOpenAI(
                base_url=self.address.base,
                api_key=self._key or "none",
                max_retries=0,  # ``Retries`` repeats requests, with jitter and typed errors
                timeout=openai.Timeout(None, connect=CONNECT_S),
                default_headers=headers,
                default_query=self.address.query,
                http_client=openai.DefaultAsyncHttpxClient(
                    event_hooks={"response": [raise_for_status]},
                    follow_redirects=False,  # prompts, and custom headers with keys, would go elsewhere
                    trust_env=not self.address.loopback,
                    verify=self._certificates(),
                ),
            )
        except failures as error:
            names = [name for name in _VARIABLES if os.environ.get(name) or os.environ.get(name.lower())]
            if _invalid(self.address.base):
                raise EngineSetupError(
                    f"{self.address.name} {self.address.given!r} is not a server address ({error}); "
                    "write it as http://host:port/v1"
                ) from None
            named = [name for name in names if _broken(name)] or names
            raise EngineSetupError(
                f"no HTTP client can be made for {self.address.host}: {type(error).__name__}: {error}. "
                + (
                    f"Correct or unset {' or '.join(named)}"
                    if named
                    else "Check the proxy and certificate settings"
                )
            ) from None

    def _certificates(self) -> ssl.SSLContext | bool:
        """Return which certificates are trusted; without ``trust_env``, httpx reads no variable."""
        if not self.address.loopback:
            return True
        if not self.address.base.startswith("https:"):
            return no_certificates()
        file, folder = (os.environ.get(f"SSL_CERT_{name}") or None for name in ("FILE", "DIR"))
        return ssl.create_default_context(cafile=file, capath=folder)


def no_certificates() -> ssl.SSLContext:
    """Return a context that trusts no server, for clients without TLS; loading certificates takes 25 ms."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def proxy_variable(address: Address) -> str | None:
    """Return the environment variable whose proxy requests to ``address`` go through; None without one."""
    proxies, scheme = urllib.request.getproxies_environment(), address.base.partition(":")[0]
    name = next((name for name in (scheme, "all") if name in proxies), None)
    direct = address.loopback or urllib.request.proxy_bypass(address.host)
    return None if name is None or direct else f"{name.upper()}_PROXY"


def no_tls(error: BaseException, host: str) -> EngineSetupError | None:
    """Return the exception for a failed TLS handshake that would fail each time, else None."""
    cause = innermost(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return EngineSetupError(
            f"the certificate of {host} is not trusted: {cause.verify_message}. Set SSL_CERT_FILE to a file "
            "with the certificate of the authority that signed it, or with its own"
        )
    if isinstance(cause, ssl.SSLError) and cause.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
        return EngineSetupError(f"{host} does not answer with TLS; use http:// in --base-url")
    return None


def innermost(error: BaseException) -> BaseException:
    """Return the first exception in a chain of causes."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return error


def _broken(name: str) -> bool:
    """Return whether the value of one variable explains why no client can be made."""
    value = os.environ.get(name) or os.environ.get(name.lower()) or ""
    if name.startswith("SSL_CERT"):
        return not Path(value).exists()
    if not name.endswith("_PROXY") or name == "NO_PROXY":
        return False
    if value.startswith("socks"):
        return importlib.util.find_spec("socksio") is None
    if "://" not in value:
        return _invalid(f"http://{value}")
    return not value.startswith(("http://", "https://")) or _invalid(value)


def _invalid(url: str) -> bool:
    """Return whether the HTTP library refuses ``url``."""
    for library_url in _http("URL"):
        try:
            library_url(url)
        except _http("InvalidURL"):
            return True
    return False


async def raise_for_status(response: Any) -> None:
    """Raise for redirects, and for errors with the beginning of the body, which the SDK would read whole."""
    if response.status_code < 300:
        return
    if response.status_code < 400:
        raise HttpFailure(response.status_code, None, response.headers.get("location", "").encode()[:500])
    body = bytearray()
    parts: AsyncIterator[bytes] = response.aiter_bytes()
    async for part in parts:
        body += part
        if len(body) > _MAX_ERROR_BYTES:
            break
    raise HttpFailure(response.status_code, header_wait(dict(response.headers)), bytes(body))


def transport_errors() -> tuple[type[BaseException], ...]:
    """Return the HTTP library's exceptions while a body is read."""
    return (OSError, *_http("HTTPError"))


def _http(name: str) -> tuple[Any, ...]:
    """Return the classes ``name`` of the HTTP libraries; openai 2 and 3 use different ones."""
    found = []
    for library in ("httpx2", "httpx"):
        with contextlib.suppress(ImportError):
            found.append(getattr(importlib.import_module(library), name))
    return tuple(found)
