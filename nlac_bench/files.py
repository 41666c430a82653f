"""Replaces files and folders, and appends to files, so that a crash leaves either the old or the new content.

A rename can reach the disk before the data that it names, so the data and their folders are synchronised
first (fsync), and the folder that holds the name afterwards (Pillai et al. 2014, "All File Systems Are Not
Created Equal").
"""

import contextlib
import ctypes
import errno
import fcntl
import hashlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from nlac_bench.errors import DataError

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h


def replace_file(new: Path, path: Path) -> None:
    """Rename the file ``new`` to ``path``, after synchronising its data with the disk."""
    sync(new)
    new.replace(path)
    sync(path.parent)


def replace_folder(new: Path, path: Path) -> None:
    """Rename the folder ``new`` to ``path``, after synchronising all of its files, and delete the old folder.

    Where the kernel can exchange two names (Linux), ``path`` exists at every moment. Elsewhere it is absent
    between two renames, and ``restore_folder`` restores the old content after a crash.
    """
    sync_tree(new)
    old = _replaced(path)
    if not path.exists():
        new.rename(path)
    elif exchange(new, path):
        delete(old)
        old = new
    else:
        delete(old)
        path.rename(old)
        new.rename(path)
    sync(path.parent)
    delete(old)


def replace_content(path: Path, content: bytes) -> None:
    """Replace the file ``path`` by one with ``content``; an earlier file is kept if that is not possible.

    Raises:
        OSError: the file cannot be written.
    """
    draft = _draft_of(path)
    try:
        with draft.open("xb") as stream:
            stream.write(content)
        replace_file(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def append(fd: int, end: int, data: bytes, *, sync: bool = False) -> int:
    """Write ``data`` after the first ``end`` bytes of an open file and return its new end.

    Raises:
        OSError: ``data`` cannot be written, or ``sync`` is set and fsync failed; the file ends at ``end``.
    """
    written = 0
    try:
        while written < len(data):
            written += os.pwrite(fd, data[written:], end + written)
        if sync:
            os.fsync(fd)
    except OSError:
        os.ftruncate(fd, end)  # truncating works on a full disk too
        raise
    return end + len(data)


def append_lines(path: Path, lines: bytes) -> None:
    """Remove an incomplete last line of the file ``path``, which a crash left, and append ``lines``.

    Several threads and processes may do so at the same time.

    Raises:
        OSError: the file cannot be written; its complete lines are intact.
    """
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666), "r+b", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # closing the file releases it
        end = file.seek(0, os.SEEK_END)
        line_end = -1
        while end and line_end < 0:
            start = max(0, end - 4096)
            line_end = os.pread(file.fileno(), end - start, start).rfind(b"\n")
            end = start + line_end + 1
        os.ftruncate(file.fileno(), end)
        append(file.fileno(), end, lines)


def append_recording(path: Path, lines: bytes) -> None:
    """Append ``lines`` to a recording; see ``append_lines``.

    Raises:
        DataError: the file cannot be written; its complete lines are intact.
    """
    try:
        append_lines(path, lines)
    except OSError as error:
        raise DataError(f"cannot write to the recording {path}: {error.strerror}") from None


@contextlib.contextmanager
def written_beside(folder: Path, remove: Iterable[str] = ()) -> Iterator[Path]:
    """Yield a new folder; at the end of the block its files replace those of the same names in ``folder``.

    ``folder`` is created if it is missing. If the block fails, or a file cannot be written, ``folder`` is not
    changed. Other files in it are kept, except those named by ``remove``.

    Raises:
        OSError: a file cannot be written, or the name of a new or of a removed one is that of a link, a
            folder, a pipe or a device in ``folder``.
    """
    exists = folder.is_dir()
    draft = _draft_of(folder / "files" if exists else folder)
    draft.mkdir(parents=not exists)
    try:
        yield draft
        names = sorted(path.name for path in draft.iterdir())
        for name in (*names, *remove):
            _refuse_special(folder / name)
        sync_tree(draft)
        if exists:
            for name in names:
                (draft / name).replace(folder / name)
        else:
            draft.rename(folder)
        for name in remove:
            (folder / name).unlink(missing_ok=True)
        sync(folder)
        sync(folder.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of the content of a file, in hexadecimal digits.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def find_folder(path: Path) -> Path | None:
    """Return the folder ``path``, or its old copy if ``replace_folder`` crashed; None if neither exists."""
    return next((each for each in (path, _replaced(path)) if each.exists()), None)


def restore_folder(path: Path) -> None:
    """Rename the old folder back to ``path`` if a process died between the renames of ``replace_folder``."""
    found = find_folder(path)
    if found not in (None, path):
        _replaced(path).rename(path)
        sync(path.parent)


def sync_tree(folder: Path) -> None:
    """Call fsync on every file and folder in ``folder``, and on ``folder``."""
    for where, _, names in os.walk(folder, topdown=False):
        for name in names:
            sync(Path(where, name))
        sync(Path(where))


def sync(path: Path) -> None:
    """Call fsync on a file, or on a folder, so that the names of its files survive a crash of the machine."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def exchange(one: Path, other: Path) -> bool:
    """Exchange the names of two folders in one step; False if the system or the file system cannot do it."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is None:
        return False
    return bool(rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0)


def _draft_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.draft")


def _refuse_special(path: Path) -> None:
    """Raise ``OSError`` if ``path`` exists and is not a regular file."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        kind = "link" if stat.S_ISLNK(mode) else "folder, pipe or device"
        raise OSError(errno.EEXIST, f"{path} is a {kind}, which is not replaced: remove it", str(path))


def _replaced(path: Path) -> Path:
    return path.with_name(f".{path.name}.replaced")


def delete(path: Path) -> None:
    if path.is_symlink():
        path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)
