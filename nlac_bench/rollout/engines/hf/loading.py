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
        encoded = tokenizer("Hello.", add_special_tokens=False)["input_ids"]
    if not encoded:  # transformers makes a tokenizer without a vocabulary where its files are missing
        raise NlacBenchError(
            f"cannot load the tokenizer of {str(name)!r}: it has no tokens for text; copy tokenizer.json and "
            "the other files of the tokenizer again"
        )
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


def check_layers(model: Any) -> None:
    """Check that all layers have full attention, the only kind that the transformers engine runs.

    Raises:
        NlacBenchError: some have another kind.
    """
    kinds = set(getattr(model.config.get_text_config(), "layer_types", None) or ["full_attention"])
    if kinds != {"full_attention"}:
        raise NlacBenchError(
            f"{model.config.name_or_path or type(model).__name__} has layers of kind "
            f"{sorted(kinds - {'full_attention'})}, the transformers engine runs full attention only; "
            "use --engine vllm or a served model"
        )


def context_of(model: Any) -> int:
    """Return the largest number of tokens of prompt and answer together.

    Raises:
        NlacBenchError: the model's configuration does not state it.
    """
    length = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if type(length) is not int or length < 1:
        raise NlacBenchError(
            f"config.json of {model.config.name_or_path!r} must state the length of the context as "
            f"max_position_embeddings, got {length!r:.100}"
        )
    return length


def end_ids(model: Any, tokenizer: Tokenizer) -> frozenset[int]:
    """Return the tokens that end an answer, from the model's generation settings and its tokenizer."""
    named = getattr(model.generation_config, "eos_token_id", None)
    listed = named if isinstance(named, list) else [named]
    return frozenset(int(i) for i in (*listed, tokenizer.eos_token_id) if i is not None)


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
