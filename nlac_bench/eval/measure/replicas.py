"""Decides how many processes run the model of a run (``--replicas``)."""

import math
from pathlib import Path

from nlac_bench.errors import ConfigError, NlacBenchError
from nlac_bench.eval.runs.configuration import EngineKind, RunConfig
from nlac_bench.rollout.engines.model_files import tensor_shapes

MOST = 4
"""Largest number that ``auto`` chooses."""
SMALL = 50e6
"""Number of parameters up to which several processes pay. A step of a larger model is mostly matrix products,
for which one process can use all cores."""


def replica_count(config: RunConfig, kind: EngineKind, model: str) -> int:
    """Return the number of processes for the engine ``kind``; 1 is the process of the run itself.

    Args:
        kind: not ``auto``.
        model: the value of ``--model``, or the folder that it stands for.

    Raises:
        ConfigError: a number above 1 is set for an engine that is not in these processes.
    """
    if config.replicas != "auto":
        if config.replicas > 1 and kind != "hf":
            raise ConfigError(
                f"--replicas {config.replicas} needs --engine hf, which runs the model in processes of this "
                f"machine; leave out --replicas for --engine {kind}"
            )
        return config.replicas
    if kind != "hf" or config.concurrency == 1 or not _is_small(model):
        return 1
    import torch  # takes seconds

    if torch.cuda.is_available():
        return 1
    return min(torch.get_num_threads(), MOST, config.concurrency)


def _is_small(model: str) -> bool:
    """Return whether ``model`` is a folder with at most ``SMALL`` parameters."""
    try:
        shapes = list(tensor_shapes(Path(model)))
    except NlacBenchError:  # reported when the model is loaded
        return False
    return bool(shapes) and sum(map(math.prod, shapes)) <= SMALL
