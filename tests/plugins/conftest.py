"""The example package of ``examples/plugin``, installed outside the repository."""

import importlib.util
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin"


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for ``PYTHONPATH`` with the installed example; by pip where its build backend is at hand, else
    as pip would have laid it out."""
    target = tmp_path_factory.mktemp("plugin") / "site-packages"
    if importlib.util.find_spec("hatchling") is not None:
        command = ["install", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(target)]
        subprocess.run([sys.executable, "-m", "pip", "-q", *command, str(EXAMPLE)], check=True)
        return target
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    for package in tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["tool"]["hatch"]["build"][
        "targets"
    ]["wheel"]["packages"]:
        shutil.copytree(EXAMPLE / package, target / package, ignore=shutil.ignore_patterns("__pycache__"))
    info = target / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    groups = project["entry-points"].items()
    lines = [
        line
        for group, points in groups
        for line in (f"[{group}]", *(f"{k} = {v}" for k, v in points.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return target
