"""Finds out whether a vLLM server can be a replica: version, model, flags and development endpoints."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from nlac_bench.rollout.engines.backoff import TransientFault
from nlac_bench.rollout.engines.vllm.http import KEY, Http, RefusedError
from nlac_bench.rollout.engines.vllm.plugin import BACKENDS, WeightsBy

OLDEST, NEWER = (0, 32), (0, 34)
"""Supported versions of vLLM: at least the first, and below the second."""


def flags(weights_by: WeightsBy) -> tuple[str, ...]:
    """Return the flags of a server that is a replica.

    The last one lets metrics contain ``prefix_hit_rate``.
    """
    return (
        "--enable-scale-out",
        "--weight-transfer-config", f'{{"backend": "{BACKENDS[weights_by]}"}}',
        "--logprobs-mode", "processed_logprobs",
        "--enable-prompt-tokens-details",
    )  # fmt: skip


QUICK_S = 30.0
"""Time limit of requests to servers that were left out, which each push tries again."""
ENVIRONMENT = {"VLLM_SERVER_DEV_MODE": "1"}
"""Environment variables of a server that is a replica."""


@dataclass(frozen=True, slots=True)
class Found:
    """The properties that a server reports. If there are ``problems``, the other fields may be defaults.

    ``served`` is the model's name on the server, ``context`` the largest number of tokens of prompt and
    answer together, ``exact`` whether it computes in float32, and ``block_size`` the number of tokens of a
    block of the prefix cache. ``weights_by`` are the methods by which it can get weights, ``dtype`` is the
    model's, and ``device`` that of vLLM, such as ``cuda`` or ``cpu``.
    """

    version: str | None
    problems: tuple[str, ...]
    served: str = ""
    context: int = 0
    exact: bool = True
    block_size: int = 1
    weights_by: tuple[WeightsBy, ...] = ()
    dtype: str = "float32"
    device: str = ""


async def look(http: Http, model: str | None, weights_by: WeightsBy = "file") -> Found:
    """Query the version and settings of a server; return the problems, each with its fix.

    Args:
        model: the model that it must serve; None accepts any.
        weights_by: how it will get weights.
    """
    try:
        version = str((await http.get("/version", QUICK_S))["version"])
    except TransientFault as fault:
        return Found(None, (f"unreachable: {fault}",))
    except (RefusedError, TypeError, KeyError) as error:
        return Found(None, (f"not a vLLM server: GET /version failed ({error})",))
    problems: list[str] = []
    try:
        problems += _version_problems(version)
        served, context = await _served(http, model, problems)
        await _check_generate(http, problems)
        config = await _config(http, problems)
        if config is None:
            return Found(version, tuple(problems), served, context)
        problems += _config_problems(config, weights_by)
        dtype = str(config["model_config"]["dtype"]).removeprefix("torch.")
        return Found(
            version,
            tuple(problems),
            served,
            context,
            exact="float32" in dtype,
            block_size=int(config["cache_config"]["block_size"]),
            weights_by=_ways(config),
            dtype=dtype,
            device=str((config.get("device_config") or {}).get("device_type", "")),
        )
    except (TransientFault, RefusedError, TypeError, LookupError, AttributeError, ValueError) as error:
        return Found(version, (*problems, f"unexpected reply: {type(error).__name__}: {error}"))


def _version_problems(version: str) -> Iterator[str]:
    numbers = re.match(r"(\d+)\.(\d+)", version)
    release = (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)
    if not OLDEST <= release < NEWER:
        wanted = f">={OLDEST[0]}.{OLDEST[1]},<{NEWER[0]}.{NEWER[1]}"
        yield f"version {version} of vLLM is not supported; install vllm{wanted}"


async def _served(http: Http, model: str | None, problems: list[str]) -> tuple[str, int]:
    """Return the name of the served model, and its context."""
    try:
        (first, *_) = (await http.get("/v1/models"))["data"]
    except RefusedError as error:
        if error.status != 401:
            raise
        problems.append(f"the server was started with --api-key; set {KEY} to its key")
        return "", 0
    names = [str(first["id"]), str(first.get("root") or "")]
    if model is not None and PurePath(model).name not in {PurePath(name).name for name in names}:
        problems.append(f"wrong model: the server serves {names[1] or names[0]!r}, not {model!r}")
    return names[0], int(first["max_model_len"])


async def _check_generate(http: Http, problems: list[str]) -> None:
    """Send a request without a prompt, which a working route refuses as incomplete."""
    try:
        await http.post("/inference/v1/generate", {})
    except RefusedError as error:
        if error.status in (403, 404):
            problems.append("missing flag: --enable-scale-out, for prompts and answers as token ids")
        elif error.status not in (400, 401, 422):
            raise


async def _config(http: Http, problems: list[str]) -> Mapping[str, Any] | None:
    """Return vLLM's configuration; None if the development endpoints are off."""
    try:
        config = (await http.get("/server_info?config_format=json"))["vllm_config"]
    except RefusedError as error:
        if error.status != 404:
            raise
        problems.append(
            "development endpoints are off, through which weights are replaced: set the server's environment "
            "variable VLLM_SERVER_DEV_MODE=1, on a private network only"
        )
        return None
    except TransientFault as fault:
        if "splitlines" not in str(fault):
            raise
        problems.append(
            "vLLM cannot list its packages: install pip in its environment, which uv creates without it"
        )
        return None
    if not isinstance(config, Mapping):
        raise TypeError(f"vllm_config of /server_info is not an object, but {type(config).__name__}")
    return config


def _ways(config: Mapping[str, object]) -> tuple[WeightsBy, ...]:
    """Return the methods by which a server can get weights."""
    backend = _backend(config)
    return (
        ("file",) if backend == BACKENDS["file"] else tuple(BACKENDS) if backend == BACKENDS["nccl"] else ()
    )


def _backend(config: Mapping[str, Any]) -> Any:
    return (config.get("weight_transfer_config") or {}).get("backend")


def _config_problems(config: Mapping[str, Any], weights_by: WeightsBy) -> Iterator[str]:
    model, ways, backend = config["model_config"], _ways(config), _backend(config)
    wanted = f'--weight-transfer-config \'{{"backend": "{BACKENDS[weights_by]}"}}\''
    if not ways:
        yield (
            f"our plug-in does not load the weights (backend: {backend}): install nlac-bench in the server's "
            f"environment and add {wanted}"
        )
    elif weights_by not in ways:
        yield (
            f"the server takes weights from files only (backend: {backend}): start it with {wanted}, or run "
            f"without --weights-by {weights_by}"
        )
    if model["logprobs_mode"] != "processed_logprobs":
        yield (
            f"--logprobs-mode is {model['logprobs_mode']}: add --logprobs-mode processed_logprobs, so that "
            "log-probabilities are those of the sampling distribution"
        )
    if model.get("quantization") is not None:
        yield f"the model is quantised ({model['quantization']}), so it cannot take new weights"
    if (config.get("device_config") or {}).get("device_type") == "cpu" and not model["enforce_eager"]:
        yield "missing flag on a CPU: --enforce-eager; compiled graphs keep the old weights"
