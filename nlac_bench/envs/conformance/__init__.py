"""Checks the contract of text environments, of built-in environments and of a user's own.

    for result in check(lambda **kwargs: gymnasium.make("my_pkg:MyEnv-v0", **kwargs)):
        print(result.name, result.passed, result.detail)

Every check makes its own environments, so that checks do not depend on each other. For a plain Gymnasium
environment with text spaces, checks of what only a ``TextEnv`` guarantees do not apply.
"""

import functools
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nlac_bench.envs.conformance import episodes, robustness, wrapping
from nlac_bench.envs.conformance.advice import advise
from nlac_bench.envs.conformance.play import CHECKS, CheckedEnv, MakeEnv, NotApplicableError
from nlac_bench.envs.foreign import ForeignCodeError, bounded, described

__all__ = ["CHECKS", "CheckResult", "advise", "check"]


_MODULES = (episodes, robustness, wrapping)
"""Modules whose import registers their checks."""

CHECK_S = 300.0
"""Seconds that one check may take; an environment that does not return fails it."""


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
    subject = CheckedEnv(make_env, env_id, kwargs or {})
    results: list[CheckResult] = []
    for name in CHECKS:
        try:
            results.append(bounded(functools.partial(_checked, name, subject), CHECK_S))
        except ForeignCodeError as error:
            # The environment's threads and processes still run: further checks would not end either.
            rest = list(CHECKS)[len(results) + 1 :]
            results.append(CheckResult(name, False, str(error)))
            results += [CheckResult(left, None, f"not run, because {name!r} did not end") for left in rest]
            break
    return results


def _checked(name: str, subject: CheckedEnv) -> CheckResult:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return CheckResult(name, True, CHECKS[name](subject))
    except NotApplicableError as reason:
        return CheckResult(name, None, str(reason))
    except BaseException as error:  # any exception of the environment, also SystemExit, fails the check
        return CheckResult(name, False, described(error))
