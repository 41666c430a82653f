"""What the engines, prompts and the learner use of a tokenizer of transformers."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Protocol

from nlac_bench.types import Messages, ToolSchema


class Tokenizer(Protocol):
    """A ``PreTrainedTokenizerBase`` of transformers."""

    name_or_path: str
    chat_template: str | dict[str, str] | None
    eos_token: str | None
    eos_token_id: int | None
    init_kwargs: dict[str, object]

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
    ) -> str:
        """Return the conversation as text."""

    def save_pretrained(self, folder: str | PathLike[str]) -> object:
        """Write the tokenizer's files into ``folder``."""
