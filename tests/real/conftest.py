"""Gives the tests the model's folder; without it they are skipped, except under CI."""

import os
from pathlib import Path

import pytest

from nlac_bench import pretrained
from nlac_bench.errors import MissingDataError


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test here takes a real model, so it is slow."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.real)
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The folder of the converted model."""
    try:
        return pretrained.path("smollm2")
    except MissingDataError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
