"""Notices prompts that a server cuts silently, by their lengths and the tokens that it reports.

Ollama, for example, leaves out the beginning of a prompt that does not fit, and answers the rest.
"""

import math
from collections.abc import Mapping
from typing import Any

_LEAST_TOKENS = 500
_ALIKE, _SPREAD, _NO_MORE = 3, 1.1, 0.9
_PER_TOKEN = 4.0


class PromptLengths:
    """The lengths of the prompts that one server has answered."""

    def __init__(self) -> None:
        self.per_token = _PER_TOKEN
        """Characters of a token, in the latest prompt."""
        self.cut = False
        """Whether the server left out a part of a prompt."""
        self._most: dict[int, int] = {}
        self._longest = 0
        self._at_longest: list[int] = []

    def add(self, characters: int, usage: Any) -> bool:
        """Add a prompt; return whether it is the first that shows that the server cuts prompts.

        It does if a prompt has hardly more tokens than one of half its length, or if prompts of different
        lengths have the same number of tokens, which none exceeds.
        """
        tokens = usage.get("prompt_tokens") if isinstance(usage, Mapping) else None
        if type(tokens) is not int or not 1 <= tokens <= 10**9:
            return False
        if _cached(usage):  # some servers do not count cached tokens
            return False
        if tokens > 50 and characters > 200:
            self.per_token = min(8.0, max(1.0, characters / tokens))
        if self.cut or tokens < _LEAST_TOKENS:
            return False
        size = int(math.log2(characters + 1))
        shorter = max((most for each, most in self._most.items() if each <= size - 2), default=0)
        self._most[size] = max(self._most.get(size, 0), tokens)
        if tokens > self._longest:
            self._longest, self._at_longest = tokens, []
        if tokens == self._longest and characters not in self._at_longest:
            self._at_longest = sorted([*self._at_longest, characters])[-100:]
        alike = len(self._at_longest) >= _ALIKE and self._at_longest[-1] > _SPREAD * self._at_longest[0]
        self.cut = alike or shorter >= _NO_MORE * tokens
        return self.cut


def _cached(usage: Mapping[str, Any]) -> bool:
    details = usage.get("prompt_tokens_details")
    places = (usage, details if isinstance(details, Mapping) else {})
    return any("cache" in str(name) and value for place in places for name, value in place.items())
