"""Implements ``nlac-bench data fetch``: downloads public data into the cache and verifies their hashes.

A download can be resumed; a data set is never installed partly.
"""

import gzip
import hashlib
import http.client
import json
import mmap
import shutil
import tarfile
import threading
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from nlac_bench.envs import pinned
from nlac_bench.envs.datasets import MAX_FILE_BYTES, DatasetSpec, cache_root, dataset_spec, read_bytes
from nlac_bench.envs.foreign import ForeignCodeError, bounded
from nlac_bench.errors import DataError
from nlac_bench.files import replace_file, replace_folder

TIMEOUT_S = 60.0
"""Seconds without a byte after which a download ends."""
TOTAL_S = 1_800.0
"""Seconds that the download of a file may take; the next call continues it."""
MAX_MEMBERS = 20_000
"""Largest number of files and folders in an archive; upstream's has some hundreds."""
_CHUNK = 2**16

Progress = Callable[[str, int, int | None], None]
"""Called with (file name, bytes so far, total bytes or None)."""

TAU_ARCHIVE = f"https://github.com/sierra-research/tau-bench/archive/{pinned.TAU_COMMIT}.tar.gz"
MATH500_URL = (
    "https://media.githubusercontent.com/media/openai/prm800k/"
    "7ecc794703b2877f63226f2477a49b34f9b25163/prm800k/math_splits/test.jsonl"
)


def fetch(name: str, origin: str | None = None, progress: Progress = lambda *_: None) -> Path:
    """Put the data set ``name`` into the cache and return its folder there.

    Files are collected and checked in a folder next to the target, which is then moved to the target, so an
    interrupted fetch keeps the earlier state and is continued by the next call.

    Args:
        name: ``math``, ``tau`` or ``twenty_questions``.
        origin: a folder or an http(s) URL that contains the files (for τ-bench also a checkout of its
            repository, or ``installed``); None for the public source, if its content is fixed.
        progress: called after every chunk.

    Raises:
        DataError: a file is missing, cannot be downloaded or has another hash; the message names each.
        UnknownIdError: no data set has this name.
    """
    spec = dataset_spec(name)
    target = cache_root() / spec.folder
    staging = target.with_name(f".{spec.folder}.partial")
    try:
        staging.mkdir(parents=True, exist_ok=True)
        required = _gather(spec, origin, staging, progress)
        _check_all(spec, staging, required)
        _move_into_place(staging, target)
    except OSError as error:
        raise DataError(f"cannot write data set {name!r} to {target}: {error.strerror or error}") from error
    return target


def verify(name: str, folder: Path) -> list[dict[str, str | bool | None]]:
    """Return each file of the data set with its expected hash and its actual one (None: missing)."""
    rows: list[dict[str, str | bool | None]] = []
    for file, expected in dataset_spec(name).files.items():
        path = folder / file
        sha256 = hashlib.sha256(read_bytes(path)).hexdigest() if path.is_file() else None
        rows.append({"file": file, "expected": expected, "found": sha256, "ok": sha256 == expected})
    return rows


def _gather(spec: DatasetSpec, origin: str | None, staging: Path, progress: Progress) -> Mapping[str, str]:
    """Put the files into ``staging`` and return the names and hashes of those that must be in it."""
    if origin is None:
        if spec.name == "tau":
            unpack(_download(TAU_ARCHIVE, staging / "archive.tar.gz", progress), staging / "upstream")
            _convert_tau(staging / "upstream", staging)
            return spec.files
        if spec.name == "math":
            _math500_from_upstream(_download(MATH500_URL, staging / "upstream.jsonl", progress), staging)
            return {"math500.jsonl": spec.files["math500.jsonl"]}
        raise DataError(
            f"data set {spec.name!r} has no public URL whose content is fixed; pass --from with a "
            f"folder or URL that contains {', '.join(spec.files)}"
        )
    if origin == "installed":
        if spec.name != "tau":
            raise DataError(f"--from installed is for data set 'tau', not {spec.name!r}")
        from nlac_bench.envs.tau.verification.upstream import find_installed

        _convert_tau(find_installed(), staging)
        return spec.files
    if origin.startswith(("http://", "https://")):
        for file in spec.files:
            destination = staging / file
            if not _has(destination, spec.files[file]):
                destination.parent.mkdir(parents=True, exist_ok=True)
                _download(f"{origin.rstrip('/')}/{file}", destination, progress)
        return spec.files
    folder = Path(origin)
    if not folder.is_dir():
        raise DataError(f"--from {origin!r} is neither a folder nor an http(s) URL")
    if spec.name == "tau" and any(
        folder.glob("**/envs/retail/tasks_test.py")
    ):  # a checkout of its repository
        _convert_tau(folder, staging)
        return spec.files
    for file in spec.files:
        if (folder / file).is_file() and not _has(staging / file, spec.files[file]):
            (staging / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / file, staging / file)
    return spec.files


def _has(path: Path, sha256: str) -> bool:
    return path.is_file() and hashlib.sha256(read_bytes(path)).hexdigest() == sha256


def _check_all(spec: DatasetSpec, staging: Path, required: Mapping[str, str]) -> None:
    problems = []
    for file, expected in required.items():
        path = staging / file
        if not path.is_file():
            problems.append(f"{file} is missing at the source")
        elif not _has(path, expected):
            sha256 = hashlib.sha256(read_bytes(path)).hexdigest()
            path.unlink()  # the next attempt must not continue a file with wrong content
            problems.append(f"{file} has sha256 {sha256}, expected {expected}")
    if problems:
        raise DataError(f"data set {spec.name!r} was not installed: " + "; ".join(problems))


def _move_into_place(staging: Path, target: Path) -> None:
    for leftover in ("upstream", "archive.tar.gz", "upstream.jsonl"):
        path = staging / leftover
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    replace_folder(staging, target)


def _download(url: str, destination: Path, progress: Progress) -> Path:
    """Download ``url`` within ``TOTAL_S``.

    A partial file of an earlier attempt is continued if the server supports it.
    """
    late = threading.Event()
    try:
        return bounded(lambda: _receive(url, destination, progress, late), TOTAL_S)
    except ForeignCodeError as error:
        late.set()
        if error.__cause__ is not None:
            raise error.__cause__ from None
        raise DataError(
            f"the download of {url} took more than {TOTAL_S:g} s; run the same command again to continue, or "
            "pass a folder with the files as --from FOLDER"
        ) from None


def _receive(url: str, destination: Path, progress: Progress, late: threading.Event) -> Path:
    """Download ``url``, until ``late`` is set."""
    partial = destination.with_name(destination.name + ".part")
    have = partial.stat().st_size if partial.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "nlac-bench"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as reply:
            resumed = reply.status == 206
            done = have if resumed else 0
            length = reply.headers.get("Content-Length")
            total = done + int(length) if length and length.isdigit() else None
            with partial.open("ab" if resumed else "wb") as stream:
                while (chunk := reply.read1(_CHUNK)) and not late.is_set():
                    done += len(chunk)
                    if done > MAX_FILE_BYTES:
                        raise DataError(
                            f"{url} is larger than {MAX_FILE_BYTES:,} bytes; the download was stopped"
                        )
                    stream.write(chunk)
                    progress(destination.name, done, total)
    except urllib.error.HTTPError as error:
        if error.code == 416 and have:  # the partial file is complete or too long: start again, once
            partial.unlink()
            return _receive(url, destination, progress, late)
        raise DataError(f"cannot download {url}: HTTP {error.code} {error.reason}") from error
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise DataError(
            f"cannot download {url}: {reason}; run the same command again to continue, or pass a folder with "
            "the files as --from FOLDER"
        ) from error
    if total is not None and done != total:
        raise DataError(
            f"the download of {url} ended after {done:,} of {total:,} bytes; run the same "
            "command again to continue"
        )
    replace_file(partial, destination)
    return destination


def unpack(archive: Path, folder: Path) -> None:
    """Unpack the plain files of a compressed tar archive of at most ``MAX_FILE_BYTES`` and ``MAX_MEMBERS``.

    Raises:
        DataError: the archive is damaged or exceeds a limit, or a path leaves ``folder``.
    """
    plain, members, size = archive.with_name("archive.tar"), [], 0
    try:
        with gzip.open(archive) as packed, plain.open("wb") as unpacked:
            while chunk := packed.read(_CHUNK):
                if unpacked.tell() + len(chunk) > MAX_FILE_BYTES:
                    raise tarfile.TarError(f"it unpacks to more than {MAX_FILE_BYTES:,} bytes")
                unpacked.write(chunk)
        # A header may state any size; reading from mapped memory allocates no more than there is.
        with (
            plain.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
            tarfile.open(fileobj=mapped, mode="r:") as tar,
        ):
            for member in tar:
                members.append(member)
                size += member.size  # of sparse files, more than what is stored
                if len(members) > MAX_MEMBERS or size > MAX_FILE_BYTES:
                    raise tarfile.TarError(
                        f"it has more than {MAX_MEMBERS:,} members, or {MAX_FILE_BYTES:,} bytes in them"
                    )
            for member in filter(tarfile.TarInfo.isreg, members):
                _extract(tar, member, folder)
    except (tarfile.TarError, EOFError, OSError, ValueError, RecursionError, zlib.error) as error:
        archive.unlink(missing_ok=True)
        raise DataError(f"the archive from {TAU_ARCHIVE} cannot be unpacked: {error}") from error
    finally:
        plain.unlink(missing_ok=True)


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """Write a plain file of ``tar`` below ``folder``; the filters of ``tarfile`` need Python 3.11.4."""
    path = folder / member.name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise tarfile.TarError(f"the path {member.name!r:.80} leaves the folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    content = tar.extractfile(member)
    assert content is not None  # only links and folders have none
    with content, path.open("wb") as file:
        shutil.copyfileobj(content, file)


def _convert_tau(source: Path, staging: Path) -> None:
    from nlac_bench.envs.tau.verification.upstream import convert_upstream

    convert_upstream(source, staging)


def _math500_from_upstream(path: Path, staging: Path) -> None:
    """Convert PRM800K's test.jsonl: drop the solutions and use the column order of the pinned hash."""
    raw = read_bytes(path)
    sha256 = hashlib.sha256(raw).hexdigest()
    if sha256 != pinned.MATH500_UPSTREAM:
        path.unlink()
        raise DataError(f"{MATH500_URL} has sha256 {sha256}, expected {pinned.MATH500_UPSTREAM}")
    (staging / "math500.jsonl").write_bytes(drop_solutions(raw))


def drop_solutions(raw: bytes) -> bytes:
    """Return the rows of MATH-500 with the columns that the environment reads."""
    columns = ("unique_id", "problem", "answer", "subject", "level")
    rows = (json.loads(line) for line in raw.splitlines() if line.strip())
    lines = (json.dumps({c: row[c] for c in columns}, ensure_ascii=False) for row in rows)
    return ("\n".join(lines) + "\n").encode()
