"""The embedded model: a miniature that plays NLAC's roles on the embedded environments, on two CPU cores."""

from pathlib import Path

from nlac_bench.errors import DataError


def path() -> Path:
    """The folder of the embedded model, for ``AutoModelForCausalLM.from_pretrained`` and engines.

    Raises:
        DataError: the package came without its weights.
    """
    folder = Path(__file__).parent / "weights"
    if not (folder / "model.safetensors").is_file():
        raise DataError(f"{folder} has no weights; build them with `nlac-bench tiny build --out {folder}`")
    return folder
