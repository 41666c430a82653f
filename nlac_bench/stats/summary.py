"""Summarises a run: success with its interval, pass^k, reward, numbers of episodes and cost by role."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from nlac_bench.harness.measure.model_defaults import default_tasks
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.stats.intervals import Floats, Interval, mean_interval, rate_interval
from nlac_bench.stats.outcomes import Outcomes, outcomes_of, success_rate
from nlac_bench.stats.passk import PassK, pass_hat_k
from nlac_bench.stats.tables import bracket, number, render_table
from nlac_bench.types import Usage
from nlac_bench.visible import one_line


@dataclass(frozen=True)
class Summary:
    """The summary of a run. ``success`` is the mean over tasks of the success rate over scored trials."""

    run_dir: str
    env: str
    agent: str
    success: float | None
    interval: Interval | None
    mean_reward: float | None
    reward_interval: Interval | None
    pass_k: list[PassK]
    tasks: int
    tasks_scored: int
    outcomes: Outcomes
    note: str | None = None
    """On the tasks that were played."""
    adapted: Mapping[str, str] = field(default_factory=dict)
    """How requests were changed because a server refused their form, by field."""

    @property
    def success_if_missing_failed(self) -> float:
        """The lower bound of the success rate: every planned episode without a score counts as a failure."""
        return float(np.nan_to_num(self.outcomes.success).sum() / max(1, self.outcomes.counts.planned))

    def to_json(self) -> dict[str, object]:
        """Return the object that ``--json`` prints."""
        usage = self.outcomes.usage
        total = sum(usage.values(), Usage())
        unknown = self.outcomes.unknown_rate
        return {
            "run_dir": self.run_dir,
            "env": self.env,
            "agent": self.agent,
            "success": self.success,
            "ci": None if self.interval is None else [self.interval.low, self.interval.high],
            "ci_method": None if self.interval is None else self.interval.method,
            "success_if_missing_failed": self.success_if_missing_failed,
            "mean_reward": self.mean_reward,
            "reward_ci": None
            if self.reward_interval is None
            else [self.reward_interval.low, self.reward_interval.high],
            **({} if unknown is None else {"unknown_rate": unknown}),
            "pass_k": [each.to_json() for each in self.pass_k],
            "tasks": self.tasks,
            "tasks_scored": self.tasks_scored,
            **self.outcomes.counts.to_json(),
            "complete": self.outcomes.counts.complete,
            "commonest_error": self.outcomes.commonest_error,
            "end_reasons": dict(self.outcomes.end_reasons),
            "replies": {"count": self.outcomes.replies.count, **self.outcomes.replies.shares()},
            "tokens": total.prompt_tokens + total.completion_tokens,
            "cost": total.cost,
            "seconds": self.outcomes.seconds,
            "adapted": dict(self.adapted),
            "usage": {role: asdict(spent) for role, spent in sorted(usage.items())},
            "generated_per_episode": self.outcomes.generated_per_episode,
        }

    def to_text(self) -> str:
        """Return the summary as text."""
        rows = [
            ["success", number(self.success), bracket(self.interval)],
            ["mean reward", number(self.mean_reward), bracket(self.reward_interval)],
        ]
        rows += [[f"pass^{x.k}", number(x.value), x.why_not or bracket(x.interval)] for x in self.pass_k[1:]]
        if self.outcomes.unknown_rate is not None:
            rows.append(["unknown rate", number(self.outcomes.unknown_rate), "the oracle did not know"])
        lines = [
            one_line(f"{self.agent} on {self.env}: {self.run_dir}"),
            render_table(["", "value", "95 % interval"], rows),
        ]
        if self.note:
            lines.append(self.note)
        if self.adapted:
            listed = "; ".join(f"{name}: {what}" for name, what in self.adapted.items())
            lines.append(one_line(f"requests were changed because the server refused their form: {listed}"))
        lines.append(f"episodes: {self.outcomes.counts}; tasks: {self.tasks_scored} of {self.tasks} scored")
        if self.outcomes.replies.count:
            lines.append(str(self.outcomes.replies))
        counts = self.outcomes.counts
        silent = counts.unscored - counts.content_filter
        if silent:
            lines.append(
                f"{silent} episodes ended without info['success']; they are included in the mean reward "
                "only. Set info['success'] in an episode's last step to get a success rate"
            )
        if overflows := self.outcomes.end_reasons.get("context_overflow"):
            lines.append(
                f"{overflows} of {counts.planned} episodes ended because the conversation no longer fitted "
                "into the model's context (context_overflow); use a model with a longer context"
            )
        if counts.content_filter:
            lines.append(
                f"{counts.content_filter} episodes were stopped by a content filter; they have no score and "
                "are not played again"
            )
        if silent < counts.planned > counts.scored:
            lines.append(
                f"success if all other episodes had failed: {number(self.success_if_missing_failed)}"
            )
        each = self.outcomes.generated_per_episode
        costs = [
            [role, f"{u.calls:,}", f"{u.prompt_tokens:,}", f"{u.completion_tokens:,}",
             f"{each.get(role, 0):,.1f}", f"{u.cost:.2f}"]
            for role, u in sorted(self.outcomes.usage.items())
        ]  # fmt: skip
        if costs:
            header = ["role", "calls", "tokens in", "tokens out", "out / episode", "US$"]
            lines.append(render_table(header, costs))
        return "\n".join(lines)


def summarise(run: RunFolder | str | Path) -> Summary:
    """Summarise a run folder, finished or not.

    Raises:
        RunFolderError: the folder contains no run, or is damaged.
    """
    folder = run if isinstance(run, RunFolder) else RunFolder.open(run)
    summary = summary_of(outcomes_of(folder), str(folder.path), folder.conditions["env"], folder.label)
    return replace(summary, note=default_tasks(folder.config), adapted=folder.adapted)


def summary_of(outcomes: Outcomes, run_dir: str, env: str, agent: str) -> Summary:
    """Summarise outcomes in memory, for instance those of ``rescore``."""
    success, interval = success_rate(outcomes.success)
    rewards = _present(outcomes.task_means("reward"))
    # Rewards that are all 0 or 1 are proportions, for which the rate interval covers better.
    proportions = bool(np.isin(outcomes.reward, (0.0, 1.0))[~np.isnan(outcomes.reward)].all())
    reward_interval = rate_interval(rewards, outcomes.trials) if proportions else mean_interval(rewards)
    return Summary(
        run_dir=run_dir,
        env=env,
        agent=agent,
        success=success,
        interval=interval,
        mean_reward=float(rewards.mean()) if len(rewards) else None,
        reward_interval=reward_interval,
        pass_k=pass_hat_k(outcomes.success),
        tasks=len(outcomes.tasks),
        tasks_scored=len(_present(outcomes.task_means("success"))),
        outcomes=outcomes,
    )


def _present(task_means: Floats) -> Floats:
    return task_means[~np.isnan(task_means)]
