"""Everything that the tests compare with one process, in one start of torchrun; run by test_ranks.py.

Each rank imports torch for seconds. So the first two of three processes first do all cases as two ranks, and
then all three do them as three ranks.
"""

import faulthandler
import gc
import json
import os
import sys
from pathlib import Path

from nlac_bench.learner import ranks, torchrun
from tests.learner import rank_steps, resuming_ranks, small_model

LIMIT = 600
"""Seconds after which a rank that hangs prints its stacks and exits."""
WORLDS = (2, 3)
OPTIMIZERS = {"sgd": 0.1, "adamw": 1e-5}
"""Those of the small model, with their learning rates."""


def cases(out: Path, world: int) -> None:
    """Rank 0: the methods, the small model, and the checkpoints of one process and of two ranks."""
    folder = out / str(world)
    folder.mkdir()
    rank_steps.main(str(folder))
    for optimizer, lr in OPTIMIZERS.items():
        (folder / optimizer).mkdir()
        small_model.main(str(folder / optimizer), optimizer, lr)
    if world == 2:
        resuming_ranks.write(out / "from 2")
    resumed = ("from 1",) if world == 2 else ("from 1", "from 2")
    differences = {name: resuming_ranks.resume(out / name) for name in resumed}
    (folder / "resumed.json").write_text(json.dumps(differences))


def main(out: str, *ports: str) -> None:
    """Be one of ``world`` ranks, for each of ``WORLDS``, whose rank 0 listens at one of ``ports``."""
    for world, port in zip(WORLDS, ports, strict=True):
        if torchrun.rank() >= world:
            continue
        # torchrun's own store has the addresses of one group of processes.
        store = {"TORCHELASTIC_USE_AGENT_STORE": "False", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        os.environ |= {"WORLD_SIZE": str(world), **store}
        if torchrun.rank() > 0:
            ranks.follow()
        else:
            with ranks.leading():
                cases(Path(out), world)
        ranks.ranks.cache_clear()
        gc.collect()  # learners of the ranks that have ended


if __name__ == "__main__":
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    main(*sys.argv[1:])
