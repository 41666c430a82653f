"""Checks the fields of ``metrics.jsonl`` that curves and reports read; a run may come from somebody else."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Amount = Annotated[int | float, Field(ge=0, lt=2**63)]
_Tasks = Annotated[int, Field(ge=1, lt=2**63)]
_Rate = Annotated[float, Field(ge=0, le=1)]
_Bound = Annotated[float, Field(ge=-1e-6, le=1 + 1e-6)]
"""An end of an interval of a rate, which rounding can move beyond 0 or 1."""


class _Fields(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)


class _Spent(_Fields):
    """The cost of a role, as ``nlac_bench.types.Usage``."""

    model_config = ConfigDict(extra="forbid")

    calls: _Count = 0
    prompt_tokens: _Count = 0
    completion_tokens: _Count = 0
    cost: _Amount = 0.0
    seconds: _Amount = 0.0


class _Row(_Fields):
    """The costs of training until a row was written."""

    gradient_steps_total: _Amount
    env_steps: _Amount
    tokens: _Amount
    seconds: _Amount


class _Iteration(_Row):
    train_success: _Rate | None = None
    usage: dict[str, _Spent] = {}
    examples_policy: _Amount = 0
    examples_critic: _Amount = 0
    ended_early: Annotated[str, Field(max_length=1_000, pattern=r"^[ -~]*$")] | None = None


class _Validation(_Row):
    success: _Rate
    ci: Annotated[list[_Bound], Field(min_length=2, max_length=2)]
    best: bool
    tasks: _Tasks = 1
    planned: _Tasks = 1


class _Compared(_Row):
    success: _Rate
    tasks: _Tasks = 1


_KINDS: dict[str, type[_Row]] = {"iteration": _Iteration, "validation": _Validation, "compared": _Compared}


def fault_of(row: Mapping[str, Any], kind: str) -> str | None:
    """Return the fault of a row, or None.

    Args:
        kind: ``iteration`` or ``validation``, of ``metrics.jsonl``; or ``compared``, a validation in the
            ``comparison.json`` of a sweep.
    """
    try:
        _KINDS[kind].model_validate(row)
    except ValidationError as error:
        fault = error.errors()[0]
        return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
    return None
