"""The gradient steps of all methods on recorded lessons, on any number of ranks; run under torchrun by
test_ranks.py, which compares what several ranks computed with what one process computes."""

import asyncio
import contextlib
import faulthandler
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import torch
import torch.distributed as dist
from safetensors.torch import save_file
from torch import Tensor

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.methods import BUILT_IN
from nlac_bench.agents.nlac.algorithm import NLAC
from nlac_bench.agents.roles.compact import CompactPrompts
from nlac_bench.agents.roles.policy_agent import PolicyAgent
from nlac_bench.agents.roles.speaker import Action
from nlac_bench.baselines.sac import SacLesson
from nlac_bench.rollout.engines.engine import Sample, Sampling
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.rollout.meter import MeteredEngine
from nlac_bench.train.batch import TokenBatch, pack
from nlac_bench.train.learner import Learner, LearnerConfig, local_part
from nlac_bench.train.outputs import Metrics, Outputs
from nlac_bench.types import Episode, Turn
from tests.baselines import signal_env
from tests.baselines.signal_env import BUTTONS, COLOURS, Signal
from tests.train.small_model import model, nll, sequences

LIMIT = 300
"""Seconds after which a rank that hangs prints its stacks and exits."""
DIVISIONS = ("one", "all", "uneven")
"""One rank plays all; each rank plays a part; the last rank plays nearly all, others little or nothing."""
SETTINGS: dict[str, dict[str, Any]] = {
    "ppo": {"num_epochs": 3, "entropy_coef": 0.01, "kl_coef": 0.05},
    "grpo": {"num_epochs": 3},
    "nlac": {"kl_coef": 0.05},
    "sac": {"alpha": 0.1},
    "self_distillation": {"critic_coef": 0.5},
}


def make(name: str, **settings: Any) -> Any:
    """The algorithm ``name`` on a random model, trained by SGD in micro-batches of one short row."""
    method = BUILT_IN[name]
    shared = {"precision": "fp32", "row_tokens": 24, "lr": 0.3, "mini_batch_size": 64}
    config = method.config({**shared, **SETTINGS.get(name, {}), **settings})
    learner = Learner(
        signal_env.random_model(), replace(config.learner(0, **method.learner), optimizer="sgd")
    )
    engine = MeteredEngine(HFEngine(signal_env.random_model(), signal_env.tokenizer()))
    prompts = CompactPrompts()
    return method.algorithm_class(
        Resources(config, engine, learner, prompts, PolicyAgent(engine, prompts, Sampling()), Signal, 0, 4)
    )


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


def lessons(algorithm: NLAC, numbers: Sequence[int]) -> tuple[list[Any], list[int]]:
    """Ten recorded lessons, of which this rank has ``numbers``; some lack a target or an action."""
    found = [t for e in episodes() for t in algorithm.transitions(e)][:10]
    algorithm.replay.add([found[n] for n in numbers])
    own: list[Any] = []
    for place, n in enumerate(numbers):
        words = [BUTTONS[COLOURS[k % 2]][(n + k) % 4] for k in range(3)]
        actions = [Action(w, Sample(w, "stop", ids=[9 + n, 8, 1][: 2 + k], logprobs=[-1.0 - k] * 2)) for k, w in enumerate(words)]  # fmt: skip  # noqa: E501
        speaker, t, weight = algorithm.speaker("recorded"), algorithm.replay.items[place], 1 / (1 + n)
        if algorithm.lesson_type is SacLesson:
            own.append(SacLesson(t, weight, speaker, following=actions[0], candidates=actions))
            continue
        verdict = ("success", "failure")[n % 2]
        target = None if n == 3 else f"next: {'right' if n % 3 else 'wrong'}; end: {verdict}"
        own.append(algorithm.lesson_type(t, weight, speaker, target=target, proposed=None if n == 6 else actions[1]))  # fmt: skip  # noqa: E501
    return own, list(range(len(numbers)))


def own_numbers(count: int, division: str) -> list[int]:
    """Return which of ``count`` items this rank has."""
    rank, world = dist.get_rank(), dist.get_world_size()
    if division == "one":
        return list(range(count)) if rank == 0 else []
    if division == "all":
        return list(range(count))[rank::world]
    return list(range(1, count)) if rank == world - 1 else [0] if rank == 0 else []


def three_steps(name: str, division: str) -> tuple[dict[str, Tensor], list[Metrics], list[float]]:
    """Return the first step's gradients and the weights after three steps, metrics, and replay losses."""
    algorithm = make(name)
    found: dict[str, Tensor] = {}
    step = algorithm.learner.optim_step

    def recorded() -> Metrics:
        if not found:
            for parameter, p in algorithm.learner.model.named_parameters():
                found[f"gradient/{parameter}"] = p.grad.full_tensor().clone()
        taken: Metrics = step()
        return taken

    algorithm.learner.optim_step = recorded
    rows: list[Metrics] = []
    if isinstance(algorithm, NLAC):
        batch = lessons(algorithm, own_numbers(10, division))
        rows = [algorithm.learn(*batch) | algorithm.kl_to_start() for _ in range(3)]
    else:
        played = episodes()
        mine = [played[n] for n in own_numbers(8, division)]
        while algorithm.learner.step < 3:
            rows.append(asyncio.run(algorithm.update(mine)) | asyncio.run(algorithm.probe(mine, False)))
    found |= {f"weight/{n}": t.clone() for n, t in algorithm.learner.named_tensors()}
    losses = list(algorithm.replay._losses) if isinstance(algorithm, NLAC) else []
    return found, rows, losses


def nothing_to_learn() -> dict[str, list[float]]:
    """Return the gradient steps taken where no rank, or one rank only, has something to learn from."""
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    taken: dict[str, list[float]] = {}
    rft = make("rft", mini_batch_size=1)
    won, lost = episodes(winners=[0])[:1], episodes(winners=[])[1:3]
    for case, mine in (("a success on the last rank", won if rank == last else lost), ("no success", lost)):
        taken[f"rft: {case}"] = [asyncio.run(rft.update(mine))["gradient_steps"]]
    for name in ("nlac", "sac", "nlrl"):
        algorithm = make(name, mini_batch_size=2)
        numbers = ([3] if name == "sac" else [0, 1, 3]) if rank == last else []
        steps = [algorithm.learn(*lessons(algorithm, numbers))["gradient_steps"]]
        taken[f"{name}: lessons on the last rank"] = [*steps, algorithm.learn([], [])["gradient_steps"]]
    nlac = make("nlac", mini_batch_size=2)
    some, indices = lessons(nlac, range(4) if rank == 0 else [])
    textless = [replace(lesson, target=None, proposed=None) for lesson in some]
    taken["nlac: lessons without texts"] = [nlac.learn(textless, indices)["gradient_steps"]]
    return taken


def gradient_bytes() -> dict[str, int]:
    """Return the bytes of gradients on this rank between micro-batches, of its shards, and of the whole."""
    learner = Learner(model(), LearnerConfig(precision="fp32", micro_rows=1))
    held: list[int] = []

    def count(outputs: Outputs, micro: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
        held.append(sum(_bytes(gradient) for gradient in _gradients(learner)))
        return nll(10.0)(outputs, micro)

    learner.forward_backward(pack(sequences(), 64), count)
    return {
        "held": max(held[1:]),
        "shards": sum(_bytes(local_part(p)) for p in learner.parameters),
        "whole": sum(4 * p.numel() for p in learner.parameters),
    }


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
    """One rank: every method in every division, then the cases with nothing to learn."""
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    result: dict[str, Any] = {"rows": {}, "replay": {}}
    Learner(model(), LearnerConfig(precision="fp32"))  # makes the group of the ranks
    rank = dist.get_rank()
    for division in DIVISIONS:
        for name in BUILT_IN:
            tensors, rows, losses = three_steps(name, division)
            result["rows"][f"{division}/{name}"], result["replay"][f"{division}/{name}"] = rows, losses
            if rank == 0:
                save_file(tensors, Path(out) / f"{division}-{name}.safetensors")
            faulthandler.dump_traceback_later(LIMIT, exit=True)
    result |= {"taken": nothing_to_learn(), "bytes": gradient_bytes()}
    (Path(out) / f"{rank}.json").write_text(json.dumps(result))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
