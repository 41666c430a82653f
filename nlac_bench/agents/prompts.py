"""Prompts are text files beside this module; their hashes go into every run's manifest."""

import functools
import hashlib
from importlib import resources


@functools.cache
def load(name: str) -> str:
    """The prompt ``prompts/{name}.txt`` without the newline at its end."""
    return _read(name).decode("utf-8").rstrip("\n")


@functools.cache
def sha256(name: str) -> str:
    """The hash of that file's bytes."""
    return hashlib.sha256(_read(name)).hexdigest()


def fill(name: str, **parts: str) -> str:
    """The prompt with each ``{part}`` replaced once; other braces (JSON examples) stay as they are.

    What is filled in is not searched for further parts: a policy may hold any text.
    """
    pieces = [load(name)]
    for part, text in parts.items():
        marker = "{" + part + "}"
        for i, piece in enumerate(pieces):
            before, found, after = piece.partition(marker)
            if found and i % 2 == 0:  # odd pieces are filled in already
                pieces[i : i + 1] = [before, text, after]
                break
        else:
            raise ValueError(f"prompt {name!r} has no part {marker}")
    return "".join(pieces).strip()


def _read(name: str) -> bytes:
    return resources.files("nlac_bench.agents").joinpath("prompts", f"{name}.txt").read_bytes()
