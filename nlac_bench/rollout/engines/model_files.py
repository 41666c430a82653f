"""Refuses a model whose files would have to be executed or unpickled, before any of its weights are read.

A Hugging Face model is JSON, safetensors, and a chat template that runs in a sandbox. A folder or a
repository can hold more: pickled weights, Python files that ``auto_map`` names, an adapter whose
configuration names another model. transformers reads some of these although ``trust_remote_code=False`` and
``use_safetensors=True`` are set, so they are looked for here.
"""

import functools
import itertools
import json
import math
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any

from nlac_bench.errors import NlacBenchError

INDEX = "model.safetensors.index.json"
HEADS = "scalar_heads.tensors"
"""The scalar heads beside a policy, in the format of safetensors. Its name does not end in ``.safetensors``:
vLLM would take them for weights of the model."""
MAX_JSON_BYTES = 256 * 2**20
"""Largest size of a JSON file of a model; tokenizers of large vocabularies have some tens of megabytes."""
_PICKLED = {".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"}
_IMPLEMENTATIONS = ("_attn_implementation", "attn_implementation", "_experts_implementation")
_SAFE = (".safetensors", ".safetensors.index.json")


class ModelFilesError(NlacBenchError):
    """Raised for a model that cannot be loaded without executing or unpickling its files."""


def check_model(name: str | PathLike[str]) -> None:
    """Check the files of the model ``name``, a folder or a Hugging Face id.

    Raises:
        ModelFilesError: the model has pickled weights and no safetensors, or is an adapter, a file names
            weights, a kernel or a tokenizer that must not be loaded, or a file is missing or irregular.
    """
    local = Path(name).is_dir()
    folder = Path(name) if local else _downloaded(str(name))
    if local:
        _check_regular(folder)
    if _json(folder, "adapter_config.json") is not None:
        raise ModelFilesError(
            f"{name} contains an adapter (adapter_config.json), which would load the model that its "
            "configuration names; merge the adapter into its model with peft's merge_and_unload, and pass "
            "the merged folder"
        )
    if local:
        _check_weights(folder)
    config = _json(folder, "config.json") or {}
    for file in _values(config, "transformers_weights"):
        if file is not None and not str(file).endswith(_SAFE):
            raise ModelFilesError(
                f"config.json of {name} names the weights {file!r}, which are not safetensors; loading them "
                "could execute code: convert them to model.safetensors"
            )
    for key in _IMPLEMENTATIONS:
        for kernel in _values(config, key):
            if "/" in json.dumps(kernel):
                raise ModelFilesError(
                    f"config.json of {name} has {key} {kernel!r:.200}, a kernel whose code transformers "
                    "would download and execute; remove the entry"
                )
    for file in set(map(str, ((_json(folder, INDEX) or {}).get("weight_map") or {}).values())):
        if not file.endswith(".safetensors") or PurePosixPath(file).name != file:
            raise ModelFilesError(
                f"{INDEX} of {name} names {file!r}, which is not a safetensors file beside it; loading it "
                "could execute code: convert the weights to safetensors"
            )
        if local and not (folder / file).is_file():
            raise ModelFilesError(
                f"cannot load the model {str(name)!r}: its {INDEX} names {file}, which is missing; copy or "
                "download the model again"
            )
    for source in (config, _json(folder, "tokenizer_config.json") or {}):
        _check_tokenizer_class(name, source.get("tokenizer_class"))


def _check_regular(folder: Path) -> None:
    """Refuse pipes, devices, huge JSON, and links to files that are not the model's."""
    for file in folder.iterdir():
        if file.is_dir():
            continue
        if not file.is_file():
            raise ModelFilesError(f"{file} is not a regular file; replace it with one, or remove it")
        if file.is_symlink() and file.suffix != ".safetensors" and not _stays(folder, file):
            raise ModelFilesError(
                f"{file} is a link to {file.resolve()}, outside the model's folder; replace it with a copy"
            )
        if file.suffix == ".json" and file.stat().st_size > MAX_JSON_BYTES:
            raise ModelFilesError(f"{file} has more than {MAX_JSON_BYTES:,} bytes")


def _stays(folder: Path, link: Path) -> bool:
    """Return whether ``link`` leads to a file of ``folder``, or of the Hugging Face cache that holds
    ``folder``."""
    target, home = link.resolve(), folder.resolve()
    cache = home.parent.parent / "blobs"  # models--X/snapshots/REVISION/file → models--X/blobs/HASH
    return target.is_relative_to(home) or (home.parent.name == "snapshots" and target.parent == cache)


def _check_weights(folder: Path) -> None:
    """Refuse pickled weights, and a configuration with far more layers or values than the weights.

    Building such a model would fill the memory before it is compared with the weights.
    """
    shapes = list(tensor_shapes(folder))
    pickled = sorted({file.suffix for file in folder.iterdir()} & _PICKLED)
    if not shapes and pickled:
        raise ModelFilesError(
            f"{folder} contains only pickled weights (*{pickled[0]}), which are never loaded, because "
            "unpickling can execute code; if you trust them, convert them to model.safetensors "
            "(transformers' save_pretrained writes it), and pass the converted folder"
        )
    if not shapes:
        return
    values = sum(math.prod(shape) for shape in shapes)
    experts = max([len(shapes), *itertools.chain(*shapes)])  # one tensor may have them all
    limits = {"num_hidden_layers": len(shapes), "num_experts": experts, "num_local_experts": experts}
    limits |= dict.fromkeys(
        ("hidden_size", "vocab_size", "intermediate_size", "max_position_embeddings"), values
    )
    config = _json(folder, "config.json") or {}
    for key, most in _with_aliases(config, limits):
        for value in _values(config, key):
            if isinstance(value, int | float) and value > most:
                raise ModelFilesError(
                    f"config.json of {folder} has {key} {value!r:.100}, but the weights have {len(shapes):,} "
                    f"tensors with {values:,} values; both must belong to the same model"
                )


def _with_aliases(config: object, limits: Mapping[str, int]) -> set[tuple[str, int]]:
    """Return ``limits`` also under the names of the model types in ``config``: GPT-2 has ``n_layer``."""
    from transformers import CONFIG_MAPPING

    found = set(limits.items())
    for kind in {kind for kind in _values(config, "model_type") if isinstance(kind, str)}:
        if kind in CONFIG_MAPPING:
            names = CONFIG_MAPPING[kind].attribute_map
            found |= {(names[key], most) for key, most in limits.items() if key in names}
    return found


def tensor_shapes(folder: Path) -> Iterator[tuple[int, ...]]:
    """Yield the shapes of all tensors in the ``*.safetensors`` of ``folder``, read from the files' headers.

    Raises:
        ModelFilesError: a file is truncated or not a safetensors file.
    """
    from safetensors import SafetensorError, safe_open

    for path in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(path, framework="numpy") as tensors:
                for name in tensors.keys():  # noqa: SIM118 - not a mapping
                    yield tuple(tensors.get_slice(name).get_shape())
        except (SafetensorError, OSError, ValueError) as error:
            raise ModelFilesError(
                f"{path} is truncated, or is not a safetensors file ({error}); copy or download it again"
            ) from error


def _check_tokenizer_class(name: str | PathLike[str], declared: object) -> None:
    """Refuse a class that is not a tokenizer; transformers would call its ``from_pretrained``."""
    if declared is None:
        return
    from transformers import PreTrainedTokenizerBase
    from transformers.models.auto.tokenization_auto import tokenizer_class_from_name

    names = [declared, declared.removesuffix("Fast")] if isinstance(declared, str) else []
    for kind in map(tokenizer_class_from_name, names):
        missing_package = getattr(kind, "is_dummy", False)
        if kind is None or missing_package or (
            isinstance(kind, type) and issubclass(kind, PreTrainedTokenizerBase)
        ):  # fmt: skip
            continue
        names = []
    if not names:
        raise ModelFilesError(
            f"the tokenizer_class of {name} is {declared!r:.200}, which is not a tokenizer of transformers; "
            "correct tokenizer_config.json or config.json"
        )


@functools.cache
def _downloaded(name: str) -> Path:
    """Return the folder in the Hugging Face cache with the JSON files of the model ``name``."""
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=["*.json"]))
    except Exception as error:  # errors of the network, the server or the cache
        reason = " ".join(str(error).split())[:1000]
        raise ModelFilesError(
            f"cannot load the model {name!r}: it is not a folder, and it cannot be found on the Hugging Face "
            f"Hub or in its cache ({reason})"
        ) from error


def _json(folder: Path, file: str) -> dict[str, Any] | None:
    """Return the content of a JSON file of the model; None if it does not have the file."""
    try:
        content = json.loads((folder / file).read_bytes())
        if not isinstance(content, dict):
            raise TypeError(f"expected an object, got {type(content).__name__}")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise ModelFilesError(f"{folder / file} is not a JSON object: {error}") from error
    return content


def _values(content: object, key: str) -> Iterator[object]:
    """Yield all values of ``key`` in a JSON object and in the objects within it."""
    waiting = [content]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            if key in each:
                yield each[key]
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
