"""Measures the embedded model: its success, and the answers of each role against what actually happens."""

import asyncio
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import cast

from nlac_bench.agents.roles.compact import CompactPrompts
from nlac_bench.agents.roles.policy_agent import PolicyAgent
from nlac_bench.agents.roles.role_prompts import Prompt
from nlac_bench.agents.roles.transition import first_state
from nlac_bench.envs.shop_worlds.env import ShopWorldsEnv
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.envs.twenty_questions import TwentyQuestionsEnv
from nlac_bench.rollout.driver import Driver, EpisodeSpec
from nlac_bench.rollout.engines.engine import Sampling, derive_seed
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.tiny.gates import MAX_TOKENS, written
from nlac_bench.types import Episode, Role
from workshop import corpus, games_corpus, worlds_corpus
from workshop.prepare import generated

ENVS: Mapping[str, Mapping[str, Callable[[str], TextEnv]]] = {
    "tiny": corpus.ENVS,
    "tiny-worlds": {
        worlds_corpus.NAME: lambda split: ShopWorldsEnv(split=split, level="easy", worlds="held_out"),
        games_corpus.NAME: lambda split: TwentyQuestionsEnv(split=split, level="full", unknowns="no"),
    },
}
"""Makes the environments that a model is taught, by model and split: ``shop_worlds`` in its first held-out
world."""
EPISODES = 100
"""Number of sampled episodes; the tasks of a smaller test split are played several times."""
_YES, _NO = "optimal: yes", "optimal: no"


def agent(engine: HFEngine, temperature: float) -> PolicyAgent:
    """Return an agent that plays the policy role."""
    return PolicyAgent(engine, CompactPrompts(), Sampling(temperature=temperature, max_tokens=MAX_TOKENS))


def family(folder: Path) -> str:
    """Return the name of the embedded model in ``folder`` by its manifest; ``tiny`` without a manifest."""
    path = folder / "manifest.json"
    return str(json.loads(path.read_text())["build"].get("model", "tiny")) if path.is_file() else "tiny"


def play(
    engine: HFEngine, name: str, *, temperature: float, tasks: int, seed: int = 0, model: str = "tiny"
) -> list[Episode]:
    """Return episodes of the policy role on the test split at the level that ``model`` is taught, in the
    order in which they ended."""
    make = ENVS[model][name]
    ids = make("test").task_ids[:tasks]
    trials = 1 if temperature == 0 else max(1, min(EPISODES, tasks) // len(ids))
    specs = [
        EpisodeSpec(name, task_id, trial, derive_seed(seed, task_id, trial))
        for task_id in ids
        for trial in range(trials)
    ]

    async def run() -> list[Episode]:
        driver = Driver(agent(engine, temperature), lambda: make("test"), concurrency=32)
        return [each async for each in driver.run(specs) if isinstance(each, Episode)]

    return asyncio.run(run())


@dataclass
class RoleReport:
    """Counts of a role's answers: ``parsed`` and ``right`` out of ``asked``."""

    asked: int = 0
    parsed: int = 0
    right: int = 0
    """Right outcomes (successor, backup, aggregator), verdicts (evaluator) or answers (refiner, picker)."""
    said: list[tuple[bool, bool]] = field(default_factory=list)
    """(truth, said) of the parsed answers: whether the episode succeeds, or whether the action is optimal."""
    scores: list[tuple[bool, float]] = field(default_factory=list)
    """(truth, log-odds of yes) of the evaluator's answers."""
    examples: list[tuple[str, str, str]] = field(default_factory=list)
    """Examples of wrong answers: the end of the prompt, the expected answer, the written answer."""

    def figures(self) -> dict[str, object]:
        """Return the shares of answers; ``of_positives`` and ``of_negatives`` are recognised ones, None if
        there are none."""
        positive = [predicted for truth, predicted in self.said if truth]
        negative = [not predicted for truth, predicted in self.said if not truth]
        return {
            "asked": self.asked,
            "parsed": self.parsed / self.asked,
            "right": self.right / self.asked,
            "of_positives": sum(positive) / len(positive) if positive else None,
            "of_negatives": sum(negative) / len(negative) if negative else None,
            "auc": auc(self.scores),
        }


def roles(
    engine: HFEngine, name: str, *, episodes: int, seed: int = 1_000, model: str = "tiny"
) -> dict[str, RoleReport]:
    """Sample every role's answers greedily on new episodes of scripted players.

    The rows are generated like the corpus of ``model``, from other episodes of the same training tasks, so
    the report measures how well the roles were learned.
    """
    episode_rows = generated(model, name, episodes, seed)
    rows = [row for rows in episode_rows for row in rows if row.role != "policy"]
    answers, odds = asyncio.run(_ask_all(engine, rows))
    prompts, rng = CompactPrompts(), random.Random(seed)
    reports: dict[str, RoleReport] = {}
    for row, answer, score in zip(rows, answers, odds, strict=True):
        report = reports.setdefault(row.role, RoleReport())
        report.asked += 1
        if row.role in ("refiner", "picker"):
            report.parsed += prompts.parse_action(answer) is not None
            right = answer == row.answer
        elif row.role == "evaluator":
            critique = prompts.parse_critique(answer)
            report.parsed += critique is not None
            right = critique is not None and critique.optimal == row.truth
            report.scores.append((bool(row.truth), score))
            if critique is not None:
                report.said.append((bool(row.truth), critique.optimal))
        else:
            predicted = prompts.outcome(answer)
            report.parsed += prompts.parse_future(answer) is not None
            right = predicted == prompts.outcome(row.answer)
            if predicted is not None:
                report.said.append((row.answer.endswith("success"), predicted == "success"))
        report.right += right
        if not right and (len(report.examples) < 3 or rng.random() < 0.05):
            report.examples = [*report.examples, (row.prompt[-160:], row.answer, answer)][-3:]
    return reports


async def _ask_all(engine: HFEngine, rows: Sequence[corpus.CorpusRow]) -> tuple[list[str], list[float]]:
    async def ask(row: corpus.CorpusRow) -> tuple[str, float]:
        prompt = Prompt(messages=({"role": "user", "content": row.prompt},))
        answer = await written(engine, prompt, cast(Role, row.role), 0.0, 0)
        return answer, await _odds(engine, row.prompt) if row.role == "evaluator" else 0.0

    replies: list[tuple[str, float]] = []
    waiting = iter(rows)
    while chunk := list(islice(waiting, 256)):
        replies += await asyncio.gather(*(ask(row) for row in chunk))
    return [text for text, _ in replies], [score for _, score in replies]


async def _odds(engine: HFEngine, prompt: str) -> float:
    """Return the evaluator's log-odds that the action is optimal."""
    totals = []
    for verdict in (_YES, _NO):
        start = engine.tokenizer(prompt, add_special_tokens=False)["input_ids"]
        answer = engine.tokenizer(verdict, add_special_tokens=False)["input_ids"]
        totals.append(sum(await engine.logprobs([*start, *answer], len(start))))
    return float(totals[0] - totals[1])


@dataclass
class Improvement:
    """Counts of the critic's objections to the policy's actions and of refinements, judged by the teacher."""

    actions: int = 0
    optimal: int = 0
    objected: int = 0
    objected_rightly: int = 0
    refined_optimal: int = 0
    """Number of actions with an objection that are optimal after refinement."""
    objected_optimal: int = 0
    """Number of actions with an objection that were optimal before refinement."""
    scores: list[tuple[bool, float]] = field(default_factory=list)

    def figures(self) -> dict[str, object]:
        """Return the shares of all actions, and of the actions with an objection."""
        objected = max(1, self.objected)
        return {
            "actions": self.actions, "optimal": self.optimal / max(1, self.actions),
            "objected": self.objected / max(1, self.actions), "rightly": self.objected_rightly / objected,
            "optimal_before": self.objected_optimal / objected,
            "optimal_after": self.refined_optimal / objected,
            "auc": auc(self.scores),
        }  # fmt: skip


def improvement(engine: HFEngine, name: str, *, episodes: int, seed: int = 0) -> Improvement:
    """Play the policy role on training tasks (temperature 1); criticise and refine each action as NLAC does.

    The teacher judges the actions; in τ-bench it plays forks of the episode to the end.
    """
    result = Improvement()

    async def run() -> None:
        env = corpus.ENVS[name]("train")
        chosen = random.Random(seed).choices(env.task_ids, k=episodes)
        tasks = [_improve(engine, name, task, derive_seed(seed, i), result) for i, task in enumerate(chosen)]
        for start in range(0, len(tasks), 16):
            await asyncio.gather(*tasks[start : start + 16])

    asyncio.run(run())
    return result


async def _improve(engine: HFEngine, name: str, task: str, seed: int, result: Improvement) -> None:
    env, prompts, teaching = corpus.ENVS[name]("train"), CompactPrompts(), corpus.TEACHINGS[name]
    first, info = await env.areset(seed=seed % 2**31, options={"task_id": task})
    state, ended = first_state(name, first, info), False
    history: tuple[tuple[str, str], ...] = ()
    while not ended:
        action = await written(engine, prompts.policy(state), "policy", 1.0, derive_seed(seed, len(history)))
        verdict = teaching.judge(env, first, history, action)
        future = await written(engine, prompts.successor(state, action), "successor", 1.0, seed)
        asked = prompts.evaluator(state, action, [future])
        critique = prompts.parse_critique(await written(engine, asked, "evaluator", 0.0, seed))
        if verdict is not None and critique is not None:
            result.actions += 1
            result.optimal += verdict.optimal
            result.scores.append((verdict.optimal, await _odds(engine, str(asked.messages[0]["content"]))))
            if not critique.optimal:
                result.objected += 1
                result.objected_rightly += not verdict.optimal
                result.objected_optimal += verdict.optimal
                refining = prompts.refiner(state, action, critique)
                better = await written(engine, refining, "refiner", 0.0, seed)
                judged = teaching.judge(env, first, history, better)
                result.refined_optimal += judged is not None and judged.optimal
        observation, _, ended, _, info = await env.astep(action)
        state = state.after(action, observation, str(info["action_kind"]))
        history = (*history, (action, observation))


def auc(scores: Sequence[tuple[bool, float]]) -> float | None:
    """Return the area under the ROC curve (ties count half); None if one of the classes is empty."""
    positive = [score for truth, score in scores if truth]
    negative = [score for truth, score in scores if not truth]
    if not positive or not negative:
        return None
    wins = sum((p > n) + 0.5 * (p == n) for p in positive for n in negative)
    return wins / (len(positive) * len(negative))
