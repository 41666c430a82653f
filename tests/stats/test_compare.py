"""Comparisons, summaries and new scores of runs that are really on disk."""

import json
import shutil
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.lines import RunFolderError
from nlac_bench.harness.runs.seeds import Planned, plan_episodes
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.rollout.driver import EpisodeSpec, Failure
from nlac_bench.stats.compare import compare, compare_all, comparison_table
from nlac_bench.stats.compare_seeds import compare_algorithms
from nlac_bench.stats.distributions import t_quantile
from nlac_bench.stats.intervals import paired_bounds, paired_interval, paired_sums
from nlac_bench.stats.outcomes import Counts, outcomes_of
from nlac_bench.stats.pairing import MeasuredRun, NotComparableError
from nlac_bench.stats.score import PartMeans, ScoreByParts, rescore
from nlac_bench.stats.seed_errors import algorithm_error, hierarchical_error
from nlac_bench.stats.summary import summarise, summary_of
from nlac_bench.types import Episode, Turn, Usage

CONDITIONS = {
    "env": "tau_retail",
    "env_version": "1",
    "split": "test",
    "data_source": "official",
    "data_sha256": "abc",
    "reward": "original",
    "user": "gpt-4o",
    "oracle": None,
}
Result = bool | float | None | Failure
"""Success, a reward, an episode without a score, or a failure."""


def failure(usage: Mapping[str, Usage] | None = None) -> Failure:
    spec = EpisodeSpec("tau_retail", "t", 0, 0)
    return Failure(spec, "infra", "EnvInfraError", "the user's server is down", 1, dict(usage or {}))


def make_run(
    path: Path,
    results: Callable[[str, int], Result | str],
    *,
    tasks: int = 4,
    trials: int = 1,
    first_task: int = 0,
    agent: str = "react",
    **conditions: Any,
) -> MeasuredRun:
    """A run whose episode of (task, trial) ends as ``results`` says; "owed" is not played.

    Its seeds depend on the name of ``path``.
    """
    plan = plan_episodes([f"t{i}" for i in range(first_task, first_task + tasks)], trials, base_seed=0)
    plan = tuple(Planned(p.task_id, p.trial, p.seed ^ zlib.crc32(path.name.encode())) for p in plan)
    subject = {"agent": agent, "model": path.name}
    writer = RunWriter.create(
        path, config={}, conditions={**CONDITIONS, **conditions}, subject=subject, plan=plan
    )
    with writer:
        for item in plan:
            result = results(item.task_id, item.trial)
            if isinstance(result, Failure):
                writer.record_failure(item, result)
            elif result != "owed":
                writer.append(episode(item, result))
    return MeasuredRun.read(path, path.name)


def episode(item: Planned, result: Any) -> Episode:
    reward = float(result or 0.0)
    success = None if result is None else reward >= 1
    usage = {"policy": Usage(1, 100, 10, 0.01, 0.5), "user": Usage(2, 50, 5)}
    turns = [Turn("a", reward=0.0), Turn("b", reward=reward)]
    end = "success" if success else "failure"
    return Episode(
        "tau_retail",
        item.task_id,
        item.trial,
        item.seed,
        "hi",
        turns,
        True,
        False,
        success,
        end,
        {},
        usage,
        2.0,
    )


def test_summary_by_hand(tmp_path: Path) -> None:
    """Four tasks, two trials: 1 1 | 1 0 | 0 – | infra, owed."""
    ends: dict[tuple[str, int], Any] = {
        ("t0", 0): True, ("t0", 1): True, ("t1", 0): True, ("t1", 1): False,
        ("t2", 0): False, ("t2", 1): None, ("t3", 0): failure({"user": Usage(1, 7)}), ("t3", 1): "owed",
    }  # fmt: skip
    make_run(tmp_path / "run", lambda task, trial: ends[task, trial], trials=2)
    summary = summarise(tmp_path / "run")
    assert summary.outcomes.counts == Counts(
        planned=8, scored=5, unscored=1, infra_errors=1, owed=1, truncated=0
    )
    assert summary.success == pytest.approx((1 + 0.5 + 0) / 3), "tasks count alike, unscored is not 0"
    assert summary.success_if_missing_failed == pytest.approx(3 / 8)
    shown = json.loads(json.dumps(summary.to_json(), allow_nan=False))
    assert (shown["run_dir"], shown["env"], shown["agent"]) == (str(tmp_path / "run"), "tau_retail", "react")
    counts = [shown[key] for key in ("planned", "scored", "infra_errors", "truncated")]
    assert counts == [8, 5, 1, 0]
    assert shown["ci"][0] < 0.5 < shown["ci"][1]
    assert shown["tokens"] == 6 * 165 + 7
    assert shown["usage"]["policy"] == {
        "calls": 6, "prompt_tokens": 600, "completion_tokens": 60, "seconds": 3.0,
        "cost": pytest.approx(0.06),
    }  # fmt: skip
    assert shown["usage"]["user"]["prompt_tokens"] == 307, "a failed attempt costs all the same"
    assert shown["pass_k"][0]["why_not"] == "1 of 4 tasks have fewer than 1 scored trials"
    assert (shown["tasks"], shown["tasks_scored"], shown["seconds"]) == (4, 3, 12.0)
    text = summary.to_text()
    assert "8 planned, 5 scored, 1 infra errors, 0 truncated, 1 unscored, 1 owed" in text
    assert "success if all other episodes had failed: 0.375" in text


def test_summary_of_nothing_scored(tmp_path: Path) -> None:
    make_run(tmp_path / "run", lambda task, trial: failure())
    summary = summarise(tmp_path / "run")
    assert (summary.success, summary.interval, summary.mean_reward) == (None, None, None)
    assert json.loads(json.dumps(summary.to_json(), allow_nan=False))["infra_errors"] == 4
    assert "4 infra errors" in summary.to_text()


def test_summary_does_not_depend_on_the_order_of_endings(tmp_path: Path) -> None:
    plan = plan_episodes([f"t{i}" for i in range(30)], 2, 0)
    shown = []
    for name, order in (("forward", plan), ("backward", plan[::-1])):
        with RunWriter.create(
            tmp_path / name, config={}, conditions=CONDITIONS, subject={"agent": "a"}, plan=plan
        ) as w:
            for item in order:
                w.append(episode(item, item.seed % 3 == 0))
        shown.append({**summarise(tmp_path / name).to_json(), "run_dir": ""})
    assert shown[0] == shown[1]


def test_rewards_that_are_no_numbers_are_named(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match=r"the return of episode \('t2', 0\) is inf"):
        make_run(tmp_path / "run", lambda task, trial: float("inf") if task == "t2" else True)


def test_comparison_by_hand(tmp_path: Path) -> None:
    """50 tasks, one trial: A alone solves 12, B alone 2, both 20: p = 2 Σ C(14, ≤ 2) / 2^14 = .01294."""
    a = make_run(tmp_path / "a", lambda t, k: int(t[1:]) < 32, tasks=50)
    b = make_run(tmp_path / "b", lambda t, k: int(t[1:]) < 20 or int(t[1:]) > 47, tasks=50)
    found = compare(a, b)
    assert found.verdict == "A better"
    assert found.difference == pytest.approx(0.2)
    assert found.better_only == (12, 2)
    assert found.test == "exact McNemar"
    assert found.p_value == pytest.approx(2 * (1 + 14 + 91) / 2**14)
    assert found.interval is not None
    assert 0 < found.interval.low < 0.2 < found.interval.high
    assert found.detectable is not None and 0.25 < found.detectable < 0.3
    turned = compare(b, a)
    assert turned.verdict == "B better" and turned.difference == pytest.approx(-0.2)
    shown = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert shown["verdict"] == "A better"
    assert (shown["a"]["planned"], shown["a"]["scored"], shown["b"]["infra_errors"]) == (50, 50, 0)
    text = found.to_text()
    for part in (
        "A − B = +0.200",
        "p = 0.013 (exact McNemar)",
        "solved by A only: 12, by B only: 2",
        "80% power",
    ):
        assert part in text


def test_a_run_is_not_better_than_itself(tmp_path: Path) -> None:
    a = make_run(tmp_path / "a", lambda t, k: int(t[1:]) % 2 == 0, tasks=30)
    found = compare(a, a)
    assert found.verdict == "not distinguishable"
    assert (found.difference, found.p_value) == (0.0, 1.0)
    assert found.interval is not None
    assert found.interval.low < 0 < found.interval.high


def test_several_trials_and_different_numbers_of_them(tmp_path: Path) -> None:
    a = make_run(tmp_path / "a", lambda t, k: (int(t[1:]) + k) % 4 != 0, tasks=60, trials=4)
    b = make_run(tmp_path / "b", lambda t, k: (int(t[1:]) + k) % 2 == 0, tasks=60, trials=2)
    found = compare(a, b)
    assert found.verdict == "A better"
    assert found.difference == pytest.approx(0.25)
    assert found.better_only is None
    assert found.test == "sign flips by task"
    assert found.notes == ("A has 4 trials a task and B 2; each task has the same weight",)


def test_rewards_are_compared_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    base = dict(zip((f"t{i}" for i in range(40)), rng.normal(-10, 5, 40), strict=True))
    a = make_run(tmp_path / "a", lambda t, k: base[t] + 1, tasks=40)
    b = make_run(tmp_path / "b", lambda t, k: base[t] + float(rng.normal(0, 1)), tasks=40)
    found = compare(a, b, metric="reward")
    assert found.verdict == "A better"
    assert found.interval is not None and found.interval.method == "t, clustered by task"
    assert compare(a, b).verdict == "not distinguishable"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("data_source", "embedded"),
        ("data_sha256", "def"),
        ("oracle", "llm"),
        ("user", "gpt-4o-mini"),
        ("reward", "strict"),
        ("env_version", "2"),
    ],
)
def test_other_conditions_are_not_comparable(tmp_path: Path, name: str, value: str) -> None:
    a = make_run(tmp_path / "a", lambda t, k: True)
    conditions: dict[str, Any] = {name: value}
    b = make_run(tmp_path / "b", lambda t, k: True, **conditions)
    with pytest.raises(
        NotComparableError,
        match=f"a and b cannot be compared, because .* differ.*{name}: .* against '{value}'",
    ):
        compare(a, b)
    with pytest.raises(NotComparableError, match=name):
        compare_algorithms([a, make_run(tmp_path / "c", lambda t, k: True)], [a, b])


def test_other_tasks(tmp_path: Path) -> None:
    a = make_run(tmp_path / "a", lambda t, k: True, tasks=6)
    b = make_run(tmp_path / "b", lambda t, k: failure() if t == "t3" else False, tasks=6, first_task=1)
    with pytest.raises(NotComparableError) as caught:
        compare(a, b)
    assert str(caught.value) == (
        "the runs' tasks differ: of 7 tasks in total, a does not have 1 of them (such as 't6'); b does not "
        "have 1 of them (such as 't0'); b has no score for 1 of them (such as 't3'; resume that run). To "
        "compare the 4 tasks for which all runs have scores, use --common"
    )
    found = compare(a, b, tasks="common")
    assert (found.tasks, found.left_out, found.difference) == (4, 3, 1.0)
    assert found.notes == (
        "b: 1 of 6 episodes are not scored",
        "a played 6 tasks, of which 4 (67%) are compared",
        "b played 6 tasks, of which 4 (67%) are compared",
    )
    text = found.to_text()
    assert text.endswith(
        "note: 3 tasks are left out, because not every run has a score for them\n"
        "note: b: 1 of 6 episodes are not scored\n"
        "note: a played 6 tasks, of which 4 (67%) are compared\n"
        "note: b played 6 tasks, of which 4 (67%) are compared"
    )
    c = make_run(tmp_path / "c", lambda t, k: True, first_task=90)
    with pytest.raises(NotComparableError, match="no task has a score in both runs"):
        compare(a, c, tasks="common")


def test_runs_of_different_levels_are_compared_on_request_only(tmp_path: Path) -> None:
    easy = make_run(tmp_path / "easy", lambda t, k: True, tasks=4, env_args={"level": "easy"})
    every = make_run(tmp_path / "every", lambda t, k: False, tasks=12, env_args={})
    with pytest.raises(NotComparableError, match=r"level: 'easy' against None; .* use compare --common"):
        compare(easy, every)
    found = compare(easy, every, tasks="common")
    assert (found.tasks, found.difference) == (4, 1.0)
    assert "every played 12 tasks, of which 4 (33%) are compared" in found.notes
    other = make_run(tmp_path / "other", lambda t, k: False, env_args={"level": "easy", "reward": "strict"})
    for tasks in ("all", "common"):
        with pytest.raises(NotComparableError, match=r"reward: None against 'strict'$"):
            compare(easy, other, tasks=tasks)


def test_holm_over_a_table(tmp_path: Path) -> None:
    """p = .031 alone is "better"; among three comparisons it is not."""
    base = make_run(tmp_path / "base", lambda t, k: False, tasks=30)
    good = make_run(tmp_path / "good", lambda t, k: int(t[1:]) < 6, tasks=30)
    other = make_run(tmp_path / "other", lambda t, k: int(t[1:]) > 28, tasks=30)
    assert compare(good, base).p_value == pytest.approx(2 / 2**6)
    assert compare(good, base).verdict == "A better"
    found = compare_all([good, base, other])
    assert [f.p_adjusted for f in found] == pytest.approx([3 / 2**5, 2 * 0.125, 1.0])
    assert {f.verdict for f in found} == {"not distinguishable"}
    table = comparison_table(found)
    assert table.count("30/30") == 6
    assert "not distinguishable" in table
    with pytest.raises(NotComparableError, match="needs at least two runs, got 1"):
        compare_all([good])


def test_names_cannot_break_a_table(tmp_path: Path) -> None:
    a = make_run(tmp_path / "a", lambda t, k: True)
    evil = MeasuredRun("x\n\x1b[31mA better\ud800", a.conditions, a.outcomes)
    table = comparison_table(compare_all([evil, a]))
    assert len(table.splitlines()) == 3
    assert "\x1b" not in table


def test_a_run_is_not_a_second_seed_of_its_own(tmp_path: Path) -> None:
    """Neither the same folder nor a copy of it, finished or not; another seed that ends alike is."""
    a, b, c, d = (make_run(tmp_path / name, lambda t, k: t != "t1", tasks=9) for name in "abcd")
    shutil.copytree(tmp_path / "a", tmp_path / "copy" / "a", dirs_exist_ok=True)
    copied = MeasuredRun.read(tmp_path / "copy" / "a", "copied")
    begun = (tmp_path / "copy" / "a" / "episodes.jsonl").read_text().splitlines(keepends=True)[:4]
    (tmp_path / "copy" / "a" / "episodes.jsonl").write_text("".join(begun))
    unfinished = MeasuredRun.read(tmp_path / "copy" / "a", "unfinished")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    linked = MeasuredRun.read(tmp_path / "link")
    for other, what in ((a, "are the same run"), (linked, "are the same run"), (copied, "the same episodes"),
                        (unfinished, "the same episodes")):  # fmt: skip
        for sides in ([a, other], [b, c]), ([b, c], [a, other]):
            with pytest.raises(NotComparableError, match=f"{what}.*one seed, not two"):
                compare_algorithms(*sides, tasks="common")
    assert compare_algorithms([a, b], [c, d]).verdict == "not distinguishable"


def test_runs_of_two_agents_are_not_seeds_of_one_algorithm(tmp_path: Path) -> None:
    a, b = (make_run(tmp_path / name, lambda t, k: t != "t1", tasks=9) for name in "ab")
    c, d = (make_run(tmp_path / n, lambda t, k: t != "t2", tasks=9, agent=n) for n in ("ppo", "nlac"))
    with pytest.raises(NotComparableError, match="not seeds of one algorithm: their agents are ppo and nlac"):
        compare_algorithms([a, b], [c, d])


def test_algorithms_over_seeds(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    hard = rng.random(60)

    def seeds(name: str, gain: float, n: int) -> list[MeasuredRun]:
        luck = rng.normal(0, 0.03, n)

        def run(s: int) -> MeasuredRun:
            def success(task: str, trial: int) -> bool:
                return bool(rng.random() < hard[int(task[1:])] * 0.5 + gain + luck[s])

            return make_run(tmp_path / f"{name}{s}", success, tasks=60, trials=4)

        return [run(s) for s in range(n)]

    weak, strong = seeds("weak", 0.0, 3), seeds("strong", 0.3, 3)
    found = compare_algorithms(strong, weak, name_a="NLAC", name_b="GRPO")
    assert found.verdict == "A better"
    assert found.interval is not None and found.interval.low < 0.3 < found.interval.high
    assert compare_algorithms(strong, weak, name_a="NLAC", name_b="GRPO") == found, "seeded"
    shown = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert [s["name"] for s in shown["a"]["seeds"]] == ["strong0", "strong1", "strong2"]
    assert shown["a"]["mean"] - shown["b"]["mean"] == pytest.approx(found.difference)
    text = found.to_text()
    assert all(f"{name}{s}" in text for name in ("weak", "strong") for s in range(3))
    assert "with 3 seeds a side the estimate of the spread between seeds is unreliable" in text
    with pytest.raises(NotComparableError, match="NLAC has 1 seed"):
        compare_algorithms(strong[:1], weak, name_a="NLAC")


def test_two_seeds_that_disagree_prove_nothing() -> None:
    """Each run alone is far better than each of the other side's; the algorithms are not told apart."""
    rng = np.random.default_rng(2)
    a = (rng.random((2, 500)) < np.array([[0.9], [0.55]])).astype(float)
    b = (rng.random((2, 500)) < np.array([[0.5], [0.45]])).astype(float)
    error, df = hierarchical_error(a, b, rng)
    assert df < 2
    assert abs(a.mean() - b.mean()) < 4 * error
    between = np.sqrt(a.mean(1).var(ddof=1) / 2 + b.mean(1).var(ddof=1) / 2)
    assert error == pytest.approx(between, rel=0.1), "at 500 tasks the seeds are all that counts"


def test_error_without_seed_effects_is_that_of_tasks() -> None:
    """The same model ten times over: seeds add nothing and the paired error by task remains."""
    rng = np.random.default_rng(3)
    a, b = (rng.random((2, 200)) < 0.5).astype(float)
    error, df = hierarchical_error(np.tile(a, (10, 1)), np.tile(b, (10, 1)), rng)
    assert error == pytest.approx((a - b).std(ddof=1) / np.sqrt(200), rel=0.05)
    assert df == pytest.approx(199)


def test_scoring_again_by_another_rule(tmp_path: Path) -> None:
    plan = plan_episodes(["t0", "t1", "t2", "t3"], 1, 0)
    parts = [
        {"original": 1.0, "strict": 1.0},
        {"original": 1.0, "strict": 0.0},
        {"original": 0.0, "strict": 0.0},
    ]
    path = tmp_path / "run"
    with RunWriter.create(
        path, config={}, conditions=CONDITIONS, subject={"agent": "a"}, plan=plan
    ) as writer:
        for item, part in zip(plan, parts, strict=False):
            played = episode(item, part["original"])
            played.info["reward_parts"] = part
            writer.append(played)
        cut = episode(plan[3], False)
        cut.truncated, cut.terminated = True, False
        writer.append(cut)
    before = (path / "episodes.jsonl").read_bytes()
    run = RunFolder.open(path)
    original, strict = rescore(run, "original"), rescore(run, "strict")
    assert np.array_equal(original.success, outcomes_of(run).success)
    assert strict.success.ravel().tolist() == [1, 0, 0, 0]
    assert summary_of(strict, str(path), "tau_retail", "a").success == 0.25
    assert summary_of(strict, str(path), "tau_retail", "a").outcomes.counts.truncated == 1
    with pytest.raises(NlacBenchError, match="has no reward part 'lenient'; it has 'original', 'strict'"):
        rescore(run, "lenient")
    assert (path / "episodes.jsonl").read_bytes() == before


def test_means_of_parts_are_over_tasks_and_leave_out_what_was_not_recorded(tmp_path: Path) -> None:
    """Also in a run that an earlier version began, whose episodes have fewer parts."""
    plan = plan_episodes(["t0", "t1"], 2, 0)
    parts = [{"original": 1.0}, {"original": 1.0, "violations": 3.0}, {"original": 0.0, "violations": 0.0}]
    with RunWriter.create(
        tmp_path / "run", config={}, conditions=CONDITIONS, subject={"agent": "a"}, plan=plan
    ) as writer:
        for item, part in zip(sorted(plan, key=lambda item: item.key), parts, strict=False):
            played = episode(item, part["original"])
            played.info["reward_parts"] = part
            writer.append(played)
        writer.append(episode(sorted(plan, key=lambda item: item.key)[3], 1.0))
    scored = ScoreByParts.read(RunFolder.open(tmp_path / "run"))
    assert scored.parts.means == {"original": 0.5, "violations": 1.5}, "t0: 3, t1: 0"
    assert scored.parts.episodes == {"original": 3, "violations": 2}
    found = scored.to_json()
    assert found["parts"] == scored.parts.means and found["part_episodes"] == scored.parts.episodes
    assert found["success"] == 0.75 and "violations" in scored.to_text()


@pytest.mark.parametrize("value", ["1", None, float("nan"), [1.0]])
def test_a_part_that_is_no_number_is_named(value: object, tmp_path: Path) -> None:
    plan = plan_episodes(["t0"], 1, 0)
    with RunWriter.create(
        tmp_path / "run", config={}, conditions=CONDITIONS, subject={"agent": "a"}, plan=plan
    ) as writer:
        played = episode(plan[0], 1.0)
        played.info["reward_parts"] = {"original": value}
        writer.append(played)
    with pytest.raises(NlacBenchError, match=r"the part 'original' of the reward of episode \('t0', 0\)"):
        PartMeans.read(RunFolder.open(tmp_path / "run"))


def test_a_run_without_parts_has_none(tmp_path: Path) -> None:
    make_run(tmp_path / "run", lambda t, k: True, tasks=2)
    run = RunFolder.open(tmp_path / "run")
    assert ScoreByParts.read(run).to_json()["parts"] == {}
    assert "no episode has parts" in ScoreByParts.read(run).to_text()


def test_a_table_says_what_it_leaves_out(tmp_path: Path) -> None:
    a, b = (make_run(tmp_path / name, lambda t, k: True, tasks=6) for name in "ab")
    c = make_run(tmp_path / "c", lambda t, k: "owed" if t == "t3" else False, tasks=6)
    table = comparison_table(compare_all([a, b, c], tasks="common"))
    assert table.splitlines()[-4:] == [
        "a and c: note: 1 tasks are left out, because not every run has a score for them",
        "a and c: note: c: 1 of 6 episodes are not scored",
        "b and c: note: 1 tasks are left out, because not every run has a score for them",
        "b and c: note: c: 1 of 6 episodes are not scored",
    ]
    many = compare_algorithms([a, b], [a, c], tasks="common")
    assert (many.tasks, many.left_out) == (5, 1)
    for part in (
        "1 tasks are left out",
        "c: 1 of 6 episodes are not scored",
        "2 seeds: interval is approximate",
    ):
        assert f"note: {part}" in many.to_text()
    nothing = make_run(tmp_path / "nothing", lambda t, k: "owed", tasks=6)
    with pytest.raises(
        NotComparableError, match="a, b, a and nothing cannot be compared: no task has a score in all runs"
    ):
        compare_algorithms([a, b], [a, nothing], tasks="common")


def flat(path: Path, sides: Sequence[Sequence[Callable[[str, int], bool]]], **sizes: Any) -> Any:
    """The comparison of two algorithms whose seeds end as the functions say."""
    runs = [
        [make_run(path / f"{side}{seed}", result, **sizes) for seed, result in enumerate(results)]
        for side, results in enumerate(sides)
    ]
    return compare_algorithms(*runs)


@pytest.mark.parametrize("seeds", [2, 3])
@pytest.mark.parametrize("trials", [1, 4])
@pytest.mark.parametrize("tasks", [2, 20, 50])
@pytest.mark.parametrize("rate", [0, 1, "half of the tasks"])
def test_seeds_without_spread_have_the_interval_of_one_run(
    tmp_path: Path, rate: Any, tasks: int, trials: int, seeds: int
) -> None:
    """All seeds end alike, on both sides: the interval is not [0, 0] but that of a paired comparison of two
    equal runs with the same tasks, and as narrow for 3 seeds as for 2."""

    def result(task: str, trial: int) -> bool:
        return int(task[1:]) % 2 == 0 if rate == "half of the tasks" else bool(rate)

    found = flat(tmp_path, [[result] * seeds] * 2, tasks=tasks, trials=trials)
    floor = paired_interval(np.zeros(tasks), single=False)
    assert floor is not None and floor.high > 0
    assert (found.interval.low, found.interval.high) == pytest.approx((floor.low, floor.high))
    assert (found.difference, found.verdict, found.p_value) == (0.0, "not distinguishable", 1.0)
    assert found.df == tasks - 1
    if tasks == 2:
        assert found.detectable is None
    else:
        assert max(floor.high, 6 / tasks) <= found.detectable <= 1.0
        assert f"differences of {found.detectable:.3f} or more are detected" in found.to_text()


def test_the_interval_is_never_narrower_than_that_of_the_runs() -> None:
    """Also with a partial spread: at least the paired interval with the seeds as trials of a task, and at
    least the bootstrap's."""
    rng = np.random.default_rng(8)
    wider = [0, 0]
    for _ in range(300):
        seeds, tasks, trials = map(int, rng.integers((2, 2, 1), (5, 40, 5)))
        rates = rng.choice([0.0, 0.02, 0.3, 0.98, 1.0], (2, 1, 1)) * np.ones((1, seeds, tasks))
        a, b = rng.binomial(trials, rates) / trials
        error, df, _ = algorithm_error(a, b, np.random.default_rng(0), 200)
        half = t_quantile(0.975, df) * error
        alone, alone_df = hierarchical_error(a, b, np.random.default_rng(0), 200)
        low, high = paired_bounds(*paired_sums(a.mean(axis=0) - b.mean(axis=0)), tasks, single=False)
        assert half >= t_quantile(0.975, alone_df) * alone
        assert half >= float(high - low) / 2 - 1e-12
        wider[half > t_quantile(0.975, alone_df) * alone] += 1
    assert min(wider) > 20, "both intervals are used"


def test_one_task_that_each_seed_solves_once(tmp_path: Path) -> None:
    """A's seeds solve one of 50 tasks in one of two trials, and nothing else happens."""
    sides = [[lambda t, k: t == "t7" and k == 0] * 2, [lambda t, k: False] * 2]
    found = flat(tmp_path, sides, tasks=50, trials=2)
    assert found.difference == pytest.approx(0.01)
    assert found.interval.method == "Bonett-Price over the mean of seeds, clustered by task"
    # by hand: one difference of 0.5, so the pseudo-tasks have the size (0.25 + 0.5) / (1 + 0.5)
    error = np.sqrt(((0.25 + 2 * 0.5) / 52 - (0.5 / 52) ** 2) / 52)
    half = t_quantile(0.975, 49) * error
    assert (found.interval.low, found.interval.high) == pytest.approx((0.01 - half, 0.01 + half))
    # less than the exact test can find on 50 tasks: 6 tasks of size 0.71 in one direction
    assert (t_quantile(0.975, 49) + t_quantile(0.8, 49)) * error < 6 * 0.71 / 50 < found.detectable


def test_all_against_nothing(tmp_path: Path) -> None:
    """A solves every task with every seed, B no task with any: the interval ends at 1 and is not empty."""
    sides = [[lambda t, k: True] * 2, [lambda t, k: False] * 2]
    found = flat(tmp_path / "50", sides, tasks=50)
    assert (found.difference, found.verdict, found.interval.high) == (1.0, "A better", 1.0)
    assert 0.9 < found.interval.low < 0.95
    few = flat(tmp_path / "2", sides, tasks=2)
    assert (few.verdict, few.interval.low, few.interval.high) == ("not distinguishable", -1.0, 1.0)
    assert few.detectable is None
    assert "no difference is detected with 80% power" in few.to_text()


def test_rewards_without_spread_have_no_interval(tmp_path: Path) -> None:
    """The bounds of rewards are not known, so no interval follows from equal ones; it is not [x, x]."""
    a, b = (make_run(tmp_path / n, lambda t, k: -0.1 * 3, tasks=9, trials=3) for n in "ab")
    higher, again = (make_run(tmp_path / n, lambda t, k: 0.7, tasks=9) for n in "cd")
    many = compare_algorithms([a, b], [higher, again], metric="reward")
    assert (many.interval, many.detectable, many.verdict) == (None, None, "not distinguishable")
    assert json.loads(json.dumps(many.to_json(), allow_nan=False))["ci"] is None
    assert "A − B = -1.000 – on 9 tasks" in many.to_text() and "are detected" not in many.to_text()
    assert summarise(tmp_path / "a").reward_interval is None
    one = compare(a, higher, metric="reward")
    assert (one.interval, one.a.interval, one.verdict) == (None, None, "B better"), "all nine tasks agree"
    assert one.p_value == pytest.approx(2 / 2**9)
    assert compare(a, b, metric="reward").verdict == "not distinguishable"
