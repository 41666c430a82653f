"""Errors that cross rooms. Each message names the offending value and what to do about it."""


class NlacBenchError(Exception):
    """Base of all errors that this package raises on purpose; the CLI prints these without a traceback."""


class EnvInfraError(NlacBenchError):
    """The world around the task failed (a model server is down, a grader worker died).

    Says nothing about the agent, so an episode that ends with it is never scored 0: it is recorded as
    an infrastructure error and owed again.
    """


class DataError(NlacBenchError):
    """A data folder or file is missing, truncated, altered or not what it claims to be."""


class UnknownIdError(NlacBenchError, KeyError):
    """No environment, task, agent or data set has that name."""

    __str__ = Exception.__str__  # KeyError would print the repr of the message


class ConfigError(NlacBenchError):
    """A setting has an unknown name or an impossible value."""
