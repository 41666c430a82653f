"""A model for Inspect that answers with the oracle's actions, if it reads what a run's model reads."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from inspect_ai.model import ModelOutput, ModelUsage, modelapi
from inspect_ai.model._providers.mockllm import MockLLM

from nlac_bench.agents.prompted import PromptedAgent
from nlac_bench.agents.prompts import prompt_files
from nlac_bench.envs import registry
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.harness.runs.seeds import episode_seed
from nlac_bench.rollout.driver import Driver, EpisodeSpec
from nlac_bench.rollout.engines.engine import Sample, SampleRequest
from nlac_bench.types import Episode

Conversation = tuple[tuple[str, str], ...]


class _Oracle:
    """An engine that answers with the oracle's action, and keeps what it was asked."""

    tokenizer = None

    def __init__(self, env: TextEnv) -> None:
        self.env = env
        self.answers: dict[Conversation, str] = {}

    async def sample(self, request: SampleRequest) -> list[Sample]:
        action = self.env.oracle_action()
        assert request.messages is not None
        self.answers[tuple((m["role"], m["content"]) for m in request.messages)] = action
        return [Sample(action, "stop")]

    async def logprobs(self, ids: Any, prompt_len: int, slot: Any = "policy") -> list[float]:
        raise NotImplementedError


def local_run(text: str, tasks: int = 2, trials: int = 1) -> tuple[dict[Conversation, str], list[Episode]]:
    """Play the oracle with the prompts of the agent ``react``, as a run of this package with seed 0.

    Returns:
        The answer to each conversation that the model reads, and the episodes.
    """
    env = registry.make_text_env(text)
    engine = _Oracle(env)
    agent = PromptedAgent("react", engine, prompts=prompt_files(None, env.prompts))
    driver = Driver(agent, lambda: env, concurrency=1)
    specs = [
        EpisodeSpec(text, task, trial, episode_seed(0, task, trial))
        for trial in range(trials)
        for task in env.task_ids[:tasks]
    ]

    async def play() -> list[Any]:
        return [result async for result in driver.run(specs)]

    with ThreadPoolExecutor(1) as thread:  # Inspect makes its models on an event loop
        return engine.answers, thread.submit(asyncio.run, play()).result()


def output(text: str, stop_reason: Any = "stop") -> ModelOutput:
    """An answer with its usage: counting tokens would download a vocabulary."""
    made = ModelOutput.from_content("mockllm/model", text, stop_reason=stop_reason)
    made.usage = ModelUsage(input_tokens=5, output_tokens=1, total_tokens=6)
    return made


def replier(answers: dict[Conversation, str]) -> Callable[..., ModelOutput]:
    """A function for ``mockllm`` that answers a known conversation, and fails on any other."""
    return lambda messages, *_: output(answers[tuple((m.role, m.text) for m in messages)])


@modelapi(name="oracle")
class OracleModel(MockLLM):
    """``--model oracle/ENV``, for the command line."""

    def __init__(self, model_name: str, **arguments: Any) -> None:
        answers: dict[Conversation, str] = {}
        for env in model_name.split("+"):
            answers |= local_run(env)[0]
        super().__init__(model_name, custom_outputs=replier(answers), **arguments)
