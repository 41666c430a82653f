"""Derives the parts of an entry from run folders: board, subject, outcomes, curves, cost and provenance."""

import hashlib
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nlac_bench.envs.env_string import join, parse
from nlac_bench.files import sha256_of
from nlac_bench.harness.measure.training_tasks import VALIDATION_SPLIT
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.episode_json import usage_from_row
from nlac_bench.harness.runs.folder import RunFolder, row_key
from nlac_bench.harness.runs.lines import RunFolderError
from nlac_bench.leaderboards.entry import (
    BoardKey,
    Cost,
    Curve,
    CurvePoint,
    Limits,
    RunOutcomes,
    RunProvenance,
    Simulator,
    State,
    TaskOutcome,
)
from nlac_bench.leaderboards.entry_file import EntryError, canonical
from nlac_bench.leaderboards.numbers import failed_if_missing
from nlac_bench.leaderboards.subject import Subject, Tokens, Training, TrainingCost
from nlac_bench.stats.outcomes import Outcomes, outcomes_of
from nlac_bench.training.curve import latest, tested_weights
from nlac_bench.training.untrained import BASE
from nlac_bench.types import Episode, Usage

WORLD = "world"
_STATED = ("env", "env_version", "split", "data_source", "data_sha256", "reward", "simulator", "max_turns")
_NOT_REPEATED = {
    "base_url",
    "user_base_url",
    "servers",
    "weights_folder",
    "weights_by",
    "record",
    "replay",
    "prompts",
    "offline",
    "base",
    "val",
    "train",
    "model",
    "request",
}
"""Settings that name a server, a file or a folder of the machine; and those that are written separately."""
_FILES = ("data", "val")
"""Arguments of environments that may be files or folders."""
_PLACE = re.compile(
    r"""[^\s"',;]*://[^\s"',;]*"""
    r"""|(?<![^\s"',;:=(\[{])(?:\.{0,2}/|~[\w.-]*/|[A-Za-z]:[/\\]|\\\\)(?=[\w.~-])[^\s"',;]*"""
)
"""An address, or a path that begins at the root, at a home or at the working folder."""


def _chosen(stated: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the values of ``names``, None where one is not stated; the schema checks their types."""
    return {name: stated.get(name) for name in names}


def board_key(run: RunFolder) -> BoardKey:
    """Return the measured conditions of ``run``; the world of its environment belongs to the subject."""
    conditions = run.conditions
    arguments = {
        name: value
        for name, value in conditions.get("env_args", {}).items()
        # The data and the split have fields of their own, with the values that the run recorded.
        if name not in (WORLD, "split", *_FILES) and (name not in conditions or conditions[name] != value)
    }
    simulator = conditions.get("simulator")
    known = {*_STATED, "env_args", "max_seconds"}
    return BoardKey(
        **_chosen(conditions, _STATED[:6]),
        arguments=without_places(arguments),
        rules=without_places({name: value for name, value in conditions.items() if name not in known}),
        simulator=None
        if simulator is None
        else Simulator.model_validate({**simulator, "model": model_name(simulator["model"])}),
        limits=Limits(max_turns=conditions.get("max_turns"), max_seconds=conditions.get("max_seconds")),
    )


def subject_of(runs: Sequence[RunFolder]) -> Subject:
    """Return the subject of ``runs``, which are seeds of one algorithm."""
    first = runs[0].subject
    worlds = [run.world for run in runs if run.world is not None]
    return Subject(
        **_chosen(first, ("agent", "engine", "temperature", "max_tokens", "refine", "best_of")),
        model=model_name(first.get("model")),
        revision=first.get("revision"),
        prompts=dict(first.get("prompts") or {}),
        worlds=worlds or None,
        weights=first.get("weights"),
        training=_training(runs),
    )


def without_places(value: Any) -> Any:
    """Return a JSON value with ``URL`` and ``PATH`` for addresses and paths, which identify nothing."""
    if isinstance(value, dict):
        return {without_places(name): without_places(each) for name, each in value.items()}
    if isinstance(value, list):
        return [without_places(each) for each in value]
    if not isinstance(value, str):
        return value
    return _PLACE.sub(lambda found: "URL" if "://" in found[0] else "PATH", value)


def model_name(model: object) -> str | None:
    """Return the name of a model without the path of a folder on this machine."""
    if not isinstance(model, str):
        return None
    return f"folder {Path(model).name}" if is_path(model) else model


def is_path(model: str) -> bool:
    """Return whether a model's name can only be the path of a folder, which identifies no weights."""
    return model.startswith((".", "/", "~")) or model.count("/") > 1 or "\\" in model


def outcomes_by_task(run: RunFolder) -> tuple[RunOutcomes, Outcomes]:
    """Return the outcome of every planned episode of ``run``, and its outcomes as the statistics read them.

    Raises:
        RunFolderError: the folder is damaged.
    """
    played = {(e.task_id, e.trial): _outcome(e) for e in run.episodes()}
    failed = {row_key(row) for row in run.errors()}
    tasks: dict[str, dict[int, tuple[Any, ...]]] = {}
    for item in run.plan:
        missing: State = "infra" if item.key in failed else "owed"
        trial = played.get(item.key, (missing, None, None, None, False))
        tasks.setdefault(item.task_id, {})[item.trial] = trial
    if len({tuple(sorted(trials)) for trials in tasks.values()}) > 1:
        raise RunFolderError(f"{run.path / 'manifest.json'}: the tasks of the plan have different trials")
    read = outcomes_of(run)
    columns = tuple(TaskOutcome.model_fields)
    return RunOutcomes(
        seed=seed_of(run),
        tasks={
            task: TaskOutcome.model_validate(
                {name: [trials[i][c] for i in sorted(trials)] for c, name in enumerate(columns)}
            )
            for task, trials in tasks.items()
        },
        recovered_errors=read.counts.recovered_errors,
        unknown_rate=read.unknown_rate,
    ), read


def _outcome(episode: Episode) -> tuple[State, bool | None, float | None, str, bool]:
    state: State = "scored" if episode.success is not None else "unscored"
    if episode.filtered:
        state = "content_filter"
    reward = None if episode.filtered else episode.total_reward
    return state, episode.success, reward, episode.end_reason[:500], episode.truncated


def seed_of(run: RunFolder) -> int:
    """Return the base seed of ``run``.

    Raises:
        RunFolderError: the configuration has no seed.
    """
    seed = run.config.get("seed")
    if type(seed) is not int:
        raise RunFolderError(f"{run.path / 'config.json'}: seed must be a whole number, got {seed!r:.80}")
    return seed


def base_of(run: RunFolder) -> RunFolder | None:
    """Return the run of the untrained model within a training run; None if ``run`` is not one."""
    path = run.path / BASE
    return RunFolder.open(path) if (path / "manifest.json").exists() else None


def curve_of(run: RunFolder) -> Curve:
    """Return the validations of a training run."""
    points = [
        CurvePoint(
            gradient_steps=row["gradient_steps_total"],
            environment_steps=row["env_steps"],
            tokens=row["tokens"],
            seconds=row["seconds"],
            success=row["success"],
            ci=tuple(row["ci"]),
            tasks=row["tasks"],
            best=row["best"],
        )
        for row in latest(_metrics(run), "validation")
    ]
    return Curve(seed=seed_of(run), points=points)


def _training(runs: Sequence[RunFolder]) -> Training | None:
    subject = runs[0].subject
    settings = subject.get("train")
    if settings is None:
        return None
    if VALIDATION_SPLIT in subject:
        settings = {**settings, VALIDATION_SPLIT: subject[VALIDATION_SPLIT]}
    return Training(
        method=subject["agent"],
        budget=settings.get("budget"),
        settings=without_places({name: value for name, value in settings.items() if name != "budget"}),
        offline=subject.get("offline") is not None,
        runs=[_training_cost(run) for run in runs],
    )


def _training_cost(run: RunFolder) -> TrainingCost:
    rows = _metrics(run)
    last = next(iter(latest(rows, "iteration")[-1:]), {})
    chosen = [row["gradient_steps_total"] for row in latest(rows, "validation") if row["best"]]
    base = base_of(run)
    return TrainingCost(
        seed=seed_of(run),
        gradient_steps=last.get("gradient_steps_total", 0),
        environment_steps=last.get("env_steps", 0),
        generated_tokens=last.get("tokens", 0),
        seconds=last.get("seconds", 0.0),
        tokens_by_role=tokens(usage_from_row(last.get("usage", {}))),
        chosen_step=chosen[-1] if chosen else None,
        base_success=None if base is None else float(failed_if_missing(outcomes_by_task(base)[0]).mean()),
        weights_sha256=tested_weights(run),
    )


def _metrics(run: RunFolder) -> list[dict[str, Any]]:
    return list(run.metrics())


def tokens(usage: Mapping[str, Usage]) -> dict[str, Tokens]:
    """Return the usage by role as parts of an entry."""
    return {
        role: Tokens(
            calls=u.calls,
            prompt_tokens=u.prompt_tokens,
            completion_tokens=u.completion_tokens,
            cost=u.cost,
            seconds=u.seconds,
        )
        for role, u in sorted(usage.items())
    }


def cost_of(read: Sequence[Outcomes]) -> Cost:
    """Return the cost of the test episodes of some runs."""
    total: dict[str, Usage] = {}
    for run in read:
        for role, spent in run.usage.items():
            total[role] = total.get(role, Usage()) + spent
    return Cost(tokens_by_role=tokens(total), seconds=sum(run.seconds for run in read))


def provenance_of(run: RunFolder) -> RunProvenance:
    """Return code, packages and hashes of files of ``run``; ``dirty`` is that of any of its sessions."""
    sessions = run.manifest["sessions"]
    states = [(session.get("git") or {}).get("package") or {} for session in sessions]
    dirty = [state.get("dirty") for state in states]
    first = sessions[0]
    return RunProvenance(
        started=str(first.get("started")),
        nlac_bench=str(first.get("nlac_bench")),
        python=str(first.get("python")),
        commit=states[0].get("commit"),
        dirty=True if True in dirty else None if None in dirty else False,
        packages_sha256=hashlib.sha256(canonical(first["packages"])).hexdigest(),
        manifest_sha256=_file_sha256(run.path / "manifest.json"),
        episodes_sha256=_file_sha256(run.path / "episodes.jsonl"),
    )


def command(config: RunConfig) -> str:
    """Return the command that makes a run with ``config``, without servers and paths on this machine."""
    parts = ["nlac-bench", "run"]
    for name, field in RunConfig.model_fields.items():
        value = getattr(config, name)
        value = {"env": _env, "data": _named, "user_model": model_name}.get(name, without_places)(value)
        if name not in _NOT_REPEATED and value is not None and value != field.default:
            parts += [f"--{name.replace('_', '-')}", str(value)]
    if config.model is not None:
        parts += ["--model", str(model_name(config.model))]
    for name, value in (config.request or {}).items():
        parts += ["--request", f"{name}={json.dumps(without_places(value))}"]
    if config.train is not None:
        defaults = type(config.train).model_fields
        for name, value in config.train.as_dict().items():
            if value is not None and value != defaults[name].default:
                parts += ["--train", f"{name}={without_places(value)}"]
    text = shlex.join(parts)
    if len(text) > 4_000:
        raise EntryError(f"the command of this run has {len(text):,} characters; an entry holds 4,000")
    return text


def _env(text: str) -> str:
    """Return an environment string without addresses and paths; unchanged if it has none."""
    name, arguments = parse(text)
    kept = without_places(arguments) | {
        file: _named(arguments[file]) or "PATH" for file in _FILES if arguments.get(file) is not None
    }
    return text if kept == arguments else join(name, kept)


def _named(data: object) -> str | None:
    """Return ``data`` if it is a name, such as ``official``, and not a file or folder; else None."""
    return data if isinstance(data, str) and data.isidentifier() else None


def _file_sha256(path: Path) -> str:
    try:
        return sha256_of(path)
    except OSError as error:
        raise RunFolderError(f"{path} cannot be read ({error.strerror})") from None
