"""Reads and writes a checkpoint's JSON file, which lists the other files with their sizes and hashes.

A checkpoint folder contains::

    loop_state.json          format, optimizer step, number of ranks, optimizer settings, state of the
                             training loop, and size and SHA-256 of every other file
    rank-0.safetensors …     the tensors of each rank (``learner/checkpoint.py``)
    …                        files of the algorithm, such as a replay buffer

These are JSON and safetensors; reading them executes no code. This module does not import torch.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from nlac_bench.errors import CheckpointError
from nlac_bench.files import sha256_of
from nlac_bench.redaction import redactor
from nlac_bench.untrusted import read_json

NAME = "loop_state.json"
FORMAT = 2
"""Format 1 was pickled (torch.distributed.checkpoint) and is not read."""
MAX_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Index:
    """The content of ``loop_state.json``.

    ``files`` maps each file's path within the checkpoint to its size in bytes and its SHA-256.
    """

    step: int
    world_size: int
    optimizer: dict[str, object]
    loop: dict[str, Any]
    files: dict[str, tuple[int, str]]


def write(
    path: Path, *, step: int, world_size: int, optimizer: dict[str, object], loop: dict[str, Any]
) -> None:
    """Write the JSON file for the files in the folder ``path``; the arguments are ``Index``'s fields."""
    names = (file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file())
    files = {name: _fingerprint(path / name) for name in sorted(names)}
    content = {"format": FORMAT, **asdict(Index(step, world_size, optimizer, loop, files))}
    text = redactor().json(json.dumps(content, allow_nan=False))
    (path / NAME).write_text(text, encoding="utf-8")


def read(path: Path) -> Index:
    """Read ``loop_state.json`` from the folder ``path``; ``check_files`` checks the files that it lists.

    Raises:
        CheckpointError: the folder is not a checkpoint, it has another format, or the file is damaged.
    """
    try:
        content = _object(path / NAME)
        stored = content.pop("format", 1)
        if stored == 1 or (path / ".metadata").exists():
            raise CheckpointError(
                f"the checkpoint {path} has format 1, which an earlier version of nlac-bench wrote with "
                "pickle; unpickling a file can execute code, so this version does not read it: start a new "
                "run (the model in checkpoints/best can be its --model), or resume with the version that "
                "wrote it"
            )
        if stored != FORMAT:
            raise ValueError(f"format {stored!r:.100}; this version reads format {FORMAT}")
        return _checked(**content)
    except (OSError, ValueError, TypeError, RecursionError) as error:
        known = error.strerror if isinstance(error, OSError) else None
        reason = known or f"{type(error).__name__}: {error}"[:500]
        raise CheckpointError(
            f"{path} is not a checkpoint that can be resumed, because its {NAME} cannot be read ({reason}); "
            "restore the folder, or start a new run"
        ) from error


def _object(source: Path) -> dict[str, object]:
    content = read_json(source, MAX_BYTES)
    if not isinstance(content, dict):
        raise TypeError(f"expected a JSON object, got {type(content).__name__}")
    return content


def _checked(*, step: Any, world_size: Any, optimizer: Any, loop: Any, files: Any) -> Index:
    """Return the index; raise ValueError or TypeError if a value has the wrong type."""
    for name, value, least in (("step", step, 0), ("world_size", world_size, 1)):
        if type(value) is not int or value < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    for name, value in (("optimizer", optimizer), ("loop", loop), ("files", files)):
        if not isinstance(value, dict):
            raise TypeError(f"{name} must be an object, got {type(value).__name__}")
    listed = {}
    for name, (size, sha256) in files.items():
        relative = PurePosixPath(name)
        if relative.is_absolute() or ".." in relative.parts:
            raise ValueError(f"the file name {name!r} refers to a file outside the checkpoint folder")
        if type(size) is not int or not isinstance(sha256, str):
            raise TypeError(f"size and SHA-256 of {name!r} must be a number and a string")
        listed[name] = (size, sha256)
    if world_size > max(1, len(listed)):
        raise ValueError(f"world_size is {world_size}, but only {len(listed)} files are listed")
    return Index(step, world_size, optimizer, loop, listed)


def _fingerprint(file: Path) -> tuple[int, str]:
    """Return the size in bytes and the SHA-256 of ``file``."""
    return file.stat().st_size, sha256_of(file)


def check_files(path: Path, index: Index, names: Iterable[str]) -> None:
    """Check that the files ``names`` of the checkpoint ``path`` are those that were written.

    Raises:
        CheckpointError: a file is missing, not listed, or has another size or content.
    """
    for name in sorted(names):  # sorted, so that the error does not depend on the hash seed
        file, expected = path / name, index.files.get(name)
        if expected is None:
            problem = f"is not listed in {NAME}"
        elif file.is_symlink() or not file.is_file():
            problem = "is missing, or is not a regular file"
        elif (size := file.stat().st_size) != expected[0]:
            problem = f"has {size:,} bytes, but {expected[0]:,} were written"
        elif _fingerprint(file) != expected:
            problem = "is damaged: its SHA-256 differs from the one that was written"
        else:
            continue
        raise CheckpointError(
            f"the checkpoint {path} cannot be resumed, because its file {name!r} {problem}; restore the "
            "folder, or start a new run"
        )
