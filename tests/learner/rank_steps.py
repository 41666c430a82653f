"""The gradient steps of all methods on recorded lessons, on any number of ranks. test_ranks.py compares what
several ranks computed (torchrun_cases.py) with what one process computes."""

import asyncio
import contextlib
import gc
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
import torch.distributed as dist
from safetensors.torch import save_file
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.methods import BUILT_IN, Method
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.nlac.nlac import step
from nlac_bench.agents.nlac.replay_trainer import ReplayTrainer
from nlac_bench.agents.roles.compact import CompactPrompts
from nlac_bench.agents.roles.policy_agent import PolicyAgent
from nlac_bench.agents.roles.role_prompts import Critique
from nlac_bench.agents.roles.speaker import Action
from nlac_bench.agents.roles.transition import transitions
from nlac_bench.baselines.archer import ArCHer
from nlac_bench.baselines.critique_rl import Judged, Trial
from nlac_bench.baselines.drlc import DRLC
from nlac_bench.baselines.early_experience import EarlyExperience
from nlac_bench.baselines.on_policy import OnPolicy
from nlac_bench.baselines.sac import SAC, SacLesson
from nlac_bench.baselines.totals import ObjectiveUnit, steps_on_totals
from nlac_bench.learner import share
from nlac_bench.learner.batch import TokenBatch
from nlac_bench.learner.config import TrainConfig
from nlac_bench.learner.learner import Learner
from nlac_bench.learner.learner_config import LearnerConfig
from nlac_bench.learner.outputs import Metrics, Outputs
from nlac_bench.learner.ranks import collective
from nlac_bench.learner.whole import full_tensor, local_part
from nlac_bench.rollout.engines.engine import Sample, Sampling
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.rollout.meter import MeteredEngine
from nlac_bench.types import Episode, Turn
from tests.baselines import signal_env
from tests.baselines.signal_env import BUTTONS, COLOURS, Signal
from tests.learner.small_model import model, nll, sequences, use_sgd


async def recorded(algorithm: Any, played: Sequence[Episode]) -> None:
    """Take the place of ``prepare``: texts that do not depend on what the engine samples."""
    found = [(e, n, t) for e in played for n, t in enumerate(transitions(e, "signal", {}))]
    verdicts = [Critique(i % 3 > 0, "optimal: no") for i in range(len(found))]
    if isinstance(algorithm, DRLC):
        algorithm.judged = {id(e): [] for e in played}
        for (e, n, t), verdict in zip(found, verdicts, strict=True):
            speaker = algorithm.speaking.speaker(n)
            algorithm.judged[id(e)].append(Lesson(t, 1.0, speaker, critique=verdict))
    elif isinstance(algorithm, EarlyExperience):
        kind, encoder = "message", algorithm.encoder
        made = [encoder.observed(t.state, t.action, t.answered, kind, n) for _, n, t in found]
        algorithm.sequences = [s for s in made if s is not None]
    else:
        algorithm.judged, algorithm.refines = [], True
        for (_, n, t), verdict in zip(found[:6], verdicts[:6], strict=True):
            prompt = algorithm.resources.prompts.policy(t.state)
            x = Judged(t, 1.0, algorithm.speaking.speaker(n), len(algorithm.judged))
            for k in range(4):
                ids = [9 + k, 8, 1][: 2 + k % 2]
                own = algorithm.encoder.answer(prompt, Sample("", "stop", ids=ids), "critic")
                refined = Action("red-1", Sample("red-1", "stop", ids=[9 + n, 1]))
                x.trials.append(Trial([own], verdict, k % 2 == n % 2, refined, k > 1))
            algorithm.judged.append(x)


class Totals(OnPolicy[TrainConfig]):
    """Minimises the binary cross-entropy of each episode's total, compared with the others of its task, and
    its success (PACS); a mini-batch has two tasks, so the totals of the second one are not 0."""

    def learn(self, episodes: Sequence[Episode], max_steps: int | None) -> Metrics:
        played = list(zip(episodes, self.turns(episodes), strict=True))
        units = []
        for task in dict.fromkeys(e.task_id for e in episodes):
            own = [(e, [s for s in turns if s is not None]) for e, turns in played if e.task_id == task]
            units.append(
                ObjectiveUnit([turns for _, turns in own], pacs([float(bool(e.success)) for e, _ in own]))
            )
        return steps_on_totals(self, units, max_steps)


def pacs(successes: Sequence[float]) -> Callable[[Tensor], Tensor]:
    """The objective of a task's episodes; β is 1."""
    labels_G = torch.tensor(successes)

    def objective(totals_G: Tensor) -> Tensor:
        others_G = (totals_G.sum() - totals_G) / max(1, len(totals_G) - 1)
        return binary_cross_entropy_with_logits(totals_G - others_G, labels_G)

    return objective


METHODS = {
    **BUILT_IN,
    "totals": Method(
        name="totals", summary="compares totals", algorithm="tests.learner.rank_steps:Totals"
    ),
}  # fmt: skip
"""All methods, and one that learns from totals."""

SETTINGS: dict[str, dict[str, Any]] = {
    "totals": {"mini_batch_size": 2, "kl_coef": 0.05},
    "ppo": {"num_epochs": 3, "entropy_coef": 0.01, "kl_coef": 0.05},
    "grpo": {"num_epochs": 3},
    "nlac": {"kl_coef": 0.05},
    "sac": {"alpha": 0.1},
    "archer": {"kl_coef": 0.05},
    "pacs": {"mini_batch_size": 2},
    "agent_prm": {"mini_batch_size": 8},
    "self_distillation": {"critic_coef": 0.5},
    "drlc": {"kl_coef": 0.05},
    "critique_rl": {"mini_batch_size": 12},
}


def make(name: str, **settings: Any) -> Any:
    """The algorithm ``name`` on a random model, trained by SGD in micro-batches of one short row."""
    method = METHODS[name]
    shared = {"precision": "fp32", "row_tokens": 24, "lr": 0.3, "mini_batch_size": 64}
    config = method.config({**shared, **SETTINGS.get(name, {}), **settings})
    learner = Learner(signal_env.random_model(), config.learner(0, **method.learner))
    use_sgd(learner)
    engine = MeteredEngine(HFEngine(signal_env.random_model(), signal_env.tokenizer()))
    prompts = CompactPrompts()
    algorithm: Any = method.algorithm_class(
        Resources(config, engine, learner, prompts, PolicyAgent(engine, prompts, Sampling()), Signal, 0, 4)
    )
    if name in ("drlc", "early_experience", "critique_rl"):
        algorithm.prepare = partial(recorded, algorithm)
    return algorithm


def episodes(winners: Sequence[int] = (0, 3, 4)) -> list[Episode]:
    """Eight episodes of three tasks with one to three turns of different lengths; one of them is cut."""
    generator = torch.Generator().manual_seed(0)

    def tokens(most: int) -> list[int]:
        count = int(torch.randint(1, most, (1,), generator=generator))
        return torch.randint(3, 30, (count,), generator=generator).tolist()

    made = []
    for i in range(8):
        count, won, cut = 1 + i % 3, i in winners, i == 5
        turns = [
            Turn(
                BUTTONS["red"][t], "right" if won else "wrong", reward=float(won and t == count - 1),
                prompt_ids=[5, 6, *tokens(8)], output_ids=tokens(6), info={"action_kind": "message"},
            )
            for t in range(count)
        ]  # fmt: skip
        success = None if cut else won
        made.append(Episode("signal", f"red-{i % 3}", 0, i, "red", turns, not cut, cut, success))
    return made


def lessons(algorithm: Any, numbers: Sequence[int]) -> list[Any]:
    """Those with ``numbers`` of ten recorded lessons; some lack a target or an action."""
    found = [t for e in episodes() for t in algorithm.transitions(e)][:10]
    algorithm.replay.add([found[n] for n in numbers])
    own: list[Any] = []
    for place, n in enumerate(numbers):
        words = [BUTTONS[COLOURS[k % 2]][(n + k) % 4] for k in range(3)]
        answers = [[9 + n, 8, 1][: 2 + k] for k in range(3)]
        actions = [
            Action(w, Sample(w, "stop", ids=ids, logprobs=[-3.0 - k] * len(ids)))
            for k, (w, ids) in enumerate(zip(words, answers, strict=True))
        ]
        speaker, t = algorithm.speaking.speaker("recorded"), algorithm.replay.items[place]
        weight = 1 / (1 + n)
        if isinstance(algorithm, SAC):
            own.append(SacLesson(t, weight, speaker, place, following=actions[0].sample, candidates=actions))
            continue
        verdict = ("success", "failure")[n % 2]
        target = None if n == 3 else f"next: {'right' if n % 3 else 'wrong'}; end: {verdict}"
        own.append(Lesson(t, weight, speaker, place, target, None if n == 6 else actions[1]))
    return own


def learn(algorithm: Any, taught: Sequence[Any]) -> Metrics:
    """Take the gradient steps of an iteration with the lessons ``taught``."""
    one = algorithm.step if isinstance(algorithm, SAC | ArCHer) else partial(step, algorithm)
    taken: Metrics = algorithm.steps(taught, one)
    return taken


@collective
def whole_gradients(learner: Learner) -> dict[str, Tensor]:
    """The gradients of all parameters, gathered from all ranks."""
    return {f"gradient/{n}": full_tensor(p.grad).clone() for n, p in learner.model.named_parameters()}  # type: ignore[arg-type]


def three_steps(name: str, **settings: Any) -> tuple[dict[str, Tensor], list[Metrics], list[float]]:
    """Return the first step's gradients and the weights after three steps, metrics, and replay losses."""
    algorithm = make(name, **settings)
    found: dict[str, Tensor] = {}
    step = algorithm.learner.optim_step

    def recorded() -> Metrics:
        if not found:
            found.update(whole_gradients(algorithm.learner))
        taken: Metrics = step()
        return taken

    algorithm.learner.optim_step = recorded
    rows: list[Metrics] = []
    if isinstance(algorithm, ReplayTrainer):
        taught, probe = lessons(algorithm, range(10)), ReplayTrainer.probe
        rows = [learn(algorithm, taught) | asyncio.run(probe(algorithm, [], False)) for _ in range(3)]
    else:
        while algorithm.learner.step < 3:
            taken = asyncio.run(algorithm.update(episodes()))
            rows.append(taken | asyncio.run(algorithm.probe(episodes(), False)))
    found |= {f"weight/{n}": t.clone() for n, t in algorithm.learner.named_tensors()}
    losses = list(algorithm.replay.losses) if isinstance(algorithm, ReplayTrainer) else []
    return found, rows, losses


def little_to_learn() -> dict[str, list[float]]:
    """Return the gradient steps taken where some ranks, or all of them, have nothing to compute."""
    taken: dict[str, list[float]] = {}
    rft = make("rft", mini_batch_size=1)
    for case, winners in (("one success", [0]), ("no success", [])):
        taken[f"rft: {case}"] = [asyncio.run(rft.update(episodes(winners)[:3]))["gradient_steps"]]
    for name in ("nlac", "sac", "nlrl"):
        algorithm = make(name, mini_batch_size=2)
        few = lessons(algorithm, [3] if name == "sac" else [0, 1, 3])
        taken[f"{name}: few lessons"] = [learn(algorithm, some)["gradient_steps"] for some in (few, [])]
    adapters = make("rft", lora_rank=2)
    taken["rft: adapters"] = [asyncio.run(adapters.update(episodes()))["gradient_steps"]]
    nlac = make("nlac", mini_batch_size=2)
    textless = [replace(lesson, target=None, proposed=None) for lesson in lessons(nlac, range(4))]
    taken["nlac: lessons without texts"] = [learn(nlac, textless)["gradient_steps"]]
    return taken


def gradient_bytes() -> list[dict[str, float]]:
    """Return each rank's bytes of gradients between micro-batches, of its shards, and of the whole."""
    gc.collect()
    learner = Learner(model(), LearnerConfig(precision="fp32", micro_rows=1))
    bytes_R3 = torch.zeros(dist.get_world_size(), 3)

    def count(outputs: Outputs, micro: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
        own = max((x for x in gc.get_objects() if type(x) is Learner), key=lambda x: x.number)
        held = sum(_bytes(gradient) for gradient in _gradients(own))
        shards = sum(_bytes(local_part(p)) for p in own.parameters)
        bytes_R3[dist.get_rank()] = torch.tensor([held, shards, sum(4 * p.numel() for p in own.parameters)])
        return nll(10.0)(outputs, micro)

    learner.forward_backward(share.packed(sequences(), 32), count, bytes_R3)
    return [dict(zip(("held", "shards", "whole"), row, strict=True)) for row in bytes_R3.tolist()]


def _gradients(learner: Learner) -> Iterator[Tensor]:
    for p in learner.parameters:
        if p.grad is not None:
            yield local_part(p.grad)
    for module in learner.model.modules():
        with contextlib.suppress(AttributeError):
            for group in cast(Any, module)._get_fsdp_state()._fsdp_param_groups:
                for parameter in group.fsdp_params:
                    unsharded = getattr(parameter, "_unsharded_param", None)
                    for gradient in (parameter.unsharded_accumulated_grad, getattr(unsharded, "grad", None)):
                        if gradient is not None:
                            yield gradient


def _bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def main(out: str) -> None:
    """Rank 0: every method, then the cases with little to learn."""
    result: dict[str, Any] = {"rows": {}, "replay": {}}
    for name in METHODS:
        tensors, result["rows"][name], result["replay"][name] = three_steps(name)
        save_file(tensors, Path(out) / f"{name}.safetensors")
    result |= {"taken": little_to_learn(), "bytes": gradient_bytes()}
    (Path(out) / "result.json").write_text(json.dumps(result))
