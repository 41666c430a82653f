"""Gradient steps of all methods, and on totals, on two and three ranks against one process; none hangs."""

import contextlib
import functools
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from safetensors.torch import load_file

from nlac_bench.learner import share
from nlac_bench.learner.batch import pack
from nlac_bench.learner.learner import Learner
from nlac_bench.learner.learner_config import LearnerConfig
from tests.learner import resuming_ranks
from tests.learner.rank_steps import METHODS, three_steps
from tests.learner.small_model import model, sequences, steps, use_sgd, weights
from tests.learner.torchrun_cases import OPTIMIZERS, WORLDS
from tests.once import made_once

TOLERANCE = 1e-5


@functools.cache
def alone(name: str) -> tuple[dict[str, torch.Tensor], list[dict[str, float]], list[float]]:
    return three_steps(name)


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of torchrun_cases.py: one start for all tests, since importing torch is slow."""
    return made_once(tmp_path_factory, "computed by ranks", compute)


def compute(out: Path) -> None:
    resuming_ranks.write(out / "from 1")
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in WORLDS]
        ports = [str(each.getsockname()[1]) for each in found]
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", f"--nproc_per_node={max(WORLDS)}", "--standalone",
         "-m", "tests.learner.torchrun_cases", str(out), *ports],
        cwd=Path(__file__).parents[2], check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-20_000:]


@pytest.fixture(params=WORLDS)
def together(request: pytest.FixtureRequest, computed: Path) -> Path:
    """The folder of what so many ranks computed."""
    return computed / str(request.param)


def result(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return found


@pytest.mark.slow  # starts torchrun
@pytest.mark.parametrize("name", METHODS)
def test_gradients_and_weights_are_those_of_one_process(together: Path, name: str) -> None:
    expected, rows, losses = alone(name)
    found = load_file(together / f"{name}.safetensors")
    assert found.keys() == expected.keys()
    whole = torch.linalg.norm(
        torch.stack([g.norm() for n, g in expected.items() if n.startswith("gradient")])
    )
    for key, tensor in expected.items():
        # A gradient that is 0 but for rounding has no relative error.
        size = torch.maximum(tensor.norm(), 1e-3 * whole) if key.startswith("gradient") else tensor.norm()
        assert (found[key] - tensor).norm() <= TOLERANCE * size, key
    for row, one in zip(result(together)["rows"][name], rows, strict=True):
        assert row == pytest.approx(one, rel=1e-4, abs=1e-6)
    assert result(together)["replay"][name] == pytest.approx(losses, rel=1e-4)


@pytest.mark.slow  # starts torchrun
def test_ranks_without_work_take_the_same_steps(together: Path) -> None:
    assert result(together)["taken"] == {
        "rft: one success": [1],
        "rft: no success": [0],
        "rft: adapters": [1],
        "nlac: few lessons": [2, 0],
        "sac: few lessons": [1, 0],
        "nlrl: few lessons": [2, 0],
        "nlac: lessons without texts": [0],
    }


@pytest.mark.slow  # starts torchrun
def test_gradients_stay_sharded_between_micro_batches(together: Path) -> None:
    for rank in result(together)["bytes"]:
        assert rank["held"] == rank["shards"] and rank["shards"] < 0.6 * rank["whole"]


@pytest.mark.slow  # starts torchrun
@pytest.mark.parametrize(("optimizer", "lr"), OPTIMIZERS.items())
def test_many_ranks_give_the_same_weights(together: Path, optimizer: str, lr: float) -> None:
    alone = Learner(model(), LearnerConfig(lr=lr, precision="fp32", micro_rows=2))
    if optimizer == "sgd":
        use_sgd(alone)
    expected = steps(alone, sequences())
    found = load_file(together / optimizer / "weights.safetensors")
    torch.testing.assert_close(found, weights(alone), rtol=0, atol=1e-5)
    losses = json.loads((together / optimizer / "losses.json").read_text())
    torch.testing.assert_close(losses, expected, rtol=0, atol=1e-5)


@pytest.mark.slow  # starts torchrun
def test_the_export_of_many_ranks_in_fp32_has_their_weights(together: Path) -> None:
    """Their numbers of rows differ, and a gathered tensor may be a part of a larger storage."""
    folder = together / "sgd" / "exported"
    loaded = type(model()).from_pretrained(folder).state_dict()
    for name, tensor in load_file(together / "sgd" / "weights.safetensors").items():
        assert tensor.dtype == torch.float32 and torch.equal(loaded[name], tensor)


@pytest.mark.slow  # starts torchrun
def test_each_number_of_ranks_resumes_bitwise_and_others_the_same_state(computed: Path) -> None:
    """Each resumes what the one before wrote. Sums over other ranks have other rounding errors."""
    for name, files in {"from 1": ["rank-0.safetensors"],
                        "from 2": ["rank-0.safetensors", "rank-1.safetensors"]}.items():  # fmt: skip
        found = result(computed / name)
        assert found["same"] and len(found["refused"]) == len(files)
        for file, said in zip(files, found["refused"], strict=True):
            assert f"'{file}' is damaged" in said
        assert found["files"] == ["loop_state.json", *files]
        assert len(list((computed / name / "last").glob("rank-*"))) == 3
        assert resuming_ranks.resume(computed / name) < 1e-5
    for world, names in ((2, {"from 1"}), (3, {"from 1", "from 2"})):
        differences = json.loads((computed / str(world) / "resumed.json").read_text())
        assert differences.keys() == names and max(differences.values()) < 1e-5


@pytest.mark.parametrize("world", [1, 2, 3, 8])
@pytest.mark.parametrize("count", [1, 2, 40])
def test_each_row_is_computed_by_one_rank(world: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dist, "get_world_size", lambda: world)
    batch = share.packed(sequences(count), 4096)
    owners: list[int] = []
    tokens = []
    for rank in range(world):
        monkeypatch.setattr(dist, "get_rank", lambda rank=rank: rank)
        rows, part = share.own_rows(batch), share.part(batch)
        owners += range(len(batch))[rows]
        tokens.append(int((batch.segment_ids[rows] != 0).sum()))
        if rows.stop > rows.start:
            assert torch.equal(part.ids, batch.ids[rows])
        else:
            assert part.ids.shape == (1, 1) and not part.loss_mask.any() and not part.weights.any()
    assert owners == [*range(len(batch))]
    assert max(tokens) - min(tokens) <= 2 * batch.ids.shape[1], "no more than a row at either end"


def test_one_process_packs_as_without_ranks() -> None:
    packed, expected = share.packed(sequences(), 64), pack(sequences(), 64)
    assert torch.equal(packed.ids, expected.ids) and torch.equal(packed.segment_ids, expected.segment_ids)
