"""Imports have one direction and no cycles, and importing the package stays light."""

import ast
import functools
import importlib
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "nlac_bench"
LAYERS = [
    "simulators", "envs", "rollout", "learner", "agents", "baselines", "tiny", "pretrained", "harness",
    "stats", "training", "leaderboards", "reports", "sweep", "cluster", "api", "bridges", "cli",
]  # fmt: skip
SEEN_BY_ALL = {
    "child_process",
    "types",
    "errors",
    "garbage",
    "installed",
    "shutdown",
    "settings",
    "secret_forms",
    "redaction",
    "files",
    "untrusted",
    "json_values",
    "visible",
    "thoughts",
}
LEVEL = {name: i for i, name in enumerate(LAYERS)} | {"baselines": LAYERS.index("agents")}


def imported_packages(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            modules = [node.module or ""]
            if node.module == "nlac_bench":
                modules = [f"nlac_bench.{alias.name}" for alias in node.names]
        else:
            continue
        for module in modules:
            parts = module.split(".")
            if parts[0] == "nlac_bench" and len(parts) > 1:
                yield parts[1]


@pytest.mark.parametrize("package", LAYERS)
def test_imports_point_one_way(package: str) -> None:
    for path in (PACKAGE / package).rglob("*.py"):
        for imported in imported_packages(path):
            if imported in SEEN_BY_ALL or imported.startswith("__"):
                continue
            assert imported in LEVEL, f"{path} imports nlac_bench.{imported}, which is not a package"
            assert LEVEL[imported] <= LEVEL[package], f"{path}: {package} must not import {imported}"


def test_modules_that_all_packages_import_do_not_import_packages() -> None:
    for name in SEEN_BY_ALL:
        assert set(imported_packages(PACKAGE / f"{name}.py")) <= {
            "errors",
            "redaction",
            "secret_forms",
            "thoughts",
            "untrusted",
        }


def test_import_registers_ids_and_loads_nothing_heavy() -> None:
    code = """
import sys, nlac_bench, gymnasium
ids = sorted(k for k in gymnasium.registry if k.startswith("nlac_bench/"))
heavy = sorted({m.split(".")[0] for m in sys.modules} & {
    "torch", "transformers", "sympy", "litellm", "openai", "math_verify", "typer", "rich", "vllm", "asyncio",
    "pydantic"})
print(ids, heavy)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == (
        "['nlac_bench/FirstSteps-v0', 'nlac_bench/Math500Hard-v0', 'nlac_bench/ShopWorlds-v0', "
        "'nlac_bench/TauAirline-v0', 'nlac_bench/TauRetail-v0', 'nlac_bench/TwentyQuestions-v0'] []"
    )


def test_reports_boards_and_the_viewer_are_made_without_torch() -> None:
    """Importing it takes longer than writing a page of a thousand episodes."""
    code = """
import sys, nlac_bench.reports.report.build, nlac_bench.reports.boards.build, nlac_bench.reports.view.page
print(sorted({"torch", "transformers", "scipy"} & set(sys.modules)))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def imported_modules(path: Path, known: set[str]) -> set[str]:
    """The modules of ``known`` that the file imports anywhere, within functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if name in known else node.module for name in names}
    return found & known


def test_no_import_is_cyclic() -> None:
    files = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph = {name: imported_modules(path, set(files)) - {name} for name, path in files.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"the imports of these modules are cyclic: {' → '.join(error.args[1])}")


SIMULATORS = {
    "customer": ("intent", "hear", "compare", "speak"),
    "math_grader": ("read", "extract", "evaluate", "compare"),
    "oracle20": ("find", "know", "read", "answer"),
}
"""Each simulator's folders; a folder imports only from itself and from those before it."""
ROOT = PACKAGE.parent


@functools.cache
def imported_names(path: Path) -> list[tuple[str, str | None]]:
    """Each import of a module, as the module and the name that is taken from it."""
    found: list[tuple[str, str | None]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += ((node.module, alias.name) for alias in node.names)
    return found


@pytest.mark.parametrize("name", SIMULATORS)
def test_a_simulator_has_a_face_of_at_most_five_names(name: str) -> None:
    module = f"nlac_bench.simulators.{name}"
    face = importlib.import_module(module)
    assert 1 <= len(face.__all__) <= 5
    assert all(hasattr(face, public) for public in face.__all__)
    folders = ("nlac_bench", "workshop", "benchmarks", "examples", "docs")
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        if PACKAGE / "simulators" / name in path.parents:
            continue
        for imported, taken in imported_names(path):
            assert not imported.startswith(module + "."), f"{path} must import {imported} from {module}"
            if imported == module:
                assert taken in face.__all__, f"{path}: {taken} is not a public name of {module}"


@pytest.mark.parametrize("name", SIMULATORS)
def test_the_steps_of_a_simulator_are_its_folders(name: str) -> None:
    folder, steps = PACKAGE / "simulators" / name, SIMULATORS[name]
    assert {path.parent.name for path in folder.glob("*/__init__.py")} == set(steps)
    first = (folder / "README.md").read_text(encoding="utf-8").split("\n\n")[1]
    assert all(f"`{step}/`" in first for step in steps)
    for number, step in enumerate(steps):
        allowed = {f"nlac_bench.simulators.{name}.{before}" for before in steps[: number + 1]}
        for path in (folder / step).rglob("*.py"):
            for imported, taken in imported_names(path):
                if imported.startswith(f"nlac_bench.simulators.{name}"):
                    whole = f"{imported}.{taken}"
                    assert any(f"{whole}.".startswith(f"{each}.") for each in allowed), f"{path}: {imported}"


def test_no_module_of_the_package_imports_the_workshop_when_it_is_imported() -> None:
    """Within functions it may: ``nlac-bench tiny build`` and ``tiny report`` use it in a checkout."""
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        inner = {
            id(node)
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
            for node in ast.walk(function)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in inner:
                names = (
                    [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module]
                )
                assert not any((name or "").split(".")[0] == "workshop" for name in names), path


def test_no_two_classes_of_the_package_have_the_same_name() -> None:
    places: dict[str, list[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
