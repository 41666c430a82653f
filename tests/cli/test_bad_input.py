"""Input that hung or ended in a traceback: one clear line on standard error, exit 2, nothing written.

Also what is near to it: other arguments and environments, other fields of a manifest, other kinds of files.
"""

import itertools
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from nlac_bench import tiny
from nlac_bench.envs import foreign, registry
from tests.cli.command import Done, call

DEEP = 200_000
numbers = itertools.count()


def refused(done: Done, said: str = "") -> None:
    """Exit 2, one line that contains ``said``, and nothing on standard output."""
    assert done.returncode == 2, f"exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    assert not done.stdout and "Traceback" not in done.stderr
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, done.stderr[-2000:]
    assert said in done.stderr and len(done.stderr) < 5_000


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, in which a refused command leaves nothing."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


# --- environment strings --------------------------------------------------------------------------------

BAD_STRINGS = {
    "num_tasks": ('math500_hard@{"num_tasks": 1000000000000}', "num_tasks must be at most 1,000,000"),
    "num_tasks of 4,000 digits": ('math500_hard@{"num_tasks": 1%s}' % ("0" * 4_000), "num_tasks must be at"),
    "num_tasks of 5,000 digits": ('math500_hard@{"num_tasks": 1%s}' % ("0" * 5_000), "not JSON"),
    "a fractional num_tasks": ('math500_hard@{"num_tasks": 1e12}', "num_tasks must be a positive int"),
    "problem_seed": ('math500_hard@{"problem_seed": 1000000000000}', "problem_seed must be"),
    "level": ('math500_hard@{"level": 5.0}', "level must be 1 to 5"),
    "a list as split": ('math500_hard@{"split": ["test"]}', "split must be"),
    "a number as data": ('math500_hard@{"data": 7}', "cannot be made with the arguments data"),
    "an object as data": ('tau_retail@{"data": {}}', "cannot be made with the arguments data"),
    "NUL in data": ('twenty_questions@{"data": "a\\u0000b"}', "nor an existing folder"),
    "a surrogate in data": ('twenty_questions@{"data": "\\ud800"}', ""),
    "a list as level": ('twenty_questions@{"level": ["full"]}', "level must be one of"),
    "tasks as a number": ('tau_retail@{"tasks": 7}', "cannot be made with the arguments tasks"),
    "tasks in tasks": ('tau_retail@{"tasks": [["x"]]}', "cannot be made with the arguments tasks"),
    "no tasks": ('tau_retail@{"tasks": []}', "no task to play"),
    "reward": ('tau_retail@{"reward": []}', "reward must be"),
    "user": ('tau_airline@{"user": 3}', "unknown user"),
    "chat": ('tau_retail@{"user": "llm", "chat": 3}', "chat"),
    "num_tasks elsewhere": ('tau_retail@{"num_tasks": 1000000000000}', "it has no argument 'num_tasks'"),
    "num_tasks of 20 questions": ('twenty_questions@{"num_tasks": 1000000000000}', "has no argument"),
    "self": ('math500_hard@{"self": 1}', "cannot be made with the arguments self"),
    "id": ('math500_hard@{"id": 1}', "cannot be made with the arguments id"),
    "an empty name": ('math500_hard@{"": 1}', "cannot be made"),
    "episode steps": ('math500_hard@{"max_episode_steps": "x"}', "cannot be made"),
    "a name twice": ('math500_hard@{"level": 1, "level": 2}', "'level' occurs twice"),
    "a name twice within": ('tau_retail@{"tasks": [{"a": 1, "a": 1}]}', "'a' occurs twice"),
    "NaN": ('math500_hard@{"level": NaN}', "NaN is not a JSON number"),
    "render_mode": ('math500_hard@{"render_mode": "human"}', "render_mode must be"),
    "deep lists": ("math500_hard@" + "[" * DEEP, "characters"),
    "deep objects": ('math500_hard@{"a":' * (DEEP // 10), "characters"),
    "90,000 deep": ('math500_hard@{"a":' + "[" * 45_000 + "]" * 45_000 + "}", "nested more than 20 deep"),
    "900 deep": ('math500_hard@{"a":' + "[" * 900 + "]" * 900 + "}", "nested more than 20 deep"),
    "deep strings": ("a@" * DEEP, "characters"),
    "deep modules": ("a." * DEEP + "b:Env-v0", "no environment is named"),
    "deep ids": ("a:" * (DEEP // 10), "no environment is named"),
    "deep folders": ("a/" * DEEP, "no environment is named"),
    "200 modules": ("a." * 200 + "b:Env-v0", "no environment is named"),
    "a relative module": (".x:Env-v0", "no environment is named"),
    "no module": (":Env-v0", "no environment is named"),
    "NUL in a module": ("a\0b:Env-v0", "no environment is named"),
    "a surrogate": ("\ud800:Env-v0", "no environment is named"),
    "nothing": ("@", "not JSON"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_STRINGS)
@pytest.mark.parametrize("command", ["run", "envs show", "envs check", "play", "floors"])
def test_bad_environment_strings_are_refused(command: str, name: str, folder: Path) -> None:
    text, said = BAD_STRINGS[name]
    commands = {
        "run": ("run", "--env", text, "--agent", "random", "--out", str(folder / "run"), "--json"),
        "floors": ("floors", "--env", text, "--agent", "random", "--json"),
    }
    refused(call(*commands.get(command, (*command.split(), text)), stdin=""), said)
    assert not (folder / "run").exists() and not list(Path().iterdir())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--trials", "1000000000000"), "more than the 10,000,000 episodes"),
        (("--env", "tests.envs.plain_env:nlac_bench_test/EchoUnreported-v0", "--limit", "1000000000000"),
         "at most 1,000,000 tasks"),
        (("--tasks", "x" * 1_000_000), "has no task"),
        (("--config", "deep.toml"), "cannot read the configuration"),
        (("--config", "deep.json"), "cannot read the configuration"),
        (("--config", "folder.json"), "cannot read the configuration"),
        (("--agent", "nlac", "--config", "number.toml"), "number.toml: train must be a table, got 5"),
        (("--agent", "nlac", "--config", "number.toml", "--train", "lr=1"), "train must be a table, got 5"),
        (("--agent", "nlac", "--model", "/no/such/model"), "folder /no/such/model, which does not exist"),
    ],
    ids=["trials", "limit", "tasks", "TOML", "JSON", "folder", "train", "train and --train", "model"],
)  # fmt: skip
def test_other_options_that_are_too_large_or_too_deep(
    options: tuple[str, ...], said: str, folder: Path
) -> None:
    Path("deep.toml").write_text(f"env = {'[' * DEEP}")
    Path("deep.json").write_text("[" * DEEP)
    Path("folder.json").mkdir()
    Path("number.toml").write_text("train = 5")
    done = call("run", "--env", "math500_hard", "--agent", "random", *options, "--out", str(folder / "run"))
    refused(done, said)
    assert not (folder / "run").exists()


@pytest.mark.parametrize("more", [(), ("--dry-run",)], ids=["run", "dry run"])
@pytest.mark.parametrize(
    ("left_out", "said"),
    [
        ("*.safetensors*", "has no weights"),
        ("*-2.safetensors", "names model-2.safetensors, which is missing"),
    ],
    ids=["all", "one file"],
)
def test_a_model_without_weights(left_out: str, said: str, more: tuple[str, ...], folder: Path) -> None:
    copy = folder / "copy"
    shutil.copytree(tiny.path(), copy)
    names = dict.fromkeys(load_file(copy / "model.safetensors"), "model-1.safetensors")
    names[next(iter(names))] = "model-2.safetensors"
    (copy / "model.safetensors").rename(copy / "model-1.safetensors")
    (copy / "model-2.safetensors").write_bytes((copy / "model-1.safetensors").read_bytes())
    (copy / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": names}))
    for file in copy.glob(left_out):
        file.unlink()
    options = ("--model", str(copy), "--limit", "1", "--out", str(folder / "run"), *more)
    refused(call("run", "--env", "tau_retail", "--agent", "react", *options), said)
    assert not (folder / "run").exists()


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--request-timeout", "-1", "--request-timeout must be above 0, got -1.0"),
        ("--request-timeout", "nan", "--request-timeout must be a finite number, got nan"),
        ("--request-timeout", "soon", "--request-timeout must be a finite number, got 'soon'"),
        ("--limit", "0", "--limit must be at least 1, got 0"),
        ("--limit", "two", "--limit must be a whole number, got 'two'"),
        ("--trials", "1.5", "--trials must be a whole number, got '1.5'"),
        ("--engine", "tensor", "--engine must be one of auto, openai, hf, vllm, got 'tensor'"),
        ("--max-model-len", "0", "--max-model-len must be at least 1, got 0"),
        (
            "--max-model-len",
            "64",
            "--max-model-len is an option of vLLM; set engine to vllm, or leave out max_",
        ),
        (
            "--gpu-memory-utilization",
            "1.5",
            "--gpu-memory-utilization must be above 0 and at most 1, got 1.5",
        ),
        ("--tensor-parallel-size", "two", "--tensor-parallel-size must be a whole number, got 'two'"),
        ("--price", "1", "--price must be two numbers such as '0.25,2', got '1'"),
    ],
)
def test_an_option_with_a_wrong_value_is_named_as_it_was_typed(
    option: str, value: str, said: str, folder: Path
) -> None:
    done = call(
        "run", "--env", "math500_hard", "--agent", "silent", option, value, "--out", str(folder / "run")
    )
    refused(done, f"error: {said}")


def test_large_seeds_are_read_exactly(folder: Path) -> None:
    seed = "12345678901234567891"
    run = (
        "run",
        "--env",
        "twenty_questions",
        "--agent",
        "silent",
        "--limit",
        "1",
        "--out",
        str(folder / "run"),
    )
    assert call(*run, "--seed", seed).returncode == 0
    assert json.loads((folder / "run" / "config.json").read_text())["seed"] == int(seed)
    large = call(*run, "--seed", str(2**64))
    refused(large, "at least -9223372036854775808 and at most 18446744073709551615, got 18446744073709551616")


def test_floors_refuses_a_negative_number_of_episodes() -> None:
    refused(call("floors", "--episodes", "-3"), "error: --episodes must be at least 0, got -3")


def test_a_sweep_that_is_nested_too_deep(folder: Path) -> None:
    Path("deep.toml").write_text(f"methods = {'[' * DEEP}")
    refused(call("sweep", "deep.toml", "--out", str(folder / "sweep")), "is not valid TOML")
    assert not (folder / "sweep").exists()


# --- plug-ins -------------------------------------------------------------------------------------------

IMPORTS = {
    "raises": ("raise RuntimeError('no device')", "RuntimeError: no device"),
    "exits": ("import sys; sys.exit('goodbye')", "SystemExit: goodbye"),
    "exits with 0": ("raise SystemExit(0)", "SystemExit: 0"),
    "interrupts": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "sleeps": ("import time; time.sleep(3600)", "did not finish within 0.5 s"),
    "recurses": ("def f(): f()\nf()", "RecursionError"),
    "is not Python": ("(", "SyntaxError"),
    "has surrogates": ("raise ValueError('\\ud800[bold]\\n\\x1b[2J')", "ValueError"),
    "is a number": ("thing = 7", ""),
}
GROUPS = {
    "nlac_bench.envs": ("--env", "foreign_plugin", "--agent", "random"),
    "nlac_bench.agents": ("--env", "twenty_questions", "--agent", "foreign_plugin"),
    "nlac_bench.algorithms": ("--env", "twenty_questions", "--agent", "foreign_plugin"),
}


@pytest.fixture
def plug_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Install a package with one entry point, whose module has the given source."""
    monkeypatch.setattr(foreign, "_unfinished", {})

    def install(group: str, source: str, name: str = "foreign_plugin") -> None:
        if "sleep" in source:  # others get the usual time, which suffices on a busy machine too
            monkeypatch.setattr(foreign, "LOAD_S", 0.5)
        module = f"foreign_{os.getpid()}_{next(numbers)}"
        info = folder / f"{module}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}:thing\n")
        (folder / f"{module}.py").write_text(source)
        monkeypatch.syspath_prepend(folder)

    yield install
    for path in folder.glob("*.dist-info"):
        shutil.rmtree(path)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("kind", IMPORTS)
def test_a_broken_plug_in_is_refused_by_name_and_skipped_in_lists(
    plug_in: Any, group: str, kind: str, folder: Path, recwarn: pytest.WarningsRecorder
) -> None:
    source, said = IMPORTS[kind]
    plug_in(group, source)
    refused(call("run", *GROUPS[group], "--out", str(folder / "run"), "--json"), said)
    assert not (folder / "run").exists()
    listed = call("envs", "list", "--json")
    assert listed.returncode == 0 and "foreign_plugin" not in listed.stdout
    assert len(json.loads(listed.stdout)["environments"]) >= len(registry.BUILTIN)
    if group == "nlac_bench.envs":
        assert any("'foreign_plugin'" in str(w.message) and said in str(w.message) for w in recwarn)


@pytest.mark.parametrize("kind", ["exits", "sleeps", "is a number"])
def test_doctor_lists_broken_plug_ins_with_the_reason(plug_in: Any, kind: str) -> None:
    source, said = IMPORTS[kind]
    for group in GROUPS:
        plug_in(group, source)
    done = call("doctor", "--json")
    report = json.loads(done.stdout)
    for section in ("agents", "algorithms", "environments"):
        (row,) = [row for row in report[section] if row["name"] == "foreign_plugin"]
        assert done.returncode == 0 and row["ok"] is False and said in row["detail"]
        assert row["fix"] and row["fix"] not in row["detail"]
    shown = call("doctor").stdout
    assert (
        shown.count("broken") >= 3
        and "missing" not in shown.partition("environments\n")[2].partition("\ndata")[0]
    )


ENVIRONMENTS = {
    "works": (
        "from nlac_bench.envs.twenty_questions import TwentyQuestionsEnv as thing",
        True,
        "tasks in split 'test'",
    ),
    "plain": ("from tests.envs.plain_env import Echo as thing", True, "a plain Gymnasium environment"),
    "raises": ("def thing(**_): raise RuntimeError('no device')", False, "RuntimeError: no device"),
    "sleeps": ("def thing(**_):\n import time\n time.sleep(3600)", False, "did not finish within 0.5 s"),
    "is no environment": ("def thing(**_): return 7", False, "AttributeError"),
}


@pytest.mark.parametrize("kind", ENVIRONMENTS)
def test_doctor_makes_and_resets_the_environments_of_plug_ins(plug_in: Any, kind: str) -> None:
    source, ok, said = ENVIRONMENTS[kind]
    plug_in("nlac_bench.envs", source)
    rows = json.loads(call("doctor", "--json").stdout)["environments"]
    (row,) = [row for row in rows if row["name"] == "foreign_plugin"]
    assert row.keys() == {"name", "ok", "detail", "fix"} and row["ok"] is ok and said in row["detail"]
    assert row["fix"] == ("" if ok else "nlac-bench envs check foreign_plugin")


def test_doctor_advises_to_rename_a_plug_in_with_a_built_in_name(plug_in: Any) -> None:
    names = {
        "nlac_bench.envs": "tau_retail", "nlac_bench.agents": "oracle", "nlac_bench.algorithms": "nlac"
    }  # fmt: skip
    for group, name in names.items():
        plug_in(group, "thing = dict", name)
    report = json.loads(call("doctor", "--json").stdout)
    for section, name in zip(("environments", "agents", "algorithms"), names.values(), strict=True):
        built_in, plugged = [row for row in report[section] if row["name"] == name]
        assert built_in["ok"] and not plugged["ok"] and plugged["fix"] == "rename the entry point"


@pytest.mark.parametrize("thing", ["SystemExit", "exit", "missing"])
def test_a_plug_in_that_breaks_when_it_is_used(plug_in: Any, thing: str, folder: Path) -> None:
    """The import works; making the environment, the agent or the settings does not."""
    plug_in(
        "nlac_bench.envs",
        {"SystemExit": "def thing(**_): raise SystemExit(0)", "exit": "def thing(**_): exit('over')",
         "missing": "def thing(**_): return missing"}[thing],
    )  # fmt: skip
    refused(call("run", *GROUPS["nlac_bench.envs"], "--out", str(folder / "run")), "cannot be made with")
    assert call("envs", "list", "--json").returncode == 0


def test_an_algorithm_whose_classes_cannot_be_imported(plug_in: Any, folder: Path) -> None:
    for number, where in enumerate(
        ("no_such_module:Class", "nlac_bench.types:NoSuch", "json:NoSuch", "json")
    ):
        plug_in(
            "nlac_bench.algorithms",
            "from nlac_bench.agents.methods import Method\n"
            f"thing = Method(name='foreign_plugin', summary='x', algorithm={where!r}, settings={where!r})",
        )
        refused(call("run", *GROUPS["nlac_bench.algorithms"], "--out", str(folder / f"run{number}")))
        for path in folder.glob("*.dist-info"):
            shutil.rmtree(path)


# --- run folders ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "run"
    done = call("run", "--env", "twenty_questions", "--agent", "silent", "--limit", "2", "--out", str(run))
    assert done.returncode == 0, done.stderr
    return run


@pytest.fixture
def run(finished: Path, folder: Path) -> Path:
    return Path(shutil.copytree(finished, folder / "run"))


def everything(run: Path) -> dict[str, bytes | None]:
    """All files under ``run`` but the lock, with their content."""
    return {
        str(path.relative_to(run)): path.read_bytes() if path.is_file() else None
        for path in sorted(run.rglob("*"))
        if path.name != ".lock"
    }


READERS = (("resume",), ("score",), ("compare",), ("score", "--json"))


def all_refuse(run: Path, finished: Path, said: str) -> None:
    """Each command that reads a run refuses ``run`` and leaves it as it is."""
    before = everything(run)
    for command, *options in READERS:
        arguments = [command, str(run), *([str(finished)] if command == "compare" else []), *options]
        refused(call(*arguments), said)
        assert everything(run) == before, command


WRONG: list[Any] = [
    None,
    True,
    7,
    0.5,
    "text",
    [],
    {},
    [None],
    [[]],
    [{}],
    {"a": 1},
    [["t", "0", 1]],
    [[1, 2, 3]],
]


@pytest.mark.parametrize("field", ["format", "conditions", "subject", "sessions", "plan"])
@pytest.mark.parametrize("value", [*WRONG, "absent"], ids=repr)
def test_a_manifest_with_a_field_of_a_wrong_type(run: Path, finished: Path, field: str, value: Any) -> None:
    path = run / "manifest.json"
    manifest = json.loads(path.read_text())
    if value == "absent":
        del manifest[field]
    else:
        manifest[field] = value
    path.write_text(json.dumps(manifest))
    all_refuse(run, finished, "format" if field == "format" else field)


@pytest.mark.parametrize("section", ["conditions", "subject"])
@pytest.mark.parametrize("value", [None, 7, [], {}], ids=repr)
def test_a_manifest_whose_names_have_a_wrong_type(
    run: Path, finished: Path, section: str, value: Any
) -> None:
    path = run / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest[section]["env" if section == "conditions" else "agent"] = value
    path.write_text(json.dumps(manifest))
    all_refuse(run, finished, f"{section}.")


@pytest.mark.parametrize(
    "plan", [[["t", 0, 1], ["t", 0, 2]], [["t", 0]], [["t", 0, True]], [["t", 0, 1e400]], [["t", 0, 1, 2]]]
)
def test_a_manifest_with_a_damaged_plan(run: Path, finished: Path, plan: Any) -> None:
    path = run / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "plan": plan}))
    all_refuse(run, finished, "plan")


@pytest.mark.parametrize("name", ["manifest.json", "config.json"])
@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"\xff\xfe", b"[" * DEEP, b'{"a": ', b"\0" * 100])
def test_files_that_are_not_json_objects(run: Path, finished: Path, name: str, content: bytes) -> None:
    (run / name).write_bytes(content)
    all_refuse(run, finished, name)


@pytest.mark.parametrize("name", ["manifest.json", "config.json", "episodes.jsonl", "errors.jsonl"])
@pytest.mark.parametrize(
    ("kind", "said"), [("folder", "is a folder"), ("pipe", "is a pipe"), ("device", "")], ids=str
)
def test_files_that_are_no_files(run: Path, finished: Path, name: str, kind: str, said: str) -> None:
    """Reading a pipe without a writer, or /dev/zero, would never end. The device is behind a link."""
    (run / name).unlink()
    if kind == "folder":
        (run / name).mkdir()
    elif kind == "pipe":
        os.mkfifo(run / name)
    else:
        (run / name).symlink_to("/dev/zero")
    all_refuse(run, finished, f"{name} cannot be read (it {said}" if said else name)


def test_metrics_that_are_a_folder_are_refused_before_anything_is_written(run: Path) -> None:
    (run / "metrics.jsonl").unlink()
    (run / "metrics.jsonl").mkdir()
    before = everything(run)
    refused(call("resume", str(run)), "metrics.jsonl cannot be read (it is a folder")
    assert everything(run) == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"env": "tau_retail"}, "of environment 'tau_retail', but the run plays 'twenty_questions'"),
        ({"env": None}, "of environment None"),
        ({"env": ["twenty_questions"]}, "of environment ['twenty_questions']"),
        ({"task_id": "tau_retail/test/3"}, "was not planned"),
        ({"seed": 5}, "was not planned"),
        ({"trial": "0"}, "was not planned"),
    ],
)
def test_rows_of_another_environment_or_plan(
    run: Path, finished: Path, change: dict[str, Any], said: str
) -> None:
    path = run / "episodes.jsonl"
    first, second = path.read_text().splitlines()
    path.write_text(json.dumps({**json.loads(first), **change}) + "\n" + second + "\n")
    all_refuse(run, finished, said)


def test_the_episodes_of_another_run(run: Path, finished: Path, folder: Path) -> None:
    other = folder / "other"
    done = call("run", "--env", "tau_retail", "--agent", "silent", "--limit", "2", "--out", str(other))
    assert done.returncode == 0
    shutil.copyfile(other / "episodes.jsonl", run / "episodes.jsonl")
    all_refuse(run, finished, "was not planned")


@pytest.mark.parametrize("change", [{"turns": 7}, {"usage": []}, {"success": "yes"}, {"unknown": 1}], ids=str)
def test_rows_that_no_command_can_read_are_named_and_resume_is_not_advised(
    run: Path, finished: Path, change: dict[str, Any]
) -> None:
    """``resume`` played the other episodes and then advised to resume."""
    path = run / "episodes.jsonl"
    first, *rest = path.read_text().splitlines()
    path.write_text("".join(f"{row}\n" for row in (json.dumps({**json.loads(first), **change}), *rest)))
    before = everything(run)
    done = call("resume", str(run))
    refused(done, "episodes.jsonl")
    assert next(iter(change)) in done.stderr and "continue with" not in done.stderr
    assert everything(run) == before
    path.write_text("".join(f"{row}\n" for row in (json.dumps({**json.loads(first), **change}),)))
    refused(call("resume", str(run)), "episodes.jsonl")


WRONG_SETTINGS: dict[str, list[Any]] = {
    "env agent model prompts": [7, [], {}, True],
    "seed trials max_turns": ["7", 0.5, [], True],
    "temperature max_seconds": ["0", [], {}, True],
    "train": [7, [], "text", True],
}


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for names, values in WRONG_SETTINGS.items() for name in names.split() for value in values],
)
def test_a_configuration_with_a_wrong_type(run: Path, finished: Path, name: str, value: Any) -> None:
    path = run / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))
    refused(call("report", str(run), "--out", "report.html"), f"config.json is damaged: {name} must be")
    all_refuse(run, finished, f"config.json is damaged: {name} must be")


@pytest.mark.parametrize(
    "row", [{}, {"task_id": []}, {"task_id": {}, "trial": 0}, {"task_id": "t", "trial": None}], ids=repr
)
def test_error_rows_that_name_no_episode(run: Path, row: dict[str, Any]) -> None:
    (run / "errors.jsonl").write_text(json.dumps(row) + "\n")
    refused(call("score", str(run)), "errors.jsonl contains the episode")


@pytest.mark.parametrize("command", [("envs", "show"), ("play",)])
def test_an_environment_without_text_is_refused(command: tuple[str, ...]) -> None:
    refused(call(*command, "CartPole-v1"), "CartPole-v1 has the observation space Box")


def test_data_in_a_folder_that_does_not_exist_are_refused() -> None:
    refused(call("data", "verify", "math", "--data", "no/such"), "--data no/such: there is no such folder")
