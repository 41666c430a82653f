"""Runs a training run: measures the base model, trains it, and tests the best checkpoint on the same tasks.

Its folder is a run folder whose episodes are the test episodes of the trained policy. It also contains::

    base/              the run folder of the base model: the same tasks and seeds, played before training
    rollouts.jsonl     every training episode in order of use; episodes that were played again after a crash
                       are recorded twice
    metrics.jsonl      one line per iteration and per validation, and one for the weights that are tested
    answers.jsonl      a sample of the raw answers of each role, readable or not, 32 an iteration (likewise)
    critiques.jsonl    one line per lesson, at most ``kept_critiques`` an iteration (methods with a language
                       critic); no iteration is recorded twice
    probe_set.jsonl    states that the critic reads at each validation (likewise)
    probes.jsonl       its texts about them
    checkpoints/last   the checkpoint to resume from
    checkpoints/best   the best policy as a Hugging Face folder
    test_new/          the run folder of its episodes of the split ``test_new``, where the environment has it
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nlac_bench.agents.composed import ComposedAgent
from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.measure.new_templates import play_new
from nlac_bench.harness.measure.play import play
from nlac_bench.harness.measure.prepare import Prepared
from nlac_bench.harness.measure.training_tasks import VALIDATION_SPLIT
from nlac_bench.harness.measure.weights import state_run
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.learner.model import load_causal_lm
from nlac_bench.rollout.driver import Failure
from nlac_bench.rollout.engines.weights import ModelSource
from nlac_bench.rollout.interrupts import on_interrupt
from nlac_bench.rollout.recorded_calls import phase_scope
from nlac_bench.stats.compare import Comparison, compare
from nlac_bench.stats.pairing import MeasuredRun
from nlac_bench.stats.verdicts import worded
from nlac_bench.training.costs import BudgetUse
from nlac_bench.training.curve import TESTED, rows_of, start_is_best, tested_weights
from nlac_bench.training.loop import TrainingLoop
from nlac_bench.training.prepare import make_training, trainable_engine
from nlac_bench.training.progress import has_signal
from nlac_bench.training.untrained import BASE, take_base
from nlac_bench.types import Episode

_UNPARSEABLE = "unparseable_"
_EXAMPLES = "examples_"
OnResult = Callable[[Episode | Failure], None]


MUCH_UNPARSEABLE = 0.2
"""Share of a role's answers that cannot be parsed, or of test episodes that do not fit into the context,
above which ``TrainingResult.advice`` is given."""
MUCH_INCONSISTENT = 0.1
"""Share of backups that state another outcome than the next future, above which advice is given."""


@dataclass(frozen=True)
class TrainingResult:
    """The result of a finished training run beyond its test episodes."""

    gain: Comparison
    where: dict[str, Any]
    unparseable: dict[str, float]
    """Share of each role's answers that could not be parsed; mean over the iterations."""
    cost: BudgetUse
    signal: bool
    """Whether any gradient was not 0."""
    overflowed: float = 0.0
    """Share of the test episodes whose conversation no longer fitted into the model's context."""
    examples: Mapping[str, int] = field(default_factory=dict)
    """Number of sequences that contributed to each loss, in each gradient step."""
    start_is_best: bool = False
    """Whether the best validation was that before training, so that the untrained model was tested."""
    inconsistent: float = 0.0
    """Share of backups that stated another outcome than the next future (``backup_outcome_changed``); mean
    over the last quarter of the iterations."""

    @property
    def learned(self) -> bool:
        """Whether a gradient step was taken. If not, the tested model is the untrained one."""
        return bool(self.where["gradient_steps_total"])

    def to_text(self) -> str:
        """Return the comparison with the untrained model, the cost, and advice if little was learned."""
        spent = self.where
        lines = [
            self.gain.to_text(),
            f"training took {spent['gradient_steps_total']:,} gradient steps, {spent['env_steps']:,} "
            f"environment steps, {spent['tokens']:,} generated tokens and {spent['seconds']:,.0f} s (wall "
            "time)",
        ]
        if self.examples:
            counts = ", ".join(f"{number:,} of the {loss}'s loss" for loss, number in self.examples.items())
            lines.append(f"it learned from examples (counted in each gradient step): {counts}")
        if early := self.where.get("ended_early"):
            lines.append(f"the training ended before its budget was spent: {early}")
        if self.cost.overshoot:
            share = self.cost.overshoot / self.cost.planned
            lines.append(
                f"the budget of {self.cost.planned:,} {self.cost.kind} was exceeded by "
                f"{self.cost.overshoot:,} ({share:.1%})"
            )
        if bad := {role: share for role, share in self.unparseable.items() if share > 0}:
            shares = ", ".join(f"{role} {share:.0%}" for role, share in sorted(bad.items()))
            lines.append(f"answers that could not be parsed: {shares}")
        if not self.learned:
            lines.append(
                "the policy was not trained: no gradient step was taken; the 'trained' result is that of the "
                "base model"
            )
        elif not self.signal:
            lines.append(
                "nothing was learned: all gradients were 0, so the 'trained' result is that of the base model"
            )
        elif not self.examples.get("policy", 1):
            lines.append("the policy was not trained: no example contributed to its loss")
        if self.learned and self.signal and self.start_is_best:
            lines.append(
                "the best validation was that before training; the 'trained' result is that of the base model"
            )
        return "\n".join([*lines, *self.advice()])

    def advice(self) -> list[str]:
        """Advice if little was learned; else empty."""
        if self.overflowed > MUCH_UNPARSEABLE:
            return [
                "advice: use a model with a longer context, because the conversations of "
                f"{self.overflowed:.0%} of the test episodes did not fit into it (end_reason "
                "context_overflow in episodes.jsonl)"
            ]
        advice = []
        if self.inconsistent > MUCH_INCONSISTENT:
            advice.append(
                f"advice: use a lower --train lr, because {self.inconsistent:.0%} of the last backups "
                "contradicted the future that they were made from (backup_outcome_changed in metrics.jsonl); "
                "if this share grew, the model forgot how to write them"
            )
        if not self.learned or max(self.unparseable.values(), default=0.0) > MUCH_UNPARSEABLE:
            advice.append(
                "advice: use a model that follows instructions better, easier tasks, or, if answers were "
                "truncated, longer ones (--train max_response_length=N); answers.jsonl contains a sample of "
                "the roles' answers, rollouts.jsonl the policy's"
            )
        return advice

    def to_json(self) -> dict[str, Any]:
        """Return the base, gain and cost; part of the object that ``--json`` prints."""
        base, interval = self.gain.b, self.gain.interval
        return {
            "base_success": base.mean,
            "base_ci": None if base.interval is None else [base.interval.low, base.interval.high],
            "gain": self.gain.difference,
            "gain_ci": None if interval is None else [interval.low, interval.high],
            "verdict": worded(self.gain.verdict, "trained is better", "base is better"),
            "gradient_steps": self.where["gradient_steps_total"],
            "env_steps": self.where["env_steps"],
            "generated_tokens": self.where["tokens"],
            "training_seconds": self.where["seconds"],
            "cost": self.cost.to_json(),
            "signal": self.signal,
            "learned": self.learned,
            "examples": dict(self.examples),
            "start_is_best": self.start_is_best,
            "ended_early": self.where.get("ended_early"),
            "unparseable": self.unparseable,
        }


async def train_and_test(
    prepared: Prepared,
    writer: RunWriter,
    on_phase: Callable[[str, RunWriter], OnResult],
    on_metrics: Callable[[dict[str, Any]], None],
    on_step: Callable[[str], None] = lambda phase: None,
    on_learner: Callable[[Callable[[], tuple[int, bool]]], None] = lambda learned: None,
) -> bool:
    """Measure the base model, train it, and test the best checkpoint on the same tasks and seeds.

    In a resumed run, steps that are complete are skipped.

    Args:
        on_phase: called with "base" or "test" and the run whose episodes will be played; returns the callback
            for results.
        on_metrics: called with each row of ``metrics.jsonl``.
        on_step: ``TrainingLoop``'s ``on_phase``.
        on_learner: called with ``TrainingLoop``'s ``learned``.

    Returns:
        Whether the run is complete; False after an interruption or if test episodes are missing.

    Raises:
        NlacBenchError: no validation was complete, so there is no best checkpoint.
    """
    folder = writer.folder.path
    if prepared.config.base is not None and not (folder / BASE).exists():
        take_base(Path(prepared.config.base), folder)
    if prepared.config.base is None:
        with _base_writer(prepared, folder) as base:
            if base.owed():
                with phase_scope(BASE):
                    driver = await play(prepared, base, on_phase("base", base))
                if driver.stopped or base.owed():
                    return False
    with (
        make_training(prepared, folder, writer.log, on_metrics, on_step) as training,
        interruptible(training),
    ):
        on_learner(training.learned)
        await training.run()
    if training.stopped or not training.finished():
        return False
    engine, best = trainable_engine(prepared), training.checkpoints.best
    if not best.exists():
        removed = "was removed; restore it, or start a new run"
        never = (
            "was never written: in every validation an episode failed for a reason outside the policy, so no "
            "checkpoint could be selected; fix the environment's server and start a new run"
        )
        raise NlacBenchError(f"{best} {never if training.progress.best < 0 else removed}")
    _state_weights(writer, best)
    engine.sync(ModelSource(load_causal_lm(best)), training.progress.iteration + 1, "policy")
    if isinstance(prepared.agent, ComposedAgent):
        prepared = replace(prepared, agent=prepared.agent.with_weights(best))
    if writer.owed():
        await play(prepared, writer, on_phase("test", writer))
    if not writer.owed():
        with phase_scope("new"):
            await play_new(prepared, folder)
    return not writer.owed()


def _state_weights(writer: RunWriter, best: Path) -> None:
    """Record the hash of the tested weights, in ``metrics.jsonl`` and beside them.

    Raises:
        NlacBenchError: other weights have played a part of the test.
    """
    sha256, before = state_run(best), tested_weights(writer.folder)
    if before not in (None, sha256):
        raise NlacBenchError(
            f"{best} is not the checkpoint that a part of the test was played with (weights {sha256[:12]}, "
            f"before {str(before)[:12]}); restore the folder, or start a new run"
        )
    if before is None:
        writer.log({"kind": TESTED, "weights_sha256": sha256})


def trained(folder: Path) -> TrainingResult | None:
    """Return the result of the training run in ``folder``; None if it is unfinished or not a training run."""
    if not (folder / BASE / "manifest.json").exists():
        return None
    run = RunFolder.open(folder)
    rows = rows_of(run, "iteration")
    if not rows or run.owed():
        return None
    # Tasks that a content filter stopped have no score, and resuming the run would not change that.
    tested = MeasuredRun.read(folder, "trained")
    gain = compare(tested, MeasuredRun.read(folder / BASE, "base"), tasks="common")
    overflows = tested.outcomes.end_reasons.get("context_overflow", 0)
    return TrainingResult(
        gain, rows[-1], _unparseable(rows), BudgetUse.of(run, rows[-1]), any(map(has_signal, rows)),
        overflows / len(run.plan), _examples(rows), start_is_best(run), _inconsistent(rows),
    )  # fmt: skip


def _examples(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the sums by loss of the metrics named ``examples_LOSS``."""
    sums: Counter[str] = Counter()
    for row in rows:
        sums.update({n.removeprefix(_EXAMPLES): int(x) for n, x in row.items() if n.startswith(_EXAMPLES)})
    return dict(sums)


def _unparseable(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the means by role of the metrics named ``unparseable_ROLE``."""
    results: dict[str, list[float]] = {}
    for row in rows:
        for name, share in row.items():
            if name.startswith(_UNPARSEABLE):
                results.setdefault(name.removeprefix(_UNPARSEABLE), []).append(share)
    return {role: sum(shares) / len(shares) for role, shares in results.items()}


def _inconsistent(rows: Sequence[Mapping[str, Any]]) -> float:
    """Return the mean of ``backup_outcome_changed`` over the last quarter of the iterations; 0 without it."""
    last = rows[-max(1, len(rows) // 4) :]
    shares = [row["backup_outcome_changed"] for row in last if "backup_outcome_changed" in row]
    return sum(shares) / len(shares) if shares else 0.0


def _base_writer(prepared: Prepared, folder: Path) -> RunWriter:
    path = folder / BASE
    subject = {name: value for name, value in prepared.subject.items() if name != VALIDATION_SPLIT}
    subject["train"] = None
    if (path / "manifest.json").exists():
        return RunWriter.resume(path, conditions=prepared.conditions, subject=subject, plan=prepared.plan)
    config = prepared.config.changed(train=None, offline=None, track=None).as_dict()
    return RunWriter.create(
        path, config=config, conditions=prepared.conditions, subject=subject, plan=prepared.plan
    )


@contextlib.contextmanager
def interruptible(training: TrainingLoop) -> Iterator[None]:
    """Finish and save the running iteration on SIGINT or SIGTERM; stop at once on a second signal."""
    task, signals = asyncio.current_task(), 0

    def on_signal() -> None:
        nonlocal signals
        signals += 1
        if signals > 1 and task is not None:
            task.cancel()

    def answer(count: int) -> str:
        training.stopped = True  # here, because gradients can keep the event loop busy beyond the iteration
        if count > 1:
            return "stopping now"
        return "interrupted: the running iteration ends and is saved; press Ctrl-C again to stop now"

    with on_interrupt(on_signal, answer):
        yield
