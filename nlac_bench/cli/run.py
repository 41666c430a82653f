"""``nlac-bench run``, ``eval``, ``resume``."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from nlac_bench.api.configure import completed, gathered
from nlac_bench.api.run_files import write_run_files
from nlac_bench.api.session import SessionResult, play_run, resume_command, start
from nlac_bench.cli.exit_codes import incomplete, resumable
from nlac_bench.cli.options import with_options
from nlac_bench.cli.output import JsonFlag, console, errors, escape, escape_lines, print_json, show
from nlac_bench.cli.peak_memory import peak_memory_bytes
from nlac_bench.errors import ConfigError, NlacBenchError
from nlac_bench.harness.measure import estimate
from nlac_bench.harness.measure.new_templates import has_new_templates, taught_them
from nlac_bench.harness.measure.prepare import Prepared, prepare
from nlac_bench.harness.measure.stored import stored_config
from nlac_bench.harness.runs.configuration import ADVANCED, COMMAND_LINE, Resume, RunConfig
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.stats.new_templates import NOT_MEASURED, NewTemplates
from nlac_bench.stats.outcomes import commonest
from nlac_bench.stats.summary import summarise
from nlac_bench.training.untrained import check_base

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
    settings = gathered(
        options,
        config=config,
        train=_assignments(train or []),
        request=_fields(request or []),
        budget=budget,
        replay_ratio=replay_ratio,
    )
    resolved = completed(settings, context.info_name == "eval", str(config or COMMAND_LINE))
    if dry_run:
        show(estimate.estimate_of(resolved, check_base), as_json)
        return
    prepared, writer = start(resolved, out)
    with writer:
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

    with resumable(resume_command(started), print_summary, errors_too=False):
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


def _play(prepared: Prepared, writer: RunWriter, as_json: bool) -> NoReturn:
    """Play or train, print the results, and exit with code 0 or 3."""
    folder = writer.folder.path
    fatal: list[str] = []

    def print_summary() -> None:
        if as_json:
            summary = summarise(folder).to_json()
            print_json(summary | {"commonest_error": summary["commonest_error"] or commonest(fatal)})

    with resumable(resume_command(writer.folder), print_summary):
        try:
            played = asyncio.run(play_run(prepared, writer))
        except NlacBenchError as error:
            fatal.append(f"{type(error).__name__}: {error}")
            raise
        _print(prepared, folder, played, as_json)
        if played.incomplete is not None:
            raise incomplete(played.incomplete, resume_command(writer.folder))
    raise typer.Exit(0)


def _print(prepared: Prepared, folder: Path, played: SessionResult, as_json: bool) -> None:
    """Print the results of a run, and write its report."""
    measured = prepared.config.train is None or played.training is not None
    summary, training, new = summarise(folder), played.training, None
    if measured:
        new = _new_templates(prepared, folder)
        if not as_json:
            show(summary, as_json)
            if training is not None:
                console.print(escape_lines(training.to_text()), soft_wrap=True)
            if new is not None:
                console.print(escape_lines(new.to_text()), soft_wrap=True)
    files = write_run_files(prepared, folder, curve=training is not None) if played.reportable else {}
    if not as_json:
        _name_files(files)
        gigabytes = peak_memory_bytes() / 1e9
        console.print(f"peak memory: {gigabytes:.2g} GB (of this process and those that it started)")
        return
    printed = summary.to_json() | {"commonest_error": played.commonest_error}
    if training is not None:
        for advice in training.advice():
            errors.print(advice, soft_wrap=True)
        printed |= training.to_json()
    if measured and has_new_templates(prepared):
        printed["test_new"] = dict(NOT_MEASURED) if new is None else new.to_json()
    print_json(printed | files | {"peak_memory_bytes": peak_memory_bytes()})


def _new_templates(prepared: Prepared, folder: Path) -> NewTemplates | None:
    """Return the results of the split ``test_new``; None where the run has no such split, or no results."""
    if has_new_templates(prepared) and taught_them(prepared):
        errors.print("test_new is not measured: the model was taught these templates", soft_wrap=True)
    return NewTemplates.read(folder)


def _name_files(files: dict[str, str | None]) -> None:
    for name, path in files.items():
        if path is not None:
            console.print(f"{'learning curve' if name == 'curve' else name}: {escape(path)}", soft_wrap=True)
