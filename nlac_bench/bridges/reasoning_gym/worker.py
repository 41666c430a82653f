"""A process that makes reasoning-gym's tasks and scores answers, with limits of time and memory.

Its hash seed is fixed, because some generators depend on the order of sets. The kernel ends it with SIGPROF
when an answer exceeds its CPU time.
"""

import functools
import hashlib
import json
import random
import resource
import signal
from pathlib import Path
from typing import Any

from nlac_bench.bridges.reasoning_gym.evaluation import guard
from nlac_bench.child_process import Parent

SPLITS = ("train", "validation", "test")
CPU_S = 5.0
"""CPU time, in seconds, in which an answer must be scored."""

_MOST_SEEDS = 100
"""Seeds that are tried for a task; a third of them belong to its split."""
_MEMORY = 2**30
"""Bytes that an answer may use."""


def split_of(question: str) -> str:
    """Return the split to which a question belongs, whatever its seed: no question is in two splits."""
    return SPLITS[hashlib.sha256(question.encode()).digest()[0] % len(SPLITS)]


def candidate(seed: int, split: str, number: int, attempt: int) -> int:
    """Return the seed that is tried for a task in the given attempt."""
    digest = hashlib.sha256(json.dumps([seed, split, number, attempt]).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


@functools.lru_cache(maxsize=64)
def generated(name: str, seed: int) -> tuple[Any, dict[str, Any]]:
    """Return the dataset of one task that ``seed`` gives, and the task."""
    import reasoning_gym

    random.seed(seed)  # a few generators also draw from the module's generator
    dataset = reasoning_gym.create_dataset(name, seed=seed, size=1)
    return dataset, dataset[0]


def task(name: str, seed: int, split: str, number: int) -> dict[str, Any]:
    """Return question, answer (None if the dataset has none) and seed of a task."""
    error = "its questions are too few"
    for attempt in range(_MOST_SEEDS):
        own = candidate(seed, split, number, attempt)
        try:
            dataset, entry = generated(name, own)
            question, answer = entry["question"], entry["answer"]
            if split_of(question) != split or (answer and dataset.score_answer(answer.strip(), entry) < 1):
                continue  # a task whose own answer is not accepted is left out
        except Exception as failed:  # some generators give up for some seeds
            error = f"{type(failed).__name__}: {failed}"[:500]
            continue
        return {"question": question, "answer": answer, "seed": own}
    return {"error": f"reasoning-gym makes no task {number} of {name}: {error}"}


def scored(name: str, seed: int, answer: str) -> dict[str, Any]:
    """Return the score of an answer. One that the scorer cannot read has the score 0."""
    dataset, entry = generated(name, seed)
    held = _address_space()
    resource.setrlimit(resource.RLIMIT_AS, (held + _MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    signal.setitimer(signal.ITIMER_PROF, CPU_S)
    try:
        score = float(dataset.score_answer(answer, entry))
    except Exception:
        score = 0.0
    signal.setitimer(signal.ITIMER_PROF, 0)
    return {"score": score if 0 <= score <= 1 else 0.0}  # NaN is not between


def main() -> None:
    """Answer requests until the parent ends, or until the caches of libraries have used much memory."""
    parent = Parent()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGPROF,))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import reasoning_gym.factory  # noqa: F401
    import sympy  # noqa: F401

    guard()
    began = _address_space()
    parent.send({"ready": True})
    while _address_space() < began + _MEMORY // 2:
        request = parent.receive()
        if "answer" in request:
            parent.send(scored(request["name"], request["seed"], request["answer"]))
        else:
            parent.send(task(**request))


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


if __name__ == "__main__":
    main()
