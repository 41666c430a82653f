"""Renders a chat template on a few conversations with limits on time and memory, in a separate process.

The process reads the template from standard input and ends with one of the codes below. It imports Jinja and
the standard library only, and limits itself before it reads the template. The environment is that of
transformers' ``apply_chat_template``.
"""

import json
import resource
import sys
from collections.abc import Callable

from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

CPU_SECONDS, MEMORY_BYTES, MAX_CHARACTERS = 5, 1024**3, 10**7
FINE, TOO_LARGE, ESCAPES = 0, 3, 4

_CALL = {"id": "a1", "type": "function", "function": {"name": "get", "arguments": {"id": "7"}}}
_TOOL = {
    "type": "function",
    "function": {
        "name": "get", "description": "Gets it.",
        "parameters": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
    },
}  # fmt: skip
_SYSTEM, _USER = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello."}
_REPLY = {"role": "assistant", "content": "Hello."}
_ANSWERED = [{"role": "assistant", "content": "", "tool_calls": [_CALL]},
             {"role": "tool", "name": "get", "tool_call_id": "a1", "content": "It is 7."}]  # fmt: skip
CONVERSATIONS = (
    [_USER],
    [_SYSTEM, _USER],
    [_SYSTEM, _USER, _REPLY, _USER],
    [_SYSTEM, _USER, *_ANSWERED],
    [_USER, _REPLY] * 30 + [_USER],
)


class _Generation(Extension):
    """Renders ``{% generation %} … {% endgeneration %}`` as its content."""

    tags = {"generation"}  # noqa: RUF012 - Jinja's attribute

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        """Return the block's content."""
        next(parser.stream)
        return list(parser.parse_statements(("name:endgeneration",), drop_needle=True))


def main() -> int:
    """Render the template in standard input; return an exit code."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    try:
        template = environment().from_string(sys.stdin.read())
    except MemoryError:
        return TOO_LARGE
    except Exception:  # apply_chat_template will report it
        return FINE
    for messages in CONVERSATIONS:
        for tools in (None, [_TOOL]):
            try:
                text = template.render(messages=messages, tools=tools, add_generation_prompt=True)
            except SecurityError as error:
                if "attribute '_" in str(error):  # the others only change a list
                    print(str(error)[:300])
                    return ESCAPES
                continue
            except MemoryError:
                return TOO_LARGE
            except Exception:  # templates refuse conversations that their model was not trained on
                continue
            if len(text) > MAX_CHARACTERS:
                return TOO_LARGE
    return FINE


def environment() -> ImmutableSandboxedEnvironment:
    """Return the environment in which transformers renders chat templates."""
    result = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )
    dumps: Callable[..., str] = lambda value, ensure_ascii=False, **options: json.dumps(  # noqa: E731
        value, ensure_ascii=ensure_ascii, **options
    )
    result.filters["tojson"] = dumps
    result.globals |= {"raise_exception": _raise, "strftime_now": lambda form: form}
    return result


def _raise(message: object) -> None:
    raise ValueError(message)


if __name__ == "__main__":
    sys.exit(main())
