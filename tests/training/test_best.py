"""The best policy and the last checkpoint after a crash between their exports: they belong together."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nlac_bench.errors import CheckpointError
from nlac_bench.harness.measure.weights import weights_sha256
from nlac_bench.learner.learner import Learner
from nlac_bench.learner.learner_config import LearnerConfig
from nlac_bench.training import checkpoints
from nlac_bench.training.checkpoints import Checkpoints
from nlac_bench.training.progress import Progress
from tests.learner.small_model import model, sequences, steps

START, BETTER = Progress(best=0.2), Progress(iteration=1, best=0.5, best_iteration=1)


class Training:
    """A process of a training in ``folder``, whose policy changes with each call of ``learn``."""

    def __init__(self, folder: Path) -> None:
        algorithm: Any = SimpleNamespace(save=lambda folder: {}, load=lambda folder, state: None)
        self.folder, self.learner = folder, Learner(model(), LearnerConfig(lr=1e-2, precision="fp32"))
        self.checkpoints = Checkpoints(folder / "checkpoints", self.learner, algorithm, None)

    def learn(self) -> None:
        steps(self.learner, sequences(), 1)

    def best(self) -> str | None:
        return weights_sha256(self.folder / "checkpoints" / "best")

    def resumed(self) -> "Training":
        """Another process, which goes on; the first one has died."""
        checkpoints.check(self.folder)
        other = Training(self.folder)
        other.checkpoints.restore()
        assert sorted(p.name for p in (self.folder / "checkpoints").iterdir()) == ["best", "last"]
        return other


@pytest.fixture
def begun(tmp_path: Path) -> Training:
    training = Training(tmp_path)
    training.checkpoints.export_best()
    assert training.best() is not None, "it can be used before the first checkpoint"
    training.checkpoints.save(START)
    return training


def test_a_best_that_the_last_checkpoint_does_not_know_is_lost(begun: Training) -> None:
    first = begun.best()
    begun.learn()
    begun.checkpoints.export_best()
    assert begun.best() == first
    again = begun.resumed()
    assert again.best() == first
    again.learn()
    again.checkpoints.export_best()
    again.checkpoints.save(BETTER)
    assert again.best() not in (None, first)


@pytest.mark.parametrize("complete", [True, False])
def test_a_best_that_the_last_checkpoint_knows_is_kept(
    complete: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if it is the first one, since no earlier validation was complete."""
    training = Training(tmp_path)
    if complete:
        training.checkpoints.export_best()
    training.checkpoints.save(START if complete else Progress())
    training.learn()
    training.checkpoints.export_best()
    first, new = training.best(), weights_sha256(training.checkpoints.next)
    with monkeypatch.context() as killed:
        killed.delattr(checkpoints, "replace_folder")
        with pytest.raises(NameError):
            training.checkpoints.save(BETTER)
    assert training.best() == first != new
    assert training.resumed().best() == new


def test_a_checkpoint_without_a_hash_is_restored(begun: Training) -> None:
    """As earlier versions wrote them."""
    path = begun.checkpoints.last / "loop_state.json"
    state = json.loads(path.read_text())
    assert state["loop"].pop(checkpoints.NEXT) is None
    path.write_text(json.dumps(state))
    first = begun.best()
    assert begun.resumed().best() == first


def test_a_best_that_nothing_has_replaced_is_missed(begun: Training) -> None:
    begun.learn()
    begun.checkpoints.export_best()
    begun.checkpoints.best.rename(begun.folder / "elsewhere")
    with pytest.raises(CheckpointError, match="the best policy so far"):
        checkpoints.check(begun.folder)
