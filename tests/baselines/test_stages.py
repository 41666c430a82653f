"""Methods with stages: a training whose first stage takes no gradient step ends."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.errors import NlacBenchError
from nlac_bench.learner.outputs import Metrics
from nlac_bench.training.progress import MAX_IDLE
from nlac_bench.types import Episode
from tests.baselines.test_critique_rl import foreseeing
from tests.baselines.test_parts import episode, make
from tests.training.test_training_loop import bare_training, without_models


@pytest.mark.parametrize("learns", [False, True])
@pytest.mark.parametrize("name", ["critique_rl", "early_experience"])
def test_a_first_stage_without_gradient_steps_ends(
    name: str, learns: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its share of a budget of gradient steps is never spent, since all critiques are equal, or nothing
    succeeded. The loop stops, with an error if it has learned nothing before."""
    algorithm = make(name)
    foreseeing(algorithm, monkeypatch, ["end: success"])
    training = bare_training(tmp_path, test_freq=1000, save_freq=1000, budget="steps=100")
    algorithm.resources = replace(algorithm.resources, done=training.done)
    first = iter([{"gradient_steps": 1.0}] if learns else [])

    async def update(episodes: Sequence[Episode], left: int | None) -> Metrics:
        return next(first, None) or await algorithm.update(episodes, left)

    rows: list[dict[str, Any]] = []
    without_models(training, monkeypatch, update, [episode("red-0", [0.0])])
    monkeypatch.setattr(algorithm, "sync", lambda: None)
    monkeypatch.setattr(training, "judge", lambda *_: False)
    monkeypatch.setattr(training, "save", lambda: None)
    monkeypatch.setattr(training, "log", rows.append)
    said = f"{MAX_IDLE} successive iterations took no gradient step"
    if learns:
        asyncio.run(training.run())
        assert said in rows[-1]["ended_early"] and len(rows) == 1 + MAX_IDLE
    else:
        with pytest.raises(NlacBenchError, match=said):
            asyncio.run(training.run())
    assert training.progress.iteration == MAX_IDLE + learns and training.done() <= 0.01, "in its first stage"
