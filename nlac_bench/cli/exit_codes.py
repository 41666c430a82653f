"""Exit codes of every command, and how an error or a signal becomes one.

== =====================================================================================
0  done
1  a check ran and does not hold (``envs check``, ``data verify``, ``theory``)
2  bad input, or refused; nothing was written
3  incomplete; the same run can be resumed, and standard error says with which command
130, 143  stopped by SIGINT, SIGTERM where nothing can be resumed
141  standard output or standard error was closed (``nlac-bench … | head``)
== =====================================================================================

An error prints its message on standard error and nothing on standard output, also with ``--json``. A run
that stays incomplete prints its JSON object as a complete one does.
"""

import asyncio
import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import typer
from gymnasium.error import Error as GymnasiumError
from typer.core import TyperGroup

from nlac_bench.cli.output import errors, escape, fail
from nlac_bench.errors import NlacBenchError

REFUSED, INCOMPLETE, CLOSED_PIPE = 2, 3, 141

EXPECTED = (NlacBenchError, GymnasiumError, ValueError, OSError)
"""Errors whose message names a value and a fix; they are printed without a traceback."""


class ExitCodes(TyperGroup):
    """The root command: raises ``typer.Exit`` with the exit code of the error that a command raised."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # What is left in the buffers is flushed when the interpreter exits, and would raise again.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError, ValueError):  # in tests they have no file descriptor
                    os.dup2(nowhere, stream.fileno())
            raise typer.Exit(CLOSED_PIPE) from None
        except EXPECTED as error:
            fail(error)
            raise typer.Exit(REFUSED) from error
        return result


@contextlib.contextmanager
def resumable(
    command: str, on_incomplete: Callable[[], None] = lambda: None, *, errors_too: bool = True
) -> Iterator[None]:
    """Turn signals and errors inside the block into exit code 3: what was done is on disk.

    Args:
        command: continues the work; printed on standard error.
        on_incomplete: called before the message, to print the JSON object of what there is.
        errors_too: False lets errors pass: those of bad input, before anything is done.

    Raises:
        typer.Exit: with code 3, after an error, SIGINT or SIGTERM.
    """
    cause: BaseException
    try:
        yield
    except (typer.Exit, BrokenPipeError):
        raise
    except (KeyboardInterrupt, SystemExit, asyncio.CancelledError) as stop:
        why, cause = "interrupted", stop
        for each in (signal.SIGINT, signal.SIGTERM):  # the process ends: another signal changes nothing
            signal.signal(each, signal.SIG_IGN)
    except EXPECTED as error:
        if not errors_too:
            raise
        fail(error)
        why, cause = "stopped by an error", error
    except Exception as error:
        if not errors_too:
            raise
        errors.print(escape(traceback.format_exc()), soft_wrap=True)
        why, cause = "stopped by an unexpected error", error
    else:
        return
    on_incomplete()
    raise incomplete(why, command) from cause


def incomplete(why: str, command: str) -> typer.Exit:
    """Say that the work is not finished and how to go on; returns what to raise."""
    errors.print(f"not finished ({escape(why)}); continue with: {escape(command)}", soft_wrap=True)
    return typer.Exit(INCOMPLETE)
