"""Finds agents and training methods by the name that a user gives: a registered one, or ``module:object``.

An object that is a ``Method`` is a training method. Any other object is called with an ``AgentContext`` and
returns an agent, as that of an entry point is. Naming a module imports it, so a configuration of somebody
else does not decide it (``trust``).
"""

import functools
import sys
from typing import TYPE_CHECKING

from nlac_bench.agents import methods
from nlac_bench.agents.methods import Method
from nlac_bench.envs import registry as envs
from nlac_bench.envs.foreign import LOAD_S, ForeignCodeError, bounded, named
from nlac_bench.errors import UnknownIdError
from nlac_bench.rollout.agent import checked

if TYPE_CHECKING:
    from nlac_bench.agents.registry import AgentContext
    from nlac_bench.rollout.agent import Agent


def module_of(name: str) -> str:
    """Return the module that is imported for the agent ``name``; empty for a registered name."""
    return name.partition(":")[0] if ":" in name else ""


@functools.cache
def loaded(name: str) -> object:
    """Return the object that ``module:object`` names.

    Raises:
        UnknownIdError: it cannot be imported, or the import takes more than ``LOAD_S`` seconds.
    """
    module, _, attribute = name.partition(":")

    def load() -> object:
        envs.import_module(module)
        return getattr(sys.modules[module], attribute)

    try:
        return bounded(load, LOAD_S)
    except ForeignCodeError as error:
        raise UnknownIdError(f"{name!r} names no object that can be imported: {error}") from error


def is_method(name: str) -> bool:
    """Return whether the agent ``name`` is a training method.

    Raises:
        UnknownIdError: as ``loaded``.
    """
    return isinstance(loaded(name), Method) if module_of(name) else name in methods.names()


def method(name: str) -> Method:
    """Return the training method ``name``.

    Raises:
        UnknownIdError: there is none, it cannot be used or imported, or it is no ``Method``.
    """
    if not module_of(name):
        return methods.find(name)
    value = loaded(name)
    if not isinstance(value, Method):
        raise UnknownIdError(f"{name!r} is a {type(value).__name__}, not a Method, so it cannot be trained")
    return value


def make(name: str, context: "AgentContext") -> "Agent":
    """Make the agent ``name``.

    Raises:
        NlacBenchError: as ``agents.registry.make``; or the object is neither a method nor callable, fails, or
            returns what is no agent.
    """
    from nlac_bench.agents import registry  # engines and prompts, which reading a configuration needs not

    if not module_of(name):
        return registry.make(name, context)
    value = loaded(name)
    if isinstance(value, Method):
        return registry.trained(name, value, context)
    if not callable(value):
        raise UnknownIdError(f"{name!r} is a {type(value).__name__}; it must be a Method, or make an agent")
    with named(f"the factory of agent {name!r}"):
        agent: Agent = value(context)
    return checked(agent, f"agent {name!r}")
