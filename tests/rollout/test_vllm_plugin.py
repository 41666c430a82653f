"""vLLM's plug-in: errors where vLLM would not find it. The tests of vLLM itself are in ``tests/vllm``."""

import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.vllm import plugin

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """This version is installed in the environment."""
    declared = tomllib.loads(PYPROJECT.read_text())["project"]["entry-points"]
    points = [
        metadata.EntryPoint(name, value, group)
        for group in declared
        for name, value in declared[group].items()
    ]

    def entry_points(**wanted: Any) -> list[metadata.EntryPoint]:
        return [point for point in points if point.matches(**wanted)]

    monkeypatch.setattr(metadata, "entry_points", entry_points)


def test_the_entry_point_registers_the_plugin(installed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLLM_PLUGINS", raising=False)
    plugin.check_registered()
    (point,) = metadata.entry_points(group=plugin.GROUP)
    assert point.load() is plugin.register


@pytest.mark.parametrize(
    ("allowed", "fine"), [("nlac_bench", True), ("a,nlac_bench", True), ("a", False), ("", False)]
)
def test_a_list_of_plugins_without_it_is_refused(
    installed: None, monkeypatch: pytest.MonkeyPatch, allowed: str, fine: bool
) -> None:
    monkeypatch.setenv("VLLM_PLUGINS", allowed)
    if fine:
        plugin.check_registered()
    else:
        with pytest.raises(NlacBenchError, match="leaves out the plug-in 'nlac_bench'"):
            plugin.check_registered()


def test_an_older_installation_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "entry_points", lambda **wanted: [])
    with pytest.raises(NlacBenchError, match="not installed in this environment, or an older version is"):
        plugin.check_registered()
