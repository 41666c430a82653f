"""The embedded models: their weights, tokenizer, and gates."""

from collections.abc import Mapping
from pathlib import Path

from nlac_bench.errors import DataError

FOLDERS: Mapping[str, str] = {"tiny": "weights", "tiny-worlds": "weights_worlds"}
"""Folder of the weights in this package, by the model's name."""


def path(model: str = "tiny") -> Path:
    """Return the folder of an embedded model, for ``AutoModelForCausalLM.from_pretrained`` and engines.

    Args:
        model: ``tiny`` or ``tiny-worlds``.

    Raises:
        DataError: the package was installed without the weights.
    """
    folder = Path(__file__).parent / FOLDERS[model]
    if not (folder / "model.safetensors").is_file():
        raise DataError(
            f"{folder} contains no weights; build them with "
            f"`nlac-bench tiny build --model {model} --out {folder}`"
        )
    return folder
