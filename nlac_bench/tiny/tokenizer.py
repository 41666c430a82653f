"""The embedded model's tokenizer: byte-level BPE; marks, identifier numbers and digits stand alone."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from nlac_bench.agents.nlac.compact import MARKS

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
