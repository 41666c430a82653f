"""Settings: one pydantic declaration gives defaults, bounds, help texts, command-line options and errors."""

import types
import typing
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from nlac_bench.errors import ConfigError

_BOUNDS = (("ge", "at least"), ("gt", "above"), ("le", "at most"), ("lt", "below"))
_NAMES: Mapping[Any, str] = {
    str: "text", dict: "a table", int: "a whole number", float: "a finite number", bool: "true or false",
}  # fmt: skip


class Settings(BaseModel):
    """Base class of all settings. Instances are immutable; unknown names raise an error.

    A field's ``description`` is its help text. Types are strict; only ``from_texts`` converts texts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], source: str = "") -> Self:
        """Create the settings from ``values``; settings that are absent get their defaults.

        Args:
            source: where the values come from; error messages begin with it.

        Raises:
            ConfigError: a setting is unknown, missing or invalid; the message names it and what it must be.
        """
        return cls._validated(values, values, source)

    @classmethod
    def from_texts(cls, values: Mapping[str, Any], source: str = "") -> Self:
        """Read the settings as ``from_mapping`` does, and convert texts (of a command line) to numbers."""
        fields = cls.model_fields
        read = {k: parsed(v, fields[k].annotation) if k in fields else v for k, v in values.items()}
        return cls._validated(read, values, source)

    @classmethod
    def _validated(cls, values: Mapping[str, Any], given: Mapping[str, Any], source: str) -> Self:
        """Validate ``values``; an error shows them as they were ``given``."""
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            raise ConfigError(source + explain(cls, given, error)) from None

    def as_dict(self) -> dict[str, Any]:
        """Return all settings as plain JSON values, in the order of their declaration."""
        return self.model_dump(mode="json")

    def changed(self, **changes: Any) -> Self:
        """Return a copy with ``changes``, validated in the same way."""
        return type(self).model_validate({**dict(self), **changes})


def kinds(annotation: Any) -> tuple[Any, ...]:
    """Return the alternatives of ``annotation`` without None: ``int | None`` gives ``(int,)``."""
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        return tuple(
            k for part in typing.get_args(annotation) for k in kinds(part) if k is not types.NoneType
        )
    if typing.get_origin(annotation) is Annotated:
        return kinds(typing.get_args(annotation)[0])
    return (annotation,)


def parsed(value: Any, annotation: Any) -> Any:
    """Convert ``value`` to the type of ``annotation`` if it is a text (or whole float) that can be converted.

    Other values are returned unchanged, so that validation reports them.
    """
    wanted = kinds(annotation)
    if value == "none" and types.NoneType in typing.get_args(annotation):
        return None
    if bool in wanted and value in ("true", "false"):
        return value == "true"
    if isinstance(value, bool) or not {int, float} & set(wanted):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return value
    if int in wanted and float not in wanted:
        return int(number) if number.is_integer() else value
    return number


def explain(model: type[BaseModel], values: Mapping[str, Any], error: ValidationError) -> str:
    """Describe the first fault of ``error`` in one line: the setting, the expected and the given value."""
    fault = error.errors()[0]
    if fault["type"] == "value_error":
        return str(fault["ctx"]["error"])
    owner: Any = model
    names: list[str] = []
    field: FieldInfo | None = None
    value: Any = values
    for part in fault["loc"]:  # descend into nested tables; a fault in a list item is reported for the list
        fields = getattr(owner, "model_fields", None)
        if fields is not None and fault["type"] == "extra_forbidden" and part not in fields:
            return "".join(f"{name}: " for name in names) + explain_unknown(str(part), owner)
        if fields is not None and fault["type"] == "missing" and part not in value:
            return ".".join([*names, str(part)]) + " is not set"
        if fields is not None:
            field = fields[str(part)]
            (owner, *_) = kinds(field.annotation)
        elif typing.get_origin(owner) is dict:
            owner = typing.get_args(owner)[1]
        else:
            break
        names.append(str(part))
        value = value[part] if isinstance(value, Mapping) else getattr(value, str(part))
    if field is None:
        return str(fault["msg"])
    if fault["type"].startswith(("greater_than", "less_than")):
        wanted = bounds(field)
    else:
        nested = len(names) > 1 and typing.get_origin(kinds(field.annotation)[0]) is dict
        wanted = " or ".join(map(_name, [owner] if nested else kinds(field.annotation)))
    return f"{'.'.join(names)} must be {wanted}, got {_shown(value)}"


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:  # Python writes no integer of more than 4,300 digits
        return "an integer that is too long to be written"


def explain_unknown(name: str, model: type[BaseModel]) -> str:
    """Return the message that ``model`` has no setting ``name``; it lists the settings that exist."""
    return f"unknown setting {name!r}; the settings are {', '.join(model.model_fields)}"


def bounds(field: FieldInfo) -> str:
    """Return the bounds of ``field`` in words, such as ``at least 0 and at most 1``; empty without bounds."""
    limits = [(getattr(limit, key, None), word) for key, word in _BOUNDS for limit in field.metadata]
    return " and ".join(
        f"{word} {limit if isinstance(limit, int) else format(limit, 'g')}"
        for limit, word in limits
        if limit is not None
    )


def _name(kind: Any) -> str:
    origin = typing.get_origin(kind)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "a table"
    if origin is Literal:
        words = ", ".join(map(str, typing.get_args(kind)))
        return f"one of {words}" if "," in words else words
    if origin is list:
        return "a list of " + ("texts" if typing.get_args(kind)[0] is str else "numbers")
    return _NAMES.get(origin or kind, getattr(kind, "__name__", str(kind)))
