"""The package's exception classes. Each message names the offending value and says how to fix it."""

from collections.abc import Mapping
from typing import Any


class NlacBenchError(Exception):
    """Base class of all errors that this package raises; the CLI prints no traceback for them."""


class Terminated(SystemExit):
    """SIGTERM arrived. It is raised wherever the main thread is, so that files and engines are closed.

    Code that catches the ``SystemExit`` of another package must let this one pass.
    """


class OutputClosedError(Terminated):
    """Standard output or standard error was closed or is full, so that nothing more can be printed."""


SIGNALS = (KeyboardInterrupt, Terminated)
"""What a signal raises in the main thread. Everything else that other packages' code raises is its fault."""


class EnvInfraError(NlacBenchError):
    """The infrastructure around a task failed (a model server is down, the grader does not work).

    This is not the agent's fault, so an episode that ends with this error is not scored 0: it is recorded
    as an infrastructure error and has to be played again. ``spent`` has the ``Usage`` by role of the model
    calls that were paid for and whose results are lost with it.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.spent: dict[str, Any] = {}

    def charge(self, usage: Mapping[Any, Any]) -> None:
        """Add the ``Usage`` of each role to ``spent``."""
        for role, more in usage.items():
            self.spent[role] = self.spent[role] + more if role in self.spent else more


class DataError(NlacBenchError):
    """A data folder or file is missing, truncated, altered or of the wrong kind."""


class MissingError(NlacBenchError):
    """Something that a run needs is missing: ``what``, and ``fix``, how to get it."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(f"{what}: {fix}")
        self.what, self.fix = what, fix


class MissingDataError(MissingError, DataError):
    """An official data set is not on this machine."""


class CheckpointError(DataError):
    """A training run cannot be resumed, because its checkpoint is missing, damaged or of another format."""


class UnknownIdError(NlacBenchError, KeyError):
    """No environment, task, agent or data set has the given name."""

    __str__ = Exception.__str__  # KeyError would print the repr of the message


class ConfigError(NlacBenchError):
    """A setting has an unknown name or an invalid value."""


class EpisodeFormatError(NlacBenchError):
    """An episode cannot be written as JSON, or a line does not contain an episode."""
