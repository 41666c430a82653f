"""The base class and the bounded types of all parts of a leaderboard's entry."""

from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Name: TypeAlias = Annotated[str, StringConstraints(max_length=500)]
Text: TypeAlias = Annotated[str, StringConstraints(max_length=4_000)]
Id: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_.-]{0,159}$")]
Sha256: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
_LARGEST = 10**15
"""Sums of thousands of such numbers are integers of 63 bits, and far from the largest float."""
Count: TypeAlias = Annotated[int, Field(ge=0, le=_LARGEST)]
Amount: TypeAlias = Annotated[float, Field(ge=0, le=_LARGEST)]
Return: TypeAlias = Annotated[float, Field(ge=-_LARGEST, le=_LARGEST)]
"""The sum of an episode's rewards."""
Rate: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Bounds: TypeAlias = tuple[float, float]
"""A 95 % confidence interval."""


class EntryPart(BaseModel):
    """Base class of all parts of an entry: immutable, with strict types and without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def without(content: dict[str, Any], *names: str) -> dict[str, Any]:
    """Leave out fields that earlier versions did not have, so that ids of entries without them stay."""
    return {name: value for name, value in content.items() if name not in names or value is not None}
