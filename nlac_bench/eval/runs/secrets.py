"""Keeps API keys out of run folders: configurations with keys are refused, and written text is redacted."""

import json
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from nlac_bench.errors import NlacBenchError

_SECRET_VARIABLE = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$", re.IGNORECASE)
_SECRET_FIELD = re.compile(
    r"(^|_)(api_?keys?|token|secret|password|authorization|credentials?)$", re.IGNORECASE
)
_SHORTEST = 8
"""Shorter values ("EMPTY", "none") are placeholders; replacing them would change ordinary text."""


def secret_values() -> dict[str, str]:
    """Maps the value of each environment variable named like a secret to its name, longest value first."""
    found = {
        value: name
        for name, value in os.environ.items()
        if _SECRET_VARIABLE.search(name) and len(value) >= _SHORTEST
    }
    return dict(sorted(found.items(), key=lambda item: -len(item[0])))


def redact(json_text: str, secrets: Mapping[str, str]) -> str:
    """``json_text`` (ASCII JSON) with each secret replaced by the name of the variable that holds it.

    A server's error message may quote the key that it refused. Everything is redacted before it is written.
    """
    for value, name in secrets.items():
        escaped = json.dumps(value)[1:-1]
        if escaped in json_text:
            json_text = json_text.replace(escaped, f"[redacted: ${name}]")
    return json_text


def refuse_secrets(config: Any, where: str = "config") -> None:
    """Check that a resolved configuration contains neither a field for a key nor a URL with a password.

    Raises:
        NlacBenchError: it does; the message names the field but does not show the value.
    """
    if isinstance(config, Mapping):
        for name, value in config.items():
            if _SECRET_FIELD.search(str(name)) and isinstance(value, str) and value:
                raise NlacBenchError(
                    f"{where}.{name} looks like a secret and would be written to disk; leave it out and set "
                    "an environment variable (such as OPENAI_API_KEY) instead"
                )
            refuse_secrets(value, f"{where}.{name}")
    elif isinstance(config, (list, tuple)):
        for i, value in enumerate(config):
            refuse_secrets(value, f"{where}[{i}]")
    elif isinstance(config, str) and "://" in config and _has_password(config):
        raise NlacBenchError(
            f"{where} is a URL with a password and would be written to disk; remove the password and set an "
            "environment variable (such as NLAC_BENCH_API_KEY) instead"
        )


def _has_password(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.password or (parts.username and parts.netloc))
    except ValueError:  # not a URL
        return False
