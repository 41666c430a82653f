"""Plays a few episodes without a model, to estimate how many turns and tokens an episode takes."""

import asyncio
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlac_bench.envs import registry as envs
from nlac_bench.envs.env_string import join
from nlac_bench.envs.foreign import named
from nlac_bench.envs.returned import check_action, check_info, check_observation, check_step
from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.measure.environment import Environments
from nlac_bench.harness.measure.model_defaults import is_tiny
from nlac_bench.harness.measure.official_tasks import Sampled
from nlac_bench.harness.measure.prepare import Outline
from nlac_bench.harness.measure.unloaded import CHARS_PER_TOKEN, UnloadedEngine
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.episode_json import dump_line, episode_to_row
from nlac_bench.rollout.agent import Agent, begun
from nlac_bench.rollout.driver import stored_info
from nlac_bench.types import Episode, Info, Turn

TOKENS_PER_TURN = {"react": 150, "act": 60, "tool_calling": 60}
"""Assumed length of the policy's answers, by agent."""
TINY_TOKENS_PER_TURN = 25
"""Length of the embedded model's answers in all roles; 12 to 35 were measured."""
END_TOKENS = 2
"""A line feed and the end token, after an answer that is an action alone."""
TOKENS_PER_USER_REPLY = 40
USER_PROMPT_TOKENS = 400
"""Assumed length of the instructions in the prompt of the simulated user, oracle or judge."""
TALK_TURNS = 5
"""Assumed number of messages to the user in an episode of τ-bench; the oracle sends none."""
SAMPLED_TASKS = 5
MAX_STEPS = 200
_IN_EPISODE = "{env}: an episode that was played for the estimate"
_TOOL = {"type": "function", "function": {"name": "look", "description": "", "parameters": {}}}


@dataclass(frozen=True)
class MeanEpisode:
    """Means over the sampled episodes.

    ``turns`` includes ``talk``, the assumed messages to the user. ``prompt`` counts the tokens of all of the
    policy's prompts, ``fixed`` those of rules and instructions, which each of them begins with, ``context``
    those of the last prompt, ``user`` those of the prompts of the simulated user, ``answer`` those of one
    answer of the policy.
    """

    turns: float
    prompt: float
    fixed: float
    context: float
    user: float
    talk: int
    answer: int

    @property
    def new(self) -> float:
        """The tokens of a prompt that the prompt before it in the episode does not contain."""
        return max(0.0, (self.context - self.fixed) / self.turns - self.answer)


def sample_episodes(planned: Outline, tasks: Sequence[str]) -> list[Sampled]:
    """Play the oracle on up to ``SAMPLED_TASKS`` of ``tasks``, evenly spaced.

    In environments without an oracle, random actions are played instead.

    Raises:
        NlacBenchError: the environment fails, or returns what the run would refuse or could not store.
    """
    env = scripted_env(planned)
    with named(_IN_EPISODE.format(env=planned.config.env)):
        return [_sample_episode(env, task) for task in _some(tasks)]


def _sample_episode(env: Any, task: str) -> Sampled:
    observation, info = env.reset(seed=0, options={"task_id": task})
    check_observation(observation)
    check_info(info)
    rules, tools = _rules(info), bool(info["tools"])
    episode = Episode(env.name, task, 0, 0, observation, info=stored_info(info))
    ended, rng = False, np.random.default_rng(0)
    while not ended and len(episode.turns) < MAX_STEPS:
        if env.has_oracle:
            action = check_action(env.oracle_action(), "oracle_action", env.name)
        else:
            action = check_action(env.random_action(rng), "random_action", env.name)
        observation, reward, terminated, truncated, info = env.step(action)
        check_step(observation, reward, terminated, truncated, info)
        ended = terminated or truncated
        episode.turns.append(Turn(action, observation, float(reward), info=stored_info(info)))
    dump_line(episode_to_row(episode))  # an error if the run could not store it
    alone = env.prompts is not None and env.one_line and env.has_oracle
    answer = float(np.mean([len(turn.text) for turn in episode.turns])) if alone else None
    observations = (episode.first_observation, *(turn.observation for turn in episode.turns))
    return Sampled(rules, tools, tuple(map(len, observations)), answer)


def answer_tokens(config: RunConfig) -> int:
    """Return the assumed length of an answer of any role without a limit."""
    return TINY_TOKENS_PER_TURN if is_tiny(config.model) else TOKENS_PER_TURN.get(config.agent, 150)


def policy_tokens(config: RunConfig, sampled: Sequence[Sampled]) -> int:
    """Return the length of an answer of the policy without a limit; see ``Sampled.answer``."""
    known = [episode.answer for episode in sampled if episode.answer is not None]
    if not known or is_tiny(config.model):
        return answer_tokens(config)
    return math.ceil(float(np.mean(known)) / CHARS_PER_TOKEN) + END_TOKENS


def mean_episode(
    config: RunConfig, sampled: Sequence[Sampled], simulated: bool, instructions: float
) -> MeanEpisode:
    """Estimate the tokens of an episode of the agent of ``config``.

    Args:
        simulated: whether a model plays the environment's user, oracle or judge.
        instructions: tokens of the agent's instructions and the chat template.
    """
    talk = 0
    answer = min(policy_tokens(config, sampled), config.max_tokens)
    turns = tokens_in = user_tokens = last = rules = 0.0
    for episode in sampled:
        fixed = instructions + _fixed(episode.rules, config)
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
        last, rules = last + context, rules + fixed
    n = len(sampled)
    return MeanEpisode(turns / n + talk, tokens_in / n, rules / n, last / n, user_tokens / n, talk, answer)


def instruction_tokens(planned: Outline, agent: Agent, engine: UnloadedEngine) -> float:
    """Return the tokens of a first prompt beside those that ``mean_episode`` counts by characters.

    These are the agent's instructions and the marks of the chat template; with a tokenizer, also the error of
    the count by characters. 0 for an agent that does not ask the model first.

    Raises:
        NlacBenchError: the agent fails before it asks the model, so that all episodes would fail.
    """
    env, known = scripted_env(planned), 0.0
    for task in _some(dict.fromkeys(item.task_id for item in planned.plan)):
        with named(_IN_EPISODE.format(env=planned.config.env)):
            observation, info = env.reset(seed=0, options={"task_id": task})
        if engine.tokenizer is None:  # without the texts, so that other data give the same number
            observation = ""
            info |= {"policy": "", "tools": [_TOOL] if info.get("tools") else [], "examples": ()}
        else:
            known += _fixed(_rules(info), planned.config) + len(observation) / CHARS_PER_TOKEN
        asked = len(engine.asked)
        try:
            with named(f"agent {planned.config.agent!r}, at its first observation,"):
                asyncio.run(_act(agent, env, observation, info))
        except NlacBenchError:
            if len(engine.asked) == asked:  # else the empty answer of the model may be the reason
                raise
    lengths = [engine.tokens(request) for request in engine.asked]
    return (sum(lengths) - known) / len(lengths) if lengths else 0.0


async def _act(agent: Agent, env: Any, observation: str, info: Info) -> None:
    await begun(agent, env, 0).act(observation, info)


def _some(tasks: Iterable[str]) -> list[str]:
    """Return up to ``SAMPLED_TASKS`` of ``tasks``, evenly spaced."""
    every = list(tasks)
    return every[:: max(1, len(every) // SAMPLED_TASKS)][:SAMPLED_TASKS]


def _rules(info: Info) -> int:
    """Return the number of characters of the environment's rules, tools and examples."""
    rules = len(info["policy"]) + sum(len(str(tool)) for tool in info["tools"])
    return rules + sum(len(message["content"]) for message in info.get("examples", ()))


def _fixed(rules: int, config: RunConfig) -> float:
    """Return the tokens of rules and tools that each prompt contains."""
    # The embedded model's prompts contain neither rules nor tools: they were part of its training.
    return 0.0 if is_tiny(config.model) else rules / CHARS_PER_TOKEN


def scripted_env(planned: Outline) -> Any:
    """Return the environment that is measured, with its scripted user instead of a model."""
    if not planned.environments.measured.remote:
        return planned.environments.make_env().unwrapped
    name, arguments = envs.parse(planned.config.env)
    kept = {key: value for key, value in arguments.items() if key not in ("user", "oracle")}
    alone = planned.config.changed(
        env=join(name, kept), agent="oracle", train=None, offline=None, base=None, user=None,
        user_model=None, record=None, replay=None,
    )  # fmt: skip
    return Environments(alone, None).make_env().unwrapped
