"""Reported and floor entries are made by commands, and stand outside the family of tests."""

import shutil
from pathlib import Path

import pytest

from nlac_bench.leaderboards import floors, reported
from nlac_bench.leaderboards.boards import Collected, collect

LEADERBOARDS = Path(__file__).parents[2] / "leaderboards"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("results")
    reported.main(["--leaderboards", str(LEADERBOARDS), "--out", str(out)])
    return out


@pytest.fixture(scope="module")
def boards(results: Path) -> Collected:
    return collect(results)


def test_reported_figures_have_a_source_and_no_interval(boards: Collected) -> None:
    assert boards.rejected == ()
    cited = [entry for board in boards.boards for entry in board.reported]
    assert len(cited) == 19
    for entry in cited:
        assert entry.source is not None and entry.source.url is not None
        assert entry.numbers.ci is None and entry.standing == "unranked"
        assert "reported, not reproduced" in entry.warnings


def test_the_same_sources_make_the_same_bytes(results: Path, tmp_path: Path) -> None:
    reported.main(["--leaderboards", str(LEADERBOARDS), "--out", str(tmp_path)])
    for path in sorted(results.rglob("*.json")):
        assert (tmp_path / path.relative_to(results)).read_bytes() == path.read_bytes()


def test_stored_entries_keep_their_shorter_ids(tmp_path: Path) -> None:
    stored = sorted((LEADERBOARDS / "results" / "reported").glob("*.json"))
    (tmp_path / "reported").mkdir()
    for path in stored:
        shutil.copy(path, tmp_path / "reported")
    reported.main(["--leaderboards", str(LEADERBOARDS), "--out", str(tmp_path)])
    after = sorted((tmp_path / "reported").iterdir())
    assert [path.name for path in after] == [path.name for path in stored]
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(after, stored, strict=True))


def test_a_floor_is_played_and_replayed(tmp_path: Path) -> None:
    entry = floors.played('math500_hard@{"num_tasks": 3}', "oracle", tmp_path / "run")
    assert (entry.level, entry.standing) == ("replayed", "oracle")
    assert entry.numbers.success == 1.0


def test_every_environment_and_data_source_has_floors() -> None:
    assert len(list(floors.environments())) == 19
    assert "transfer" in floors.agents_of("tau_retail")
    assert "transfer" not in floors.agents_of("math500_hard")
