"""The vLLM engine, which runs vLLM in this process and can replace its weights."""
