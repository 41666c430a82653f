"""What the engines, prompts and the learner use of a tokenizer of transformers."""

import functools
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Protocol

from nlac_bench.types import Messages, ToolSchema


class AddedToken(Protocol):
    """A token that is not part of the tokenizer's model; ``special`` ones can be skipped in decoding."""

    special: bool


class Tokenizer(Protocol):
    """A ``PreTrainedTokenizerBase`` of transformers."""

    name_or_path: str
    chat_template: str | dict[str, str] | None
    eos_token: str | None
    eos_token_id: int | None
    init_kwargs: dict[str, object]
    added_tokens_decoder: Mapping[int, AddedToken]

    def __hash__(self) -> int:
        """Return a hash by identity."""

    def __call__(self, text: str, *, add_special_tokens: bool = True) -> Mapping[str, list[int]]:
        """Return the tokens of ``text`` as ``input_ids``."""

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        """Return the text of ``ids``."""

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]:
        """Return the text of each token, as the vocabulary has it."""

    def get_vocab(self) -> dict[str, int]:
        """Return the number of each token."""

    def apply_chat_template(
        self,
        messages: Messages,
        *,
        tools: list[ToolSchema] | None = None,
        tokenize: bool,
        add_generation_prompt: bool,
        enable_thinking: bool = True,
    ) -> str:
        """Return the conversation as text. Templates of some models read ``enable_thinking``."""

    def save_pretrained(self, folder: str | PathLike[str]) -> object:
        """Write the tokenizer's files into ``folder``."""


@functools.lru_cache(maxsize=8)  # transformers makes the table anew each time
def special_ids(tokenizer: Tokenizer) -> frozenset[int]:
    """Return the tokens that ``decode`` leaves out with ``skip_special_tokens=True``."""
    return frozenset(i for i, token in tokenizer.added_tokens_decoder.items() if token.special)
