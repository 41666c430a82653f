"""Is the critic right, and does refining help? Measured against what really happens, never trained on."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.nlac.policy_iteration import LanguagePolicyIteration
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.rollout.engines.engine import derive_seed
from nlac_bench.train.outputs import Metrics


@dataclass(slots=True)
class Probe:
    """What the roles said of a transition that was really played, and how its episode really ended."""

    transition: Transition
    predicted: str | None
    optimal: bool | None
    refined: str | None


async def read_critic(nlac: LanguagePolicyIteration, transitions: Sequence[Transition]) -> list[Probe]:
    """Ask successor, evaluator and refiner about replayed actions."""

    async def one(number: int, t: Transition) -> Probe:
        speaker = nlac.speaker("probe", number)
        futures = await speaker.futures(t.state, t.action, nlac.config.num_nlq_samples)
        critique = await speaker.critique(t.state, t.action, futures) if futures else None
        refined = None
        if critique is not None and not critique.optimal:
            action = await speaker.refine(t.state, t.action, critique)
            refined = None if action is None else action.text
        predicted = nlac.prompts.outcome(futures[0]) if futures else None
        return Probe(t, predicted, None if critique is None else critique.optimal, refined)

    return list(await asyncio.gather(*(one(i, t) for i, t in enumerate(transitions))))


def critic_metrics(probes: Sequence[Probe]) -> Metrics:
    """How often the predicted outcome was the episode's, and how well the verdict separates the outcomes.

    The area under the ROC curve of a yes/no verdict is the mean of its hit rates in won and lost episodes;
    0.5 is chance. A verdict is about one action, the outcome about a whole episode: 1 is not to be had.
    """
    predicted = [(p.predicted == "success", bool(p.transition.success)) for p in probes if p.predicted]
    judged = [(p.optimal, bool(p.transition.success)) for p in probes if p.optimal is not None]
    metrics: Metrics = {"probes": float(len(probes))}
    if predicted:
        metrics["successor_accuracy"] = float(np.mean([said == was for said, was in predicted]))
    won = [said for said, was in judged if was]
    lost = [said for said, was in judged if not was]
    if won and lost:
        metrics["evaluator_auc"] = float((np.mean(won) + 1 - np.mean(lost)) / 2)
    return metrics


async def refinement_metrics(probes: Sequence[Probe], resources: Resources[Any]) -> Metrics:
    """Success when the played action, or the refined one in its place, is followed by the policy.

    Both begin in a fork of the same state, which is reached by playing the same actions again.
    """
    changed = [p for p in probes if p.refined is not None and p.refined != p.transition.action]

    async def both(probe: Probe) -> tuple[bool, bool] | None:
        t = probe.transition
        env = await resources.reached(t)
        if env is None:
            return None
        seed = derive_seed(t.seed, t.step)
        played, refined = await asyncio.gather(
            *(resources.play_on(env.fork(), t, a, seed) for a in (t.action, probe.refined or ""))
        )
        return played.success, refined.success

    pairs = [pair for pair in await asyncio.gather(*(both(p) for p in changed)) if pair is not None]
    metrics: Metrics = {"refined_probes": float(len(pairs))}
    if pairs:
        played, refined = zip(*pairs, strict=True)
        metrics |= {"played_success": float(np.mean(played)), "refined_success": float(np.mean(refined))}
    return metrics
