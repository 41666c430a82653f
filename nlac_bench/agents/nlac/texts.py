"""Makes the records of ``critiques.jsonl`` and ``probes.jsonl`` from lessons."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.nlac.records import Continued, CritiqueRecord, ProbeRecord
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.rollout.engines.engine import derive_seed
from nlac_bench.rollout.engines.routing import Conversation, within

if TYPE_CHECKING:
    from nlac_bench.agents.nlac.algorithm import NLAC


def critique_records(nlac: "NLAC", lessons: Sequence[Lesson], seed: int) -> list[CritiqueRecord]:
    """Return the records of at most ``kept_critiques`` of the iteration's lessons, in order.

    Lessons without a text of the critic are left out. ``seed`` determines which of the others are drawn, with
    a random generator of its own.
    """
    written = [(number, x) for number, x in enumerate(lessons) if x.target or x.future or x.critique]
    drawn = np.random.default_rng(seed).permutation(len(written))[: nlac.config.kept_critiques]
    return [
        CritiqueRecord(
            **_reading(nlac, lesson, nlac.replay.iteration + 1),
            lesson=number,
            played_weight_version=lesson.transition.weight_version,
            target=lesson.target,
            proposed=lesson.first,
        )
        for number, lesson in (written[i] for i in sorted(drawn.tolist()))
    ]


async def probe_records(nlac: "NLAC", states: Sequence[Transition], iteration: int) -> list[ProbeRecord]:
    """Sample the critic's texts about the played actions of ``states``, and continue some refined actions.

    The first ``probe_playouts`` states whose refined action differs from the played one are continued with
    both, in forks. The random numbers of a state are the same in all iterations, so that the same weights
    write the same texts.
    """

    async def one(number: int, t: Transition) -> Lesson:
        with within(Conversation()):
            lesson = Lesson(
                t, 1.0, nlac.seeded_speaker(derive_seed(nlac.resources.seed, "probe set", number))
            )
            await nlac.reread(lesson)
        return lesson

    lessons = await asyncio.gather(*(one(i, t) for i, t in enumerate(states)))
    changed = [x for x in lessons if x.refined is not None and x.refined != x.transition.action]
    few = changed[: nlac.config.probe_playouts]
    pairs = await asyncio.gather(*(_continued(nlac, x.transition, str(x.refined)) for x in few))
    results = {id(x): pair for x, pair in zip(few, pairs, strict=True)}
    records = []
    for number, lesson in enumerate(lessons):
        played, refined = results.get(id(lesson), (None, None))
        texts = _reading(nlac, lesson, iteration)
        records.append(ProbeRecord(**texts, state=number, played_on=played, refined_on=refined))
    return records


async def _continued(
    nlac: "NLAC", t: Transition, refined: str
) -> tuple[Continued, Continued] | tuple[None, None]:
    """Return how the played and the refined action went on; None if the state cannot be reached again."""

    async def one(action: str) -> Continued:
        playout = await nlac.resources.play_on(env.fork(), t, action, derive_seed(t.seed, t.step))
        return Continued(success=playout.success, turns=len(playout.heard), answered=playout.heard[0])

    with within(Conversation()):
        env = await nlac.resources.reached(t)
        if env is None:
            return None, None
        return await one(t.action), await one(refined)


def _reading(nlac: "NLAC", lesson: Lesson, iteration: int) -> dict[str, Any]:
    """Return the fields of ``Reading``."""
    t, critique = lesson.transition, lesson.critique
    return {
        "iteration": iteration,
        "weight_version": nlac.version,
        "task": t.task_id,
        "trial": t.trial,
        "seed": t.seed,
        "step": t.step,
        "heard": t.state.observation,
        "played": t.action,
        "answered": t.answered,
        "success": t.success,
        "future": lesson.future,
        "predicted": None if lesson.future is None else nlac.prompts.outcome(lesson.future),
        "critique": None if critique is None else critique.text,
        "optimal": None if critique is None else critique.optimal,
        "refined": lesson.refined,
    }
