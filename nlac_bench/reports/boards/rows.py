"""Describes an entry of a board in words and numbers, for its row in HTML, Markdown and CSV."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nlac_bench.leaderboards.boards import OUTSIDE, BoardRow
from nlac_bench.leaderboards.entry import Entry
from nlac_bench.leaderboards.entry_part import Bounds
from nlac_bench.leaderboards.spent import per_episode, spent_by_runs
from nlac_bench.leaderboards.subject import TrainingCost
from nlac_bench.reports.boards.facts import (
    SEED_COLUMNS,
    Facts,
    count_of,
    result_facts,
    run_facts,
    seed_rows,
    subject_facts,
    success_of,
    token_rows,
)
from nlac_bench.reports.boards.formats import NOTHING, count_text
from nlac_bench.reports.boards.strip import strip_of, summary_of
from nlac_bench.reports.figures.figure import Cell, Figure
from nlac_bench.reports.pages.render import link
from nlac_bench.stats.places import Place
from nlac_bench.stats.tables import number
from nlac_bench.training.costs import BudgetUse, mean_budget

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True)
class Relation:
    """Another entry, and how it compares with this one."""

    name: str
    words: str


@dataclass(frozen=True)
class RowView:
    """The texts of one entry for the templates, not escaped yet."""

    row: BoardRow
    name: str
    better: Sequence[Relation] = ()
    tied: Sequence[Relation] = ()
    worse: Sequence[Relation] = ()
    untested: Sequence[Relation] = ()
    """Entries that played other worlds."""

    @property
    def entry(self) -> Entry:
        return self.row.entry

    @property
    def id(self) -> str:
        return self.entry.entry_id

    @property
    def level(self) -> str:
        return self.entry.level

    @property
    def agent(self) -> str:
        return self.entry.subject.label

    @property
    def places(self) -> Place | None:
        """The interval of places; None where the entry is unranked or the environment reports no success."""
        return None if self.success is None else self.row.place

    @property
    def ranked(self) -> bool:
        return self.places is not None

    @property
    def place(self) -> str:
        return NOTHING if self.places is None else str(self.places)

    @property
    def place_value(self) -> str:
        """The number that rows are sorted by: the middle of the interval, then its best place."""
        place = self.places
        return "" if place is None else f"{(place.best + place.worst) / 2 + place.best / 1e6:.6f}"

    @property
    def standing(self) -> str:
        """Why the entry has no place; empty if it has one."""
        if self.ranked:
            return ""
        if self.entry.standing in ("oracle", "floor"):
            return self.entry.standing
        if self.success is None:
            return "unranked: no success"
        if OUTSIDE in self.row.notes:
            return "unranked: not in the family"
        if self.entry.few_seeds and self.level in ("recomputed", "replayed") and not self.entry.partial:
            return f"unranked: {len(self.entry.outcomes)} seeds"
        return "unranked: partial" if self.entry.partial else f"unranked: {self.level}"

    @property
    def below_floor(self) -> str:
        return "" if self.success is None else self.row.floor_note or ""

    @property
    def notes(self) -> str:
        """What limits the entry's interval or its comparisons; empty without such a note."""
        return "; ".join(self.row.notes)

    @property
    def warnings(self) -> str:
        """The number of warnings in words."""
        count = len(self.entry.warnings)
        return "1 warning" if count == 1 else f"{count} warnings"

    @property
    def model(self) -> str:
        subject = self.entry.subject
        weights = None if subject.weights is None else f"weights {subject.weights.sha256[:12]}"
        return " @ ".join(filter(None, (self.model_name, subject.revision, weights)))

    @property
    def model_name(self) -> str | None:
        """The model's name; of a trained checkpoint, that of the model that its training began with."""
        weights = self.entry.subject.weights
        return self.entry.subject.model if weights is None or weights.run is None else weights.run.model

    @property
    def training(self) -> str:
        training = self.entry.subject.training
        if training is None and self.level == "reported":
            return NOTHING  # a publication has its own name for the method
        weights = self.entry.subject.weights
        if training is None and weights is not None and weights.run is not None:
            made = weights.run
            seed = "" if made.seed is None else f", seed {made.seed}"
            return f"{made.agent} on {made.env}{seed}"
        folder = (self.entry.subject.model or "").startswith("folder ")
        if training is None and (weights is not None or folder):
            return "unknown"
        if training is None:
            seeds = len(self.entry.outcomes)
            return "none" if seeds < 2 else f"none, {seeds} seeds"
        seeds = len(training.runs)
        use = self.budget
        words = (
            training.method if training.method != self.entry.subject.agent else None,
            training.budget,
            "" if use is None or not use.overshoot else f"spent {use.spent:,.0f}",
            f"{seeds} seeds" if seeds > 1 else None,
            "offline" if training.offline else None,
        )
        return ", ".join(filter(None, words)) or training.method

    @property
    def search(self) -> str:
        """The text that the page's search looks into."""
        return " ".join((self.name, self.model, self.training, self.level, self.standing, self.id))

    @property
    def success(self) -> float | None:
        """The rate that boards are ordered by."""
        return success_of(self.entry)

    @property
    def low(self) -> float | None:
        return None if self.interval is None else self.interval[0]

    @property
    def high(self) -> float | None:
        return None if self.interval is None else self.interval[1]

    @property
    def interval(self) -> Bounds | None:
        """The 95 % interval of the success rate."""
        return None if self.success is None else self.entry.numbers.ci

    @property
    def reward(self) -> float | None:
        """The mean over tasks of the reward."""
        return self.entry.numbers.mean_reward

    @property
    def pass_k_value(self) -> float | None:
        """pass^k of the largest k that can be estimated."""
        known = [each.value for each in self.entry.numbers.pass_k if each.value is not None]
        return known[-1] if known else None

    @property
    def pass_k(self) -> str:
        known = [each for each in self.entry.numbers.pass_k if each.value is not None]
        return f"{number(known[-1].value)} (k = {known[-1].k})" if known else NOTHING

    @property
    def scored(self) -> int | None:
        counts = self.entry.numbers.counts
        return None if counts is None else counts.scored

    @property
    def episodes(self) -> str:
        counts = self.entry.numbers.counts
        return NOTHING if counts is None else f"{counts.scored:,} of {counts.planned:,}"

    @property
    def exceptions(self) -> str:
        """Infrastructure errors, truncated episodes, and those that a content filter stopped."""
        if self.entry.numbers.counts is None:
            return ""
        return ", ".join(
            count_text(self.count(name)) for name in ("infra_errors", "truncated", "content_filter")
        )

    def count(self, name: str) -> int | None:
        """Return one of ``EpisodeCounts`` by its name; None if the entry has no episodes."""
        return count_of(self.entry, name)

    @property
    def tokens(self) -> float | None:
        """Generated tokens: of training, the mean over seeds; without training those of the test episodes."""
        if self.entry.subject.training is not None:
            return self._training_mean(lambda run: run.generated_tokens)
        return self._test_only(
            sum(each.completion_tokens for each in self.entry.cost.tokens_by_role.values())
        )

    @property
    def episode_tokens(self) -> float | None:
        """Generated tokens of all roles for a test episode; None if they are unknown."""
        each = per_episode(self.entry)
        return sum(each.values()) if each else None

    @property
    def environment_steps(self) -> float | None:
        return self._training_mean(lambda run: run.environment_steps)

    @property
    def gradient_steps(self) -> float | None:
        return self._training_mean(lambda run: run.gradient_steps)

    @property
    def hours(self) -> float | None:
        """Hours of training, the mean over seeds; without training those of the test episodes."""
        if self.entry.subject.training is not None:
            return self._training_mean(lambda run: run.seconds / 3600)
        return self._test_only(self.entry.cost.seconds / 3600)

    def _training_mean(self, value: Callable[[TrainingCost], float]) -> float | None:
        training = self.entry.subject.training
        return None if training is None else sum(map(value, training.runs)) / len(training.runs)

    def _test_only(self, value: float) -> float | None:
        return value if self.entry.outcomes else None

    @property
    def source(self) -> "Markup | None":
        source = self.entry.source
        return None if source is None else link(source.url or "", source.title)

    @property
    def strip(self) -> Figure | None:
        return strip_of(self.name, self.entry.outcomes) if self.entry.outcomes else None

    @property
    def tasks_summary(self) -> str:
        return summary_of(self.entry.outcomes)

    @property
    def facts(self) -> Facts:
        return result_facts(self.entry)

    @property
    def token_rows(self) -> list[list[Cell]]:
        return token_rows(self.entry)

    @property
    def seed_rows(self) -> list[list[Cell]]:
        return seed_rows(self.entry)

    @property
    def seed_columns(self) -> Sequence[str]:
        return SEED_COLUMNS

    @property
    def budget(self) -> BudgetUse | None:
        """The mean use of the training budget over the seeds; None if the entry has no training."""
        return mean_budget(spent_by_runs(self.entry)) if self.entry.subject.training is not None else None

    @property
    def subject(self) -> Facts:
        return subject_facts(self.entry)

    @property
    def runs(self) -> list[Facts]:
        return run_facts(self.entry)
