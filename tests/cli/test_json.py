"""What ``--json`` prints: one object, strict JSON, all of it or nothing."""

import contextlib
import io
import json
import math
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.cli.output import print_json
from nlac_bench.eval.runs.seeds import plan_episodes
from nlac_bench.eval.runs.writer import RunWriter
from nlac_bench.types import Episode, Turn
from tests.cli.command import call, nlac_bench


def printed(value: dict[str, Any], encoding: str = "utf-8") -> bytes:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    with contextlib.redirect_stdout(out):
        print_json(value)
    return raw.getvalue()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_lacks_are_null(bad: float) -> None:
    value = {"a": bad, "b": [1.5, bad, {"c": (bad, "NaN")}], "d": None}
    assert json.loads(printed(value)) == {"a": None, "b": [1.5, None, {"c": [None, "NaN"]}], "d": None}


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_text_that_cannot_be_encoded_is_escaped(encoding: str) -> None:
    value = {"a": "\ud800 – é 😀", "b\udfff": "\n"}
    assert json.loads(printed(value, encoding).decode(encoding)) == value
    assert printed({"a": "é"}, "utf-8") == b'{"a": "\xc3\xa9"}\n', "what can be encoded is not escaped"


@pytest.mark.parametrize("wrong", [{1}, object(), b"bytes"])
def test_nothing_is_printed_of_a_value_that_is_no_json(wrong: object) -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(TypeError):
        print_json({"first": 1, "wrong": wrong})
    assert out.getvalue() == ""


def test_rewards_whose_spread_overflows(tmp_path: Path) -> None:
    plan = plan_episodes(["a", "b"], 1, 0)
    writer = RunWriter.create(
        tmp_path / "run", config={}, conditions={"env": "e"}, subject={"agent": "a"}, plan=plan
    )
    with writer:
        for item, reward in zip(plan, (1e308, -1e308), strict=True):
            turns = [Turn("x", reward=reward)]
            writer.append(Episode("e", item.task_id, item.trial, item.seed, "", turns, True))
    done = call("score", str(tmp_path / "run"), "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["reward_ci"] == [None, None]


@pytest.mark.parametrize("price", ["nan,1", "1,inf", "-1,2", "1,-inf", "1e7,1", "1e400,1"])
def test_prices_are_finite(price: str, tmp_path: Path) -> None:
    where = ("--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--out", str(tmp_path / "run"))
    for flag in (f"--price={price}", f"--user-price={price}"):
        run = ("run", "--env", "twenty_questions", "--agent", "act", *where, flag)
        assert "from 0 to 1,000,000" in nlac_bench(*run, status=2).stderr
    assert not (tmp_path / "run").exists()
