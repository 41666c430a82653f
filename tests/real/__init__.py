"""Tests with a real pretrained chat model, SmolLM2-135M-Instruct."""
