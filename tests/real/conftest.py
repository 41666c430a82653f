"""Marks the tests; ``smollm2`` in ``tests/conftest.py`` gives them the model's folder."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test here takes a real model, so it is slow."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.real)
            item.add_marker(pytest.mark.slow)
