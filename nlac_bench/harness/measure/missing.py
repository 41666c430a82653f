"""Finds requirements of a run that this machine lacks (weights, keys, packages) before anything is loaded."""

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path

from nlac_bench import pretrained
from nlac_bench.agents.names import FLOORS
from nlac_bench.envs.datasets import official_folder
from nlac_bench.errors import ConfigError, MissingDataError, NlacBenchError
from nlac_bench.harness.measure.engines import engine_kind, is_named
from nlac_bench.harness.measure.official_tasks import (
    NEEDS_USER,
    USER_FIX,
    OfficialTasks,
    needs_user,
    official_tasks,
)
from nlac_bench.harness.runs.configuration import EngineKind, RunConfig
from nlac_bench.harness.runs.trackers import EXTRA, tracker_names
from nlac_bench.rollout.engines.model_files import check_model
from nlac_bench.rollout.engines.openai.address import read_address
from nlac_bench.rollout.engines.vllm import INSTALL_CPU, INSTALL_GPU

_HUB_TIMEOUT_S = 5.0
TRAIN_FIX = "pip install 'nlac-bench[train]'"
VLLM_FIX = f"{INSTALL_GPU}, or without an NVIDIA GPU {INSTALL_CPU}"


@dataclass(frozen=True)
class Missing:
    """A missing requirement, and how to get it."""

    what: str
    fix: str


def missing(config: RunConfig) -> list[Missing]:
    """Return the missing requirements of ``config``. No model or data is loaded.

    Raises:
        ConfigError: a model is a folder that does not exist or has no weights, which cannot be installed or
            fetched.
        ModelFilesError: the weights are pickled.
        EngineSetupError: the address of a server or a variable of a proxy or of certificates is not usable.
    """
    results = []
    if (data := missing_data(official_tasks(config))) is not None:
        results.append(data)
    if needs_user(config):
        results.append(Missing(NEEDS_USER.format(env=config.env), USER_FIX))
    if config.agent not in FLOORS and config.model is not None:
        engine = "hf" if config.servers is not None else config.engine  # the learner's packages are needed
        results += _model(config.model, config.base_url, engine, "--")
    if config.user_model is not None and config.replay is None:
        results += _model(config.user_model, config.user_base_url, "auto", "--user-")
    return [*dict.fromkeys(results), *missing_trackers(config)]


def missing_trackers(config: RunConfig) -> list[Missing]:
    """Return the packages of ``config.track`` that are not installed; nothing is imported."""
    absent = [name for name in tracker_names(config.track) if importlib.util.find_spec(name) is None]
    return [Missing(f"the package {name}", f"pip install 'nlac-bench[{EXTRA}]'") for name in absent]


def missing_data(official: OfficialTasks | None) -> Missing | None:
    """Return the official data set that ``official`` needs, if this machine lacks it."""
    if official is not None:
        try:
            official_folder(official.data)
        except MissingDataError as error:
            return Missing(error.what, error.fix)
    return None


def refuse_missing(config: RunConfig) -> None:
    """Raise an error if a requirement is missing.

    Raises:
        NlacBenchError: lists everything that is missing, and how to get it.
    """
    if result := missing(config):
        raise NlacBenchError("missing: " + "; ".join(f"{each.what}: {each.fix}" for each in result))


def _model(name: str, base_url: str | None, engine: EngineKind, prefix: str) -> list[Missing]:
    kind = engine_kind(name, base_url, engine)
    if kind == "openai":
        if base_url is not None:
            from nlac_bench.rollout.engines.openai.connection import Connections

            Connections(
                read_address(base_url, f"{prefix}base-url"), key="", concurrency=1
            )  # refuses what no run could use
        elif not os.environ.get("OPENAI_API_KEY"):
            return [
                Missing(
                    "an API key for OpenAI",
                    f"set OPENAI_API_KEY, or set {prefix}base-url to the URL of another server",
                )
            ]
        return []
    packages = {"torch": TRAIN_FIX, "transformers": TRAIN_FIX} | (
        {"vllm": VLLM_FIX} if kind == "vllm" else {}
    )
    results = [
        Missing(f"the package {package}", fix)
        for package, fix in packages.items()
        if importlib.util.find_spec(package) is None
    ]
    if name in pretrained.MODELS:
        try:
            pretrained.path(name)
        except MissingDataError as error:
            results.append(Missing(error.what, error.fix))
    if results or is_named(name):
        return results
    if Path(name).is_dir():
        if not any(Path(name).glob("*.safetensors")):
            check_model(name)  # says so if there are pickled weights
            raise ConfigError(
                f"{prefix}model names the folder {name}, which has no weights (*.safetensors); copy or "
                "download the model again"
            )
        return results
    if not _is_hub_id(name):
        raise ConfigError(
            f"{prefix}model names the model folder {name}, which does not exist; set "
            "it to an existing folder, or to a Hugging Face id such as Qwen/Qwen2.5-0.5B-Instruct"
        )
    if not available(name):
        advice = f"connect to the network, or set --model to the folder of a downloaded copy of {name}"
        results.append(Missing(f"the weights of {name}, which are not in the Hugging Face cache", advice))
    return results


def _is_hub_id(name: str) -> bool:
    from huggingface_hub.utils import HFValidationError, validate_repo_id

    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return True


def available(name: str) -> bool:
    """Return whether the weights of a Hugging Face id are in the local cache or on the hub."""
    from huggingface_hub import HfApi, try_to_load_from_cache

    if isinstance(try_to_load_from_cache(name, "config.json"), str):
        return True
    try:
        HfApi().model_info(name, timeout=_HUB_TIMEOUT_S)
    except Exception:  # no network, unknown model, offline mode: the exceptions differ between versions
        return False
    return True
