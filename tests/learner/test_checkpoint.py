"""Checkpoints that are damaged, foreign or hostile: nothing is unpickled, and each refusal says why."""

import json
import os
import pickle
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from nlac_bench.errors import CheckpointError
from nlac_bench.learner import checkpoint
from nlac_bench.learner.learner import Learner
from nlac_bench.learner.learner_config import LearnerConfig
from nlac_bench.learner.model import Lora
from tests.learner.small_model import model, sequences, steps, weights
from tests.payload import Payload

CONFIG = LearnerConfig(lr=1e-2, precision="fp32", ema=True)
RANK, STATE = "rank-0.safetensors", "loop_state.json"
Change = Callable[[Path, Path], None]


@pytest.fixture(scope="module")
def learner() -> Learner:
    made = Learner(model(), CONFIG)
    steps(made, sequences(), 2)
    return made


@pytest.fixture(scope="module")
def whole(learner: Learner, tmp_path_factory: pytest.TempPathFactory) -> Path:
    def loop_state(folder: Path) -> dict[str, Any]:
        (folder / "replay.jsonl.gz").write_bytes(b"replay")
        return {"epoch": 1}

    path = tmp_path_factory.mktemp("whole") / "last"
    checkpoint.save(learner, path, loop_state)
    return path


@pytest.fixture
def saved(whole: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(whole, tmp_path / "last"))


@pytest.fixture(scope="module")
def other() -> Learner:
    """One that loads the damaged copies, none of which changes it."""
    made = Learner(model(), CONFIG)
    steps(made, sequences(), 1)
    return made


def state(**changes: Any) -> Change:
    def change(path: Path, _: Path) -> None:
        (path / STATE).write_text(json.dumps(json.loads((path / STATE).read_text()) | changes))

    return change


def replaced(name: str, content: bytes | Callable[[bytes], bytes]) -> Change:
    def change(path: Path, _: Path) -> None:
        before = (path / name).read_bytes()
        (path / name).write_bytes(content if isinstance(content, bytes) else content(before))

    return change


def removed(name: str) -> Change:
    return lambda path, _: (path / name).unlink()


def linked(path: Path, _: Path) -> None:
    (path / RANK).rename(path.parent / "elsewhere")
    (path / RANK).symlink_to(path.parent / "elsewhere")


def pickled(*names: str) -> Change:
    def change(path: Path, marker: Path) -> None:
        for name in names:
            (path / name).write_bytes(pickle.dumps(Payload(marker)))

    return change


def listed_anew(path: Path) -> None:
    """Give the changed files the sizes and hashes that they have now, as an attacker would."""
    from nlac_bench.learner import checkpoint_index

    before = json.loads((path / STATE).read_text())
    (path / STATE).unlink()
    fields = {name: before[name] for name in ("step", "world_size", "optimizer", "loop")}
    checkpoint_index.write(path, **fields)


def tensors(change: Callable[[dict[str, torch.Tensor]], object]) -> Change:
    def apply(path: Path, _: Path) -> None:
        found = load_file(path / RANK)
        change(found)
        save_file(found, path / RANK)
        listed_anew(path)

    return apply


def mislabelled(path: Path, marker: Path) -> None:
    pickled(RANK)(path, marker)
    listed_anew(path)


def earlier_format(path: Path, marker: Path) -> None:
    for name in (RANK, "replay.jsonl.gz"):
        (path / name).unlink()
    pickled(".metadata", "__0_0.distcp")(path, marker)
    (path / STATE).write_text(json.dumps({"step": 1, "world_size": 1, "loop": {}}))


def flip(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


FIRST = "model/causal_lm.model.embed_tokens.weight"
MOMENT = "optimizer/causal_lm.model.norm.weight/exp_avg"
STEP = "optimizer/causal_lm.model.norm.weight/step"
POSITION = "generators/numpy_position"
REFUSED: dict[str, tuple[Change, str]] = {
    "an earlier format": (earlier_format, "format 1.*pickle.*start a new run"),
    "pickled metadata beside it": (pickled(".metadata"), "format 1.*pickle"),
    "a pickled shard": (pickled(RANK), "bytes, but .* were written"),
    "a pickled shard with its hash": (mislabelled, "cannot be read as a safetensors file"),
    "a pickled state": (pickled(STATE), "cannot be read"),
    "a pickled replay buffer": (pickled("replay.jsonl.gz"), "'replay.jsonl.gz' has .* bytes"),
    "no state": (removed(STATE), "is not a checkpoint"),
    "no shard": (removed(RANK), "is missing"),
    "no replay buffer": (removed("replay.jsonl.gz"), "is missing"),
    "an empty state": (replaced(STATE, b""), "cannot be read"),
    "half of a state": (replaced(STATE, lambda data: data[: len(data) // 2]), "cannot be read"),
    "a state that is a list": (replaced(STATE, b"[]"), "expected a JSON object"),
    "a state that is not text": (replaced(STATE, b"\xff\xfe\x00"), "cannot be read"),
    "a state nested deeply": (replaced(STATE, b'{"a":' * 100_000), "cannot be read"),
    "a state with long numbers": (replaced(STATE, b'{"step":' + b"9" * 10_000 + b"}"), "cannot be read"),
    "an empty shard": (replaced(RANK, b""), "has 0 bytes"),
    "half of a shard": (replaced(RANK, lambda data: data[: len(data) // 2]), "were written"),
    "a bit of a shard": (replaced(RANK, flip), "is damaged"),
    "a bit of the replay buffer": (replaced("replay.jsonl.gz", flip), "is damaged"),
    "a link": (linked, "not a regular file"),
    "a later format": (state(format=3), "format 3"),
    "a format that is a text": (state(format="x"), "format 'x'"),
    "another number of processes": (state(world_size=4), "world_size is 4, but only 2 files"),
    "a number of processes that is none": (state(world_size="1"), "world_size must be"),
    "a negative step": (state(step=-1), "step must be"),
    "a step that is true": (state(step=True), "step must be"),
    "an unknown field": (state(more=1), "more"),
    "a loop that is a list": (state(loop=[]), "loop must be"),
    "files that are a list": (state(files=[]), "files must be"),
    "a file outside": (state(files={"../x": [1, "a"]}), "outside the checkpoint folder"),
    "an absolute file": (state(files={"/etc/passwd": [1, "a"]}), "outside the checkpoint folder"),
    "a file without a hash": (state(files={RANK: 1}), "cannot be read"),
    "a file of infinite size": (state(files={RANK: [float("inf"), "a"]}), "size and SHA-256"),
    "no files": (state(files={}), "is not listed"),
    "another optimizer": (state(optimizer={"class": "SGD", "groups": []}), "is 'SGD'"),
    "an optimizer without groups": (state(optimizer={"class": "AdamW", "groups": 1}), "parameter groups"),
    "an optimizer with a text as group": (state(optimizer={"class": "AdamW", "groups": [1]}), "does not fit"),
    "another weight decay": (
        state(optimizer={"class": "AdamW", "groups": [{"weight_decay": "x"}]}), "weight_decay 'x'"),
    "a missing tensor": (tensors(lambda t: t.pop(FIRST)), "does not contain the tensor"),
    "an unknown tensor": (tensors(lambda t: t.update(more=torch.zeros(1))), "unexpected tensor 'more'"),
    "a tensor of another shape": (tensors(lambda t: t.update({FIRST: torch.zeros(2)})), r"shape \(2,\)"),
    "a tensor of another type": (tensors(lambda t: t.update({FIRST: t[FIRST].double()})), "float64"),
    "half of a moment": (tensors(lambda t: t.update({MOMENT: torch.zeros(1)})), "exp_avg"),
    "no moment": (tensors(lambda t: t.pop(MOMENT)), "has only"),
    "steps for each weight": (tensors(lambda t: t.update({STEP: torch.zeros(9)})), "step"),
    "a moment of nothing": (
        tensors(lambda t: t.update({"optimizer/x/exp_avg": torch.zeros(1)})), "has a tensor"),
    "a position outside of NumPy's state": (
        tensors(lambda t: t.update({POSITION: torch.tensor([10**9, 0])})), "random generator is invalid"),
    "zeros as torch's state": (
        tensors(lambda t: t.update({"generators/torch": torch.zeros_like(t["generators/torch"])})),
        "random generator is invalid"),
    "Python's state out of range": (
        tensors(lambda t: t.update({"generators/python": t["generators/python"] - 2**40})),
        "random generator is invalid"),
}  # fmt: skip


@pytest.fixture
def generators_as_before() -> Iterator[None]:
    before = random.getstate(), np.random.get_state(), torch.get_rng_state()
    yield
    random.setstate(before[0])
    np.random.set_state(before[1])
    torch.set_rng_state(before[2])


@pytest.mark.usefixtures("generators_as_before")
@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_and_changes_nothing(saved: Path, other: Learner, tmp_path: Path, name: str) -> None:
    change, reason = REFUSED[name]
    marker = tmp_path / "executed"
    change(saved, marker)
    before = weights(other)
    with pytest.raises(CheckpointError, match=reason) as refused:
        checkpoint.load(other, saved)
    assert str(saved) in str(refused.value) and not marker.exists()
    assert other.step == 1 and all(torch.equal(before[n], tensor) for n, tensor in weights(other).items())


def test_a_folder_without_a_checkpoint_is_refused(learner: Learner, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        checkpoint.load(learner, tmp_path / "nothing")
    os.mkfifo(tmp_path / STATE)
    with pytest.raises(CheckpointError, match="not a file"):
        checkpoint.load(learner, tmp_path)


@pytest.mark.slow(reason="starts a process that loads torch and a learner")
def test_saving_and_loading_unpickle_nothing(tmp_path: Path) -> None:
    source = """
import sys
from pathlib import Path
from nlac_bench.learner import checkpoint
from nlac_bench.learner.learner import Learner
from nlac_bench.learner.learner_config import LearnerConfig
from tests.learner.small_model import model, sequences, steps

learner = Learner(model(), LearnerConfig(lr=1e-2, precision="fp32", ema=True))
steps(learner, sequences(), 1)
found = []
sys.addaudithook(lambda event, arguments: found.append(arguments) if event.startswith("pickle.") else None)
path = Path(sys.argv[1])
checkpoint.save(learner, path / "last", lambda _: {})
checkpoint.load(learner, path / "last")
checkpoint.export(learner, path / "best")
Learner(path / "best", LearnerConfig(precision="fp32"))
print(found)
"""
    done = subprocess.run(
        [sys.executable, "-c", source, str(tmp_path)],
        cwd=Path(__file__).parents[2], check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


def test_saving_does_not_change_the_optimizer(tmp_path: Path) -> None:
    learner = Learner(model(), CONFIG)
    checkpoint.save(learner, tmp_path / "last", lambda _: {})
    assert not learner.optimizer.state, "no step was taken"
    other = Learner(model(), CONFIG)
    steps(other, sequences(), 1)
    checkpoint.load(other, tmp_path / "last")
    assert not other.optimizer.state and other.step == 0
    assert steps(other, sequences(), 2) == steps(learner, sequences(), 2)


@pytest.mark.parametrize(
    "changes",
    [
        {"lora": Lora(rank=4, alpha=8), "ema": False},
        {"heads": {"value": "state", "q1": "action", "q2": "action"}},
    ],
    ids=["lora", "heads"],
)
def test_all_that_is_trained_is_restored(tmp_path: Path, changes: dict[str, Any]) -> None:
    config = replace(CONFIG, **changes)
    learner = Learner(model(), config)
    steps(learner, sequences(), 2)
    checkpoint.save(learner, tmp_path / "last", lambda _: {})
    other = Learner(model(), config)
    checkpoint.load(other, tmp_path / "last")
    assert steps(other, sequences(), 2) == steps(learner, sequences(), 2)
    assert all(torch.equal(other.master[name], tensor) for name, tensor in learner.master.items())


@pytest.mark.usefixtures("generators_as_before")
def test_a_training_goes_on_where_there_is_a_gpu_and_where_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = [torch.tensor([1], dtype=torch.uint8)]
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda: gpu[-1])
    monkeypatch.setattr(torch.cuda, "set_rng_state", gpu.append)
    learner = Learner(model(), CONFIG)
    for name, has_gpu in (("without", False), ("with", True)):
        monkeypatch.setattr(torch.cuda, "is_available", lambda has_gpu=has_gpu: has_gpu)
        checkpoint.save(learner, tmp_path / name, lambda _: {})
    checkpoint.load(learner, tmp_path / "without")
    assert [state.item() for state in gpu] == [1] * len(gpu), "the generator of an unknown GPU is kept"
    gpu.append(torch.tensor([2], dtype=torch.uint8))
    checkpoint.load(learner, tmp_path / "with")
    assert gpu[-1].item() == 1
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    torch.rand(1)
    checkpoint.load(learner, tmp_path / "with")
    assert torch.equal(torch.get_rng_state(), load_file(tmp_path / "with" / RANK)["generators/torch"])
