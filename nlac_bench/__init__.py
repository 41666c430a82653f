"""nlac-bench: Gymnasium text environments and an honest benchmark harness for LLM agents.

Importing this package registers the environment ids and imports nothing heavy.
"""

from nlac_bench.envs.registry import register_builtin

__version__ = "0.1.0"

register_builtin()
