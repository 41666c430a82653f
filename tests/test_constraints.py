"""The pinned versions that ``make`` installs."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_development_requirement_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = {
        line.partition("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
    }
    extras = project["optional-dependencies"]
    needed = {re.split(r"[\[<>=!;, ]", each)[0].lower() for each in (*extras["dev"], *extras["test"])}
    assert needed - {"nlac-bench"} <= pinned
