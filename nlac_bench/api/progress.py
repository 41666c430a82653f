"""Progress of a run: a line that is updated in a terminal, plain lines elsewhere."""

import math
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from nlac_bench.api.console import errors, escape
from nlac_bench.api.heartbeat import Heartbeat, Speed, speed_text
from nlac_bench.harness.runs import named_agents
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.learner.config import Budget
from nlac_bench.rollout.driver import Failure
from nlac_bench.stats.interim import Interim
from nlac_bench.training.progress import NO_SIGNAL, SPENT_FIELD, has_signal
from nlac_bench.types import Episode

PHASES = {
    "validating": "playing the validation tasks",
    "playing": "playing training episodes",
    "learning": "learning",
    "probing": "measuring the policy",
}
PROBING_A_CRITIC = "measuring the critic"
"""The phase ``probing`` of methods with a language critic; others measure how far the policy has moved."""

Counters: TypeAlias = Mapping[str, Callable[[], int]]
"""What is counted while it happens, by unit; see ``Speed``."""

LEARNED = "learned tokens"
"""The unit of the tokens that the learner has computed."""


def counters_of(agent: object) -> Counters:
    """Return the counters of the engine of ``agent``: computed tokens of prompts, and generated tokens.

    Engines in this process and servers that stream their replies count them as they come; other servers
    report them with a complete reply. Agents without a model have none.
    """
    engine = getattr(agent, "engine", None)
    names = {"prompt tokens": "read_tokens", "tokens": "generated_tokens"}
    return {unit: _counter(engine, name) for unit, name in names.items() if hasattr(engine, name)}


def waiting_of(agent: object) -> str:
    """Return what ``agent`` waits for while nothing is counted: replies of a server, or tokens."""
    count, seconds = getattr(getattr(agent, "engine", None), "waiting", (0, 0.0))
    if not count:
        return "waiting for tokens"
    return f"waiting for {count} {'reply' if count == 1 else 'replies'}, the longest for {seconds:.0f} s"


def _counter(engine: object, name: str) -> Callable[[], int]:
    return lambda: int(getattr(engine, name))


class RunProgress:
    """Shows episodes played, the success rate with its interval and bounds, tokens per second and time left.

    Rate and interval are those of ``Interim``: of all recorded episodes, also those of earlier sessions.

    Args:
        run: the run that is played.
        counters: see ``counters_of``.
        agent: plays it; see ``waiting_of``.
    """

    def __init__(self, run: RunFolder, counters: Counters | None = None, agent: object = None) -> None:
        self._interim = Interim(run.plan, run.rows())
        self._before = self._interim.ended
        self._failed: set[tuple[str, int]] = set()
        self._recovered = 0
        self._began = time.monotonic()
        self._speed, self._agent = Speed(counters) if counters else None, agent
        columns = (
            TextColumn("episodes"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"),
            TimeRemainingColumn(),
        )  # fmt: skip
        self._live = sys.stderr.isatty()
        self._bar = Progress(*columns, console=errors, disable=not self._live, transient=True)
        self._task = self._bar.add_task("", total=self._interim.planned, completed=self._before)
        self._heartbeat = Heartbeat(self.line, show=self._show if self._live else None)

    def __enter__(self) -> "RunProgress":
        self._bar.start()
        self._heartbeat.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._heartbeat.__exit__()
        self._bar.stop()

    def __call__(self, result: Episode | Failure) -> None:
        """Take one result into account."""
        if isinstance(result, Failure):
            self._failed.add((result.spec.task_id or "", result.spec.trial))
            return
        key = result.task_id, result.trial
        self._interim.add(key, result.success)
        if key in self._failed:
            self._failed.discard(key)
            self._recovered += 1
        self._bar.update(self._task, completed=self._interim.ended)
        if not self._live and self._interim.ended == self._interim.planned:
            self._heartbeat.say(self.line())

    def status(self) -> str:
        """Return the success rate so far, and the numbers of infrastructure errors."""
        parts = [self._interim.to_text()]
        if self._failed:
            parts.append(_counted(len(self._failed), "infrastructure error"))
        if self._recovered:
            parts.append(_counted(self._recovered, "recovered error"))
        return ", ".join(part for part in parts if part)

    def line(self) -> str:
        """Return the line that is shown now."""
        ended, planned = self._interim.ended, self._interim.planned
        played = ended - self._before
        seconds = time.monotonic() - self._began
        left = (planned - ended) * seconds / played if played else None
        eta = f"after {seconds:.0f} s, time left unknown" if left is None else f"{left:.0f} s left"
        return ", ".join(filter(None, (f"{ended}/{planned} episodes", self._status_and_speed(), eta)))

    def _status_and_speed(self) -> str:
        speed = "" if self._speed is None else speed_text(self._speed(), waiting_of(self._agent))
        return ", ".join(filter(None, (self.status(), speed)))

    def _show(self) -> None:
        self._bar.update(self._task, description=escape(self._status_and_speed()))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def no_signal(row: Mapping[str, Any], iterations: int) -> str:
    """Return a warning that the last ``iterations`` iterations gave nothing to learn from, and what to try.

    Args:
        row: the metrics of the last one.
    """
    success = row.get("train_success")
    if success == 0:
        why, what = "no episode succeeded", "easier tasks or a stronger model"
    elif success == 1:
        why, what = "every episode succeeded", "harder tasks"
    else:
        why = "nothing in the episodes could be learned from"
        what = "more episodes of each task (--train rollouts_per_task=N), or tasks of another level"
    count = f"{iterations} iteration{'s' * (iterations > 1)}"
    return f"no signal in {count}: {why}, so the gradients are 0; try {what}"


class TrainProgress:
    """Shows a line for each iteration of a training run, the current step, and a ``RunProgress`` for the
    episodes of base and test.

    Args:
        counters: see ``counters_of``.
    """

    def __init__(self, config: RunConfig, counters: Counters | None = None) -> None:
        assert config.train is not None
        self._budget = Budget.parse(config.train.budget)
        critic = named_agents.method(config.agent).keeps_critiques
        self._phases = PHASES | ({"probing": PROBING_A_CRITIC} if critic else {})
        self._counters = dict(counters or {})
        self._learned: Callable[[], tuple[int, bool]] = lambda: (0, False)
        self._playing: RunProgress | None = None
        self._heartbeat: Heartbeat | None = None
        self._speed = Speed(self._counters)
        self._step, self._step_began = "loading the learner", time.monotonic()
        self._without_signal = 0
        self._left: tuple[float, float] | None = None
        """The estimated seconds left, and the time of the estimate."""

    def __enter__(self) -> "TrainProgress":
        return self

    def __exit__(self, *exc: object) -> None:
        self._end()

    def phase(self, name: str, run: RunWriter) -> Callable[[Episode | Failure], None]:
        """Show the progress of the episodes of ``name`` (base or test); return the callback for results."""
        self._end()
        errors.print(f"{name}: {len(run.owed())} episodes")
        self._playing = RunProgress(run.folder, self._counters)
        return self._playing.__enter__()

    def training(self, step: str) -> None:
        """Show that training begins ``step``, one of ``PHASES``."""
        if self._playing is not None:
            self._end()
        if self._heartbeat is None:
            self._speed = Speed(self._counters)
            self._heartbeat = Heartbeat(self.line).__enter__()
        self._speed()  # tokens of the previous step do not count
        self._step, self._step_began = self._phases[step], time.monotonic()

    def learner(self, learned: Callable[[], tuple[int, bool]]) -> None:
        """Also count the tokens that the learner has computed, and show when it computes."""
        self._learned = learned
        self._counters[LEARNED] = lambda: learned()[0]

    def metrics(self, row: Mapping[str, Any]) -> None:
        """Print the results of an iteration or a validation."""
        if row["kind"] == "validation":
            low, high = row["ci"]
            best = ", the best so far" if row["best"] else ""
            self._say(f"  validation: success {row['success']:.3f} ({low:.3f} to {high:.3f}){best}")
            return
        spent = row[SPENT_FIELD[self._budget.unit]]
        done = spent / self._budget.amount
        if done:
            iterations = math.ceil(max(0.0, 1 - done) / done * row["iteration"])
            self._left = iterations * row["seconds"] / row["iteration"], time.monotonic()
        shown = ("train_success", "l1", "l2", "share_optimal", "evaluator_auc", "successor_accuracy")
        figures = "".join(f", {name} {row[name]:.3f}" for name in shown if name in row)
        if "examples_critic" in row:
            critic, policy = row["examples_critic"], row.get("examples_policy", 0)
            figures += f", {critic:,.0f} critic and {policy:,.0f} policy examples"
        figures += "" if row["gradient_steps_total"] else ", no gradient step yet"
        unparseable = {
            name.removeprefix("unparseable_"): x for name, x in row.items() if name.startswith("unparseable_")
        }
        figures += "".join(f", {role} {x:.0%} unparseable" for role, x in unparseable.items() if x >= 0.5)
        self._say(
            f"iteration {row['iteration']}: {spent:,} of {self._budget.amount:,} "
            f"{self._budget.unit}{figures}, {self._eta()}"
        )
        self._without_signal = 0 if has_signal(row) else self._without_signal + 1
        if self._without_signal in (1, NO_SIGNAL):
            self._say(f"  {no_signal(row, self._without_signal)}")

    def _eta(self) -> str:
        if self._left is None:
            return "time left unknown"
        seconds, estimated = self._left
        left = seconds - (time.monotonic() - estimated)
        if left <= 0 < seconds:
            return "longer than estimated"
        return f"{max(0.0, left):.0f} s left"

    def line(self) -> str:
        """Return the line that is shown now."""
        gone, speeds = time.monotonic() - self._step_began, self._speed()
        tokens, computing = self._learned()
        gradients = computing or set(speeds) == {LEARNED}
        step = f"{self._step} for {gone:.0f} s"
        if self._step == PHASES["learning"]:  # the two alternate
            step += ", computing gradients" if gradients else ", sampling from the roles"
        shown = speed_text(speeds)
        if computing and not speeds:  # tokens are counted when a micro-batch ends
            shown = f"{tokens:,} {LEARNED} so far"
        return f"{step}, {shown}, {self._eta()}"

    def _say(self, text: str) -> None:
        if self._heartbeat is not None:
            self._heartbeat.say(text)
        else:
            errors.print(text, soft_wrap=True)

    def _end(self) -> None:
        if self._playing is not None:
            self._playing.__exit__()
            self._playing = None
        if self._heartbeat is not None:
            self._heartbeat.__exit__()
            self._heartbeat = None
