"""Both engines side by side: what is equal is counted as equal, a difference is found, a failure is named."""

from pathlib import Path

import pytest

from nlac_bench.envs.tau.verification.side_by_side import verify_against_installed
from nlac_bench.errors import DataError
from tests.envs.fake_tau_bench import write_fake

pytestmark = pytest.mark.official


@pytest.fixture
def tau_data(official_data: Path) -> Path:
    return official_data / "tau_bench"


@pytest.mark.slow  # plays the fake package and this engine side by side: 22 s of CPU time
def test_equal_engines_match(tmp_path: Path, tau_data: Path) -> None:
    report = verify_against_installed(
        tau_data, tasks=3, episodes=2, seed=1, package=write_fake(tmp_path, tau_data)
    )
    counts = report.as_dict()
    assert report.ok
    for what in ("observations", "hashes", "rewards"):
        assert counts[what]["matched"] == counts[what]["total"] > 10


@pytest.mark.slow  # plays both engines side by side: 10 s of CPU time
def test_a_difference_is_found(tmp_path: Path, tau_data: Path) -> None:
    package = write_fake(tmp_path, tau_data, wrong="delivered")
    report = verify_against_installed(tau_data, tasks=3, episodes=1, package=package)
    counts = report.as_dict()
    assert not report.ok
    assert counts["observations"]["matched"] < counts["observations"]["total"]
    assert counts["hashes"]["matched"] == counts["hashes"]["total"]
    assert counts["differences"]


def test_an_original_that_fails_or_hangs_is_named(tmp_path: Path, tau_data: Path) -> None:
    package = write_fake(tmp_path, tau_data)
    (package / "types.py").write_text("raise RuntimeError('no such thing')\n", encoding="utf-8")
    with pytest.raises(DataError, match="no such thing"):
        verify_against_installed(tau_data, tasks=1, episodes=0, package=package)
    (package / "types.py").write_text("import time\ntime.sleep(60)\n", encoding="utf-8")
    with pytest.raises(DataError, match="within 1 s"):
        verify_against_installed(tau_data, tasks=1, episodes=0, package=package, timeout_s=1)
