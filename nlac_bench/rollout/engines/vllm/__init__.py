"""The vLLM engine: vLLM in this process, with weights that can be replaced."""
