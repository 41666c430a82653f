"""The protocol of training algorithms, and the resources that they use.

``Training`` (``nlac_bench.training.loop``) plays episodes, passes them to ``Algorithm.update`` and logs
the metrics that it returns. ``Resources``, the only argument of an algorithm's constructor, has everything
that an algorithm needs:

- **Roll out.** The loop plays the training episodes. ``Resources.reached`` and ``Resources.play_on`` play
  further ones from a state of an episode; ``Driver(resources.agent, resources.make_env)`` plays whole ones.
- **Sample from a role.** ``resources.engine.sample(SampleRequest(messages=..., role=...))``, with messages
  of ``resources.prompts``, answers in one of the model's roles (policy, successor, evaluator, ...).
  ``resources.speaking()`` makes speakers, which do so and parse the answers.
- **Learn.** ``resources.learner``: ``forward_backward(batch, loss)`` accumulates gradients,
  ``optim_step()`` applies them, ``ema_update(tau)`` updates the moving average. ``await
  resources.learn(steps)`` calls the function that does so.
- **Sync.** ``Resources.push`` copies the learner's weights to the engine, which checks them.
- **Count.** The engine counts the tokens of each role, the loop the environment steps of the episodes that it
  plays, and ``reached`` and ``play_on`` their own. ``update`` reports the rest in its metrics:
  ``gradient_steps`` (required), and ``extra_env_steps`` of episodes that the algorithm plays with a driver of
  its own. Budgets are based on these counts.
- **Keep.** An algorithm with a language critic passes its texts to ``Resources.keep_critiques``, and
  implements ``ReadsStates``.

``nlac_bench.agents.trainer.Trainer`` is a base class with the parts that all built-in algorithms have. Of its
subclasses, ``nlac_bench.baselines.on_policy.OnPolicy`` is for algorithms that learn from new episodes token
by token, ``nlac_bench.agents.nlac.replay_trainer.ReplayTrainer`` for algorithms with a replay buffer.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from nlac_bench.agents.nlac.lesson import Encoder
from nlac_bench.agents.nlac.records import CritiqueRecord, ProbeRecord
from nlac_bench.agents.roles.answers import AnswerRecord
from nlac_bench.agents.roles.playout import Playout, play_on, replayed
from nlac_bench.agents.roles.policy_agent import PolicyAgent
from nlac_bench.agents.roles.role_prompts import ComparingPrompts
from nlac_bench.agents.roles.speaker import Speaker, samplings
from nlac_bench.agents.roles.speaking import Speaking
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.learner.config import TrainConfig
from nlac_bench.learner.learner import Learner
from nlac_bench.learner.outputs import Metrics
from nlac_bench.learner.source import push
from nlac_bench.rollout.engines.engine import Slot, TrainableEngine
from nlac_bench.rollout.engines.tokenizer import Tokenizer
from nlac_bench.rollout.meter import StepMeter
from nlac_bench.types import Episode, Info, beginning_of

C = TypeVar("C", bound=TrainConfig)

PLAYOUT_TURNS = 40
"""Turns after which ``Resources.play_on`` truncates an episode. No embedded task needs more, and a policy
that repeats itself must not delay the training."""


async def at_once(steps: Callable[[], Metrics]) -> Metrics:
    """Return ``steps()``."""
    return steps()


async def whole(
    items: Sequence[Any], unit: int | None, sample: Callable[[Sequence[Any]], Awaitable[None]]
) -> int:
    """Call ``sample`` with all ``items``; return their number."""
    await sample(items)
    return len(items)


@dataclass(frozen=True)
class Resources(Generic[C]):
    """The resources that an algorithm's constructor receives.

    Args:
        config: the algorithm's settings, an instance of its registration's settings class.
        engine: samples from the policy's weights (slot ``policy``) and their moving average (slot ``target``,
            where the registration asks for one); counts tokens by role.
        learner: holds the weights that are trained, with what the registration's ``learner`` asks for.
        prompts: the prompts of all roles, in the style of the model.
        agent: the agent that plays training episodes, in the policy role.
        make_env: makes the environment that is trained on; it may be a fork of one that is not played.
        seed: the run's seed; derive others from it with ``derive_seed(seed, ...)``.
        concurrency: number of requests to send to the engine at the same time.
        keep_critiques: stores texts of the critic in ``critiques.jsonl``; called once in each ``update``.
        keep_answers: stores raw answers of the roles in ``answers.jsonl``; likewise.
        learn: calls the function that takes the gradient steps of an ``update``. It returns when the engine
            may get new weights: with ``train.max_staleness=1``, episodes are played in the meantime.
        in_parts: called with the items of an update, the number of items of a mini-batch and a function that
            samples what a part of them needs. It processes as many as a budget of tokens or environment steps
            allows, and returns their number. With None as the number, all items are one part.
        slots: the slots that the method samples from; by default ``policy``, and ``target`` if the learner
            keeps a moving average.
        done: returns the share of the training that is over, from 0 to 1, for schedules.
        make_validation_env: makes the environment with the validation tasks; None if ``make_env`` has them.
        steps: counts the environment steps of ``reached`` and ``play_on``.
    """

    config: C
    engine: TrainableEngine
    learner: Learner
    prompts: ComparingPrompts
    agent: PolicyAgent
    make_env: Callable[[], TextEnv]
    seed: int
    concurrency: int
    keep_critiques: Callable[[Sequence[CritiqueRecord]], None] = lambda records: None
    keep_answers: Callable[[Sequence[AnswerRecord]], None] = lambda records: None
    learn: Callable[[Callable[[], Metrics]], Awaitable[Metrics]] = at_once
    in_parts: Callable[
        [Sequence[Any], int | None, Callable[[Sequence[Any]], Awaitable[None]]], Awaitable[int]
    ] = whole
    slots: Sequence[Slot] | None = None
    done: Callable[[], float] = lambda: 0.0
    make_validation_env: Callable[[], TextEnv] | None = None
    steps: StepMeter = field(default_factory=StepMeter)

    @property
    def tokenizer(self) -> Tokenizer:
        """The Hugging Face tokenizer of the model."""
        return self.engine.tokenizer

    def env_of(self, task_id: str) -> TextEnv:
        """Return a new environment that has the task: the one of training, or else that of validation."""
        env = self.make_env()
        if self.make_validation_env is not None and task_id not in env.task_ids:
            env = self.make_validation_env()
        return env

    def beginning(self, episode: Episode) -> Info:
        """Return what ``reset`` tells the policy in ``episode``, which was read from a file; see ``Episode``.

        A task that the environments do not have gets the beginning of another one. No user takes part, since
        a model that plays one would be asked, and paid, for a message that nobody reads.
        """
        env = self.env_of(episode.task_id)
        env.repeat_user()
        known = {"task_id": episode.task_id} if episode.task_id in env.task_ids else None
        _, info = env.reset(seed=episode.seed, options=known)
        return beginning_of(info)

    def speaking(
        self, improvement_temperature: float | None = None, speaker_type: type[Speaker] = Speaker
    ) -> Speaking:
        """Return what samples answers in all roles, with the temperature of training episodes.

        Args:
            improvement_temperature: of evaluator, refiner and picker, if it is another one.
            speaker_type: makes the speakers.
        """
        c = self.config
        improvement = c.temperature if improvement_temperature is None else improvement_temperature
        sampling = samplings(c.temperature, improvement, c.max_response_length)
        return Speaking(self.engine, self.prompts, *sampling, self.seed, self.concurrency, speaker_type)

    def encoder(self) -> Encoder:
        """Return what makes token sequences of the run's prompts, within its lengths."""
        c = self.config
        return Encoder(self.tokenizer, self.prompts, c.max_prompt_length, c.max_response_length)

    def push(self, version: int) -> None:
        """Copy the learner's weights of ``slots`` to the engine.

        Args:
            version: the ``weight_version`` of the engine's samples from now on.

        Raises:
            SyncError: the engine's log-probabilities differ from the learner's.
        """
        push(self.learner, self.engine, version, self.slots)

    async def reached(self, transition: Transition) -> TextEnv | None:
        """Return an environment in the state before ``transition``, by playing its episode's actions again.

        The episode may be one of training or one of validation.
        Call its ``fork()`` for every action that is tried there. Returns None if the environment answered
        differently than in the episode.
        """
        self.steps.add(transition.step)
        return await replayed(self.env_of(transition.task_id), transition, self.prompts)

    async def play_on(self, env: TextEnv, transition: Transition, action: str, seed: int) -> Playout:
        """Take ``action`` in ``env``, which is in the state of ``transition``; then let the policy play.

        The policy plays to the end of the episode, but at most ``PLAYOUT_TURNS`` turns. Where its prompts
        grow, it reads its earlier thoughts, as in the episode.
        """
        state, prefix = transition.state, None
        if self.prompts.grows and state.prompt_ids is not None:
            played = transition.action_ids if action == transition.action else None
            prefix = self.encoder().acted(state, played or action, "policy")
        actor = self.agent.resume(state, action, seed, None if prefix is None else prefix.ids)
        playout = await play_on(env, transition, action, actor, self.prompts, PLAYOUT_TURNS)
        self.steps.add(len(playout.observations))
        return playout


class Algorithm(Protocol):
    """A training algorithm. One ``update`` is one iteration of its paper's loop."""

    def __init__(self, resources: Resources[Any]) -> None:
        """Create the algorithm; at this time engine and learner have the untrained weights."""

    async def update(self, episodes: Sequence[Episode], max_steps: int | None = None) -> Metrics:
        """Learn from ``episodes`` and copy the new weights to the engine.

        Args:
            episodes: episodes played by the newest weights; empty if only remembered episodes are used.
            max_steps: largest number of gradient steps, which is the rest of the budget.

        Returns:
            Metrics of the iteration, logged to ``metrics.jsonl``; they must include ``gradient_steps``.
        """

    async def probe(self, episodes: Sequence[Episode], deep: bool) -> Metrics:
        """Compare the algorithm's predictions with ``episodes``, without learning.

        The tokens that it samples are counted separately.

        Args:
            deep: whether a validation follows; only then should probes play further episodes.
        """

    def remember(self, episodes: Sequence[Episode]) -> int:
        """Store ``episodes`` of any policy, to learn from them later (``--offline``).

        Returns:
            The number of transitions that were stored.

        Raises:
            NlacBenchError: the algorithm is on-policy.
        """

    def sync(self) -> None:
        """Copy the learner's weights to the engine."""

    def save(self, folder: Path) -> dict[str, object]:
        """Save the state that a resumed training needs; ``folder``, part of a checkpoint, is for large parts.

        Returns:
            The small part of the state; it is stored as JSON.
        """

    def load(self, folder: Path, state: Mapping[str, object]) -> None:
        """Restore the state that ``save`` wrote and returned, and copy the learner's weights to the engine.

        The learner's own state has been restored before.
        """


@runtime_checkable
class ReadsStates(Protocol):
    """An algorithm with a language critic; its ``Method`` sets ``keeps_critiques``.

    The training loop lets the critic read a fixed set of states at every validation, and stores its texts in
    ``probes.jsonl``.
    """

    @property
    def probe_states(self) -> int:
        """The number of states; fewer are read if the validation's episodes have fewer."""

    def transitions(self, episode: Episode) -> list[Transition]:
        """Return the transitions of ``episode``, from which the states are drawn."""

    async def read_states(self, states: Sequence[Transition], iteration: int) -> list[ProbeRecord]:
        """Return the critic's texts about the played actions of ``states``, without learning.

        The tokens that it samples are counted separately.

        Args:
            iteration: the number of the last iteration; 0 before the first one.
        """
