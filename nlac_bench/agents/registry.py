"""The registry of agents: built-in ones and those of entry-point group ``nlac_bench.agents``."""

import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from nlac_bench import installed
from nlac_bench.agents import methods
from nlac_bench.agents.composed import ComposedAgent
from nlac_bench.agents.floors import floor_agent
from nlac_bench.agents.names import FLOORS, PROMPTED
from nlac_bench.agents.prompted import PromptedAgent
from nlac_bench.agents.prompts import PACKAGED, PromptFiles
from nlac_bench.agents.roles.chat import ChatStyle
from nlac_bench.agents.roles.policy_agent import PolicyAgent
from nlac_bench.agents.roles.styles import chat_prompts_for, prompts_for
from nlac_bench.agents.tool_calling import ToolCallingAgent
from nlac_bench.envs.foreign import load_factory, named
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import NlacBenchError, UnknownIdError
from nlac_bench.rollout.agent import Agent, checked
from nlac_bench.rollout.engines.engine import Engine, Sampling, tokenizer_of

PLUGIN_GROUP = "nlac_bench.agents"


@dataclass(frozen=True)
class AgentContext:
    """The resources that an agent may be made from."""

    engine: Engine | None = None
    sampling: Sampling = field(default_factory=Sampling)
    make_train_env: Callable[[], TextEnv] | None = None
    """Makes the environment's training split, on which the action of the floor ``constant`` is searched."""
    prompts: PromptFiles = PACKAGED
    """The prompt files, which the environment and the user may have replaced."""
    refine: int = 0
    """How often an action is criticised and refined before it is played; 0 for not at all."""
    best_of: int = 0
    """The number of actions of which the best is played; 0 for the first one."""
    weights: Path | None = None
    """The folder of the model, whose scalar heads may choose the best; None if it is not on this machine."""

    def required_engine(self, name: str) -> Engine:
        """Return the engine.

        Args:
            name: the agent's name, for the error message.

        Raises:
            NlacBenchError: there is no engine.
        """
        if self.engine is None:
            raise NlacBenchError(f"agent {name!r} needs a model; set --model, or --base-url for a server")
        return self.engine


AgentFactory = Callable[[AgentContext], Agent]


def make(name: str, context: AgentContext) -> Agent:
    """Make the agent ``name``.

    Raises:
        UnknownIdError: no agent has this name; the message lists the agents.
        NlacBenchError: the agent needs something that ``context`` lacks.
    """
    if name in FLOORS:
        return _floor(name, context)
    if name in ("react", "act"):
        return _prompted(cast(ChatStyle, name), context)
    if name == "tool_calling":
        return ToolCallingAgent(context.required_engine(name), context.sampling, prompts=context.prompts)
    if name in methods.names():
        return trained(name, methods.find(name), context)
    points = installed.entry_points(PLUGIN_GROUP)
    for point in points:
        if point.name == name:
            return _made(plugin(point), context, name)
    plugged = {point.name for point in points}
    known = ", ".join([*FLOORS, *PROMPTED, *methods.names(), *sorted(plugged)])
    raise UnknownIdError(f"no agent is named {name!r}; the agents are {known}")


def trained(name: str, method: methods.Method, context: AgentContext) -> PolicyAgent | ComposedAgent:
    """Make the agent ``name``, which plays the policy of a training method.

    Raises:
        NlacBenchError: there is no engine, or the heads of the weights are damaged.
    """
    engine = context.required_engine(name)
    prompts = prompts_for(tokenizer_of(engine), context.prompts)
    policy = PolicyAgent(engine, prompts, context.sampling, name=name)
    if not (context.refine or context.best_of):
        return policy
    agent = ComposedAgent(policy, prompts, context.refine, context.best_of, method)
    return agent if context.weights is None else agent.with_weights(context.weights)


def _prompted(name: ChatStyle, context: AgentContext) -> Agent:
    """Make an agent that is prompted in text. Its policy's prompt is in natural language for every model; the
    other roles have the style that the model was taught."""
    engine = context.required_engine(name)
    if not (context.refine or context.best_of):
        return PromptedAgent(name, engine, context.sampling, prompts=context.prompts)
    tokenizer = tokenizer_of(engine)
    prompts = chat_prompts_for(tokenizer, context.prompts, name)
    policy = PolicyAgent(engine, prompts, context.sampling, name=name)
    roles = prompts_for(tokenizer, context.prompts, name)
    return ComposedAgent(policy, roles, context.refine, context.best_of)


def plugin(point: importlib.metadata.EntryPoint) -> AgentFactory:
    """Return the agent's factory of another package: a callable that takes an ``AgentContext``.

    Raises:
        UnknownIdError: the plug-in cannot be imported or is not callable; the message says why.
    """
    factory: AgentFactory = load_factory(point, "agent")
    return factory


def _made(factory: AgentFactory, context: AgentContext, name: str) -> Agent:
    with named(f"the factory of agent plug-in {name!r}"):
        agent = factory(context)
    return checked(agent, f"agent plug-in {name!r}")


def prompt_hashes(agent: Agent) -> dict[str, str]:
    """Return the hashes of the agent's prompts, for a run's manifest; empty for agents without prompts."""
    hashes = getattr(agent, "prompt_hashes", None)
    return dict(hashes()) if callable(hashes) else {}


def _floor(name: str, context: AgentContext) -> Agent:
    def make_train_env() -> TextEnv:
        if context.make_train_env is None:
            raise NlacBenchError(
                f"agent {name!r} needs the environment's training split, which is not available here"
            )
        return context.make_train_env()

    return floor_agent(name, make_train_env)
