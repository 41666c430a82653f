"""Identifies the weights in a model's folder: by their hash, and by the training run that made them."""

import hashlib
from pathlib import Path
from typing import Any

from nlac_bench.errors import ConfigError
from nlac_bench.files import sha256_of
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.lines import RunFolderError


def weights_of(model: str | None) -> dict[str, Any] | None:
    """Return the identity of the model in the folder ``model``, as a run's subject and an entry have it.

    Returns:
        ``sha256`` of the names and hashes of all ``*.safetensors``, and ``run``: agent, environment, model,
        seed and the hash of the manifest of the training run of which ``model`` is a checkpoint, else None.
        None if ``model`` is not a folder with weights.

    Raises:
        ConfigError: a file of the weights cannot be read.
    """
    folder = Path(model or "")
    files = sorted(folder.glob("*.safetensors")) if model and folder.is_dir() else []
    if not files:
        return None
    try:
        listing = "".join(f"{sha256_of(file)}  {file.name}\n" for file in files)
    except OSError as error:
        raise ConfigError(f"the weights in {folder} cannot be read ({error.strerror})") from error
    return {"sha256": hashlib.sha256(listing.encode()).hexdigest(), "run": _run_of(folder)}


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
        "model": Path(str(run.subject.get("model"))).name[:500],
        "seed": seed if type(seed) is int else None,
        "manifest_sha256": manifest,
    }
