"""Plays the missing episodes of a run; each result is written to disk before it is reported."""

import inspect
from collections.abc import Callable, Sequence
from contextlib import ExitStack, aclosing

from nlac_bench.harness.measure.prepare import Prepared
from nlac_bench.harness.runs.seeds import Planned
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.rollout.driver import Driver, EpisodeSpec, Failure
from nlac_bench.rollout.interrupts import graceful_interrupt
from nlac_bench.rollout.limits import PlayLimits
from nlac_bench.types import Episode


def specs_of(env: str, planned: Sequence[Planned]) -> list[EpisodeSpec]:
    """Return what the driver plays for ``planned`` episodes of ``env``."""
    return [EpisodeSpec(env, item.task_id, item.trial, item.seed) for item in planned]


def adapted(prepared: Prepared) -> dict[str, str]:
    """Return how requests were changed because a server refused them, of the policy and of the simulator."""
    simulator = inspect.unwrap(prepared.environments.chat) if prepared.environments.chat else None
    engines = {"": getattr(prepared.agent, "engine", None), "user.": getattr(simulator, "engine", None)}
    return {
        f"{prefix}{name}": what
        for prefix, engine in engines.items()
        for name, what in getattr(engine, "adapted", {}).items()
    }


async def play(
    prepared: Prepared, writer: RunWriter, on_result: Callable[[Episode | Failure], None]
) -> Driver:
    """Play and record the planned episodes that ``writer`` lacks; call ``on_result`` with each result.

    Episodes that fail because of the infrastructure are played once more at the end, except after time-outs
    in a run in which no episode ended, because the server then hangs. Those that fail again remain missing,
    and a resumed run plays them. After Ctrl-C, running episodes finish and no others start.
    """
    config = prepared.config
    driver = Driver(
        prepared.agent,
        prepared.environments.make_env,
        concurrency=config.concurrency,
        limits=PlayLimits(turns=config.max_turns, seconds=config.max_seconds),
        run_limits=PlayLimits(cost=config.max_cost),
    )
    planned: dict[tuple[str | None, int, int], Planned] = {
        (item.task_id, item.trial, item.seed): item for item in writer.folder.plan
    }
    ended, timed_out = 0, set()
    with ExitStack() as stack:
        stack.callback(lambda: writer.note_adapted(adapted(prepared)))
        stack.enter_context(graceful_interrupt(driver))
        for _ in range(2):
            owed = [item for item in writer.owed() if ended or item.key not in timed_out]
            specs = specs_of(config.env, owed)
            if not specs or driver.stopped:
                break
            async with aclosing(driver.run(specs)) as results:
                async for result in results:
                    if isinstance(result, Failure):
                        spec = result.spec
                        if result.timed_out:
                            timed_out.add((spec.task_id, spec.trial))
                        writer.record_failure(planned[spec.task_id, spec.trial, spec.seed], result)
                    else:
                        writer.append(result)
                        ended += 1
                    on_result(result)
    return driver
