"""Plays a few episodes without a model, to estimate how many turns and tokens an episode takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlac_bench.envs import registry as envs
from nlac_bench.envs.adapter import PlainEnv
from nlac_bench.envs.env_string import join
from nlac_bench.harness.measure.environment import Environments
from nlac_bench.harness.measure.model_defaults import is_tiny
from nlac_bench.harness.measure.official_tasks import Sampled
from nlac_bench.harness.measure.prepare import Outline
from nlac_bench.harness.runs.configuration import RunConfig

CHARS_PER_TOKEN = 4.0
"""Common vocabularies give 3.5 to 4.5 for English text and JSON."""
TOKENS_PER_TURN = {"react": 150, "act": 60, "tool_calling": 60}
"""Assumed length of the policy's answers, by agent."""
TINY_TOKENS_PER_TURN = 25
"""Length of the embedded model's answers in all roles; 12 to 35 were measured."""
TOKENS_PER_USER_REPLY = 40
USER_PROMPT_TOKENS = 400
"""Assumed length of the instructions in the prompt of the simulated user, oracle or judge."""
TALK_TURNS = 5
"""Assumed number of messages to the user in an episode of τ-bench; the oracle sends none."""
SAMPLED_TASKS = 5
MAX_STEPS = 200


@dataclass(frozen=True)
class MeanEpisode:
    """Means over the sampled episodes.

    ``turns`` includes ``talk``, the assumed messages to the user. ``prompt`` counts the tokens of all of the
    policy's prompts, ``context`` those of the last one, ``user`` those of the prompts of the simulated user,
    ``answer`` those of one answer of the policy.
    """

    turns: float
    prompt: float
    context: float
    user: float
    talk: int
    answer: int


def sample_episodes(planned: Outline, tasks: Sequence[str]) -> list[Sampled]:
    """Play the oracle on up to ``SAMPLED_TASKS`` of ``tasks``, evenly spaced.

    Plain Gymnasium environments have no oracle; random actions are played in them instead.
    """
    remote = planned.environments.measured.remote
    environments = _without_simulator(planned) if remote else planned.environments
    env: Any = environments.make_env().unwrapped
    results = []
    for task in tasks[:: max(1, len(tasks) // SAMPLED_TASKS)][:SAMPLED_TASKS]:
        observation, info = env.reset(seed=0, options={"task_id": task})
        rules = len(info["policy"]) + sum(len(str(tool)) for tool in info["tools"])
        rules += sum(len(message["content"]) for message in info.get("examples", ()))
        lengths, ended, rng = [len(observation)], False, np.random.default_rng(0)
        while not ended and len(lengths) <= MAX_STEPS:
            action = env.random_action(rng) if isinstance(env, PlainEnv) else env.oracle_action()
            observation, _, terminated, truncated, _ = env.step(action)
            ended = terminated or truncated
            lengths.append(len(observation))
        results.append(Sampled(rules, bool(info["tools"]), tuple(lengths)))
    return results


def mean_episode(config: RunConfig, sampled: Sequence[Sampled], simulated: bool) -> MeanEpisode:
    """Estimate the tokens of an episode of the agent of ``config``.

    Args:
        simulated: whether a model plays the environment's user, oracle or judge.
    """
    tiny, talk = is_tiny(config.model), 0
    answer = TINY_TOKENS_PER_TURN if tiny else TOKENS_PER_TURN.get(config.agent, 150)
    turns = tokens_in = user_tokens = last = 0.0
    for episode in sampled:
        # The embedded model's prompts contain neither rules nor tools: they were part of its training.
        fixed = 0.0 if tiny else episode.rules / CHARS_PER_TOKEN
        first, *later = (length / CHARS_PER_TOKEN for length in episode.observations)
        context = fixed + first
        talk = TALK_TURNS if simulated and episode.talks else 0  # else each step calls the oracle or judge
        for _ in range(talk):
            tokens_in += context
            user_tokens += context - fixed + USER_PROMPT_TOKENS
            context += answer + TOKENS_PER_USER_REPLY
        for observed in later:
            tokens_in += context
            turns += 1
            user_tokens += USER_PROMPT_TOKENS if simulated and not talk else 0
            context += answer + observed
        last += context
    n = len(sampled)
    return MeanEpisode(turns / n + talk, tokens_in / n, last / n, user_tokens / n, talk, answer)


def _without_simulator(planned: Outline) -> Environments:
    """Return the environments of ``planned`` with its scripted user instead of a model."""
    name, arguments = envs.parse(planned.config.env)
    kept = {key: value for key, value in arguments.items() if key not in ("user", "oracle")}
    alone = planned.config.changed(
        env=join(name, kept), agent="oracle", train=None, offline=None, base=None, user=None,
        user_model=None, record=None, replay=None,
    )  # fmt: skip
    return Environments(alone, None)
