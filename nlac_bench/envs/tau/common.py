"""Defines the tools that both domains have, and helpers that several tools share."""

from typing import Any

from nlac_bench.envs.tau.arithmetic import ALLOWED, CalculationError
from nlac_bench.envs.tau.arithmetic import calculate as value_of
from nlac_bench.envs.tau.database import Database, Row


def calculate(db: Database, expression: Any) -> str:
    """Return the value of an arithmetic expression, rounded to two places."""
    for character in expression:
        if character not in ALLOWED:
            return "Error: invalid characters in expression"
    if not isinstance(expression, str):
        return "Error: eval() arg 1 must be a string, bytes or code object"
    try:
        return value_of(expression)
    except CalculationError as error:
        return f"Error: {error}"


def think(db: Database, thought: object) -> str:
    """Do nothing (a no-op); the argument is the agent's thought."""
    return ""


def transfer_to_human_agents(db: Database, summary: object) -> str:
    """Hand the conversation over to a human agent; ends the episode."""
    return "Transfer successful"


def existing(row: Row | None) -> Row:
    """Return ``row``; another row refers to it, so it must exist.

    Raises:
        KeyError: ``row`` is None.
    """
    if row is None:
        raise KeyError("the row that this row refers to is missing")
    return row
