"""Checkpoints from which a training resumes with bitwise the same results, and export to Hugging Face.

A checkpoint consists of safetensors files, one for each rank with its shards, and of JSON
(``checkpoint_index``). It can be loaded by another number of ranks: each reads its rows from the files that
have them (``Shards``). Nothing in it is unpickled, so a folder that somebody else made can be loaded.

Rank 0 calls these functions; all ranks must see the same folder, which on several machines is a shared one.
"""

import copy
import math
import os
import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from huggingface_hub import save_torch_state_dict
from torch import Tensor

from nlac_bench.errors import CheckpointError, DataError
from nlac_bench.files import replace_folder, restore_folder, sync
from nlac_bench.learner import checkpoint_index, optimizer_state, tensor_file
from nlac_bench.learner.checkpoint_index import Index
from nlac_bench.learner.learner import Learner
from nlac_bench.learner.ranks import collective
from nlac_bench.learner.shards import rank_file, read_shards
from nlac_bench.learner.whole import local_part, sharded_like
from nlac_bench.rollout.engines.model_files import HEADS
from nlac_bench.rollout.engines.tokenizer import Tokenizer

_MERSENNE_WORDS = 624
EXPORT_FILE = 5 * 10**9
"""Largest size in bytes of a file of an exported model, if no tensor is larger."""


def save(
    learner: Learner, path: str | os.PathLike[str], loop_state: Callable[[Path], dict[str, object]]
) -> None:
    """Write a checkpoint: weights, optimizer, moving average, step, random generators, and the loop's state.

    It is written beside ``path``, synchronised with the disk and then renamed, so that a killed save or a
    power cut leaves the earlier checkpoint intact.

    Args:
        loop_state: called with the checkpoint's folder, into which it may write files (such as a replay
            buffer); returns the rest of the training loop's state (counters, the best validation result) in
            a form that JSON can represent.
    """
    path = Path(path)
    partial = path.with_name(f".{path.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    _write_shards(learner, partial)
    checkpoint_index.write(
        partial,
        step=learner.step,
        world_size=dist.get_world_size(),
        optimizer=optimizer_state.settings(learner.optimizer),
        loop=loop_state(partial),
    )
    replace_folder(partial, path)


@collective
def _write_shards(learner: Learner, folder: Path) -> None:
    """Write each rank's file into ``folder``, and return when all are on the disk."""
    file = folder / rank_file(dist.get_rank())
    tensor_file.write(file, _tensors(learner) | _optimizer_tensors(learner))
    sync(file)  # only the file: other ranks still write to the folder
    dist.barrier()


def load(learner: Learner, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Restore the state of ``learner`` that ``save`` wrote and return the loop's state.

    All files are checked before ``learner`` is changed, on every rank. A rank or a GPU that the checkpoint
    does not know keeps its random generators, which only dropout uses.

    Raises:
        CheckpointError: the folder is not a checkpoint, it is damaged or of an earlier format, or it is one
            of another model.
    """
    path = Path(path)
    restore_folder(path)
    index = checkpoint_index.read(path)
    ranks = [rank_file(rank) for rank in range(index.world_size)]
    checkpoint_index.check_files(path, index, {*index.files, *ranks})
    if refused := [problem for problem in _problems(learner, path, index) if problem is not None]:
        raise CheckpointError(
            f"the checkpoint {path} does not fit this model or these settings: {refused[0]}; resume with the "
            "model and the settings that it was written with, or start a new run"
        )
    _restore(learner, path, index)
    return index.loop


@collective
def _problems(learner: Learner, path: Path, index: Index) -> list[str | None]:
    """Return on rank 0 the reason why each rank cannot load the checkpoint, None for a rank that can."""
    problem = None
    try:
        stored, optimizer = _read(learner, path, index)
        _check(_tensors(learner), stored)
        trained = {name: local_part(p) for name, p in learner.master.items() if p.requires_grad}
        optimizer_state.check(learner.optimizer, trained, index.optimizer, optimizer)
        before = _generators()
        _set_generators(stored)
        _set_generators({f"generators/{name}": state for name, state in before.items()})
    except (DataError, TypeError) as error:
        problem = str(error)
    problems: list[str | None] = [problem] * dist.get_world_size()
    dist.gather_object(problem, problems if dist.get_rank() == 0 else None, dst=0)
    return problems


@collective
def _restore(learner: Learner, path: Path, index: Index) -> None:
    stored, optimizer = _read(learner, path, index)
    _set_generators(stored)
    with torch.no_grad():
        for name, tensor in _tensors(learner).items():
            if not name.startswith("generators/"):
                tensor.copy_(stored[name])
    optimizer_state.restore(learner.optimizer, _names(learner), optimizer, sharded_like)
    learner.step = index.step


def _read(learner: Learner, path: Path, index: Index) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return this rank's tensors, and those of its optimizer.

    Raises:
        DataError: the files are damaged, or do not fit each other or the learner.
    """
    stored = read_shards(path, index.world_size, {name: p.shape for name, p in learner.master.items()})
    optimizer = {
        name.removeprefix("optimizer/"): stored.pop(name)
        for name in list(stored)
        if name.startswith("optimizer/")
    }
    if not any(name.startswith("generators/") for name in stored):
        stored |= {f"generators/{name}": state for name, state in _generators().items()}
    if torch.cuda.is_available():
        stored.setdefault("generators/cuda", torch.cuda.get_rng_state())
    else:
        stored.pop("generators/cuda", None)
    return stored, optimizer


def export(learner: Learner, folder: str | os.PathLike[str], tokenizer: Tokenizer | None = None) -> None:
    """Write the policy as a Hugging Face folder (safetensors) that any engine can load.

    The tensors have the dtype in which the learner computes, so a model trained in bf16 is written in bf16.
    Only rank 0 keeps the whole model in memory; the tensors are gathered one by one. A model of more than
    ``EXPORT_FILE`` is written as several files and an index. The heads that value actions are in the file
    ``model_files.HEADS``, for ``--best-of``.
    """
    dtype = torch.bfloat16 if learner.config.precision == "bf16" else torch.float32
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    base: Any = learner.model.causal_lm
    base = base.get_base_model() if learner.config.lora is not None else base
    tensors = {name: _whole(tensor.to("cpu", dtype)) for name, tensor in learner.named_tensors()}
    save_torch_state_dict(tensors, folder, max_shard_size=EXPORT_FILE)
    if heads := learner.action_heads():
        tensor_file.write(folder / HEADS, heads)
    config = copy.deepcopy(base.config)
    config.dtype = dtype
    config.save_pretrained(folder)
    if base.can_generate():
        base.generation_config.save_pretrained(folder)
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)


def _whole(tensor: Tensor) -> Tensor:
    """Return ``tensor`` with a storage of its own, which huggingface_hub needs.

    A tensor whose rows the ranks share unequally is gathered with padding, and is then a part of the storage.
    """
    return tensor if tensor.untyped_storage().nbytes() == tensor.nbytes else tensor.clone()


def _names(learner: Learner) -> dict[Tensor, str]:
    return {parameter: name for name, parameter in learner.master.items()}


def _tensors(learner: Learner) -> dict[str, Tensor]:
    """Return this process's state without the optimizer's; writing to a tensor changes the learner.

    The generators' states are copies.
    """
    model = learner.model
    persistent = model.state_dict().keys()
    buffers = {name: buffer for name, buffer in model.named_buffers() if name in persistent}
    return {
        **{f"model/{name}": local_part(p).detach() for name, p in {**learner.master, **buffers}.items()},
        **{f"ema/{n}": average for n, average in zip(learner.master, learner.ema or (), strict=False)},
        **{f"generators/{name}": state for name, state in _generators().items()},
    }


def _optimizer_tensors(learner: Learner) -> dict[str, Tensor]:
    stored = optimizer_state.tensors(learner.optimizer, _names(learner))
    return {f"optimizer/{name}": local_part(tensor) for name, tensor in stored.items()}


def _check(own: Mapping[str, Tensor], stored: Mapping[str, Tensor]) -> None:
    """Raise DataError unless names, shapes and types are equal."""
    differing = sorted(own.keys() ^ stored.keys())
    if differing:
        fault = "does not contain the" if differing[0] in own else "contains an unexpected"
        raise DataError(f"the checkpoint {fault} tensor {differing[0]!r} ({len(differing)} names differ)")
    for name, tensor in own.items():
        other = stored[name]
        if tensor.shape != other.shape or tensor.dtype != other.dtype:
            raise DataError(
                f"the checkpoint's tensor {name!r} has shape {tuple(other.shape)} and type {other.dtype}, "
                f"expected {tuple(tensor.shape)} and {tensor.dtype}"
            )


def _generators() -> dict[str, Tensor]:
    """Return the states of Python's, NumPy's and torch's random generators as tensors."""
    _, words, gauss = random.getstate()
    numpy_state: Any = np.random.get_state()
    generators = {
        "torch": torch.get_rng_state(),
        "python": torch.tensor(words, dtype=torch.int64),
        "python_gauss": torch.tensor([float("nan") if gauss is None else gauss], dtype=torch.float64),
        "numpy": torch.from_numpy(numpy_state[1].astype(np.int64)),
        "numpy_position": torch.tensor([numpy_state[2], numpy_state[3]], dtype=torch.int64),
        "numpy_gauss": torch.tensor([numpy_state[4]], dtype=torch.float64),
    }
    if torch.cuda.is_available():
        generators["cuda"] = torch.cuda.get_rng_state()
    return generators


def _set_generators(stored: Mapping[str, Tensor]) -> None:
    """Set the generators to the states in ``stored``, the tensors of a checkpoint.

    Raises:
        DataError: a state is not one that its generator can have.
    """
    generators = {name: stored[f"generators/{name}"] for name in _generators()}
    gauss = generators["python_gauss"].item()
    words = tuple(generators["python"].tolist())
    position, has_gauss = generators["numpy_position"].tolist()
    key = generators["numpy"].numpy().astype(np.uint32)
    try:
        # NumPy does not check the position, and would read memory outside of the state.
        if not 0 <= position <= _MERSENNE_WORDS:
            raise ValueError(f"position {position} in a state of {_MERSENNE_WORDS} words")
        torch.set_rng_state(generators["torch"].clone())
        random.setstate((3, words, None if math.isnan(gauss) else gauss))
        np.random.set_state(("MT19937", key, position, has_gauss, generators["numpy_gauss"].item()))
        if torch.cuda.is_available():
            torch.cuda.set_rng_state(generators["cuda"].clone())
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:
        raise DataError(f"the stored state of a random generator is invalid ({error})") from error
