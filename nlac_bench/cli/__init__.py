"""The command nlac-bench: reads options, calls the other packages and prints the results."""

import os
import sys
from typing import Annotated

import typer

from nlac_bench.cli.commands import HELP, Commands
from nlac_bench.cli.streams import guarded_output
from nlac_bench.errors import ConfigError
from nlac_bench.learner import torchrun

app = typer.Typer(
    name="nlac-bench",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": HELP},
    help="""Text environments and a benchmark harness for language-model agents.

    [bold]Environments[/bold]
      nlac-bench envs list                          list the environments
      nlac-bench envs show tau_retail               show rules, spaces and data
      nlac-bench envs check my_pkg:MyEnv-v0         test your own environment
      nlac-bench play twenty_questions              play in the terminal
      nlac-bench play tau_retail --agent oracle     watch an agent play

    [bold]Measure and compare[/bold]
      nlac-bench run --env tau_retail --agent oracle
      nlac-bench run --env tau_retail --agent react --model NAME --base-url URL
      nlac-bench resume runs/…                      continue an interrupted run
      nlac-bench compare runs/A runs/B              compare two runs
      nlac-bench report runs/… --out report.html    write a report with figures
      nlac-bench export prompts runs/… --out FILE   tasks for other programs
      nlac-bench view runs/…                        episodes and critiques, a page
      nlac-bench floors                             agents that use no model
      nlac-bench leaderboard build …                boards from submitted entries

    [bold]Train[/bold]
      nlac-bench run --env tau_retail --agent nlac  train the embedded model
      nlac-bench watch runs/…                       follow a run that is going
      nlac-bench critiques runs/…                   critiques of a training run
      nlac-bench sweep FILE.toml --out runs/sweep   several methods and seeds
      nlac-bench launch --config FILE.toml          servers and learner on GPUs

    [bold]Leaderboards[/bold]
      nlac-bench submit runs/… --out results        make an entry of a run
      nlac-bench verify ENTRY --run runs/…          check an entry

    [bold]Data and installation[/bold]
      nlac-bench doctor                             what works on this machine
      nlac-bench bench-gpu --out FILE               speed of this machine's GPUs
      nlac-bench data verify tau                    check the hashes of a data set
      nlac-bench grade answers.jsonl                grade mathematical answers

    [bold]Exit codes[/bold]
      0         done
      1         a check ran and does not hold
      2         bad input, or refused; nothing was written
      3         incomplete; standard error says how to continue
      4         compare --gate cannot decide
      130, 143  stopped by a signal where nothing can be resumed
      141       standard output or standard error was closed, or is full

    With --json a command prints one JSON object on standard output (nothing after
    exit code 2, except for leaderboard build), and messages on standard error.""",
)


def _version(show: bool) -> None:
    if show:
        from nlac_bench import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if torchrun.world_size() > 1 and context.invoked_subcommand not in ("run", "resume", "bench-gpu"):
        raise ConfigError(
            f"torchrun has started {torchrun.world_size()} processes, but only run, resume and bench-gpu use "
            f"several; start `nlac-bench {context.invoked_subcommand}` without torchrun"
        )


def _set_up_threads() -> None:
    """Let the main thread and the engine's thread alternate quickly; must run before torch is imported.

    A thread that runs Python code keeps the interpreter's lock for 5 ms by default, and the engine waits as
    long after each of its many small operations: 0.2 ms made ``make run`` a fifth faster. OpenMP puts waiting
    threads to sleep at once if several threads of Python compute with all cores; waking them takes longer
    than most operations of a small model. With these variables they wait actively for a short time.
    """
    sys.setswitchinterval(0.0002)
    os.environ.setdefault("OMP_WAIT_POLICY", "active")
    os.environ.setdefault("GOMP_SPINCOUNT", "300000")


def main() -> None:
    """Run the command ``nlac-bench``. Raises ``SystemExit`` with one of ``exit_codes``.

    Of several processes that torchrun has started, the first executes the command, and the others only the
    calls of its learner (``nlac_bench.learner.ranks``).
    """
    _set_up_threads()
    with guarded_output(reserve="--json" in sys.argv):
        if torchrun.world_size() == 1:
            app()
            return
        from nlac_bench.learner import ranks  # torch takes seconds to import

        if torchrun.rank() > 0:
            ranks.follow()
            return
        with ranks.leading():
            app()
