"""Starts a worker process of the grader, sends it cases and reads its verdicts in a limited wall time."""

import os
import signal
import time

from nlac_bench.child_process import ChildProcess, encode
from nlac_bench.errors import EnvInfraError
from nlac_bench.simulators.math_grader.compare.judge import Verdict

START_S = 60.0
"""Seconds in which a worker must load its libraries; not counted in the time of a case."""


class WorkerLostError(Exception):
    """A worker died, did not answer in time, or raised an unexpected exception while it judged a case."""


class WorkerProcess(ChildProcess):
    """A process that judges one case after the other.

    Args:
        module: the module that the process runs, `nlac_bench.simulators.math_grader.worker`.
        memory_mb: memory limit of a case in megabytes, in addition to that of the libraries.
        wall_s: limit of a case's wall time in seconds, which a busy machine may exceed.

    Raises:
        EnvInfraError: the operating system does not start another process.
    """

    def __init__(self, module: str, memory_mb: int, wall_s: float) -> None:
        self.usable, self._ready, self._wall_s = True, False, wall_s
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # thread pools use address space
        try:
            super().__init__(module, str(memory_mb), environment=os.environ | threads, stalled_s=wall_s)
        except OSError as error:
            raise EnvInfraError(f"a grader worker cannot be started: {error}") from error

    def wait_until_ready(self) -> None:
        """Block until the process has loaded its libraries.

        Raises:
            WorkerLostError: the process ended before that.
            EnvInfraError: the process is not ready after `START_S` seconds.
        """
        if self._ready:
            return
        try:
            self.receive(START_S)
        except TimeoutError:
            raise EnvInfraError(f"a grader worker did not start within {START_S:g} s") from None
        except EOFError:
            raise WorkerLostError(f"did not start ({self.ending()})") from None
        self._ready = True

    def judge(self, gold: str, pred: str, cpu_s: float) -> Verdict:
        """Return the verdict of one case.

        Args:
            cpu_s: limit of the case's CPU time in seconds; a case beyond it gets the verdict (None, reason).

        Raises:
            WorkerLostError: the process died, sent no verdict in time, or raised an exception.
        """
        began = time.monotonic()
        try:
            self.send(encode({"gold": gold, "pred": pred, "cpu_s": cpu_s, "wall_s": self._wall_s}))
            # A timeout of 0 still reads a reply that arrived while this process was not scheduled.
            reply = self.receive(max(0.0, began + self._wall_s - time.monotonic()))
        except TimeoutError:
            raise WorkerLostError(f"sent no verdict within {self._wall_s:g} s") from None
        except (EOFError, OSError):
            self.usable = False
            seconds, ending = time.monotonic() - began, self.ending()
            # A single thread does not use more CPU time than wall time, up to a tick of the kernel's clock:
            # an earlier signal has another cause.
            if self._process.returncode == -signal.SIGPROF and seconds > 0.9 * cpu_s - 0.01:
                return None, f"ungraded: time-out after {cpu_s:g} s"
            raise WorkerLostError(f"died ({ending})") from None
        self.usable = not reply["last"]
        if "error" in reply:
            raise WorkerLostError(f"raised {reply['error']}")
        return reply["correct"], reply["reason"]

    def stop(self) -> None:
        """Kill the process and close the connection."""
        self.kill()
        self.let_go()
