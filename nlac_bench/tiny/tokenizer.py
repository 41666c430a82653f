"""The embedded model's tokenizer: byte-level BPE; marks, identifier numbers and digits stand alone."""

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
"""A prompt is shown to the model as it is: nothing stands before it, nothing between it and the answer."""

_PIECES = (
    r"~\d+"  # an identifier's number is one token wherever it stands, so that it can be copied
    r'|[\[\]{}":, ]*"[a-z_0-9]+": "?'  # a key of a JSON record with the punctuation around it
    r"|\d"
    r"| ?[A-Za-z]+(?:_[a-z]+)*"
    r"| ?[^\sA-Za-z\d~]+"
    r"|\s+|~"
)


def train(texts: Iterable[str], heads: Sequence[str]) -> "PreTrainedTokenizerFast":
    """Learn the merges from ``texts``; ``heads`` are the marks that name environments."""
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
    """Write ``tokenizer`` so that ``AutoTokenizer`` reads back this very one.

    Beside a ``config.json`` of type qwen2, transformers 5 takes Qwen's own rules for cutting text into pieces
    whatever ``tokenizer.json`` says, and silently makes other tokens. It honours the declared class where
    ``auto_map`` is set (the entry itself is never followed: it names no code).
    """
    tokenizer.save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text())
    config["tokenizer_class"] = "TokenizersBackend"
    config["auto_map"] = {"AutoTokenizer": ["", ""]}
    path.write_text(json.dumps(config, indent=2) + "\n")
