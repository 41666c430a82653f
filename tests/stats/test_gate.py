"""Gates: verdicts on runs of known differences, error rates, what would decide, and refused files."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nlac_bench.api.gating import gate_sides
from nlac_bench.errors import NlacBenchError
from nlac_bench.stats.gate import GateResult, GateRule, judge, read_gate
from nlac_bench.stats.intervals import Floats, paired_interval
from nlac_bench.stats.pairing import NotComparableError
from tests.cli.command import nlac_bench
from tests.stats.test_compare import failure, make_run


def gate_file(path: Path, text: str) -> Path:
    file = path / "gate.toml"
    file.write_text(text)
    return file


def run_of(folder: Path, solved: int, tasks: int = 100, first: int = 0, **conditions: Any) -> str:
    """A run that solves ``solved`` of its tasks, from task ``first``."""
    make_run(folder, lambda task, trial: first <= int(task[1:]) < first + solved, tasks=tasks, **conditions)
    return str(folder)


@pytest.mark.parametrize(
    ("solved_a", "first_a", "rule", "verdict", "code"),
    [
        (50, 0, "largest_loss = 0.05", "pass", 0),  # the runs are equal, and 100 tasks show it
        (50, 5, "largest_loss = 0.01", "undecided", 4),  # equal rates, but on different tasks
        (50, 0, "smallest_gain = 0", "undecided", 4),
        (20, 0, "largest_loss = 0.05", "fail", 1),
        (44, 0, "largest_loss = 0.05", "undecided", 4),
        (90, 0, "smallest_gain = 0.1", "pass", 0),
        (55, 0, "smallest_gain = 0.2", "fail", 1),
        (62, 0, "smallest_gain = 0.1", "undecided", 4),
        (90, 0, "largest_loss = 0.01\nsmallest_gain = 0.6", "fail", 1),
        (90, 0, "largest_loss = 0.01\nsmallest_gain = 0.1", "pass", 0),
    ],
)
def test_verdicts(tmp_path: Path, solved_a: int, first_a: int, rule: str, verdict: str, code: int) -> None:
    a = run_of(tmp_path / "a", solved_a, first=first_a)
    b = run_of(tmp_path / "b", 50)
    gate = gate_file(tmp_path, f"[tau_retail]\n{rule}\n")
    done = nlac_bench("compare", a, b, "--gate", str(gate), "--json", status=code)
    result = json.loads(done.stdout)
    assert result["verdict"] == verdict
    judged = result["environments"]["tau_retail"]
    assert judged["verdict"] == verdict
    assert judged["comparison"]["difference"] == pytest.approx((solved_a - 50) / 100)
    text = nlac_bench("compare", a, b, "--gate", str(gate), status=code).stdout
    assert text.endswith(f"gate: {verdict}\n")
    if verdict == "undecided":
        if solved_a == 50 and rule == "smallest_gain = 0":
            assert not judged["needed"] and "no larger comparison is known to decide it" in text
        else:
            assert judged["needed"]["tasks"] > 100
            assert f"{judged['needed']['tasks']:,} tasks would decide it" in text
    else:
        assert judged["needed"] == {}


def test_each_environment_has_its_rule_and_the_worst_verdict_counts(tmp_path: Path) -> None:
    sides = []
    for side, solved in (("a", (90, 50)), ("b", (50, 50))):
        retail = run_of(tmp_path / f"{side}-retail", solved[0])
        airline = run_of(tmp_path / f"{side}-airline", solved[1], env="tau_airline")
        sides.append([retail, airline])
    gate = gate_file(tmp_path, "[default]\nlargest_loss = 0.1\n[tau_retail]\nsmallest_gain = 0.1\n")
    report = gate_sides(sides, gate)
    assert [(each.env, each.verdict) for each in report.results] == [
        ("tau_airline", "pass"), ("tau_retail", "pass"),
    ]  # fmt: skip
    assert report.verdict == "pass"
    gate = gate_file(tmp_path, "[default]\nsmallest_gain = 0.3\n[tau_airline]\nlargest_loss = 0\n")
    assert gate_sides(sides, gate).verdict == "undecided"
    assert gate_sides(sides[::-1], gate).verdict == "fail"
    with pytest.raises(NotComparableError, match="only one side has runs of tau_airline"):
        gate_sides([sides[0], sides[1][:1]], gate)


def test_seeds_of_an_algorithm(tmp_path: Path) -> None:
    sides = [
        [run_of(tmp_path / f"{side}{seed}", solved + seed) for seed in range(3)]
        for side, solved in (("a", 70), ("b", 40))
    ]
    gained = gate_file(tmp_path, "[default]\nsmallest_gain = 0.05\n")
    assert gate_sides(sides, gained).verdict == "pass"
    (close,) = gate_sides(sides, gate_file(tmp_path, "[default]\nsmallest_gain = 0.29\n")).results
    assert close.verdict == "undecided" and close.needed["seeds a side"] > 3
    assert "seeds a side with" in close.to_text()


def test_infrastructure_errors_are_not_scored(tmp_path: Path) -> None:
    a = make_run(
        tmp_path / "a", lambda task, trial: failure() if task in ("t0", "t1") else True, tasks=40
    ).name
    b = run_of(tmp_path / "b", 40, tasks=40)
    sides, gate = [[str(tmp_path / a)], [b]], gate_file(tmp_path, "[default]\nlargest_loss = 0.2\n")
    with pytest.raises(NotComparableError, match="resume that run"):
        gate_sides(sides, gate)
    report = gate_sides(sides, gate, common=True)
    assert report.verdict == "pass" and report.results[0].comparison.difference == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no rule"),
        ("[default]\n", "set largest_loss, smallest_gain or both"),
        ("largest_loss = 0.1\n", "unknown setting 'largest_loss'; settings belong below"),
        ("[default]\nlargest_los = 0.1\n", "unknown setting 'largest_los'"),
        ("[default]\nlargest_loss = -0.1\n", "largest_loss must be at least 0"),
        ("[default]\nlargest_loss = nan\n", "largest_loss must be a finite number"),
        ("[default]\nlargest_loss = true\n", "largest_loss must be a finite number"),
        ("[tau_airline]\nlargest_loss = 0.1\n", "no run is of the environment 'tau_airline'"),
        ("[default]\nlargest_loss = 0.1\n[nowhere]\nlargest_loss = 0\n", "'nowhere'"),
        ("[default\n", "cannot read the gate"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    sides = [run_of(tmp_path / "a", 5, tasks=10), run_of(tmp_path / "b", 4, tasks=10)]
    done = nlac_bench("compare", *sides, "--gate", str(gate_file(tmp_path, text)), status=2)
    assert message in done.stderr and not done.stdout


def test_an_environment_without_a_rule_and_a_third_run_are_refused(tmp_path: Path) -> None:
    a, b = run_of(tmp_path / "a", 5, tasks=10), run_of(tmp_path / "b", 4, tasks=10)
    other = run_of(tmp_path / "c", 4, tasks=10, env="tau_airline")
    gate = gate_file(tmp_path, "[tau_retail]\nlargest_loss = 0.1\n")
    with pytest.raises(NlacBenchError, match="has no rule for tau_airline"):
        gate_sides([[a, other], [b, other]], gate)
    with pytest.raises(ValueError, match="expected two sides, got 3"):
        gate_sides([[a], [b], [b]], gate)
    with pytest.raises(NlacBenchError, match="cannot read the gate"):
        read_gate(tmp_path / "missing.toml")


def judged(differences: Floats, rule: GateRule) -> GateResult:
    comparison: Any = SimpleNamespace(
        interval=paired_interval(differences, single=True),
        difference=float(differences.mean()),
        tasks=len(differences),
    )
    return judge("env", rule, comparison)


def drawn(rng: np.random.Generator, tasks: int, difference: float, discordance: float) -> Floats:
    """Differences of two runs with single trials: 1, 0 or −1, with mean ``difference``."""
    better = (discordance + difference) / 2
    return rng.choice([1.0, 0.0, -1.0], tasks, p=[better, 1 - discordance, discordance - better])


def shares(rule: GateRule, difference: float, discordance: float, samples: int = 400) -> Sequence[float]:
    """The shares of samples of 150 tasks that pass and that fail."""
    rng = np.random.default_rng(1)
    verdicts = [judged(drawn(rng, 150, difference, discordance), rule).verdict for _ in range(samples)]
    return verdicts.count("pass") / samples, verdicts.count("fail") / samples


@pytest.mark.parametrize("discordance", [0.1, 0.3])
def test_wrong_verdicts_are_as_rare_as_stated(discordance: float) -> None:
    """At the threshold either verdict is wrong with 2.5 %; 400 samples have a standard error of 0.8 %."""
    for rule, threshold in (
        (GateRule(largest_loss=0.05), -0.05),
        (GateRule(smallest_gain=0.0), 0.0),
        (GateRule(smallest_gain=0.08), 0.08),
    ):
        passed, failed = shares(rule, threshold, discordance)
        assert passed <= 0.025 + 3 * 0.008 and failed <= 0.025 + 3 * 0.008, (rule, passed, failed)
    assert shares(GateRule(largest_loss=0.05), -0.1, 0.1)[0] == 0, "a large loss does not pass"
    assert shares(GateRule(largest_loss=0.01), -0.25, 0.3)[1] > 0.99
    assert shares(GateRule(smallest_gain=0.02), 0.25, 0.3)[0] > 0.99


def test_the_stated_number_of_tasks_decides_with_the_stated_power() -> None:
    rng, rule = np.random.default_rng(2), GateRule(largest_loss=0.04)
    decided: list[bool] = []
    while len(decided) < 300:
        observed = drawn(rng, 100, 0.02, 0.3)
        result = judged(observed, rule)
        if result.verdict == "undecided" and 0 < result.needed.get("tasks", 0) < 100_000:
            again = drawn(rng, result.needed["tasks"], observed.mean(), np.abs(observed).mean())
            decided.append(judged(again, rule).verdict != "undecided")
    assert 0.72 < np.mean(decided) < 0.88
