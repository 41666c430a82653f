"""Writes the rules that the agent is told: with the procedures of a world, or with all valid ones."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from nlac_bench.envs.shop_worlds.procedures import KINDS, Procedure

Rules: TypeAlias = Literal["told", "hidden"]

_TOLD = "Each kind of request has a procedure, which is the same for all customers:"
_HIDDEN = (
    "Each kind of request has a procedure, which is the same for all customers. You are not told which. It "
    "is one of these combinations:"
)


def policy(rules: Rules, procedures: Mapping[str, Procedure]) -> str:
    """Return the policy text.

    Args:
        rules: ``told`` states ``procedures``; ``hidden`` states the valid ones, which are the same in every
            world.
        procedures: those of the world, by kind.
    """
    base = (Path(__file__).parent / "policy.md").read_text(encoding="utf-8").rstrip()
    lines = []
    for name, kind in KINDS.items():
        if rules == "told":
            sentences = [c.rules[option] for c, option in zip(kind.choices, procedures[name], strict=True)]
        else:
            sentences = ["either " + " or ".join(choice.rules.values()) for choice in kind.choices]
        lines.append(f"- {kind.title}: {'; and '.join(sentences)}.")
    return "\n".join([base, "", _TOLD if rules == "told" else _HIDDEN, "", *lines])
