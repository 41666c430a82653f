"""Calls the command ``nlac-bench`` in this process, as its console script would in one of its own.

Starting Python and importing torch takes seconds a call. Tests of what only a process shows (signals, kills,
closed pipes) start one: ``test_kill.py``, and ``test_console_script`` in ``test_cli.py``.
"""

import contextlib
import functools
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

import typer

from nlac_bench.cli import main

_get_command = functools.cache(typer.main.get_command)
"""Parsing the signatures of all commands takes longer than most calls; it is done once a process."""


@dataclass(frozen=True)
class Done:
    """What a call printed and its exit status."""

    returncode: int
    stdout: str
    stderr: str


@contextlib.contextmanager
def _as_it_was() -> Iterator[None]:
    """Undoes what the command changes in its process: module search path and signal handlers."""
    path, handlers = list(sys.path), {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        sys.path[:] = path
        for number, handler in handlers.items():
            signal.signal(number, handler)


def call(*arguments: str, stdin: str = "", **env: str) -> Done:
    """Run ``nlac-bench *arguments`` with ``stdin`` as its input and ``env`` added to the environment."""
    out, err = io.StringIO(), io.StringIO()
    with (
        _as_it_was(),
        mock.patch.dict(os.environ, {"COLUMNS": "160", **env}),
        mock.patch.object(typer.main, "get_command", _get_command),
        mock.patch.object(sys, "argv", ["nlac-bench", *arguments]),
        mock.patch.object(sys, "stdin", io.StringIO(stdin)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
            code: object = 0
        except SystemExit as ended:
            code = ended.code or 0
    return Done(code if isinstance(code, int) else 1, out.getvalue(), err.getvalue())


def nlac_bench(*arguments: str, status: int = 0, stdin: str = "", **env: str) -> Done:
    """``call``; fails the test when the command exits with another status than ``status``."""
    done = call(*arguments, stdin=stdin, **env)
    assert done.returncode == status, f"{arguments}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def started(*arguments: str) -> subprocess.Popen[str]:
    """Start ``nlac-bench`` in a process whose outputs are pipes and which obeys SIGINT.

    A shell starts background jobs with SIGINT ignored, and children inherit that.
    """
    return subprocess.Popen(
        [sys.executable, "-m", "nlac_bench", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )  # fmt: skip


def one_json(done: Done) -> dict[str, Any]:
    """The one JSON object on standard output."""
    value = json.loads(done.stdout)
    assert isinstance(value, dict) and done.stdout.count("\n") == 1
    return value
