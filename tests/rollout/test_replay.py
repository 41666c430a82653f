"""Recorded model calls replay exactly, under any concurrency, and nothing is ever made up."""

import asyncio
import functools
import itertools
import json
import sys
from pathlib import Path

import pytest

from nlac_bench.errors import DataError
from nlac_bench.rollout import recorded_calls
from nlac_bench.rollout.driver import Driver, EpisodeSpec, Failure
from nlac_bench.rollout.recorded_calls import ReplayError, phase_scope, recording, replaying
from nlac_bench.types import ChatFn, ChatReply, ContentFilterError, Episode, Messages, Role, Usage
from tests.full_disk import files_of_at_most
from tests.rollout.stubs import CallAgent, Guess

SAMPLING = {"model": "m", "temperature": 1.0}
STUBBORN = CallAgent(lambda n, env, _o: "7" if n < 3 else env.oracle_action())
"""Says the same thing three times, so that calls repeat within an episode and between trials."""


def numbered_user() -> ChatFn:
    """A model that never says the same thing twice, as a sampled one would not."""
    numbers = itertools.count()

    async def chat(messages: Messages, role: Role) -> ChatReply:
        number = next(numbers)
        await asyncio.sleep(0.001 * (number % 5))
        return ChatReply(f"reply {number}", Usage(calls=1, completion_tokens=3, cost=0.25))

    return chat


def play(chat: ChatFn, concurrency: int, trials: int = 3) -> dict[tuple[str, int], Episode]:
    specs = [EpisodeSpec("guess", str(t), trial, 0) for trial in range(trials) for t in range(8)]

    async def run() -> list[Episode | Failure]:
        driver = Driver(STUBBORN, lambda: Guess(chat=chat), concurrency=concurrency)
        return [result async for result in driver.run(specs)]

    results = [r for r in asyncio.run(run()) if isinstance(r, Episode)]
    assert len(results) == len(specs)
    return {(r.task_id, r.trial): r for r in results}


def heard(episodes: dict[tuple[str, int], Episode]) -> dict[tuple[str, int], list[str]]:
    return {key: [turn.observation for turn in e.turns] for key, e in episodes.items()}


@pytest.mark.parametrize("concurrency", [1, 24])
def test_a_replay_gives_every_episode_its_own_replies(tmp_path: Path, concurrency: int) -> None:
    path = tmp_path / "calls.jsonl"
    recorded = play(recording(numbered_user(), path, SAMPLING), concurrency=8)
    replayed = play(replaying(path, SAMPLING), concurrency=concurrency)
    assert heard(replayed) == heard(recorded)
    assert [e.usage["user"].cost for e in replayed.values()] == [
        0.25 * len(e.turns) for e in replayed.values()
    ]


def test_the_same_tasks_in_several_phases_have_their_own_replies(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    chat = recording(numbered_user(), path, SAMPLING)
    recorded = {}
    for phase in ("base", "iteration-0", ""):
        with phase_scope(phase):
            recorded[phase] = heard(play(chat, concurrency=8))
    assert recorded["base"] != recorded[""]
    for phase in ("", "base", "iteration-0"):
        with phase_scope(phase):
            assert heard(play(replaying(path, SAMPLING), concurrency=8)) == recorded[phase]


def test_a_recording_without_phases_is_replayed_in_each(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    recorded = heard(play(recording(numbered_user(), path, SAMPLING), concurrency=8))
    assert {json.loads(line)["episode"] for line in path.read_text().splitlines()} == {
        f"{task}#{trial}" for task in range(8) for trial in range(3)
    }
    with phase_scope("base"):
        assert heard(play(replaying(path, SAMPLING), concurrency=8)) == recorded


def test_a_reply_that_a_filter_stopped_is_recorded_and_stopped_again(tmp_path: Path) -> None:
    calls = itertools.count()

    async def chat(messages: Messages, role: Role) -> ChatReply:
        if next(calls) == 2:
            raise ContentFilterError(role, Usage(1, 7))
        return ChatReply("go on", Usage(1))

    path = tmp_path / "calls.jsonl"
    for make in (functools.partial(recording, chat), replaying):
        driver = Driver(STUBBORN, functools.partial(Guess, chat=make(path, SAMPLING)), concurrency=1)
        specs = [EpisodeSpec("guess", str(task), 0, 0) for task in (5, 6)]
        stopped, other = asyncio.run(collect(driver, specs))
        assert isinstance(stopped, Episode) and stopped.filtered and not stopped.truncated
        assert stopped.info["content_filter"] == "user" and stopped.usage["user"] == Usage(3, 7)
        assert len(stopped.turns) == 3 and stopped.turns[-1].observation == ""
        assert isinstance(other, Episode) and other.success


async def collect(driver: Driver, specs: list[EpisodeSpec]) -> list[Episode | Failure]:
    return [result async for result in driver.run(specs)]


@pytest.mark.filterwarnings("ignore:.* reports a")
def test_a_recorded_cost_that_is_no_number_is_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    play(recording(numbered_user(), path, SAMPLING), concurrency=1)
    path.write_text(path.read_text().replace('"cost": 0.25', '"cost": Infinity'))
    assert {e.usage["user"].cost for e in play(replaying(path, SAMPLING), 1).values()} == {0}


def test_a_call_that_was_not_recorded_stops_the_run(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    play(recording(numbered_user(), path, SAMPLING), concurrency=8, trials=1)
    with pytest.raises(ReplayError, match=r"role 'user', episode '\d#1'"):
        play(replaying(path, SAMPLING), concurrency=1, trials=2)
    with pytest.raises(ReplayError, match="temperature"):
        play(replaying(path, {"model": "m", "temperature": 0.5}), concurrency=1, trials=1)


def test_a_torn_last_line_is_dropped_and_recorded_again(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    recorded = play(recording(numbered_user(), path, SAMPLING), concurrency=1, trials=1)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    with pytest.raises(ReplayError):
        play(replaying(path, SAMPLING), concurrency=1, trials=1)
    again = play(recording(numbered_user(), path, SAMPLING), concurrency=1, trials=1)
    assert heard(play(replaying(path, SAMPLING), concurrency=4, trials=1)) == heard(again) == heard(recorded)
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_an_episode_played_again_overrides_its_broken_start(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    user = numbered_user()
    play(recording(user, path, SAMPLING), concurrency=1, trials=1)
    second = play(recording(user, path, SAMPLING), concurrency=1, trials=1)
    assert heard(play(replaying(path, SAMPLING), concurrency=1, trials=1)) == heard(second)


@pytest.mark.parametrize("content", ["not json\n{}\n", '{"format": 9}\n\n', "[1]\n[2]\n"])
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text(content)
    with pytest.raises(DataError, match="line 1"):
        replaying(path, SAMPLING)
    with pytest.raises(DataError, match="line 1"):
        recording(numbered_user(), path, SAMPLING)
    with pytest.raises(DataError, match="cannot read"):
        replaying(tmp_path / "absent", SAMPLING)


def test_a_recording_that_cannot_be_written_stops_the_run(tmp_path: Path) -> None:
    chat = recording(numbered_user(), tmp_path / "absent" / "calls.jsonl", SAMPLING)
    with pytest.raises(DataError, match="cannot write"):
        play(chat, concurrency=1)


@pytest.mark.parametrize(
    "content", [b"ssh-ed25519 AAAA me@h", b"no recording", b'{"forma', b"\xff\xfe", b"{}"]
)
@pytest.mark.parametrize("before", [b"", b"line\n"])
def test_a_file_that_is_no_recording_is_left_as_it_is(tmp_path: Path, before: bytes, content: bytes) -> None:
    """An incomplete last line is cut off, but only that of a recording."""
    path = tmp_path / "calls.jsonl"
    path.write_bytes(before + content)
    if before or content != b'{"forma':  # which is the beginning of a recording
        with pytest.raises(DataError, match="line 1 is not a recorded call"):
            recording(numbered_user(), path, SAMPLING)
        assert path.read_bytes() == before + content


def test_a_program_a_folder_and_a_device_are_refused_in_one_short_line(tmp_path: Path) -> None:
    for path in (Path(sys.executable), tmp_path, Path("/dev/zero")):
        for read in (replaying, functools.partial(recording, numbered_user())):
            with pytest.raises(DataError, match=r"not a recorded call|cannot read the recording") as caught:
                read(path, SAMPLING)
            assert len(str(caught.value)) < 700 and str(caught.value).isprintable()


def test_zeros_after_a_crash_of_the_machine_are_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    play(recording(numbered_user(), path, SAMPLING), concurrency=1, trials=1)
    whole = path.read_bytes()
    path.write_bytes(whole + bytes(100))
    recording(numbered_user(), path, SAMPLING)
    assert path.read_bytes() == whole


def test_a_recording_is_complete_after_the_disk_was_full(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    chat = recording(numbered_user(), path, SAMPLING)
    play(chat, concurrency=1, trials=1)
    whole = path.read_bytes()
    with files_of_at_most(len(whole) + 50), pytest.raises(DataError, match="cannot write to the recording"):
        play(chat, concurrency=1, trials=1)
    assert path.read_bytes() == whole
    again = play(chat, concurrency=1, trials=1)  # without opening the file anew
    assert heard(play(replaying(path, SAMPLING), concurrency=1, trials=1)) == heard(again)


def test_only_a_line_of_a_recording_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "calls.jsonl"
    recorded = heard(play(recording(numbered_user(), path, SAMPLING), concurrency=1))
    lines = path.read_bytes().splitlines(keepends=True)
    monkeypatch.setattr(recorded_calls, "_MAX_LINE_BYTES", max(map(len, lines)))
    assert heard(play(replaying(path, SAMPLING), concurrency=1)) == recorded
    longer = lines[1].replace(b'"text": "', b'"text": "' + b"x" * 100)
    for after in (b"", lines[2]):
        path.write_bytes(lines[0] + longer + after)
        with pytest.raises(DataError, match="line 2 is not a recorded call"):
            replaying(path, SAMPLING)
