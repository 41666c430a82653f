"""How good the embedded model is: base success, and each role against what really happens."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from nlac_bench.agents.nlac.agent import NlacAgent
from nlac_bench.agents.nlac.compact import CompactPrompts
from nlac_bench.rollout.driver import Driver, EpisodeSpec
from nlac_bench.rollout.engine import Engine, SampleRequest, Sampling, derive_seed
from nlac_bench.tiny import corpus
from nlac_bench.types import Episode

MAX_TOKENS = 256
"""Longer answers are not in the corpus."""


def agent(engine: Engine, temperature: float) -> NlacAgent:
    """The policy role."""
    return NlacAgent(engine, CompactPrompts(), Sampling(temperature=temperature, max_tokens=MAX_TOKENS))


def play(
    engine: Engine, name: str, *, temperature: float, tasks: int, trials: int, seed: int = 0
) -> list[Episode]:
    """Episodes of the policy role on the test split at the taught level, in the order of their ends."""
    ids = corpus.ENVS[name]("test").task_ids[:tasks]
    specs = [
        EpisodeSpec(name, task_id, trial, derive_seed(seed, task_id, trial))
        for task_id in ids
        for trial in range(trials)
    ]

    async def run() -> list[Episode]:
        driver = Driver(agent(engine, temperature), lambda: corpus.ENVS[name]("test"), concurrency=32)
        return [found async for found in driver.run(specs) if isinstance(found, Episode)]

    return asyncio.run(run())


@dataclass
class RoleReport:
    """What a role's answers are worth. Shares of ``asked``, except where said otherwise."""

    asked: int = 0
    parsed: int = 0
    right: int = 0
    """Successor and backup: the outcome; evaluator: the verdict; refiner: the very words of the teacher."""
    scores: list[tuple[bool, bool]] = field(default_factory=list)
    """(truth, said) of the parsed ones: the outcome is success, the action is optimal."""
    examples: list[tuple[str, str, str]] = field(default_factory=list)
    """Some wrong answers: the end of the prompt, what was expected, what was written."""


def roles(engine: Engine, name: str, *, episodes: int, seed: int = 1_000) -> dict[str, RoleReport]:
    """Ask every role about fresh episodes of scripted players, greedily.

    The rows are made as the corpus is, on other episodes of the same training tasks: what is measured is
    how well the roles were learned, with the teacher's errors as an upper bound on agreement.
    """
    rows = [row for found in corpus.episodes(name, episodes, seed) for row in found if row.role != "policy"]
    answers = asyncio.run(_answers(engine, rows))
    prompts, rng = CompactPrompts(), random.Random(seed)
    reports: dict[str, RoleReport] = {}
    for row, answer in zip(rows, answers, strict=True):
        report = reports.setdefault(row.role, RoleReport())
        report.asked += 1
        if row.role == "refiner":
            report.parsed += prompts.parse_action(answer) is not None
            right = answer == row.answer
        elif row.role == "evaluator":
            critique = prompts.parse_critique(answer)
            report.parsed += critique is not None
            right = critique is not None and critique.optimal == row.truth
            if critique is not None:
                report.scores.append((bool(row.truth), critique.optimal))
        else:
            said = prompts.outcome(answer)
            report.parsed += prompts.parse_future(answer) is not None
            right = said == prompts.outcome(row.answer)
            if said is not None:
                report.scores.append((row.answer.endswith("success"), said == "success"))
        report.right += right
        if not right and (len(report.examples) < 3 or rng.random() < 0.05):
            report.examples = [*report.examples, (row.prompt[-160:], row.answer, answer)][-3:]
    return reports


async def _answers(engine: Engine, rows: Sequence[corpus.Row]) -> list[str]:
    sampling = Sampling(temperature=0.0, max_tokens=MAX_TOKENS)

    async def ask(row: corpus.Row) -> str:
        message = {"role": "user", "content": row.prompt}
        (sample,) = await engine.sample(SampleRequest(messages=(message,), role=row.role, sampling=sampling))
        return sample.text

    answers: list[str] = []
    waiting = iter(rows)
    while chunk := list(islice(waiting, 256)):
        answers += await asyncio.gather(*(ask(row) for row in chunk))
    return answers
