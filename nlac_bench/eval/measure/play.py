"""Playing the episodes that a run still owes; every result is on disk before anybody is told of it."""

from collections.abc import Callable
from contextlib import aclosing

from nlac_bench.eval.measure.prepare import Prepared
from nlac_bench.eval.runs.seeds import Planned
from nlac_bench.eval.runs.writer import RunWriter
from nlac_bench.rollout.driver import Driver, EpisodeSpec, Failure, graceful_interrupt
from nlac_bench.rollout.limits import Limits
from nlac_bench.types import Episode


async def play(
    prepared: Prepared, writer: RunWriter, on_result: Callable[[Episode | Failure], None]
) -> Driver:
    """Play what ``writer`` still owes and record each result, then call ``on_result`` with it.

    Episodes that fail for a reason of infrastructure are played once more at the end; those that fail again
    stay owed. Ctrl-C lets running episodes finish and leaves the rest owed.
    """
    config = prepared.config
    driver = Driver(
        prepared.agent,
        prepared.make_env,
        concurrency=config.concurrency,
        limits=Limits(turns=config.max_turns, seconds=config.max_seconds),
        run_limits=Limits(cost=config.max_cost),
    )
    planned: dict[tuple[str | None, int, int], Planned] = {
        (item.task_id, item.trial, item.seed): item for item in writer.folder.plan
    }
    with graceful_interrupt(driver):
        for _ in range(2):
            specs = [EpisodeSpec(config.env, item.task_id, item.trial, item.seed) for item in writer.owed()]
            if not specs or driver.stopped:
                break
            async with aclosing(driver.run(specs)) as results:
                async for result in results:
                    if isinstance(result, Failure):
                        spec = result.spec
                        writer.record_failure(planned[spec.task_id, spec.trial, spec.seed], result)
                    else:
                        writer.append(result)
                    on_result(result)
    return driver
