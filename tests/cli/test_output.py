"""What reaches a terminal has no invisible characters and no forged lines; outputs may be closed or full."""

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nlac_bench import cli
from tests.cli.command import call, nlac_bench, one_json

HOSTILE = "a\u202eb\u2066\nerror: forged\x1b[2J"


def safe(text: str) -> None:
    assert not any(c in text for c in "\u202e\u2066\x1b\x9b"), ascii(text[-2000:])
    assert not any(line.startswith("error: forged") for line in text.splitlines()), text[-2000:]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    nlac_bench("run", "--env", "math500_hard", "--agent", "random", "--limit", "2", "--out", str(folder))
    return folder


def test_hostile_names_of_files_deceive_no_reader(run: Path, tmp_path: Path) -> None:
    hostile = tmp_path / HOSTILE.replace("/", "")
    shutil.copytree(run, hostile)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / f"{HOSTILE}.json").write_text("{")
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / f"{HOSTILE}.txt").write_text("x")
    (tmp_path / "bad.json").write_text(json.dumps({HOSTILE: 1}))
    results, out = str(tmp_path / "results"), str(tmp_path / "out")
    play = ("run", "--env", "math500_hard", "--agent", "random")
    for command, status in (
        (("score", str(hostile)), 0),
        (("compare", str(run), str(hostile)), 2),
        (("compare", str(hostile), str(hostile / "nothing")), 2),
        (("report", str(hostile), "--out", f"{hostile}.html"), 0),
        (("leaderboard", "build", "--results", results, "--out", out), 2),
        ((*play, "--prompts", str(tmp_path / "prompts"), "--model", "tiny", "--agent", "react"), 2),
        ((*play, "--config", str(tmp_path / "bad.json")), 2),
        ((*play, "--tasks", HOSTILE), 2),
        (("run", "--env", HOSTILE, "--agent", "random"), 2),
        (("grade", f"{hostile}.jsonl"), 2),
    ):
        done = call(*command)
        assert done.returncode == status or command[0] == "compare", (command, done)
        safe(done.stdout)
        safe(done.stderr)


@pytest.mark.parametrize("name", ["x[/y]", "[bold red]x", "[link=a]x", "a\\"])
def test_titles_of_tables_are_no_markup(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir(parents=True)
    (folder / "answers.jsonl").write_text('{"gold": "1", "pred": "1"}\n')
    for command, status in (
        (("data", "verify", "math", "--data", str(folder)), 1),
        (("grade", str(folder / "answers.jsonl")), 0),
    ):
        done = call(*command, COLUMNS="1000")
        assert done.returncode == status, done
        said = "".join(done.stdout.split())  # a title is wrapped
        assert "".join(str(folder).split()) in said and not done.stderr


def test_json_for_programs_has_no_invisible_characters_and_the_same_values(run: Path, tmp_path: Path) -> None:
    hostile = tmp_path / "a\u202eb\U000e0041\x85"
    shutil.copytree(run, hostile)
    done = nlac_bench("score", str(hostile), "--json")
    safe(done.stdout)
    assert one_json(done)["run_dir"] == str(hostile) and "\\u202e" in done.stdout


SHORT = (
    ("--help",), ("--version",), ("run", "--help"), ("envs", "list"), ("envs", "list", "--json"),
    ("score", "RUN"), ("score", "RUN", "--json"), ("leaderboard", "schema"), ("grade", "FILE"),
)  # fmt: skip
OUTPUTS = {
    "full": ">/dev/full",
    "closed": ">&-",
    "left": "| true",
    "error closed": ">/dev/null 2>&-",
    "error full": ">/dev/null 2>/dev/full",
}


@pytest.fixture(scope="module")
def exit_codes(run: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    """The exit codes of the commands above, then of two that are refused, with each of the outputs.

    Each is a fork of one process that has imported them: a new process for each would take minutes.
    """
    folder = tmp_path_factory.mktemp("outputs")
    (folder / "answers.jsonl").write_text('{"gold": "5", "pred": "5"}\n')
    names = {"RUN": str(run), "FILE": str(folder / "answers.jsonl")}
    commands = [[names.get(part, part) for part in command] for command in SHORT]
    commands += [["score", "nowhere"], ["no-such-command"]]
    done = subprocess.run(
        [sys.executable, "-c", FORKS, json.dumps(OUTPUTS), json.dumps(commands)],
        capture_output=True, text=True, check=True, cwd=folder,
    )  # fmt: skip
    codes: dict[str, list[int]] = json.loads(done.stdout.splitlines()[-1])
    return codes


@pytest.mark.parametrize("how", OUTPUTS)
def test_full_and_left_outputs_exit_with_141(how: str, exit_codes: dict[str, list[int]]) -> None:
    """Commands that succeed print nothing on standard error, and refused ones nothing on standard output.

    An output that is closed from the start is the null device.
    """
    printed = 141 if how in ("full", "left") else 0
    refused = 141 if how == "error full" else 2
    assert exit_codes[how] == [printed] * len(SHORT) + [refused] * 2


FORKS = """
import contextlib, io, json, os, sys
from nlac_bench import cli

def call(command):
    sys.argv = ["nlac-bench", *command]
    try:
        cli.main()
    except SystemExit as ended:
        return ended.code or 0
    return 0

outputs, commands = map(json.loads, sys.argv[1:])
streams = sys.stdout, sys.stderr
for command in commands:  # imports what they need
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    call(command)
sys.stdout, sys.stderr = streams
codes = {}
for name, how in outputs.items():
    for command in commands:
        child = os.fork()
        if not child:
            for part in how.split():
                number = 2 if part.startswith("2") else 1
                if part.endswith("&-"):
                    os.close(number)
                    setattr(sys, "stderr" if number == 2 else "stdout", None)
                elif part == "|":
                    read, write = os.pipe()
                    os.close(read)
                    os.dup2(write, 1)
                elif ">" in part:
                    os.dup2(os.open(part.split(">")[1], os.O_WRONLY), number)
            os._exit(call(command))
        codes.setdefault(name, []).append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(json.dumps(codes))
"""


def test_a_run_without_outputs_plays_and_gives_their_descriptors_to_no_file(tmp_path: Path) -> None:
    """Standard error of native code would otherwise be written into the run."""
    done = subprocess.run(
        f"{sys.executable} -m nlac_bench run --env math500_hard --agent random --limit 2 --out run >&- 2>&-",
        shell=True, cwd=tmp_path, check=False, env={**os.environ},
    )  # fmt: skip
    assert done.returncode == 0 and json.loads((tmp_path / "run" / "config.json").read_text())
    assert len((tmp_path / "run" / "episodes.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "ascii"])
def test_characters_that_a_terminal_lacks_are_replaced(
    encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Help and tables contain τ, …, → and lines of boxes."""
    for command in (["run", "--help"], ["envs", "list", "--json"], ["envs", "show", "tau_retail"]):
        written = io.BytesIO()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff"), encoding=encoding))
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
        monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
        monkeypatch.setattr(sys, "argv", ["nlac-bench", *command])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert not ended.value.code
        text = written.getvalue().decode(encoding)
        if "--json" in command:
            assert json.loads(text)  # JSON loses nothing: it escapes
        else:
            assert "?" in text and len(text) > 1000
        assert sys.stdin.read() in ("\ufffd", "ÿ")


def test_closed_input_is_empty() -> None:
    code = "import sys\nfrom nlac_bench.cli.streams import guarded_output\n"
    code += "with guarded_output(reserve=False):\n    print(repr(sys.stdin.read()))"
    done = subprocess.run(
        f'{sys.executable} -c "$CODE" <&-', shell=True, capture_output=True, text=True, check=False,
        env={**os.environ, "CODE": code},
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("''\n", "")
