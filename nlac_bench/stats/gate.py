"""Decides by the 95 % interval of a comparison whether A may replace B: pass, fail or undecided."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self, TypeAlias

from pydantic import Field, model_validator

from nlac_bench.errors import ConfigError
from nlac_bench.settings import Settings
from nlac_bench.stats.compare import Comparison
from nlac_bench.stats.compare_seeds import AlgorithmComparison
from nlac_bench.stats.distributions import Z95, normal_quantile
from nlac_bench.stats.power import POWER
from nlac_bench.stats.tables import number
from nlac_bench.untrusted import read_toml

GateVerdict: TypeAlias = Literal["pass", "fail", "undecided"]

DEFAULT = "default"
"""The table of a gate file for environments that have none of their own."""

_MOST_UNITS = 10**9
"""More tasks are not stated."""


class GateRule(Settings):
    """What is required of A − B in an environment, in units of the compared metric."""

    largest_loss: float | None = Field(None, description="A may be worse than B by this much.", ge=0)
    smallest_gain: float | None = Field(None, description="A must be better than B by this much.", ge=0)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.largest_loss is None and self.smallest_gain is None:
            raise ConfigError("set largest_loss, smallest_gain or both")
        return self

    @property
    def threshold(self) -> float:
        """The least difference that satisfies both settings: a required gain allows no loss."""
        return -float(self.largest_loss or 0.0) if self.smallest_gain is None else self.smallest_gain


@dataclass(frozen=True)
class GateResult:
    """The verdict on an environment. ``needed`` is the size of a comparison that would decide, by unit.

    ``needed`` is empty if the gate is decided, or if no size is known: the observed difference is the
    threshold itself, or its spread is unknown.
    """

    env: str
    rule: GateRule
    comparison: Comparison | AlgorithmComparison
    verdict: GateVerdict
    needed: Mapping[str, int]

    def to_json(self) -> dict[str, object]:
        """Return a plain dict."""
        return {
            "verdict": self.verdict,
            **self.rule.as_dict(),
            "needed": dict(self.needed),
            "comparison": self.comparison.to_json(),
        }

    def to_text(self) -> str:
        """Return one line: the verdict, the rule, and what would decide."""
        rules = [f"{name} = {value:g}" for name, value in self.rule.as_dict().items() if value is not None]
        line = f"gate of {self.env}: {self.verdict} ({', '.join(rules)})"
        if self.verdict != "undecided":
            return line
        if not self.needed:
            return f"{line}; no larger comparison is known to decide it"
        sizes = " with ".join(f"{size:,} {unit}" for unit, size in self.needed.items())
        return (
            f"{line}; about {sizes} would decide it with {POWER:.0%} power, if the difference is "
            f"{number(self.comparison.difference, sign=True)}"
        )


def read_gate(path: Path) -> dict[str, GateRule]:
    """Return the rules of a TOML file, by environment: tables ``[ENVIRONMENT]`` and ``[default]``.

    Raises:
        ConfigError: the file cannot be read or has no rule, or a setting is unknown or invalid.
    """
    try:
        tables = read_toml(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"cannot read the gate {path}: {reason}") from error
    if not tables:
        raise ConfigError(f"{path} has no rule; write [{DEFAULT}] and, below it, largest_loss = 0.02")
    rules = {}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise ConfigError(
                f"{path}: unknown setting {name!r}; settings belong below [{DEFAULT}] or the name of an "
                f"environment: {', '.join(GateRule.model_fields)}"
            )
        rules[name] = GateRule.from_mapping(table, f"{path}: [{name}]: ")
    return rules


def rules_for(rules: Mapping[str, GateRule], envs: set[str], source: Path) -> dict[str, GateRule]:
    """Return the rule of each of ``envs``.

    Raises:
        ConfigError: a rule is for another environment, or an environment has no rule.
    """
    if unknown := sorted(rules.keys() - envs - {DEFAULT}):
        raise ConfigError(
            f"{source}: no run is of the environment {unknown[0]!r}; there are runs of "
            + ", ".join(sorted(envs))
        )
    if missing := sorted(env for env in envs if env not in rules and DEFAULT not in rules):
        raise ConfigError(f"{source} has no rule for {missing[0]}; add [{missing[0]}] or [{DEFAULT}]")
    return {env: rules.get(env) or rules[DEFAULT] for env in sorted(envs)}


def judge(env: str, rule: GateRule, comparison: Comparison | AlgorithmComparison) -> GateResult:
    """Apply ``rule`` to the two-sided 95 % interval of A − B.

    The gate passes if the whole interval is above the rule's threshold, and fails if it is below. Each wrong
    verdict has a probability of at most about 2.5 %.
    """
    interval = comparison.interval
    verdict: GateVerdict = "undecided"
    if interval is not None and interval.low > rule.threshold:
        verdict = "pass"
    elif interval is not None and interval.high < rule.threshold:
        verdict = "fail"
    needed = _needed(rule, comparison) if verdict == "undecided" else {}
    return GateResult(env, rule, comparison, verdict, needed)


def worst(verdicts: list[GateVerdict]) -> GateVerdict:
    """Return the verdict on several environments together."""
    return next((each for each in ("fail", "undecided") if each in verdicts), "pass")


def _needed(rule: GateRule, comparison: Comparison | AlgorithmComparison) -> dict[str, int]:
    """Return the size at which the observed difference is distinguished from the threshold with ``POWER``.

    The interval's width is inversely proportional to the square root of the size. A difference that lies
    ``1 + z(.8) / z(.975)`` of its half widths from the threshold is found with probability .8.
    """
    interval, distance = comparison.interval, abs(comparison.difference - rule.threshold)
    if interval is None or distance == 0:
        return {}
    half = (interval.high - interval.low) / 2
    factor = max(1.0, (half * (1 + normal_quantile(POWER) / Z95) / distance) ** 2)
    sizes = {"tasks": comparison.tasks}
    if isinstance(comparison, AlgorithmComparison):
        sizes = {"seeds a side": min(len(comparison.seeds_a), len(comparison.seeds_b)), **sizes}
    if max(sizes.values()) * factor > _MOST_UNITS:
        return {}
    return {unit: max(math.ceil(size * factor), size + 1) for unit, size in sizes.items()}
