"""Finds what a run needs and this machine lacks (weights, keys, packages) before anything is loaded."""

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path

from nlac_bench.agents.registry import FLOORS
from nlac_bench.errors import NlacBenchError
from nlac_bench.eval.runs.configuration import RunConfig

_HUB_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Missing:
    """A missing requirement, and how to get it."""

    what: str
    fix: str


def missing(config: RunConfig) -> list[Missing]:
    """Return the missing requirements of ``config``.

    No model is loaded; data are checked when they are read.
    """
    found = []
    if config.agent not in FLOORS and config.model is not None:
        found += _model(config.model, config.base_url, config.engine, "--base-url")
    if config.user_model is not None and config.replay is None:
        found += _model(config.user_model, config.user_base_url, "auto", "--user-base-url")
    return list(dict.fromkeys(found))


def refuse_missing(config: RunConfig) -> None:
    """Raise an error if a requirement is missing.

    Raises:
        NlacBenchError: lists everything that is missing, and how to get it.
    """
    if found := missing(config):
        raise NlacBenchError("; ".join(f"{each.what}: {each.fix}" for each in found))


def _model(name: str, base_url: str | None, engine: str, flag: str) -> list[Missing]:
    local = name == "tiny" or "/" in name or Path(name).is_dir()
    if engine == "openai" or (engine == "auto" and (base_url or not local)):
        if base_url is None and not os.environ.get("OPENAI_API_KEY"):
            return [
                Missing(
                    "an API key for OpenAI", f"set OPENAI_API_KEY, or set {flag} to the URL of another server"
                )
            ]
        return []
    found = [
        Missing(f"the package {package}", "pip install 'nlac-bench[train]'")
        for package in ("torch", "transformers")
        if importlib.util.find_spec(package) is None
    ]
    if not found and name != "tiny" and not Path(name).is_dir() and not _available(name):
        advice = f"connect to the network, or set --model to the folder of a downloaded copy of {name}"
        found.append(Missing(f"the weights of {name}, which are not in the Hugging Face cache", advice))
    return found


def _available(name: str) -> bool:
    """Return whether the weights of a Hugging Face id are in the local cache or on the hub."""
    from huggingface_hub import HfApi, try_to_load_from_cache

    if isinstance(try_to_load_from_cache(name, "config.json"), str):
        return True
    try:
        HfApi().model_info(name, timeout=_HUB_TIMEOUT_S)
    except Exception:  # no network, unknown model, offline mode: the exceptions differ between versions
        return False
    return True
