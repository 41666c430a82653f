"""Reads the sections of an environment's class docstring."""

import inspect
import re
from collections.abc import Mapping

RULES = ("", "description", "action space", "observation space", "reward", "rewards", "episode end")
"""The sections that an agent is told; the others are for the programmer."""

_HEADING = re.compile(
    r"^#{1,6} +(.+?) *#* *$|^(Args|Attributes|Example|Examples|Note|Notes|Raises|References):$"
)


def own_docstring(cls: type, base: type) -> str:
    """Return the docstring of ``cls``, or of its nearest parent class that has one, excluding ``base``.

    ``inspect.getdoc`` would also return the docstring of ``base``, which does not describe this environment.
    """
    for each in cls.__mro__:
        if each is base:
            break
        if each.__doc__ and issubclass(each, base):
            return inspect.cleandoc(each.__doc__)
    return ""


def sections(doc: str) -> Mapping[str, str]:
    """Return the text of each section by its heading; the text before the first heading has the key ``""``.

    A heading is a Markdown line (``## Reward``) or a Google-style line (``Args:``).
    """
    texts: dict[str, list[str]] = {"": []}
    heading = ""
    for line in doc.splitlines():
        match = _HEADING.match(line)
        if match:
            heading = match[1] or match[2]
            texts.setdefault(heading, [])
        else:
            texts[heading].append(line)
    return {name: "\n".join(lines).strip() for name, lines in texts.items()}


def rules(doc: str) -> str:
    """Return the part of a docstring that tells an agent the rules.

    It consists of the text before the first heading and the sections Description, Action Space, Observation
    Space, Reward and Episode End. Arguments, starting states, ``info`` and version history are left out.
    """
    kept = []
    for heading, text in sections(doc).items():
        if text and heading.lower() in RULES:
            kept.append(f"{heading}:\n{text}" if heading else text)
    return "\n\n".join(kept)
