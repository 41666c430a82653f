"""Starts the worker process, asks it for tasks and scores, and replaces it when it is lost."""

import os
import signal
import threading
from functools import cache
from typing import Any

from nlac_bench.bridges.reasoning_gym.worker import CPU_S
from nlac_bench.child_process import ChildProcess, encode
from nlac_bench.errors import DataError, EnvInfraError

_MODULE = "nlac_bench.bridges.reasoning_gym.worker"
_WALL_S = 24 * CPU_S
"""Wall time of a request, which may wait for a busy machine or generate a hundred tasks."""
_VARIABLES = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class _LostError(Exception):
    """The worker ended or did not reply in time."""


class _TooLongError(Exception):
    """The request has used all of its CPU time."""


class WorkerClient:
    """A worker process; all methods may be called from any thread, and take turns."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: ChildProcess | None = None

    def task(self, name: str, seed: int, split: str, number: int) -> dict[str, Any]:
        """Return ``question``, ``answer`` and ``seed`` of a task.

        Raises:
            DataError: the dataset makes no such task.
            EnvInfraError: the worker was lost twice.
        """
        reply = self._twice({"name": name, "seed": seed, "split": split, "number": number})
        if "error" in reply:
            raise DataError(reply["error"])
        return reply

    def score(self, name: str, seed: int, answer: str) -> float:
        """Return the score of an answer, from 0 to 1.

        It is 0 if the answer used its CPU time, or twice ended the worker that scored it.

        Raises:
            EnvInfraError: the worker does not score an empty answer either.
        """
        request = {"name": name, "seed": seed, "answer": answer}
        try:
            return float(self._twice(request)["score"])
        except _TooLongError:
            return 0.0
        except EnvInfraError:
            self._twice({**request, "answer": ""})
            return 0.0

    def _twice(self, request: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            try:
                return self._asked(request)
            except _LostError:
                try:
                    return self._asked(request)
                except _LostError as error:
                    raise EnvInfraError(f"the process of reasoning-gym {error}") from None

    def _asked(self, request: dict[str, Any]) -> dict[str, Any]:
        process = self._process if self._process is not None and self._process.alive() else self._started()
        try:
            process.send(encode(request))
            return process.receive(_WALL_S)
        except TimeoutError:
            self._discard()
            raise _LostError(f"did not reply within {_WALL_S:g} s") from None
        except (EOFError, OSError):
            ending = process.ending()
            self._discard()
            if ending.startswith(f"exit status {-signal.SIGPROF}"):
                raise _TooLongError from None
            raise _LostError(f"ended ({ending})") from None

    def _started(self) -> ChildProcess:
        self._discard()
        try:
            self._process = ChildProcess(_MODULE, environment=os.environ | _VARIABLES, stalled_s=_WALL_S)
            self._process.receive(_WALL_S)
        except (EOFError, OSError) as error:  # TimeoutError is an OSError
            ending = self._process.ending() if self._process is not None else str(error)
            self._discard()
            raise EnvInfraError(f"the process of reasoning-gym does not start: {ending}") from None
        return self._process

    def _discard(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.let_go()


@cache
def client() -> WorkerClient:
    """Return the client of this process."""
    return WorkerClient()


os.register_at_fork(after_in_child=client.cache_clear)
