"""Probes: measure the critic's accuracy and the effect of refinement on real episodes, without training."""

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.nlac.policy_iteration import LanguagePolicyIteration, replayed_action
from nlac_bench.agents.nlac.records import Continued
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.learner.outputs import Metrics
from nlac_bench.rollout.engines.engine import derive_seed
from nlac_bench.rollout.engines.routing import Conversation, within


async def read_critic(nlac: LanguagePolicyIteration, transitions: Sequence[Transition]) -> list[Lesson]:
    """Sample the answers of successor, evaluator and refiner for the played actions of ``transitions``.

    The evaluator reads the successor's futures, also with a method that trains it on other futures.
    """
    lessons = [Lesson(t, 1.0, nlac.speaker("probe", n)) for n, t in enumerate(transitions)]

    async def read(lesson: Lesson) -> None:
        t = lesson.transition
        lesson.proposed = replayed_action(t)
        futures = await lesson.speaker.futures(t.state, t.action, nlac.config.num_nlq_samples)
        await nlac.judge(lesson, futures)
        await nlac.refine(lesson)

    await nlac.each(lessons, read)
    return lessons


def critic_metrics(nlac: LanguagePolicyIteration, lessons: Sequence[Lesson]) -> Metrics:
    """Return the accuracy of predicted outcomes, and the AUC of the evaluator's verdict for the outcome.

    The area under the ROC curve (AUC) of a yes/no verdict is the mean of its hit rates in won and lost
    episodes; 0.5 is chance. The verdict is about one action and the outcome about a whole episode, so an AUC
    of 1 cannot be expected.
    """
    outcomes = [(nlac.prompts.outcome(x.future or ""), bool(x.transition.success)) for x in lessons]
    predicted = [(outcome == "success", was) for outcome, was in outcomes if outcome]
    judged = [(x.critique.optimal, bool(x.transition.success)) for x in lessons if x.critique is not None]
    metrics: Metrics = {"probes": float(len(lessons))}
    if predicted:
        metrics["successor_accuracy"] = float(np.mean([guess == was for guess, was in predicted]))
    won = [verdict for verdict, was in judged if was]
    lost = [verdict for verdict, was in judged if not was]
    if won and lost:
        metrics["evaluator_auc"] = float((np.mean(won) + 1 - np.mean(lost)) / 2)
    return metrics


async def refinement_metrics(lessons: Sequence[Lesson], resources: Resources[Any]) -> Metrics:
    """Return success rates of the policy after the played action and after the refined action."""
    pairs = await asyncio.gather(*(continued(resources, x) for x in lessons if refined(x)))
    reached = [(played.success, better.success) for played, better in pairs if played and better]
    metrics: Metrics = {"refined_probes": float(len(reached))}
    if reached:
        played, better = zip(*reached, strict=True)
        metrics |= {"played_success": float(np.mean(played)), "refined_success": float(np.mean(better))}
    return metrics


def refined(lesson: Lesson) -> bool:
    """Return whether the refined action differs from the played one."""
    return lesson.refined not in (None, lesson.transition.action)


async def continued(
    resources: Resources[Any], lesson: Lesson
) -> tuple[Continued, Continued] | tuple[None, None]:
    """Return the continuations of the played and the refined action; None if the state cannot be reached.

    Both continue in forks of the same state, which is reached by playing the episode's actions again.
    """
    t = lesson.transition

    async def one(fork: TextEnv, action: str) -> Continued:
        playout = await resources.play_on(fork, t, action, derive_seed(t.seed, t.step))
        return Continued(
            success=playout.success, turns=len(playout.observations), answered=playout.observations[0]
        )

    with within(Conversation()):
        env = await resources.reached(t)
        if env is None:
            return None, None
        played, better = await asyncio.gather(one(env.fork(), t.action), one(env.fork(), str(lesson.refined)))
        return played, better
