"""Shared fixtures: where the public data are, and a small environment of our own."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def official_data() -> Path:
    """The folder that NLAC_BENCH_DATA names."""
    return Path(os.environ["NLAC_BENCH_DATA"])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked ``official`` need the public data, which a user may not have."""
    if os.environ.get("NLAC_BENCH_DATA"):
        return
    skip = pytest.mark.skip(reason="NLAC_BENCH_DATA does not name the folder with the public data sets")
    for item in items:
        if "official" in item.keywords:
            item.add_marker(skip)
