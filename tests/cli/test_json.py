"""What ``--json`` prints: one object, strict JSON, all of it or nothing."""

import contextlib
import io
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.cli.output import print_json
from nlac_bench.cli.streams import ReservedStdout
from nlac_bench.harness.runs.seeds import plan_episodes
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.types import Episode, Turn
from tests.cli.command import call, nlac_bench, one_json


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


_LOUD = """
import atexit, ctypes, os, subprocess, sys
import gymnasium
from gymnasium.spaces import Text
from nlac_bench import envs

def say(where):
    print(where, "print")
    print(where, "original", file=sys.__stdout__)
    os.write(1, f"{where} write\\n".encode())
    subprocess.run(["echo", where, "child"])
    ctypes.CDLL(None).puts(f"{where} native".encode())

say("import")
atexit.register(say, "exit")

class Loud(gymnasium.Env):
    observation_space = action_space = Text(9)
    def __init__(self):
        say("make")
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        say("reset")
        return "go", {}
    def step(self, action):
        say("step")
        return "done", 1.0, True, False, {"success": True}
    def close(self):
        say("close")

gymnasium.register("Loud-v0", Loud, disable_env_checker=True)
"""

LOUD = "loud:Loud-v0"
RUN = ("run", "--env", LOUD, "--agent", "random", "--limit", "2")
# Each starts a process. What lies between main() and a command is the same for all of them.
COMMANDS = ((*RUN, "--out", "run"), ("resume", "run", "--env", LOUD), ("envs", "check", LOUD))
IN_PROCESS = (
    (*RUN, "--dry-run"),
    (*RUN, "--out", "again"),
    ("floors", "--env", LOUD, "--agent", "random", "--episodes", "1"),
    ("envs", "show", LOUD),
)


def test_standard_output_has_the_object_alone_whatever_an_environment_prints(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(_LOUD)
    for command in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-m", "nlac_bench", *command, "--json"],
            cwd=tmp_path, capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )  # fmt: skip
        assert done.returncode in (0, 1 if "check" in command else 0), done.stderr
        assert done.stdout.count("\n") == 1 and isinstance(json.loads(done.stdout), dict), command
        for where in ("import", "make", "exit"):
            for how in ("print", "original", "write", "child", "native"):
                assert f"{where} {how}" in done.stderr, (command, where, how)


def test_standard_output_is_reserved_in_this_process_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loud.py").write_text(
        _LOUD.partition("def say")[0]
        + "say = print\n"
        + _LOUD.partition("class")[1]
        + _LOUD.partition("class")[2]
    )
    monkeypatch.chdir(tmp_path)
    for command in IN_PROCESS:
        done = call(*command, "--json")
        assert done.returncode == 0 and one_json(done) and "make" in done.stderr, (command, done.stderr)
    assert not isinstance(sys.stdout, ReservedStdout)
    assert "step" in call(*RUN, "--out", "run").stdout, "without --json nothing is reserved"


@pytest.mark.parametrize(
    "command",
    [
        "envs show twenty_questions --json",
        "envs show twenty_questions",
        "--help",
        "run --help",
        "run --env math500_hard --agent oracle --limit 2 --out run",
    ],
)
def test_a_reader_that_has_left_gives_exit_code_141(command: str, tmp_path: Path) -> None:
    """Text is printed by rich, which would exit with code 1, and in a run with code 3."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "nlac_bench", *command.split()], cwd=tmp_path,
        stdout=write, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(write)
    assert done.returncode == 141 and "rror" not in done.stderr
