"""Tests with a real vLLM on the CPU; ``make test-vllm`` runs all of them."""

WHERE = "`make test-vllm`, which is part of .ci/run, runs it: it installs vLLM in .venv-vllm"
"""Why a test is skipped elsewhere."""
