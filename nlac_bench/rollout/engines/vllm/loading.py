"""Loading: the tensors that a model in a vLLM worker loads, and the check that it has them afterwards."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch

from nlac_bench.rollout.engines.checksum import checksums


class Loading:
    """Loads tensors into ``model``, in one part or several, and remembers the checksum of each.

    The model is checked before its weights are packed: on a CPU, vLLM packs those of linear layers and
    deletes the originals. With tensor parallelism a worker holds parts of tensors; then it is checked that
    each of its parameters was loaded, but not the values.

    Args:
        dtype: of the model; tensors are converted to it before they are loaded.
        whole: whether this worker holds whole tensors.
    """

    def __init__(self, model: Any, dtype: torch.dtype, whole: bool) -> None:
        self.model, self.dtype, self.whole = model, dtype, whole
        self._complete = self._checked = False
        self._loaded: set[str] | None = set()
        """The parameters that the model reports; None if it reports none."""
        self._sent: dict[str, tuple[str, torch.Size]] = {}
        """The checksum of each tensor, as it must be in the model, and its shape."""
        self._parts = {name: _parts(model, name) for name, _ in model.named_parameters()}
        self._wholes = {part: name for name, parts in self._parts.items() for part in parts}

    @torch.no_grad()
    def load(self, tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
        """Load tensors with their Hugging Face names.

        Raises:
            ValueError: as ``tensors``.
        """
        self._complete = self._checked = False
        loaded = self.model.load_weights(self._remembered(tensors))
        self._loaded = None if loaded is None or self._loaded is None else self._loaded | set(loaded)
        self._complete = True

    @torch.no_grad()
    def check(self) -> None:
        """Check that the model has exactly the tensors that were loaded; a no-op if that was checked since.

        Raises:
            ValueError: the last ``load`` failed, or there was none; a tensor is missing, or was not loaded or
                is another one in the model. The message begins with "digests:" and names the tensor.
        """
        if self._checked:
            return
        if not self._complete:
            raise ValueError("digests: the weight update ends, but no weights were loaded completely")
        self._check_loaded()
        if self.whole:
            self._check_parameters()
        self._checked = True

    def _remembered(self, tensors: Iterable[tuple[str, torch.Tensor]]) -> Iterator[tuple[str, torch.Tensor]]:
        parameters = self._parameters()
        for name, tensor in tensors:
            cast, checksum = tensor.to(self.dtype), ""
            place = self._place(parameters, name) if self.whole else None
            if place is not None:  # on CPUs, vLLM keeps biases in float32
                (checksum,) = checksums([cast.to(place.dtype)])
            self._sent[name] = checksum, cast.shape
            yield name, cast

    def _check_loaded(self) -> None:
        """Check that every parameter, and every part of one that several tensors make up, was sent."""
        missing = sorted(self._parts.keys() - self._loaded) if self._loaded is not None else []
        for _, parts in sorted(self._parts.items()):
            if any(part in self._sent for part in parts):
                missing += [part for part in parts if part not in self._sent]
        if missing:
            raise ValueError(
                f"digests: {len(missing)} of the model's weights were not sent, the first is {missing[0]!r}"
            )

    def _check_parameters(self) -> None:
        """Check that the parameters are the tensors that were sent."""
        parameters = self._parameters()
        names, have = [], []
        for name, (_, shape) in self._sent.items():
            place = self._place(parameters, name)
            if place is not None:
                names.append(name)
                have.append(place[: shape[0]] if shape else place)  # vLLM pads the vocabulary
        loaded = zip(names, checksums(have), strict=True)
        if different := [name for name, checksum in loaded if checksum != self._sent[name][0]]:
            raise ValueError(
                f"digests: {len(different)} of the model's weights are not those that were sent, the first "
                f"is {different[0]!r}"
            )

    def _parameters(self) -> dict[str, torch.Tensor]:
        return dict(self.model.named_parameters(remove_duplicate=False))

    def _place(self, parameters: Mapping[str, torch.Tensor], name: str) -> torch.Tensor | None:
        """Return the part of a parameter that the checkpoint's tensor ``name`` is loaded into.

        Returns:
            None if the model has another name for the tensor, as mixtures of experts do.
        """
        if name in parameters or name not in self._wholes:
            return parameters.get(name)
        whole = self._wholes[name]
        sizes = self.model.get_submodule(whole.rpartition(".")[0]).output_partition_sizes
        number = self._parts[whole].index(name)
        return parameters[whole][sum(sizes[:number]) : sum(sizes[: number + 1])]


def _parts(model: object, name: str) -> list[str]:
    """Return the checkpoint's tensors that make up the parameter ``name``; empty if it is one tensor.

    For example, ``qkv_proj`` is ``q_proj``, ``k_proj`` and ``v_proj``.
    """
    layer, _, leaf = name.rpartition(".")
    own = layer.rpartition(".")[2]
    parts = getattr(model, "packed_modules_mapping", {}).get(own, [])
    return [f"{layer.removesuffix(own)}{part}.{leaf}" for part in parts if part != own]
