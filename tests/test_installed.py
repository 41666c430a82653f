"""Entry points of installed packages are read once, and again when a folder of ``sys.path`` has changed."""

import os
from importlib import metadata
from pathlib import Path

import pytest

from nlac_bench import installed

GROUP = "nlac_bench.tests"


def install(folder: Path, name: str) -> None:
    described = folder / f"{name}-1.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Name: {name}\nVersion: 1\n")
    (described / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {name}:thing\n")


def test_a_package_that_is_installed_later_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "first")
    monkeypatch.syspath_prepend(tmp_path)
    assert installed.entry_points(GROUP).names == {"first"}
    before = tmp_path.stat().st_mtime_ns
    for name in ("zeroth", "second"):
        install(tmp_path, name)
    os.utime(tmp_path, ns=(before + 10**9, before + 10**9))  # clocks of file systems are coarse
    assert [point.name for point in installed.entry_points(GROUP)] == ["first", "second", "zeroth"]


def test_nothing_is_read_again_while_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    before = installed.entry_points(GROUP)
    monkeypatch.setattr(metadata, "entry_points", lambda **_: pytest.fail("read again"))
    assert installed.entry_points(GROUP) is before
