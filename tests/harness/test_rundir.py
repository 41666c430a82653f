"""Run folders: nothing lost, nothing twice, nothing secret, whatever happens to the process or the disk."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.runs.episode_json import usage_from_row
from nlac_bench.harness.runs.folder import RunFolder, folders_of
from nlac_bench.harness.runs.lines import RunFolderError
from nlac_bench.harness.runs.seeds import Planned
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.rollout.driver import EpisodeSpec, Failure
from nlac_bench.types import Episode, Usage
from tests.harness.killed_run import CONDITIONS, PLAN, SUBJECT, play

CHILD = Path(__file__).with_name("killed_run.py")


def create(path: Path, **changes: Any) -> RunWriter:
    arguments: dict[str, Any] = {"config": {}, "conditions": CONDITIONS, "subject": SUBJECT, "plan": PLAN}
    return RunWriter.create(path, **{**arguments, **changes})


def resume(path: Path, **changes: Any) -> RunWriter:
    return RunWriter.resume(path, **{"conditions": CONDITIONS, "subject": SUBJECT, "plan": PLAN, **changes})


def fault(message: str, usage: dict[str, Usage] | None = None) -> Failure:
    spec = EpisodeSpec("toy", "task-2", 0, 1)
    return Failure(spec, "infra", "EnvInfraError", message, turns=1, usage=usage or {})


def result(path: Path) -> list[Episode]:
    return sorted(RunFolder.open(path).episodes(), key=lambda e: (e.task_id, e.trial))


@pytest.mark.slow  # starts 21 processes
def test_killed_at_twenty_random_moments(tmp_path: Path) -> None:
    dice = random.Random(0)
    run = tmp_path / "run"
    episodes_file = run / "episodes.jsonl"
    torn = 0
    for kill in range(20):
        child = subprocess.Popen([sys.executable, str(CHILD), str(run), "0.04"], stdout=subprocess.PIPE)
        if kill == 0:
            time.sleep(dice.random())  # somewhere around the making of the folder
        else:
            assert child.stdout is not None
            child.stdout.readline()
            until = episodes_file.stat().st_size + dice.randrange(1_500_000)  # of about 40 MB
            while episodes_file.stat().st_size < until and child.poll() is None:
                time.sleep(0.0005)
        child.kill()
        assert child.wait() == -signal.SIGKILL, "the run was over before it could be killed"
        torn += episodes_file.exists() and episodes_file.read_bytes()[-1:] not in (b"", b"\n")
    subprocess.run([sys.executable, str(CHILD), str(run), "0"], check=True)
    with create(tmp_path / "whole") as writer:
        for item in writer.owed():
            writer.append(play(item))
    episodes = result(run)
    assert sorted((e.task_id, e.trial) for e in episodes) == sorted(item.key for item in PLAN)
    assert episodes == result(tmp_path / "whole")
    print(f"{torn} of 20 kills tore a line")


def test_torn_anywhere_is_owed_again(tmp_path: Path) -> None:
    with create(tmp_path / "run", plan=PLAN[:3]) as writer:
        for item in PLAN[:3]:
            writer.append(Episode("toy", item.task_id, item.trial, item.seed, "é\u2028", success=True))
    path = tmp_path / "run" / "episodes.jsonl"
    whole = path.read_bytes()
    second_end = whole.index(b"\n", whole.index(b"\n") + 1) + 1
    for cut in range(second_end, len(whole)):
        path.write_bytes(whole[:cut])
        assert RunFolder.open(tmp_path / "run").owed() == (PLAN[2],)
    path.write_bytes(whole[: second_end + 40] + b"\0" * 9000)  # what a machine's crash can leave
    with resume(tmp_path / "run", plan=PLAN[:3]) as writer:
        assert writer.owed() == (PLAN[2],)
        writer.append(Episode("toy", PLAN[2].task_id, 0, PLAN[2].seed, "é\u2028", success=True))
    assert path.read_bytes() == whole


def test_damage_before_good_lines_is_an_error(tmp_path: Path) -> None:
    with create(tmp_path / "run") as writer:
        for item in PLAN[:3]:
            writer.append(play(item))
    path = tmp_path / "run" / "episodes.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b'{"torn\n' + lines[2])
    with pytest.raises(RunFolderError, match="line 2 is damaged"):
        RunFolder.open(tmp_path / "run").owed()
    path.write_bytes(lines[0] + lines[1] + lines[0])
    with pytest.raises(RunFolderError, match="twice"):
        resume(tmp_path / "run")
    path.write_bytes(lines[0].replace(b"task-0", b"task-x"))
    with pytest.raises(RunFolderError, match=r"task-x.*not planned"):
        resume(tmp_path / "run")
    path.write_bytes(lines[0])
    resume(tmp_path / "run").close()  # the refused attempts let go of the folder


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"conditions": {**CONDITIONS, "data_sha256": "def"}}, "conditions.data_sha256: 'abc' against 'def'"),
        ({"conditions": {**CONDITIONS, "user": "gpt-4o"}}, "conditions.user: None against 'gpt-4o'"),
        ({"subject": {"agent": "dice", "prompts": {"act": "0f"}}}, "subject.prompts: None against"),
        ({"plan": PLAN[:-1]}, "plan: 200 episodes against 199"),
        ({"plan": PLAN[::-1]}, "another order"),
    ],
)
def test_resume_with_something_else_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    create(tmp_path / "run").close()
    before = (tmp_path / "run" / "manifest.json").read_bytes()
    with pytest.raises(RunFolderError, match=message):
        resume(tmp_path / "run", **change)
    assert (tmp_path / "run" / "manifest.json").read_bytes() == before
    resume(tmp_path / "run").close()


def test_second_process_is_refused_until_the_first_dies(tmp_path: Path) -> None:
    command = [sys.executable, str(CHILD), str(tmp_path / "run")]
    first = subprocess.Popen([*command, "60"], stdout=subprocess.PIPE)
    assert first.stdout is not None
    first.stdout.readline()
    second = subprocess.run([*command, "0"], capture_output=True, text=True, check=False)
    assert second.returncode == 1
    assert f"another process (pid {first.pid} on" in second.stderr and "is writing to" in second.stderr
    with pytest.raises(RunFolderError, match="another process"):
        create(tmp_path / "run")
    first.kill()
    first.wait()
    with resume(tmp_path / "run"), pytest.raises(RunFolderError, match="this process is already writing"):
        resume(tmp_path / "run")


def test_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    code = (
        "import os, sys, time; sys.path.insert(0, sys.argv[2]); import killed_run as k;"
        "from nlac_bench.harness.runs.writer import RunWriter;"
        "w = RunWriter.create(sys.argv[1], config={}, conditions=k.CONDITIONS,"
        " subject=k.SUBJECT, plan=k.PLAN);"
        "pid = os.fork();"
        "pid or time.sleep(60);"
        "print(pid, flush=True); time.sleep(60)"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / "run"), str(CHILD.parent)]
    parent = subprocess.Popen(arguments, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    grandchild = int(parent.stdout.readline())
    try:
        parent.kill()
        parent.wait()
        resume(tmp_path / "run").close()
    finally:
        os.kill(grandchild, signal.SIGKILL)


def test_full_disk(tmp_path: Path) -> None:
    """On a real, small file system, which this mounts where it may."""
    target = tmp_path / "small"
    target.mkdir()
    code = (
        "import sys; sys.path.insert(0, sys.argv[2]); import killed_run as k;"
        "from nlac_bench.harness.runs.writer import RunWriter;"
        "from nlac_bench.harness.runs.lines import RunFolderError\n"
        "w = RunWriter.create(sys.argv[1], config={}, conditions=k.CONDITIONS,"
        " subject=k.SUBJECT, plan=k.PLAN)\n"
        "n = 0\n"
        "try:\n"
        "    for item in k.PLAN: w.append(k.play(item)); n += 1\n"
        "except RunFolderError as error: print(error)\n"
        "print(n, w.owed()[0].key == k.PLAN[n].key, sum(1 for _ in w.folder.rows()) == n)\n"
        'import os; os.system(\'cp -r "%s" "%s"\' % (sys.argv[1], sys.argv[3]))'
    )
    inner = [sys.executable, "-c", code, str(target / "run"), str(CHILD.parent), str(tmp_path / "saved")]
    mounted = [
        "unshare",
        "-rm",
        "sh",
        "-c",
        'mount -t tmpfs -o size=2m none "$0" && exec "$@"',
        str(target),
        *inner,
    ]
    try:
        done = subprocess.run([*mounted, *inner], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        done = subprocess.CompletedProcess(mounted, 1, "", "no unshare")
    if done.returncode != 0:
        pytest.skip(f"cannot mount a small file system here: {done.stderr.strip()[-200:]}")
    message, counts = done.stdout.splitlines()
    assert "No space left on device" in message
    assert "earlier lines are intact" in message
    n, first_owed, rows_match = counts.split()
    assert int(n) > 0
    assert (first_owed, rows_match) == ("True", "True")
    with resume(tmp_path / "saved") as writer:
        assert len(writer.owed()) == len(PLAN) - int(n)
        for item in writer.owed():
            writer.append(play(item))
    assert len(result(tmp_path / "saved")) == len(PLAN)


def test_file_size_limit_mid_line(tmp_path: Path) -> None:
    """A line that only half fits is taken back; a shorter one then follows the last good one."""
    writer = create(tmp_path / "run")
    episode = Episode("toy", PLAN[0].task_id, 0, PLAN[0].seed, "x", success=True)
    writer.append(episode)
    size = (tmp_path / "run" / "episodes.jsonl").stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, limits[1]))
    try:
        with pytest.raises(RunFolderError, match=r"cannot write to .*episodes\.jsonl"):
            writer.append(Episode("toy", PLAN[1].task_id, 0, PLAN[1].seed, "x" * 1000, success=True))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (tmp_path / "run" / "episodes.jsonl").stat().st_size == size
    assert PLAN[1] in writer.owed()
    writer.append(Episode("toy", PLAN[1].task_id, 0, PLAN[1].seed, "y", success=True))
    writer.close()
    assert [e.first_observation for e in RunFolder.open(tmp_path / "run").episodes()] == ["x", "y"]


def test_manifest_on_a_full_disk_is_whole_or_absent(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, limits[1]))
    try:
        with pytest.raises(RunFolderError, match=r"manifest\.json"):
            create(tmp_path / "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    with pytest.raises(RunFolderError, match="is not a run folder"):
        RunFolder.open(tmp_path / "run")
    with create(tmp_path / "run") as writer:  # the same folder, once there is room
        assert len(writer.owed()) == 200
    assert not list((tmp_path / "run").glob("*.draft"))


def test_begin_in_a_used_folder_is_refused(tmp_path: Path) -> None:
    create(tmp_path / "run").close()
    with pytest.raises(RunFolderError, match="already contains a run; continue it with `nlac-bench resume"):
        create(tmp_path / "run")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("…")
    with pytest.raises(RunFolderError, match=r"not empty \(it contains 'thesis.tex'\)"):
        create(tmp_path / "mine")
    with pytest.raises(RunFolderError, match="cannot create the folder"):
        create(tmp_path / "mine" / "thesis.tex" / "run")
    with pytest.raises(RunFolderError, match=r"thesis\.tex is a file, not the folder of a run"):
        resume(tmp_path / "mine" / "thesis.tex")
    with pytest.raises(RunFolderError, match="nowhere does not exist; pass the folder of a run"):
        resume(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_append_keeps_to_the_plan(tmp_path: Path) -> None:
    with create(tmp_path / "run") as writer:
        episode = play(PLAN[0])
        writer.append(episode)
        with pytest.raises(RunFolderError, match="already recorded"):
            writer.append(episode)
        with pytest.raises(RunFolderError, match="with seed 1 was not planned"):
            writer.append(Episode("toy", PLAN[1].task_id, 0, 1, ""))
        writer.record_failure(PLAN[2], fault("server down", {"user": Usage(3, 10, 20)}))
        writer.log({"step": 1, "loss": float("nan")})
        assert len(writer.owed()) == 199
    run = RunFolder.open(tmp_path / "run")
    (error,) = run.errors()
    assert (error["task_id"], error["error"], error["message"]) == ("task-2", "EnvInfraError", "server down")
    assert usage_from_row(error["usage"]) == {"user": Usage(3, 10, 20)}
    assert list(run.metrics()) == [{"step": 1, "loss": "NaN"}]


def test_threads_append_whole_lines(tmp_path: Path) -> None:
    with create(tmp_path / "run") as writer:

        def append(quarter: list[Planned]) -> None:
            for item in quarter:
                writer.append(play(item))

        threads = [threading.Thread(target=append, args=(PLAN[i::4],)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert RunFolder.open(tmp_path / "run").owed() == ()


def test_manifest_says_what_it_was_made_with(tmp_path: Path) -> None:
    with create(tmp_path / "run", config={"env": "toy", "trials": 4}) as writer:
        assert writer.folder.config == {"env": "toy", "trials": 4}
    created = (tmp_path / "run" / "manifest.json").read_bytes()
    resume(tmp_path / "run").close()
    assert (tmp_path / "run" / "manifest.json").read_bytes() == created  # nothing was written
    with resume(tmp_path / "run") as writer:
        writer.append(play(PLAN[0]))
        writer.append(play(PLAN[1]))
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert [tuple(x) for x in manifest["plan"]] == [(p.task_id, p.trial, p.seed) for p in PLAN]
    first, second = manifest["sessions"]
    assert first["python"] == ".".join(map(str, sys.version_info[:3]))
    assert first["packages"]["numpy"]
    assert first["hardware"]["cores"] >= 1
    assert first["hardware"]["memory_bytes"] > 2**20
    assert set(first["git"]) == {"package", "cwd"}
    assert second["packages"] == []  # what differs from the first session
    assert sorted(x.name for x in (tmp_path / "run").iterdir()) == [
        ".lock",
        "checkpoints",
        "config.json",
        "episodes.jsonl",
        "errors.jsonl",
        "manifest.json",
        "metrics.jsonl",
    ]


def test_keys_are_never_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = 'sk-live-"quoted"-0123456789'
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(NlacBenchError, match=r"config\.agent\.api_key looks like a secret") as caught:
        create(tmp_path / "run", config={"agent": {"api_key": key}})
    assert key not in str(caught.value)
    with pytest.raises(NlacBenchError, match=r"config\.base_url is a URL with a password"):
        create(tmp_path / "run", config={"base_url": f"https://me:{key}@example.com/v1"})
    with create(tmp_path / "run", config={"note": key, "max_tokens": 5, "base_url": "http://a/v1"}) as writer:
        writer.record_failure(PLAN[0], fault(f"401: incorrect key {key}"))
        writer.append(Episode("toy", PLAN[1].task_id, 0, PLAN[1].seed, f"you said {key}"))
    for path in (tmp_path / "run").rglob("*"):
        if path.is_file():
            assert "sk-live" not in path.read_text()
    run = RunFolder.open(tmp_path / "run")
    assert next(run.errors())["message"] == "401: incorrect key [redacted: $OPENAI_API_KEY]"
    assert next(run.episodes()).first_observation == "you said [redacted: $OPENAI_API_KEY]"


def test_every_line_is_readable_by_other_tools(tmp_path: Path) -> None:
    with create(tmp_path / "run") as writer:
        for item in PLAN[:20]:
            writer.append(play(item))
    for line in (tmp_path / "run" / "episodes.jsonl").read_text("ascii").splitlines():
        json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_a_comma_separates_seeds_unless_it_is_in_the_name_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sweep = 'shop@{"rules": "hidden", "level": "easy"}'
    for name in ("a", "b", f"{sweep}/nlac-0", f"{sweep}/nlac-1"):
        (tmp_path / name).mkdir(parents=True)
    for argument, expected in {
        "a": ["a"],
        "a,b": ["a", "b"],
        "a,": ["a"],
        ",a,,absent": ["a", "absent"],
        f"{sweep}/nlac-0": [f"{sweep}/nlac-0"],
        f"{sweep}/nlac-0,a,{sweep}/nlac-1": [f"{sweep}/nlac-0", "a", f"{sweep}/nlac-1"],
        "": [],
    }.items():
        assert folders_of(argument) == [Path(name) for name in expected]
