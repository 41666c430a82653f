"""FileTransfer and GroupTransfer without a running vLLM: what they accept and refuse."""

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
import torch
from safetensors.torch import save_file

from nlac_bench.rollout.engines.weight_file import digest
from tests.vllm import WHERE

pytest.importorskip("vllm", reason=WHERE)
pytestmark = [pytest.mark.vllm, pytest.mark.slow]

SETTINGS: Any = SimpleNamespace(
    parallel_config=SimpleNamespace(tensor_parallel_size=1),
    model_config=SimpleNamespace(dtype=torch.bfloat16),
)
SIZES = {"q_proj": 4, "k_proj": 2, "v_proj": 2}


class Model(torch.nn.Module):
    """A fused parameter in bf16, one in float32, as vLLM keeps biases on CPUs, and a padded vocabulary."""

    packed_modules_mapping: ClassVar = {"qkv_proj": list(SIZES)}

    def __init__(self, forgets: str = "nothing") -> None:
        super().__init__()
        self.forgets = forgets
        self.qkv_proj = torch.nn.Linear(3, sum(SIZES.values()), bias=False, dtype=torch.bfloat16)
        self.qkv_proj.output_partition_sizes = list(SIZES.values())  # type: ignore[assignment]
        self.bias = torch.nn.Parameter(torch.zeros(8))
        self.embed = torch.nn.Parameter(torch.zeros(64, 3, dtype=torch.bfloat16))

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]]) -> set[str]:
        places = dict(zip(SIZES, self.qkv_proj.weight.split(list(SIZES.values())), strict=True))
        loaded = set()
        for name, tensor in weights:
            part = name.partition(".")[0]
            target = places[part] if part in places else getattr(self, part)
            if name != self.forgets:
                target[: len(tensor)].copy_(tensor)
            loaded.add("qkv_proj.weight" if part in places else name)
        return loaded


def tensors() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = {f"{name}.weight": (rows, 3) for name, rows in SIZES.items()} | {"bias": (8,), "embed": (50, 3)}
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


def push(model: Model, sent: dict[str, torch.Tensor], arrived: dict[str, torch.Tensor], folder: Path) -> None:
    from nlac_bench.rollout.engines.vllm.transfer import FileTransfer, FileUpdate

    transfer = FileTransfer(None, SETTINGS, torch.device("cpu"), model)
    save_file(arrived, folder / "weights.safetensors")
    transfer.start_weight_update()
    update = FileUpdate(str(folder / "weights.safetensors"), {n: digest(t) for n, t in sent.items()})
    transfer.receive_weights(update)
    transfer.finish_weight_update()


def test_weights_of_other_precision_arrive(tmp_path: Path) -> None:
    model, sent = Model(), tensors()
    push(model, sent, sent, tmp_path)
    assert torch.equal(model.bias, sent["bias"].bfloat16().float())


@pytest.mark.parametrize("name", tensors())
def test_each_tensor_that_is_not_loaded_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"digests: 1 of the model's weights .* first is '{name}'"):
        push(Model(forgets=name), tensors(), tensors(), tmp_path)


@pytest.mark.parametrize("name", tensors())
def test_each_tensor_that_is_missing_or_changed_on_the_way_is_named(name: str, tmp_path: Path) -> None:
    sent = tensors()
    lacking = {other: tensor for other, tensor in sent.items() if other != name}
    with pytest.raises(ValueError, match=f"digests: the file lacks 1 of the tensors .* '{name}'"):
        push(Model(), sent, lacking, tmp_path)
    with pytest.raises(ValueError, match=f"digests: the tensor '{name}' that was read is not the one"):
        push(Model(), sent, sent | {name: sent[name] * (1 + 1e-6)}, tmp_path)


@pytest.mark.parametrize("name", tensors())
def test_a_parameter_for_which_nothing_was_sent_is_named(name: str, tmp_path: Path) -> None:
    sent = {other: tensor for other, tensor in tensors().items() if other != name}
    with pytest.raises(ValueError, match=f"digests: 1 of the model's weights were not sent.*'{name}'"):
        push(Model(), sent, sent, tmp_path)


def test_an_update_without_a_file_does_not_end() -> None:
    from nlac_bench.rollout.engines.vllm.transfer import FileTransfer

    transfer = FileTransfer(None, SETTINGS, torch.device("cpu"), Model())
    transfer.start_weight_update()
    with pytest.raises(ValueError, match="digests: the weight update ends, but no weights were loaded"):
        transfer.finish_weight_update()


# --- by broadcast -----------------------------------------------------------------------------------------


def received(model: Model, buffers: list[dict[str, torch.Tensor]]) -> Any:
    """A transfer that has received buffers."""
    from nlac_bench.rollout.engines.vllm.group_transfer import GroupTransfer

    transfer: Any = GroupTransfer(None, SETTINGS, torch.device("cpu"), model)
    numbers = []

    def receive(number: int, parts: object) -> Any:
        numbers.append(number)
        return iter(buffers[number].items())

    transfer._member = SimpleNamespace(receive=receive)
    transfer.start_weight_update()
    for number in range(len(buffers)):
        transfer.receive_weights(transfer.parse_update_info({"number": number, "parts": []}))
    assert numbers == list(range(len(buffers)))
    return transfer


def one_each() -> list[dict[str, torch.Tensor]]:
    return [{name: tensor} for name, tensor in tensors().items()]


def test_parts_of_a_parameter_may_come_in_different_buffers() -> None:
    model, sent = Model(), tensors()
    received(model, one_each()).finish_weight_update()
    assert torch.equal(model.qkv_proj.weight[4:6], sent["k_proj.weight"].bfloat16())


@pytest.mark.parametrize("name", tensors())
def test_a_buffer_that_is_missing_or_not_loaded_is_named(name: str) -> None:
    lacking = [buffer for buffer in one_each() if name not in buffer]
    with pytest.raises(ValueError, match=f"digests: 1 of the model's weights were not sent.*'{name}'"):
        received(Model(), lacking).finish_weight_update()
    with pytest.raises(ValueError, match=f"digests: 1 of the model's weights .* first is '{name}'"):
        received(Model(forgets=name), one_each()).finish_weight_update()


def test_a_tensor_that_the_model_refuses_is_reported_at_the_end() -> None:
    """The worker takes part in the later broadcasts, so that the others are not blocked."""
    transfer = received(Model(), [{"unknown": torch.zeros(3)}, *one_each()])
    with pytest.raises(ValueError, match=r"digests: the model refused a tensor \(AttributeError: .*unknown"):
        transfer.finish_weight_update()


def test_a_worker_that_has_joined_no_group_says_so() -> None:
    from nlac_bench.rollout.engines.vllm.group import GroupError
    from nlac_bench.rollout.engines.vllm.group_transfer import GroupTransfer

    transfer = GroupTransfer(None, SETTINGS, torch.device("cpu"), Model())
    transfer.start_weight_update()
    with pytest.raises(GroupError, match="broadcast: this worker has not joined a group"):
        transfer.receive_weights(transfer.parse_update_info({"number": 0, "parts": []}))


def test_the_backend_for_broadcasts_loads_files_too(tmp_path: Path) -> None:
    from nlac_bench.rollout.engines.vllm.group_transfer import GroupTransfer

    model, sent = Model(), tensors()
    transfer = GroupTransfer(None, SETTINGS, torch.device("cpu"), model)
    save_file(sent, tmp_path / "w.safetensors")
    transfer.start_weight_update()
    info = {"path": str(tmp_path / "w.safetensors"), "digests": {n: digest(t) for n, t in sent.items()}}
    transfer.receive_weights(transfer.parse_update_info(info))
    transfer.finish_weight_update()
    assert torch.equal(model.bias, sent["bias"].bfloat16().float())
