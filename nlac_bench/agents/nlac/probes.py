"""Probes: measure the critic's accuracy and the effect of refinement on real episodes, without training."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.nlac.policy_iteration import LanguagePolicyIteration
from nlac_bench.agents.roles.speaker import Speaker
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.learner.outputs import Metrics
from nlac_bench.rollout.engines.engine import derive_seed
from nlac_bench.rollout.engines.routing import Conversation, within


@dataclass(slots=True)
class Probe:
    """The roles' answers for a played transition; the transition has its episode's real outcome."""

    transition: Transition
    predicted: str | None
    optimal: bool | None
    refined: str | None


async def read_critic(nlac: LanguagePolicyIteration, transitions: Sequence[Transition]) -> list[Probe]:
    """Sample the answers of successor, evaluator and refiner for the played actions of ``transitions``."""

    async def one(number: int, t: Transition) -> Probe:
        with within(Conversation()):
            return await read(nlac.speaker("probe", number), t)

    async def read(speaker: Speaker, t: Transition) -> Probe:
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
    """Return the accuracy of predicted outcomes, and the AUC of the evaluator's verdict for the outcome.

    The area under the ROC curve (AUC) of a yes/no verdict is the mean of its hit rates in won and lost
    episodes; 0.5 is chance. The verdict is about one action and the outcome about a whole episode, so an AUC
    of 1 cannot be expected.
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
    """Return success rates of the policy after the played action and after the refined action.

    Both continue in forks of the same state, which is reached by playing the episode's actions again.
    """
    changed = [p for p in probes if p.refined is not None and p.refined != p.transition.action]

    async def both(probe: Probe) -> tuple[bool, bool] | None:
        with within(Conversation()):
            return await play_both(probe)

    async def play_both(probe: Probe) -> tuple[bool, bool] | None:
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
