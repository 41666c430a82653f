"""Lists what an opened row of a board shows about its entry: results, costs, subject, provenance."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from nlac_bench.leaderboards.entry import Entry
from nlac_bench.leaderboards.spent import budget_use
from nlac_bench.leaderboards.subject import Tokens
from nlac_bench.reports.boards.formats import NOTHING, count_text, duration, plain
from nlac_bench.reports.figures.figure import Cell
from nlac_bench.reports.report.ends import end_in_words
from nlac_bench.stats.estimates import Estimate
from nlac_bench.stats.tables import number

SEED_COLUMNS = (
    "seed", "gradient steps", "environment steps", "generated tokens", "budget", "overshoot", "time",
    "tested at step", "untrained", "success",
)  # fmt: skip
Facts: TypeAlias = list[tuple[str, str]]
"""Pairs of a label and a value."""


def reports_success(entry: Entry) -> bool:
    """Return whether the environment says if an episode was a success.

    The driver reports success False for an episode that a limit cut, even in such an environment.
    """
    counts = entry.numbers.counts
    if counts is None:
        return True
    silent = counts.unscored - counts.content_filter
    return silent == 0 or counts.scored > counts.truncated or bool(entry.numbers.success)


def success_of(entry: Entry) -> float | None:
    """Return the rate that boards are ordered by; a publication states only one.

    It is None if the environment reports no success.
    """
    if not reports_success(entry):
        return None
    return entry.numbers.success if entry.level == "reported" else entry.numbers.success_if_missing_failed


def count_of(entry: Entry, name: str) -> int | None:
    """Return one of ``EpisodeCounts`` by its name; None if the entry has no episodes."""
    counts = entry.numbers.counts
    return None if counts is None else int(getattr(counts, name))


def result_facts(entry: Entry) -> Facts:
    """Return all results, with their denominators."""
    numbers, cost = entry.numbers, entry.cost
    facts = [
        (
            "Success, missing episodes counted as failed",
            Estimate(success_of(entry), *(numbers.ci or () if reports_success(entry) else ())).to_text(),
        ),
        ("Success over scored episodes only", number(numbers.success)),
        ("Method of the interval", numbers.ci_method or NOTHING),
    ]
    if len(numbers.by_seed) > 1:
        facts.append(("Success of each seed", ", ".join(map(number, numbers.by_seed))))
    facts += [
        (
            f"pass^{each.k}",
            each.why_not or NOTHING
            if each.value is None
            else Estimate(each.value, *(each.ci or ())).to_text(),
        )
        for each in numbers.pass_k
    ]
    facts.append(("Mean reward", number(numbers.mean_reward)))
    if numbers.tasks is not None:
        size = f"{numbers.tasks:,} × {numbers.trials:,} × {len(entry.outcomes)}"
        facts.append(("Tasks × trials × seeds", size))
    if numbers.counts is not None:
        facts += [
            (label, count_text(count_of(entry, name)))
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
        ends = (f"{end_in_words(reason)}: {count:,}" for reason, count in numbers.end_reasons.items())
        facts.append(("How episodes ended", "; ".join(ends)))
    unknown = [run.unknown_rate for run in entry.outcomes if run.unknown_rate is not None]
    if unknown:
        facts.append(("Questions that the oracle could not answer", ", ".join(f"{u:.1%}" for u in unknown)))
    if entry.outcomes:
        facts.append(("Time of the test episodes", duration(cost.seconds / 3600)))
    return facts


def token_rows(entry: Entry) -> list[list[Cell]]:
    """Return calls, tokens and cost by role: of the training of all seeds, and of the test episodes."""
    training = entry.subject.training
    runs = [] if training is None else [run.tokens_by_role for run in training.runs]
    parts = (("training", _summed(runs)), ("test", entry.cost.tokens_by_role))
    return [
        [f"{part}: {role}", spent.calls, spent.prompt_tokens, spent.completion_tokens, spent.cost or None]
        for part, roles in parts
        for role, spent in sorted(roles.items())
    ]


def seed_rows(entry: Entry) -> list[list[Cell]]:
    """Return the cost and the result of each seed's training; ``SEED_COLUMNS`` names the columns."""
    training, by_seed = entry.subject.training, entry.numbers.by_seed
    if training is None:
        return []
    results = by_seed if len(by_seed) == len(training.runs) else [None] * len(training.runs)
    uses = [budget_use(training.budget, run) for run in training.runs]
    return [
        [str(run.seed), run.gradient_steps, run.environment_steps, run.generated_tokens,
         None if use is None else use.planned, None if use is None else round(use.overshoot),
         duration(run.seconds / 3600), run.chosen_step, number(run.base_success), number(result)]
        for run, use, result in zip(training.runs, uses, results, strict=True)
    ]  # fmt: skip


def subject_facts(entry: Entry) -> Facts:
    """Return who was measured, and where the entry comes from."""
    subject, provenance = entry.subject, entry.provenance
    facts = [
        ("Entry", entry.entry_id),
        ("Agent", subject.label),
        ("Model", subject.model or NOTHING),
        ("Revision", subject.revision or NOTHING),
        ("Engine", subject.engine or NOTHING),
        ("Temperature", NOTHING if subject.temperature is None else f"{subject.temperature:g}"),
        ("Tokens of a reply at most", count_text(subject.max_tokens)),
        ("Submitted by", provenance.submitter or NOTHING),
        ("Relation to the model", provenance.relation or "not stated"),
    ]
    if subject.worlds is not None:
        facts.append(("Worlds", ", ".join(map(str, subject.worlds))))
    if subject.weights is not None:
        made = subject.weights.run
        facts.append(("Weights, SHA-256", subject.weights.sha256))
        facts.append(
            ("Manifest of their training, SHA-256", NOTHING if made is None else made.manifest_sha256)
        )
    facts += [(f"Prompt {name}", digest) for name, digest in sorted(subject.prompts.items())]
    if subject.training is not None:
        facts += [
            (f"Tested weights of seed {run.seed}, SHA-256", run.weights_sha256)
            for run in subject.training.runs
            if run.weights_sha256 is not None
        ]
        facts += [
            (f"Setting {name}", plain(value)) for name, value in sorted(subject.training.settings.items())
        ]
    return facts


def run_facts(entry: Entry) -> list[Facts]:
    """Return the provenance of each run."""
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
        for run in entry.provenance.runs
    ]


def _summed(runs: Sequence[Mapping[str, Tokens]]) -> dict[str, Tokens]:
    total: dict[str, Tokens] = {}
    for run in runs:
        for role, spent in run.items():
            before = total.get(role)
            # a sum may exceed the largest number that one run may state
            total[role] = spent if before is None else Tokens.model_construct(
                calls=before.calls + spent.calls,
                prompt_tokens=before.prompt_tokens + spent.prompt_tokens,
                completion_tokens=before.completion_tokens + spent.completion_tokens,
                cost=before.cost + spent.cost,
                seconds=before.seconds + spent.seconds,
            )  # fmt: skip
    return total
