"""Compares `import nlac_bench` with `import gymnasium`, each in a new interpreter, in CPU seconds."""

import resource
import statistics
import subprocess
import sys
from typing import Any

from benchmarks.conftest import Row


def seconds(statement: str) -> float:
    """CPU seconds of an interpreter that runs ``statement``."""
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime


def test_import(benchmark: Any, row: Row, short: bool) -> None:
    seconds("import nlac_bench")  # compiles the bytecode
    pairs = [(seconds("import gymnasium"), seconds("import nlac_bench")) for _ in range(3 if short else 10)]
    benchmark.pedantic(seconds, args=("import nlac_bench",), rounds=3)
    bare, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
    benchmark.extra_info |= {"gymnasium_cpu_s": bare, "ratio": ours / bare}
    row("`import nlac_bench`", "`import gymnasium`", f"{ours / bare:.2f} × its time", "≤ 1.5 ×")
