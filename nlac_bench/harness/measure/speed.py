"""Measures how fast this machine runs a small local model, in about a second."""

import asyncio
import functools
import time
from dataclasses import dataclass
from pathlib import Path

MOST_PARAMETERS = 50e6
"""Larger models take too long to load for an estimate."""
_ROWS, _PROMPT, _ANSWER = 16, 256, 24
_SECONDS = 0.4


@dataclass(frozen=True)
class MachineSpeed:
    """Tokens per second: sampled, read as a prompt, and trained on (forward and backward pass)."""

    sampled: float
    read: float
    learned: float | None


@functools.cache
def operations_per_second() -> float:
    """Measure matrix multiplication on the GPU in bfloat16, or on the CPU in float32; takes about a second.

    It is measured once a process.

    Returns:
        Floating-point operations per second.
    """
    import torch

    gpu = torch.cuda.is_available()
    size = 4096 if gpu else 512
    a_NN = torch.ones(
        size, size, dtype=torch.bfloat16 if gpu else torch.float32, device="cuda" if gpu else "cpu"
    )
    float((a_NN @ a_NN)[0, 0])  # starts threads and libraries
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < 2 * _SECONDS:
        float((a_NN @ a_NN)[0, 0])  # reading a value waits for the GPU
        count += 1
    return count * 2 * size**3 / (time.perf_counter() - began)


@functools.cache
def measure(folder: str, learns: bool) -> MachineSpeed:
    """Measure the model in ``folder`` on random tokens; takes about a second after loading it.

    It is measured once a process.

    Args:
        folder: a Hugging Face folder.
        learns: whether to measure gradient computation too.
    """
    import torch

    from nlac_bench.learner.model import load_causal_lm
    from nlac_bench.rollout.engines.engine import SampleRequest, Sampling
    from nlac_bench.rollout.engines.hf.engine import HFEngine

    engine = HFEngine.from_pretrained(folder, max_rows=_ROWS)
    random = torch.Generator().manual_seed(0)

    def seconds(tokens_RT: torch.Tensor, answer: int) -> float:
        async def ask() -> None:
            sampling = Sampling(temperature=1.0, max_tokens=answer)
            rows = [
                SampleRequest(prompt_ids=row, sampling=sampling, seed=i)
                for i, row in enumerate(tokens_RT.tolist())
            ]
            await asyncio.gather(*(engine.sample(row) for row in rows))

        began = time.perf_counter()
        asyncio.run(ask())
        return time.perf_counter() - began

    def prompts() -> torch.Tensor:
        return torch.randint(10, 200, (_ROWS, _PROMPT), generator=random)

    seconds(prompts(), 1)  # starts the worker thread
    tokens_RT = prompts()  # different prompts, because the engine caches those it has read
    reading = seconds(tokens_RT, 1)
    before = engine.generated_tokens
    writing = max(1e-4, seconds(tokens_RT, _ANSWER))
    sampled = (engine.generated_tokens - before) / writing
    engine.close()
    learned = None
    if learns:
        model = load_causal_lm(Path(folder))
        began, count = time.perf_counter(), 0
        while not count or time.perf_counter() - began < _SECONDS:
            model(input_ids=tokens_RT[:2], labels=tokens_RT[:2]).loss.backward()
            count += tokens_RT[:2].numel()
        learned = count / (time.perf_counter() - began)
    return MachineSpeed(sampled, _ROWS * _PROMPT / reading, learned)
