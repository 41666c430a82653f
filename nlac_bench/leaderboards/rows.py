"""Describes an entry of a board in words and numbers, for its row in HTML, Markdown and CSV."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nlac_bench.eval.figures.figure import compact
from nlac_bench.eval.statistics.tables import number
from nlac_bench.leaderboards.boards import Row
from nlac_bench.leaderboards.entry import Cost, Entry, Tokens, TrainingCost
from nlac_bench.leaderboards.strip import Strip, strip
from nlac_bench.pages.render import link

if TYPE_CHECKING:
    from markupsafe import Markup

NOTHING = "–"
Facts = list[tuple[str, str]]


@dataclass(frozen=True)
class Relation:
    """Another entry, and how it compares with this one."""

    name: str
    words: str


@dataclass(frozen=True)
class RowView:
    """What the templates print of one entry; texts are not escaped yet."""

    row: Row
    name: str
    better: Sequence[Relation] = ()
    tied: Sequence[Relation] = ()
    worse: Sequence[Relation] = ()

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
        return self.entry.subject.agent

    @property
    def ranked(self) -> bool:
        return self.row.place is not None

    @property
    def place(self) -> str:
        return NOTHING if self.row.place is None else str(self.row.place)

    @property
    def place_value(self) -> str:
        """The number that rows are sorted by: the middle of the interval, then its best place."""
        place = self.row.place
        return "" if place is None else f"{(place.best + place.worst) / 2 + place.best / 1e6:.6f}"

    @property
    def standing(self) -> str:
        """Why the entry has no place; empty if it has one."""
        if self.ranked:
            return ""
        if self.entry.standing != "unranked":
            return self.entry.standing
        return "unranked: partial" if self.entry.partial else f"unranked: {self.level}"

    @property
    def below_floor(self) -> str:
        return self.row.floor_note or ""

    @property
    def model(self) -> str:
        subject = self.entry.subject
        return " @ ".join(filter(None, (subject.model, subject.revision)))

    @property
    def training(self) -> str:
        training = self.entry.subject.training
        if training is None and self.level == "reported":
            return NOTHING  # a publication is cited with its name of the method
        if training is None:
            seeds = len(self.entry.outcomes)
            return "none" if seeds < 2 else f"none, {seeds} seeds"
        seeds = len(training.runs)
        words = (
            training.method if training.method != self.agent else None,
            training.budget,
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
        """The rate that boards are ordered by; a publication says only one."""
        numbers = self.entry.numbers
        return numbers.success if self.level == "reported" else numbers.success_if_missing_failed

    @property
    def low(self) -> float | None:
        return None if self.entry.numbers.ci is None else self.entry.numbers.ci[0]

    @property
    def high(self) -> float | None:
        return None if self.entry.numbers.ci is None else self.entry.numbers.ci[1]

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
        return ", ".join(_count(self.count(name)) for name in ("infra_errors", "truncated", "content_filter"))

    @property
    def only_outcomes(self) -> bool:
        """Whether an imported entry has nothing but outcomes: its costs and its lost episodes are unknown."""
        untrained = self.entry.subject.training is None
        return self.level == "imported" and untrained and self.entry.cost == Cost()

    def count(self, name: str) -> int | None:
        """Return one of ``EpisodeCounts`` by its name; None if it is unknown."""
        numbers = self.entry.numbers
        if numbers.counts is None or (self.only_outcomes and name not in ("planned", "scored")):
            return None
        if self.level == "imported" and not numbers.end_reasons and name in ("length", "recovered_errors"):
            return None
        count: int = getattr(numbers.counts, name)
        return count

    @property
    def tokens(self) -> float | None:
        """Generated tokens: of training, the mean over seeds; without training those of the test episodes."""
        if self.entry.subject.training is not None:
            return self._training_mean(lambda run: run.generated_tokens)
        return self._test_only(
            sum(each.completion_tokens for each in self.entry.cost.tokens_by_role.values())
        )

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
        return value if self.entry.outcomes and not self.only_outcomes else None

    @property
    def source(self) -> "Markup | None":
        source = self.entry.source
        return None if source is None else link(source.url or "", source.title)

    @property
    def strip(self) -> Strip | None:
        return strip(self.entry.outcomes) if self.entry.outcomes else None

    @property
    def facts(self) -> Facts:
        """All results, with their denominators."""
        numbers, cost = self.entry.numbers, self.entry.cost
        facts = [
            ("Success, missing episodes counted as failed", _with_interval(self.success, numbers.ci)),
            ("Success over scored episodes only", number(numbers.success)),
            ("Method of the interval", numbers.ci_method or NOTHING),
        ]
        if len(numbers.by_seed) > 1:
            facts.append(("Success of each seed", ", ".join(map(number, numbers.by_seed))))
        facts += [
            (
                f"pass^{each.k}",
                each.why_not or NOTHING if each.value is None else _with_interval(each.value, each.ci),
            )
            for each in numbers.pass_k
        ]
        facts.append(("Mean reward", number(numbers.mean_reward)))
        if numbers.tasks is not None:
            facts.append((
                "Tasks × trials × seeds",
                f"{numbers.tasks:,} × {numbers.trials:,} × {len(self.entry.outcomes)}",
            ))  # fmt: skip
        if numbers.counts is not None:
            facts += [
                (label, _count(self.count(name)))
                for label, name in (
                    ("Planned episodes", "planned"),
                    ("Scored", "scored"),
                    ("Without a score", "unscored"),
                    ("Infrastructure errors", "infra_errors"),
                    ("Infrastructure errors, played again", "recovered_errors"),
                    ("Owed (not played yet)", "owed"),
                    ("Truncated", "truncated"),
                    ("Stopped by a content filter", "content_filter"),
                    ("Replies cut at their length", "length"),
                )
            ]
        if numbers.end_reasons:
            reasons = ", ".join(f"{reason} {count:,}" for reason, count in numbers.end_reasons.items())
            facts.append(("Ends of episodes", reasons))
        unknown = [run.unknown_rate for run in self.entry.outcomes if run.unknown_rate is not None]
        if unknown:
            facts.append(
                ("Questions that the oracle could not answer", ", ".join(f"{u:.1%}" for u in unknown))
            )
        if self.entry.outcomes:
            known = self.level != "imported" or cost != Cost()
            facts.append(("Time of the test episodes", duration(cost.seconds / 3600 if known else None)))
        return facts

    @property
    def token_rows(self) -> list[list[Any]]:
        """Calls, tokens and cost by role: of the training of all seeds, and of the test episodes."""
        training = self.entry.subject.training
        runs = [] if training is None else [run.tokens_by_role for run in training.runs]
        parts = (("training", _summed(runs)), ("test", self.entry.cost.tokens_by_role))
        return [
            [f"{part}: {role}", spent.calls, spent.prompt_tokens, spent.completion_tokens, spent.cost or None]
            for part, roles in parts
            for role, spent in sorted(roles.items())
        ]

    @property
    def seed_rows(self) -> list[list[Any]]:
        """The cost and the result of each seed's training."""
        training, by_seed = self.entry.subject.training, self.entry.numbers.by_seed
        if training is None:
            return []
        results = by_seed if len(by_seed) == len(training.runs) else [None] * len(training.runs)
        return [
            [str(run.seed), run.gradient_steps, run.environment_steps, run.generated_tokens,
             duration(run.seconds / 3600), run.chosen_step, number(run.base_success), number(result)]
            for run, result in zip(training.runs, results, strict=True)
        ]  # fmt: skip

    @property
    def subject(self) -> Facts:
        """Who was measured, and where the entry comes from."""
        subject, provenance = self.entry.subject, self.entry.provenance
        facts = [
            ("Entry", self.id),
            ("Agent", subject.agent),
            ("Model", subject.model or NOTHING),
            ("Revision", subject.revision or NOTHING),
            ("Engine", subject.engine or NOTHING),
            ("Temperature", NOTHING if subject.temperature is None else f"{subject.temperature:g}"),
            (
                "Tokens of a reply at most",
                NOTHING if subject.max_tokens is None else f"{subject.max_tokens:,}",
            ),
            ("Submitted by", provenance.submitter or NOTHING),
            ("Relation to the model", provenance.relation or "not stated"),
        ]
        if subject.worlds is not None:
            facts.append(("Worlds", ", ".join(map(str, subject.worlds))))
        facts += [(f"Prompt {name}", digest) for name, digest in sorted(subject.prompts.items())]
        if subject.training is not None:
            facts += [
                (f"Setting {name}", plain(value)) for name, value in sorted(subject.training.settings.items())
            ]
        return facts

    @property
    def runs(self) -> list[Facts]:
        """The provenance of each run."""
        dirty = {True: "with local changes", False: "without local changes", None: "local changes unknown"}
        return [
            [
                ("Started", run.started),
                ("nlac-bench", run.nlac_bench),
                ("Python", run.python),
                ("Commit", f"{run.commit or 'unknown'}, {dirty[run.dirty]}"),
                ("Packages, SHA-256", run.packages_sha256),
                ("Manifest, SHA-256", run.manifest_sha256),
                ("Episodes, SHA-256", run.episodes_sha256),
            ]
            for run in self.entry.provenance.runs
        ]


def duration(hours: float | None) -> str:
    """Return a time such as ``0.3 s``, ``6 min`` or ``12 h`` with two digits, or a dash for None."""
    if hours is None:
        return NOTHING
    seconds = hours * 3600
    value, unit = (seconds, "s") if seconds < 60 else (seconds / 60, "min") if hours < 1 else (hours, "h")
    return f"{value:.2g} {unit}" if value < 10 else f"{value:,.0f} {unit}"


def _count(value: int | None) -> str:
    return NOTHING if value is None else f"{value:,}"


def amount(value: float | None) -> str:
    """Return a count such as 12.3k, or a dash for None."""
    return NOTHING if value is None else compact(value)


def plain(value: Any) -> str:
    """Return a JSON value as text; a string without quotes."""
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _with_interval(value: float | None, ci: tuple[float, float] | None) -> str:
    return number(value) if ci is None else f"{number(value)} [{number(ci[0])}, {number(ci[1])}]"


def _summed(runs: Sequence[Mapping[str, Tokens]]) -> dict[str, Tokens]:
    total: dict[str, Tokens] = {}
    for run in runs:
        for role, spent in run.items():
            before = total.get(role)
            total[role] = spent if before is None else Tokens(
                calls=before.calls + spent.calls,
                prompt_tokens=before.prompt_tokens + spent.prompt_tokens,
                completion_tokens=before.completion_tokens + spent.completion_tokens,
                cost=before.cost + spent.cost,
                seconds=before.seconds + spent.seconds,
            )  # fmt: skip
    return total
