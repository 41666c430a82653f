"""Measures whether a model's critic knows the form of ``shop_worlds`` and nothing of the rules of a world.

Two measurements on the easy test tasks: whether the evaluator's verdict follows the predicted outcome, and
whether the predicted outcome reveals the procedure that a world demands. The latter is measured where only
the rules decide: before the call that changes the order, of an agent that has made no mistake.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nlac_bench.agents.roles.compact import CompactPrompts
from nlac_bench.agents.roles.role_prompts import Prompt
from nlac_bench.agents.roles.transition import State, first_state
from nlac_bench.envs.env_string import parse
from nlac_bench.envs.shop_worlds.env import ShopWorldsEnv
from nlac_bench.envs.shop_worlds.procedures import KIND_OF_TOOL, KINDS, Procedure
from nlac_bench.envs.shop_worlds.tasks import case_of
from nlac_bench.envs.shop_worlds.worlds import MEASURED, procedures_of
from nlac_bench.envs.tau.actions import CallAction, parse_action
from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.engine import SampleRequest, Sampling, derive_seed
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.types import Role

MAX_TOKENS = 256
"""Maximum length of an answer; the corpus contains no longer ones."""
FLIPPED_AT_LEAST = 0.90
"""Gate of the evaluator: share of verdicts that flip with the outcome of the future."""
AUC_WITHIN = (0.45, 0.55)
"""Gate of the successor: limits of the AUC in each world."""
FEWEST_TASKS = 64
"""Each task has four probes, and a gate rests on at least 256."""
SAMPLES = 4
"""Number of futures that the successor writes for a probe."""
_RESAMPLES = 2_000
_AT_ONCE = 64
_ENDS = {"success": "end: success", "failure": "end: failure"}


@dataclass(frozen=True, slots=True)
class Probe:
    """An action of an agent that follows ``procedure``: the call that changes the order, and what came
    before."""

    task_id: str
    kind: str
    procedure: Procedure
    state: State
    action: str


@dataclass(frozen=True, slots=True)
class Measured:
    """The answers of a model to the probes.

    ``flips`` states for each probe whether the verdict changes with the outcome of its first readable future.
    ``said_PS`` has for each probe (P) and sample (S) 1 if the future predicts success, 0 if failure, and 0.5
    if it could not be read.
    """

    flips: Sequence[bool]
    said_PS: NDArray[np.float64]


def worlds_of(env: Sequence[str]) -> Sequence[int]:
    """Return the worlds that the environment strings ``env`` name: by default those for measuring.

    ``shop_worlds@{"world": 1008}`` names one world, in which a checkpoint was trained.

    Raises:
        NlacBenchError: ``env`` is not one environment string of ``shop_worlds``, has an argument other than
            ``world``, or names a world that does not exist.
    """
    if len(env) > 1:
        raise NlacBenchError(f"--gates takes one environment, got {', '.join(env)}")
    text = env[0]
    try:
        name, arguments = parse(text)
        if name == ShopWorldsEnv.name and not arguments:
            return MEASURED
        if name == ShopWorldsEnv.name and set(arguments) == {"world"}:
            procedures_of(arguments["world"])
            return [arguments["world"]]
    except ValueError as error:
        raise NlacBenchError(f"--env {text} cannot be measured with --gates: {error}") from error
    raise NlacBenchError(
        f"--env {text} cannot be measured with --gates: use shop_worlds, or one world such as "
        """'shop_worlds@{"world": 1008}'"""
    )


def probes(tasks: int) -> list[Probe]:
    """Return the probes of the first ``tasks`` easy test tasks, one by each valid procedure.

    Until its second step after the call an environment answers in the same way in every world, so the probes
    are the same in every world, too. An agent of a checkout's ``workshop`` plays them.
    """
    from workshop.worlds_player import WorldsPlayer

    env, result = ShopWorldsEnv(split="test", level="easy", world=MEASURED[0]), []
    for task_id in env.task_ids[:tasks]:
        case = case_of(task_id)
        kind = case.requests[0].goal.kind
        result += [
            _probe(env, task_id, kind, procedure, WorldsPlayer(case, procedure).due)
            for procedure in KINDS[kind].procedures
        ]
    return result


def _probe(
    env: ShopWorldsEnv, task_id: str, kind: str, procedure: Procedure, action_after: Callable[[int], str]
) -> Probe:
    first, info = env.reset(seed=0, options={"task_id": task_id})
    state = first_state(env.name, first, {**info, "tools": (), "policy": ""})
    done = 0
    while True:
        action = action_after(done)
        parsed = parse_action(action)
        if isinstance(parsed, CallAction) and parsed.name in KIND_OF_TOOL:
            return Probe(task_id, kind, procedure, state, action)
        observation, _, _, _, info = env.step(action)
        state = state.after(action, observation, str(info["action_kind"]))
        done += 1


def succeeds(probe: Probe, world: int) -> bool:
    """Return whether the episode of ``probe``, continued without a mistake, succeeds in ``world``."""
    return procedures_of(world)[probe.kind] == probe.procedure


def measure(engine: HFEngine, probes: Sequence[Probe], seed: int = 0) -> Measured:
    """Sample ``SAMPLES`` futures of each probe at temperature 1, and the evaluator's verdicts greedily."""

    async def all_of() -> list[tuple[bool, list[float]]]:
        answers: list[tuple[bool, list[float]]] = []
        for start in range(0, len(probes), _AT_ONCE):
            asked = probes[start : start + _AT_ONCE]
            answers += await asyncio.gather(*(_ask(engine, probe, derive_seed(seed, start + i))
                                           for i, probe in enumerate(asked)))  # fmt: skip
        return answers

    answers = asyncio.run(all_of())
    return Measured([flips for flips, _ in answers], np.array([outcomes for _, outcomes in answers]))


async def _ask(engine: HFEngine, probe: Probe, seed: int) -> tuple[bool, list[float]]:
    """Return whether the verdict flips, and the outcomes of the futures."""
    prompts = CompactPrompts()
    prompt = prompts.successor(probe.state, probe.action)
    texts = await asyncio.gather(
        *(written(engine, prompt, "successor", 1.0, derive_seed(seed, i)) for i in range(SAMPLES))
    )
    futures = [prompts.parse_future(text) for text in texts]
    outcomes = [0.5 if future is None else float(prompts.outcome(future) == "success") for future in futures]
    readable = next((future for future in futures if future is not None), None)
    if readable is None:
        return False, outcomes
    verdicts = []
    for end in _ENDS.values():
        asked = prompts.evaluator(probe.state, probe.action, [f"{readable.rpartition('end: ')[0]}{end}"])
        critique = prompts.parse_critique(await written(engine, asked, "evaluator", 0.0, seed))
        verdicts.append(None if critique is None else critique.optimal)
    return verdicts == [True, False], outcomes


async def written(engine: HFEngine, prompt: Prompt, role: Role, temperature: float, seed: int) -> str:
    """Return a role's answer, decoded to the environment's text."""
    sampling = Sampling(temperature=temperature, max_tokens=MAX_TOKENS)
    request = SampleRequest(messages=prompt.messages, role=role, sampling=sampling, seed=seed)
    (sample,) = await engine.sample(request)
    return prompt.codec.decode(sample.text)


def outcome_auc(said_PS: NDArray[np.float64], truth_P: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve of single predicted outcomes (success or failure) for ``truth_P``.

    With two values it is 0.5 + (true-positive rate − false-positive rate) / 2; ties count half.
    """
    rates = [float(np.mean(said_PS[chosen])) for chosen in (truth_P, ~truth_P)]
    return 0.5 + (rates[0] - rates[1]) / 2


def auc_by_world(
    found: Sequence[Probe], said_PS: NDArray[np.float64], worlds: Sequence[int]
) -> Mapping[int, tuple[float, float, float]]:
    """Return the AUC in each world with its 95 % bootstrap interval, for which tasks are resampled."""
    names = sorted({probe.task_id for probe in found})
    members = [[i for i, probe in enumerate(found) if probe.task_id == name] for name in names]
    rng = np.random.default_rng(0)
    drawn = [
        np.concatenate([members[j] for j in rng.integers(len(names), size=len(names))])
        for _ in range(_RESAMPLES)
    ]
    by_world = {}
    for world in worlds:
        truth_P = np.array([succeeds(probe, world) for probe in found])
        low, high = np.quantile([outcome_auc(said_PS[rows], truth_P[rows]) for rows in drawn], [0.025, 0.975])
        by_world[world] = (outcome_auc(said_PS, truth_P), float(low), float(high))
    return by_world
