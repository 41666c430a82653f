"""`import nlac_bench` against a bare `import gymnasium`, each in a fresh interpreter."""

import statistics
import subprocess
import sys
import time
from typing import Any


def seconds(statement: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - start


def test_import(benchmark: Any) -> None:
    seconds("import nlac_bench")  # compiles the byte code
    pairs = [(seconds("import gymnasium"), seconds("import nlac_bench")) for _ in range(10)]
    benchmark.pedantic(seconds, args=("import nlac_bench",), rounds=3)
    bare, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
    benchmark.extra_info |= {"gymnasium_s": bare, "ratio": ours / bare, "limit": 1.5}
    assert ours / bare <= 1.5
