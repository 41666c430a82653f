"""``nlac-bench tiny``: build and measure the embedded model."""

import sys
import time
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from nlac_bench.cli.exit_codes import resumable
from nlac_bench.cli.output import JsonFlag, console, errors, escape, escape_lines, print_json
from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.measure.engines import local_model
from nlac_bench.stats.distributions import Z95
from nlac_bench.stats.intervals import wilson_bounds
from nlac_bench.stats.tables import render_table

app = typer.Typer(no_args_is_help=True)

Which: TypeAlias = Literal["tiny", "tiny-worlds"]
_PLAIN_EVERY_S = 10.0
GAINS = ("optimal", "objected", "rightly", "optimal_before", "optimal_after", "auc")
"""Shares of the policy's own actions; from ``rightly`` on, shares of the actions that were objected to."""


def _need_workshop(command: str) -> None:
    """Make the checkout's folder ``workshop`` importable.

    Raises:
        NlacBenchError: the folder does not exist, as in an installation from a wheel.
    """
    root = Path(__file__).parents[2]
    if not (root / "workshop" / "critic_rows.py").is_file():
        raise NlacBenchError(
            f"`nlac-bench tiny {command}` needs the folder workshop/ of the source repository, which the "
            "installed package does not contain; clone the repository and run "
            "`pip install -e '.[train]'` in it"
        )
    if str(root) not in sys.path:
        sys.path.append(str(root))


class _BuildProgress:
    """Shows share done, loss, tokens per second and time left: a live line, or plain lines."""

    def __init__(self) -> None:
        columns = (
            TextColumn("training"), BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"),
            TimeRemainingColumn(),
        )  # fmt: skip
        self._live = sys.stderr.isatty()
        self._bar = Progress(*columns, console=errors, disable=not self._live, transient=True)
        self._task = self._bar.add_task("", total=1.0)
        self._said = self._began = time.monotonic()
        self._first: float | None = None

    def __enter__(self) -> "_BuildProgress":
        self._bar.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._bar.stop()

    def __call__(self, now: dict[str, Any]) -> None:
        """Show that a training step is done."""
        losses = ", ".join(f"{name} {value:.2f}" for name, value in now["losses"].items())
        speed = now["tokens"] / max(1e-9, now["seconds"])
        status = f"step {now['step']:,}, {speed:,.0f} tokens/s, loss: {losses}"
        self._bar.update(self._task, completed=now["done"], description=status)
        self._first = now["done"] if self._first is None else self._first
        time_now = time.monotonic()
        if not self._live and (time_now - self._said > _PLAIN_EVERY_S or now["done"] >= 1):
            self._said = time_now
            gone = now["done"] - self._first
            left = (1 - now["done"]) * (time_now - self._began) / gone if gone else float("nan")
            errors.print(f"{min(now['done'], 1):.0%}, {status}, {left:.0f} s left", soft_wrap=True)


@app.command("build")
def build(
    out: Annotated[
        Path, typer.Option(help="Folder for the weights; an unfinished build in it is continued.")
    ],
    minutes: Annotated[
        float | None,
        typer.Option(min=0.01, help="Minutes of training; default: 45, if --steps is not given."),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Number of training steps, instead of --minutes.")
    ] = None,
    scale: Annotated[float, typer.Option(min=0.0001, help="Factor for the number of episodes.")] = 1.0,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the corpus, the first weights and the batches.")
    ] = 0,
    model: Annotated[
        Which,
        typer.Option(
            help="Which model; tiny-worlds plays shop_worlds and twenty questions, and starts from tiny."
        ),
    ] = "tiny",
) -> None:
    """Pre-train an embedded model on text that the embedded environments generate.

    The same command continues an interrupted build.

    Example:
      nlac-bench tiny build --out my-tiny --minutes 10
    """
    _need_workshop("build")
    from workshop.build import SETTINGS, BuildConfig
    from workshop.build import build as train

    if steps is not None and minutes is not None:
        raise NlacBenchError(
            f"--minutes and --steps cannot be used together; got --minutes {minutes} and --steps {steps}"
        )
    minutes = None if steps is not None else minutes or 45.0
    config = BuildConfig(model=model, steps=steps, minutes=minutes, scale=scale, seed=seed, **SETTINGS[model])
    again = f"the same command, which continues the build in {out}"
    with resumable(again, errors_too=False), _BuildProgress() as progress:
        train(config, out, progress, lambda text: errors.print(text, soft_wrap=True))
    console.print(
        f"weights are in {escape(str(out))}; measure them with: "
        f"nlac-bench tiny report --model {escape(str(out))}"
    )


@app.command("report")
def report(
    model: Annotated[
        str | None,
        typer.Option(
            help="tiny, tiny-worlds or a folder of weights; default: tiny, for --gates tiny-worlds."
        ),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(help="Environment; can be repeated; default: all that the model is taught."),
    ] = None,
    tasks: Annotated[int, typer.Option(min=1, help="Number of tasks of each test split.")] = 120,
    role_episodes: Annotated[
        int, typer.Option(min=0, help="Number of episodes on which the roles are measured.")
    ] = 30,
    gates: Annotated[
        bool,
        typer.Option(
            "--gates",
            help="Instead, check on shop_worlds that the critic knows no rule; the exit code is 1 if not.",
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Measure success on the test splits (greedy and at temperature 1), and each role's accuracy.

    The roles are measured on new episodes with known answers.

    Example:
      nlac-bench tiny report --env tau_retail
    """
    _need_workshop("report")
    if gates:
        _report_gates(model, env or ["shop_worlds"], tasks, as_json)
        return
    from nlac_bench.rollout.engines.hf.engine import HFEngine  # importing torch takes seconds
    from workshop.report import ENVS, family, improvement, play, roles

    folder = local_model(model or "tiny")
    embedded = family(Path(folder))
    if unknown := set(env or ()) - set(ENVS[embedded]):
        raise NlacBenchError(
            f"{model or 'tiny'} is not taught {', '.join(sorted(unknown))}; choose from "
            f"{', '.join(ENVS[embedded])}"
        )
    engine = HFEngine.from_pretrained(folder)
    base: list[dict[str, Any]] = []
    worth: list[dict[str, Any]] = []
    gains: list[dict[str, Any]] = []
    for name in env or ENVS[embedded]:
        for temperature in (0.0, 1.0):
            played = play(engine, name, temperature=temperature, tasks=tasks, model=embedded)
            won = float(np.mean([episode.success for episode in played]))
            low, high = (float(bound) for bound in wilson_bounds(np.asarray(won), len(played), Z95))
            base.append({"env": name, "temperature": temperature, "success": won, "low": low, "high": high,
                         "episodes": len(played)})  # fmt: skip
            errors.print(f"[dim]{escape(name)}: {len(played)} episodes at temperature {temperature}[/dim]")
        if role_episodes:
            for role, accuracy in roles(engine, name, episodes=role_episodes, model=embedded).items():
                worth.append({"env": name, "role": role, **accuracy.figures(), "examples": accuracy.examples})
            if embedded == "tiny":  # the other model has no teacher
                gain = improvement(engine, name, episodes=role_episodes).figures()
                gains.append({"env": name, **gain})
    if as_json:
        print_json({"base": base, "roles": worth, "improvement": gains})
        return
    header = ["env", "temperature", "success", "95 % interval", "episodes"]
    console.print(escape_lines(render_table(header, [
        [r["env"], f"{r['temperature']:g}", f"{r['success']:.3f}", f"{r['low']:.3f} to {r['high']:.3f}",
         str(r["episodes"])] for r in base
    ])))  # fmt: skip
    header = ["env", "role", "asked", "parsed", "right", "of positives", "of negatives", "AUC"]
    console.print(escape_lines(render_table(header, [
        [r["env"], r["role"], str(r["asked"]), *(_figure(r[key]) for key in
         ("parsed", "right", "of_positives", "of_negatives", "auc"))] for r in worth
    ])), soft_wrap=True)  # fmt: skip
    header = ["env", "own actions", *GAINS]
    rows = [[r["env"], str(r["actions"]), *(_figure(r[key]) for key in GAINS)] for r in gains]
    console.print(escape_lines(render_table(header, rows)), soft_wrap=True)
    for row in worth:
        for prompt, expected, written in row["examples"][:1]:
            console.print(escape(f"{row['env']} {row['role']} after …{prompt!r}"), soft_wrap=True)
            console.print(escape_lines(f"  expected {expected!r}\n  wrote    {written!r}"), soft_wrap=True)


def _report_gates(model: str | None, env: list[str], tasks: int, as_json: bool) -> None:
    """Print the gates of a model; exit with code 1 if one of them does not hold."""
    from nlac_bench.tiny import gates

    worlds = gates.worlds_of(env)
    if tasks < gates.FEWEST_TASKS:
        raise NlacBenchError(
            f"--gates needs at least {gates.FEWEST_TASKS} tasks, four probes each; got --tasks {tasks}"
        )
    from nlac_bench.rollout.engines.hf.engine import HFEngine  # importing torch takes seconds

    engine = HFEngine.from_pretrained(local_model(model or "tiny-worlds"))
    probes = gates.probes(tasks)
    measured = gates.measure(engine, probes)
    flipped = float(np.mean(measured.flips))
    low, high = (float(bound) for bound in wilson_bounds(np.asarray(flipped), len(probes), Z95))
    by_world = gates.auc_by_world(probes, measured.said_PS, worlds)
    world, (auc, auc_low, auc_high) = max(by_world.items(), key=lambda item: abs(item[1][0] - 0.5))
    least, most = gates.AUC_WITHIN
    results: list[dict[str, Any]] = [
        {"name": "verdict_follows_future", "value": flipped, "ci": [low, high],
         "criterion": f"at least {gates.FLIPPED_AT_LEAST:.2f}", "holds": flipped >= gates.FLIPPED_AT_LEAST,
         "probes": len(probes)},
        {"name": "successor_auc", "value": auc, "ci": [auc_low, auc_high],
         "criterion": f"{least:.2f} to {most:.2f} in every world", "holds": least <= auc <= most,
         "probes": len(probes), "world": world,
         "by_world": {str(name): value for name, (value, _, _) in by_world.items()}},
    ]  # fmt: skip
    holds = all(gate["holds"] for gate in results)
    if as_json:
        print_json({"holds": holds, "gates": results})
    else:
        rows = [[gate["name"], f"{gate['value']:.3f}", "{:.3f} to {:.3f}".format(*gate["ci"]),
                 gate["criterion"], "yes" if gate["holds"] else "NO"] for gate in results]  # fmt: skip
        header = ["gate", "value", "95 % interval", "criterion", "holds"]
        console.print(escape_lines(render_table(header, rows)), soft_wrap=True)
        console.print(f"{len(probes)} probes; the AUC is that of world {world}, the farthest from 0.5")
    if not holds:
        raise typer.Exit(1)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
