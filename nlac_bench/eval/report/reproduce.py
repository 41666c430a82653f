"""The section on how to reproduce runs: commands, code, data, hardware."""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nlac_bench.agents import methods
from nlac_bench.eval.figures.figure import Cell, Table
from nlac_bench.eval.report.page import Numbers, Section
from nlac_bench.eval.runs.folder import RunFolder
from nlac_bench.eval.runs.trust import as_options, to_repeat


def reproduce_section(runs: Sequence[RunFolder], arguments: Sequence[str]) -> Section:
    """Return the commands that repeat ``runs`` and the report of ``arguments``, and what they ran with."""
    commands = [run_command(run) for run in runs]
    commands.append(shlex.join(["nlac-bench", "report", *arguments, "--out", "report.html"]))
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        rows += [(run.path.name or str(run.path), *fact) for fact in facts(run)]
    table = Numbers(
        "provenance", "What the runs were made with", Table(("run", "what", "value"), tuple(rows))
    )
    note = (
        "A run repeats exactly on the same hardware and packages if it is deterministic (--train "
        "deterministic=true for training); otherwise it repeats statistically."
    )
    return Section("reproduce", "How to reproduce", (note,), tables=(table,), commands=tuple(commands))


def run_command(run: RunFolder) -> str:
    """Return the command that starts a new run with the settings of ``run``."""
    trains = run.subject.get("train") is not None
    verb = "eval" if run.subject["agent"] in methods.names() and not trains else "run"
    config = str(Path(run.path) / "config.json")
    return shlex.join(["nlac-bench", verb, "--config", config, *as_options(to_repeat(run.config))])


def facts(run: RunFolder) -> list[tuple[str, str]]:
    """Return what ``run`` was made with, as pairs of name and value."""
    first = run.manifest["sessions"][0]
    git = _mapping(_mapping(first.get("git")).get("package"))
    hardware = _mapping(first.get("hardware"))
    conditions = run.conditions
    found: list[tuple[str, Any]] = [
        ("environment", conditions.get("env")),
        ("environment's arguments", json.dumps(conditions["env_args"], sort_keys=True)
         if conditions.get("env_args") else None),
        ("environment's version", conditions.get("env_version")),
        ("split", conditions.get("split")),
        ("data", conditions.get("data_source")),
        ("SHA-256 of the data", conditions.get("data_sha256")),
        ("user", conditions.get("user")),
        ("agent", run.subject.get("agent")),
        ("model", run.subject.get("model")),
        ("seed", run.config.get("seed")),
        ("world", run.world),
        ("started", first.get("started")),
        ("sessions", len(run.manifest["sessions"])),
        ("nlac-bench", first.get("nlac_bench")),
        ("commit", git.get("commit")),
        ("tracked files differ from the commit", {True: "yes", False: "no"}.get(git.get("dirty") is True)
         if git.get("commit") else None),
        ("Python", first.get("python")),
        ("platform", first.get("platform")),
        ("processor", hardware.get("cpu")),
        ("cores", hardware.get("cores")),
        ("GPUs", ", ".join(map(str, hardware.get("gpus") or [])) or None),
        ("packages", len(first["packages"])),
    ]  # fmt: skip
    return [(name, str(value)) for name, value in found if value is not None]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
