"""Entries are derived from run folders, and runs that were altered or are incomplete are refused or fail."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.leaderboards.entry import Entry
from nlac_bench.leaderboards.entry_file import read_entry
from nlac_bench.leaderboards.from_run import command
from tests.cli.command import nlac_bench, one_json
from tests.rollout.fault_server import FaultServer, completion

ENV = 'math500_hard@{"num_tasks": 5}'
GAME = 'twenty_questions@{"level": "easy"}'


def play(folder: Path, env: str, agent: str, *more: str, status: int = 0) -> Path:
    nlac_bench("run", "--env", env, "--agent", agent, "--out", str(folder), "--json", *more, status=status)
    return folder


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of random play with two trials, and a game of several turns."""
    folder = tmp_path_factory.mktemp("runs")
    for seed in (0, 1):
        play(folder / f"random-{seed}", ENV, "random", "--trials", "2", "--seed", str(seed))
    play(folder / "game", GAME, "random")
    return folder


@pytest.fixture
def copies(played: Path, tmp_path: Path) -> Path:
    """Copies of the played runs that a test may alter."""
    shutil.copytree(played, tmp_path / "runs")
    return tmp_path / "runs"


def submit(*arguments: str | Path, status: int = 0) -> dict[str, Any]:
    done = nlac_bench("submit", *map(str, arguments), "--json", status=status)
    return one_json(done) if status == 0 else {"said": done.stderr, "printed": done.stdout}


def verify(entry: Path | str, run: Path | str, *more: str, status: int) -> dict[str, Any]:
    return one_json(nlac_bench("verify", str(entry), "--run", str(run), "--json", *more, status=status))


def failed(result: dict[str, Any]) -> set[str]:
    return {check["name"] for check in result["checks"] if not check["ok"]}


def test_an_entry_states_what_its_run_has(played: Path, tmp_path: Path) -> None:
    (found,) = submit(played / "random-0", "--out", tmp_path)["entries"]
    assert set(found) == {"path", "entry_id", "board_id", "kind", "level", "warnings"}
    assert (found["kind"], found["level"]) == ("models", "recomputed")
    entry = read_entry(Path(found["path"]))
    scored = one_json(nlac_bench("score", str(played / "random-0"), "--json"))
    assert entry.numbers.success == pytest.approx(scored["success"])
    assert entry.numbers.ci == pytest.approx(tuple(scored["ci"]))
    assert entry.numbers.mean_reward == pytest.approx(scored["mean_reward"])
    assert [p.value for p in entry.numbers.pass_k] == pytest.approx([p["value"] for p in scored["pass_k"]])
    assert entry.numbers.counts is not None
    assert entry.numbers.counts.model_dump() == {
        name: scored[name] for name in entry.numbers.counts.model_dump()
    }
    assert entry.board.arguments == {"num_tasks": 5} and entry.board.env == "math500_hard"
    assert entry.standing == "floor" and not entry.partial
    assert entry.reproduce is not None and "--trials 2" in entry.reproduce


def test_seeds_are_joined_to_an_entry_of_an_algorithm(played: Path, tmp_path: Path) -> None:
    (found,) = submit(f"{played / 'random-0'},{played / 'random-1'}", "--out", tmp_path)["entries"]
    entry = read_entry(Path(found["path"]))
    assert found["kind"] == entry.kind == "algorithms"
    assert [run.seed for run in entry.outcomes] == [0, 1]
    assert len(entry.numbers.by_seed) == 2 and entry.numbers.pass_k == []
    result = verify(found["path"], f"{played / 'random-0'},{played / 'random-1'}", status=0)
    assert result["holds"] and result["level"] == "recomputed"


def test_the_order_of_the_seeds_does_not_matter(played: Path, tmp_path: Path) -> None:
    pair = [played / "random-0", played / "random-1"]
    (made,) = submit(",".join(map(str, pair)), "--out", tmp_path)["entries"]
    (again,) = submit(",".join(map(str, pair[::-1])), "--out", tmp_path)["entries"]
    assert made == again and len(list(tmp_path.iterdir())) == 1
    assert verify(made["path"], ",".join(map(str, pair[::-1])), status=0)["holds"]


@pytest.mark.parametrize("second", ["random-0", "game"])
def test_what_is_no_other_seed_of_one_algorithm_is_refused(second: str, played: Path, tmp_path: Path) -> None:
    refused = submit(f"{played / 'random-0'},{played / second}", "--out", tmp_path / "out", status=2)
    assert "not seeds of one algorithm" in refused["said"] and refused["printed"] == ""
    assert not (tmp_path / "out").exists()


def test_the_same_bytes_are_accepted_again_and_others_are_not(played: Path, tmp_path: Path) -> None:
    first = submit(played / "game", played / "random-0", "--out", tmp_path)["entries"]
    assert submit(played / "game", played / "random-0", "--out", tmp_path)["entries"] == first
    path = Path(first[0]["path"])
    before = path.read_bytes()
    path.write_bytes(before.replace(b'"recomputed"', b'"replayed"'))
    altered = path.read_bytes()
    refused = submit(played / "game", "--out", tmp_path, status=2)
    assert "exists with other content" in refused["said"] and path.read_bytes() == altered != before


def test_a_replay_has_the_same_id_and_verify_writes_nothing(played: Path, tmp_path: Path) -> None:
    (plain,) = submit(played / "game", "--out", tmp_path / "a")["entries"]
    (replayed,) = submit(played / "game", "--replay", "--out", tmp_path / "b")["entries"]
    assert replayed["level"] == "replayed" and replayed["entry_id"] == plain["entry_id"]
    before = {path: path.read_bytes() for path in played.rglob("*") if path.is_file()}
    result = verify(replayed["path"], played / "game", status=0)
    assert result["holds"] and result["level"] == "replayed"
    assert {path: path.read_bytes() for path in played.rglob("*") if path.is_file()} == before


def test_limits_belong_to_the_board(played: Path, tmp_path: Path) -> None:
    play(tmp_path / "short", GAME, "silent", "--max-turns", "3")
    play(tmp_path / "long", GAME, "silent")
    entries = submit(tmp_path / "short", tmp_path / "long", "--replay", "--out", tmp_path / "out")["entries"]
    assert entries[0]["board_id"] != entries[1]["board_id"]
    assert (
        submit(played / "game", "--out", tmp_path / "out")["entries"][0]["board_id"] == entries[1]["board_id"]
    )


# --- altered runs -----------------------------------------------------------------------------------


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def rewrite(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))


def alter_episode(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    def alter(run: Path) -> None:
        rows = lines(run / "episodes.jsonl")
        change(rows[3])
        rewrite(run / "episodes.jsonl", rows)

    return alter


def more_reward(row: dict[str, Any]) -> None:
    row["turns"][-1]["reward"] += 1.0


def another_action(row: dict[str, Any]) -> None:
    row["turns"][0]["text"] += " Is it alive?"


def another_observation(row: dict[str, Any]) -> None:
    row["turns"][0]["observation"] += " "


def another_end(row: dict[str, Any]) -> None:
    row["end_reason"] = "success"
    row["success"] = True


def without_a_task(run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    gone = manifest["plan"][0][0]
    manifest["plan"] = [item for item in manifest["plan"] if item[0] != gone]
    (run / "manifest.json").write_text(json.dumps(manifest))
    rows = lines(run / "episodes.jsonl")
    rewrite(run / "episodes.jsonl", [row for row in rows if row["task_id"] != gone])


def another_seed(run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    rows = lines(run / "episodes.jsonl")
    for item in manifest["plan"]:
        if (item[0], item[1]) == (rows[3]["task_id"], rows[3]["trial"]):
            item[2] += 1
    rows[3]["seed"] += 1
    (run / "manifest.json").write_text(json.dumps(manifest))
    rewrite(run / "episodes.jsonl", rows)


def more_turns(run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["conditions"]["max_turns"] = 99
    (run / "manifest.json").write_text(json.dumps(manifest))


def another_agent(run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["subject"]["agent"] = "react"
    (run / "manifest.json").write_text(json.dumps(manifest))


REPLAY = "replayed actions have the recorded results"
CONDITIONS = "conditions are those of configuration and environment"


@pytest.mark.parametrize(
    ("alter", "check", "without_replay"),
    [
        (alter_episode(more_reward), REPLAY, False),
        (alter_episode(another_action), REPLAY, False),
        (alter_episode(another_observation), REPLAY, False),
        (alter_episode(another_end), REPLAY, False),
        (without_a_task, "plan is the full split", True),
        (another_seed, "seeds follow the rule", True),
        (more_turns, CONDITIONS, True),
        (another_agent, "subject is that of the configuration", True),
    ],
)
def test_an_altered_run_is_refused_and_its_entry_does_not_hold(
    alter: Callable[[Path], None], check: str, without_replay: bool, copies: Path, tmp_path: Path
) -> None:
    (entry,) = submit(copies / "game", "--replay", "--out", tmp_path / "out")["entries"]
    alter(copies / "game")
    refused = submit(copies / "game", "--replay", "--out", tmp_path / "other", status=2)
    assert check in refused["said"]
    if without_replay:
        assert check in submit(copies / "game", "--out", tmp_path / "other", status=2)["said"]
    assert not (tmp_path / "other").exists()
    result = verify(entry["path"], copies / "game", status=1)
    assert not result["holds"]
    assert {check, "files are those that were submitted"} <= failed(result)


def test_a_seed_that_was_not_planned_is_named(copies: Path, tmp_path: Path) -> None:
    (entry,) = submit(copies / "game", "--out", tmp_path / "out")["entries"]
    alter_episode(lambda row: row.update(seed=row["seed"] + 1))(copies / "game")
    assert "run folders are intact" in submit(copies / "game", "--out", tmp_path / "other", status=2)["said"]
    assert failed(verify(entry["path"], copies / "game", status=1)) == {"run folders are intact"}


@pytest.mark.parametrize(
    ("path", "value", "check"),
    [
        (("numbers", "success"), 0.9, "numbers recompute"),
        (("numbers", "counts", "infra_errors"), 1, "numbers recompute"),
        (("cost", "seconds"), 0.0, "cost recomputes"),
        (("subject", "agent"), "nlac", "subject is that of the runs"),
        (("board", "reward"), "strict", "board is that of the runs"),
        (("reproduce",), "rm -rf", "command is that of the runs"),
        (("provenance", "runs", 0, "dirty"), None, "provenance is that of the runs"),
        (("warnings",), ["nothing to see"], "warnings are those of the runs"),
    ],
)
def test_an_altered_entry_does_not_hold(
    path: tuple[Any, ...], value: Any, check: str, played: Path, tmp_path: Path
) -> None:
    (made,) = submit(played / "random-0", "--out", tmp_path)["entries"]
    content: Any = json.loads(Path(made["path"]).read_text())
    inner = content
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    Path(made["path"]).write_text(json.dumps(content))
    assert check in failed(verify(made["path"], played / "random-0", status=1))


def test_the_warning_of_local_changes_cannot_be_removed(copies: Path, tmp_path: Path) -> None:
    run = copies / "random-0"
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["sessions"][0]["git"] = {"package": {"commit": "0" * 40, "dirty": True}}
    manifest["sessions"][0]["nlac_bench"] = "0.0.1"
    (run / "manifest.json").write_text(json.dumps(manifest))
    (made,) = submit(run, "--out", tmp_path / "out")["entries"]
    dirty, version = made["warnings"]
    assert "changes that are not in its commit" in dirty and "measured with nlac-bench 0.0.1" in version
    content = json.loads(Path(made["path"]).read_text())
    for kept, missed in (([dirty], set()), ([version], {"warnings are those of the runs"})):
        Path(made["path"]).write_text(json.dumps(content | {"warnings": kept}))
        assert failed(verify(made["path"], run, status=1 if missed else 0)) == missed


def test_a_reported_entry_has_no_run_to_verify_it_against(played: Path) -> None:
    cited = min((Path(__file__).parents[2] / "leaderboards" / "results" / "reported").glob("*.json"))
    done = nlac_bench("verify", str(cited), "--run", str(played / "random-0"), status=2)
    assert "level reported" in done.stderr


def test_an_entry_of_another_run_does_not_hold(played: Path, tmp_path: Path) -> None:
    (made,) = submit(played / "random-0", "--out", tmp_path)["entries"]
    result = verify(made["path"], played / "random-1", status=1)
    assert "outcomes are those of the episodes" in failed(result)
    nlac_bench("verify", made["path"], "--run", str(tmp_path / "nowhere"), status=2)
    nlac_bench(
        "verify", str(played / "random-0" / "config.json"), "--run", str(played / "random-0"), status=2
    )


# --- incomplete runs --------------------------------------------------------------------------------


def test_an_incomplete_run_is_only_a_partial_entry(copies: Path, tmp_path: Path) -> None:
    run = copies / "random-0"
    rewrite(run / "episodes.jsonl", lines(run / "episodes.jsonl")[:-2])
    refused = submit(run, "--out", tmp_path, status=2)
    assert "episodes complete" in refused["said"] and "--partial" in refused["said"]
    (made,) = submit(run, "--partial", "--out", tmp_path)["entries"]
    entry = read_entry(Path(made["path"]))
    assert entry.partial and any("partial" in warning for warning in made["warnings"])
    assert entry.numbers.counts is not None and entry.numbers.counts.owed == 2
    assert verify(made["path"], run, status=0)["holds"]


def test_a_part_of_the_split_is_only_a_partial_entry(tmp_path: Path) -> None:
    run = play(tmp_path / "few", ENV, "silent", "--limit", "2")
    assert "plan is the full split" in submit(run, "--out", tmp_path / "out", status=2)["said"]
    (made,) = submit(run, "--partial", "--out", tmp_path / "out")["entries"]
    assert read_entry(Path(made["path"])).partial


def test_a_shaped_reward_is_refused(tmp_path: Path) -> None:
    env = json.dumps({"level": "easy", "reward": 'shaped@{"consented": 0.2}'})
    play(tmp_path / "shaped", f"tau_retail@{env}", "oracle", "--limit", "2")
    refused = submit(tmp_path / "shaped", "--partial", "--out", tmp_path / "out", status=2)
    assert "boards take no shaped rewards" in refused["said"] and not (tmp_path / "out").exists()


def test_partial_does_not_accept_an_altered_run(copies: Path, tmp_path: Path) -> None:
    another_seed(copies / "game")
    assert (
        "seeds follow the rule" in submit(copies / "game", "--partial", "--out", tmp_path, status=2)["said"]
    )


# --- simulators -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    folder = tmp_path_factory.mktemp("recorded")
    env = 'twenty_questions@{"level": "easy", "oracle": "llm"}'
    with FaultServer(lambda *_: completion("No.")).in_thread() as server:
        play(
            folder / "run", env, "random", "--user-model", "stub", "--user-base-url", server.url,
            "--record", str(folder / "calls.jsonl"),
        )  # fmt: skip
    yield folder / "run", folder / "calls.jsonl"


def test_recorded_replies_are_played_again_without_a_server(
    recorded: tuple[Path, Path], tmp_path: Path
) -> None:
    run, calls = recorded
    (made,) = submit(run, "--replay", "--out", tmp_path)["entries"]
    entry: Entry = read_entry(Path(made["path"]))
    assert entry.level == "replayed"
    assert entry.board.simulator is not None and entry.board.simulator.model == "stub"
    assert "oracle_prompt" in entry.board.rules
    assert "http" not in Path(made["path"]).read_text()  # no server is named
    assert any("model plays" in warning for warning in made["warnings"])
    kept = calls.read_text()
    try:
        calls.write_text(kept.replace('"No."', '"Yes."', 1))
        refused = submit(run, "--replay", "--out", tmp_path / "other", status=2)
        assert REPLAY in refused["said"]
        calls.unlink()
        assert "recording" in submit(run, "--replay", "--out", tmp_path / "other", status=2)["said"]
        submit(run, "--out", tmp_path / "plain")  # the numbers need no replies
    finally:
        calls.write_text(kept)


def test_an_environment_of_another_package_has_to_be_repeated(tmp_path: Path) -> None:
    env = "examples.register_env:CountDown-v0"
    run = play(tmp_path / "run", env, "random")
    assert f"--env {env}" in submit(run, "--out", tmp_path / "out", status=2)["said"]
    (made,) = submit(run, "--replay", "--env", env, "--out", tmp_path / "out")["entries"]
    assert made["level"] == "replayed" and read_entry(Path(made["path"])).board.env == "CountDown-v0"
    nlac_bench("verify", made["path"], "--run", str(run), "--env", env)
    nlac_bench("verify", made["path"], "--run", str(run), status=2)


# --- addresses and paths ----------------------------------------------------------------------------

PLACES = ("http://10.0.0.5:8000", "/shared", "/home/alice", "C:\\Users", "://", "/tmp")


def test_an_entry_has_no_addresses_and_no_paths(tmp_path: Path) -> None:
    """Boards do not depend on them; what else an argument holds stays, as do names with a slash."""
    rows = [
        {"question": f"{i} + 1?", "answer": f"#### {i + 1}", "extra_info": {"split": s}}
        for i, s in enumerate(("train", "test"))
    ]
    found = []
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        files = [folder / f"{each}.jsonl" for each in ("data", "val")]
        for file, row in zip(files, rows, strict=True):
            file.write_text(json.dumps(row) + "\n")
        given = {"data": str(files[0]), "val": str(files[1]), "verifier": f"http://{name}:8000/score"}
        env = f"prompts@{json.dumps(given)}"
        run = play(folder / "run", env, "random")
        (made,) = submit(run, "--replay", "--env", env, "--out", tmp_path / "out" / name)["entries"]
        assert verify(made["path"], run, "--env", env, status=0)["holds"]
        found.append(read_entry(Path(made["path"])))
        text = Path(made["path"]).read_text()
        assert "://" not in text and str(tmp_path) not in text and ".jsonl" not in text
    one, other = found
    assert one.board == other.board and one.board_id == other.board_id
    assert one.board.rules == {"verifier": "URL"} and one.board.arguments == {}
    assert one.reproduce is not None and '"data": "PATH", "val": "PATH", "verifier": "URL"' in one.reproduce


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ({"servers": "http://10.0.0.5:8000", "weights_folder": "/shared/w"}, "--model Qwen/Qwen2.5-7B"),
        ({"weights_by": "nccl", "servers": "http://10.0.0.5:8000"}, "--model Qwen/Qwen2.5-7B"),
        ({"data": "/home/alice/private/tau", "val": "/home/alice/rows"}, "--model Qwen/Qwen2.5-7B"),
        ({"data": "private/tau"}, "--model Qwen/Qwen2.5-7B"),
        ({"data": "official"}, "--data official"),
        ({"user_model": "/shared/user"}, "--user-model 'folder user'"),
        ({"user_model": "org/user"}, "--user-model org/user"),
        ({"env": "openenv@" + json.dumps({"url": "http://10.0.0.5:8000"})}, '\'openenv@{"url": "URL"}\''),
        ({"env": 'own@{ "level":"a/b",  "n": ["1 / 2"] }'}, '\'own@{ "level":"a/b",  "n": ["1 / 2"] }\''),
        ({"env": 'own@{"a": ["~/x", {"b": "C:\\\\Users\\\\x"}]}'}, '["PATH", {"b": "PATH"}]'),
        ({"env": 'own@{"options": "--root=/home/alice -n 3"}'}, '"--root=PATH -n 3"'),
        ({"request": {"grammar": r"\d+/\d+", "hook": "http://10.0.0.5:8000"}}, r"\\d+/\\d+"),
    ],
)
def test_the_command_of_an_entry_has_no_addresses_and_no_paths(given: Any, written: str) -> None:
    values = {"env": "tau_retail", "agent": "react", "model": "Qwen/Qwen2.5-7B", **given}
    text = command(RunConfig.from_mapping(values, "test"))
    assert written in text and not [place for place in PLACES if place in text]
    assert "private" not in text and "weights" not in text


def test_a_simulator_in_a_folder_has_no_path(recorded: tuple[Path, Path], tmp_path: Path) -> None:
    run = Path(shutil.copytree(recorded[0], tmp_path / "run"))
    for name in ("config.json", "manifest.json"):
        (run / name).write_text((run / name).read_text().replace('"stub"', '"/shared/models/stub"'))
    (made,) = submit(run, "--out", tmp_path / "out")["entries"]
    entry = read_entry(Path(made["path"]))
    assert entry.board.simulator is not None and entry.board.simulator.model == "folder stub"
    assert "/shared" not in Path(made["path"]).read_text()
