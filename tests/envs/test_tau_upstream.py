"""Upstream's files read as data, and the original engine played in a process of its own."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.envs.pinned import TAU, TAU_UPSTREAM
from nlac_bench.envs.tau.verification import upstream
from nlac_bench.envs.tau.verification.upstream import convert_upstream, find_installed
from nlac_bench.errors import DataError

VARIABLES = {
    "retail/tasks_test": "TASKS_TEST", "retail/tasks_dev": "TASKS_DEV", "retail/tasks_train": "TASKS_TRAIN",
    "airline/tasks_test": "TASKS", "retail/rules": "RULES", "airline/rules": "RULES",
}  # fmt: skip


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def source_of_task(task: dict[str, Any]) -> str:
    """A task as Python source of upstream's form."""
    actions = ", ".join(f"Action(name={a['name']!r}, kwargs={a['kwargs']!r})" for a in task["actions"])
    fields = [f"{key}={value!r}" for key, value in task.items() if key not in ("actions", "outputs")]
    return f"Task({', '.join(fields)}, actions=[{actions}], outputs={task['outputs']!r})"


def make_checkout(root: Path, data: Path) -> Path:
    """A folder laid out as the repository, with the same content as the data folder."""
    envs = root / "tau_bench" / "envs"
    for name in TAU_UPSTREAM:
        domain, file = name.split("/", 1)
        if file.startswith("data/"):
            content = json.loads((data / domain / file.removeprefix("data/")).read_text(encoding="utf-8"))
            write(envs / name, json.dumps(content, indent=4))
        elif file == "wiki.md":
            write(envs / name, (data / name).read_text(encoding="utf-8"))
        else:
            stem = name.removesuffix(".py")
            rows = json.loads((data / f"{stem}.json").read_text(encoding="utf-8"))
            listed = ",\n".join(source_of_task(row) if isinstance(row, dict) else repr(row) for row in rows)
            write(
                envs / name,
                f"from tau_bench.types import Task, Action\n\n{VARIABLES[stem]} = [\n{listed}\n]\n",
            )
    for domain in ("retail", "airline"):
        tools = json.loads((data / domain / "tools.json").read_text(encoding="utf-8"))
        names = [tool["function"]["name"] for tool in tools]
        classes = ["".join(word.title() for word in name.split("_")) for name in names]
        imports = [f"from .{name} import {c}\n" for name, c in zip(names, classes, strict=True)]
        write(
            envs / domain / "tools/__init__.py", f"{''.join(imports)}\nALL_TOOLS = [{', '.join(classes)}]\n"
        )
        for name, class_name, tool in zip(names, classes, tools, strict=True):
            write(
                envs / domain / f"tools/{name}.py",
                f"raise RuntimeError('this file was run')\n\n\nclass {class_name}(Tool):\n    @staticmethod\n"
                f"    def get_info():\n        return {tool!r}\n",
            )
    write(root / "LICENSE", "the licence")
    return envs


@pytest.fixture(scope="module")
def pristine(official_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("upstream")
    make_checkout(root, official_data / "tau_bench")
    return root


@pytest.fixture
def checkout(pristine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout whose formatting is not upstream's, with its hashes in the place of the pinned ones."""
    shutil.copytree(pristine, tmp_path / "checkout")
    envs = pristine / "tau_bench" / "envs"
    hashes = {name: hashlib.sha256((envs / name).read_bytes()).hexdigest() for name in TAU_UPSTREAM}
    monkeypatch.setattr(upstream, "TAU_UPSTREAM", hashes)
    return tmp_path / "checkout"


@pytest.fixture
def tools_alone(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The checkout, of which only the tool schemas are converted: other files take most of the time."""
    monkeypatch.setattr(upstream, "TAU_UPSTREAM", {})
    monkeypatch.setattr(upstream, "TAU", {"retail/tools.json": TAU["retail/tools.json"]})
    return checkout


@pytest.mark.official
def test_the_tool_schemas_alone_are_converted(tools_alone: Path, tmp_path: Path) -> None:
    convert_upstream(tools_alone, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out" / "retail").iterdir()] == ["tools.json"]


@pytest.mark.official
@pytest.mark.parametrize("part", ["", "tau_bench", "tau_bench/envs", ".."])
def test_a_checkout_becomes_the_pinned_files(checkout: Path, tmp_path: Path, part: str) -> None:
    convert_upstream(checkout / part, tmp_path / "out")
    for name, sha256 in TAU.items():
        assert hashlib.sha256((tmp_path / "out" / name).read_bytes()).hexdigest() == sha256
    assert (tmp_path / "out" / "LICENSE").read_text() == "the licence"


@pytest.mark.official
def test_altered_files_are_named_and_nothing_is_written(checkout: Path, tmp_path: Path) -> None:
    with (checkout / "tau_bench/envs/retail/rules.py").open("a", encoding="utf-8") as file:
        file.write("\n")
    with pytest.raises(DataError, match=r"retail/rules\.py differ"):
        convert_upstream(checkout, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.official
@pytest.mark.parametrize(
    ("file", "source", "names"),
    [
        (
            "think.py",
            "class Think:\n    def get_info():\n        return open('/etc/passwd').read()\n",
            "line 3",
        ),
        (
            "think.py",
            "class Think:\n    def get_info():\n        return {'type': 'function'}\n",
            r"tools\.json",
        ),
        *[
            (
                "think.py",
                f"class Think:\n    def get_info():\n        return {{'type': {value}}}\n",
                r"retail/tools",
            )
            for value in (
                "b'bytes'",
                "{'a', 'set'}",
                "'\\ud800'",
                "1e999",
                "1j",
                "...",
                "{b'key': 1}",
                "{(1, 2): 3}",
            )
        ],
        ("think.py", "class Other:\n    pass\n", "no get_info"),
        ("think.py", "class Think(:\n", "not Python source"),
        ("think.py", "#" * 2_000_000, "too large for a tool's module"),
        ("think.py", "x = " + "(" * 5000, "not Python source"),
        ("__init__.py", "ALL_TOOLS = [Think]\n", "imported classes"),
        ("__init__.py", "ALL_TOOLS = make()\n", "does not assign a list ALL_TOOLS"),
    ],
)
def test_hostile_tools_are_refused_and_never_run(
    tools_alone: Path, tmp_path: Path, file: str, source: str, names: str
) -> None:
    write(tools_alone / "tau_bench/envs/retail/tools" / file, source)
    with pytest.raises(DataError, match=names):
        convert_upstream(tools_alone, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.official
def test_missing_files_are_named(checkout: Path, tmp_path: Path) -> None:
    (checkout / "tau_bench/envs/airline/tools/think.py").unlink()
    with pytest.raises(DataError, match=r"airline/tools/think\.py"):
        convert_upstream(checkout, tmp_path / "out")
    shutil.rmtree(checkout / "tau_bench/envs/airline/data")
    with pytest.raises(DataError, match=r"airline/data/"):
        convert_upstream(checkout, tmp_path / "out")


def test_a_folder_without_upstream_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"{tmp_path.name}.*retail/tasks_test"):
        convert_upstream(tmp_path, tmp_path / "out")


def test_the_installed_package_is_found_without_being_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "tau_bench/__init__.py", "raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert find_installed() == tmp_path / "tau_bench"


def test_no_installed_package_is_an_error_that_says_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "PACKAGE", "tau_bench_is_not_here")
    with pytest.raises(DataError, match=r"github\.com/sierra-research/tau-bench"):
        find_installed()
