"""The section on how to reproduce runs: commands, code, data, hardware."""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.trust import as_options, to_repeat
from nlac_bench.reports.figures.figure import Cell, Table
from nlac_bench.reports.report.page import NumbersTable, Section, sentence


def reproduce_section(runs: Mapping[str, RunFolder], arguments: Sequence[str]) -> Section:
    """Return the commands that repeat ``runs`` and the report of ``arguments``, and the software of the runs.

    Args:
        runs: by their folders, relative to the one in which the commands are typed.
        arguments: of the command ``report``, with the same folders.
    """
    objects = [folder for folder, run in runs.items() if run.subject["agent"].endswith("()")]
    commands = [run_command(folder, run) for folder, run in runs.items() if folder not in objects]
    commands.append(shlex.join(["nlac-bench", "report", *arguments, "--out", "report.html"]))
    rows: list[tuple[Cell, ...]] = []
    for folder, run in runs.items():
        rows += [(folder, *fact) if len(runs) > 1 else fact for fact in facts(run)]
    header = ("run", "what", "value") if len(runs) > 1 else ("what", "value")
    table = NumbersTable("provenance", "What the runs were made with", Table(header, tuple(rows)))
    where = sentence(list(dict.fromkeys(Path(folder).parts[0] for folder in runs)))
    notes = (
        f"The commands are typed in the folder that contains {where}.",
        "A run repeats exactly on the same hardware and packages if it is deterministic (--train "
        "deterministic=true for training); otherwise it repeats statistically.",
        *(
            f"The agent of {folder} is an object of a Python program. The program repeats the run with "
            f"nlac_bench.evaluate(…, config={f'{folder}/config.json'!r})."
            for folder in objects
        ),
    )
    return Section(
        "reproduce", "How to reproduce", notes, tables=(table,), commands=tuple(commands), folded=True
    )


def run_command(folder: str, run: RunFolder) -> str:
    """Return the command that starts a new run with the settings of ``run``, which is in ``folder``."""
    verb = "eval" if run.subject.get("train") is None else "run"
    return shlex.join(
        ["nlac-bench", verb, "--config", f"{folder}/config.json", *as_options(to_repeat(run.config))]
    )


def facts(run: RunFolder) -> list[tuple[str, str]]:
    """Return the software and hardware of ``run`` as pairs of name and value."""
    first = run.manifest["sessions"][0]
    git = _mapping(_mapping(first.get("git")).get("package"))
    hardware = _mapping(first.get("hardware"))
    conditions, gpus = run.conditions, hardware.get("gpus")
    results: list[tuple[str, object]] = [
        ("environment", conditions.get("env")),
        ("environment's arguments", json.dumps(conditions["env_args"], sort_keys=True)
         if conditions.get("env_args") else None),
        ("environment's version", conditions.get("env_version")),
        ("split", conditions.get("split")),
        ("data", conditions.get("data_source")),
        ("SHA-256 of the data", conditions.get("data_sha256")),
        ("user", conditions.get("user")),
        ("agent", run.label),
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
        ("GPUs", ", ".join(map(str, gpus)) if isinstance(gpus, list) and gpus else None),
        ("packages", len(first["packages"])),
    ]  # fmt: skip
    return [(name, str(value)) for name, value in results if value is not None]


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
