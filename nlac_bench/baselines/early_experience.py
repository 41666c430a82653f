"""Early Experience (Zhang et al. 2025, arXiv 2510.08558, section 4.2): a world model of the policy's own
alternatives, then imitation, with the same parameters.

::

    D = {(s_i, a_i)};   at each s_i draw a_i^1 … a_i^K ~ π(· | s_i) other than a_i, take each once → s_i^j
    first:  minimise  −log p_θ(s_i^j | s_i, a_i^j)           then:  minimise  −log π_θ(a_i | s_i)

It learns what actions lead to, and no value: the control for "is L1 just a world model?".

Deviations. By default D are the policy's own successes, so that the method knows no more than the others;
with ``imitates=expert``, as in the paper, the environment's oracle plays the tasks of the iteration, with
replies in the policy's form but without thoughts. The paper makes D once, and trains one epoch on the
alternatives; here both stages see new tasks in each iteration, and the first ends after a share of the
budget. The next state is the environment's answer, as the policy's next prompt shows it. The paper's second
method, self-reflection, is not included.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.floors import OracleAgent
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.nlac.nlac import replayed
from nlac_bench.agents.roles.role_prompts import RolePrompts
from nlac_bench.agents.roles.transition import State, first_state
from nlac_bench.baselines.control_config import EarlyExperienceConfig
from nlac_bench.baselines.on_policy import OnPolicy
from nlac_bench.baselines.rft import RFT, succeeded
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.learner.batch import TokenSequence
from nlac_bench.learner.outputs import Metrics
from nlac_bench.rollout.agent import Actor
from nlac_bench.rollout.driver import Driver, EpisodeSpec
from nlac_bench.types import Episode, Info, Turn


class EarlyExperience(RFT):
    """Predicts the answers to alternatives in the first part of the budget, and imitates in the rest."""

    config: EarlyExperienceConfig

    def __init__(self, resources: Resources[Any]) -> None:
        super().__init__(resources)
        self.sequences: list[TokenSequence] = []
        self.metrics: Metrics = {}

    def remember(self, episodes: Sequence[Episode]) -> int:
        """Raise an error: the alternatives are taken in the newest episodes' tasks."""
        return OnPolicy.remember(self, episodes)

    async def prepare(self, episodes: Sequence[Episode]) -> None:
        """Find D; make the sequences of (s, a, s′) or of (s, a)."""
        c, predicts = self.config, self.predicts
        self.metrics = {"predicts": float(predicts)}
        shown = await self.demonstrated(episodes) if c.imitates == "expert" else episodes
        found = [t for e in self.accepted(shown) for t in self.transitions(e)]
        lessons = [Lesson(t, 1.0, self.speaking.speaker(self.version, n), n) for n, t in enumerate(found)]
        observed: list[list[TokenSequence | None]] = [[] for _ in lessons]

        async def explore(lesson: Lesson) -> None:
            observed[lesson.index] = await self.alternatives(lesson)

        await self.speaking.each(lessons, explore if predicts else replayed)
        imitated = [self.encoder.policy(lesson, lesson.index) for lesson in lessons]
        made = [s for several in observed for s in several] if predicts else imitated
        self.sequences = [s for s in made if s is not None]

    @property
    def predicts(self) -> bool:
        """Whether the world model is trained now, and not the policy."""
        c = self.config
        return c.num_alternatives > 0 and self.resources.done() < c.world_model_share

    def learn(self, episodes: Sequence[Episode], max_steps: int | None) -> Metrics:
        """Take gradient steps on the mean −log p of the learned tokens, observations or actions."""
        metrics = self.take_steps(iter(self.mini_batches(self.sequences)), self.loss, max_steps)
        return metrics | {"accepted": len(succeeded(episodes)) / len(episodes)} | self.metrics

    async def demonstrated(self, episodes: Sequence[Episode]) -> list[Episode]:
        """Let the oracle play the tasks of ``episodes``; return its successes.

        Raises:
            NlacBenchError: the environment has no oracle.
        """
        specs = [EpisodeSpec(self.env, e.task_id, e.trial, e.seed) for e in episodes]
        driver = Driver(
            Expert(self.resources.prompts), self.resources.make_env, concurrency=self.resources.concurrency
        )
        played = [e async for e in driver.run(specs) if isinstance(e, Episode)]
        self.metrics["extra_env_steps"] = float(sum(len(e.turns) for e in played))
        order = {(spec.task_id, spec.trial, spec.seed): n for n, spec in enumerate(specs)}
        return sorted(succeeded(played), key=lambda e: order[e.task_id, e.trial, e.seed])

    async def alternatives(self, lesson: Lesson) -> list[TokenSequence | None]:
        """Draw K actions, take those that differ from a and from each other in forks; return (s, aʲ, sʲ)."""
        t, prompts, found = lesson.transition, self.resources.prompts, list[TokenSequence | None]()
        env, tried = await self.resources.reached(t), {t.action}
        for _ in range(self.config.num_alternatives if env is not None else 0):
            action = await lesson.speaker.act(t.state)
            if env is None or action is None or action.text in tried:
                continue
            tried.add(action.text)
            answer, *_, info = await env.fork().astep(prompts.heard(action.text, t.state))
            self.resources.steps.add(1)
            kind = str(info.get("action_kind", "message"))
            found.append(self.encoder.observed(t.state, action.text, answer, kind, lesson.index))
        return found


@dataclass(frozen=True)
class Expert:
    """The oracle, which replies in the form that the policy's prompts ask for, without thoughts."""

    prompts: RolePrompts
    name: str = "oracle"

    def begin(self, env: TextEnv, seed: int) -> Actor:
        """Return an actor that takes the oracle actions of ``env``."""
        return _ExpertActor(OracleAgent().begin(env, seed), self.prompts, env.name)


@dataclass
class _ExpertActor:
    oracle: Actor
    prompts: RolePrompts
    env: str
    first: State | None = None

    async def act(self, observation: str, info: Info) -> Turn:
        self.first = self.first or first_state(self.env, observation, info)
        reply = self.prompts.reply((await self.oracle.act(observation, info)).text)
        sent = self.prompts.heard(reply, self.first)
        return Turn(sent, info={} if sent == reply else {"full_text": reply})
