"""Marks of the rollout's tests."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """vLLM is an extra: its tests run where it can be imported."""
    config.addinivalue_line("markers", "vllm: starts vLLM (on a CPU: VLLM_CPU_KVCACHE_SPACE=1)")
