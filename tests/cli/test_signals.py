"""Exit codes after signals: 3 where the run can be resumed, 130 or 143 where nothing can."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from nlac_bench.harness.runs.critiques import read_critiques, read_probes
from tests.cli.command import call, one_json, started

INT, TERM = (signal.SIGINT,), (signal.SIGTERM,)
MOMENTS = ("training run", "base: 4 episodes", "validation:", "iteration 1", "test: 4")
TRAIN = ("train_batch_size=3", "val_tasks=2", "probes=1", "mini_batch_size=3", "max_response_length=48")


def stopped_at(
    said: str, signals: Sequence[signal.Signals], command: list[str]
) -> tuple[int, str, list[str]]:
    """Exit code, standard output and error of ``command``, signalled once it has printed ``said``."""
    process = started(*command)
    assert process.stdout is not None and process.stderr is not None
    lines: list[str] = []
    reached = threading.Event()

    def read() -> None:
        for line in process.stderr or ():
            lines.append(line)
            if said in line:
                reached.set()
        reached.set()

    reader = threading.Thread(target=read)
    reader.start()
    reached.wait()
    for each in signals:
        process.send_signal(each)
    out = process.stdout.read()
    code = process.wait()
    reader.join()
    return code, out, lines


@pytest.mark.slow  # each case starts a training run in a process of its own
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("said", "signals"),
    [
        *((said, INT) for said in MOMENTS),
        *((said, TERM) for said in ("training run", "iteration 1")),
        *((said, (*INT, *INT)) for said in MOMENTS[1:]),
    ],
    ids=str,
)
def test_a_stopped_training_exits_3_and_names_the_command(
    said: str, signals: Sequence[signal.Signals], tmp_path: Path
) -> None:
    command = ["run", "--env", 'math500_hard@{"level": 1}', "--agent", "nlac", "--budget", "steps=4",
               "--limit", "4", "--out", str(tmp_path / "run"), "--json"]  # fmt: skip
    for setting in TRAIN:
        command += ["--train", setting]
    code, out, lines = stopped_at(said, signals, command)
    text = "".join(lines)
    assert "terminate called" not in text and "Traceback" not in text
    owed = json.loads(out)["owed"]
    if code == 0:  # the signal came when the last episode had ended
        assert said == "test: 4" and owed == 0
    else:
        assert code == 3, text
        assert f"nlac-bench resume {tmp_path / 'run'}" in lines[-1]


@pytest.mark.slow  # one training run in up to four processes
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=str)
def test_a_training_that_is_stopped_at_random_moments_is_finished_by_resuming(
    sent: signal.Signals, tmp_path: Path
) -> None:
    """Whatever the moment: exit 0 or 3, or 130 or 143 where there is no run yet; then the run can go on."""
    run, dice = tmp_path / "run", random.Random(int(sent))
    start = ["run", "--env", 'math500_hard@{"level": 1}', "--agent", "nlac", "--budget", "steps=4",
             "--limit", "4", "--out", str(run), "--json"]  # fmt: skip
    for setting in TRAIN:
        start += ["--train", setting]
    codes = []
    for number in range(4):
        begun = (run / "manifest.json").exists()
        command = ["resume", str(run), "--json"] if begun else start
        process = started(*command)
        while number >= 2 and process.poll() is None and not (run / "manifest.json").exists():
            time.sleep(0.05)  # the first two are stopped at any moment, the others after the run has begun
        time.sleep(dice.uniform(0.5, 15))
        process.send_signal(sent)
        out, err = process.communicate()
        codes.append(process.returncode)
        if process.returncode == -sent and not out:  # while the interpreter imported the package
            continue
        assert "Traceback" not in err and "terminate called" not in err, err
        if process.returncode in (0, 3):
            assert json.loads(out)["owed"] == 0 or process.returncode == 3
        else:
            assert process.returncode == 128 + sent and not out, (codes, err)
        if process.returncode == 3:
            assert f"nlac-bench resume {run}" in err.splitlines()[-1]
        if process.returncode == 0:
            break
    done = call("resume", str(run), "--json")
    assert done.returncode == 0, (codes, done.stderr)
    result = one_json(done)
    assert result["owed"] == 0 and result["scored"] == result["planned"] == 4
    rows = [json.loads(line) for line in (run / "episodes.jsonl").read_text().splitlines()]
    assert len({(row["task_id"], row["trial"]) for row in rows}) == len(rows) == 4
    lessons = [(x.iteration, x.lesson) for x in read_critiques(run)]
    assert len(set(lessons)) == len(lessons) and lessons == sorted(lessons)
    states = [(x.iteration, x.state) for x in read_probes(run)]
    assert len(set(states)) == len(states) and {iteration for iteration, _ in states} >= {0}

    shutil.rmtree(run / "checkpoints" / "best")
    gone = call(
        "eval", "--env", 'math500_hard@{"level": 1}', "--agent", "nlac",
        "--model", str(run / "checkpoints" / "best"), "--limit", "1", "--out", str(tmp_path / "eval"),
    )  # fmt: skip
    assert gone.returncode == 2 and "best" in gone.stderr and "Traceback" not in gone.stderr, gone.stderr
    assert not (tmp_path / "eval").exists()


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_where_nothing_can_be_resumed(sent: signal.Signals, code: int) -> None:
    command = [
        "floors",
        "--env",
        "twenty_questions",
        "--agent",
        "silent",
        "--agent",
        "random",
        "--episodes",
        "0",
    ]
    found, out, lines = stopped_at("silent played", [sent], command)
    assert found == code and not out and "Traceback" not in "".join(lines)


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_inside_a_constructor_prints_no_finalizer(sent: signal.Signals, code: int) -> None:
    """The finalizer of an event loop without its attributes raises ``AttributeError``."""
    program = (
        "import asyncio, os, sys\n"
        f"asyncio.SelectorEventLoop.__init__ = lambda self: os.kill(os.getpid(), {int(sent)})\n"
        "sys.argv = ['nlac-bench', 'floors', '--env', 'twenty_questions', '--agent', 'random']\n"
        "from nlac_bench.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert done.returncode == code and "Traceback" not in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("where", "sent", "code"),
    [
        ("import", signal.SIGINT, 130),
        ("import", signal.SIGTERM, 143),
        ("exec", signal.SIGINT, 130),
        ("constructor", signal.SIGINT, 130),
        ("reset", signal.SIGTERM, 143),
        ("converting import", signal.SIGINT, 130),
        ("converting import", signal.SIGTERM, 143),
    ],
)
def test_a_signal_inside_code_of_another_package_is_not_taken_for_its_exit(
    where: str, sent: signal.Signals, code: int, tmp_path: Path
) -> None:
    here = f"import os, time; os.kill(os.getpid(), {int(sent)}); time.sleep(60)"
    converting = f"try: {here}\nexcept BaseException as e: raise RuntimeError('converted') from None"
    at_import = {"import": here, "exec": f"exec({here!r})", "converting import": converting}
    (tmp_path / "signalled_env.py").write_text(
        "import gymnasium\n"
        f"{at_import.get(where, '')}\n"
        "class Env(gymnasium.Env):\n"
        "    observation_space = action_space = gymnasium.spaces.Text(9)\n"
        f"    def __init__(self): {here if where == 'constructor' else 'pass'}\n"
        f"    def reset(self, seed=None, options=None): {here if where == 'reset' else 'pass'}\n"
        "gymnasium.register('Signalled-v0', Env)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "nlac_bench", "envs", "show", "signalled_env:Signalled-v0"],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert done.returncode == code and not done.stdout and "Traceback" not in done.stderr, done


def test_ctrl_c_while_the_package_is_imported(tmp_path: Path) -> None:
    """The command exits with 130 and prints nothing; other programs get the exception."""
    (tmp_path / "gymnasium.py").write_text("raise KeyboardInterrupt")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])]),
    }
    for command, quiet in ((("-m", "nlac_bench"), True), (("-c", "import nlac_bench"), False)):
        done = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, check=False, env=environment,
            cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == (130 if quiet else -signal.SIGINT)
        assert ("KeyboardInterrupt" in done.stderr) != quiet and not done.stdout


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_an_imported_package_turns_into_its_own_error(
    sent: signal.Signals, tmp_path: Path
) -> None:
    """pydantic raises ``SchemaError`` from whatever is raised while it builds a model class."""
    (tmp_path / "typer.py").write_text(
        "import os, time\n"
        f"try: os.kill(os.getpid(), {int(sent)}); time.sleep(60)\n"
        "except BaseException: raise RuntimeError('converted') from None\n"
    )
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    done = subprocess.run(
        [sys.executable, "-m", "nlac_bench"], capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert done.returncode == 128 + sent and not done.stdout and not done.stderr, done
