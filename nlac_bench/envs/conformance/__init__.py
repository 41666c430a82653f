"""The contract of a text environment as one suite, for the built-in environments and for a user's own.

    for result in check(lambda **kwargs: gymnasium.make("my_pkg:MyEnv-v0", **kwargs)):
        print(result.name, result.passed, result.detail)

Every check makes environments of its own, so that none depends on what another left behind. For a plain
Gymnasium environment with text spaces the checks of what only ``TextEnv`` promises are not applicable.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nlac_bench.envs.conformance import episodes, robustness, wrapping
from nlac_bench.envs.conformance.advice import advise
from nlac_bench.envs.conformance.play import CHECKS, MakeEnv, NotApplicableError, Subject

__all__ = ["CHECKS", "CheckResult", "advise", "check"]


_MODULES = (episodes, robustness, wrapping)
"""Importing them registers their checks."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """``passed`` is None where the check does not apply; ``detail`` says why, or what went wrong."""

    name: str
    passed: bool | None
    detail: str


def check(
    make_env: MakeEnv, *, env_id: str | None = None, kwargs: Mapping[str, Any] | None = None
) -> list[CheckResult]:
    """Put an environment through every check.

    Args:
        make_env: makes a fresh environment; must pass on ``render_mode``.
        env_id: its Gymnasium id, for ``gymnasium.make_vec``.
        kwargs: constructor arguments that go with ``env_id``.
    """
    subject = Subject(make_env, env_id, kwargs or {})
    results = []
    for name, function in CHECKS.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results.append(CheckResult(name, True, function(subject)))
        except NotApplicableError as reason:
            results.append(CheckResult(name, None, str(reason)))
        except Exception as error:  # whatever a stranger's environment raises is its result
            results.append(CheckResult(name, False, f"{type(error).__name__}: {error}"[:500]))
    return results
