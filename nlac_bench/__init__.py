"""nlac-bench: Gymnasium text environments and an honest benchmark harness for LLM agents.

Importing this package registers the environment ids and imports nothing heavy. The functions of its Python
API (``docs/python.md``) are imported when they are first used.
"""

import importlib
import sys
from typing import Any

try:
    from nlac_bench.envs.registry import register_builtin
except KeyboardInterrupt:
    # The command imports this package before it can handle signals. While the package of ``python -m`` is
    # imported, ``argv[0]`` is "-m". Programs that import the package get the exception.
    if "".join(sys.argv[:1]).endswith(("-m", "nlac-bench")):
        sys.exit(130)
    raise

__version__ = "0.1.0"

_MODULES = {
    "make": "envs.registry",
    "grade": "api.grading",
    "load": "api.runs",
    "Run": "api.runs",
    **dict.fromkeys(("evaluate", "aevaluate", "train", "atrain", "compare"), "api.functions"),
}
"""The names of the Python API, and the modules in which they are defined."""

register_builtin()


def __getattr__(name: str) -> Any:
    """Import a name of the Python API."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
