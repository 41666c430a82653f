"""Tests with a real vLLM on the CPU; ``make test-vllm`` runs all of them."""

WHERE = "`make test-vllm`, which is part of .ci/run, runs it: it installs vLLM in .venv-vllm"
"""Why a test is skipped elsewhere."""
ONE_PROCESS = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
"""Environment of a vLLM whose engine process computes itself.

By default a vLLM on a CPU computes in a second process, which imports everything again, and each of the two
uses a whole core while it waits for the other. The fixture ``engine`` and ``test_training`` run like that.
"""
