"""Critique-RL (arXiv 2510.24320): the critic is trained by reinforcement learning on outcomes.

For a played action with known success c, draw G critiques with a verdict, refine the action with each::

    stage 1:  r = +1 if the verdict is c, else −1
    stage 2:  r = 0.2 + (1 if the refined action succeeds, else 0) if the verdict is c, else −1
    A_i = r_i − mean of the other r (RLOO);  clipped steps on the critic's tokens, two passes

It trains NLAC's critic by outcomes instead of backups: the control for "is the Bellman backup needed?".
Other rewards, of one stage: the success of the refined action (RL4F, arXiv 2305.08844, by PPO), and also −1
without a verdict (CTRL, arXiv 2502.03492, by GRPO).

Deviations. The authors fix the actor and test it with its critic; here the policy learns a refined action in
stage 2 by NLAC's loss L2. c is the outcome of the episode; a refined action succeeds if the policy does, when
it continues a fork. An action that is called optimal is kept. As NLAC's, the critic reads futures that it has
predicted (``num_nlq_samples=0``: none, as in the paper). They are a part of what it is rewarded for: each
critique has its own, and their tokens have its advantage. Rewards are not normalised; KL penalties are to the
initial model.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from nlac_bench.agents.initial_policy import with_kl
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.nlac.nlac import replayed
from nlac_bench.agents.roles.role_prompts import Critique
from nlac_bench.agents.roles.speaker import Action
from nlac_bench.baselines.control_config import CritiqueRlConfig
from nlac_bench.baselines.on_policy import OnPolicy
from nlac_bench.learner import losses
from nlac_bench.learner.batch import TokenBatch, TokenSequence
from nlac_bench.learner.outputs import LossFn, Metrics, Outputs
from nlac_bench.rollout.engines.engine import derive_seed
from nlac_bench.types import Episode


@dataclass(slots=True)
class Trial:
    """One critique of a played action, and what became of the action that was refined with it."""

    tokens: Sequence[TokenSequence | None]
    """Those of its futures and its own; None if they are too many."""
    critique: Critique | None
    right: bool
    """Whether the verdict is the outcome of the episode."""
    refined: Action | None = None
    success: bool = False


@dataclass(slots=True)
class Judged(Lesson):
    """A played action and its critiques; in stage 2 with refined actions."""

    trials: list[Trial] = field(default_factory=list)


class CritiqueRL(OnPolicy[CritiqueRlConfig]):
    """Trains critiques by their verdict and by the success of the actions that are refined with them."""

    async def prepare(self, episodes: Sequence[Episode]) -> None:
        """Draw played actions; criticise each G times, and in stage 2 refine and continue each."""
        c, seed = self.config, derive_seed(self.resources.seed, self.version, "actions")
        ended = [e for e in episodes if e.terminated]  # the outcome of others is unknown
        played = [t for e in ended for t in self.transitions(e)]
        drawn = np.random.default_rng(seed).permutation(len(played))[: c.transitions_per_iteration]
        speaker = partial(self.speaking.speaker, self.version)
        self.judged = [Judged(played[i], 1.0, speaker(n), n) for n, i in enumerate(sorted(drawn.tolist()))]
        self.refines = c.reward != "critique_rl" or self.resources.done() >= c.stage_one
        steps = [self.criticise, self.refine] if self.refines else [self.criticise]
        await self.speaking.each(self.judged, replayed, *steps)

    async def criticise(self, x: Judged) -> None:
        """Sample G times d⁽¹⁾…d⁽ᵏ⁾ ~ M(s, a) and a critique ~ E(s, a, d⁽¹⁾…d⁽ᵏ⁾).

        A model may only repeat what its futures say, so that critiques of the same futures would all be equal
        and teach nothing. Without a future that can be parsed there is no critique, and so no verdict.
        """
        c, prompts = self.config, self.resources.prompts
        state, action, k = x.transition.state, x.transition.action, c.num_nlq_samples
        drawn = await x.speaker.predictions(state, action, k * c.num_critiques) if k else []
        asked = prompts.successor(state, action)
        for own in [drawn[i : i + k] for i in range(0, len(drawn), k)] if k else [[]]:
            futures = [self.encoder.answer(asked, sample, "critic") for sample, _ in own]
            read = [future for _, future in own if future is not None]
            if k and not read:
                x.trials.append(Trial(futures, None, False))
                continue
            prompt = prompts.evaluator(state, action, read)
            for sample, critique in await x.speaker.critiques(
                state, action, read, 1 if k else c.num_critiques
            ):
                right = critique is not None and critique.optimal == x.transition.success
                tokens = [*futures, self.encoder.answer(prompt, sample, "critic")]
                x.trials.append(Trial(tokens, critique, right))

    async def refine(self, x: Judged) -> None:
        """Refine the action with each critique, and let the policy continue a fork after each new action."""
        t, env = x.transition, await self.resources.reached(x.transition)
        x.trials = x.trials if env is not None else []
        successes = {t.action: bool(t.success)}
        for trial in x.trials:
            if (critique := trial.critique) is not None:
                kept = x.proposed if critique.optimal else None
                trial.refined = kept or await x.speaker.refine(t.state, t.action, critique)
            if env is not None and trial.refined is not None:
                text, seed = trial.refined.text, derive_seed(t.seed, t.step)
                if text not in successes:
                    successes[text] = (await self.resources.play_on(env.fork(), t, text, seed)).success
                trial.success = successes[text]

    def learn(self, episodes: Sequence[Episode], max_steps: int | None) -> Metrics:
        """Take clipped steps on critiques whose rewards differ, and their futures; in stage 2 also distil
        refined actions.

        The metric ``trial_success`` is the share of the refined actions (kept ones too) that succeeded.
        """
        c, trials = self.config, [(x, trial) for x in self.judged for trial in x.trials]
        rewards_N = torch.tensor([self.reward(trial) for _, trial in trials])
        groups_N = torch.tensor([x.index for x, _ in trials], dtype=torch.long)
        advantages_N = losses.group_advantages(rewards_N, groups_N, scale=False)
        advantages_N *= c.num_critiques / (c.num_critiques - 1)  # the mean of the others
        valued = zip(trials, advantages_N.tolist(), strict=True)
        made = [(tokens, a) for (_, trial), a in valued if a for tokens in trial.tokens]
        for x in self.judged if self.refines else ():
            x.proposed = next((trial.refined for trial in x.trials if trial.refined), None)
            if x.proposed is not None:
                made.append((self.encoder.policy(x, x.index), 0.0))
        numbered = enumerate((s, advantage) for s, advantage in made if s is not None)
        sequences = [
            replace(s, group_id=n, advantages=[a * m for m in s.loss_mask]) for n, (s, a) in numbered
        ]
        metrics = self.take_steps(self.epochs(sequences, c.num_epochs), self.loss, max_steps)
        if trials:
            metrics["verdict_accuracy"] = sum(trial.right for _, trial in trials) / len(trials)
        if refined := [trial for _, trial in trials if trial.refined is not None]:
            metrics["trial_success"] = sum(trial.success for trial in refined) / len(refined)
        return metrics

    def reward(self, trial: Trial) -> float:
        """Return r of a critique; one without a verdict is not right."""
        if self.config.reward == "critique_rl":
            return -1.0 if not trial.right else 0.2 + trial.success if self.refines else 1.0
        return -1.0 if self.config.reward == "ctrl" and trial.critique is None else float(trial.success)

    def loss(self, batch: TokenBatch) -> LossFn:
        """Return the clipped surrogate of the critic + λ L2 (+ KL), each a mean over its own tokens."""
        c, mean = self.config, self.token_mean(batch)
        critic, policy = ((batch.mask_of(n) != 0).sum().clamp(min=1) for n in ("critic", "policy"))
        critic_mean = partial(losses.aggregate, tokens=critic)

        def compute(outputs: Outputs, micro: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
            own = replace(micro, loss_mask=micro.mask_of("critic"))
            total, metrics = self.surrogate(outputs, own, critic_mean, c.clip_ratio, c.clip_ratio)
            metrics["l2"] = losses.aggregate(-outputs.logprobs_BT, micro.mask_of("policy"), policy)
            total = total + c.policy_coef * metrics["l2"]
            return with_kl(total, c, outputs, micro.loss_mask, mean, metrics), metrics

        return compute
