"""Copies weights from a learner to an engine's model and checks that the engine uses them."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from nlac_bench.rollout.engines.engine import SyncError, WeightSource
from nlac_bench.rollout.engines.tokenizer import Tokenizer

if TYPE_CHECKING:
    import torch

PROBE = (
    'The quick brown fox jumps over 13 lazy dogs. {"name": "get_order", "arguments": {"id": "#W1234567"}} '
    "Is it alive? Yes. Then \\frac{1}{2} of it is mine, he said; 50% or 0.5."
)
"""The probe text: the engine and the source of the weights must give it the same log-probabilities."""

NOISE = {True: 2e-5, False: 0.08}
"""Differences of log-probabilities between an engine and a learner with the same weights that rounding may
cause, in float32 (True) and lower precision. Measured on CPUs, on average: 2e-6 and 0.016 with vLLM, 0.055
with the 30 layers of SmolLM2-135M in bf16."""

TOLERANCE = {True: 1e-3, False: 0.1}
"""Largest mean difference of the probe's log-probabilities after a sync, in float32 (True) and lower
precision."""


class ModelSource:
    """Uses a transformers model in this process as a source of weights."""

    def __init__(self, model: "torch.nn.Module") -> None:
        self.model = model

    def named_tensors(self) -> Iterable[tuple[str, "torch.Tensor"]]:
        """Return the model's parameters; tied parameters appear once."""
        return ((name, parameter.detach()) for name, parameter in self.model.named_parameters())

    def logprobs(self, ids: Sequence[int], prompt_len: int) -> list[float]:
        """Return the log-probabilities of ``ids[prompt_len:]``, computed by a plain forward pass."""
        was_training = self.model.training
        self.model.eval()
        try:
            return forward_logprobs(self.model, ids, prompt_len)
        finally:
            self.model.train(was_training)


def forward_logprobs(model: Any, ids: Sequence[int], prompt_len: int) -> list[float]:
    """Return the log-probabilities of ``ids[prompt_len:]`` under ``model`` at temperature 1, in float32.

    Raises:
        ValueError: ``prompt_len`` is not between 1 and the number of ids.
    """
    import torch

    if not 1 <= prompt_len <= len(ids):
        raise ValueError(f"prompt_len must be within 1 and the {len(ids)} ids, got {prompt_len}")
    with torch.inference_mode():
        tokens_1T = torch.tensor([list(ids)], device=model.device)
        keep = len(ids) - prompt_len + 1
        logits_KV = model(input_ids=tokens_1T, logits_to_keep=keep, use_cache=False).logits[0, :-1].float()
        targets_K = tokens_1T[0, prompt_len:]
        logprobs_K = torch.log_softmax(logits_KV, dim=-1).gather(-1, targets_K[:, None])[:, 0]
    return [float(value) for value in logprobs_K.tolist()]


def load_weights(model: Any, source: WeightSource) -> None:
    """Copy the tensors of ``source`` into ``model`` in place, cast to its dtype.

    Raises:
        SyncError: a tensor is missing, unknown or of another shape. Tied tensors are needed only once.
    """
    import torch

    wanted = dict(model.named_parameters())
    every_name = dict(model.named_parameters(remove_duplicate=False))  # with all names of tied parameters
    missing = {id(parameter) for parameter in wanted.values()}
    with torch.no_grad():
        for name, tensor in source.named_tensors():
            parameter = every_name.get(name)
            if parameter is None:
                raise SyncError(
                    f"the engine's model has no weight {name!r} (it has {len(wanted)} weights); "
                    "check that engine and learner load the same model"
                )
            if parameter.shape != tensor.shape:
                raise SyncError(
                    f"weight {name!r} has shape {tuple(tensor.shape)} in the learner and "
                    f"{tuple(parameter.shape)} in the engine; both must load the same model"
                )
            parameter.copy_(tensor)
            missing.discard(id(parameter))
    absent = [name for name, parameter in wanted.items() if id(parameter) in missing]
    if absent:
        raise SyncError(
            f"the learner lacks {len(absent)} of the engine's weights, the first is {absent[0]!r}; "
            "both must load the same model"
        )


def probe_ids(tokenizer: Tokenizer) -> list[int]:
    """Return the first 64 tokens of the probe text, for the check after a sync."""
    return [int(i) for i in tokenizer(PROBE, add_special_tokens=False)["input_ids"]][:64]


def check_arrived(engine: Sequence[float], source: Sequence[float], tolerance: float, version: int) -> float:
    """Return the mean absolute difference of two lists of log-probabilities of the probe text.

    Raises:
        SyncError: the difference exceeds ``tolerance`` or is NaN: the engine does not use the new weights.
    """
    gap = sum(abs(a - b) for a, b in zip(engine, source, strict=True)) / len(source)
    if not gap <= tolerance or math.isnan(gap):
        raise SyncError(
            f"probe: after the sync to version {version} the engine's log-probabilities of a probe text "
            f"differ from the learner's by {gap:.4g} on average; at most {tolerance:g} is allowed, so the "
            "engine does not use the new weights: compare names, shapes and dtypes of both models"
        )
    return gap


def slope_of_change(
    before: Sequence[float], after: Sequence[float], source: Sequence[float], noise: float
) -> float | None:
    """Return how far an engine's log-probabilities of the probe text moved, relative to the source's.

    It is 1 if the new weights arrived and 0 if they did not, however little the weights have changed.

    Args:
        before: the engine's log-probabilities before the sync.
        after: those after it.
        source: the source's log-probabilities.
        noise: root mean square of a change below which the slope has no meaning, because of rounding errors.

    Returns:
        The slope; None if the source's change is below ``noise``.
    """
    wanted = [new - old for new, old in zip(source, before, strict=True)]
    moved = [new - old for new, old in zip(after, before, strict=True)]
    size = sum(change * change for change in wanted)
    if math.sqrt(size / len(wanted)) <= noise:
        return None
    return sum(a * b for a, b in zip(moved, wanted, strict=True)) / size


def check_moved(
    before: Sequence[float], after: Sequence[float], source: Sequence[float], noise: float, version: int
) -> float | None:
    """Check that an engine's log-probabilities have moved as far as the source's; return the slope.

    See ``slope_of_change``.

    Raises:
        SyncError: the slope is below 1/2.
    """
    slope = slope_of_change(before, after, source, noise)
    if slope is not None and not slope >= 0.5:
        raise SyncError(
            f"probe: in the sync to version {version} the engine's log-probabilities of a probe text moved "
            f"{slope:.2g} times as far as the learner's; the engine does not use the new weights"
        )
    return slope
