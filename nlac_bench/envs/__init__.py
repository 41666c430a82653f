"""Text environments, their contract and their registry; they do not depend on models.

``TextEnv``, ``Outcome``, ``TextVectorEnv``, ``vectorized``, ``UnicodeText`` and ``make`` are the public
names. They are imported on first use, so that registering the ids costs no more than importing Gymnasium.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nlac_bench.envs.registry import make
    from nlac_bench.envs.spaces import UnicodeText
    from nlac_bench.envs.text_env import Outcome, TextEnv
    from nlac_bench.envs.vector import TextVectorEnv, vectorized

__all__ = ["Outcome", "TextEnv", "TextVectorEnv", "UnicodeText", "make", "vectorized"]

_HOMES = {
    "make": "registry",
    "UnicodeText": "spaces",
    "Outcome": "text_env",
    "TextEnv": "text_env",
    "TextVectorEnv": "vector",
    "vectorized": "vector",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
