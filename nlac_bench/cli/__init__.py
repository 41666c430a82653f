"""The command ``nlac-bench``: parses, calls, prints. Everything it does can be done from Python too."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from nlac_bench.cli import compare, critiques, data, doctor, envs, floors, grade, run, sweep, theory, tiny
from nlac_bench.cli.exit_codes import ExitCodes
from nlac_bench.cli.options import RunCommand

app = typer.Typer(
    name="nlac-bench",
    cls=ExitCodes,
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Text environments and an honest benchmark harness for LLM agents.

    [bold]Look around[/bold]
      nlac-bench envs list                          what can be played
      nlac-bench envs show tau_retail               its rules, spaces and data
      nlac-bench play twenty_questions              play it yourself
      nlac-bench play tau_retail --agent oracle     watch it being solved

    [bold]Measure[/bold]
      nlac-bench run --env tau_retail --agent oracle
      nlac-bench run --env tau_retail --agent react --model NAME --base-url URL
      nlac-bench resume runs/…                      go on where a run stopped
      nlac-bench compare runs/A runs/B              is the difference real?
      nlac-bench run --env tau_retail --agent nlac   train the embedded model
      nlac-bench critiques runs/…                   why it changed its actions
      nlac-bench sweep FILE.toml --out runs/sweep   several methods and seeds
      nlac-bench doctor                             what works on this machine
      nlac-bench floors                             what needs no model
      nlac-bench envs check my_pkg:MyEnv-v0         does your own keep the contract?
      nlac-bench grade answers.jsonl                grade mathematical answers
      nlac-bench data verify tau                    are these the right data?

    [bold]Exit codes[/bold]
      0 done; 1 a check does not hold; 2 bad input, nothing was written; 3 incomplete, can be resumed;
      130 or 143 stopped by a signal; 141 closed pipe. With --json, standard output holds one object
      (nothing after exit code 2), and messages go to standard error.""",
)
app.add_typer(envs.app, name="envs")
app.add_typer(data.app, name="data")
app.add_typer(tiny.app, name="tiny")
app.command("run", cls=RunCommand)(run.run)
app.command(
    "eval",
    cls=RunCommand,
    help="The same as run without training: measure an agent, or a trained checkpoint.",
)(run.run)
app.command("resume")(run.resume)
app.command("score")(compare.score)
app.command("compare")(compare.compare)
app.command("sweep")(sweep.sweep)
app.command("critiques")(critiques.critiques)
app.command("doctor")(doctor.doctor)
app.command("play")(envs.play)
app.command("floors")(floors.floors)
app.command("grade")(grade.grade)
app.command("theory")(theory.theory)


def _version(show: bool) -> None:
    if show:
        from nlac_bench import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command ``nlac-bench``; never returns, see ``exit_codes``."""
    sys.path.append(
        str(Path.cwd())
    )  # finds `my_env:MyEnv-v0` in the current folder; last, so it hides nothing
    app()
