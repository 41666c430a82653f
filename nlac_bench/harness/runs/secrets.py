"""Refuses configurations and arguments with secrets, which would be written to run folders."""

from collections.abc import Sequence

from nlac_bench.errors import ConfigError
from nlac_bench.redaction import redact, redactor
from nlac_bench.secret_forms import find_secrets, is_secret_name, texts

_ADVICE = (
    "and would be written to files and logs; remove it, and pass keys in environment variables only: "
    "OPENAI_API_KEY for OpenAI, NLAC_BENCH_API_KEY for other servers (sent as 'Authorization: Bearer …')"
)


def refuse_secrets(config: object, where: str = "config") -> None:
    """Check that no field, URL or text of a configuration shows that it is or contains a secret.

    Raises:
        ConfigError: a secret was found; the message names the place but does not show the value.
    """
    for result in find_secrets(config, where):
        raise _refusal(result.where, result.what)


def refuse_known_secrets(config: object, where: str = "") -> None:
    """Refuse what ``refuse_secrets`` refuses, and the values of environment variables that hold secrets.

    Raises:
        ConfigError: as ``refuse_secrets``, or a text contains such a value.
    """
    refuse_secrets(config, where)
    known = redactor()
    for place, text, _ in texts(config, where):
        if name := known.name_in(text):
            raise _refusal(place, f"contains the value of the environment variable {name}")


def refuse_secret_arguments(arguments: Sequence[str]) -> None:
    """Check the arguments of a command line; they are visible in the list of processes, too.

    Raises:
        ConfigError: an argument is or contains a secret; the message names its option or position.
    """
    for i, argument in enumerate(arguments):
        option, equals, value = argument.partition("=")
        before = arguments[i - 1] if i else ""
        if equals and option.startswith("--"):
            place, named = option, is_secret_name(option)
        elif before.startswith("--") and "=" not in before:
            place, value, named = before, argument, is_secret_name(before) and not argument.startswith("--")
        else:
            place, value, named = f"argument {i + 1}", argument, False
        if named and value:
            raise _refusal(place, "looks like a secret")
        refuse_known_secrets(value, place)


def _refusal(place: str, what: str) -> ConfigError:
    return ConfigError(f"{redact(place)} {what} {_ADVICE}")  # names of fields may be secrets, too
