"""The published coverage is what the interval functions really have."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks.simulations import coverage, coverage_pairs, documented
from benchmarks.simulations.__main__ import SECTIONS
from benchmarks.simulations.__main__ import main as print_report
from benchmarks.simulations.coverage import Cell, success_cells
from benchmarks.simulations.task_models import beta_binomial, beta_moment, beta_tasks, paired_differences
from nlac_bench.stats.distributions import t_quantile
from nlac_bench.stats.intervals import clustered_bounds, paired_interval, rate_interval
from nlac_bench.stats.seed_errors import algorithm_error


@pytest.fixture(scope="module")
def cells() -> list[Cell]:
    return list(success_cells(clustered_bounds, draws=10_000, seed=1))  # docs/statistics.md shows seed 0


def test_every_cell_covers_92_percent(cells: list[Cell]) -> None:
    assert len(cells) == 5 * 7 * (1 + 3 * 6)
    assert min(cell.coverage for cell in cells) >= 0.92


def test_mean_coverage_is_the_claimed_one(cells: list[Cell]) -> None:
    for chosen in (
        cells,
        *([c for c in cells if c.trials == trials] for trials in (1, 2, 4, 8)),
        *([c for c in cells if c.icc == icc] for icc in coverage.ICCS),
    ):
        assert 0.935 <= np.mean([c.coverage for c in chosen]) <= 0.965


def test_cells_of_single_trials_are_exact(cells: list[Cell]) -> None:
    for cell in (c for c in cells if c.trials == 1):
        total = 0.0
        for successes in range(cell.tasks + 1):
            interval = rate_interval(np.repeat([1.0, 0.0], [successes, cell.tasks - successes]), 1)
            assert interval is not None
            if interval.low <= cell.rate <= interval.high:
                total += stats.binom.pmf(successes, cell.tasks, cell.rate)
        assert cell.coverage == pytest.approx(total, abs=1e-9)


def test_public_functions_cover_on_raw_samples() -> None:
    """The grid works on counts of task results; here whole samples go through the functions that runs use."""
    rng = np.random.default_rng(0)
    inside = difference = 0
    for _ in range(2_000):
        hard = rng.beta(0.5, 2, 50)
        means = rng.binomial(4, hard) / 4
        interval = rate_interval(means, 4)
        assert interval is not None
        inside += interval.low <= 0.2 <= interval.high
        paired = paired_interval(means - rng.binomial(4, hard) / 4, single=False)
        assert paired is not None
        difference += paired.low <= 0 <= paired.high
    assert 0.935 <= inside / 2_000 <= 0.975
    assert 0.935 <= difference / 2_000 <= 0.985


@pytest.mark.parametrize("icc", [0.0, 0.1, 0.6, 1.0])
def test_task_models_are_scipys(icc: float) -> None:
    rate = 0.3
    chances = beta_binomial(4, rate, icc)
    quantiles = beta_tasks(rate, icc)
    assert chances @ np.arange(5) / 4 == pytest.approx(rate)
    assert quantiles.mean() == pytest.approx(rate, abs=0.002)
    assert quantiles.var() == pytest.approx(icc * rate * (1 - rate), abs=0.002)
    assert beta_moment(rate, icc, 3) == pytest.approx((quantiles**3).mean(), abs=0.002)
    if 0 < icc < 1:
        a, b = rate * (1 / icc - 1), (1 - rate) * (1 / icc - 1)
        assert chances == pytest.approx(stats.betabinom.pmf(np.arange(5), 4, a, b))
        assert quantiles[::100] == pytest.approx(
            stats.beta.ppf((np.arange(0, 2000, 100) + 0.5) / 2000, a, b), abs=1e-3
        )


def test_paired_model_has_the_differences_it_says() -> None:
    chances, truth = paired_differences(0.7, 0.5, 4, 0.3, 0.8)
    values = np.arange(-4, 5) / 4
    assert chances @ values == pytest.approx(truth)
    assert truth == pytest.approx(0.2, abs=0.001)
    alone, _ = paired_differences(0.5, 0.5, 1, 0.6, 0.0)
    assert alone == pytest.approx([0.25, 0.5, 0.25], abs=0.001)


@pytest.mark.slow(reason="simulates small tables of all sections")
@pytest.mark.parametrize(
    "section",
    [
        "success", "pass-k", "paired", "verdict", "unlike", "power", "detectable", "algorithms",
        "one algorithm", "boundary", "worlds", "places", "places of algorithms", "floors", "sequential",
    ],
)  # fmt: skip
def test_report_prints_its_tables(capsys: pytest.CaptureFixture[str], section: str) -> None:
    print_report(["--draws", "20", "--only", section])
    text = capsys.readouterr().out
    assert text.startswith(f"<!-- {section}: ")
    assert text.count("\n|---") >= 1


def test_the_page_has_the_tables_of_the_command(tmp_path: Path) -> None:
    """The planning table is computed here; that of the coverage has a row for each kind of simulation."""
    page = documented.PAGE.read_text()
    assert documented.planning_table() in page
    for label, section, _ in documented.ROWS:
        assert f"| {label} | `{section}` | " in page and section in SECTIONS
    copied = tmp_path / "statistics.md"
    copied.write_text(page)
    texts = dict.fromkeys(SECTIONS, "")
    texts |= {name: table.replace("P", "93.5%") for name, table in TABLES.items()}
    with pytest.raises(IndexError):
        documented.write_page(texts | {"floors": ""}, copied)
    documented.write_page(texts, copied)
    written = copied.read_text()
    assert "| success rate, one trial | `success` | 35 | 93.5–93.5 %; 2 below 92 % |" in written
    assert "| one algorithm's rate, 2 seeds | `one algorithm` | 1 | 93.5–93.5 % |" in written
    assert "| two equal runs: false verdicts | `verdict` | 1 groups | mean 93.5–93.5 %, highest" in written
    assert documented.planning_table() in written and len(written.splitlines()) == len(page.splitlines())


GROUPS = "| interval | cells below 92 % | worst cell | highest |\n|---|---|---|---|\n"
TABLES = {
    "success": GROUPS + "".join(f"| as used, {n} trials | 2 of 35 | P at 5 | P |\n" for n in (1, 2, 4, 8)),
    "pass-k": GROUPS + "| true pass^k of .05 or more | 0 of 2 | P | P |\n"
    "| true pass^k below .05 | 1 of 2 | P | P |",
    "paired": GROUPS + "| all | 0 of 9 | P | P |",
    "boundary": "| | cells below 92 % | worst cell |\n|---|---|---|\n"
    + "".join(f"| **spread of seeds {spread}** | 0 of 9 | P at |\n" for spread in ("0", "0.6")),
    "verdict": "| mean | worst |\n|---|---|\n| P | P |",
    "unlike": "| a |\n|---|\n| P |",
    "power": "| a |\n|---|\n| 0.2 (found P) |",
    "detectable": "| a |\n|---|\n| 0.2 (found P) |\n\n| b |\n|---|\n| P |",
    "algorithms": "| seeds a side | coverage |\n|---|---|\n| 2 | P |\n| 3 | P |",
    "one algorithm": "| seeds | coverage |\n|---|---|\n| 2 | P |\n| 3 | P |\n| 5 | P |",
    "worlds": "| worlds | coverage |\n|---|---|\n| 2 | P |\n| 4 | P |",
    "places": "| all intervals hold |\n|---|\n| P ± 1.0 |",
    "places of algorithms": "| all intervals hold |\n|---|\n| P ± 1.0 |\n\n| b |\n|---|\n| P |",
    "floors": "| above the floor |\n|---|\n| P |",
    "sequential": "| wrong verdict |\n|---|\n| P |",
}


@pytest.mark.parametrize("tasks", [5, 20, 50])
@pytest.mark.parametrize("rate", [0.01, 0.02, 0.05, 0.1, 0.2])
@pytest.mark.parametrize("other", [0.0, 1.0])
def test_seeds_that_all_end_alike_are_covered(tasks: int, rate: float, other: float) -> None:
    """Exactly: A solves a task with probability ``rate``, with both seeds or with neither; B all or none."""
    covered = 0.0
    for successes in range(tasks + 1):
        a = np.tile(np.repeat([1.0, 0.0], [successes, tasks - successes]), (2, 1))
        error, df, _ = algorithm_error(a, np.full((2, tasks), other), np.random.default_rng(0), 500)
        half = t_quantile(0.975, df) * error
        if abs(float(a.mean()) - rate) <= half + 1e-12:
            covered += stats.binom.pmf(successes, tasks, rate)
    assert covered >= 0.92


@pytest.mark.slow
def test_equal_runs_are_seldom_told_apart() -> None:
    """False alarms of the verdict over populations of tasks: at most 5 %, the noise of 2,000 draws aside."""
    rng = np.random.default_rng(5)
    for tasks, trials in ((50, 1), (134, 1), (50, 4)):
        for rate, (icc, shared) in ((0.1, (0.3, 0.8)), (0.5, (0.0, 0.0)), (0.5, (0.6, 0.8))):
            chances, _ = paired_differences(rate, rate, trials, icc, shared)
            samples = rng.multinomial(tasks, chances, 2_000).astype(float)
            test, outside = coverage_pairs.rejections(samples, tasks, trials)
            assert (test & outside).mean() <= 0.065
