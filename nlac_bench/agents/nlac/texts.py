"""Makes the records of ``critiques.jsonl`` and ``probes.jsonl`` from lessons."""

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.nlac.policy_iteration import LanguagePolicyIteration
from nlac_bench.agents.nlac.probes import continued, refined
from nlac_bench.agents.nlac.records import CritiqueRecord, ProbeRecord
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.rollout.engines.engine import derive_seed


def critique_records(
    nlac: LanguagePolicyIteration, lessons: Sequence[Lesson], version: int, seed: int
) -> list[CritiqueRecord]:
    """Return the records of at most ``kept_critiques`` of the iteration's lessons, in order.

    Lessons without a text of the critic are left out.

    Args:
        version: the version of the weights that wrote the texts.
        seed: of the draw, which has a random generator of its own.
    """
    written = [(number, x) for number, x in enumerate(lessons) if x.target or x.future or x.critique]
    drawn = np.random.default_rng(seed).permutation(len(written))[: nlac.config.kept_critiques]
    return [
        CritiqueRecord(
            **_reading(nlac, lesson, nlac.replay.iteration + 1, version),
            lesson=number,
            played_weight_version=lesson.transition.weight_version,
            target=lesson.target,
            proposed=lesson.first,
        )
        for number, lesson in (written[i] for i in sorted(drawn.tolist()))
    ]


async def probe_records(
    nlac: LanguagePolicyIteration,
    resources: Resources[Any],
    states: Sequence[Transition],
    iteration: int,
    version: int,
) -> list[ProbeRecord]:
    """Sample the critic's texts about the played actions of ``states``, and continue some refined actions.

    The first ``probe_playouts`` states whose refined action differs from the played one are continued with
    both, in forks. The random numbers of a state are the same in all iterations, so that the same weights
    write the same texts.

    Args:
        iteration: the number of the last iteration.
        version: the version of the weights.
    """

    lessons = [
        Lesson(t, 1.0, nlac.seeded_speaker(derive_seed(resources.seed, "probe set", n)))
        for n, t in enumerate(states)
    ]
    await nlac.each(lessons, nlac.reread)
    few = [n for n, x in enumerate(lessons) if refined(x)][: nlac.config.probe_playouts]
    pairs = dict(
        zip(few, await asyncio.gather(*(continued(resources, lessons[n]) for n in few)), strict=True)
    )
    records = []
    for number, lesson in enumerate(lessons):
        played, better = pairs.get(number, (None, None))
        texts = _reading(nlac, lesson, iteration, version)
        records.append(ProbeRecord(**texts, state=number, played_on=played, refined_on=better))
    return records


def _reading(nlac: LanguagePolicyIteration, lesson: Lesson, iteration: int, version: int) -> dict[str, Any]:
    """Return the fields of ``Reading``."""
    t, critique = lesson.transition, lesson.critique
    return {
        "iteration": iteration,
        "weight_version": version,
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
