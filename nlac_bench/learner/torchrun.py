"""Reads the environment variables that torchrun sets for a process. This module does not import torch."""

import os


def rank() -> int:
    """Return the number of this process among those that torchrun has started; 0 without torchrun."""
    return int(os.environ.get("RANK", "0"))


def world_size() -> int:
    """Return the number of processes that torchrun has started on all machines; 1 without torchrun."""
    return int(os.environ.get("WORLD_SIZE", "1")) if "RANK" in os.environ else 1


def local_rank() -> int:
    """Return the number of this process among those on this machine; 0 without torchrun."""
    return int(os.environ.get("LOCAL_RANK", "0"))
