"""Runs and comparisons as Python objects: loading, data frames, tables, figures, HTML."""

import asyncio
import dataclasses
import json
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

import nlac_bench as nb
from nlac_bench.agents.nlac.records import CritiqueRecord
from nlac_bench.api.runs import Run
from nlac_bench.errors import MissingError
from nlac_bench.harness.runs.lines import RunFolderError
from nlac_bench.reports.figures.figure import Table
from nlac_bench.stats.pairing import NotComparableError
from tests.cli.command import nlac_bench, one_json

HOSTILE = "<script>alert(1)<\u202e>&"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    folder = tmp_path_factory.mktemp("runs")
    return {
        agent: nb.evaluate("first_steps", agent=agent, limit=20, trials=trials, out=folder / agent)
        for agent, trials in (("oracle", 1), ("random", 1), ("silent", 2))
    }


def test_a_path_gives_a_run_and_a_pattern_a_list(runs: dict[str, Run], tmp_path: Path) -> None:
    folder = runs["oracle"].path.parent
    assert nb.load(folder / "oracle") == runs["oracle"]
    assert nb.load(f"{folder}/*") == [runs[name] for name in ("oracle", "random", "silent")]
    assert nb.load(f"{folder}/[or]*") == [runs["oracle"], runs["random"]]
    bracketed = tmp_path / "run[1]"
    (folder / "oracle").rename(bracketed)
    try:
        assert nb.load(bracketed) == Run(bracketed)  # a folder of that name is no pattern
    finally:
        bracketed.rename(folder / "oracle")
    with pytest.raises(RunFolderError, match="no folder of a run matches"):
        nb.load(f"{tmp_path}/*")
    with pytest.raises(RunFolderError, match="does not exist"):
        nb.load(tmp_path / "missing")


def test_episodes_and_turns_are_rows(runs: dict[str, Run]) -> None:
    run = runs["silent"]
    episodes, turns = run.episodes_df(), run.turns_df()
    recorded = list(run.folder.episodes())
    assert len(episodes) == len(recorded) == 40
    assert episodes["success"].dtype == "boolean"
    assert list(episodes["reward"]) == [episode.total_reward for episode in recorded]
    assert runs["random"].episodes_df()["success"].mean() == runs["random"].summary().success
    assert len(turns) == episodes["turns"].sum()
    assert list(turns["text"]) == [turn.text for episode in recorded for turn in episode.turns]
    assert list(turns.groupby(["task_id", "trial"])["turn"].min().unique()) == [0]


def test_frames_without_rows_have_their_columns(runs: dict[str, Run]) -> None:
    assert runs["oracle"].metrics_df().empty and "kind" in runs["oracle"].metrics_df()
    critiques = runs["oracle"].critiques_df()
    assert critiques.empty
    assert list(critiques.columns) == [field.name for field in dataclasses.fields(CritiqueRecord)]


def test_metrics_keep_numbers_that_json_lacks(runs: dict[str, Run], copied: Callable[[str], Run]) -> None:
    run = copied("oracle")
    row = {"kind": "iteration", "iteration": 1, "grad_norm": "Infinity", "l1": "NaN", "note": "text"}
    (run.path / "metrics.jsonl").write_text(json.dumps(row) + "\n")
    frame = run.metrics_df()
    assert frame["grad_norm"][0] == float("inf") and pd.isna(frame["l1"][0]) and frame["note"][0] == "text"


@pytest.fixture
def copied(runs: dict[str, Run], tmp_path: Path) -> Callable[[str], Run]:
    def copy(name: str, to: str = "copy") -> Run:
        target = tmp_path / to
        target.mkdir()
        for file in ("config.json", "manifest.json", "episodes.jsonl"):
            (target / file).write_bytes((runs[name].path / file).read_bytes())
        return Run(target)

    return copy


def test_without_pandas_the_error_names_the_extra(
    runs: dict[str, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    for frame in (Run.episodes_df, Run.turns_df, Run.metrics_df, Run.critiques_df):
        with pytest.raises(MissingError, match=r"pip install 'nlac-bench\[frames\]'"):
            frame(runs["oracle"])
    assert runs["oracle"].summary().success == 1.0


def test_a_comparison_says_what_the_command_prints(runs: dict[str, Run]) -> None:
    a, b = runs["oracle"], runs["random"]
    comparison = nb.compare(a, str(b.path))
    command = one_json(nlac_bench("compare", str(a.path), str(b.path), "--json"))
    assert json.loads(json.dumps(comparison.to_json())) == command
    assert comparison.verdict == command["verdict"] == "A better"
    assert nlac_bench("compare", str(a.path), str(b.path)).stdout == f"{comparison}\n"
    assert comparison.table.rows[0][:2] == (str(a.path), str(b.path))
    assert "A better" in str(comparison.table) and "A better" in comparison.table._repr_html_()


def test_several_runs_and_seeds_are_compared(runs: dict[str, Run], tmp_path: Path) -> None:
    a, b, c = (runs[name] for name in ("oracle", "random", "silent"))
    several = nb.compare(a, b, c, metric="reward")
    assert len(several.table.rows) == 3
    assert "oracle" in several.verdict
    folder = tmp_path / "other"
    d, e = (
        nb.evaluate("first_steps", agent=name, limit=20, seed=1, out=folder / name)
        for name in ("oracle", "random")
    )
    seeds = nb.compare([a, d], [b, e])
    assert seeds.verdict in ("A better", "B better", "not distinguishable")
    command = ("compare", f"{a.path},{d.path}", f"{b.path},{e.path}", "--json")
    assert json.loads(json.dumps(seeds.to_json())) == one_json(nlac_bench(*command))


def test_what_cannot_be_compared_is_refused(runs: dict[str, Run], tmp_path: Path) -> None:
    a, b = runs["oracle"], runs["random"]
    with pytest.raises(ValueError, match="at least two runs"):
        nb.compare(a)
    with pytest.raises(ValueError, match="metric must be success or reward"):
        nb.compare(a, b, metric="cost")
    with pytest.raises(ValueError, match="expected two sides"):
        nb.compare([a, b], a, b)
    other = nb.evaluate("first_steps", agent="oracle", limit=3, out=tmp_path / "other")
    with pytest.raises(NotComparableError, match="tasks differ"):
        nb.compare(a, other)
    assert nb.compare(a, other, common=True).results[0].tasks == 3


def test_a_comparison_is_drawn(runs: dict[str, Run], tmp_path: Path) -> None:
    figure = nb.compare(runs["oracle"], runs["random"]).plot()
    figure.savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 1000
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    names = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert len(names) == 2 and "oracle" in names[0] and "random" in names[1]


class Tags(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        assert not attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def test_hostile_text_stays_text_in_a_notebook(runs: dict[str, Run], copied: Callable[..., Run]) -> None:
    run = copied("random", HOSTILE.replace("/", ""))
    manifest = json.loads((run.path / "manifest.json").read_text())
    manifest["subject"]["agent"] = HOSTILE
    (run.path / "manifest.json").write_text(json.dumps(manifest))
    comparison = nb.compare(run, runs["oracle"])
    for shown in (run._repr_html_(), comparison._repr_html_(), comparison.table._repr_html_()):
        page = Tags(shown)
        assert page.tags <= {"pre", "table", "tr", "th", "td"}
        assert "<script>alert(1)<" in page.text
        assert "\u202e" not in page.text
    assert Tags(Table(("a",), ((HOSTILE,),))._repr_html_()).tags == {"table", "tr", "th", "td"}


def test_secrets_are_not_shown_in_a_notebook(
    runs: dict[str, Run], copied: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "sk-0123456789abcdefghijklmnop"
    run = copied("random", f"run-{secret}")
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    assert secret not in run._repr_html_()
    assert secret not in nb.compare(run, runs["oracle"])._repr_html_()


def test_a_comparison_in_a_notebook_needs_no_loop_of_its_own(runs: dict[str, Run]) -> None:
    async def notebook() -> str:
        return nb.compare(runs["oracle"], runs["random"]).verdict

    assert asyncio.run(notebook()) == "A better"
