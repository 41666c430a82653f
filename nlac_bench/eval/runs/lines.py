"""Append-only JSON lines that survive kill -9, a full disk and a torn last line; and the lock on a folder."""

import fcntl
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from nlac_bench.errors import NlacBenchError
from nlac_bench.eval.runs.episode_json import MAX_LINE_BYTES, parse_line

FSYNC_SECONDS = 1.0
"""Every line reaches the kernel before ``append`` returns, so that killing the process loses nothing; the
disk itself is asked at most this often and on closing, so that only a crash of the machine can lose lines,
at most this many seconds of them, which are then owed again."""


class RunFolderError(NlacBenchError):
    """A run folder cannot be created, continued, written or read."""


class Appender:
    """One append-only file of JSON lines. Not for several processes: hold a ``FolderLock``."""

    def __init__(self, path: Path, end: int) -> None:
        """Open ``path`` for appending after its first ``end`` bytes; what follows them is cut off."""
        self.path = path
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._end = end
        self._synced = time.monotonic()
        os.ftruncate(self._fd, end)

    def append(self, line: str) -> None:
        """Write one line whole, or leave the file as it was.

        Raises:
            RunFolderError: the disk is full or fails; all earlier lines are intact.
        """
        data = (line + "\n").encode("ascii")
        written = 0
        try:
            while written < len(data):
                written += os.pwrite(self._fd, data[written:], self._end + written)
            now = time.monotonic()
            if now - self._synced >= FSYNC_SECONDS:
                os.fsync(self._fd)
                self._synced = now
        except OSError as error:
            os.ftruncate(self._fd, self._end)  # frees space, so it works on a full disk
            raise RunFolderError(
                f"cannot write to {self.path} ({error.strerror}); its earlier lines are intact: make room, "
                f"then `nlac-bench resume {self.path.parent}` plays what is owed"
            ) from error
        self._end += len(data)

    def close(self) -> None:
        """Ask the disk to keep what was written, and close.

        Raises:
            RunFolderError: the disk could not keep it.
        """
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise RunFolderError(f"the disk could not keep {self.path} ({error.strerror})") from error
        finally:
            os.close(self._fd)


def read_lines(path: Path) -> Iterator[tuple[dict[str, Any], int]]:
    """Each object in ``path`` with the byte offset after its line; a missing file has none.

    Unreadable lines at the very end (a torn last line; zeros after a crash of the machine) are left out.

    Raises:
        RunFolderError: an unreadable line with a readable one after it: the file was altered.
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
            raise RunFolderError(
                f"{path} line {damaged[0]} is damaged ({damaged[1]}) and good lines follow it, so it was not "
                "torn by a crash; restore the file, or delete that line to have its episode played again"
            )
        yield row, end


def _raw_lines(path: Path) -> Iterator[bytes]:
    try:
        stream: IO[bytes] = path.open("rb")
    except FileNotFoundError:
        return
    with stream:
        # Bounded: a file without line ends comes in pieces, each of which fails to parse.
        while line := stream.readline(MAX_LINE_BYTES + 1):
            yield line


def write_atomically(path: Path, text: str) -> None:
    """Put ``text`` into ``path``: whole or not at all, also on a full disk.

    Raises:
        RunFolderError: it cannot be written; the former content is intact.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        with draft.open("w", encoding="ascii") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise RunFolderError(
            f"cannot write {path} ({error.strerror}); make room or choose another --out"
        ) from error


def sync_folder(folder: Path) -> None:
    """Ask the disk to keep the names in ``folder``."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


class FolderLock:
    """Exclusive use of a folder by one writer in one process.

    A POSIX record lock: the kernel drops it when the process ends, however it ends, and a forked child does
    not keep it alive (an ``flock`` would live on in worker processes after their parent was killed). Such
    locks do not exclude a second holder within one process, so that is watched here as well.
    """

    _held: set[tuple[int, int]] = set()  # noqa: RUF012 - shared by all locks of the process on purpose
    _guard = threading.Lock()

    def __init__(self, folder: Path) -> None:
        """Take the lock.

        Raises:
            RunFolderError: another process or writer holds it, or the folder is read-only.
        """
        path = folder / ".lock"
        with self._guard:
            # Looked up before opening: closing any descriptor of the file would drop this process's own lock.
            inode = _inode(path)
            if inode is not None and inode in self._held:
                raise RunFolderError(f"{folder} is being written by this process already")
            try:
                self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            except OSError as error:
                raise RunFolderError(f"cannot write in {folder} ({error.strerror})") from error
            try:
                fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                holder = os.read(self._fd, 200).decode("utf-8", "replace").strip()
                os.close(self._fd)
                raise RunFolderError(
                    f"{folder} is being written by another process ({holder or 'unknown'}); wait for it or "
                    "stop it, then try again"
                ) from None
            stat = os.fstat(self._fd)
            self._inode = stat.st_dev, stat.st_ino
            self._held.add(self._inode)
        try:
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"pid {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        except OSError:  # a full disk: the lock holds all the same, only its label is missing
            pass

    def release(self) -> None:
        """Let others write."""
        with self._guard:
            self._held.discard(self._inode)
            os.close(self._fd)


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return stat.st_dev, stat.st_ino
