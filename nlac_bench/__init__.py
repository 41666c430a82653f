"""nlac-bench: Gymnasium text environments and an honest benchmark harness for LLM agents.

Importing this package registers the environment ids and imports nothing heavy.
"""

import sys

try:
    from nlac_bench.envs.registry import register_builtin
except KeyboardInterrupt:
    # The command imports this package before it can handle signals. While the package of ``python -m`` is
    # imported, ``argv[0]`` is "-m". Programs that import the package get the exception.
    if "".join(sys.argv[:1]).endswith(("-m", "nlac-bench")):
        sys.exit(130)
    raise

__version__ = "0.1.0"

register_builtin()
