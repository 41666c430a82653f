"""Environments as tasks of Inspect: ``inspect eval nlac_bench/tau_retail --model …``.

The agent is ``react``, so the model reads what it reads in a run of this package. A failure of the
infrastructure is raised, so it is the error of its sample and never a score.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ModelOutput,
    get_model,
)
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    Score,
    Scorer,
    Target,
    accuracy,
    mean,
    scorer,
    stderr,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError

from nlac_bench.agents.prompted import PromptedAgent
from nlac_bench.agents.prompts import prompt_files
from nlac_bench.bridges.playable import another, playable
from nlac_bench.envs import registry
from nlac_bench.envs.env_string import join, parse
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import ConfigError, EnvInfraError
from nlac_bench.harness.runs.seeds import episode_seed
from nlac_bench.rollout.engines.engine import Finish, SampleRequest
from nlac_bench.rollout.engines.engine import Sample as Reply
from nlac_bench.types import CONTENT_FILTER, ContentFilterError, Message, Usage

_EPISODE = "nlac_bench"
"""The key of the sample's store under which the solver leaves the end of the episode."""
_FINISH: dict[str, Finish] = {
    "max_tokens": "length",
    "model_length": "context_overflow",
    "content_filter": "content_filter",
}
_CLASSES: dict[str, Callable[..., ChatMessage]] = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}


class InspectEngine:
    """Samples from the model that Inspect evaluates, in one episode.

    ``messages`` is the conversation as Inspect's messages. Temperature and lengths are Inspect's settings.
    """

    tokenizer = None

    def __init__(self) -> None:
        self.messages: list[ChatMessage] = []
        self.output = ModelOutput()

    async def sample(self, request: SampleRequest) -> list[Reply]:
        """Return the model's answer to ``request.messages``, which continue those of the last request."""
        assert request.messages is not None  # a prompted agent asks with messages
        self.messages += [_message(each) for each in request.messages[len(self.messages) :]]
        self.output = output = await get_model().generate(self.messages)
        self.messages.append(output.message)
        used = output.usage
        usage = Usage(1) if used is None else Usage(1, used.input_tokens, used.output_tokens)
        return [Reply(output.completion, _FINISH.get(output.stop_reason, "stop"), usage=usage)]

    async def logprobs(self, ids: Any, prompt_len: int, slot: Any = "policy") -> list[float]:
        """Is not available: only training asks for it."""
        raise NotImplementedError


def _message(message: Any) -> ChatMessage:
    return _CLASSES[message["role"]](content=message["content"])


@solver
def episode(env: TextEnv, text: str, seed: int = 0) -> Solver:
    """Play the sample's task of ``env``, which is made from ``text``.

    ``seed`` and the epoch determine the episode as ``nlac-bench run --seed`` does.

    Raises:
        EnvInfraError: a simulator, oracle or grader does not work.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        engine, copy, task_id = InspectEngine(), another(env, text), str(state.sample_id)
        drawn = episode_seed(seed, task_id, state.epoch - 1)
        end: Message = {"success": False, "end_reason": "", "reward": 0.0, "reward_parts": {}, "action": ""}
        try:
            observation, info = await copy.areset(seed=drawn, options={"task_id": task_id})
            agent = PromptedAgent("react", engine, prompts=prompt_files(None, env.prompts))
            actor, ended = agent.begin(copy, drawn), False
            while not ended:
                turn = await actor.act(observation, info)
                end["action"] = turn.text
                if not turn.played:
                    end["end_reason"] = turn.finish
                    break
                observation, reward, terminated, truncated, info = await copy.astep(turn.text)
                if not math.isfinite(reward):
                    raise EnvInfraError(f"{env.name} returned the reward {reward}")
                end["reward"] += float(reward)
                ended = terminated or truncated
            else:
                end |= {name: info[name] for name in ("end_reason", "reward_parts") if name in info}
                end["success"] = info.get("success")  # a plain environment need not report it
                engine.messages.append(ChatMessageUser(content=observation))
        except ContentFilterError:
            end["end_reason"] = CONTENT_FILTER
        except LimitExceededError as limit:  # a limit on messages, tokens or costs: the agent used too much
            end["end_reason"] = f"{limit.type}_limit"
            state.store.set(_EPISODE, end)
            raise
        finally:
            copy.close()
            state.messages, state.output = engine.messages, engine.output
        state.store.set(_EPISODE, end)
        state.completed = True
        return state

    return solve


def _scored(state: TaskState, name: str) -> Score:
    """Return the score of an episode's value ``name``; one without a result is not scored."""
    end = state.store.get(_EPISODE)
    if end is None or end["end_reason"] == CONTENT_FILTER:
        why = "the episode has no result" if end is None else "a content filter stopped a reply"
        return Score.unscored(explanation=why)
    value = end[name]
    if value is None:
        return Score.unscored(explanation=f"the environment does not report {name}")
    return Score(
        value=(CORRECT if value else INCORRECT) if name == "success" else value,
        answer=end["action"],
        explanation=end["end_reason"],
        metadata={"reward": end["reward"], "reward_parts": end["reward_parts"]},
    )


@scorer(metrics=[accuracy(), stderr()])
def success() -> Scorer:
    """Score whether the episode ended with success; the metadata has the reward and its parts."""

    async def score(state: TaskState, target: Target) -> Score:
        return _scored(state, "success")

    return score


@scorer(metrics=[mean(), stderr()])
def reward() -> Scorer:
    """Score the sum of the episode's rewards."""

    async def score(state: TaskState, target: Target) -> Score:
        return _scored(state, "reward")

    return score


def _task(text: str, split: str | None, limit: int | None, epochs: int, seed: int) -> Task:
    env = playable(text) if split is None else playable(text, split=split)
    return Task(
        dataset=MemoryDataset([_sample(env, each, seed) for each in env.task_ids[:limit]], name=env.name),
        solver=episode(env, text, seed),
        scorer=[success(), reward()],
        epochs=epochs,
        name=env.name,
        version=env.env_version,
        metadata={"env": text, "split": env.split, "data_sha256": env.source.sha256, **env.conditions()},
    )


def _sample(env: TextEnv, task_id: str, seed: int) -> Sample:
    """Return a sample whose input is the first observation."""
    observation, _ = env.reset(seed=episode_seed(seed, task_id, 0), options={"task_id": task_id})
    return Sample(input=observation, id=task_id)


@task
def environment(
    env: str,
    args: Mapping[str, Any] | None = None,
    split: str | None = None,
    limit: int | None = None,
    epochs: int = 1,
    seed: int = 0,
) -> Task:
    """Play any environment.

    Args:
        env: as for ``nlac-bench run --env``.
        args: arguments of the environment, where Inspect's command line would read those after ``@`` as YAML.
        split: which part of its tasks; by default its own.
        limit: the number of its tasks, from the first.
        epochs: the number of episodes of each task.
        seed: the base seed of the episodes.
    """
    if not isinstance(env, str):
        raise ConfigError(
            f"-T env={env!r:.80} was read as YAML: set the arguments by -T 'args={{\"NAME\": …}}'"
        )
    name, own = parse(env)
    return _task(join(name, {**own, **(args or {})}), split, limit, epochs, seed)


def _named(name: str) -> Callable[..., Task]:
    def play(split: str | None = None, limit: int | None = None, epochs: int = 1, seed: int = 0) -> Task:
        return _task(name, split, limit, epochs, seed)

    made: Callable[..., Task] = task(name=name)(play)
    return made


BUILTIN = {name: _named(name) for name in registry.BUILTIN}
"""The tasks ``nlac_bench/NAME``, one for each built-in environment, with the arguments of ``environment``."""
