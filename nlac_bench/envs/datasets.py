"""Finds, reads and verifies task data, without executing anything in them.

Three kinds: ``embedded`` (made by this project, in the package), ``official`` (the public files, each
with a pinned sha256) and ``custom`` (a folder in the same format whose files are not the pinned ones).
The kind and a hash are written into every result, so that scores on different data are not compared on one
leaderboard.
"""

import gzip
import hashlib
import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

from nlac_bench.envs import pinned
from nlac_bench.errors import DataError, MissingDataError, UnknownIdError
from nlac_bench.untrusted import no_constant, read_untrusted

MAX_FILE_BYTES = 256 * 2**20
"""Larger files are rejected without being read; the suite's data sets are much smaller."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DataSource:
    """Origin and hash of the data that an episode was played on; written into every result."""

    kind: Literal["embedded", "official", "custom"]
    sha256: str
    path: str | None = None


@dataclass(frozen=True)
class DatasetSpec:
    """A public data set that environments can read: its files and their pinned hashes."""

    name: str
    folder: str
    files: Mapping[str, str]
    title: str
    licence: str
    source: str
    note: str = ""
    bring: bool = False
    """Whether this project can download no file, so that ``nlac-bench data fetch`` needs ``--from``."""
    rest: str = ""
    """What this project cannot download, if it can download the other files."""

    @property
    def fetch(self) -> str:
        """The command that gets the files, without the ``rest``."""
        return f"nlac-bench data fetch {self.name}" + (" --from FOLDER" if self.bring else "")


DATASETS: Mapping[str, DatasetSpec] = {
    spec.name: spec
    for spec in (
        DatasetSpec(
            name="math",
            folder="math",
            files=pinned.MATH,
            title="MATH-500 and the 12,000 training problems",
            licence="MIT as published (Hendrycks et al. 2021, OpenAI 2023); contested, see docs/data.md",
            source="openai/prm800k and hendrycks/math",
            note="MATH-500 is fetched from prm800k; for training problems, pass a folder with both as --from",
            rest="the training problems",
        ),
        DatasetSpec(
            name="tau",
            folder="tau_bench",
            files=pinned.TAU,
            title="τ-bench retail and airline",
            licence="MIT, © 2024 Sierra",
            source=f"sierra-research/tau-bench {pinned.TAU_COMMIT[:7]}",
            note="fetched from its repository, or read from an installed tau_bench with --from installed",
        ),
        DatasetSpec(
            name="twenty_questions",
            folder="twenty_questions",
            files=pinned.TWENTY_QUESTIONS,
            title="1,854 THINGS concepts and their Open English WordNet entries",
            licence="CC0 (THINGS), CC BY 4.0 and WordNet licence (Open English WordNet)",
            source="OpenNeuro ds003825 and ds004212; globalwordnet/english-wordnet",
            note="pass a folder with the files as --from",
            bring=True,
        ),
    )
}


def dataset_spec(name: str) -> DatasetSpec:
    """Return the data set named ``name``.

    Raises:
        UnknownIdError: no data set has this name.
    """
    try:
        return DATASETS[name]
    except KeyError:
        raise UnknownIdError(
            f"unknown data set {name!r}; the data sets are {', '.join(sorted(DATASETS))}"
        ) from None


def cache_root() -> Path:
    """Return the folder of ``nlac-bench data fetch``: ``$NLAC_BENCH_CACHE``, else the user's cache folder."""
    explicit = os.environ.get("NLAC_BENCH_CACHE")
    if explicit:
        return Path(explicit)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nlac-bench" / "data"


def official_folder(name: str) -> Path:
    """Return the folder of the official data set ``name``: under ``$NLAC_BENCH_DATA``, else in the cache.

    Raises:
        MissingDataError: neither has it.
    """
    spec = dataset_spec(name)
    roots = [cache_root()]
    if os.environ.get("NLAC_BENCH_DATA"):
        roots.insert(0, Path(os.environ["NLAC_BENCH_DATA"]))
    for root in roots:
        if (root / spec.folder).is_dir():
            return root / spec.folder
    rest = f" (with --from FOLDER for {spec.rest})" if spec.rest else ""
    looked = ", ".join(str(root / spec.folder) for root in roots)
    raise MissingDataError(
        f"the official data set {name!r} was not found (looked for {looked})",
        f"run `{spec.fetch}`{rest}, or set NLAC_BENCH_DATA to the folder that contains {spec.folder}/",
    )


@dataclass(frozen=True)
class Dataset:
    """A folder of a public data set. Every error while reading names the file."""

    spec: DatasetSpec
    folder: Path
    names: tuple[str, ...]
    strict: bool
    """Whether a file without its pinned hash is rejected (``data="official"``)."""

    @cached_property
    def _files(self) -> Mapping[str, tuple[bytes, str]]:
        files = {}
        for name in self.names:
            content = read_bytes(self.folder / name)
            files[name] = content, hashlib.sha256(content).hexdigest()
        return files

    @cached_property
    def source(self) -> DataSource:
        """Kind, combined hash and folder of the files that were requested."""
        altered = [name for name in self.names if self._files[name][1] != self.spec.files.get(name)]
        if altered and self.strict:
            name = altered[0]
            raise DataError(
                f"{self.folder / name} has sha256 {self._files[name][1]}, but the official file has "
                f"{self.spec.files.get(name, 'no pinned hash')}; fetch it again with `nlac-bench data fetch "
                f"{self.spec.name}`, or pass the folder itself as data=… to play altered data"
            )
        if altered:
            warnings.warn(
                f"{self.folder}: {', '.join(altered)} differ from the official files; results "
                "record the data source 'custom'",
                stacklevel=2,
            )
        listing = "".join(f"{self._files[name][1]}  {name}\n" for name in sorted(self.names))
        return DataSource(
            kind="custom" if altered else "official",
            sha256=hashlib.sha256(listing.encode()).hexdigest(),
            path=str(self.folder),
        )

    def parse(self, name: str, parser: Callable[[bytes], T]) -> T:
        """Return ``parser`` applied to the file's bytes (unpacked if the name ends in .gz).

        Raises:
            DataError: the file is missing, altered, truncated or cannot be parsed; the message names it.
        """
        _ = self.source  # checks the hashes before anything is parsed
        content = self._files[name][0]
        try:
            return parser(_gunzip(content) if name.endswith(".gz") else content)
        except (ValueError, KeyError, TypeError, EOFError, OSError, RecursionError) as error:
            raise DataError(
                f"{self.folder / name} cannot be read ({type(error).__name__}: {error}); "
                "the file may be truncated"
            ) from error

    def json(self, name: str) -> Any:
        """Return the file, parsed as JSON."""
        return self.parse(name, _json)

    def jsonl(self, name: str) -> list[Any]:
        """Return the file, parsed as JSON lines, without empty lines."""
        return self.parse(name, lambda raw: [json.loads(x) for x in raw.splitlines() if x.strip()])

    def text(self, name: str) -> str:
        """Return the file as UTF-8 text."""
        return self.parse(name, lambda raw: raw.decode("utf-8"))


def open_dataset(name: str, data: str | os.PathLike[str], files: Sequence[str]) -> Dataset:
    """Open the files ``files`` of data set ``name`` in ``data``: ``"official"`` or a folder.

    Raises:
        DataError: the folder or one of the files is missing, or an official file is altered.
        UnknownIdError: no data set has this name.
    """
    spec = dataset_spec(name)
    folder = official_folder(name) if data == "official" else Path(data)
    if not folder.is_dir():
        raise DataError(f"data={str(data)!r} is neither 'embedded' nor 'official' nor an existing folder")
    missing = [file for file in files if not (folder / file).is_file()]
    if missing:
        raise DataError(
            f"{folder} lacks {', '.join(missing)} of data set {name!r}; `nlac-bench data list` says how to "
            "get it"
        )
    return Dataset(spec, folder, tuple(files), strict=data == "official")


def read_bytes(path: Path) -> bytes:
    """Return the file's bytes.

    Raises:
        DataError: the file is missing, unreadable, not a regular file, or larger than 256 MiB.
    """
    try:
        return read_untrusted(path.resolve(), MAX_FILE_BYTES)  # data sets are often folders of links
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error


def _json(raw: bytes) -> Any:
    value = json.loads(raw, parse_constant=no_constant)
    if b"\\ud" in raw or b"\\uD" in raw:  # escapes of surrogates must be in pairs
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _gunzip(content: bytes) -> bytes:
    import io

    with gzip.open(io.BytesIO(content)) as stream:
        unpacked = stream.read(MAX_FILE_BYTES + 1)
    if len(unpacked) > MAX_FILE_BYTES:
        raise ValueError(f"unpacks to more than {MAX_FILE_BYTES:,} bytes")
    return unpacked
