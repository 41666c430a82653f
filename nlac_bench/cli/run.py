"""``nlac-bench run``, ``eval``, ``resume``."""

import asyncio
import json
import re
import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from nlac_bench.agents import methods
from nlac_bench.cli.exit_codes import incomplete, resumable
from nlac_bench.cli.options import with_options
from nlac_bench.cli.output import JsonFlag, console, errors, escape, escape_lines, print_json, show
from nlac_bench.cli.progress import RunProgress, TrainProgress, counters_of
from nlac_bench.cli.run_files import write_run_files
from nlac_bench.errors import ConfigError, NlacBenchError
from nlac_bench.harness.measure import estimate
from nlac_bench.harness.measure.missing import refuse_missing
from nlac_bench.harness.measure.model_defaults import default_tasks, with_defaults
from nlac_bench.harness.measure.new_templates import has_new_templates, play_new, taught_them
from nlac_bench.harness.measure.play import play
from nlac_bench.harness.measure.prepare import Prepared, prepare
from nlac_bench.harness.measure.stored import stored_config
from nlac_bench.harness.runs import named_agents
from nlac_bench.harness.runs.configuration import ADVANCED, COMMAND_LINE, Resume, RunConfig, read_config
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.trust import as_options, refuse_unrepeated, to_repeat
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.stats.new_templates import NOT_MEASURED, NewTemplates
from nlac_bench.stats.outcomes import commonest
from nlac_bench.stats.summary import Summary, summarise
from nlac_bench.training.untrained import BASE, check_base

Train = Annotated[
    list[str] | None,
    typer.Option(
        help="A training setting, NAME=VALUE; can be repeated. The settings are listed below the options.",
        rich_help_panel=ADVANCED,
    ),
]
Request = Annotated[
    list[str] | None,
    typer.Option(
        help="A further field of each request to the server of --model, KEY=JSON, such as "
        "reasoning_effort='\"low\"' or stream=true; can be repeated.",
        rich_help_panel=ADVANCED,
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        help="Training budget: steps=N (gradient steps), env_steps=N or tokens=N; the same as "
        "--train budget=….",
    ),
]
ReplayRatio = Annotated[
    float | None,
    typer.Option(
        help="Number of transitions to learn from for each new one; the same as --train replay_ratio=….",
        rich_help_panel=ADVANCED,
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        help="A TOML file of settings, or a run's config.json; options override it.", rich_help_panel=ADVANCED
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(help="Folder of the run; default: a new one in runs/."),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Print the plan, an estimate and what is missing; play nothing.",
    ),
]

RESUME_HELP: Mapping[Resume, str] = {
    "repeat": "Repeats this setting of the run.",
    "replace": "Replaces that of the run; see run --help.",
    "repeat or replace": "Repeats or replaces that of the run; see run --help.",
}


@with_options(RunConfig)
def run(
    context: typer.Context,
    *,
    options: dict[str, Any],
    train: Train = None,
    budget: Budget = None,
    replay_ratio: ReplayRatio = None,
    request: Request = None,
    config: Config = None,
    out: Out = None,
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Measure an agent on an environment, or train a model and measure it.

    The result is a folder that nlac-bench resume, score and compare read. A
    training run (--agent nlac, for example) measures the untrained model, trains
    it, and measures the best checkpoint on the same tasks. A run ends by writing
    report.html into its folder; for it, the floors and the oracle of a built-in
    environment are played on the same tasks.

    Examples:
      nlac-bench run --env tau_retail --agent oracle
      nlac-bench run --env tau_retail --agent react --model NAME --base-url URL
      nlac-bench run --env tau_airline --data official --agent act --model gpt-5 \\
        --user-model gpt-5 --dry-run
      nlac-bench run --env tau_retail --agent nlac
      nlac-bench run --env tau_retail --agent nlac --budget steps=30720 \\
        --model Qwen/Qwen2.5-7B-Instruct
      nlac-bench run --config runs/earlier/config.json --seed 1
    """
    settings: dict[str, Any] = read_config(config) if config else {}
    if config and config.suffix == ".json":  # the configuration of a run may come from somebody else
        refuse_unrepeated(settings, options, config, "add to the command:")
    settings |= {name: value for name, value in options.items() if value is not None}
    shorthands = {"budget": budget, "replay_ratio": replay_ratio}
    assigned = _assignments(train or []) | {name: x for name, x in shorthands.items() if x is not None}
    if assigned:
        given = settings.get("train") or {}
        settings["train"] = {**given, **assigned} if isinstance(given, dict) else given  # refused below
    if request:
        settings["request"] = {**(settings.get("request") or {}), **_fields(request)}
    resolved = completed(settings, context.info_name == "eval", str(config or COMMAND_LINE))
    if dry_run:
        show(estimate.estimate_of(resolved), as_json)
        return
    refuse_missing(resolved)
    prepared = prepare(resolved)
    check_base(prepared)
    folder = out or _default_folder(prepared.config)
    with prepared.new_run(folder) as writer:
        _play(prepared, writer, as_json)


@with_options(RunConfig, RESUME_HELP)
def resume(
    folder: Annotated[Path, typer.Argument(help="Folder of the run.")],
    *,
    options: dict[str, object],
    as_json: JsonFlag = False,
) -> None:
    """Continue a run: play the episodes that were interrupted, failed or never started, and train further.

    A run is not continued if its environment, data, model, prompts or plan differ
    from those that it was started with; the message names what differs.

    A run's folder may come from somebody else. If its environment is a module or
    writes to a file, if it names a server that would get your API key or the
    weights, or a file to record to, the command must repeat that setting. The
    command that an interrupted run prints does so.

    Examples:
      nlac-bench resume runs/tau_retail-react-20260101-120000
      nlac-bench resume runs/my_run --env my_pkg:MyEnv-v0
    """
    started = RunFolder.open(folder)

    def print_summary() -> None:
        if as_json:
            print_json(summarise(folder).to_json())

    with resumable(_resume_command(started), print_summary, errors_too=False):
        prepared = prepare(stored_config(started, options))
        if prepared.config.train is not None:
            from nlac_bench.training import checkpoints  # torch takes seconds to import

            checkpoints.check(folder)
    with RunWriter.resume(
        folder, conditions=prepared.conditions, subject=prepared.subject, plan=prepared.plan
    ) as writer:
        _play(prepared, writer, as_json)


def _assignments(texts: list[str]) -> dict[str, str]:
    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"--train must be NAME=VALUE, got {text!r}")
        settings[name.strip()] = value.strip()
    return settings


def _fields(texts: list[str]) -> dict[str, Any]:
    fields = {}
    for text in texts:
        name, equals, value = text.partition("=")
        try:
            fields[name.strip()] = json.loads(value)
        except (ValueError, RecursionError):
            equals = ""
        if not equals or not name.strip():
            raise ConfigError(
                f"--request must be KEY=JSON, such as stream=true or user='\"me\"', got {text!r}"
            )
    return fields


def completed(settings: dict[str, object], measure_only: bool, source: str) -> RunConfig:
    """Return ``settings`` with the defaults that depend on other settings."""
    if isinstance(agent := settings.get("agent"), str) and named_agents.is_method(agent):
        settings.setdefault("model", "tiny")
        if measure_only:
            settings |= {"train": None, "offline": None, "base": None}
        elif settings.get("train") is None:
            settings["train"] = {}
    elif settings.get("train") or settings.get("offline") or settings.get("base"):
        raise ConfigError(
            f"agent {settings.get('agent')!r} is not trained, so it has no training settings; "
            f"agents that are trained: {', '.join(methods.names())}"
        )
    return RunConfig.from_mapping(with_defaults(settings), source)


def _play(prepared: Prepared, writer: RunWriter, as_json: bool) -> NoReturn:
    """Play or train, print the results, and exit with code 0 or 3."""
    folder = writer.folder.path
    if note := default_tasks(writer.folder.config):
        errors.print(escape(note), soft_wrap=True)
    fatal: list[str] = []

    def print_summary() -> None:
        if as_json:
            summary = summarise(folder).to_json()
            print_json(summary | {"commonest_error": summary["commonest_error"] or commonest(fatal)})

    with resumable(_resume_command(writer.folder), print_summary):
        try:
            if prepared.config.train is not None:
                _train(prepared, writer, as_json)
            else:
                _measure(prepared, writer, as_json)
        except NlacBenchError as error:
            fatal.append(f"{type(error).__name__}: {error}")
            raise
    raise typer.Exit(0)


def _measure(prepared: Prepared, writer: RunWriter, as_json: bool) -> None:
    folder, planned = writer.folder.path, len(writer.folder.plan)
    owed = len(writer.owed())
    errors.print(f"{owed} of {planned} episodes to play; folder {escape(str(folder))}", soft_wrap=True)
    with RunProgress(writer.folder, counters_of(prepared.agent), prepared.agent) as progress:
        driver = asyncio.run(play(prepared, writer, progress))
    if driver.stopped is None:
        # An interruption leaves it incomplete, and ``resume`` plays the rest.
        asyncio.run(play_new(prepared, folder))
    summary = summarise(folder)
    new = _new_templates(prepared, folder)
    if not as_json:
        show(summary, as_json)
        _print_new(folder)
    files = write_run_files(prepared, folder) if driver.stopped is None else {}
    if as_json:
        print_json(summary.to_json() | new | files)
    else:
        _name_files(files)
    if not summary.outcomes.counts.complete:
        raise incomplete(_why_incomplete(summary, driver.stopped), _resume_command(writer.folder))


def _new_templates(prepared: Prepared, folder: Path) -> dict[str, Any]:
    """Return the part ``test_new`` of what ``--json`` prints; empty where the run has no such split."""
    if not has_new_templates(prepared):
        return {}
    if taught_them(prepared):
        errors.print("test_new is not measured: the model was taught these templates", soft_wrap=True)
    found = NewTemplates.read(folder)
    return {"test_new": dict(NOT_MEASURED) if found is None else found.to_json()}


def _print_new(folder: Path) -> None:
    if found := NewTemplates.read(folder):
        console.print(escape_lines(found.to_text()), soft_wrap=True)


def _train(prepared: Prepared, writer: RunWriter, as_json: bool) -> None:
    from nlac_bench.training.run import train_and_test, trained  # torch takes seconds to import

    folder = writer.folder.path
    errors.print(f"training run; folder {escape(str(folder))}", soft_wrap=True)
    with TrainProgress(prepared.config, counters_of(prepared.agent)) as progress:
        done = asyncio.run(
            train_and_test(
                prepared, writer, progress.phase, progress.metrics, progress.training, progress.learner
            )
        )
    result = trained(folder)
    if result is None or not done:
        failed, what = (summary := summarise(folder)), "test episodes"
        if (folder / BASE / "manifest.json").exists() and RunFolder.open(folder / BASE).owed():
            failed, what = summarise(folder / BASE), "base episodes"  # played before everything else
        files = write_run_files(prepared, folder) if failed.outcomes.counts.infra_errors else {}
        if as_json:
            print_json(summary.to_json() | {"commonest_error": failed.outcomes.commonest_error} | files)
        else:
            _name_files(files)
        raise incomplete(_why_incomplete(failed, None, what), _resume_command(writer.folder))
    summary = summarise(folder)
    if not as_json:
        show(summary, as_json)
        console.print(escape_lines(result.to_text()), soft_wrap=True)
        _print_new(folder)
    new = _new_templates(prepared, folder)
    files = write_run_files(prepared, folder, curve=True)
    if as_json:
        for advice in result.advice():
            errors.print(advice, soft_wrap=True)
        print_json(summary.to_json() | result.to_json() | new | files)
    else:
        _name_files(files)


def _name_files(files: dict[str, str | None]) -> None:
    for name, path in files.items():
        if path is not None:
            console.print(f"{'learning curve' if name == 'curve' else name}: {escape(path)}", soft_wrap=True)


def _why_incomplete(summary: Summary, stopped: str | None, what: str = "episodes") -> str:
    """Return why episodes are still to be played: what stopped the run, and the most frequent error.

    Args:
        what: names the episodes of ``summary``.
    """
    counts = summary.outcomes.counts
    parts = []
    if stopped or not counts.infra_errors:
        recorded = counts.planned - counts.owed - counts.infra_errors
        parts.append(f"{stopped or 'interrupted'}; {recorded} of {counts.planned} {what} are recorded")
    if counts.infra_errors:
        parts.append(
            f"{counts.infra_errors} of {counts.planned} {what} failed for a reason outside the agent (see "
            f"errors.jsonl); the most frequent reason: {summary.outcomes.commonest_error}"
        )
    return "; ".join(parts)


def _resume_command(run: RunFolder) -> str:
    return shlex.join(["nlac-bench", "resume", str(run.path), *as_options(to_repeat(run.config))])


def _default_folder(config: RunConfig) -> Path:
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", f"{config.env.split('@')[0]}-{config.agent}").strip("-")
    stamp = time.strftime("%Y%m%d-%H%M%S")
    folder = Path("runs") / f"{name}-{stamp}"
    counter = 2
    while folder.exists():
        folder = Path("runs") / f"{name}-{stamp}-{counter}"
        counter += 1
    return folder
