"""Exit codes of all commands, and their computation from errors and signals.

== =====================================================================================
0  done
1  a check ran and does not hold (``envs check``, ``compare --gate``, ``data verify``, ``theory`` …)
2  bad input, refused, or an unexpected error; nothing was written
3  incomplete; standard error names the command that continues it
4  ``compare --gate`` cannot decide; it names the number of tasks or seeds that would
130, 143  stopped by SIGINT (130) or SIGTERM (143) where nothing can be resumed
141  standard output or standard error was closed (``nlac-bench … | head``), or its disk is full
== =====================================================================================

A command that exits with 2 prints a message on standard error and nothing on standard output, also with
``--json``; only ``leaderboard build --json`` prints its object then, with the entries that it rejects. An
incomplete run prints its JSON object like a complete one.
"""

import asyncio
import contextlib
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import typer
from gymnasium.error import Error as GymnasiumError
from typer.core import TyperGroup

from nlac_bench.cli.output import errors, escape, escape_lines, fail
from nlac_bench.envs.foreign import described
from nlac_bench.errors import SIGNALS, CheckpointError, NlacBenchError, OutputClosedError, Terminated
from nlac_bench.harness.runs.lines import DamagedFolderError
from nlac_bench.harness.runs.secrets import refuse_secret_arguments
from nlac_bench.shutdown import ignore_signals, signal_number, silence_finalizers

REFUSED, INCOMPLETE = 2, 3

GATE_CODES = {"pass": 0, "fail": 1, "undecided": 4}
"""The exit code of each verdict of ``compare --gate``."""

EXPECTED = (NlacBenchError, GymnasiumError, ValueError, OSError)
"""Errors that are printed without a traceback, because their message names the value and the fix."""


class ExitCodes(TyperGroup):
    """The root command: raises ``typer.Exit`` with the exit code of the error that a command raised."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse secrets in the arguments of any command, before an error message can quote them."""
        try:
            refuse_secret_arguments(args)
        except NlacBenchError as error:
            fail(error)
            raise typer.Exit(REFUSED) from error
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            silence_finalizers()
            raise
        except Terminated:
            raise
        except BaseException as error:
            if isinstance(error, typer.Abort) or hasattr(error, "exit_code"):  # typer's own exceptions
                raise
            if number := signal_number():
                raise Terminated(128 + number) from error
            _fail_with(error)
            raise typer.Exit(REFUSED) from error


@contextlib.contextmanager
def resumable(
    command: str, on_incomplete: Callable[[], object] = lambda: None, *, errors_too: bool = True
) -> Iterator[None]:
    """Turn signals and errors inside the block into exit code 3: the work can be continued.

    Args:
        command: the command that continues the work; printed on standard error.
        on_incomplete: called before the message; prints the JSON object of the results so far.
        errors_too: False raises errors again, for blocks that fail only because of bad input.

    Raises:
        typer.Exit: with code 3, after an error, SIGINT or SIGTERM.
    """
    try:
        yield
    except (typer.Exit, OutputClosedError, CheckpointError, DamagedFolderError):
        raise  # the same command would fail again
    except BaseException as error:
        stopped = isinstance(error, (*SIGNALS, asyncio.CancelledError)) or signal_number() is not None
        if not stopped and not errors_too:
            raise
        ignore_signals()  # the exit code is decided; torchrun, for example, now ends the other ranks
        if stopped:
            why = "interrupted"
            silence_finalizers()
        else:
            why = f"stopped by an {'' if isinstance(error, EXPECTED) else 'unexpected '}error"
            _fail_with(error)
        on_incomplete()
        raise incomplete(why, command) from error


def _fail_with(error: BaseException) -> None:
    """Print ``error``; with its traceback if no code of this package expects it."""
    if isinstance(error, EXPECTED):
        fail(error)
        return
    errors.print(escape_lines("".join(traceback.format_exception(error))), soft_wrap=True, end="")
    if isinstance(error, SystemExit):
        fail(NlacBenchError(f"unexpected call of sys.exit({error.code!r:.80}); the traceback shows where"))
    else:
        fail(NlacBenchError(f"unexpected {described(error)}; the traceback shows where"))


def incomplete(why: str, command: str) -> typer.Exit:
    """Print why the work is not finished and how to continue it; return the exception to raise."""
    errors.print(f"{escape(why)}; continue with: {escape(command)}", soft_wrap=True)
    return typer.Exit(INCOMPLETE)
