"""Loads causal language models with transformers."""

from typing import Any


def load_model(name: Any, dtype: Any) -> Any:
    """Load a causal language model by name or folder, without remote code and without a progress bar.

    Args:
        name: a Hugging Face id or folder.
        dtype: of the weights, as transformers takes it.

    Raises:
        OSError, ValueError: the model cannot be loaded.
    """
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()  # it would overwrite the run's own progress line
    return AutoModelForCausalLM.from_pretrained(
        name, dtype=dtype, attn_implementation="sdpa", trust_remote_code=False
    )
