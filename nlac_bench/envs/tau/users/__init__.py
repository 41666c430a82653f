"""Simulates users: by a model, a script, a recording, a person at the terminal, or a fixed line."""

from nlac_bench.envs.tau.users.base import GREETING, User, UserKind
from nlac_bench.envs.tau.users.models import LLMUser, ReactUser, ReflectionUser, VerifyUser
from nlac_bench.envs.tau.users.offline import OPENING, HumanUser, NoUser, ReplayUser, load_conversations
from nlac_bench.simulators.customer import STOP

__all__ = [
    "GREETING",
    "OPENING",
    "STOP",
    "HumanUser",
    "LLMUser",
    "NoUser",
    "ReactUser",
    "ReflectionUser",
    "ReplayUser",
    "User",
    "UserKind",
    "VerifyUser",
    "load_conversations",
]
