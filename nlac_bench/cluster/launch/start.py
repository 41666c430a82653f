"""Runs the script of a plan: with bash on this machine, or as a job of SLURM."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from nlac_bench.cluster.launch.plan import Plan
from nlac_bench.errors import ConfigError


def check_gpus(wanted: int) -> None:
    """Check that this machine has at least ``wanted`` GPUs.

    Raises:
        ConfigError: the machine has fewer GPUs.
    """
    import torch  # takes seconds

    result = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if result < wanted:
        raise ConfigError(
            f"{wanted} GPUs are wanted and this machine has {result}; set --gpus {result or 'N'} on a "
            "machine with GPUs, or use --dry-run, which prints the script"
        )


def run(script: str) -> int:
    """Run ``script`` with bash until it ends, and return its exit code.

    Commands of this Python's environment (``torchrun``, ``python``) are found first. SIGINT and SIGTERM are
    passed on to the script, which ends by itself.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    # A session of its own: Ctrl-C would otherwise reach all processes of the script at once.
    process = subprocess.Popen(
        ["bash", "-c", script], env={**os.environ, "PATH": path}, start_new_session=True
    )

    def pass_on(number: int, frame: object) -> None:
        process.send_signal(signal.SIGTERM)

    before = {each: signal.signal(each, pass_on) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        return process.wait()
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def submit(plan: Plan, script: str) -> str:
    """Submit ``script`` as a job and return what sbatch prints.

    Raises:
        ConfigError: this machine has no sbatch, or sbatch refuses the script.
    """
    try:
        done = subprocess.run(["sbatch"], input=script, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise ConfigError(
            f"{plan.settings.nodes} machines need SLURM, and the command sbatch is not found; print the "
            "script with --dry-run, and submit it on a machine that has SLURM"
        ) from None
    if done.returncode:
        raise ConfigError(f"sbatch refused the script: {done.stderr.strip()[:1000]}")
    return done.stdout.strip()
