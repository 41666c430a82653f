"""A training run: base measured, policy trained, the best checkpoint measured on the same tasks.

The folder is a run like any other, whose episodes are the test episodes of the trained policy. Beside them::

    base/              the same tasks and seeds, played before training: a run of its own
    rollouts.jsonl     every training episode, in the order in which it was learned from; what was played
                       again after a crash is there twice
    metrics.jsonl      one line an iteration, one a validation
    checkpoints/last   to resume from; checkpoints/best: a Hugging Face folder
"""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlac_bench.errors import NlacBenchError
from nlac_bench.eval.measure.play import play
from nlac_bench.eval.measure.prepare import Prepared
from nlac_bench.eval.runs.folder import RunFolder
from nlac_bench.eval.runs.writer import RunWriter
from nlac_bench.eval.statistics.compare import Comparison, Measured, compare
from nlac_bench.eval.training.loop import Training
from nlac_bench.eval.training.prepare import make_training, trainable_engine
from nlac_bench.eval.training.untrained import BASE, take_base
from nlac_bench.rollout.driver import Failure
from nlac_bench.rollout.engines.weights import ModelSource
from nlac_bench.train.model import load_causal_lm
from nlac_bench.types import Episode

OnResult = Callable[[Episode | Failure], None]


@dataclass(frozen=True)
class Trained:
    """What a training run shows beyond its test episodes."""

    gain: Comparison
    where: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Base, gain and cost, as part of the object that ``--json`` prints."""
        base, interval = self.gain.b, self.gain.interval
        return {
            "base_success": base.mean,
            "base_ci": None if base.interval is None else [base.interval.low, base.interval.high],
            "gain": self.gain.difference,
            "gain_ci": None if interval is None else [interval.low, interval.high],
            "verdict": {"A better": "trained is better", "B better": "base is better"}.get(
                self.gain.verdict, self.gain.verdict
            ),
            "gradient_steps": self.where["gradient_steps_total"],
            "env_steps": self.where["env_steps"],
            "generated_tokens": self.where["tokens"],
            "training_seconds": self.where["seconds"],
        }


async def train_and_test(
    prepared: Prepared,
    writer: RunWriter,
    on_phase: Callable[[str, int], OnResult],
    on_metrics: Callable[[dict[str, Any]], None],
) -> bool:
    """Measure the base model, train, measure the best checkpoint on the same tasks and seeds.

    Whatever was done already (a resumed run) is not done again.

    Args:
        on_phase: told "base" or "test" and how many episodes are owed; gives what hears of results.
        on_metrics: hears each row of ``metrics.jsonl``.

    Returns:
        Whether everything is done; False after an interruption.
    """
    folder = writer.folder.path
    if prepared.config.base is not None and not (folder / BASE).exists():
        take_base(Path(prepared.config.base), folder)
    if prepared.config.base is None:
        with _base_writer(prepared, folder) as base:
            if base.owed():
                await play(prepared, base, on_phase("base", len(base.owed())))
            if base.owed():
                return False
    with make_training(prepared, folder, writer.log, on_metrics) as training, _interruptible(training):
        await training.run()
    if not training.finished():
        return False
    engine, best = trainable_engine(prepared), training.checkpoints.best
    if not best.exists():
        raise NlacBenchError(
            f"{best} was never written: in every validation some episode failed for a reason that is not the "
            "policy's, so no checkpoint could be chosen; fix the environment's server and start a new run"
        )
    engine.sync(ModelSource(load_causal_lm(best)), training.progress.iteration + 1, "policy")
    if writer.owed():
        await play(prepared, writer, on_phase("test", len(writer.owed())))
    return not writer.owed()


def trained(folder: Path) -> Trained | None:
    """What the training run in ``folder`` shows; None where it is not finished, or no training run."""
    if not (folder / BASE / "manifest.json").exists():
        return None
    run = RunFolder.open(folder)
    rows = [row for row in run.metrics() if row["kind"] == "iteration"]
    if not rows or run.owed():
        return None
    gain = compare(Measured.read(folder, "trained"), Measured.read(folder / BASE, "base"))
    return Trained(gain, rows[-1])


def _base_writer(prepared: Prepared, folder: Path) -> RunWriter:
    path = folder / BASE
    subject = {**prepared.subject, "train": None}
    if (path / "manifest.json").exists():
        return RunWriter.resume(path, conditions=prepared.conditions, subject=subject, plan=prepared.plan)
    config = prepared.config.changed(train=None, offline=None).as_dict()
    return RunWriter.create(
        path, config=config, conditions=prepared.conditions, subject=subject, plan=prepared.plan
    )


@contextlib.contextmanager
def _interruptible(training: Training) -> Iterator[None]:
    """The first Ctrl-C finishes and keeps the running iteration; the second stops at once."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()

    def on_signal() -> None:
        if training.stopped and task is not None:
            task.cancel()
        training.stopped = True

    signals: Sequence[signal.Signals] = (signal.SIGINT, signal.SIGTERM)
    for each in signals:
        loop.add_signal_handler(each, on_signal)
    try:
        yield
    finally:
        for each in signals:
            loop.remove_signal_handler(each)
