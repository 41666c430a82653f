"""A vLLM server on GPUs of its own, which gets weights by broadcast from a model on the first GPU."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.vllm.server_check import ENVIRONMENT, flags
from nlac_bench.rollout.engines.vllm.servers import SlotEngine, slot_engine

START_S, REQUEST_S = 1800.0, 600.0
"""Time limits of the start, and of each request."""
END_S = 60.0
"""Seconds for the server to end; then it is killed."""


class ServedEngine(SlotEngine):
    """The engine of one server, which ``close`` ends.

    Args:
        folder: the model's.
        gpus: number of GPUs of the server: those after the first.

    Raises:
        NlacBenchError: the server ends, or does not answer within ``START_S``; the message has the end of its
            output.
    """

    def __init__(self, folder: Path, gpus: int) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed in _end
        self._process = subprocess.Popen(
            command(folder, gpus, port),
            env={**os.environ, **ENVIRONMENT, "CUDA_VISIBLE_DEVICES": visible(gpus, os.environ)},
            stdout=self._log,
            stderr=self._log,
        )
        url = f"http://127.0.0.1:{port}"
        try:
            _wait(url, self._process, self._log)
            made = slot_engine(str(folder), [(url, "policy")], timeout=REQUEST_S, weights_by="nccl")
        except BaseException:
            self._end()
            raise
        super().__init__(made.pools, None, made.fanouts)

    def close(self) -> None:
        """Close the connections and end the server."""
        super().close()
        self._end()

    def _end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._log.close()


def command(folder: Path, gpus: int, port: int) -> list[str]:
    """Return the command of the server."""
    return [
        sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder),
        "--host", "127.0.0.1", "--port", str(port), "--dtype", "bfloat16", "--max-model-len", "4096",
        "--tensor-parallel-size", str(gpus), "--disable-uvicorn-access-log", *flags("nccl"),
    ]  # fmt: skip


def visible(gpus: int, environment: Mapping[str, str]) -> str:
    """Return ``CUDA_VISIBLE_DEVICES`` of the server: those after the first of this process."""
    own = [name for name in environment.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return ",".join((own or [str(number) for number in range(gpus + 1)])[1 : gpus + 1])


def _wait(url: str, process: "subprocess.Popen[bytes]", log: IO[bytes]) -> None:
    began = time.monotonic()
    while True:
        try:
            urllib.request.urlopen(f"{url}/health", timeout=10).close()
            return
        except (urllib.error.URLError, OSError):
            waited = time.monotonic() - began
        if process.poll() is not None or waited > START_S:
            log.seek(0)
            output = log.read().decode("utf-8", "replace")[-1000:]
            raise NlacBenchError(f"the vLLM server did not start within {waited:.0f} s: {output}")
        time.sleep(1)
