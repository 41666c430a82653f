"""Reads and appends JSON lines safely (kill -9, full disk, incomplete last line), and locks a folder."""

import contextlib
import fcntl
import os
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from nlac_bench.errors import NlacBenchError
from nlac_bench.files import append, replace_content, written_beside
from nlac_bench.harness.runs.episode_json import MAX_LINE_BYTES, parse_line
from nlac_bench.untrusted import open_untrusted

FSYNC_SECONDS = 1.0
"""Minimum time between two calls of fsync. Every line reaches the kernel before ``append`` returns, so
killing the process loses nothing. A crash of the machine can lose the lines of this many seconds; their
episodes are then played again."""


class RunFolderError(NlacBenchError):
    """Raised when a run folder cannot be created, continued, written or read."""


class DamagedFolderError(RunFolderError):
    """Raised when a file of a run cannot be read as what it should be; ``resume`` cannot read it either."""


class Appender:
    """An append-only file of JSON lines. Hold a ``FolderLock``: only one process may write to it."""

    def __init__(self, path: Path, end: int) -> None:
        """Open ``path`` and truncate it to its first ``end`` bytes; lines are appended after them."""
        self.path = path
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._end = end
        self._synced = time.monotonic()
        os.ftruncate(self._fd, end)

    def append(self, line: str) -> None:
        """Write one complete line, or leave the file unchanged.

        Raises:
            RunFolderError: the disk is full or fails; all earlier lines are intact.
        """
        data = (line + "\n").encode("ascii")
        now = time.monotonic()
        sync = now - self._synced >= FSYNC_SECONDS
        try:
            self._end = append(self._fd, self._end, data, sync=sync)
        except OSError as error:
            raise RunFolderError(
                f"cannot write to {self.path} ({error.strerror}); its earlier lines are intact: free disk "
                f"space, then play the missing episodes with `nlac-bench resume {self.path.parent}`"
            ) from error
        if sync:
            self._synced = now

    def sync(self) -> None:
        """Call fsync.

        Raises:
            RunFolderError: fsync failed, so lines may be lost.
        """
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise RunFolderError(
                f"fsync of {self.path} failed ({error.strerror}); its last lines may be lost"
            ) from error

    def close(self) -> None:
        """Call fsync and close the file.

        Raises:
            RunFolderError: fsync failed, so lines may be lost.
        """
        try:
            self.sync()
        finally:
            os.close(self._fd)


def read_lines(path: Path) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield each object in ``path`` with the byte offset of the end of its line.

    A missing file has no objects.

    Unreadable lines at the end of the file (an incomplete line, or zeros after a crash of the machine) are
    skipped.

    Raises:
        DamagedFolderError: the file cannot be read, or a readable line follows an unreadable one, so that the
            file was altered.
    """
    damaged: tuple[int, str] | None = None
    end = 0
    for number, line in enumerate(_raw_lines(path), start=1):
        end += len(line)
        try:
            if not line.endswith(b"\n"):
                raise ValueError("no line end")
            row = parse_line(line)
        except ValueError as error:
            damaged = damaged or (number, str(error))
            continue
        if damaged is not None:
            raise DamagedFolderError(
                f"{path} line {damaged[0]} is damaged ({damaged[1]}). A crash is not the reason, because "
                "readable lines follow it; restore the file, or delete that line and resume the run"
            )
        yield row, end


def _raw_lines(path: Path) -> Iterator[bytes]:
    try:
        stream = open_untrusted(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise DamagedFolderError(f"{path} cannot be read ({error.strerror})") from error
    with stream:
        # The size is bounded: a file without line ends is read in pieces, which then fail to parse.
        while line := stream.readline(MAX_LINE_BYTES + 1):
            yield line


def write_atomically(path: Path, text: str) -> None:
    """Replace the content of ``path`` by ``text`` atomically, even if the disk is full.

    Raises:
        RunFolderError: the file cannot be written; its previous content is intact.
    """
    try:
        replace_content(path, text.encode("ascii"))
    except OSError as error:
        raise RunFolderError(
            f"cannot write {path} ({error.strerror}); free disk space or choose another --out"
        ) from error


def make_folder(path: Path) -> None:
    """Create the folder ``path`` for the files of a command, unless it exists.

    Raises:
        RunFolderError: the folder cannot be created, or its permissions forbid writing to it.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunFolderError(
            f"cannot create the folder {path} ({error.strerror}); choose another --out"
        ) from error
    _refuse_unwritable(path)


@contextlib.contextmanager
def new_files(folder: Path, remove: Iterable[str] = ()) -> Iterator[Path]:
    """Yield a folder whose files are moved to ``folder`` at the end: see ``files.written_beside``.

    Raises:
        RunFolderError: the files cannot be written; nothing in ``folder`` was changed.
    """
    if folder.is_dir():
        _refuse_unwritable(folder)
    try:
        with written_beside(folder, remove) as draft:
            yield draft
    except OSError as error:
        raise RunFolderError(
            f"cannot write to {folder} ({error.strerror}); nothing there was changed: free disk space, or "
            "choose another --out"
        ) from error


def _refuse_unwritable(path: Path) -> None:
    if not os.access(path, os.W_OK | os.X_OK):
        raise RunFolderError(
            f"cannot write to the folder {path} (permission denied); change its permissions, or choose "
            "another --out"
        )


class FolderLock:
    """Gives one writer exclusive use of a folder.

    This is a POSIX record lock: the kernel releases it when the process ends in any way, and forked children
    do not inherit it (worker processes would keep an ``flock`` after their parent was killed). A POSIX lock
    does not exclude a second holder in the same process, so the locks that this process holds are recorded
    as well.
    """

    _held: set[tuple[int, int]] = set()  # noqa: RUF012 - intentionally shared by all locks of the process
    _guard = threading.Lock()

    def __init__(self, folder: Path) -> None:
        """Take the lock.

        Raises:
            RunFolderError: another process or writer holds the lock, or the folder is read-only.
        """
        path = folder / ".lock"
        with self._guard:
            # Checked before opening: closing any descriptor of the file would release this process's lock.
            inode = _inode(path)
            if inode is not None and inode in self._held:
                raise RunFolderError(f"this process is already writing to {folder}")
            try:
                self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            except OSError as error:
                raise RunFolderError(
                    f"cannot write to {folder} ({error.strerror}); choose another --out"
                ) from error
            try:
                fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                holder = os.read(self._fd, 200).decode("utf-8", "replace").strip()
                os.close(self._fd)
                raise RunFolderError(
                    f"another process ({holder or 'unknown'}) is writing to {folder}; wait for it or "
                    "stop it, then try again"
                ) from None
            result = os.fstat(self._fd)
            self._inode = result.st_dev, result.st_ino
            self._held.add(self._inode)
        try:
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"pid {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        except OSError:  # on a full disk the lock works without its label
            pass

    def release(self) -> None:
        """Release the lock. Its label goes, because it would name a process that may live on."""
        with self._guard:
            self._held.discard(self._inode)
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, 0)
            os.close(self._fd)


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        result = path.stat()
    except FileNotFoundError:
        return None
    return result.st_dev, result.st_ino
