"""Natural Language Actor-Critic (NLAC; arXiv 2512.04601, Algorithm 1), from top to bottom.

One model θ plays the policy π, the successor model M, the backup B, the evaluator E and the refiner π_r, each
with a prompt of its own; θ̄ is the moving average of θ. The coroutines of a lesson, which sample the answers
of these roles, are also those of ``theory`` and of the ablations.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.initial_policy import with_kl
from nlac_bench.agents.nlac.config import BackupConfig, LessonConfig, NlacConfig, RefinementConfig
from nlac_bench.agents.nlac.lesson import (
    Lesson,
    ending_of,
    explains,
    note_real_futures,
    note_reasons,
    real_future,
)
from nlac_bench.agents.nlac.monitor import Monitored
from nlac_bench.agents.nlac.replay_trainer import ReplayTrainer
from nlac_bench.agents.roles.role_prompts import RolePrompts
from nlac_bench.agents.roles.speaker import Action
from nlac_bench.agents.roles.speaking import Speaking
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.learner import losses
from nlac_bench.learner.batch import TokenBatch, learned_tokens
from nlac_bench.learner.outputs import LossFn, Metrics, Outputs
from nlac_bench.rollout.engines.engine import Sample, Slot
from nlac_bench.types import Episode

Step: TypeAlias = Callable[[Lesson], Awaitable[None]]
Futures: TypeAlias = Callable[[Lesson], Awaitable[list[str]]]
"""Returns d⁽¹⁾…d⁽ᵏ⁾ of the proposed action of a lesson."""


class NLAC(Monitored[NlacConfig]):
    """Trains one model in all roles, by gradient steps on L1 + λ L2."""

    def __init__(self, resources: Resources[NlacConfig]) -> None:
        super().__init__(resources)
        c = self.config
        self.futures: Futures = partial(predicted, k=c.num_nlq_samples)
        prompts = self.speaking.prompts
        self.back_up: Step = back_up_by(c, prompts)
        if c.backup == "monte_carlo":
            self.back_up = partial(told, prompts=prompts)

    def transitions(self, episode: Episode) -> list[Transition]:
        """Return the transitions; with ``backup=monte_carlo``, their real futures are noted."""
        new = super().transitions(episode)
        if self.config.backup == "monte_carlo":
            note_real_futures(new, episode, self.speaking.prompts)
        return new

    async def update(self, episodes: Sequence[Episode], max_steps: int | None = None) -> Metrics:
        """Run one iteration of Algorithm 1 on the new episodes and D."""
        return await iterate(self, self.ask, episodes, max_steps)

    async def ask(self, lessons: Sequence[Lesson]) -> None:
        """Sample the target of L1 and the action of L2 for each lesson."""
        propose = PROPOSE[self.config.refine_source]
        await note_reasons(lessons, self.speaking, self.replay.iteration, "end")
        await ask(lessons, self.speaking, self.config, propose, self.futures, self.back_up)

    async def read(self, lesson: Lesson) -> None:
        """Criticise and refine the played action, to measure the critic."""
        await read(lesson, self.futures)


async def iterate(
    trainer: Monitored[Any],
    ask: Callable[[Sequence[Lesson]], Awaitable[None]],
    episodes: Sequence[Episode],
    max_steps: int | None,
) -> Metrics:
    """Remember the episodes, draw lessons, ask the roles about them, learn and sync."""
    new = trainer.remember(episodes) if episodes else None
    lessons = await trainer.asked(trainer.draw(new, max_steps), ask)
    trainer.keep(lessons)
    metrics = await trainer.resources.learn(lambda: trainer.steps(lessons, partial(step, trainer)))
    trainer.sync()
    return metrics | trainer.ended(lessons) | shares_of(lessons)


def shares_of(lessons: Sequence[Lesson]) -> Metrics:
    """Return the shares of the judged actions that are optimal, and that were changed; empty without any."""
    judged = [lesson for lesson in lessons if lesson.critique is not None]
    if not judged:
        return {}
    better = [x for x in judged if x.proposed and x.rounds and x.proposed.text != x.first]
    return {
        "share_optimal": sum(x.critique.optimal for x in judged if x.critique) / len(judged),
        "share_refined": len(better) / len(judged),
    }


async def ask(
    lessons: Sequence[Lesson],
    roles: Speaking,
    config: RefinementConfig,
    propose: Step,
    futures: Futures,
    backup: Step | None = None,
) -> None:
    """Back up, propose an action, then criticise and refine it ``num_refinement_steps`` times.

    Args:
        backup: makes the target; by default a language Bellman backup.
    """
    steps: list[Step] = []
    if config.backs_up:
        steps.append(backup or back_up_by(config, roles.prompts))
    steps.append(propose)
    for _ in range(config.num_refinement_steps):
        steps.append(partial(criticise, futures=futures))
        if config.shuffle_critiques:  # needs the critiques of all lessons
            await roles.each(lessons, *steps)
            shuffle(lessons)
            steps = []
        steps.append(refine)
    await roles.each(lessons, *steps)


# --- the language Bellman backup ----------------------------------------------------------------------


async def back_up(lesson: Lesson, prompts: RolePrompts, by: Literal["target", "successor"]) -> None:
    """Sample a′ ~ π_θ̄(· | s′), d′ ~ M_θ̄(· | s′, a′) and d ~ B_θ̄(s, a, r, s′, d′).

    With ``by="successor"``, a′ and d are sampled from θ. For the last transition of an episode, d is its
    outcome, and for models that explain outcomes also the reasons for it, d ~ B(s, a, r, d).
    """
    t, slot = lesson.transition, slot_of(by)
    if t.terminated or t.next_state is None:
        lesson.target = ending = ending_of(t, prompts)
        if explains(prompts):
            lesson.target = await lesson.speaker.explain(prompts, t, ending, slot)
        return
    action = await lesson.speaker.act(t.next_state, slot)
    if action is None:
        return
    futures = await lesson.speaker.futures(t.next_state, action.text, slot="target")
    if futures:
        lesson.target = await lesson.speaker.backup(t, action.text, futures[0].text, slot)


def back_up_by(config: BackupConfig, prompts: RolePrompts) -> Step:
    """Return the language Bellman backup with the settings of a method."""
    return partial(back_up, prompts=prompts, by=config.backup_by)


async def told(lesson: Lesson, prompts: RolePrompts) -> None:
    """Take the real rest of the episode, which was noted, as target (Monte Carlo); a cut one has none."""
    lesson.target = real_future(lesson.transition, prompts)


def slot_of(by: Literal["target", "successor"]) -> Slot:
    """Return the weights that sample the next action and the target's text."""
    return "target" if by == "target" else "policy"


# --- policy improvement in words ----------------------------------------------------------------------


async def fresh(lesson: Lesson) -> None:
    """Propose a ~ π(· | s)."""
    proposed(lesson, await lesson.speaker.act(lesson.transition.state))


async def replayed(lesson: Lesson) -> None:
    """Propose the played action."""
    t = lesson.transition
    sample = Sample(t.action, "stop", ids=list(t.action_ids or ()) or None)
    proposed(lesson, Action(t.action, sample))


PROPOSE: dict[str, Step] = {"fresh": fresh, "replayed": replayed}
"""The proposals by the values of ``refine_source``."""


def proposed(lesson: Lesson, action: Action | None) -> None:
    """Begin the refinement of ``action``."""
    lesson.proposed, lesson.first = action, action.text if action else None
    lesson.done = action is None


async def predicted(lesson: Lesson, k: int, slot: Slot = "policy") -> list[str]:
    """Sample d⁽¹⁾…d⁽ᵏ⁾ ~ M(· | s, a) for the proposed action."""
    assert lesson.proposed is not None
    futures = await lesson.speaker.futures(lesson.transition.state, lesson.proposed.text, k, slot)
    lesson.success_probability = futures[0].success if futures else None
    return [future.text for future in futures]


async def criticise(lesson: Lesson, futures: Futures, slot: Slot = "policy") -> None:
    """Sample the critique ~ E(s, a, d⁽¹⁾…d⁽ᵏ⁾) of the proposed action."""
    if lesson.done or lesson.proposed is None:
        return
    state, action, read = lesson.transition.state, lesson.proposed.text, await futures(lesson)
    lesson.future = read[0] if read else None
    lesson.critique = await lesson.speaker.critique(state, action, read, slot) if read else None
    if lesson.critique is None:  # without a critique the action must not be distilled
        lesson.done, lesson.proposed = True, None


async def refine(lesson: Lesson) -> None:
    """Sample a^r ~ π_r(· | s, a, critique); an action that was judged optimal is kept."""
    if lesson.done or lesson.proposed is None or lesson.critique is None:
        return
    if lesson.critique.optimal:
        lesson.done = True
        return
    state, action = lesson.transition.state, lesson.proposed.text
    lesson.proposed = await lesson.speaker.refine(state, action, lesson.critique)
    lesson.rounds += 1
    lesson.done = lesson.proposed is None


def shuffle(lessons: Sequence[Lesson]) -> None:
    """Assign each action the critique of another action (control experiment)."""
    judged = [lesson for lesson in lessons if not lesson.done and lesson.critique is not None]
    critiques = [lesson.critique for lesson in judged]
    for lesson, critique in zip(judged, critiques[1:] + critiques[:1], strict=True):
        lesson.critique = critique


async def read(lesson: Lesson, futures: Futures) -> None:
    """Criticise the played action, and refine it if it is not judged optimal."""
    await replayed(lesson)
    await criticise(lesson, futures)
    await refine(lesson)


# --- learning -----------------------------------------------------------------------------------------


def step(trainer: ReplayTrainer[Any, Lesson], lessons: Sequence[Lesson]) -> Metrics | None:
    """Take a gradient step on L1 + λ L2, and set the priorities to the mean L1 of each target's tokens."""
    encoder, nll_N = trainer.encoder, torch.zeros(len(lessons))
    critic = [s for i, x in enumerate(lessons) if (s := encoder.critic(x, group=i)) is not None]
    policy = [s for i, x in enumerate(lessons) if (s := encoder.policy(x, group=i)) is not None]
    loss = language_loss(trainer.config, learned_tokens(critic), learned_tokens(policy, weighted=True), nll_N)
    metrics = trainer.descend([*critic, *policy], loss, nll_N)
    trainer.replay.update(
        [lessons[s.group_id].index for s in critic],
        [float(nll_N[s.group_id]) / sum(s.loss_mask) for s in critic],
    )
    return metrics


def language_loss(config: LessonConfig, critic_tokens: float, policy_tokens: float, nll_N: Tensor) -> LossFn:
    """Return the loss L1 + λ L2, each a mean over its own tokens.

    L1 = −log M_θ(d | s, a) is weighted by the importance weights of the draw; L2 = −log π_θ(a^r | s).

    Args:
        nll_N: zeros; the summed L1 of lesson i's target is added to its entry i.
    """

    def compute(outputs: Outputs, batch: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
        nll_BT = -outputs.logprobs_BT * batch.mask_of("critic")
        nll_N.index_add_(0, batch.group_id.flatten().cpu(), nll_BT.detach().flatten().float().cpu())
        l1 = (nll_BT * batch.weights).sum() / critic_tokens
        distilled, metrics = distillation(config, outputs, batch, policy_tokens)
        return config.critic_coef * l1 + distilled, {"l1": l1, **metrics}

    return compute


def distillation(
    config: LessonConfig, outputs: Outputs, batch: TokenBatch, policy_tokens: float
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return λ L2 plus the KL penalty, and the metrics; both are means over the policy's tokens."""
    policy_BT, mean = batch.mask_of("policy") * batch.weights, partial(losses.aggregate, tokens=policy_tokens)
    metrics = {"l2": mean(-outputs.logprobs_BT, policy_BT)}
    total = config.policy_coef * metrics["l2"]
    return with_kl(total, config, outputs, policy_BT, mean, metrics), metrics
