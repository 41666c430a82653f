"""Decides how many processes run the model of a run (``--replicas``)."""

import math
from pathlib import Path

from nlac_bench.errors import ConfigError, NlacBenchError
from nlac_bench.harness.runs.configuration import EngineKind, Replicas
from nlac_bench.rollout.engines.model_files import tensor_shapes

MOST = 4
"""Largest number that ``auto`` chooses."""
SMALL = 50e6
"""Largest number of parameters for which several processes are faster. A step of a larger model is mostly
matrix products, for which one process can use all cores."""


def replica_count(wanted: Replicas, kind: EngineKind, model: str) -> int:
    """Return the number of processes that run ``model``; 1 is the process of the run itself.

    Args:
        wanted: the value of ``--replicas``.
        kind: the engine, not ``auto``.
        model: a folder or a name; ``auto`` chooses more than one process for folders only.

    Raises:
        ConfigError: a number above 1 is set for an engine that does not run in such processes.
    """
    if wanted != "auto":
        if wanted > 1 and kind != "hf":
            raise ConfigError(
                f"--replicas {wanted} needs --engine hf, which runs the model in processes of this machine; "
                f"leave out --replicas for --engine {kind}"
            )
        return wanted
    if kind != "hf" or not _is_small(model):
        return 1
    import torch  # takes seconds

    return 1 if torch.cuda.is_available() else min(torch.get_num_threads(), MOST)


def _is_small(model: str) -> bool:
    """Return whether ``model`` is a folder with at most ``SMALL`` parameters."""
    try:
        shapes = list(tensor_shapes(Path(model)))
    except NlacBenchError:  # reported when the model is loaded
        return False
    return bool(shapes) and sum(map(math.prod, shapes)) <= SMALL
