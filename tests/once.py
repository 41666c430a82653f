"""Lets the workers of a test run share what takes long to make."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return the folder ``name``, which the first worker makes; others wait for it. Tests only read it."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with Path(f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            partial = Path(f"{folder}.partial")
            partial.mkdir(exist_ok=True)
            make(partial)
            partial.rename(folder)
    return folder
