"""Loads causal language models and tokenizers with transformers, without executing code of the model."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.model_files import check_model
from nlac_bench.rollout.engines.tokenizer import Tokenizer

ALIGNMENT = 64
"""Alignment in bytes of the memory that PyTorch allocates on CPUs."""


def load_model(name: str | PathLike[str], dtype: object) -> Any:
    """Load a causal language model by name or folder: safetensors only, no code, and no progress bar.

    Args:
        name: a Hugging Face id or folder.
        dtype: of the weights, as transformers takes it.

    Raises:
        NlacBenchError: the model cannot be loaded, its weights are not complete, or they would have to be
            unpickled.
    """
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    # cuDNN's attention plans each new shape, for about 80 ms on an H100; most passes here have a new shape.
    torch.backends.cuda.enable_cudnn_sdp(False)
    logging.disable_progress_bar()  # it would overwrite the run's own progress line
    with _errors_of(name):
        check_model(name)
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            name,
            dtype=dtype,
            attn_implementation="sdpa",
            trust_remote_code=False,
            use_safetensors=True,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
    model, report = loaded
    # transformers would give these tensors random values.
    for problem, names in (
        ("lack", report["missing_keys"]),
        ("have other shapes of", report["mismatched_keys"]),
    ):
        if names:
            raise NlacBenchError(
                f"cannot load the model {str(name)!r}: its weights {problem} {len(names)} tensors, the first "
                f"is {min(map(str, names))}; copy or download the model again"
            )
    ends = getattr(model.generation_config, "eos_token_id", None)
    if not all(end is None or type(end) is int for end in (ends if isinstance(ends, list) else [ends])):
        raise NlacBenchError(
            f"cannot load the model {str(name)!r}: eos_token_id in its generation_config.json must be a "
            f"token's number or a list of them, got {ends!r:.100}"
        )
    _align(model)
    return model


def _align(model: Any) -> None:
    """Copy parameters whose memory does not begin at a multiple of ``ALIGNMENT``.

    Parameters stay where the file is mapped. On some processors the last bits of matrix products depend on
    the alignment of their operands, and so on the position of a tensor in the file.
    """
    for parameter in model.parameters():
        if parameter.data_ptr() % ALIGNMENT:
            parameter.data = parameter.data.clone()


def load_tokenizer(name: str | PathLike[str]) -> Tokenizer:
    """Load a tokenizer by the model's name or folder, without remote code.

    Raises:
        NlacBenchError: the tokenizer cannot be loaded, or its code would have to be executed.
    """
    from transformers import AutoTokenizer

    with _errors_of(name):
        check_model(name)
        tokenizer: Tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        return tokenizer


def check_vocabulary(model: Any, tokenizer: Tokenizer) -> None:
    """Check that the model has an embedding for each token of the tokenizer.

    Raises:
        NlacBenchError: a token has a number beyond the embeddings.
    """
    rows = int(model.get_input_embeddings().weight.shape[0])
    token, number = max(tokenizer.get_vocab().items(), key=lambda item: item[1])
    if number >= rows:
        raise NlacBenchError(
            f"the tokenizer of {tokenizer.name_or_path!r} does not belong to the model: its token "
            f"{token!r:.80} has number {number:,}, and the model has embeddings for {rows:,} tokens; use the "
            "tokenizer with which the model was trained, or resize the embeddings"
        )


@contextmanager
def _errors_of(name: str | PathLike[str]) -> Iterator[None]:
    """Turn what transformers raises for a model's files, which can be any exception, into NlacBenchError."""
    try:
        yield
    except NlacBenchError:
        raise
    except Exception as error:
        if "trust_remote_code" in str(error):
            reason = (
                "it needs its own Python code, which is never executed; run the model on a server "
                "(--base-url)"
            )
        else:
            reason = " ".join(str(error).split())[:1000] or type(error).__name__
        raise NlacBenchError(f"cannot load the model {str(name)!r}: {reason}") from error
