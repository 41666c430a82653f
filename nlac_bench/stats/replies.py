"""Counts the agent's replies that were cut, were invalid actions, or followed the form of the prompt."""

from collections.abc import Iterable
from dataclasses import dataclass

from nlac_bench.types import Turn


@dataclass(slots=True)
class Replies:
    """Numbers of replies in all recorded episodes.

    ``cut`` replies reached their limit of tokens, whether or not they contained an action. The environment
    refused ``invalid`` ones as malformed. ``in_form`` ones have an action in ReAct's form, of those that were
    ``asked`` for it; other prompts ask for no form.
    """

    count: int = 0
    cut: int = 0
    invalid: int = 0
    in_form: int = 0
    asked: int = 0

    def add(self, turns: Iterable[Turn]) -> None:
        """Count the replies of an episode."""
        for turn in turns:
            self.count += 1
            self.cut += turn.finish == "length"
            self.invalid += turn.info.get("action_kind") == "invalid"
            self.asked += "in_form" in turn.info
            self.in_form += turn.info.get("in_form") is True

    def shares(self) -> dict[str, float | None]:
        """Return the shares of ``cut``, ``invalid`` and ``in_form`` replies; None without any to count."""
        parts = {"cut": (self.cut, self.count), "invalid": (self.invalid, self.count),
                 "in_form": (self.in_form, self.asked)}  # fmt: skip
        return {name: part / whole if whole else None for name, (part, whole) in parts.items()}

    def __str__(self) -> str:
        cut, invalid, in_form = self.shares().values()
        text = f"replies: {self.count:,}"
        if cut is not None and invalid is not None:
            text += f"; {cut:.1%} reached their limit of tokens (--max-tokens), {invalid:.1%} were invalid"
        return text if in_form is None else f"{text}, {in_form:.1%} followed the form of the prompt"
