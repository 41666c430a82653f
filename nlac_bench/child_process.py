"""Python processes that work for the process that started them, and exchange JSON with it.

The starting process makes a ``ChildProcess``; the module that it runs makes a ``Parent``. A message is JSON
on a ``multiprocessing.connection.Connection``; nothing is pickled.
"""

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from nlac_bench.redaction import redact

_PARENT_POLL_S = 2.0
_ENDING_S = 10.0
"""Seconds in which the interpreter of a process that has closed its connection must end."""


class ChildProcess:
    """A process that runs ``python -P -m module``. It ends with this process, also if that is killed.

    It has its own session, so that only this process gets Ctrl-C. Its output goes to a file; ``ending``
    returns its last line. Daemonic processes may start one too, although ``multiprocessing`` does not let
    them start its own processes.

    Args:
        module: a module that makes a ``Parent``.
        arguments: the words of its command line from ``sys.argv[3]``.
        environment: its environment variables.
        stalled_s: seconds after which a process that stops in the middle of a message is treated as lost.

    Raises:
        OSError: the operating system does not start another process.
    """

    def __init__(
        self, module: str, *arguments: str, environment: Mapping[str, str], stalled_s: float
    ) -> None:
        self._owner = os.getpid()
        root = str(Path(__file__).parents[1])
        path = os.pathsep.join(filter(None, (root, environment.get("PYTHONPATH"))))
        ours, theirs = socket.socketpair()
        for limit in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):  # a stopped process does not read
            ours.setsockopt(
                socket.SOL_SOCKET, limit, struct.pack("ll", int(stalled_s), int(stalled_s % 1 * 1e6))
            )
        self._connection = Connection(ours.detach())
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, str(theirs.fileno()), str(self._owner), *arguments],
                stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
                env={**environment, "PYTHONPATH": path},
                pass_fds=[theirs.fileno()], start_new_session=True,
            )  # fmt: skip

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def alive(self) -> bool:
        """Return whether the process runs."""
        return self._process.poll() is None

    def send(self, message: bytes) -> None:
        """Send what ``encode`` returned.

        Raises:
            TimeoutError: the process did not read for ``stalled_s`` seconds.
            OSError: the process has ended.
        """
        try:
            self._connection.send_bytes(message)
        except BlockingIOError:
            raise TimeoutError from None

    def receive(self, timeout_s: float, waits: int = 1) -> dict[str, Any]:
        """Return the next message.

        Args:
            timeout_s: seconds of one wait for a message, which may be 0.
            waits: number of waits. A single wait may time out only because this process was not scheduled.

        Raises:
            TimeoutError: no message arrived, or one began and nothing followed for ``stalled_s`` seconds.
            EOFError: the process has closed its end.
        """
        try:
            if any(self._connection.poll(timeout_s) for _ in range(waits)):
                message: dict[str, Any] = json.loads(self._connection.recv_bytes())
                return message
        except BlockingIOError:
            pass
        except OSError as error:
            raise EOFError from error
        raise TimeoutError

    def ending(self) -> str:
        """Return the exit status and the last line of output of a process that has closed its end."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDING_S)
        self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - 8192))
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        last = f": {redact(lines[-1])[:200]}" if lines else ""
        return f"exit status {self._process.returncode}{last}"

    def kill(self) -> None:
        """Kill the process; the connection stays open. A forked copy of this process does nothing."""
        if os.getpid() == self._owner:
            self._process.kill()
            self._process.wait()

    def let_go(self) -> None:
        """Close this process's end of the connection and the file of the output."""
        for each in (self._connection, self._log):
            with contextlib.suppress(OSError):
                each.close()
        if self._process.returncode is None:
            self._process.returncode = 0  # not a child of this process: do not wait or warn


class Parent:
    """The process that started this one.

    This process ends when its parent ends. It ignores Ctrl-C and SIGTERM, which the parent handles.
    """

    def __init__(self) -> None:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)
        self._connection, self._pid = Connection(int(sys.argv[1])), int(sys.argv[2])

    def receive(self) -> dict[str, Any]:
        """Return the next message. If the parent has ended, this process ends at once."""
        try:
            while not self._connection.poll(_PARENT_POLL_S):
                self._check()
            message: dict[str, Any] = json.loads(self._connection.recv_bytes())
        except (EOFError, OSError):
            os._exit(0)
        return message

    def send(self, message: Mapping[str, Any]) -> None:
        """Send ``message``. If the parent has ended, this process ends at once."""
        self._check()
        try:
            self._connection.send_bytes(encode(message))
        except OSError:
            os._exit(0)

    def _check(self) -> None:
        # After the parent's end the connection stays open if a forked sibling has a copy of its other end.
        if os.getppid() != self._pid:
            os._exit(0)


def encode(message: Mapping[str, Any]) -> bytes:
    """Return ``message`` as JSON. Dataclasses in it become objects of their fields.

    Raises:
        TypeError: ``message`` contains another value that JSON does not have.
    """
    return json.dumps(message, default=_plain).encode()


def _plain(value: Any) -> Any:
    """Convert a value that JSON does not have; ``json.dumps`` calls this again for values in the result."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"a message to another process cannot contain a {type(value).__name__}")
