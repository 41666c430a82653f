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
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from nlac_bench.rollout.interrupts import on_interrupt
from nlac_bench.train.model import load_causal_lm
from nlac_bench.types import Episode

_UNPARSEABLE = "unparseable_"
OnResult = Callable[[Episode | Failure], None]


MUCH_UNPARSEABLE = 0.2
"""Share of a role's answers above which ``Trained.to_text`` says what to try."""


@dataclass(frozen=True)
class Trained:
    """What a training run shows beyond its test episodes."""

    gain: Comparison
    where: dict[str, Any]
    unparseable: dict[str, float]
    """Share of each role's answers that could not be read: the mean over the iterations."""

    @property
    def learned(self) -> bool:
        """Whether a gradient step was taken; without one the tested model is the untrained one."""
        return bool(self.where["gradient_steps_total"])

    def to_text(self) -> str:
        """The comparison with the untrained model, what was spent, and what to try if little was learned."""
        spent = self.where
        lines = [
            self.gain.to_text(),
            f"training took {spent['gradient_steps_total']:,} gradient steps, {spent['env_steps']:,} steps "
            f"of environments, {spent['tokens']:,} generated tokens and {spent['seconds']:,.0f} s (wall)",
        ]
        if bad := {role: share for role, share in self.unparseable.items() if share > 0}:
            shares = ", ".join(f"{role} {share:.0%}" for role, share in sorted(bad.items()))
            lines.append(f"answers that could not be read: {shares}")
        if not self.learned:
            lines.append(
                "nothing was learned: no gradient step was taken, so trained and base are the same model"
            )
        if not self.learned or max(bad.values(), default=0.0) > MUCH_UNPARSEABLE:
            lines.append(
                "try: a model that follows instructions better; easier tasks; longer answers, if they were "
                "cut (--train max_response_length=N); rollouts.jsonl holds what the policy wrote"
            )
        return "\n".join(lines)

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
            "learned": self.learned,
            "unparseable": self.unparseable,
        }


async def train_and_test(
    prepared: Prepared,
    writer: RunWriter,
    on_phase: Callable[[str, int], OnResult],
    on_metrics: Callable[[dict[str, Any]], None],
    on_step: Callable[[str], None] = lambda phase: None,
) -> bool:
    """Measure the base model, train, measure the best checkpoint on the same tasks and seeds.

    Whatever was done already (a resumed run) is not done again.

    Args:
        on_phase: called with "base" or "test" and the number of episodes to play; returns what is called
            with each result.
        on_metrics: called with each row of ``metrics.jsonl``.
        on_step: called with what training does next, as ``Training.on_phase``.

    Returns:
        Whether everything is done; False after an interruption.
    """
    folder = writer.folder.path
    if prepared.config.base is not None and not (folder / BASE).exists():
        take_base(Path(prepared.config.base), folder)
    if prepared.config.base is None:
        with _base_writer(prepared, folder) as base:
            if base.owed():
                driver = await play(prepared, base, on_phase("base", len(base.owed())))
                if driver.stopped or base.owed():
                    return False
    with (
        make_training(prepared, folder, writer.log, on_metrics, on_step) as training,
        _interruptible(training),
    ):
        await training.run()
    if training.stopped or not training.finished():
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
    return Trained(gain, rows[-1], _unparseable(rows))


def _unparseable(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """By role, from metrics named ``unparseable_ROLE``."""
    found: dict[str, list[float]] = {}
    for row in rows:
        for name, share in row.items():
            if name.startswith(_UNPARSEABLE):
                found.setdefault(name.removeprefix(_UNPARSEABLE), []).append(share)
    return {role: sum(shares) / len(shares) for role, shares in found.items()}


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
    """The first SIGINT or SIGTERM stops after the running iteration, which is saved; the second at once."""
    task = asyncio.current_task()

    def on_signal() -> None:
        if training.stopped and task is not None:
            task.cancel()
        training.stopped = True

    with on_interrupt(on_signal):
        yield
