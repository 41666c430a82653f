"""Replacing files and folders: synchronised before the rename, and old or new after a death at any step."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nlac_bench import files
from tests.full_disk import files_of_at_most


class DiedError(Exception):
    """Stands for the end of the process."""


def folder(path: Path, content: str) -> Path:
    (path / "sub").mkdir(parents=True)
    (path / "a").write_text(content)
    (path / "sub" / "b").write_text(content)
    return path


def content(path: Path) -> set[str]:
    return {(path / "a").read_text(), (path / "sub" / "b").read_text()}


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Every fsync and rename, in order."""
    done: list[tuple[str, str]] = []
    fsync, rename, replace, exchange = os.fsync, os.rename, os.replace, files.exchange

    def synced(fd: int) -> None:
        done.append(("fsync", Path(f"/proc/self/fd/{fd}").readlink().name))
        fsync(fd)

    def named(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(source: Any, target: Any) -> Any:
            done.append((name, Path(target).name))
            return real(source, target)

        return call

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", named("rename", rename))
    monkeypatch.setattr(os, "replace", named("rename", replace))
    monkeypatch.setattr(files, "exchange", named("exchange", exchange))
    return done


@pytest.mark.parametrize("exists", [False, True])
def test_a_folder_is_synchronised_before_it_is_renamed(
    tmp_path: Path, steps: list[tuple[str, str]], exists: bool
) -> None:
    new, path = folder(tmp_path / "new", "new"), tmp_path / "it"
    if exists:
        folder(path, "old")
    files.replace_folder(new, path)
    at = next(i for i, (kind, _) in enumerate(steps) if kind in ("rename", "exchange"))
    assert {name for kind, name in steps[:at] if kind == "fsync"} == {"a", "b", "sub", "new"}
    assert ("fsync", tmp_path.name) in steps[at:]
    assert content(path) == {"new"} and [p.name for p in tmp_path.iterdir()] == ["it"]


def test_a_file_is_synchronised_before_it_is_renamed(tmp_path: Path, steps: list[tuple[str, str]]) -> None:
    (tmp_path / "new").write_text("new")
    (tmp_path / "it").write_text("old")
    files.replace_file(tmp_path / "new", tmp_path / "it")
    assert steps == [("fsync", "new"), ("rename", "it"), ("fsync", tmp_path.name)]
    assert (tmp_path / "it").read_text() == "new"


@pytest.mark.parametrize("can_exchange", [False, True])
@pytest.mark.parametrize("step", range(9))
def test_a_death_at_any_step_leaves_old_or_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_exchange: bool, step: int
) -> None:
    new, path = folder(tmp_path / "new", "new"), folder(tmp_path / "it", "old")
    left = [step]

    def dying(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if left[0] == 0:
                raise DiedError
            left[0] -= 1
            return real(*arguments)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", dying(os.fsync))
        patch.setattr(os, "rename", dying(os.rename))
        patch.setattr(files, "delete", dying(files.delete))
        patch.setattr(files, "exchange", dying(files.exchange if can_exchange else lambda *_: False))
        try:
            files.replace_folder(new, path)
        except DiedError:
            pass
        else:
            assert step > 5 and content(path) == {"new"}
    if can_exchange:
        assert path.exists(), "it exists at every moment"
    found = files.find_folder(path)
    assert found is not None and content(found) in ({"old"}, {"new"})
    files.restore_folder(path)
    assert content(path) in ({"old"}, {"new"})
    files.replace_folder(folder(tmp_path / "newer", "newer"), path)
    assert content(path) == {"newer"} and files.find_folder(path) == path


def test_the_kernel_exchanges_names_here(tmp_path: Path) -> None:
    one, other = folder(tmp_path / "one", "1"), folder(tmp_path / "other", "2")
    if not files.exchange(one, other):
        pytest.skip("this file system cannot exchange two names")
    assert content(one) == {"2"} and content(other) == {"1"}


def test_nothing_is_found_where_nothing_is(tmp_path: Path) -> None:
    assert files.find_folder(tmp_path / "it") is None
    files.restore_folder(tmp_path / "it")
    assert not (tmp_path / "it").exists()


@pytest.mark.parametrize("before", [b"", b"one\n", b"x" * 5000 + b"\n"])
@pytest.mark.parametrize("torn", [b"", b"half", b"\0" * 9000])
def test_lines_are_appended_after_the_last_complete_one(tmp_path: Path, before: bytes, torn: bytes) -> None:
    (tmp_path / "a").write_bytes(before + torn)
    files.append_lines(tmp_path / "a", b"new\n")
    assert (tmp_path / "a").read_bytes() == before + b"new\n"


def test_a_line_for_which_the_disk_has_no_room_leaves_no_part(tmp_path: Path) -> None:
    files.append_lines(tmp_path / "a", b"one\n")
    with files_of_at_most(10), pytest.raises(OSError, match="too large"):
        files.append_lines(tmp_path / "a", b"x" * 100 + b"\n")
    assert (tmp_path / "a").read_bytes() == b"one\n"


def test_two_processes_do_not_overwrite_each_others_lines(tmp_path: Path) -> None:
    code = """
import sys, pathlib
from nlac_bench.files import append_lines
for number in range(500):
    append_lines(pathlib.Path(sys.argv[1]), b"%d\\n" % number)
"""
    made = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "a")]) for _ in range(2)]
    assert [each.wait() for each in made] == [0, 0]
    assert sorted(map(int, (tmp_path / "a").read_text().split())) == sorted([*range(500)] * 2)
