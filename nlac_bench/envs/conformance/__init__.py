"""Checks the contract of text environments, of built-in environments and of a user's own.

    for result in check(lambda **kwargs: gymnasium.make("my_pkg:MyEnv-v0", **kwargs)):
        print(result.name, result.passed, result.detail)

Every check makes its own environments, so that checks do not depend on each other. For a plain Gymnasium
environment with text spaces, checks of what only a ``TextEnv`` guarantees do not apply.
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
"""Modules whose import registers their checks."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of one check.

    ``passed`` is None where the check does not apply. ``detail`` is a remark, the reason why the check does
    not apply, or the problem.
    """

    name: str
    passed: bool | None
    detail: str


def check(
    make_env: MakeEnv, *, env_id: str | None = None, kwargs: Mapping[str, Any] | None = None
) -> list[CheckResult]:
    """Run every check on an environment.

    Args:
        make_env: makes a new environment; must accept ``render_mode``.
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
        except Exception as error:  # any exception of the environment fails the check
            results.append(CheckResult(name, False, f"{type(error).__name__}: {error}"[:500]))
    return results
