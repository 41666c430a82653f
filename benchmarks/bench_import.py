"""Compares ``import nlac_bench`` and ``nlac-bench --version`` with lighter processes, in CPU seconds."""

import resource
import statistics
import subprocess
import sys
from typing import Any

from benchmarks.conftest import Row

GYMNASIUM, PACKAGE = ("-c", "import gymnasium"), ("-c", "import nlac_bench")
VERSION = ("-m", "nlac_bench", "--version")


def seconds(*arguments: str) -> float:
    """CPU seconds of an interpreter that is started with ``arguments``."""
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime


def compared(benchmark: Any, ours: tuple[str, ...], bare: tuple[str, ...], short: bool) -> float:
    """Median CPU seconds of ``ours`` divided by those of ``bare``; the two run in turn."""
    seconds(*ours)  # compiles the bytecode
    pairs = [(seconds(*bare), seconds(*ours)) for _ in range(3 if short else 10)]
    benchmark.pedantic(seconds, args=ours, rounds=3)
    bare_s, ours_s = (statistics.median(column) for column in zip(*pairs, strict=True))
    benchmark.extra_info |= {"bare_cpu_s": bare_s, "ratio": ours_s / bare_s}
    return ours_s / bare_s


def test_import(benchmark: Any, row: Row, short: bool) -> None:
    ratio = compared(benchmark, PACKAGE, GYMNASIUM, short)
    row("`import nlac_bench`", "`import gymnasium`", f"{ratio:.2f} × its time", "≤ 1.5 ×")


def test_version(benchmark: Any, row: Row, short: bool) -> None:
    ratio = compared(benchmark, VERSION, PACKAGE, short)
    row("`nlac-bench --version`", "`import nlac_bench`", f"{ratio:.2f} × its time", "≤ 1.3 ×")
