"""The embedded model: a very small language model for all roles, on the embedded environments and CPUs."""

from pathlib import Path

from nlac_bench.errors import DataError


def path() -> Path:
    """Return the folder of the embedded model, for ``AutoModelForCausalLM.from_pretrained`` and engines.

    Raises:
        DataError: the package was installed without the weights.
    """
    folder = Path(__file__).parent / "weights"
    if not (folder / "model.safetensors").is_file():
        raise DataError(
            f"{folder} contains no weights; build them with `nlac-bench tiny build --out {folder}`"
        )
    return folder
