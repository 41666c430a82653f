"""Plays one episode of an environment and stores it, as ``run`` does; the last check of ``envs check``."""

import asyncio
import functools
import tempfile
from contextlib import aclosing
from pathlib import Path

from nlac_bench.envs.conformance import CHECK_S, CheckResult
from nlac_bench.envs.foreign import ForeignCodeError, bounded, described
from nlac_bench.harness.measure.play import specs_of
from nlac_bench.harness.measure.prepare import Prepared, prepare
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.rollout.driver import Driver, Failure
from nlac_bench.rollout.limits import PlayLimits

NAME = "a run stores an episode"
MAX_TURNS = 200


def stored_episode(env: str) -> CheckResult:
    """Play an episode of random actions, at most ``MAX_TURNS``, write it to a run folder and read it back."""
    try:
        return bounded(functools.partial(_checked, env), CHECK_S)
    except ForeignCodeError as error:
        return CheckResult(NAME, False, str(error))


def _checked(env: str) -> CheckResult:
    try:
        prepared = prepare(RunConfig(env=env, agent="random", limit=1, max_turns=MAX_TURNS))
        with tempfile.TemporaryDirectory() as folder:
            problem = _problem(prepared, Path(folder) / "run")
    except BaseException as error:  # any exception of the environment, also SystemExit, fails the check
        problem = described(error)
    return CheckResult(NAME, problem is None, problem or "")


def _problem(prepared: Prepared, folder: Path) -> str | None:
    """Return why the episode could not be played, stored or read; None without a problem."""
    limits = PlayLimits(turns=prepared.config.max_turns)
    driver = Driver(prepared.agent, prepared.environments.make_env, concurrency=1, limits=limits)
    with prepared.new_run(folder) as writer:

        async def play() -> str | None:
            async with aclosing(driver.run(specs_of(prepared.config.env, writer.owed()))) as results:
                async for result in results:
                    if isinstance(result, Failure):
                        return f"{result.error}: {result.message}"[:500]
                    writer.append(result)
            return None

        problem = asyncio.run(play())
    return problem or (None if list(RunFolder.open(folder).episodes()) else "no episode was stored")
