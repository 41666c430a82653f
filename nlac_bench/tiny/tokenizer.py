"""Trains the embedded model's tokenizer: byte-level BPE with separate tokens for marks and numbers."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nlac_bench.agents.roles.compact import MARKS

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

VOCABULARY = 2_048
END, PAD = "<|end|>", "<|pad|>"
TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
"""The chat template adds nothing to a prompt, neither before it nor between it and the answer."""

_PIECES = (
    r"~\d+"  # an identifier's number is always one token, so that it can be copied
    r'|[\[\]{}":, ]*"[a-z_0-9]+": "?'  # a key of a JSON record and the punctuation around it
    r"|\d"
    r"| ?[A-Za-z]+(?:_[a-z]+)*"
    r"| ?[^\sA-Za-z\d~]+"
    r"|\s+|~"
)


def train(texts: Iterable[str], heads: Sequence[str]) -> "PreTrainedTokenizerFast":
    """Train the tokenizer on ``texts``; ``heads`` are the marks that name environments."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(_PIECES), behavior="isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, to_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    special = [PAD, END, *MARKS, *heads]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=PAD,
        additional_special_tokens=special[2:],
        chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
    )


def save(tokenizer: "PreTrainedTokenizerFast", folder: Path) -> None:
    """Save ``tokenizer`` to ``folder`` so that ``AutoTokenizer`` reads it back unchanged.

    In a folder with a ``config.json`` of type qwen2, transformers 5 uses Qwen's pre-tokenization regardless
    of ``tokenizer.json``, which silently gives other tokens. It uses the declared class if ``auto_map`` is
    set; the entry names no code, so none is loaded.
    """
    tokenizer.save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text())
    config["tokenizer_class"] = "TokenizersBackend"
    config["auto_map"] = {"AutoTokenizer": ["", ""]}
    path.write_text(json.dumps(config, indent=2) + "\n")
