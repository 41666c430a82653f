"""Identifies the weights in a model's folder: by their hash, and by the training run that made them."""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nlac_bench.errors import ConfigError
from nlac_bench.files import sha256_of
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.lines import RunFolderError, write_atomically
from nlac_bench.rollout.engines.model_files import HEADS
from nlac_bench.untrusted import read_json

TRAINED_BY = "training_run.json"
"""A file in a tested checkpoint's folder that names the training run; it stays with copies of the folder."""
_MAX_BYTES = 2**16
_TEXTS = ("agent", "env", "model", "manifest_sha256")


def weights_of(model: str | None) -> dict[str, Any] | None:
    """Return the identity of the model in the folder ``model``, as a run's subject and an entry have it.

    Returns:
        ``sha256`` of the names and hashes of all ``*.safetensors``, and ``run``: agent, environment, model,
        seed and the hash of the manifest of the training run of which ``model`` is a checkpoint, or a copy of
        a tested one, else None. None if ``model`` is not a folder with weights.

    Raises:
        ConfigError: a file of the weights cannot be read.
    """
    folder = Path(model or "")
    if not model or not folder.is_dir() or (sha256 := weights_sha256(folder)) is None:
        return None
    return {"sha256": sha256, "run": _run_of(folder) or _stated_run(folder, sha256)}


def weights_sha256(folder: Path) -> str | None:
    """Return the hash of the names and hashes of all ``*.safetensors`` in ``folder``, and of the scalar heads
    beside them; None without any.

    Raises:
        ConfigError: a file cannot be read.
    """
    files = sorted(folder.glob("*.safetensors"))
    if files and (folder / HEADS).is_file():
        files.append(folder / HEADS)
    try:
        listing = "".join(f"{sha256_of(file)}  {file.name}\n" for file in files)
    except OSError as error:
        raise ConfigError(f"the weights in {folder} cannot be read ({error.strerror})") from error
    return hashlib.sha256(listing.encode()).hexdigest() if files else None


def state_run(checkpoint: Path) -> str:
    """Write ``TRAINED_BY`` into the tested checkpoint of a training run, and return the hash of its weights.

    Raises:
        ConfigError: the checkpoint has no weights, or is in no run's folder.
    """
    sha256, run = weights_sha256(checkpoint), _run_of(checkpoint)
    if sha256 is None or run is None:
        raise ConfigError(f"{checkpoint} is not a checkpoint in the folder of a training run")
    write_atomically(checkpoint / TRAINED_BY, json.dumps({**run, "weights_sha256": sha256}) + "\n")
    return sha256


def _run_of(checkpoint: Path) -> dict[str, Any] | None:
    folder = checkpoint.resolve().parent
    if folder.name != "checkpoints":
        return None
    try:
        run = RunFolder.open(folder.parent)
        manifest = sha256_of(run.path / "manifest.json")
    except (RunFolderError, OSError):
        return None
    seed = run.config.get("seed")
    return {
        "agent": run.subject["agent"][:500],
        "env": run.conditions["env"][:500],
        "model": _first_model(run.subject),
        "seed": seed if type(seed) is int else None,
        "manifest_sha256": manifest,
    }


def _first_model(subject: Mapping[str, Any]) -> str:
    """Return the name of the model that training began with; of a checkpoint, that of its own training."""
    weights = subject.get("weights")
    run = weights.get("run") if isinstance(weights, dict) else None
    name = run.get("model") if isinstance(run, dict) else Path(str(subject.get("model"))).name
    return str(name)[:500]


def _stated_run(folder: Path, sha256: str) -> dict[str, Any] | None:
    """Return what ``TRAINED_BY`` states; None without the file, or if it is about other weights."""
    try:
        stated = read_json(folder / TRAINED_BY, _MAX_BYTES)
    except (OSError, ValueError):
        return None
    if not isinstance(stated, dict) or stated.get("weights_sha256") != sha256:
        return None
    run: dict[str, Any] = {name: stated.get(name) for name in (*_TEXTS, "seed")}
    texts = all(isinstance(run[name], str) and len(run[name]) <= 500 for name in _TEXTS)
    known = texts and (run["seed"] is None or type(run["seed"]) is int)
    return run if known and re.fullmatch("[0-9a-f]{64}", run["manifest_sha256"]) else None
