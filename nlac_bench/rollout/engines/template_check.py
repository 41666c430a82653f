"""Refuses chat templates that leave Jinja's sandbox, do not end, or fill the memory."""

import functools
import subprocess
import sys
from pathlib import Path

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines import template_trial as trial
from nlac_bench.rollout.engines.tokenizer import Tokenizer

WALL_SECONDS = 300.0
"""The trial is limited by its CPU time; this limit only ends a trial that makes no progress."""


def check_template(tokenizer: Tokenizer) -> None:
    """Try each chat template of ``tokenizer`` on a few conversations, with limits on time and memory.

    transformers renders a template in Jinja's sandbox, which keeps it from calling Python functions, but does
    not limit time and memory. A template that becomes expensive only on conversations that the trial does
    not contain is not found.

    Raises:
        NlacBenchError: a template leaves the sandbox, or needs too much time or memory.
    """
    templates = tokenizer.chat_template
    for template in templates.values() if isinstance(templates, dict) else [templates]:
        if problem := _problem(str(template)):
            raise NlacBenchError(
                f"the chat template of {tokenizer.name_or_path!r} is refused: {problem}; correct the "
                "template, or use another model"
            )


@functools.lru_cache(maxsize=64)
def _problem(template: str) -> str | None:
    command = [sys.executable, "-I", str(Path(trial.__file__))]
    try:
        done = subprocess.run(
            command,
            input=template.encode("utf-8", "replace"),
            capture_output=True,
            timeout=WALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it did not finish within {WALL_SECONDS:g} seconds"
    if done.returncode == trial.ESCAPES:
        return f"it tries to leave Jinja's sandbox ({done.stdout.decode(errors='replace').strip()})"
    if done.returncode == trial.TOO_LARGE:
        return (
            f"on a short conversation it needs more than {trial.MEMORY_BYTES // 2**20} MB, or writes more "
            f"than {trial.MAX_CHARACTERS:,} characters"
        )
    if done.returncode < 0:
        return f"on short conversations it needs more than {trial.CPU_SECONDS} seconds"
    if done.returncode != trial.FINE:
        raise NlacBenchError(f"the trial of a chat template failed: {done.stderr.decode()[-500:]}")
    return None
