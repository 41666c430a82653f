"""Makes users from the name of their kind."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from nlac_bench.envs.tau.domain import Domain
from nlac_bench.envs.tau.users.base import User, UserKind
from nlac_bench.envs.tau.users.models import LLMUser, ReactUser, ReflectionUser, VerifyUser
from nlac_bench.envs.tau.users.offline import HumanUser, NoUser, ReplayUser, load_conversations
from nlac_bench.types import ChatFn

MODEL_USERS: Mapping[str, Callable[[ChatFn], User]] = {
    "llm": LLMUser,
    "react": ReactUser,
    "verify": VerifyUser,
    "reflection": ReflectionUser,
}
REMOTE = frozenset({*MODEL_USERS, "human"})
"""Kinds of users whose replies are awaited."""


def default_user(domain: Domain, split: str, chat: ChatFn | None) -> UserKind:
    """Return ``scripted`` if the tasks have scripts, else ``llm`` if there is a ``chat``, else ``none``."""
    if has_scripts(domain, split):
        return "scripted"
    return "none" if chat is None else "llm"


def has_scripts(domain: Domain, split: str) -> bool:
    """Return whether the users of these tasks can be scripted without leaking the answer."""
    return domain.source.kind == "embedded" or (domain.name, split) == ("retail", "train")


def make_user(
    kind: UserKind,
    domain: Domain,
    split: str,
    *,
    chat: ChatFn | None = None,
    replies: str | os.PathLike[str] | None = None,
) -> User:
    """Return a user that has not begun; each episode uses a copy of it.

    Args:
        kind: the kind of user.
        domain: the tasks' domain.
        split: the tasks' split.
        chat: calls the model of ``llm``, ``react``, ``verify`` and ``reflection``.
        replies: the file of recorded conversations for ``replay``.

    Raises:
        DataError: ``replies`` cannot be read.
        ValueError: there is no such kind, it is not offered for these tasks, or a required argument is
            missing.
    """
    if (kind == "replay") != (replies is not None):
        raise ValueError(
            f"user={kind!r} with replies={replies!r}: a file of replies is required by "
            "user='replay' and accepted by no other user"
        )
    if kind in MODEL_USERS:
        if chat is None:
            raise ValueError(f"user={kind!r} is played by a model: pass chat=…, a function that calls it")
        return MODEL_USERS[kind](chat)
    match kind:
        case "scripted":
            if not has_scripts(domain, split):
                raise ValueError(
                    f"user='scripted' is not offered for {domain.source.kind} {domain.name} tasks of split "
                    f"{split!r}: their users follow conditions that are stated only in the gold actions, so "
                    "a script would leak the answer; pass user='llm' (or 'react', 'verify', 'reflection') "
                    "with chat=…, or user='replay' with recorded replies"
                )
            from nlac_bench.envs.tau.users.scripted import ScriptedUser

            return ScriptedUser(domain)
        case "replay":
            return ReplayUser(load_conversations(Path(replies or "")))
        case "human":
            return HumanUser()
        case "none":
            return NoUser()
    kinds = ", ".join((*MODEL_USERS, "scripted", "replay", "human", "none"))
    raise ValueError(f"unknown user {kind!r}; the users are {kinds}")
