"""Reads the address of a server, as people write it."""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from nlac_bench.errors import NlacBenchError


class EngineSetupError(NlacBenchError):
    """The server rejects every request (a wrong key, address or model name). It stops a run at once."""


@dataclass(frozen=True)
class Address:
    """The address of a server.

    Args:
        base: what ``/chat/completions`` is appended to.
        others: what to try if the server does not know that route: with or without ``/v1``.
        query: parameters that every request repeats (Azure's ``api-version``).
        given: what the user wrote.
        name: the option or variable that holds it.
    """

    base: str
    others: tuple[str, ...]
    query: dict[str, str]
    given: str
    name: str

    @property
    def host(self) -> str:
        """The name or the number of the machine."""
        return urlsplit(self.base).hostname or ""

    @property
    def loopback(self) -> bool:
        """Whether the server runs on this machine; 0.0.0.0 leads to it too."""
        try:
            number = ipaddress.ip_address(self.host)
            return number.is_loopback or number.is_unspecified
        except ValueError:
            return self.host == "localhost" or self.host.endswith(".localhost")


def read_address(text: str, name: str) -> Address:
    """Return the address in ``text``; an endpoint at its end (``/chat/completions``) is removed.

    Args:
        name: the option or variable that holds it, for the error message.

    Raises:
        EngineSetupError: it is no address of a server.
    """
    given = text.strip()
    wrong = re.search(r"\s", given)
    try:
        parts = urlsplit(given)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        parts, valid = urlsplit(""), False
    if wrong or not valid:
        inside = "it contains white space" if wrong else "it must begin with http:// or https:// and a host"
        raise EngineSetupError(
            f"{name} {text!r} is not a server address: {inside}; write it as http://host:port/v1"
        )
    path = re.sub(r"/(?:chat/completions|completions|models|embeddings|responses)/?$", "", parts.path).rstrip(
        "/"
    )
    paths = [path or "/v1", ("" if not path else f"{path}/v1")]
    if path.endswith("/v1"):
        paths = [path]

    def at(one: str) -> str:
        return urlunsplit((parts.scheme, parts.netloc, one, "", ""))

    return Address(at(paths[0]), tuple(map(at, paths[1:])), dict(parse_qsl(parts.query)), given, name)
