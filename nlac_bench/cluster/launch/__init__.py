"""Starts a training run on many GPUs: vLLM servers that sample, and ranks of torchrun that learn."""
