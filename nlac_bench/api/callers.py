"""Makes agents of what a Python program has: a function, an agent object, a model, or a trained run."""

import inspect
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

from nlac_bench import installed
from nlac_bench.agents import methods
from nlac_bench.agents.names import FLOORS, PROMPTED
from nlac_bench.agents.prompted import PromptedAgent
from nlac_bench.agents.registry import PLUGIN_GROUP, AgentContext, AgentFactory
from nlac_bench.agents.roles.policy_agent import PolicyAgent
from nlac_bench.agents.roles.styles import prompts_for
from nlac_bench.api.runs import Run
from nlac_bench.errors import ConfigError
from nlac_bench.harness.measure.engines import is_named
from nlac_bench.harness.runs import named_agents
from nlac_bench.harness.runs.trust import refuse_unrepeated
from nlac_bench.rollout.agent import Agent
from nlac_bench.rollout.engines.engine import Engine, Sample, SampleRequest, Slot, tokenizer_of
from nlac_bench.types import Message, Usage

ChatFunction: TypeAlias = Callable[[list[Message]], str | Awaitable[str]]
"""A function that answers a chat: a list of messages with ``role`` and ``content``."""


class CalledAgent(NamedTuple):
    """An agent of a call: its name in the run, what makes it (None: its name does), and its settings.

    The name is None for the agent that a configuration file names.
    """

    name: str | None
    make: AgentFactory | None = None
    settings: dict[str, Any] = {}  # noqa: RUF012 - never changed


def called_agent(agent: object) -> CalledAgent:
    """Return the agent that ``agent`` stands for.

    Args:
        agent: the name of an agent as on the command line; the name or folder of a model, a transformers
            model or an ``Engine``, which play with the prompts that training methods use; a trained ``Run``,
            whose best checkpoint plays; an ``Agent``; or a ``ChatFunction``.

    Raises:
        ConfigError: it is none of these, or a run whose agent is imported from a module, which its folder may
            not decide.
    """
    if isinstance(agent, str):
        return (
            CalledAgent("policy()", _policy, {"model": agent}) if _names_model(agent) else CalledAgent(agent)
        )
    if isinstance(agent, Run):
        best = agent.path / "checkpoints" / "best"
        if not best.is_dir():
            raise ConfigError(f"agent: {agent.path} has no trained model ({best} does not exist)")
        name = str(agent.folder.subject["agent"])
        if named_agents.module_of(name):
            refuse_unrepeated({}, {"agent": name}, agent.path / "manifest.json", advice="")
            raise ConfigError(
                f"agent: {agent.path} names {name!r:.500}, which imports code of a module. A run's folder "
                "may come from somebody else, so it alone does not decide this. If you trust it, pass "
                f"agent={name!r:.500}, model={str(best)!r}"
            )
        return CalledAgent(name, None, {"model": str(best)})
    if _is_transformers_model(agent):
        return CalledAgent("policy()", lambda context: _policy(context, _loaded(agent)))
    if hasattr(agent, "sample") and hasattr(agent, "tokenizer"):
        return CalledAgent("policy()", lambda context: _policy(context, cast(Engine, agent)))
    if hasattr(agent, "begin"):
        named = str(getattr(agent, "name", type(agent).__name__))
        return CalledAgent(_name(named), lambda context: cast(Agent, agent))
    if callable(agent):
        function = cast(ChatFunction, agent)
        named = getattr(agent, "__name__", type(agent).__name__)
        return CalledAgent(
            _name(named),
            lambda context: PromptedAgent(
                "act", FunctionEngine(function), context.sampling, prompts=context.prompts
            ),
        )
    raise ConfigError(
        f"agent must be a name, a model, an agent with begin(env, seed), or a function of messages that "
        f"returns text; got {agent!r:.80}"
    )


class FunctionEngine:
    """An engine whose replies a function writes. It is called in the event loop, one call at a time.

    A coroutine function may have many calls under way. What the function raises makes the episode fail: it is
    not scored, as any fault outside of an agent's text.
    """

    tokenizer = None

    def __init__(self, function: ChatFunction) -> None:
        self._function = function

    async def sample(self, request: SampleRequest) -> list[Sample]:
        """Return the function's reply to the request's messages.

        Raises:
            TypeError: the reply is not text.
        """
        began = time.perf_counter()
        reply = self._function([dict(message) for message in request.messages or ()])
        if inspect.isawaitable(reply):
            reply = await reply
        if not isinstance(reply, str):
            raise TypeError(
                f"the agent function must return text, got {reply!r:.80} ({type(reply).__name__})"
            )
        return [Sample(reply, "stop", usage=Usage(calls=1, seconds=time.perf_counter() - began))]

    async def logprobs(self, ids: Sequence[int], prompt_len: int, slot: Slot = "policy") -> list[float]:
        """Raise an error, because a function has no probabilities."""
        raise ConfigError("an agent function has no log-probabilities; train a model instead")


def _name(text: str) -> str:
    """Return the name of an object in a run. No registered agent has parentheses, no module is imported."""
    return f"{text.replace(':', '.')}()"


def _names_model(name: str) -> bool:
    if named_agents.module_of(name) or name in (*FLOORS, *PROMPTED, *methods.names()):
        return False
    if name in installed.entry_points(PLUGIN_GROUP).names:
        return False
    return is_named(name) or "/" in name or Path(name).is_dir()


def _is_transformers_model(value: object) -> bool:
    transformers = sys.modules.get("transformers")  # whoever has such a model has imported it
    return transformers is not None and isinstance(value, transformers.PreTrainedModel)


def _loaded(model: Any) -> Engine:
    from nlac_bench.rollout.engines.hf.engine import HFEngine
    from nlac_bench.rollout.engines.hf.loading import load_tokenizer

    return HFEngine(model, load_tokenizer(model.config.name_or_path))


def _policy(context: AgentContext, engine: Engine | None = None) -> Agent:
    used = engine or context.required_engine("policy()")
    return PolicyAgent(
        used, prompts_for(tokenizer_of(used), context.prompts), context.sampling, name="policy"
    )
