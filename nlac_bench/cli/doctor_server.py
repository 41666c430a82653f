"""``nlac-bench doctor --base-url URL --model M``: what an OpenAI-compatible server accepts and returns."""

import asyncio
import warnings
from dataclasses import asdict

import typer

from nlac_bench.cli.output import console, escape, print_json
from nlac_bench.errors import ConfigError
from nlac_bench.rollout.engines.backoff import Retries
from nlac_bench.rollout.engines.openai.engine import OpenAIEngine
from nlac_bench.rollout.engines.openai.examine import Examined, examine

TIMEOUT_S = 120.0
"""Time limit for each request: a server may load the model first."""


def check_server(url: str, model: str | None, as_json: bool) -> None:
    """Print what a server accepts and returns; exit with code 1 if it does not answer a plain question."""
    if model is None:
        raise ConfigError("--base-url needs --model NAME, the name of a model on that server")
    retries = Retries(attempts=2, timeouts=1, max_wait=60.0)

    def make(extra: dict[str, object]) -> OpenAIEngine:
        return OpenAIEngine(model, base_url=url, timeout=TIMEOUT_S, retries=retries, extra=extra)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the changes are listed below
        found = asyncio.run(examine(make))
    if as_json:
        print_json(asdict(found))
    else:
        _show(url, found)
    if not found.ok:
        raise typer.Exit(1)


def _show(url: str, found: Examined) -> None:
    console.print(f"{escape(url)}: {'ok' if found.ok else 'cannot be used'}", soft_wrap=True)
    yes = {True: "yes", False: "no", None: "not tried"}
    rows = {
        "context": "not stated" if found.context is None else f"{found.context:,} tokens",
        "usage": yes[found.usage],
        "tools": yes[found.tools],
        "streaming": yes[found.streaming],
        "a full context is reported": yes[found.overflow],
    }
    for name, what in rows.items():
        console.print(f"{name}: {what}")
    for name, what in found.adapted.items():
        console.print(f"adapted: {escape(name)}: {escape(what)}", soft_wrap=True)
    for problem in found.problems:
        console.print(f"- {escape(problem)}", soft_wrap=True)
