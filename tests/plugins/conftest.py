"""The example package of ``examples/plugin``, installed outside the repository."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin"


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for ``PYTHONPATH`` into which pip has installed the example."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("pip needs hatchling to build examples/plugin without a network; pip install hatchling")
    target = tmp_path_factory.mktemp("plugin") / "site-packages"
    command = ["install", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", "-q", *command, str(EXAMPLE)], check=True)
    return target
