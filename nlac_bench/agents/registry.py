"""The registry of agents: built-in ones and those of entry-point group ``nlac_bench.agents``."""

import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, cast

from nlac_bench.agents import methods
from nlac_bench.agents.floors import floor_agent
from nlac_bench.agents.names import FLOORS, PROMPTED
from nlac_bench.agents.prompted import PromptedAgent
from nlac_bench.agents.prompts import PACKAGED, PromptFiles
from nlac_bench.agents.tool_calling import ToolCallingAgent
from nlac_bench.envs.foreign import ForeignCodeError, described, load_factory
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import SIGNALS, NlacBenchError, UnknownIdError
from nlac_bench.rollout.agent import Agent
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
        style = cast(Literal["react", "act"], name)
        return PromptedAgent(style, context.required_engine(name), context.sampling, prompts=context.prompts)
    if name == "tool_calling":
        return ToolCallingAgent(context.required_engine(name), context.sampling, prompts=context.prompts)
    if name in methods.names():
        methods.find(name)  # raises UnknownIdError for a plug-in that cannot be used
        from nlac_bench.agents.roles.policy_agent import PolicyAgent
        from nlac_bench.agents.roles.styles import prompts_for

        engine = context.required_engine(name)
        prompts = prompts_for(tokenizer_of(engine), context.prompts)
        return PolicyAgent(engine, prompts, context.sampling, name=name)
    points = importlib.metadata.entry_points(group=PLUGIN_GROUP)
    for point in points:
        if point.name == name:
            return _made(plugin(point), context, name)
    plugged = {point.name for point in points}
    known = ", ".join([*FLOORS, *PROMPTED, *methods.names(), *sorted(plugged)])
    raise UnknownIdError(f"no agent is named {name!r}; the agents are {known}")


def plugin(point: importlib.metadata.EntryPoint) -> AgentFactory:
    """Return the agent's factory of another package: a callable that takes an ``AgentContext``.

    Raises:
        UnknownIdError: the plug-in cannot be imported or is not callable; the message says why.
    """
    factory: AgentFactory = load_factory(point, "agent")
    return factory


def _made(factory: AgentFactory, context: AgentContext, name: str) -> Agent:
    try:
        return factory(context)
    except (NlacBenchError, *SIGNALS):
        raise
    except BaseException as error:  # the code of another package may raise any exception
        raise ForeignCodeError(f"the factory of agent plug-in {name!r} failed: {described(error)}") from error


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
