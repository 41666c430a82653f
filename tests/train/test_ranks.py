"""Gradient steps of all eight methods on two and three ranks against one process; none of them hangs."""

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from nlac_bench.agents.methods import BUILT_IN
from nlac_bench.train import share
from nlac_bench.train.batch import pack
from tests.train.rank_steps import three_steps
from tests.train.small_model import sequences

RANKS = [2, 3]
TOLERANCE = 1e-5


@functools.cache
def alone(name: str) -> tuple[dict[str, torch.Tensor], list[dict[str, float]], list[float]]:
    return three_steps(name)


@pytest.fixture(scope="module", params=RANKS)
def together(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of what so many ranks computed: one launch for all tests, since importing torch is slow."""
    out = tmp_path_factory.mktemp(f"ranks-{request.param}")
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", f"--nproc_per_node={request.param}", "--standalone",
         "-m", "tests.train.rank_steps", str(out)],
        cwd=Path(__file__).parents[2], check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-20_000:]
    return out


def result(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return found


@pytest.mark.slow  # starts torchrun
@pytest.mark.parametrize("name", BUILT_IN)
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


@pytest.mark.parametrize("world", [1, 2, 3, 8])
@pytest.mark.parametrize("count", [1, 2, 40])
def test_each_row_is_computed_by_one_rank(world: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share.dist, "get_world_size", lambda: world)
    batch = share.packed(sequences(count), 4096)
    owners: list[int] = []
    tokens = []
    for rank in range(world):
        monkeypatch.setattr(share.dist, "get_rank", lambda rank=rank: rank)
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
