"""A training run that somebody else sent is resumed: nothing is executed, and the exit code is 2."""

import gzip
import json
import os
import pickle
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.agents.nlac.replay import Replay
from nlac_bench.errors import DataError
from nlac_bench.learner import checkpoint_index
from tests.cli.command import call
from tests.payload import Payload
from tests.training.test_training import config, play

pytestmark = pytest.mark.slow  # the fixture ``interrupted`` trains for some ten seconds
Change = Callable[[Path, Path], None]
LAST, BEST = "checkpoints/last", "checkpoints/best"


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("interrupted") / "run"
    assert not play(folder, config(steps=4, limit=1), stop_after=1)
    return folder


def snapshot(folder: Path) -> dict[str, bytes]:
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {name: (folder / name).read_bytes() for name in names if not name.endswith(".lock")}


def earlier_format(folder: Path, marker: Path) -> None:
    last = folder / LAST
    (last / ".metadata").write_bytes(pickle.dumps(Payload(marker)))
    (last / "__0_0.distcp").write_bytes(pickle.dumps(Payload(marker)))
    (last / "loop_state.json").write_text(json.dumps({"step": 1, "world_size": 1, "loop": {}}))


def pickled(name: str) -> Change:
    def change(folder: Path, marker: Path) -> None:
        (folder / name).write_bytes(pickle.dumps(Payload(marker)))

    return change


def removed(name: str) -> Change:
    def change(folder: Path, _: Path) -> None:
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return change


def cut(name: str) -> Change:
    def change(folder: Path, _: Path) -> None:
        os.truncate(folder / name, (folder / name).stat().st_size // 2)

    return change


def loop(edit: Callable[[dict[str, Any]], object], **files: bytes) -> Change:
    """Change the loop's state and files, with hashes that fit."""

    def change(folder: Path, _: Path) -> None:
        last = folder / LAST
        fields = json.loads((last / "loop_state.json").read_text())
        (last / "loop_state.json").unlink()
        edit(fields["loop"])
        for name, content in files.items():
            (last / f"{name}.jsonl.gz").write_bytes(content)
        fields = {name: fields[name] for name in ("step", "world_size", "optimizer", "loop")}
        checkpoint_index.write(last, **fields)

    return change


def linked(name: str) -> Change:
    def change(folder: Path, _: Path) -> None:
        target = folder.parent / "precious"
        target.write_text("precious")
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)

    return change


def linked_folder(folder: Path, _: Path) -> None:
    (folder / LAST).rename(folder.parent / "elsewhere")
    (folder / LAST).symlink_to(folder.parent / "elsewhere")


REFUSED: dict[str, tuple[Change, str]] = {
    "an earlier format": (earlier_format, "format 1"),
    "a pickled shard": (pickled(f"{LAST}/rank-0.safetensors"), "were written"),
    "a pickled state": (pickled(f"{LAST}/loop_state.json"), "cannot be read"),
    "a pickled replay buffer": (pickled(f"{LAST}/replay.jsonl.gz"), "were written"),
    "a shard removed": (removed(f"{LAST}/rank-0.safetensors"), "is missing"),
    "half of a shard": (cut(f"{LAST}/rank-0.safetensors"), "were written"),
    "the best removed": (removed(BEST), "best policy so far"),
    "the best without weights": (removed(f"{BEST}/model.safetensors"), "best policy so far"),
    "half of the best": (cut(f"{BEST}/model.safetensors"), "best policy so far"),
    "the best pickled": (pickled(f"{BEST}/model.safetensors"), "best policy so far"),
    "no progress": (loop(lambda state: state.pop("progress")), "is damaged"),
    "progress that is a list": (loop(lambda state: state.update(progress=[])), "is damaged"),
    "progress in words": (loop(lambda state: state["progress"].update(iteration="1")), "is damaged"),
    "usage of nothing": (loop(lambda state: state["progress"].update(usage={"policy": 1})), "is damaged"),
    "no state of the algorithm": (loop(lambda state: state.pop("algorithm")), "is damaged"),
    "a version in words": (loop(lambda state: state["algorithm"].update(version="x")), "is damaged"),
    "a replay buffer of nothing": (loop(lambda _: None, replay=b""), "cannot be read as a replay buffer"),
    "a replay buffer of noise": (
        loop(lambda _: None, replay=gzip.compress(b"\0" * 1000)[:-12] + b"\xff" * 12), "replay buffer"),
    "a replay buffer of zeros": (loop(lambda _: None, replay=gzip.compress(bytes(10**6))), "replay buffer"),
    "a link instead of a list": (linked("errors.jsonl"), "is a link to"),
    "a link instead of a lock": (linked(".lock"), "is a link to"),
    "a link instead of a shard": (linked(f"{LAST}/rank-0.safetensors"), "not a regular file|is a link to"),
    "a link instead of a checkpoint": (linked_folder, "is a link to"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_exit_code_2(interrupted: Path, tmp_path: Path, name: str) -> None:
    change, reason = REFUSED[name]
    folder, marker = tmp_path / "run", tmp_path / "executed"
    shutil.copytree(interrupted, folder)
    change(folder, marker)
    before = snapshot(folder)
    done = call("resume", str(folder), "--json")
    assert done.returncode == 2 and not done.stdout, done.stderr
    message = done.stderr.partition("error:")[2]
    assert re.search(reason, message), message
    assert "Traceback" not in done.stderr and not marker.exists()
    assert snapshot(folder) == before
    if (tmp_path / "precious").exists():
        assert (tmp_path / "precious").read_text() == "precious"


def test_a_death_between_two_renames_is_repaired(interrupted: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(interrupted, folder)
    for name in ("last", "best"):
        (folder / "checkpoints" / name).rename(folder / "checkpoints" / f".{name}.replaced")
    assert play(folder, config(steps=4, limit=1))
    assert sorted(path.name for path in (folder / "checkpoints").iterdir()) == ["best", "last"]


def written(*lines: Any) -> bytes:
    """The file of a buffer with these lines."""
    return gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode())


def test_a_replay_buffer_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "replay.jsonl.gz"
    header = {"format": 2, "rng": {}, "iteration": 0, "losses": [1.0], "born": [0], "worlds": []}
    Replay().save(path)
    good = json.loads(gzip.decompress(path.read_bytes())) | {"losses": [1.0], "born": [0]}
    good["worlds"] = [["demo", "", "[]"]]
    plain = {"reward": 0, "terminated": True, "success": True, "task_id": "t", "seed": 0, "step": 0,
             "trial": 0, "weight_version": 0, "reward_before": 0, "last_words": "", "notes": {}}  # fmt: skip
    step = {**plain, "action": "a", "action_ids": [1], "state": [1, 0, 2], "next_state": None}
    row = {"world": 0, "messages": [{"content": "x"}], "prompts": [[7, 8]], "transitions": [step]}
    path.write_bytes(written(good, row))
    replay = Replay()
    replay.load(path)
    assert len(replay) == 1 and replay.items[0].state.prompt_ids == [7, 8]
    episodes: list[dict[str, Any]] = [
        {"transitions": []}, {"transitions": [step] * 2}, {"transitions": {}}, {"prompts": []},
        {"prompts": [[7, 2**40]]}, {"prompts": ["7"]}, {"messages": []}, {"world": 5}, {"world": "demo"},
    ]  # fmt: skip
    steps: list[dict[str, Any]] = [
        {"state": [2, 0, 2]}, {"state": [-1, 0, 2]}, {"state": [1, 0, 3]}, {"state": [1, 9, 1]},
        {"state": None}, {"state": [1]}, {"action_ids": "1"}, {"next_state": [4, None, None]}, {"more": 1},
    ]  # fmt: skip
    for content in (
        b"", b"\x80\x04.", gzip.compress(b""), gzip.compress(b"[]"), gzip.compress(b'{"a":' * 10**5),
        gzip.compress(json.dumps(header).encode()), gzip.compress(b"{}" * 10), gzip.compress(b"\xff\xfe"),
        gzip.compress(json.dumps(header | {"losses": [], "born": []}).encode() + b"\n{}\n"),
        gzip.compress(json.dumps(header | {"losses": [], "born": []}).encode()),
        gzip.compress(b"a" * 1000)[:20],
        *(written(good, row | changed) for changed in episodes),
        *(written(good, row | {"transitions": [step | changed]}) for changed in steps),
        written(good), written(good, row, row),
    ):  # fmt: skip
        path.write_bytes(content)
        replay = Replay()
        with pytest.raises(DataError, match="cannot be read as a replay buffer"):
            replay.load(path)
        assert len(replay) == 0
