"""What a training algorithm is, and what it may use.

``Training`` (``nlac_bench.eval.training.loop``) plays episodes, hands them to ``Algorithm.update`` and logs
what that returns. All that an algorithm needs for it is in ``Resources``, its constructor's only argument:

- **Roll out.** The loop plays the training episodes. ``Resources.reached`` and ``Resources.play_on`` play
  further ones from a state of an episode; ``Driver(resources.agent, resources.make_env)`` plays whole ones.
- **Sample from a role.** ``resources.engine.sample(SampleRequest(messages=..., role=...))``, with messages
  of ``resources.prompts``, answers in one of the model's roles (policy, successor, evaluator, ...).
  ``nlac_bench.agents.roles.speaker.Speaker`` does so and parses the answers.
- **Learn.** ``resources.learner``: ``forward_backward(batch, loss)`` accumulates gradients,
  ``optim_step()`` applies them, ``ema_update(tau)`` updates the moving average.
- **Sync.** ``Resources.push`` hands the learner's weights to the engine, which checks that they arrived.
- **Count.** The engine counts the tokens of each role, the loop the environment steps of the episodes that
  it played. ``update`` reports the rest in its metrics: ``gradient_steps`` (required) and
  ``extra_env_steps`` (of episodes that the algorithm played itself). Budgets are spent by these counts.

``nlac_bench.baselines.on_policy.OnPolicy`` is a base class for algorithms that learn from new episodes token
by token, ``nlac_bench.agents.nlac.algorithm.NLAC`` one for algorithms with a replay buffer and roles.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from nlac_bench.agents.roles.playout import Playout, play_on, replayed
from nlac_bench.agents.roles.policy_agent import PolicyAgent
from nlac_bench.agents.roles.role_prompts import ComparingPrompts
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.rollout.engines.engine import TrainableEngine
from nlac_bench.train.config import TrainConfig
from nlac_bench.train.learner import Learner
from nlac_bench.train.outputs import Metrics
from nlac_bench.train.source import push
from nlac_bench.types import Episode

C = TypeVar("C", bound=TrainConfig)

PLAYOUT_TURNS = 40
"""Turns after which ``Resources.play_on`` cuts an episode. No embedded task needs more, and a policy that
repeats itself must not hold up the training."""


@dataclass(frozen=True)
class Resources(Generic[C]):
    """What an algorithm is made from.

    Args:
        config: its settings, an instance of its registration's settings class.
        engine: samples from the policy's weights (slot ``policy``) and their moving average (slot ``target``,
            where the registration asks for one); counts tokens by role.
        learner: holds the weights that are trained, with what the registration's ``learner`` asks for.
        prompts: the prompts of all roles, in the style of the model.
        agent: the policy role as an agent, as it plays training episodes.
        make_env: makes the environment that is trained on.
        seed: of all random numbers of the run; derive others with ``derive_seed(seed, ...)``.
        concurrency: requests to send to the engine at once.
    """

    config: C
    engine: TrainableEngine
    learner: Learner
    prompts: ComparingPrompts
    agent: PolicyAgent
    make_env: Callable[[], TextEnv]
    seed: int
    concurrency: int

    @property
    def tokenizer(self) -> Any:
        """The Hugging Face tokenizer of the model."""
        return self.engine.tokenizer

    def env_info(self) -> tuple[str, dict[str, Any]]:
        """The environment's name, and what its ``reset`` tells an agent (rules and tools among it)."""
        env = self.make_env()
        _, info = env.reset(seed=0)
        return env.name, info

    def push(self, version: int) -> None:
        """Hand the learner's weights, and their moving average where there is one, to the engine.

        Args:
            version: what the engine's samples report as ``weight_version`` from now on.

        Raises:
            SyncError: the engine computes something else than the learner.
        """
        push(self.learner, self.engine, version)

    async def reached(self, transition: Transition) -> TextEnv | None:
        """An environment in the state that ``transition`` begins in; its episode's actions are played again.

        ``fork()`` it for every action that is tried there. None where the environment did not answer as it
        did in the episode.
        """
        return await replayed(self.make_env(), transition, self.prompts)

    async def play_on(self, env: TextEnv, transition: Transition, action: str, seed: int) -> Playout:
        """Take ``action`` in ``env``, which is in the state of ``transition``; then the policy plays to the
        end, or for ``PLAYOUT_TURNS`` turns."""
        return await play_on(env, transition, action, self.agent, seed, PLAYOUT_TURNS)


class Algorithm(Protocol):
    """A training algorithm. One ``update`` is one iteration of its paper's loop."""

    def __init__(self, resources: Resources[Any]) -> None:
        """Make it from ``resources``; the engine still has the untrained weights."""

    async def update(self, episodes: Sequence[Episode], max_steps: int | None = None) -> Metrics:
        """Learn from ``episodes`` and hand the new weights to the engine.

        Args:
            episodes: played by the newest weights; empty in training from remembered episodes alone.
            max_steps: take at most so many gradient steps: what is left of the budget.

        Returns:
            Metrics of the iteration, logged to ``metrics.jsonl``; ``gradient_steps`` among them.
        """

    async def probe(self, episodes: Sequence[Episode], deep: bool) -> Metrics:
        """Measure what the algorithm believes against ``episodes``; nothing is learned, and the tokens are
        counted apart.

        Args:
            deep: whether a validation follows, so that probes which play episodes of their own are due.
        """

    def remember(self, episodes: Sequence[Episode]) -> int:
        """Store ``episodes``, whatever policy played them, to learn from later (``--offline``).

        Returns:
            How many transitions were stored.

        Raises:
            NlacBenchError: the algorithm learns from its own new episodes alone.
        """

    def sync(self) -> None:
        """Hand the learner's weights to the engine."""

    def save(self, folder: Path) -> dict[str, Any]:
        """Write into ``folder``, which is part of a checkpoint, what a resumed training needs.

        Returns:
            The small part of it, which is kept as JSON.
        """

    def load(self, folder: Path, state: Mapping[str, Any]) -> None:
        """Restore what ``save`` wrote and returned; the learner's weights are restored already. Hands them
        to the engine."""
