"""Reads prompts from text files; files of the same name in other folders replace the packaged ones."""

import functools
import hashlib
import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from nlac_bench.errors import NlacBenchError
from nlac_bench.untrusted import read_untrusted

MAX_PROMPT_BYTES = 2**20
_PART = re.compile(r"\{([a-z_]+)\}")  # braces of JSON examples are followed by a quote


@dataclass(frozen=True)
class PromptFiles:
    """The prompts of agents and roles, by name.

    Args:
        folders: each prompt is read from the first folder that has a file ``{name}.txt``, else from the
            packaged prompts in ``nlac_bench/agents/prompts``.

    Raises:
        NlacBenchError: a folder does not exist or has no prompt, or a file has an unknown name, is not UTF-8,
            is a link or not a regular file, has more than ``MAX_PROMPT_BYTES``, or does not have each
            ``{part}`` of the packaged prompt exactly once.
    """

    folders: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        for folder in self.folders:
            _check(folder)

    def load(self, name: str) -> str:
        """Return the prompt ``name`` without the newline at its end."""
        return _read(self._folder(name), name).decode("utf-8").rstrip("\n")

    def sha256(self, name: str) -> str:
        """Return the hash of the bytes of the prompt's file, for a run's manifest."""
        return hashlib.sha256(_read(self._folder(name), name)).hexdigest()

    def fill(self, name: str, **parts: str) -> str:
        """Return the prompt with each ``{part}`` replaced once; other braces (JSON examples) are kept.

        The inserted text is not searched for further parts, since an environment's policy may contain braces.

        Raises:
            ValueError: the prompt has no such part.
        """
        pieces = [self.load(name)]
        for part, text in parts.items():
            marker = "{" + part + "}"
            for i, piece in enumerate(pieces):
                before, separator, after = piece.partition(marker)
                if separator and i % 2 == 0:  # odd pieces are filled in already
                    pieces[i : i + 1] = [before, text, after]
                    break
            else:
                raise ValueError(f"prompt {name!r} has no part {marker}")
        return "".join(pieces).strip()

    def _folder(self, name: str) -> Path | None:
        return next((f for f in self.folders if (f / f"{name}.txt").is_file()), None)


PACKAGED = PromptFiles()


def prompt_files(given: str | Path | None, environment: Path | None) -> PromptFiles:
    """Return the run's prompts: ``given`` replaces the environment's, which replace the packaged ones.

    Args:
        given: the folder that the user specified, if any.
        environment: ``TextEnv.prompts`` of the environment that is played.

    Raises:
        NlacBenchError: see ``PromptFiles``.
    """
    return PromptFiles(tuple(Path(folder) for folder in (given, environment) if folder is not None))


@functools.cache
def _read(folder: Path | None, name: str) -> bytes:
    if folder is not None:
        return read_untrusted(folder / f"{name}.txt", MAX_PROMPT_BYTES)
    return resources.files("nlac_bench.agents").joinpath("prompts", f"{name}.txt").read_bytes()


@functools.cache
def _names() -> tuple[str, ...]:
    folder = resources.files("nlac_bench.agents").joinpath("prompts")
    return tuple(sorted(file.name.removesuffix(".txt") for file in folder.iterdir()))


def parts(text: str) -> list[str]:
    return sorted(_PART.findall(text))


def _check(folder: Path) -> None:
    files = sorted(folder.glob("*.txt"))
    if not files:
        raise NlacBenchError(f"prompts: {folder} is not a folder with files such as {_names()[0]}.txt")
    for file in files:
        if file.stem not in _names():
            raise NlacBenchError(
                f"prompts: {file} does not have the name of a prompt; the prompts are {', '.join(_names())}"
            )
        try:
            actual = parts(read_untrusted(file, MAX_PROMPT_BYTES).decode("utf-8"))
        except OSError as error:
            raise NlacBenchError(f"prompts: {file} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise NlacBenchError(f"prompts: {file} is not UTF-8 text: {error}") from error
        wanted = parts(PACKAGED.load(file.stem))
        if actual != wanted:
            each = ", ".join(f"{{{part}}}" for part in wanted)
            raise NlacBenchError(
                f"prompts: {file} must have each of {each} exactly once, and no other part in braces; "
                f"it has {', '.join(f'{{{part}}}' for part in actual) or 'no part in braces'}"
            )
