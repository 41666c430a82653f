"""Writes the rules that the agent is told: with the procedures of a world, or with all valid ones."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from nlac_bench.envs.shop_worlds.conditions import CONDITIONS
from nlac_bench.envs.shop_worlds.procedures import KINDS, Kind, Procedure
from nlac_bench.envs.shop_worlds.worlds import ShopWorld

Rules: TypeAlias = Literal["told", "hidden"]

_TOLD = "Each kind of request has a procedure, which is the same for all customers:"
_HIDDEN = (
    "Each kind of request has a procedure, which is the same for all customers. You are not told which. It "
    "is one of these combinations:"
)
_TOLD_IF = (
    "Each kind of request has two procedures: one for when {holds}, and one for when {fails}. What the tools "
    "showed at the start of the conversation decides."
)
_HIDDEN_IF = (
    "Each kind of request has two procedures. Which of them is right depends on one fact, the same fact for "
    "all kinds of request. You are told neither the fact nor the procedures. What the tools showed at the "
    "start of the conversation decides. The fact is one of these:"
)
_COMBINATIONS = "The two procedures of each kind are two of these combinations:"
_ON_HOLD = "If it was not, the order is put `on hold` a little later,"
_REPAIR = (
    "If it was not, the first such call of a conversation is undone a little later: the order and the gift "
    "card are as they were before the call, unless they have been changed again since. You can then handle "
    "the request once more; a yes that the customer gave before does not count. A later call that does "
    "not follow the procedure cannot be repaired: the order is put `on hold` a little later,"
)


def policy(rules: Rules, world: ShopWorld, conditional: bool) -> str:
    """Return the policy text.

    Args:
        rules: ``told`` states the procedures of ``world``, and its condition; ``hidden`` states the valid
            ones, which are the same in every world.
        world: what the world requires.
        conditional: whether the level is ``conditional``.
    """
    base = (Path(__file__).parent / "policy.md").read_text(encoding="utf-8").rstrip()
    if not conditional:
        told = rules == "told"
        lines = _told(world.procedures) if told else _valid()
        return "\n".join([base, "", _TOLD if told else _HIDDEN, "", *lines])
    base = base.replace(_ON_HOLD, _REPAIR)
    if rules == "hidden":
        facts = [f"- whether {condition.rule}, or {condition.opposite}" for condition in CONDITIONS.values()]
        return "\n".join([base, "", _HIDDEN_IF, "", *facts, "", _COMBINATIONS, "", *_valid()])
    condition = CONDITIONS[str(world.condition)]
    stated = _TOLD_IF.format(holds=condition.rule, fails=condition.opposite)
    sides = [
        line
        for fact, procedures in ((condition.rule, world.procedures), (condition.opposite, world.otherwise))
        for line in ("", f"If {fact}:", "", *_told(procedures or {}))
    ]
    return "\n".join([base, "", stated, *sides])


def _told(procedures: Mapping[str, Procedure]) -> list[str]:
    return [_line(KINDS[name], _sentences(KINDS[name], taken)) for name, taken in procedures.items()]


def _sentences(kind: Kind, taken: Procedure) -> list[str]:
    return [choice.rules[option] for choice, option in zip(kind.choices, taken, strict=True)]


def _valid() -> list[str]:
    return [
        _line(kind, ["either " + " or ".join(choice.rules.values()) for choice in kind.choices])
        for kind in KINDS.values()
    ]


def _line(kind: Kind, sentences: list[str]) -> str:
    return f"- {kind.title}: {'; and '.join(sentences)}."
