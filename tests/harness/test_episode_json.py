"""Episodes to lines and back."""

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlac_bench.errors import EpisodeFormatError, NlacBenchError
from nlac_bench.harness.runs import episode_json
from nlac_bench.harness.runs.episode_json import (
    dump_line,
    episode_from_row,
    episode_to_row,
    parse_line,
)
from nlac_bench.harness.runs.seeds import episode_seed, plan_episodes
from nlac_bench.types import Episode, Turn, Usage

# Lone surrogates included; two that stand together are one character in JSON, so none follows another here.
texts = st.text(st.characters(exclude_categories=()), max_size=20).filter(
    lambda s: (
        not any("\ud800" <= a <= "\udbff" and "\udc00" <= b <= "\udfff" for a, b in itertools.pairwise(s))
    )
)
numbers = st.floats(allow_nan=False)
usages = st.builds(Usage, st.integers(0, 9), st.integers(0, 9**9), st.integers(0, 9**9), numbers, numbers)
infos = st.dictionaries(
    texts, st.recursive(st.none() | st.booleans() | st.integers() | texts, lambda x: st.lists(x, max_size=3))
)
turns = st.builds(
    Turn,
    text=texts,
    observation=texts,
    reward=numbers,
    role=st.sampled_from(["policy", "refiner"]),
    prompt_ids=st.none() | st.lists(st.integers(0, 2**31), max_size=4),
    output_ids=st.none() | st.lists(st.integers(0, 2**31), max_size=4),
    logprobs=st.none() | st.lists(numbers, max_size=4),
    finish=texts,
    weight_version=st.integers(0, 9**9),
    usage=usages,
    info=infos,
)
episodes = st.builds(
    Episode,
    env=texts,
    task_id=texts,
    trial=st.integers(0, 99),
    seed=st.integers(0, 2**31 - 1),
    first_observation=texts,
    turns=st.lists(turns, max_size=3),
    terminated=st.booleans(),
    truncated=st.booleans(),
    success=st.none() | st.booleans(),
    end_reason=texts,
    info=infos,
    usage=st.dictionaries(st.sampled_from(["policy", "user", "judge"]), usages),
    seconds=numbers,
)


def there_and_back(episode: Episode) -> Episode:
    line = dump_line(episode_to_row(episode))
    assert line.isascii()
    assert "\n" not in line
    return episode_from_row(parse_line(line.encode("ascii")))


@given(episodes)
def test_round_trip(episode: Episode) -> None:
    assert there_and_back(episode) == episode


def test_what_json_lacks() -> None:
    turn = Turn(
        "a", reward=math.nan, logprobs=[-math.inf, -0.5], info={"x": np.float32(0.5), "y": np.arange(3)}
    )
    episode = Episode("toy", "t", 0, 1, "", [turn], success=bool(np.True_), info={"score": math.inf})
    back = there_and_back(episode)
    assert back.turns[0].logprobs == [-math.inf, -0.5]
    assert math.isnan(back.turns[0].reward)
    assert back.turns[0].info == {"x": 0.5, "y": [0, 1, 2]}
    assert back.info == {"score": "Infinity"}


def test_refused_with_its_place() -> None:
    episode = Episode("toy", "t", 0, 1, "", info={"deep": [1, {"env": object()}]})
    with pytest.raises(EpisodeFormatError, match=r"info\.deep\[1\]\.env is a object"):
        dump_line(episode_to_row(episode))
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(EpisodeFormatError, match="nested more than 100 deep"):
        dump_line(episode_to_row(replace(episode, info={"x": nested})))


def test_an_integer_that_is_too_long_is_refused_with_its_place() -> None:
    episode = Episode("toy", "t", 0, 1, "", info={"n": [10**4000]})
    assert there_and_back(episode) == episode
    for value in (10**5000, -(10**5000)):
        with pytest.raises(EpisodeFormatError, match=r"^info\.n\[0\] is an integer of 16,610 bits"):
            dump_line(episode_to_row(replace(episode, info={"n": [value]})))


def test_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episode_json, "MAX_LINE_BYTES", 1000)
    with pytest.raises(EpisodeFormatError, match="too long"):
        dump_line({"text": "x" * 1000})
    with pytest.raises(ValueError, match="line of"):
        parse_line(b'{"text": "' + b"x" * 1000 + b'"}')


@pytest.mark.parametrize(
    "line", [b"", b"[1]", b'{"a": 1', b"\0\0\0", b"[" * 100_000, b'{"a": "\xff"}', b"1" * 5000]
)
def test_hostile_lines(line: bytes) -> None:
    with pytest.raises(ValueError):
        parse_line(line)


TURN = episode_to_row(Episode("toy", "t", 0, 1, "", [Turn("a")]))["turns"][0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trial": "0"}, "trial must be int"),
        ({"trial": True}, "trial must be int, got True"),
        ({"success": 1}, "success must be bool, got 1$"),
        ({"terminated": "true"}, "terminated must be bool, got 'true'$"),
        ({"turns": [{"text": 1}]}, "text must be str"),
        ({"turns": [{**TURN, "output_ids": [1, True]}]}, "output_ids must be a list of int"),
        ({"turns": [{**TURN, "logprobs": [-1.0, "low"]}]}, "logprobs must be a number"),
        ({"extra": 1}, "unknown fields .'extra'.*newer version"),
        ({"usage": {"policy": {"calls": 1}}}, "usage lacks the field 'prompt_tokens'"),
        ({"seconds": "soon"}, "seconds must be a number"),
    ],
)
def test_rows_that_are_no_episode(change: dict[str, object], message: str) -> None:
    row = episode_to_row(Episode("toy", "t", 0, 1, "", usage={"policy": Usage()}))
    with pytest.raises(EpisodeFormatError, match=message):
        episode_from_row({**row, **change})
    del row["task_id"]
    with pytest.raises(EpisodeFormatError, match="lacks the field 'task_id'"):
        episode_from_row(row)


def test_fields_match_the_types() -> None:
    """A field added to ``Turn`` or ``Episode`` must be read back as well."""
    usage = Usage(1, 2, 3, 4.0, 5.0)
    turn = Turn("a", "b", 1.0, "refiner", [1], [2], [-1.0], "length", 3, usage, {"k": 1})
    episode = Episode(
        "e", "t", 1, 2, "o", [turn], True, True, False, "failure", {"i": 1}, {"policy": usage}, 9.0
    )
    assert there_and_back(episode) == episode


def test_seeds_are_what_the_documentation_says() -> None:
    # printf '[7, "task-1", 2]' | sha256sum → first eight hex digits, top bit cleared
    import hashlib

    digits = hashlib.sha256(b'[7, "task-1", 2]').hexdigest()[:8]
    assert episode_seed(7, "task-1", 2) == int(digits, 16) % 2**31 == 160139547
    plan = plan_episodes(["a", "b"], trials=2, base_seed=0)
    assert [p.key for p in plan] == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert plan_episodes(["b", "a", "c"], trials=3, base_seed=0)[1].seed == plan[0].seed, (
        "order does not matter"
    )
    assert len({episode_seed(b, t, k) for b in range(5) for t in "abcde" for k in range(40)}) == 1000
    assert json.loads(dump_line({"seed": plan[0].seed}))["seed"] < 2**31


def test_plans_that_make_no_sense() -> None:
    for tasks, trials, message in (
        ([], 1, "empty"),
        (["a"], 0, "at least 1, got 0"),
        (["a", "b", "a"], 1, "'a' is"),
    ):
        with pytest.raises(NlacBenchError, match=message):
            plan_episodes(tasks, trials, 0)
