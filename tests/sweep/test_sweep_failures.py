"""Sweeps in which runs failed, were interrupted or never started: every planned run stays in the tables."""

import json
import re
import shutil
import signal
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nlac_bench.cli import app
from nlac_bench.harness.runs.lines import RunFolderError
from nlac_bench.harness.runs.seeds import plan_episodes
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.sweep import play as sweep_play
from nlac_bench.sweep.plan import Cell, Sweep, base_folder, floor_folder, further_tuning
from nlac_bench.sweep.play import SweepJob
from nlac_bench.sweep.report import write
from nlac_bench.sweep.status import (
    LONGEST_REASON,
    Status,
    error_message,
    failure_path,
    record_failure,
    status_of,
)
from nlac_bench.types import Episode, Turn
from tests.cli.command import started

METHODS = ("nlac", "ppo", "rft")
PLAN = Sweep(
    METHODS, {"tau_retail": (0, 1), "twenty_questions": (0, 1)}, transfer={"tau_airline": "tau_retail"}
)
TUNED = Sweep(METHODS, {"tau_retail": (0, 1)}, learning_rates=(1e-4, 3e-4), tuning_env="tau_retail")


def make_run(
    folder: Path,
    env: str,
    success: float | None = 0.5,
    *,
    tasks: int = 8,
    owed: int = 0,
    budget: str | None = None,
    tokens: int = 400,
    validated: float = 0.5,
    **metrics: Any,
) -> None:
    """A run of ``tasks`` episodes, the last ``owed`` of which are not played, with a training's metrics.

    ``metrics`` are further ones of its only iteration, after which ``tokens`` are spent and the validation
    has the success ``validated``.
    """
    plan = plan_episodes([f"t{i}" for i in range(tasks)], 1, base_seed=zlib.crc32(folder.name.encode()))
    with RunWriter.create(
        folder,
        config={"train": {"budget": budget}} if budget else {},
        conditions={"env": env},
        subject={"agent": "a"},
        plan=plan,
    ) as writer:
        for place, item in enumerate(plan[: tasks - owed]):
            solved = None if success is None else place < success * tasks
            turns = [Turn("a", reward=float(solved or 0))]
            end = "success" if solved else "failure"
            writer.append(
                Episode(env, item.task_id, 0, item.seed, "hi", turns, True, False, solved, end, {}, {}, 1.0)
            )
        cost = {"gradient_steps_total": 4, "env_steps": 40, "tokens": tokens, "seconds": 2.0}
        for iteration in (0, 1):
            spent = {key: value * iteration for key, value in cost.items()}
            row = {
                "iteration": iteration,
                **spent,
                "success": validated if iteration else 0.5,
                "best": iteration == 0 or validated > 0.5,
                "tasks": 2,
                "ci": [0.0, 1.0],
            }
            if iteration:
                writer.log({"kind": "iteration", "iteration": 1, **cost, **metrics})
            writer.log({"kind": "validation", **row})


def fill(out: Path, sweep: Sweep, but: Callable[[Cell], bool] = lambda cell: False) -> None:
    """Every run of ``sweep`` finished, except the tuned or compared ones for which ``but`` holds."""
    for cell in (*sweep.tuning(), *sweep.cells()):
        if not but(cell):
            make_run(cell.folder(out), cell.env, 0.5 + 0.125 * METHODS.index(cell.method))
            for to, source in sweep.transfer.items():
                if source == cell.env and cell.lr is None:
                    make_run(cell.transferred(out, to), to)
    for cell in further_tuning(sweep, out):
        if not but(cell):
            make_run(cell.folder(out), cell.env, 0.5)
    for env, seeds in sweep.seeds_by_env().items():
        for seed in seeds:
            make_run(base_folder(out, env, seed), env, 0.25)
        make_run(floor_folder(out, env, "random"), env, 0.0)


def fail(folder: Path, said: str = "error: CUDA out of memory\n", code: int = 2) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    record_failure(folder, code, said.encode())


def report(
    sweep: Sweep, out: Path, against: str = "nlac"
) -> tuple[str, dict[str, Any], dict[tuple[str, str], Any]]:
    """comparison.md, comparison.json, and its cells by environment and method."""
    path, counts = write(sweep, out, against)
    data = json.loads((out / "comparison.json").read_text())
    assert data["cells"] == [count.to_json() for count in counts]
    planned = [(env, method) for env in sweep.seeds_by_env() for method in sweep.methods]
    assert sorted((c["env"], c["method"]) for c in data["cells"]) == sorted(planned)
    assert sorted((r["env"], r["method"]) for r in data["rows"]) == sorted(planned)
    text = path.read_text()
    for env in sweep.seeds_by_env():
        section = text.split(f"## {env}")[1].split("\n## ")[0]
        for method in sweep.methods:
            assert len(re.findall(rf"^{method}\b", section, re.MULTILINE)) == 3, "a row in each of the tables"
    for row in data["rows"]:
        seeds = [str(seed) for seed in sweep.seeds_by_env()[row["env"]]]
        assert list(row["seeds"]) == list(row["status"]) == seeds
    return text, data, {(cell["env"], cell["method"]): cell for cell in data["cells"]}


def cell(planned: int, finished: int, failed: int, reason: str | None) -> dict[str, Any]:
    return {"planned": planned, "finished": finished, "failed": failed, "reason": reason}


def of(found: Mapping[str, Any]) -> dict[str, Any]:
    return {key: found[key] for key in ("planned", "finished", "failed", "reason")}


def test_a_complete_sweep_says_nothing_of_failures(tmp_path: Path) -> None:
    fill(tmp_path, PLAN)
    text, data, cells = report(PLAN, tmp_path)
    assert "of 2" not in text and "failed" not in text and "not measured" not in text
    assert text.count("2 seeds: interval is approximate") == len(cells), "on the row of each method"
    assert all(of(found) == cell(2, 2, 0, None) for found in cells.values())
    assert data["rows"][0]["status"] == {s: {"state": "finished", "reason": None} for s in "01"}
    assert "seeds)" not in (tmp_path / "curves.svg").read_text()


def test_a_method_that_failed_on_every_seed_and_one_that_failed_on_one(tmp_path: Path) -> None:
    def failed(cell: Cell) -> bool:
        return cell.env == "tau_retail" and (cell.method, cell.seed) in {("rft", 0), ("rft", 1), ("ppo", 1)}

    fill(tmp_path, PLAN, but=failed)
    for run in filter(failed, PLAN.cells()):
        fail(run.folder(tmp_path))
    text, data, cells = report(PLAN, tmp_path)
    reason = "failed (exit code 2: CUDA out of memory)"
    assert of(cells["tau_retail", "rft"]) == cell(2, 0, 2, reason)
    partly = "failed (seed 1: exit code 2: CUDA out of memory)"
    assert of(cells["tau_retail", "ppo"]) == cell(2, 1, 1, partly)
    assert of(cells["twenty_questions", "rft"]) == cell(2, 2, 0, None)
    transferred = "failed (training on tau_retail: exit code 2: CUDA out of memory)"
    assert of(cells["tau_airline", "rft"]) == cell(2, 0, 2, transferred)
    assert f"- rft: 0 of 2 seeds: {reason}\n" in text
    assert f"- ppo: 1 of 2 seeds: {partly}\n" in text
    shop = text.split("## tau_retail")[1].split("\n## ")[0]
    assert re.search(r"^rft +0 of 2 +– +– – +– +– +– +– +not measured$", shop, re.MULTILINE)
    assert re.search(r"^ppo +1 of 2 +0\.625 +0\.625 – ", shop, re.MULTILINE)
    assert "- nlac − rft is not measured: no seed is finished on both sides\n" in shop
    corrected = "The 95 % intervals are not corrected for the number of methods; p and verdict are."
    assert corrected not in shop, "no pair is tested"
    assert corrected in text.split("## twenty_questions")[1]
    assert "Not all methods have the same seeds" in shop and "test episodes of finished seeds" in shop
    lost = next(r for r in data["rows"] if (r["env"], r["method"]) == ("tau_retail", "rft"))
    assert (lost["success"], lost["seeds"], lost["gain"]["mean"]) == (None, {"0": None, "1": None}, None)
    assert lost["status"]["1"] == {"state": "failed", "reason": "exit code 2: CUDA out of memory"}
    figure = (tmp_path / "curves.svg").read_text()
    assert "rft (0 of 2 seeds)" in figure and "ppo (1 of 2 seeds)" in figure


def test_a_copy_of_a_run_is_not_a_second_seed(tmp_path: Path) -> None:
    fill(tmp_path, PLAN)
    copied = tmp_path / "tau_retail" / "ppo-1"
    shutil.rmtree(copied)
    shutil.copytree(tmp_path / "tau_retail" / "ppo-0", copied)
    text, data, _ = report(PLAN, tmp_path)
    assert "ppo: 1 of 2 seeds: failed (seed 1: ppo-0 and ppo-1 have the same episodes" in text
    (row,) = [r for r in data["rows"] if (r["env"], r["method"]) == ("tau_retail", "ppo")]
    assert row["seeds"]["1"] is None and row["status"]["1"]["state"] == "failed"


def test_the_method_that_the_others_are_compared_with_failed(tmp_path: Path) -> None:
    fill(tmp_path, PLAN, but=lambda cell: cell.method == "nlac")
    for run in PLAN.cells():
        if run.method == "nlac":
            fail(run.folder(tmp_path), "Killed", -9)
    text, data, cells = report(PLAN, tmp_path, "nlac")
    assert cells["tau_retail", "nlac"]["reason"] == "failed (killed by signal 9: Killed)"
    assert "- nlac − ppo is not measured: no seed is finished on both sides\n" in text
    for row in data["rows"]:
        assert row["p_holm"] is None
        if row["method"] != "nlac":
            assert row["versus"]["verdict"] == "not measured" and row["gain"]["mean"] is not None


def test_an_environment_on_which_all_failed(tmp_path: Path) -> None:
    fill(tmp_path, PLAN, but=lambda cell: cell.env == "twenty_questions")
    for run in PLAN.cells():
        if run.env == "twenty_questions":
            fail(run.folder(tmp_path))
    text, _, cells = report(PLAN, tmp_path)
    assert all(cells["twenty_questions", method]["failed"] == 2 for method in METHODS)
    assert text.count("0 of 2 seeds: failed") == 3
    assert "twenty_questions: validation success" in (tmp_path / "curves.svg").read_text()


def test_a_base_run_and_a_floor_that_failed(tmp_path: Path) -> None:
    """The runs that need the untrained model's run did not start; they failed for its reason."""
    sweep = Sweep(("nlac", "rft"), {"tau_retail": (0, 1)})
    for run in sweep.cells():
        if run.seed == 0:
            make_run(run.folder(tmp_path), run.env)
    make_run(base_folder(tmp_path, "tau_retail", 0), "tau_retail")
    fail(base_folder(tmp_path, "tau_retail", 1), "error: the server is down")
    fail(floor_folder(tmp_path, "tau_retail", "random"), "error: no such policy")
    text, _, cells = report(sweep, tmp_path)
    why = "failed (seed 1: run of the untrained model: exit code 2: the server is down)"
    assert of(cells["tau_retail", "rft"]) == cell(2, 1, 1, why)
    assert "- base: 1 of 2 seeds: failed (seed 1: exit code 2: the server is down)\n" in text
    assert "- floor random: failed (exit code 2: no such policy)\n" in text
    assert re.search(r"^base +1 of 2 ", text, re.MULTILINE) and re.search(
        "^floor: random +–", text, re.MULTILINE
    )


def test_a_method_that_failed_at_tuning(tmp_path: Path) -> None:
    fill(tmp_path, TUNED, but=lambda c: c.method == "rft" and (c.lr is None or c.lr == 3e-4))
    fail(Cell("rft", "tau_retail", 100, 3e-4).folder(tmp_path))
    text, data, cells = report(TUNED, tmp_path)
    why = "tuning at rate 0.0003: exit code 2: CUDA out of memory"
    assert of(cells["tau_retail", "rft"]) == cell(2, 0, 2, f"failed ({why})")
    assert data["tuning"]["rft"] == {"0.0001": 0.5, "0.0003": None} and "rft" not in data["learning_rates"]
    assert re.search(r"^rft +– +0\.500 +– +–$", text, re.MULTILINE)
    assert "- rft at rate 0.0003: failed (exit code 2: CUDA out of memory)\n" in text


def test_a_method_that_failed_at_the_rate_beyond_the_edge(tmp_path: Path) -> None:
    """Its rate is not chosen without that run: a retry may win, and compared runs cannot change theirs."""
    fill(tmp_path, TUNED, but=lambda c: c.method == "rft" and c.lr not in (1e-4, 3e-4))
    fail(Cell("rft", "tau_retail", 100, 3.33e-5).folder(tmp_path))
    _, data, cells = report(TUNED, tmp_path)
    why = "tuning at rate 3.33e-05: exit code 2: CUDA out of memory"
    assert of(cells["tau_retail", "rft"]) == cell(2, 0, 2, f"failed ({why})")
    assert "rft" not in data["learning_rates"] and "ppo" in data["learning_rates"]


def test_seeds_that_failed_for_different_reasons(tmp_path: Path) -> None:
    sweep = Sweep(METHODS, {"tau_retail": (0, 1, 2, 3)})
    for seed, said in enumerate(("error: full disk", "error: no memory", "error: full disk")):
        fail(Cell("rft", "tau_retail", seed).folder(tmp_path), said)
    _, _, cells = report(sweep, tmp_path)
    why = "failed (seeds 0, 2: exit code 2: full disk; seed 1: exit code 2: no memory); not started (seed 3)"
    assert of(cells["tau_retail", "rft"]) == cell(4, 0, 3, why)


def test_seeds_that_were_interrupted_or_never_started(tmp_path: Path) -> None:
    sweep = Sweep(METHODS, {"tau_retail": (0, 1)})
    make_run(Cell("nlac", "tau_retail", 0).folder(tmp_path), "tau_retail")
    make_run(Cell("ppo", "tau_retail", 0).folder(tmp_path), "tau_retail", owed=3)
    make_run(base_folder(tmp_path, "tau_retail", 0), "tau_retail")
    text, _, cells = report(sweep, tmp_path)
    assert of(cells["tau_retail", "nlac"]) == cell(2, 1, 0, "not started (seed 1)")
    interrupted = "interrupted (seed 0: 3 of 8 episodes are not played); not started (seed 1)"
    assert of(cells["tau_retail", "ppo"]) == cell(2, 0, 0, interrupted)
    assert of(cells["tau_retail", "rft"]) == cell(2, 0, 0, "not started")
    assert "- rft: 0 of 2 seeds: not started\n" in text


@pytest.mark.parametrize("file", ["manifest.json", "episodes.jsonl", "metrics.jsonl"])
def test_a_damaged_run_is_a_failed_one(tmp_path: Path, file: str) -> None:
    """It neither ends the report nor vanishes from it."""
    sweep = Sweep(METHODS, {"tau_retail": (0,)})
    fill(tmp_path, sweep)
    folder = Cell("ppo", "tau_retail", 0).folder(tmp_path)
    (folder / file).write_text("{}\n{}\n{}\n")
    _, _, cells = report(sweep, tmp_path)
    found = cells["tau_retail", "ppo"]
    assert (found["finished"], found["failed"]) == (0, 1) and file in found["reason"]


@pytest.mark.parametrize("metrics", ["", '{"kind": "validation", "success": "high"}\n', '{"kind": "x"}\n'])
def test_a_damaged_tuning_run_is_named(tmp_path: Path, metrics: str) -> None:
    sweep = Sweep(METHODS, {"tau_retail": (0,)}, learning_rates=(1e-4,), tuning_env="tau_retail")
    fill(tmp_path, sweep)
    (next(sweep.tuning()).folder(tmp_path) / "metrics.jsonl").write_text(metrics)
    with pytest.raises(RunFolderError, match=r"metrics\.jsonl"):
        report(sweep, tmp_path)


def test_a_floor_and_a_seed_of_the_untrained_model_that_are_missing_are_named(tmp_path: Path) -> None:
    sweep = Sweep(METHODS, {"tau_retail": (0, 1)})
    fill(tmp_path, sweep)
    shutil.rmtree(floor_folder(tmp_path, "tau_retail", "random"))
    shutil.rmtree(base_folder(tmp_path, "tau_retail", 1))
    text, _, _ = report(sweep, tmp_path)
    assert "- floor random: not started" in text and "same seeds as each other and as the untrained" in text


@pytest.mark.parametrize("tasks", [1, 8])
def test_pairs_that_cannot_be_compared(tmp_path: Path, tasks: int) -> None:
    """One task, or runs without a score: the row stays, with the reason, and the report is written."""
    sweep = Sweep(("nlac", "ppo"), {"tau_retail": (0, 1)})
    for seed in (0, 1):
        make_run(base_folder(tmp_path, "tau_retail", seed), "tau_retail", tasks=tasks)
        make_run(Cell("nlac", "tau_retail", seed).folder(tmp_path), "tau_retail", tasks=tasks)
        unscored = None if tasks > 1 else 1.0
        make_run(Cell("ppo", "tau_retail", seed).folder(tmp_path), "tau_retail", unscored, tasks=tasks)
    text, data, cells = report(sweep, tmp_path)
    assert all(found["finished"] == 2 for found in cells.values())
    row = next(r for r in data["rows"] if r["method"] == "ppo")
    assert (row["versus"]["mean"], row["versus"]["verdict"]) == (None, "not measured")
    why = "needs at least two tasks, got 1" if tasks == 1 else "no task has a score in all runs"
    assert why in row["versus"]["why_not"] and "nan" not in text
    assert "nlac − ppo is not measured: " in text and row["success"] == (1.0 if tasks == 1 else None)


NASTY = "error: <script>alert(1)</script> | a\n`b` *c* [d](http://e) \x1b[31m\u202e __f__ \ud800" + "x" * 999


def test_reasons_are_one_escaped_bounded_line(tmp_path: Path) -> None:
    sweep = Sweep(METHODS, {"tau_retail": (0,)})
    run = Cell("rft", "tau_retail", 0)
    run.folder(tmp_path).parent.mkdir(parents=True)
    record_failure(run.folder(tmp_path), 2, NASTY.encode(errors="surrogatepass"))
    text, _, cells = report(sweep, tmp_path)
    (line,) = [line for line in text.splitlines() if line.startswith("- rft: 0 of 1 seeds: failed")]
    begin = r"(exit code 2: &lt;script&gt;alert(1)&lt;/script&gt; \| a \`b\` \*c\* \[d\](http://e) \_\_f\_\_ "
    assert begin in line and line.endswith("x…)")
    assert "<script>" not in text and "\x1b" not in text and "\u202e" not in text
    reason = cells["tau_retail", "rft"]["reason"]
    assert "<script>alert(1)</script> | a `b`" in reason, "JSON has the plain text"
    assert len(reason) == len("failed ()") + LONGEST_REASON
    foreign = failure_path(run.folder(tmp_path))
    for content in (b"", b"[]", b'{"reason": 3}', b"\xff", b"[" * 100_000):
        foreign.write_bytes(content)
        assert status_of(run.folder(tmp_path)) == Status("failed", "unknown reason; see its log")
    foreign.write_text(json.dumps({"reason": "a\nb\x1b[1m" + "c" * 999}))
    assert str(status_of(run.folder(tmp_path))).startswith("failed (a bccc")
    assert len(status_of(run.folder(tmp_path)).reason or "") == LONGEST_REASON


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("1 of 4\nerror: no model named 'x'\n", "no model named 'x'\n"),
        ("\x1b[1;31merror:\x1b[0m two\nlines\n", "two\nlines\n"),
        ("error: full\nstopped by an error; continue with: nlac-bench resume x\n", "full\n"),
        (
            "Traceback (most recent call last):\n  File\nKeyError: 3\n\n"
            "stopped by an unexpected error; continue with: nlac-bench resume x\n",
            "KeyError: 3",
        ),
        (
            "played 4\n4 episodes failed for a reason outside the agent; continue with: x",
            "4 episodes failed for a reason outside the agent",
        ),
        ("Fatal Python error: Segmentation fault\n\n", "Fatal Python error: Segmentation fault"),
        ("", "no output"),
    ],
)
def test_the_reason_in_a_log(output: str, said: str) -> None:
    assert error_message(output) == said


def test_keys_in_reasons_are_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-very-secret-value")
    fail(tmp_path / "rft-0", "error: the key sk-very-secret-value was refused\n")
    assert str(status_of(tmp_path / "rft-0")) == (
        "failed (exit code 2: the key [redacted: $SOME_API_KEY] was refused)"
    )
    fail(tmp_path / "rft-1", f"error: {'x' * (LONGEST_REASON - 20)} sk-very-secret-value was refused\n")
    assert all("sk-" not in failure_path(tmp_path / name).read_text() for name in ("rft-0", "rft-1"))


def test_a_failed_run_is_recorded_and_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Real processes: one exits with an error, one is killed, one works; then all work."""
    script = tmp_path / "nlac_bench.py"
    script.write_text(
        "import os, signal, sys\nprint('starting', sys.argv[-1])\n"
        "name = os.path.basename(sys.argv[-1])\n"
        "if name == 'a': sys.exit('error: broken | <b>')\n"
        "if name == 'b': os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    jobs = [SweepJob("run", tmp_path / "out" / name, {}) for name in "abc"]
    said: list[str] = []
    monkeypatch.chdir(tmp_path)
    sweep_play.play_jobs(jobs, 2, said.append)
    assert str(status_of(jobs[0].folder)) == "failed (exit code 1: broken | <b>)"
    assert str(status_of(jobs[1].folder)) == f"failed (killed by signal 9: starting {jobs[1].folder})"
    assert status_of(jobs[2].folder).state == "not started" and len(said) == 6
    script.write_text("import sys\n")
    sweep_play.play_jobs(jobs, 1, said.append)
    assert {status_of(job.folder).state for job in jobs} == {"not started"}, "the old reasons are gone"


def test_the_command_lists_every_cell(tmp_path: Path) -> None:
    """Nothing but the failures of one method is on disk: exit code 3, one JSON object, all cells in it."""
    text = "methods = ['nlac', 'rft']\n[seeds]\ntau_retail = [0, 1]\n[run]\nmodel = 'tiny'\n"
    (tmp_path / "sweep.toml").write_text(text)
    out = tmp_path / "out"
    for seed in (0, 1):
        fail(Cell("rft", "tau_retail", seed).folder(out))
    command = ["sweep", str(tmp_path / "sweep.toml"), "--out", str(out), "--report-only"]
    result = CliRunner().invoke(app, [*command, "--json"])
    assert result.exit_code == 3 and "continue with: nlac-bench sweep" in result.stderr
    shown = json.loads(result.stdout)
    assert shown["complete"] is False and shown["cells"] == [
        {"method": "nlac", "env": "tau_retail", **cell(2, 0, 0, "not started")},
        {
            "method": "rft", "env": "tau_retail",
            **cell(2, 0, 2, "failed (exit code 2: CUDA out of memory)"),
        },
    ]  # fmt: skip
    printed = CliRunner().invoke(app, command)
    assert "rft: 0 of 2 seeds: failed (exit code 2: CUDA out of memory)" in printed.stdout


@pytest.mark.slow(reason="two processes that import torch")
def test_an_interrupted_sweep_prints_every_cell(tmp_path: Path) -> None:
    """SIGINT during the first run: exit code 3, one JSON object, and a comparison of nothing."""
    text = "methods = ['rft']\n[seeds]\ntau_retail = [0, 1]\n[run]\nmodel = 'tiny'\n"
    (tmp_path / "sweep.toml").write_text(text)
    out = tmp_path / "out"
    process = started("sweep", str(tmp_path / "sweep.toml"), "--out", str(out), "--json")
    assert process.stderr is not None and "1 of 4: " in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate()
    assert process.returncode == 3 and "interrupted; continue with: nlac-bench sweep" in said
    shown = json.loads(printed)
    assert shown["complete"] is False
    assert [of(found) for found in shown["cells"]] == [cell(2, 0, 0, "not started")]
    assert "rft: 0 of 2 seeds: not started" in (out / "comparison.md").read_text()
    assert not list(out.glob("*/*.failure.json")), "an interrupted run did not fail"
