"""Compares HFEngine with transformers' own continuous batching and with ``model.generate``.

The model is the embedded one, in float32. The cases are answers of equal length, answers of very different
length, and chats: episodes of τ-retail, 64 at the same time, then the answers of NLAC's roles for their
transitions. The prompts of the chats are recorded at temperature 1 and then replayed, so that all get the
same prompts. A request waits for the answer to the one before it in its chat. ``generate`` gets the n-th
requests of 64 chats as one left-padded batch.

Times are CPU seconds of this process, with one torch thread and with two, in interleaved rounds. Each round
starts with an empty cache. The table has the medians with one thread; ``--benchmark-json`` saves all rounds.

A last row compares sampled answers of the real model ``smollm2`` with those of ``generate``, eight at
a time, with all threads, by wall and CPU time. It is skipped where the model is not in the cache.
"""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import gymnasium
import numpy as np
import pytest
import torch
from transformers import ContinuousBatchingConfig, GenerationConfig

from benchmarks.bench_pool import ANSWER, ask_roles, play
from benchmarks.conftest import Row
from nlac_bench import pretrained, tiny
from nlac_bench.errors import MissingDataError
from nlac_bench.learner.model import load_causal_lm
from nlac_bench.rollout.engines.chat_template import ChatFormat
from nlac_bench.rollout.engines.engine import Sample, SampleRequest, Sampling
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.rollout.engines.hf.loading import load_model, load_tokenizer
from nlac_bench.rollout.engines.weights import ModelSource, forward_logprobs

MOST = 64
"""Largest number of requests at the same time."""
CASES = ("equal_answers", "ragged_answers", "chats")
ROUNDS = 3
BATCH = 8
CHECKED = 16
"""Number of chats of each phase whose answers are compared."""
FOLDER = str(tiny.path())

Answer: TypeAlias = tuple[list[int], list[float]]
"""The tokens of an answer and their log-probabilities."""
Ask: TypeAlias = Callable[[list[int], int], Awaitable[Answer]]


@dataclass(frozen=True)
class Work:
    """Chats, each a list of requests: the prompt and the largest number of tokens of the answer.

    The chats of a phase begin when those of the phase before have ended. With ``whole``, all answers have
    their largest length.
    """

    phases: list[list[list[tuple[list[int], int]]]]
    whole: bool

    def requests(self) -> list[tuple[list[int], int]]:
        return [request for chats in self.phases for chat in chats for request in chat]

    async def replay(self, ask: Ask) -> list[Answer]:
        answers: list[Answer] = []
        for chats in self.phases:
            places = asyncio.Semaphore(MOST)

            async def one(chat: Any, places: Any = places) -> list[Answer]:
                async with places:
                    return [await ask(*request) for request in chat]

            answers += [a for said in await asyncio.gather(*map(one, chats)) for a in said]
        return answers


class Recorder:
    """An engine that keeps the prompts of the requests of each task."""

    def __init__(self, engine: HFEngine) -> None:
        self._engine, self.tokenizer = engine, engine.tokenizer
        self.chats: dict[Any, list[tuple[list[int], int]]] = {}

    async def sample(self, request: SampleRequest) -> list[Sample]:
        chat = self.chats.setdefault(asyncio.current_task(), [])
        samples = await self._engine.sample(request)
        chat.append((samples[0].prompt_ids or [], ANSWER))
        return samples


def recorded(episodes: int, lessons: int) -> Work:
    """Play ``episodes`` of τ-retail, let the roles answer for ``lessons`` of their transitions."""
    engine = HFEngine.from_pretrained(FOLDER, dtype="float32", max_rows=MOST)
    engine.sync(ModelSource(load_causal_lm(tiny.path())), 1, "target")
    playing, asking = Recorder(engine), Recorder(engine)
    ask_roles(asking, play(playing, episodes, MOST), lessons, MOST)
    engine.close()
    return Work([list(recorder.chats.values()) for recorder in (playing, asking)], whole=False)


def drawn(case: str, count: int) -> Work:
    """Return ``count`` random prompts without common beginnings, and their answers' lengths."""
    rng = np.random.default_rng(0)
    equal = case == "equal_answers"
    prompts = [256] * count if equal else rng.integers(32, 800, count).tolist()
    answers = [48] * count if equal else rng.geometric(1 / 48, count).clip(2, ANSWER).tolist()
    chats = [[(rng.integers(300, 2000, n).tolist(), most)] for n, most in zip(prompts, answers, strict=True)]
    return Work([chats], whole=True)


def by_engine(model: Any, work: Work, temperature: float) -> list[Answer]:
    engine = HFEngine(model, load_tokenizer(model.name_or_path), max_rows=MOST)
    if work.whole:
        engine.decoders["policy"].end_ids = frozenset()
    seeds = iter(range(10**6))

    async def ask(prompt: list[int], most: int) -> Answer:
        sampling = Sampling(max_tokens=most, temperature=temperature)
        request = SampleRequest(prompt_ids=prompt, sampling=sampling, seed=next(seeds))
        (sample,) = await engine.sample(request)
        return sample.ids or [], sample.logprobs or []

    try:
        return asyncio.run(work.replay(ask))
    finally:
        engine.close()


def settings(model: Any, work: Work, temperature: float) -> GenerationConfig:
    ends = None if work.whole else model.generation_config.eos_token_id
    return GenerationConfig(
        do_sample=temperature > 0, temperature=temperature or None, top_k=0 if temperature else None,
        max_new_tokens=ANSWER, eos_token_id=ends, pad_token_id=0, use_cache=True,
    )  # fmt: skip


def by_manager(model: Any, work: Work, temperature: float) -> list[Answer]:
    """Use transformers' continuous batching, with the settings that were the fastest on the chats."""
    config = ContinuousBatchingConfig(
        page_size=16, num_blocks=3000, max_batch_tokens=256, max_requests_per_batch=16,
        return_logprobs=True, seed=0,
    )  # fmt: skip
    generation = settings(model, work, temperature)
    manager = model.init_continuous_batching(generation, config)
    manager.start()
    names = iter(range(10**6))

    async def ask(prompt: list[int], most: int) -> Answer:
        answered = asyncio.get_running_loop().create_future()
        name = str(next(names))
        manager.register_result_handler(name, answered.set_result)
        manager.add_request(prompt, name, most)
        output = await answered
        assert output.error is None, output.error
        return output.generated_tokens, output.logprobs

    try:
        return asyncio.run(work.replay(ask))
    finally:
        manager.stop()


def by_generate(model: Any, work: Work, temperature: float) -> None:
    """Use padded batches of the n-th requests of ``MOST`` chats."""
    generation = settings(model, work, temperature)
    for chats in work.phases:
        for first in range(0, len(chats), MOST):
            some = chats[first : first + MOST]
            for turn in range(max(map(len, some))):
                requests = [chat[turn] for chat in some if len(chat) > turn]
                width = max(len(prompt) for prompt, _ in requests)
                ids = torch.tensor([[0] * (width - len(prompt)) + prompt for prompt, _ in requests])
                mask = torch.tensor(
                    [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt, _ in requests]
                )
                generation.max_new_tokens = max(most for _, most in requests)
                generation.min_new_tokens = generation.max_new_tokens if work.whole else None
                model.generate(ids, attention_mask=mask, generation_config=generation)


ARMS: dict[str, Callable[[Any, Work, float], Any]] = {
    "engine": by_engine,
    "manager": by_manager,
    "generate": by_generate,
}


def seconds(work: Work, models: dict[str, Any], rounds: int, threads: int) -> dict[str, list[float]]:
    """Return the CPU seconds of each arm in each round."""
    torch.set_num_threads(threads)
    found: dict[str, list[float]] = {arm: [] for arm in ARMS}
    for _ in range(rounds):
        for arm, function in ARMS.items():
            began = time.process_time()
            function(models[arm], work, 1.0)
            found[arm].append(time.process_time() - began)
    return found


def largest_error(model: Any, work: Work, answers: Sequence[Answer]) -> float:
    """Return the largest difference of log-probabilities from those of a forward pass of ``model``."""
    errors = [0.0]
    for (prompt, _), (ids, logprobs) in zip(work.requests(), answers, strict=True):
        expected = forward_logprobs(model, prompt + ids, len(prompt))
        errors += [abs(a - b) for a, b in zip(expected, logprobs, strict=True)]
    return max(errors)


def gaps(model: Any, work: Work, some: Sequence[Answer], others: Sequence[Answer]) -> list[float]:
    """Return, of each pair of greedy answers that differ, how much likelier one first different token is."""
    found = []
    for (prompt, _), (one, _), (other, _) in zip(work.requests(), some, others, strict=True):
        if one != other:
            at = next(i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
            ends = (forward_logprobs(model, prompt + ids[: at + 1], len(prompt) + at) for ids in (one, other))
            ((a,), (b,)) = ends
            found.append(abs(a - b))
    return found


@pytest.fixture
def models() -> Iterator[dict[str, Any]]:
    """One model for each arm, since two of them change the model's attention."""
    before = torch.get_num_threads()
    yield {arm: load_model(FOLDER, "float32").eval() for arm in ARMS}
    torch.set_num_threads(before)


@pytest.mark.parametrize("case", CASES)
def test_decoder_against_transformers(
    benchmark: Any, case: str, row: Row, short: bool, models: dict[str, Any]
) -> None:
    torch.set_num_threads(1)
    if case == "chats":
        work = recorded(2, 2) if short else recorded(64, 64)
    else:
        work = drawn(case, 4 if short else MOST)
    few = Work([[chat[:1] for chat in work.phases[0][:2]]], work.whole)
    for arm, function in ARMS.items():  # allocates, and loads what is loaded at the first call
        function(models[arm], few, 1.0)
    if case == "chats":
        some = Work([chats[:CHECKED] for chats in work.phases], work.whole)
        one, other = (function(models[arm], some, 0.0) for arm, function in list(ARMS.items())[:2])
        assert max([0.0, *gaps(models["generate"], some, one, other)]) < 1e-3
        for arm, function in list(ARMS.items())[:2]:
            assert largest_error(models["generate"], some, function(models[arm], some, 1.0)) < 1e-4
    one_thread = benchmark.pedantic(seconds, (work, models, 1 if short else ROUNDS, 1))
    two_threads = {} if short else seconds(work, models, ROUNDS, 2)
    benchmark.extra_info |= {"one_thread_cpu_s": one_thread, "two_threads_cpu_s": two_threads}
    own, theirs, plain = (statistics.median(one_thread[arm]) for arm in ARMS)
    row(
        f"`HFEngine`, {case.replace('_', ' ')} of the embedded model",
        "continuous batching of transformers, CPU seconds",
        f"{theirs / own:.1f} × faster ({plain / own:.1f} × faster than `generate`)",
        "≥ 1.5 ×",
    )


def asked(folder: str, count: int, answer: int) -> Work:
    """Return the first prompts of ``count`` tasks of first_steps, with answers of ``answer`` tokens."""
    env: Any = gymnasium.make("nlac_bench/FirstSteps-v0", split="train").unwrapped
    chat, chats = ChatFormat(load_tokenizer(folder)), []
    for task in env.task_ids[:: len(env.task_ids) // count][:count]:
        observation, info = env.reset(seed=0, options={"task_id": task})
        messages = ({"role": "system", "content": info["policy"]}, {"role": "user", "content": observation})
        chats.append([(chat.prompt_ids(SampleRequest(messages=messages)), answer)])
    return Work([chats], whole=True)


def test_sampled_answers_of_a_real_model(benchmark: Any, row: Row, short: bool) -> None:
    try:
        folder = str(pretrained.path("smollm2"))
    except MissingDataError as error:
        pytest.skip(str(error))
    work = asked(folder, 2 if short else BATCH, 2 if short else 64)
    arms = {"engine": by_engine, "generate": by_generate}
    models = {arm: load_model(folder, "float32").eval() for arm in arms}

    def rounds(count: int) -> dict[str, list[tuple[float, float]]]:
        found: dict[str, list[tuple[float, float]]] = {arm: [] for arm in arms}
        for _ in range(count):
            for arm, function in arms.items():
                began = time.perf_counter(), time.process_time()
                function(models[arm], work, 1.0)
                found[arm].append((time.perf_counter() - began[0], time.process_time() - began[1]))
        return found

    rounds(1)  # allocates, and loads what is loaded at the first call
    found = benchmark.pedantic(rounds, (1 if short else ROUNDS,))
    benchmark.extra_info |= {"wall_and_cpu_s": found}
    own, theirs = (np.median(found[arm], axis=0) for arm in arms)
    wall, cpu = (theirs / own).tolist()
    row(
        f"`HFEngine`, sampled answers of SmolLM2-135M, {BATCH} at a time",
        "`generate`, same batch",
        f"{wall:.1f} × faster by wall time, {cpu:.1f} × by CPU time",
    )
