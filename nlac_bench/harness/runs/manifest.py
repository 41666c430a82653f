"""Describes the code, packages, Python and hardware of a run, and lists differences of two descriptions."""

import functools
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import nlac_bench
from nlac_bench.rollout.engines.hf.precision import cpu_info


def environment() -> dict[str, object]:
    """Return the software and hardware of this process, as plain JSON.

    The first call takes a quarter of a second; later ones return its result.

    Environment variables and git remotes are not recorded, because they may contain keys.
    """
    return {
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "nlac_bench": nlac_bench.__version__,
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": platform.platform(),
        "git": {"package": git_state(Path(nlac_bench.__file__).parent), "cwd": git_state(Path.cwd())},
        "packages": packages(),
        "hardware": hardware(),
    }


@functools.cache  # the code of a process does not change, and git is slow
def git_state(folder: Path) -> dict[str, object] | None:
    """Return the commit and whether tracked files differ from it; None without git or a repository.

    The result is cached for each folder: later changes are not seen. Callers must not change the result.

    Also None within a run folder, which somebody else may have sent: git executes programs that the
    repository in the current folder names.
    """
    if any(_holds_run(each) for each in (folder.resolve(), *folder.resolve().parents)):
        return None
    commit = _run("git", "-C", str(folder), "rev-parse", "HEAD")
    if commit is None:
        return None
    changes = _run("git", "-C", str(folder), "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": None if changes is None else bool(changes)}


def _holds_run(folder: Path) -> bool:
    return (folder / "manifest.json").exists() and (folder / "config.json").exists()


@functools.cache  # reading a hundred metadata files for every run would be slow
def packages() -> dict[str, str]:
    """Return the versions of all installed distributions by name. Callers must not change the dictionary."""
    results: dict[str, str] = {}
    for distribution in metadata.distributions():
        stated = distribution.metadata  # a property that reads the file
        if stated["Name"]:  # a partly removed package has no name
            results.setdefault(stated["Name"].lower(), stated["Version"])
    return dict(sorted(results.items()))


@functools.cache
def hardware() -> dict[str, object]:
    """Return the processor, number of cores, memory in bytes and GPUs. Callers must not change the result."""
    gpus = _run("nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader")
    return {
        "machine": platform.machine(),
        "cpu": cpu_info("model name") or platform.processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": _memory_bytes(),
        "gpus": gpus.splitlines() if gpus else [],
    }


def differences(old: Mapping[str, object], new: Mapping[str, object], prefix: str = "") -> list[str]:
    """Return the values that differ between two JSON objects, each in the form ``name: 'a' against 'b'``."""
    lines: list[str] = []
    for key in sorted(set(old) | set(new)):
        name = f"{prefix}{key}"
        a, b = old.get(key), new.get(key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            lines += differences(a, b, f"{name}.")
        elif a != b:
            lines.append(f"{name}: {_short(a)} against {_short(b)}")
    return lines


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"


def _run(*command: str) -> str | None:
    """Return the output of a program, or None if it is missing, fails or takes longer than ten seconds."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=10, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace").strip()


def _memory_bytes() -> int | None:
    if sys.platform == "win32":
        return None
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None
