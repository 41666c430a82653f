"""Run folders that somebody else sent: no code of theirs is imported, and no key goes to their server.

Also: what an own run needs to be continued is in the command that it prints.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.envs import registry
from nlac_bench.harness.runs.manifest import git_state
from nlac_bench.rollout.engines.backoff import Retries
from nlac_bench.sweep.play import SweepJob
from tests.cli.command import Done, call, nlac_bench
from tests.rollout.fault_server import FaultServer, Reply, completion

ROOT = Path(__file__).parents[2]
KEY = "tops3cret-key-0123"
MINE = """
import gymnasium
from gymnasium.spaces import Text
from pathlib import Path

Path({marker!r}).touch()


class Mine(gymnasium.Env):
    observation_space = action_space = Text(9)

    def reset(self, *, seed=None, options=None):
        return "go", {{}}

    def step(self, action):
        return "done", 1.0, True, False, {{"success": True}}


gymnasium.register("Mine-v0", Mine, disable_env_checker=True)
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Retries, "wait", lambda *_: 0.001)
    return tmp_path


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one episode."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    nlac_bench("run", "--env", "twenty_questions", "--agent", "silent", "--limit", "1", "--out", str(folder))
    return folder


@pytest.fixture
def foreign(here: Path, finished: Path) -> Callable[..., Path]:
    """``foreign(env, **config)`` makes a run folder with one episode to play, whose files agree."""

    def make(env: str, *, name: str = "foreign", **config: Any) -> Path:
        folder = Path(shutil.copytree(finished, name))
        (folder / "episodes.jsonl").unlink()
        edit(folder / "config.json", env=env, **config)
        found = json.loads((folder / "manifest.json").read_text())
        ids, _, arguments = env.partition("@")
        known = {"env": ids.rpartition(":")[2], "env_args": json.loads(arguments or "{}")}
        edit(folder / "manifest.json", conditions={**found["conditions"], **known})
        return folder

    return make


def refused(done: Done, *said: str) -> None:
    assert done.returncode == 2 and not done.stdout and "Traceback" not in done.stderr, done.stderr
    assert all(each in done.stderr for each in said), done.stderr


def continued_with(done: Done) -> list[str]:
    """The command that a run prints."""
    command = shlex.split(done.stderr.strip().rpartition("continue with: ")[2])
    assert command[:2] == ["nlac-bench", "resume"], done.stderr
    return command[1:]


def process(cwd: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process, with ``cwd`` first among the folders that are searched for modules."""
    return subprocess.run(
        [sys.executable, "-m", "nlac_bench", *arguments], cwd=cwd, capture_output=True, text=True,
        check=False, env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200", **environment},
    )  # fmt: skip


def one_after_another(
    cwd: Path, commands: Sequence[tuple[str, ...]], marker: Path, start: str, *options: str
) -> None:
    """Run ``commands`` in one process, which takes seconds to start; none of them makes ``marker``."""
    program = f"""
import os, sys
{start}
from nlac_bench.__main__ import main
for command in {commands!r}:
    sys.argv[1:] = command
    try:
        main()
    except SystemExit:
        pass
    assert not os.path.exists({str(marker)!r}), command
"""
    done = subprocess.run(
        [sys.executable, *options, "-c", program], cwd=cwd, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr


# --- code -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inside", [True, False])
def test_a_module_in_the_folder_is_not_imported(
    here: Path, foreign: Callable[..., Path], inside: bool
) -> None:
    """Also with ``python -m``, which itself searches the current folder first, and where it is repeated."""
    marker, folder = here / "executed", foreign("evilmod:Mine-v0")
    (folder / "evilmod.py").write_text(MINE.format(marker=str(marker)))
    cwd, name = (folder, ".") if inside else (here, "foreign")
    repeated = ("--env", "evilmod:Mine-v0")
    for more in ((), repeated):
        done = process(cwd, "resume", name, *more, PYTHONPATH=f"{ROOT}{os.pathsep}{folder}")
        assert done.returncode == 2 and "lies in the run's folder" in done.stderr and not marker.exists()
    config = f"{name}/config.json"
    commands = (("score", name), ("run", "--config", config), ("run", "--config", config, *repeated))
    one_after_another(cwd, commands, marker, "sys.path[0] = os.getcwd()  # as python -m does")


def test_a_module_in_the_folder_is_not_reached_from_above_or_through_a_link(
    here: Path, foreign: Callable[..., Path]
) -> None:
    env = "foreign.evilmod:Mine-v0"
    marker, folder = here / "executed", foreign(env)
    (folder / "evilmod.py").write_text(MINE.format(marker=str(marker)))
    refused(call("resume", "foreign", "--env", env), "lies in the run's folder")
    (here / "linked.py").symlink_to(folder / "evilmod.py")
    edit(folder / "config.json", env="linked:Mine-v0")
    refused(call("resume", "foreign", "--env", "linked:Mine-v0"), "lies in the run's folder")
    assert not marker.exists()


@pytest.mark.parametrize("env", ["antigravity:X-v0", "os:X", "a.b.c:Mine-v0", 'mine_13:X-v0@{"a": 1}'])
def test_a_module_must_be_named_on_the_command_line(env: str, foreign: Callable[..., Path]) -> None:
    folder = foreign(env)
    before = set(sys.modules)
    command = shlex.join(["nlac-bench", "resume", "foreign", "--env", env])
    refused(call("resume", str(folder), "--json"), f"run: {command}\n", "may come from somebody else")
    refused(call("run", "--config", "foreign/config.json", "--out", "new"), shlex.join(["--env", env]))
    refused(call("run", "--config", "foreign/config.json", "--dry-run"), shlex.join(["--env", env]))
    assert not {name for name in set(sys.modules) - before if name.startswith(("anti", "a.", "mine"))}
    refused(call("resume", str(folder), "--env", "other:X"), "continued with its own settings")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"env": "evilmod:X-v0"}, "env: 'twenty_questions' against 'X-v0'"),
        ({"env": "tau_retail"}, "env: 'twenty_questions' against 'tau_retail'"),
        ({"env": 'twenty_questions@{"level": "easy"}'}, "env_args.level: None against 'easy'"),
        ({"max_turns": 3}, "max_turns: None against 3"),
        ({"max_seconds": 3.5}, "max_seconds: None against 3.5"),
    ],
)
def test_a_configuration_that_contradicts_the_manifest_is_refused_before_anything_is_made(
    config: dict[str, Any], said: str, foreign: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = foreign("twenty_questions")
    edit(folder / "config.json", **config)
    monkeypatch.setattr(registry, "find", lambda name: pytest.fail(f"{name} is made"))
    refused(call("resume", str(folder)), said, "was started with other conditions")


def test_no_command_searches_the_current_folder_for_what_it_was_not_told(
    here: Path, foreign: Callable[..., Path]
) -> None:
    """A hostile folder has plug-ins of its own, and files named like packages that are not installed."""
    marker, folder = here / "executed", foreign("twenty_questions")
    info = folder / "evil-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1\n")
    groups = ("nlac_bench.envs", "nlac_bench.agents", "nlac_bench.algorithms", "gymnasium.envs")
    (info / "entry_points.txt").write_text("".join(f"[{group}]\nevil = evil:thing\n" for group in groups))
    for name in ("evil", "tau_bench", "vllm", "brotli", "zstandard", "uvloop", "orjson", "IPython"):
        (folder / f"{name}.py").write_text(f"from pathlib import Path\nPath({str(marker)!r}).touch()\n")
    commands = (("envs", "list"), ("doctor",), ("resume", "."), ("score", "."), ("run", "--help"),
                ("run", "--env", "twenty_questions", "--agent", "evil"),
                ("data", "verify", "tau", "--against", "installed"))  # fmt: skip
    one_after_another(folder, commands, marker, "sys.path[:] = [p for p in sys.path if p]", "-P")


def test_git_is_not_asked_about_a_repository_in_a_run_folder(
    here: Path, foreign: Callable[..., Path]
) -> None:
    """``core.fsmonitor`` and filters are programs that ``git status`` executes."""
    marker, folder = here / "executed", foreign("twenty_questions")
    git = ("git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x@y")
    for command in (("init", "-q"), ("add", "config.json"), ("commit", "-qm", "x")):
        subprocess.run([*git, *command], check=True, capture_output=True)
    subprocess.run([*git, "config", "core.fsmonitor", f"touch {marker}; false"], check=True)
    done = process(folder, "resume", ".")
    assert done.returncode == 0 and not marker.exists(), done.stderr
    sessions = json.loads((folder / "manifest.json").read_text())["sessions"]
    assert sessions[-1]["git"]["cwd"] is None and git_state(folder / "checkpoints") is None
    assert git_state(ROOT) is not None or not (ROOT / ".git").exists()


def test_an_own_run_of_an_own_environment_is_continued_by_the_command_that_it_prints(here: Path) -> None:
    (here / "mine_13.py").write_text(MINE.format(marker=str(here / "imported")))
    start = ("run", "--env", "mine_13:Mine-v0", "--agent", "random", "--limit", "3", "--out", "run")
    assert call(*start, "--json").returncode == 0
    Path("run/episodes.jsonl").unlink()
    refused(call("resume", "run"), "nlac-bench resume run --env mine_13:Mine-v0")
    assert call("resume", "run", "--env", "mine_13:Mine-v0").returncode == 0
    again = ("run", "--config", "run/config.json", "--seed", "1", "--out", "new")
    refused(call(*again), "add to the command: --env mine_13:Mine-v0")
    assert call(*again, "--env", "mine_13:Mine-v0").returncode == 0
    assert len(Path("new/episodes.jsonl").read_text().splitlines()) == 3


@pytest.mark.parametrize("env", ["tau_retail", "nlac_bench/TauRetail-v0", 'TauRetail@{"level": "easy"}'])
def test_built_in_environments_are_continued_as_before(env: str) -> None:
    start = ("run", "--env", env, "--agent", "silent", "--limit", "2", "--max-turns", "4", "--out", "run")
    assert call(*start).returncode == 0
    Path("run/episodes.jsonl").unlink()
    assert call("resume", "run").returncode == 0
    assert call("resume", "run", "--env", env).returncode == 0, "what is repeated needlessly is accepted"
    assert call("run", "--config", "run/config.json", "--out", "new").returncode == 0


def test_the_current_folder_is_searched_only_for_a_module_that_is_named(here: Path) -> None:
    (here / "mine_13.py").write_text(MINE.format(marker=str(here / "imported")))
    plain = "tests.envs.plain_env:nlac_bench_test/EchoUnreported-v0"
    for name in ("twenty_questions", "nowhere", "json:X-v0", plain):
        before = list(sys.path)
        call("envs", "show", name)
        assert sys.path == before
    assert not (here / "imported").exists()


# --- keys -----------------------------------------------------------------------------------------------


class Thief(FaultServer):
    """A server that fails each request until it is told to answer; it keeps what it is sent."""

    def __init__(self) -> None:
        super().__init__(self.reply)
        self.works = False

    def reply(self, path: str, body: dict[str, Any]) -> Reply:
        """Fail, or ask a question."""
        return completion("Is it an animal?") if self.works else (500, {"error": "busy"})


VARIABLES = ["NLAC_BENCH_API_KEY", "OPENAI_CUSTOM_HEADERS", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"]
START = ("--env", "twenty_questions", "--agent", "act", "--model", "m", "--limit", "1", "--max-turns", "1",
         "--retries", "0", "--out", "run")  # fmt: skip


@pytest.mark.parametrize("variable", VARIABLES)
def test_no_key_goes_to_a_server_that_only_the_folder_names(variable: str) -> None:
    value = f"x-api-key: {KEY}" if "HEADERS" in variable else KEY
    server = Thief()
    with server.in_thread():
        assert call("run", *START, "--base-url", server.url).returncode == 3
        server.works = True
        asked = len(server.requests)
        command = f"nlac-bench resume run --base-url {server.url}\n"
        refused(call("resume", "run", "--json", **{variable: value}), "would get your API key", command)
        refused(call("run", "--config", "run/config.json", "--out", "new", **{variable: value}),
                f"--base-url {server.url}")  # fmt: skip
        refused(call("resume", "run", "--base-url", "http://127.0.0.1:9/v1", **{variable: value}),
                "continued with its own settings")  # fmt: skip
        assert len(server.requests) == asked and not Path("new").exists()
        assert call("resume", "run", "--base-url", server.url, **{variable: value}).returncode == 0
        assert len(server.requests) > asked


def test_runs_without_a_key_are_continued_as_before_and_the_printed_command_works_with_one() -> None:
    server = Thief()
    with server.in_thread():
        done = call("run", *START, "--base-url", server.url, NLAC_BENCH_API_KEY=KEY)
        assert done.returncode == 3
        assert continued_with(done) == ["resume", "run", "--base-url", server.url]
        assert call("resume", "run").returncode == 3
        server.works = True
        assert call(*continued_with(done), NLAC_BENCH_API_KEY=KEY).returncode == 0


def test_the_server_of_the_user_and_the_file_of_its_replies_are_repeated_too() -> None:
    more = ("--env", 'twenty_questions@{"oracle": "llm"}', "--user-model", "o", "--record", "calls.jsonl")
    server = Thief()
    with server.in_thread():
        urls = ("--base-url", server.url, "--user-base-url", server.url)
        done = call("run", *START, *more, *urls, NLAC_BENCH_API_KEY=KEY)
        assert done.returncode == 3, done.stderr
        command = continued_with(done)
        assert command == ["resume", "run", *urls, "--record", "calls.jsonl"]
        for missing in range(2, len(command), 2):
            refused(call(*command[:missing], *command[missing + 2 :], NLAC_BENCH_API_KEY=KEY),
                    command[missing], shlex.join(command))  # fmt: skip
        refused(call("resume", "run"), "is a file that would be written to", "--record calls.jsonl")
        assert call(*command, NLAC_BENCH_API_KEY=KEY).returncode == 3


def test_openais_key_is_sent_to_no_server_that_a_folder_names() -> None:
    """It is for runs without a URL only."""
    server = Thief()
    with server.in_thread():
        call("run", *START, "--base-url", server.url)
        server.works = True
        assert call("resume", "run", OPENAI_API_KEY=KEY).returncode == 0
        assert KEY not in str(server.headers)


# --- files ----------------------------------------------------------------------------------------------


def test_a_folder_does_not_choose_a_file_that_is_written_to(here: Path, foreign: Callable[..., Path]) -> None:
    folder = foreign("twenty_questions", record="/tmp/x", user_model="m", user_base_url="http://h/v1")
    refused(call("resume", str(folder)), "--record /tmp/x")
    env = f'twenty_questions@{{"recording": "{here / "answers"}"}}'
    folder = foreign(env, name="second")
    refused(call("resume", str(folder)), "writes to a file", shlex.join(["--env", env]))
    assert not (here / "answers").exists()


def test_values_that_a_terminal_would_hide_are_not_part_of_a_command(foreign: Callable[..., Path]) -> None:
    folder = foreign("a:X-v0\u202e")
    refused(call("resume", str(folder)), "characters that cannot be printed")


# --- sweeps ---------------------------------------------------------------------------------------------


def test_the_runs_of_a_sweep_get_what_its_file_says(here: Path) -> None:
    settings = {"env": "mine_13:Mine-v0", "base_url": "http://h/v1", "agent": "act", "record": "c.jsonl"}
    said = ["--env", "mine_13:Mine-v0", "--base-url", "http://h/v1", "--record", "c.jsonl"]
    job = SweepJob("eval", here / "a", settings)
    assert job.command() == ["eval", "--config", str(job.written), "--out", str(job.folder), *said]
    job.folder.mkdir()
    (job.folder / "manifest.json").write_text("{}")
    assert job.command() == ["resume", str(job.folder), *said]
    shutil.rmtree(job.folder)
