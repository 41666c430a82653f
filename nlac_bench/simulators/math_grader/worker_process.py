"""Starts a worker process of the grader, sends it cases and reads its verdicts in a limited wall time."""

import contextlib
import json
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nlac_bench
from nlac_bench.errors import EnvInfraError
from nlac_bench.simulators.math_grader.compare.judge import Verdict

START_S = 60.0
"""Seconds in which a worker must load its libraries; not counted in the time of a case."""


class WorkerLostError(Exception):
    """A worker died, did not answer in time, or raised an unexpected exception while it judged a case."""


class WorkerProcess:
    """A process and two pipes to it. Daemonic processes cannot use `multiprocessing`, so this does not.

    Args:
        module: the module that the process runs, `nlac_bench.simulators.math_grader.worker`.
        memory_mb: memory limit of a case in megabytes, in addition to that of the libraries.

    Raises:
        EnvInfraError: the operating system does not start another process.
    """

    def __init__(self, module: str, memory_mb: int) -> None:
        self.usable, self._ready = True, False
        root = str(Path(nlac_bench.__file__).parents[1])
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # thread pools use address space
        try:
            self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, str(os.getpid()), str(memory_mb)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, bufsize=0,
                env={**os.environ, "PYTHONPATH": path, **threads},
                start_new_session=True,  # the parent handles Ctrl-C
            )  # fmt: skip
        except OSError as error:
            raise EnvInfraError(f"a grader worker cannot be started: {error}") from error
        assert self._process.stdin is not None and self._process.stdout is not None
        self._requests, self._replies = self._process.stdin, self._process.stdout
        os.set_blocking(self._requests.fileno(), False)  # a stopped process does not read
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(self._replies, select.POLLIN | select.POLLHUP)
        self._writable.register(self._requests, select.POLLOUT)

    def alive(self) -> bool:
        """Return whether the process runs."""
        return self._process.poll() is None

    def wait_until_ready(self) -> None:
        """Block until the process has loaded its libraries.

        Raises:
            WorkerLostError: the process ended before that.
            EnvInfraError: it is not ready after `START_S` seconds.
        """
        if self._ready:
            return
        try:
            self._ready = bool(self._receive(time.monotonic() + START_S))
        except TimeoutError:
            self.kill()
            raise EnvInfraError(f"a grader worker did not start within {START_S:g} s") from None
        if not self._ready:
            self.usable = False
            raise WorkerLostError(f"did not start ({self._ending()})")

    def judge(self, gold: str, pred: str, cpu_s: float, wall_s: float) -> Verdict:
        """Return the verdict of one case.

        Args:
            cpu_s: limit of the case's CPU time in seconds; a case beyond it gets the verdict (None, reason).
            wall_s: limit of its wall time in seconds, which a busy machine may exceed.

        Raises:
            WorkerLostError: the process died, sent no verdict within `wall_s`, or raised an exception.
        """
        request = json.dumps({"gold": gold, "pred": pred, "cpu_s": cpu_s, "wall_s": wall_s}).encode()
        began = time.monotonic()
        try:
            self._send(struct.pack(">I", len(request)) + request, began + wall_s)
            reply = self._receive(began + wall_s)
        except TimeoutError:
            self.usable = False
            raise WorkerLostError(f"sent no verdict within {wall_s:g} s") from None
        except BrokenPipeError:
            reply = None
        if reply is None:
            self.usable = False
            seconds, ending = time.monotonic() - began, self._ending()
            # A single thread does not use more CPU time than wall time, up to a tick of the kernel's clock:
            # the same signal earlier comes from elsewhere.
            if self._process.returncode == -signal.SIGPROF and seconds > 0.9 * cpu_s - 0.01:
                return None, f"ungraded: time-out after {cpu_s:g} s"
            raise WorkerLostError(f"died ({ending})")
        self.usable = not reply["last"]
        if "error" in reply:
            raise WorkerLostError(f"raised {reply['error']}")
        return reply["correct"], reply["reason"]

    def _send(self, data: bytes, deadline: float) -> None:
        view = memoryview(data)
        while view:
            if not self._writable.poll(max(0.0, deadline - time.monotonic()) * 1e3):
                raise TimeoutError
            view = view[self._requests.write(view) or 0 :]

    def _receive(self, deadline: float) -> dict[str, Any] | None:
        """Return the next message, or None if the process has closed its end.

        Raises:
            TimeoutError: the deadline passed and there is nothing to read.
        """
        header = self._read(4, deadline)
        body = self._read(struct.unpack(">I", header)[0], deadline) if header else b""
        return json.loads(body) if body else None

    def _read(self, size: int, deadline: float) -> bytes:
        data = b""
        while len(data) < size:
            # Poll at least once: a reply may have been ready while this process was not scheduled.
            if not self._readable.poll(max(0.0, deadline - time.monotonic()) * 1e3):
                raise TimeoutError
            part = self._replies.read(size - len(data))
            if not part:
                return b""
            data += part
        return data

    def _ending(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10.0)  # its interpreter may still be ending
        self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - 8192))
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return f"exit status {self._process.returncode}" + (f": {lines[-1][:200]}" if lines else "")

    def kill(self) -> None:
        """Kill the process; the pipes stay open."""
        self.usable = False
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Kill the process and close the pipes."""
        self.kill()
        self.let_go()

    def let_go(self) -> None:
        """Close this process's ends of the pipes; workers of a parent process are not affected."""
        for stream in (self._requests, self._replies, self._log):
            with contextlib.suppress(OSError):
                stream.close()
        if self._process.returncode is None:
            self._process.returncode = 0  # not a child of this process: do not wait or warn
