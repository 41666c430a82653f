"""Checks what an environment returned, before other code reads it.

``envs check``, the base class and the adapter of environments, the estimate of a run and the driver call the
same functions, so that they refuse the same values with the same words. They raise ``ValueError``: an episode
with such a value has no result, and the command line prints the message without a traceback. For an action,
which every episode would ask for, they raise ``NlacBenchError``, which stops a run.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from nlac_bench.errors import NlacBenchError
from nlac_bench.types import Usage

_COUNTS = tuple(f.name for f in fields(Usage))


def check_observation(observation: Any) -> None:
    """Check the observation of a reset or a step.

    Raises:
        ValueError: it is not a text.
    """
    if not _is_text(observation):
        raise ValueError(f"the environment returned the observation {_shown(observation)}; it must be a str")


def check_action(action: Any, method: str, env: str) -> str:
    """Return the action that ``method`` of the environment ``env`` returned.

    Raises:
        NlacBenchError: it is not a text.
    """
    if not _is_text(action):
        raise NlacBenchError(f"{method} of {env} returned the action {_shown(action)}; it must be a str")
    return str(action)


def check_actions(actions: Any, env: str) -> tuple[str, ...]:
    """Return the actions that ``constant_actions`` of the environment ``env`` returned.

    Raises:
        NlacBenchError: they are one text, cannot be iterated over, or one of them is not a text.
    """
    if _is_text(actions) or not isinstance(actions, Iterable):
        raise NlacBenchError(
            f"constant_actions of {env} returned {_shown(actions)}; it must be a list of actions, each a str"
        )
    return tuple(check_action(action, "constant_actions", env) for action in actions)


def check_info(info: Any) -> None:
    """Check the ``info`` of a reset or a step, as far as agents and runs read it.

    Raises:
        ValueError: it is not a dict, or ``policy``, ``tools``, ``examples`` or ``usage`` has a wrong type.
    """
    if not isinstance(info, Mapping):
        raise ValueError(f"the environment returned the info {_shown(info)}; it must be a dict")
    for key, holds, wanted in (
        ("policy", _is_text, "a str"),
        ("tools", _are_tools, "a list of tools in OpenAI's function format, each with a name"),
        ("examples", _are_messages, "a list of messages, each with a role and a content"),
        ("usage", _is_usage, f"a dict of roles, each with a dict that may have {', '.join(_COUNTS)}"),
    ):
        if key in info and not holds(info[key]):
            raise ValueError(f"info[{key!r}] must be {wanted}, got {_shown(info[key])}")


def check_reward(reward: Any) -> float:
    """Return the reward of a step as a float.

    Raises:
        ValueError: it is a text, or not a finite number; numbers of numpy are accepted.
    """
    try:
        number = math.nan if isinstance(reward, str | bytes | bytearray) else float(reward)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"the environment returned the reward {_shown(reward)}; it must be a finite number")
    return number


def check_step(observation: Any, reward: Any, terminated: Any, truncated: Any, info: Any) -> None:
    """Check what a step returned.

    Raises:
        ValueError: as ``check_observation``, ``check_reward`` and ``check_info``; or ``terminated`` or
            ``truncated`` is not a bool; or the episode has ended and ``info["success"]`` or
            ``info["reward_parts"]`` has a wrong type.
    """
    check_observation(observation)
    check_reward(reward)
    for name, value in (("terminated", terminated), ("truncated", truncated)):
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"the environment returned {name}={_shown(value)}; it must be True or False")
    check_info(info)
    if not (terminated or truncated):
        return
    success, parts = info.get("success"), info.get("reward_parts")
    if success is not None and success not in (0, 1):
        raise ValueError(f"info['success'] must be True, False or None, got {_shown(success)}")
    if parts is not None and not _are_parts(parts):
        raise ValueError(
            f"info['reward_parts'] must be a dict of names and finite numbers, got {_shown(parts)}"
        )


def _shown(value: Any) -> str:
    """Return ``repr(value)``, or the kind of an integer that has too many digits to be shown."""
    try:
        return f"{value!r:.80}"
    except ValueError:
        return f"{type(value).__name__} with too many digits to be shown"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_dicts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, Mapping) for each in value)


def _are_tools(value: Any) -> bool:
    if not _are_dicts(value):
        return False
    functions = [tool.get("function", tool) for tool in value]
    return _are_dicts(functions) and all(_is_text(each.get("name")) for each in functions)


def _are_messages(value: Any) -> bool:
    return _are_dicts(value) and all(_is_text(m.get("role")) and _is_text(m.get("content")) for m in value)


def _is_usage(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(role, str) and isinstance(counts, Mapping) and set(counts) <= set(_COUNTS)
        for role, counts in value.items()
    )


def _are_parts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and _is_finite(part) for name, part in value.items()
    )


def _is_finite(value: Any) -> bool:
    try:
        return isinstance(value, int | float | np.integer | np.floating | np.bool_) and math.isfinite(value)
    except OverflowError:  # an integer of more than 308 digits
        return False
