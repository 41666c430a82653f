"""Measures a verified push of the embedded model to two stock vLLM servers on this machine's CPU.

It runs in the environment of ``make test-vllm``, like ``bench_vllm.py``.
"""

import importlib.util
import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.conftest import Row
from nlac_bench import tiny
from nlac_bench.rollout.engines.engine import Slot
from nlac_bench.rollout.engines.hf.loading import load_model
from nlac_bench.rollout.engines.vllm.plugin import BACKENDS, WeightsBy
from nlac_bench.rollout.engines.vllm.server_check import ENVIRONMENT, flags
from nlac_bench.rollout.engines.vllm.servers import connect
from nlac_bench.rollout.engines.weights import ModelSource

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("vllm") is None,
    reason="vLLM is not installed; run it with .venv-vllm/bin/python",
)

CONTEXT = 4096
STARTING_S = 600


@contextmanager
def servers(count: int, folder: Path, logs: Path) -> Iterator[list[str]]:
    """Start stock vLLM servers, yield their addresses when they answer, and end them."""
    with ExitStack() as running:
        urls = []
        for number in range(count):
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            command = [
                sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder),
                *flags("nccl"), "--port", str(port), "--host", "127.0.0.1",
                "--dtype", "float32", "--enforce-eager", "--max-model-len", str(CONTEXT),
                "--gpu-memory-utilization", "0.3",
            ]  # fmt: skip
            log = running.enter_context((logs / f"server{number}.log").open("w"))
            core = str(number % (os.cpu_count() or 1))  # threads of two servers on the same cores would wait
            environment = {
                **os.environ, **ENVIRONMENT,
                "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": core,
            }  # fmt: skip
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            running.callback(process.wait)
            running.callback(process.terminate)
            urls.append(f"http://127.0.0.1:{port}")
        for url in urls:
            wait_for(url)
        yield urls


def wait_for(url: str) -> None:
    deadline = time.monotonic() + STARTING_S
    while True:
        try:
            urllib.request.urlopen(f"{url}/health", timeout=10).close()
            return
        except (urllib.error.URLError, OSError):
            assert time.monotonic() < deadline, f"{url} does not answer"
            time.sleep(1)


def seconds(function: Any, *arguments: Any) -> float:
    began = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - began


def test_push_to_two_servers(benchmark: Any, row: Row, short: bool, tmp_path: Path) -> None:
    """By file and by broadcast, in turns, to the same servers."""
    source = ModelSource(load_model(str(tiny.path()), torch.float32))
    times: dict[WeightsBy, list[float]] = {way: [] for way in BACKENDS}
    with servers(2, tiny.path(), tmp_path) as urls:
        slots: list[tuple[str, Slot]] = [(url, "policy") for url in urls]
        engine = connect(str(tiny.path()), slots, timeout=300, weights_by="nccl")
        by_broadcast = engine.fanouts
        try:
            for version in range(1, 4 if short else 12):
                for way in BACKENDS:
                    engine.fanouts = by_broadcast if way == "nccl" else {}
                    times[way].append(seconds(engine.sync, source, version, "policy"))
            benchmark.pedantic(engine.sync, (source, 20, "policy"))
        finally:
            engine.close()
    benchmark.extra_info |= {"push_seconds": times}
    file, sent = (statistics.median(times[way]) for way in ("file", "nccl"))
    row(
        "verified push of `tiny` to two vLLM servers by broadcast (Gloo)",
        "by file",
        f"{sent / file:.2f} × its time (medians {sent:.2f} and {file:.2f} s)",
        "≤ 0.3 s",
    )
