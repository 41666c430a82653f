"""A thorough agent earns what a terse agent of the same skill earns."""

import numpy as np
import pytest

from nlac_bench.envs.tau.env import TauAirlineEnv, TauEnv, TauRetailEnv
from nlac_bench.stats.intervals import paired_interval
from tests.simulators.customer.tau_manners import Manner, MannerAgent

pytestmark = pytest.mark.lists

MARGIN = 0.03


def rewards(manner: Manner, stride: int) -> np.ndarray:
    """The rewards of an agent of ``manner`` on every ``stride``-th embedded task of both domains."""
    environments: tuple[type[TauEnv], ...] = (TauRetailEnv, TauAirlineEnv)
    found = []
    for env_class in environments:
        for split in ("train", "test"):
            env = env_class(split=split, reward="strict")
            found += [MannerAgent(env, manner).play(task_id) for task_id in env.task_ids[::stride]]
    return np.asarray(found)


def check(stride: int) -> None:
    """The paired difference of both manners, with its interval, lies within the margin."""
    terse, thorough = rewards("terse", stride), rewards("thorough", stride)
    interval = paired_interval(thorough - terse, single=True)
    assert interval is not None
    print(f"{len(terse)} tasks: terse {terse.mean():.4f}, thorough {thorough.mean():.4f}, {interval}")
    assert terse.mean() >= 0.97
    assert interval.low >= -MARGIN
    assert interval.high <= MARGIN


def test_manners_earn_the_same_on_a_sample() -> None:
    check(stride=24)


@pytest.mark.slow  # plays 1,560 embedded tasks twice
def test_manners_earn_the_same() -> None:
    check(stride=2)
