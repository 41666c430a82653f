"""Rewards under both rules, and the replay of recorded calls."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.envs.tau.domain import Task, load_official
from nlac_bench.envs.tau.invoke import invoke
from nlac_bench.envs.tau.reward import TauGrader
from nlac_bench.envs.tau.verification.recorded import verify_expected
from nlac_bench.errors import DataError
from tests.envs.tau_small import load_small, write_small

CANCEL = ("cancel_pending_order", {"order_id": "#W3", "reason": "no longer needed"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small(tmp_path_factory.mktemp("small"))


@pytest.fixture
def grader(folder: Path) -> TauGrader:
    return TauGrader(load_small("retail", folder))


# --- rewards ------------------------------------------------------------------------------------------------


def test_the_database_must_be_as_the_gold_calls_make_it(grader: TauGrader) -> None:
    task = grader.domain.task("test", 0)
    db = grader.database()
    assert grader.grade(task, db, []) == {"original": 0.0, "strict": 0.0, "r_actions": 0.0, "r_outputs": 1.0}
    invoke(grader.tools, db, *CANCEL)
    assert grader.grade(task, db, []) == {"original": 1.0, "strict": 1.0, "r_actions": 1.0, "r_outputs": 1.0}
    assert grader.judge(task, db, []).info() == {"r_actions": 1.0, "gt_data_hash": db.hash()}


def test_grading_leaves_the_episode_as_it_was(grader: TauGrader) -> None:
    task = grader.domain.task("test", 0)
    db, said = grader.database(), ["hello"]
    before = db.hash()
    for _ in range(2):
        assert grader.grade(task, db, said)["original"] == 0.0
    assert (db.hash(), said) == (before, ["hello"])
    invoke(grader.tools, db, *CANCEL)
    assert grader.grade(task, grader.database(), [])["original"] == 0.0, (
        "the gold database is nobody's to play on"
    )


def test_transfers_are_left_out_of_the_gold_calls_and_failing_ones_do_nothing(grader: TauGrader) -> None:
    task = grader.domain.task("test", 2)
    assert grader.grade(task, grader.database(), [])["original"] == 1.0


def _told(grader: TauGrader, output: str, message: str) -> tuple[float, float]:
    asked = Task("retail/test/x" + output, 0, "ada_1", "", (), (output,))
    reward = grader.judge(asked, grader.database(), ["Hello.", message])
    assert reward.info() == {"r_outputs": reward.original, "outputs": {output: bool(reward.original)}}
    return reward.original, reward.strict


@pytest.mark.parametrize(
    ("output", "message", "original", "strict"),
    [
        ("10", "There are 10.", 1, 1),
        ("10", "That is $10.00", 1, 1),
        ("10", "There are 100.", 1, 0),
        ("10", "It costs 2.10", 1, 0),
        ("10", "It costs 10.50", 1, 0),
        ("10", "your order #W10", 1, 0),
        ("10", "at 10:30 on 2024-05-10", 1, 0),
        ("10", "ten", 0, 0),
        ("10", "11, 0", 0, 0),
        ("20", "10,20", 1, 1),
        ("1093.34", "In total 1,093.34!", 1, 1),
        ("625.60", "625.6", 0, 0),
        ("180.1", "180.10 dollars", 1, 1),
        ("180.1", "180.15", 1, 0),
        ("IL", "Chicago, IL 60621", 1, 1),
        ("IL", "I will mail it", 1, 0),
        ("camera", "Two CAMERAS.", 1, 1),
        ("943 Maple Drive", "at 943 maple drive, Suite 356", 1, 1),
    ],
)
def test_outputs(grader: TauGrader, output: str, message: str, original: float, strict: float) -> None:
    assert _told(grader, output, message) == (original, strict)


@pytest.mark.official
@pytest.mark.parametrize("name", ["retail", "airline"])
def test_gold_calls_and_outputs_earn_the_reward_on_every_official_task(
    name: str, official_data: Path
) -> None:
    grader = TauGrader(load_official(name, official_data / "tau_bench"))
    silent = {}
    for split, tasks in grader.domain.tasks.items():
        for task in tasks:
            db = grader.database()
            for call in task.actions:
                invoke(grader.tools, db, call.name, call.kwargs)
            parts = grader.grade(task, db, ["\n".join(task.outputs)])
            assert parts["original"] == parts["strict"] == 1.0, task.task_id
        nothing = [grader.grade(task, grader.database(), [])["original"] for task in tasks]
        silent[split] = int(sum(nothing))
    assert silent == ({"train": 5, "dev": 1, "test": 7} if name == "retail" else {"test": 19})


# --- recorded calls -----------------------------------------------------------------------------------------


def _record(folder: Path) -> dict[str, Any]:
    grader = TauGrader(load_small("retail", folder))
    db = grader.database()
    first = db.hash()
    observation = invoke(grader.tools, db, *CANCEL).observation
    return {
        "id": "r1", "kind": "hand", "domain": "retail", "split": "test", "task": 0, "init_hash": first,
        "calls": [
            {"name": "respond", "kwargs": {"content": "Hi."}, "obs": "Bye ###STOP###", "done": True},
            {"name": CANCEL[0], "kwargs": CANCEL[1], "obs": observation, "hash": db.hash()},
            {"name": "respond", "kwargs": {}, "raises": "KeyError"},
            {"name": "think", "kwargs": [], "raises": "ValidationError"},
            {"name": "transfer_to_human_agents", "kwargs": {"summary": ""}, "obs": "Transfer successful",
             "done": True},
        ],
        "final_hash": db.hash(),
        "reward_gt": {"reward": 1.0, "info": {"r_actions": 1.0, "gt_data_hash": db.hash()}},
        "reward_nothing": {"reward": 0.0, "info": {"r_actions": 0.0, "gt_data_hash": db.hash()}},
    }  # fmt: skip


def _verify(folder: Path, path: Path, *records: Any) -> dict[str, Any]:
    path.write_text("\n".join(json.dumps(record) for record in records) + "\n\n", encoding="utf-8")
    return verify_expected(folder, path).as_dict()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_right_record_matches(folder: Path, tmp_path: Path) -> None:
    record = _record(folder)
    counts = _verify(folder, tmp_path / "e.jsonl", record, record)
    assert counts == {
        "observations": {"matched": 10, "total": 10},
        "hashes": {"matched": 6, "total": 6},
        "rewards": {"matched": 4, "total": 4},
        "differences": [],
    }
    packed = tmp_path / "e.jsonl.gz"
    packed.write_bytes(gzip.compress((tmp_path / "e.jsonl").read_bytes()))
    assert verify_expected(folder, packed).as_dict() == counts


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("change", "what", "shown"),
    [
        (lambda r: r["calls"][1].update(obs="{}"), "observations", "r1, call 1 (cancel_pending_order)"),
        (lambda r: r["calls"][0].pop("done"), "observations", "r1, call 0 (respond)"),
        (lambda r: r["calls"][1].pop("hash"), "hashes", "'unchanged'"),
        (lambda r: r["calls"][4].update(hash="0"), "hashes", "r1, call 4"),
        (lambda r: r.update(init_hash="0"), "hashes", "r1, initial hash"),
        (lambda r: r["reward_gt"].update(reward=0.5), "rewards", "r1, reward_gt"),
    ],
)
def test_a_wrong_record_is_shown(
    folder: Path, tmp_path: Path, change: Callable[[Any], Any], what: str, shown: str
) -> None:
    record = _record(folder)
    change(record)
    counts = _verify(folder, tmp_path / "e.jsonl", record)
    off = {
        key for key in ("observations", "hashes", "rewards") if counts[key]["matched"] < counts[key]["total"]
    }
    assert off == {what}
    assert len(counts["differences"]) == 1 and shown in counts["differences"][0]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "has no records"),
        (b"\n\n", "has no records"),
        (b'{"id": "x"', "line 1 is not JSON"),
        (b"\xff\xfe", "line 1 is not JSON"),
        (b"[" * 100_000, "line 1 is not JSON"),
        (b"5", "line 1 is not a record of calls: b'5'"),
        (b'\n{"domain": "retail"}', "line 2 is not a record of calls: it lacks 'split'"),
        (b'{"domain": "bank"}', "unknown domain 'bank'"),
        (b'{"domain": "retail", "split": "test", "task": 99, "calls": []}', "has no task 99"),
        (b'{"domain": "retail", "split": "test", "task": "0", "calls": []}', "line 1 is not a record"),
        (b'{"domain": "retail", "split": "test", "task": 0, "calls": [5]}', "line 1 is not a record"),
        (
            b'{"domain": "retail", "split": "test", "task": 0, "calls": [{"name": "think", "kwargs": {}}]}',
            "it lacks 'obs'",
        ),
    ],
)
def test_malformed_records_are_refused_with_their_line(
    folder: Path, tmp_path: Path, text: bytes, message: str
) -> None:
    path = tmp_path / "e.jsonl"
    path.write_bytes(text)
    with pytest.raises(DataError, match=r"e\.jsonl") as error:
        verify_expected(folder, path)
    assert message in str(error.value)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_truncated_and_missing_files_are_refused(folder: Path, tmp_path: Path) -> None:
    packed = tmp_path / "e.jsonl.gz"
    packed.write_bytes(gzip.compress(json.dumps(_record(folder)).encode() * 50)[:-20])
    for path in (packed, tmp_path / "none.jsonl"):
        with pytest.raises(DataError, match=path.name):
            verify_expected(folder, path)


@pytest.mark.lists
@pytest.mark.official
def test_the_official_sample_matches_in_full(official_data: Path) -> None:
    folder = official_data / "tau_bench"
    report = verify_expected(folder, folder / "expected_sample.jsonl")
    assert report.ok, report.differences
    assert (report.observations.total, report.hashes.total, report.rewards.total) == (514, 236, 119)
