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
from nlac_bench.train.batch import TokenSequence
from tests.train.rank_steps import DIVISIONS, three_steps
from tests.train.small_model import sequences

RANKS = [2, 3]
TOLERANCE = 1e-5


@functools.cache
def alone(name: str) -> tuple[dict[str, torch.Tensor], list[dict[str, float]], list[float]]:
    return three_steps(name, "one")


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


def of_ranks(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("?.json"))]


@pytest.mark.slow  # starts torchrun
@pytest.mark.parametrize("division", DIVISIONS)
@pytest.mark.parametrize("name", BUILT_IN)
def test_gradients_and_weights_are_those_of_one_process(together: Path, name: str, division: str) -> None:
    expected, rows, losses = alone(name)
    found = load_file(together / f"{division}-{name}.safetensors")
    assert found.keys() == expected.keys()
    whole = torch.linalg.norm(
        torch.stack([g.norm() for n, g in expected.items() if n.startswith("gradient")])
    )
    for key, tensor in expected.items():
        # A gradient that is 0 but for rounding has no relative error.
        size = torch.maximum(tensor.norm(), 1e-3 * whole) if key.startswith("gradient") else tensor.norm()
        assert (found[key] - tensor).norm() <= TOLERANCE * size, key
    for rank in of_ranks(together):  # all ranks report the metrics of the whole
        for row, one in zip(rank["rows"][f"{division}/{name}"], rows, strict=True):
            assert row == pytest.approx(one | {"too_long": row["too_long"]}, rel=1e-4, abs=1e-6)
    replay = [loss for rank in of_ranks(together) for loss in rank["replay"][f"{division}/{name}"]]
    assert sorted(replay) == pytest.approx(sorted(losses), rel=1e-4)


@pytest.mark.slow  # starts torchrun
def test_ranks_without_work_take_the_same_steps(together: Path) -> None:
    for rank in of_ranks(together):
        assert rank["taken"] == {
            "rft: a success on the last rank": [1],
            "rft: no success": [0],
            "nlac: lessons on the last rank": [2, 0],
            "sac: lessons on the last rank": [1, 0],
            "nlrl: lessons on the last rank": [2, 0],
            "nlac: lessons without texts": [0],
        }


@pytest.mark.slow  # starts torchrun
def test_gradients_stay_sharded_between_micro_batches(together: Path) -> None:
    for rank in of_ranks(together):
        held, shards, whole = (rank["bytes"][key] for key in ("held", "shards", "whole"))
        assert held == shards and shards < 0.6 * whole


@pytest.mark.parametrize("world", [1, 2, 3, 8])
def test_shares_are_a_division_by_tokens(world: int, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = [*sequences(40), TokenSequence([1, 2], [0.0, 1.0], group_id=99)]
    monkeypatch.setattr(share.dist, "get_world_size", lambda: world)
    parts = []
    for rank in range(world):
        monkeypatch.setattr(share.dist, "get_rank", lambda rank=rank: rank)
        parts.append(share.share(everything))
    found = [s for part in parts for s in part]
    assert len(found) == len(everything) and all(any(s is one for one in found) for s in everything)
    tokens = [sum(len(s.ids) for s in part) for part in parts]
    assert max(tokens) - min(tokens) <= 2 * 40, "no more than the longest sequence at either end"


def test_a_rank_without_a_share_gets_a_token_without_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    (only,) = sequences(1)
    monkeypatch.setattr(share.dist, "get_world_size", lambda: 3)
    loads = []
    for rank in range(3):
        monkeypatch.setattr(share.dist, "get_rank", lambda rank=rank: rank)
        (own,) = share.share([only])
        loads.append(sum(own.loss_mask))
        assert own is only or (len(own.ids) == 1 and own.weight == 0 and own.advantages == [0.0])
    assert sorted(loads) == [0, 0, sum(only.loss_mask)]
