"""What the viewer writes: episodes, states that are derived by playing again, the critic's texts, parts."""

import json
import re
import sys
from pathlib import Path

import pytest

from nlac_bench.errors import ConfigError
from nlac_bench.harness.runs.lines import RunFolderError
from nlac_bench.reports.view import page as view_page
from nlac_bench.reports.view.page import write_view
from tests.browser import HOSTILE
from tests.cli.command import nlac_bench
from tests.reports.report_runs import CUT, FILTERED, LOST, OWED, WON, make_run
from tests.reports.view_runs import episodes_of, index_of, make_critic_run, part_of


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The oracle's run on two tasks of the shop."""
    folder = tmp_path_factory.mktemp("shop") / "oracle"
    nlac_bench("run", "--env", "shop_worlds", "--agent", "oracle", "--limit", "2", "--out", str(folder))
    return folder


def test_changes_of_the_database_are_derived_by_playing_again(shop: Path, tmp_path: Path) -> None:
    written = write_view([shop], tmp_path / "a.html")
    assert written.episodes == 2 and written.bytes == (tmp_path / "a.html").stat().st_size
    for episode in episodes_of(written.path).values():
        turns = [turn for turn in episode["turns"] if "db" in turn]
        assert len(turns) == 1 and turns[0]["k"] == "tool" and "problem" not in episode
        call = re.fullmatch(r"(\w+)\(.*\)", turns[0]["call"])
        assert call is not None and call[1] in turns[0]["t"]
    cancelled = episodes_of(written.path)["oracle", "worlds/test/easy/000", 0]
    [changes] = [turn["db"] for turn in cancelled["turns"] if "db" in turn]
    assert ["orders/#W8107558 status", '"pending"', '"cancelled"'] in changes
    assert [place for place, before, after in changes if before is None]  # the refund is a new value


def altered(run: Path, folder: Path, old: str, new: str, name: str = "episodes.jsonl") -> Path:
    folder.mkdir()
    for file in ("manifest.json", "config.json", "episodes.jsonl"):
        (folder / file).write_text((run / file).read_text())
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1))
    return folder


def test_an_episode_that_the_environment_answers_differently_has_no_states(
    shop: Path, tmp_path: Path
) -> None:
    run = altered(shop, tmp_path / "run", '"observation":"alba_ueda_6779"', '"observation":"somebody"')
    first, second = episodes_of(write_view([run], tmp_path / "a.html").path).values()
    assert first["problem"] == "the environment answers turn 1 differently today"
    assert not any("db" in turn for turn in first["turns"]) and any("db" in turn for turn in second["turns"])


@pytest.mark.parametrize(
    ("env", "settings", "reason"),
    [
        ("evil_module:Env", {}, "belongs to another package"),
        ('twenty_questions@{"recording": "stolen.jsonl"}', {}, "writes to a file"),
        ("twenty_questions", {"user_model": "m"}, "a model plays the oracle"),
        ('tau_retail@{"user": "llm"}', {}, "cannot be made"),
        ('tau_retail@{"level": "none"}', {}, "cannot be made"),
        ('tau_retail@{"nonsense": 1}', {}, "cannot be made"),
    ],
)
def test_nothing_that_a_run_names_is_imported_asked_or_written(
    env: str, settings: dict[str, str], reason: str, tmp_path: Path
) -> None:
    run = make_run(tmp_path / "run", [WON], env=env)
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps(config | settings))
    [episode] = episodes_of(write_view([run], tmp_path / "a.html").path).values()
    assert reason in episode["problem"] and "evil_module" not in sys.modules
    assert not (tmp_path / "stolen.jsonl").exists() and not Path("stolen.jsonl").exists()


def test_twenty_questions_show_the_shrinking_set_of_objects(tmp_path: Path) -> None:
    run = tmp_path / "run"
    nlac_bench("run", "--env", "twenty_questions", "--agent", "oracle", "--limit", "1", "--out", str(run))
    [episode] = episodes_of(write_view([run], tmp_path / "a.html").path).values()
    left = set(episode["candidates"])
    assert len(left) == 255
    for turn in episode["turns"]:
        assert set(turn["gone"]) <= left and not set(turn["back"]) & left
        left = left - set(turn["gone"]) | set(turn["back"])
        assert len(left) == turn["left"]
    assert len(left) <= 2


def test_mathematics_has_formulas_the_gold_answer_and_the_graders_reason(tmp_path: Path) -> None:
    run = tmp_path / "run"
    nlac_bench("run", "--env", "math500_hard", "--agent", "oracle", "--limit", "1", "--out", str(run))
    [episode] = episodes_of(write_view([run], tmp_path / "a.html").path).values()
    assert any(isinstance(part, list) and part[0] == "math" for part in episode["first"])
    assert episode["facts"]["gold answer"][0][0] == "math" and episode["facts"]["grader"]


def test_a_training_run_has_sides_and_the_critics_texts(tmp_path: Path) -> None:
    page = write_view([make_critic_run(tmp_path / "nlac")], tmp_path / "a.html").path
    index = index_of(page)
    assert [side["name"] for side in index["sides"]] == ["untrained", "trained", "training", "validation"]
    assert [side["result"] for side in index["sides"][:2]] == ["1 of 2 won", "2 of 2 won"]
    episodes = episodes_of(page)
    assert ("training", "unread", 0) not in episodes and len(
        episodes
    ) == 6  # a repeated episode is shown once
    first, second = episodes["training", "r0", 0]["turns"]
    assert "read" not in first and [each["i"] for each in second["read"]] == [1, 2]
    assert second["read"][1]["critique"] == "plain 2" and second["read"][1]["refined"] == "plain better"
    assert [each["i"] for each in episodes["validation", "v0", 0]["turns"][1]["read"]] == [0, 1, 2]
    [readings] = part_of(page, index["probes"])
    assert [each["critique"] for each in readings] == ["plain 0", "plain 1", "plain 2"]
    assert readings[0]["tried"] == [[False, 3], [True, 2]] and readings[0]["episode"] == "validation/v0/0/7"
    assert [row["success"] for row in index["validations"]] == [0.25, 0.75, 0.5]


def test_the_index_counts_flags_and_an_unfinished_run_says_so(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", [WON, LOST, CUT, FILTERED, OWED])
    page = write_view([run], tmp_path / "a.html").path
    columns = index_of(page)["columns"]
    assert columns["success"] == [1, 0, 0, None] and [flags & 1 for flags in columns["flags"]] == [0, 0, 1, 0]
    assert [flags & 4 for flags in columns["flags"]] == [0, 4, 0, 0]  # the second action is invalid
    text = page.read_text()
    assert "4 of 5 episodes are recorded" in text and f"nlac-bench view {run}" in text
    assert " data-reload>" in text
    done = write_view([make_run(tmp_path / "done", [WON])], tmp_path / "b.html").path
    assert " data-reload>" not in done.read_text()


def test_two_runs_are_called_by_their_folders(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / name, ends) for name, ends in (("a", [WON, LOST]), ("b", [LOST, LOST]))]
    index = index_of(write_view(runs, tmp_path / "c.html").path)
    assert [side["name"] for side in index["sides"]] == ["a", "b"] and index["tasks"] == ["t00", "t01"]
    assert index["order"] == [0, 2, 1, 3]  # by task, then by side


def test_many_episodes_become_a_folder_of_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_page, "MOST_IN_FILE", 3)
    monkeypatch.setattr(view_page, "PART_EPISODES", 2)
    out = tmp_path / "a.html"
    small = write_view([make_run(tmp_path / "small", [WON] * 3)], out)
    assert index_of(small.path)["folder"] == "" and not (tmp_path / "a_parts").exists()
    large = write_view([make_run(tmp_path / "large", [WON] * 7)], out)
    parts = sorted((tmp_path / "a_parts").iterdir())
    assert [part.name for part in parts] == [f"part-{n}.js" for n in range(4)]
    assert large.bytes == sum(path.stat().st_size for path in (out, *parts)) and len(episodes_of(out)) == 7
    (tmp_path / "a_parts" / "mine.txt").write_text("kept")
    write_view([make_run(tmp_path / "medium", [WON] * 4)], out)
    assert sorted(p.name for p in (tmp_path / "a_parts").iterdir()) == ["mine.txt", "part-0.js", "part-1.js"]
    assert len(episodes_of(out)) == 4


def test_hostile_texts_end_no_block_and_secrets_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "sk-" + "q7Zr4kLm" * 4
    run = make_run(
        tmp_path / "run", [WON] * len(HOSTILE), tasks=[f"{text} {secret}" for text in HOSTILE.values()]
    )
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    page = write_view([run], tmp_path / "a.html").path
    text = page.read_text()
    assert text.count("<script") == text.count("</script>") == 3  # the index, a part, the script
    assert secret not in text and "\u202e" not in text and "[redacted" in json.dumps(index_of(page))


@pytest.mark.parametrize("out", ["page.htm", "folder.html"])
def test_other_names_are_refused(out: str, tmp_path: Path) -> None:
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(ConfigError, match="expected the name of a file"):
        write_view([make_run(tmp_path / "run", [WON])], tmp_path / out)
    with pytest.raises(RunFolderError, match="does not exist"):
        write_view([tmp_path / "nothing"], tmp_path / "a.html")
