"""What must be right in each baseline, on figures worked by hand."""

import asyncio
import math
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.methods import BUILT_IN
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.nlac.nlac import distillation
from nlac_bench.agents.roles.chat import ChatPrompts
from nlac_bench.agents.roles.compact import FUTURE, CompactPrompts
from nlac_bench.agents.roles.playout import Playout
from nlac_bench.agents.roles.policy_agent import PolicyAgent
from nlac_bench.agents.roles.role_prompts import Critique
from nlac_bench.agents.roles.speaker import Action, Future, Speaker
from nlac_bench.baselines.config import NlrlConfig
from nlac_bench.baselines.grpo import GRPO
from nlac_bench.baselines.nlql import NLQL
from nlac_bench.baselines.ppo import PPO
from nlac_bench.baselines.rft import RFT
from nlac_bench.baselines.sac import SAC, SacLesson, q_loss
from nlac_bench.baselines.self_distillation import SelfDistillation
from nlac_bench.envs import registry
from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.measure.model_defaults import with_defaults
from nlac_bench.learner.batch import (
    TokenBatch,
    TokenSequence,
    first_tokens,
    last_tokens,
    learned_tokens,
    pack,
)
from nlac_bench.learner.learner import Learner
from nlac_bench.rollout.engines.engine import Sample, Sampling
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.rollout.meter import MeteredEngine, spending_on
from nlac_bench.types import Episode, Turn, beginning_of
from tests.baselines import signal_env
from tests.baselines.signal_env import Signal
from tests.envs.count_down import CountDown
from workshop.critic_rows import aggregator_row


def make(name: str, **settings: Any) -> Any:
    """An algorithm on a random model, whose engine is never asked."""
    method = BUILT_IN[name]
    config = method.config({"precision": "fp32", "row_tokens": 64, "lr": 1e-2, **settings})
    model = signal_env.random_model()
    engine = MeteredEngine(HFEngine(model, signal_env.tokenizer()))
    prompts = CompactPrompts()
    learner = Learner(signal_env.random_model(), config.learner(0, **method.learner_options(config)))
    agent = PolicyAgent(engine, prompts, Sampling())
    return method.algorithm_class(
        Resources(
            config, engine, learner, prompts, agent, Signal, seed=0, concurrency=4, slots=method.slots(config)
        )
    )


def episode(
    task: str, rewards: Sequence[float], lengths: Sequence[int] | None = None, *, cut: bool = False
) -> Episode:
    """One whose turns have so many tokens and such rewards."""
    sizes = lengths or [2] * len(rewards)
    turns = [
        Turn(
            "red-0", "right", reward=reward, prompt_ids=[5, 6, 7], output_ids=[8 + i] * size,
            info={"action_kind": "message"},
        )
        for i, (reward, size) in enumerate(zip(rewards, sizes, strict=True))
    ]  # fmt: skip
    return Episode("signal", task, 0, 0, "red", turns, not cut, cut, None if cut else rewards[-1] > 0)


def tiny_defaults(name: str) -> dict[str, Any]:
    """The training settings that ``--model tiny`` gives a method."""
    run = {"agent": name, "env": "tau_retail", "model": "tiny", "train": {}}
    found: dict[str, Any] = with_defaults(run)["train"]
    return found


# --- states and continuations -------------------------------------------------------------------------


@pytest.mark.parametrize("stored", [False, True])
def test_the_states_of_an_episode_have_what_its_own_reset_told(stored: bool) -> None:
    """In ``first_steps``, the example depends on the task. Episodes that are read from files lack it."""
    env: Any = registry.make_training_env("first_steps")
    told = {}
    episodes = []
    for task_id in ("train/larger/000", "train/call/101", "train/larger/001"):
        observation, info = env.reset(seed=1, options={"task_id": task_id})
        told[task_id] = [*info["examples"], {"role": "user", "content": observation}]
        turn = Turn("41", "Wrong.", info={"action_kind": "message"})
        played = Episode(env.name, task_id, 0, 1, observation, [turn], True, False, False)
        episodes.append(played if stored else replace(played, beginning=beginning_of(info)))
    nlac = make("nlac")
    resources = replace(nlac.resources, make_env=lambda: registry.make_training_env("first_steps"))
    nlac = type(nlac)(resources)
    for played in episodes:
        (found,) = nlac.transitions(played)
        kept = [{"role": m["role"], "content": m["content"]} for m in found.state.messages]
        assert kept == told[played.task_id], played.task_id
    assert len({str(messages[:-1]) for messages in told.values()}) == 2, "two families, two examples"


def test_an_episode_of_a_task_that_no_environment_has_is_read() -> None:
    nlac = make("nlac")
    unknown = Episode("signal", "other", 0, 0, "red", [Turn("red-0")], True, False, False)
    assert nlac.transitions(unknown)[0].state.policy == nlac.resources.make_env().policy()
    assert nlac.transitions(Episode("signal", "gone", 0, 0, "")) == [], "a content filter stopped its reset"


@pytest.mark.parametrize("grows", [False, True])
@pytest.mark.parametrize("played", [False, True])
def test_a_continuation_reads_the_tokens_of_the_episode_where_prompts_grow(
    grows: bool, played: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chat template would leave the thoughts of the turns before out."""
    nlac = make("nlac")
    seen: list[Any] = []

    async def playout(env: Any, transition: Any, action: str, actor: Any, prompts: Any, most: int) -> Playout:
        seen.append(actor._prefix_ids)
        return Playout([], False, 0.0, None)

    monkeypatch.setattr("nlac_bench.agents.algorithm.play_on", playout)
    monkeypatch.setattr(CompactPrompts, "grows", grows, raising=False)
    (t,) = nlac.transitions(episode("t", [1.0]))
    asyncio.run(nlac.resources.play_on(Signal(), t, t.action if played else "blue-1", seed=0))
    assert t.state.prompt_ids == [5, 6, 7] and list(t.action_ids) == [8, 8]
    tokenizer = nlac.resources.tokenizer
    other = [*tokenizer("blue-1", add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
    assert seen == [[5, 6, 7, *([8, 8] if played else other)] if grows else None]


# --- PPO ----------------------------------------------------------------------------------------------


def test_ppo_steps_are_the_policys_tokens_across_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two turns of two and one tokens, values 0.5 everywhere, γ = 1, λ = 0.5, reward 1 at the end."""
    ppo: PPO = make("ppo", gae_lambda=0.5)
    monkeypatch.setattr(ppo, "values", lambda batch: torch.full(batch.ids.shape, 0.5))
    monkeypatch.setattr(ppo, "_whitened", lambda sequences: sequences)
    first, second = ppo.advantages([episode("t", [0.0, 1.0], [2, 1])])
    # δ = 0, 0, 1 − 0.5; A₃ = 0.5, A₂ = 0.5 · 0.5, A₁ = 0.5 · 0.25: nothing is counted between the turns
    assert first.advantages == pytest.approx([0, 0, 0, 0.125, 0.25])
    assert second.advantages == pytest.approx([0, 0, 0, 0.5])
    assert first.returns == pytest.approx([0, 0, 0, 0.625, 0.75])
    assert second.old_values == pytest.approx([0, 0, 0, 0.5])


def test_ppo_bootstraps_a_cut_and_not_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    ppo: PPO = make("ppo", gae_lambda=1.0)
    monkeypatch.setattr(ppo, "values", lambda batch: torch.full(batch.ids.shape, 0.5))
    monkeypatch.setattr(ppo, "_whitened", lambda sequences: sequences)
    (ended,) = ppo.advantages([episode("t", [0.0], [1])])
    (cut,) = ppo.advantages([episode("t", [0.0], [1], cut=True)])
    assert ended.returns is not None and ended.returns[-1] == pytest.approx(0.0)
    assert cut.returns is not None and cut.returns[-1] == pytest.approx(0.5)


def test_ppo_keeps_the_reward_of_a_turn_that_is_too_long_to_train_on(monkeypatch: pytest.MonkeyPatch) -> None:
    ppo: PPO = make("ppo", gae_lambda=1.0, max_response_length=2)
    monkeypatch.setattr(ppo, "values", lambda batch: torch.full(batch.ids.shape, 0.5))
    monkeypatch.setattr(ppo, "_whitened", lambda sequences: sequences)
    (kept,) = ppo.advantages([episode("t", [0.0, 1.0], [1, 3])])
    assert kept.returns is not None and kept.returns[-1] == pytest.approx(1.0)
    monkeypatch.setattr(ppo, "left_in", lambda episode, number: None)
    (cut,) = ppo.advantages([episode("t", [0.0], [1], cut=True)])
    assert cut.returns is not None and cut.returns[-1] == pytest.approx(0.5), "a cut is never an end"


def test_a_resumed_algorithm_takes_the_batches_that_it_would_have_taken(tmp_path: Path) -> None:
    going_on, resumed = make("rft", mini_batch_size=2), make("rft", mini_batch_size=2)
    for _ in range(2):
        going_on.sync()
    resumed.load(tmp_path, going_on.save(tmp_path))
    sequences = [TokenSequence([5, i, 6], [0.0, 0.0, 1.0]) for i in range(12)]
    orders = [[b.ids.tolist() for b in x.mini_batches(sequences)] for x in (going_on, resumed)]
    assert orders[0] == orders[1] and going_on.version == resumed.version


@pytest.mark.parametrize("name", ["nlac", "nlql", "sac"])
def test_importance_weights_are_fully_corrected_at_the_end(name: str) -> None:
    algorithm = make(name, priority_beta=0.0)
    assert algorithm.remember([episode("t", [0.0, 1.0])]) == 2
    algorithm.replay.update([0, 1], [0.1, 1.0])
    for done, smaller in ((0.0, 1.0), (0.5, 0.1**0.3), (1.0, 0.1**0.6)):
        algorithm.resources = replace(algorithm.resources, done=lambda done=done: done)
        weights = sorted(lesson.weight for lesson in algorithm.draw(2, None))
        assert weights == pytest.approx([smaller, 1.0])


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("self_distillation", {"num_refinement_steps": 2}, "real future"),
        ("ppo", {"temperature": 0.7}, "temperature = 0.7"),
        ("grpo", {"temperature": 0}, "temperature = 0"),
        ("rft", {"lr": -1e-4}, "train.lr must be above 0, got -0.0001"),
        ("rft", {"lr": "nan"}, "train.lr must be a finite number"),
        ("rft", {"max_grad_norm": -1}, "train.max_grad_norm must be above 0, got -1"),
        ("rft", {"temperature": -1}, "train.temperature must be at least 0"),
        ("rft", {"max_turn_length": 0}, "train.max_turn_length must be at least 1"),
        ("ppo", {"num_epochs": 0}, "train.num_epochs must be at least 1"),
        ("ppo", {"gae_lambda": -1}, "train.gae_lambda must be at least 0 and at most 1, got -1"),
        ("grpo", {"clip_ratio": 0}, "train.clip_ratio must be above 0"),
        ("sac", {"actor": "softmax"}, "train.actor = softmax needs train.alpha above 0"),
        ("sac", {"gamma": 5}, "train.gamma must be at least 0 and at most 1, got 5"),
        ("nlac", {"replay_capacity": 0}, "train.replay_capacity must be at least 1"),
        ("nlac", {"ema_tau": 0}, "train.ema_tau must be above 0 and at most 1, got 0"),
        ("nlac", {"probes": -1}, "train.probes must be at least 0"),
        ("nlac", {"budget": "steps=²"}, "budget 'steps=²' is invalid"),
    ],
)
def test_settings_that_make_no_sense_are_refused(name: str, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(NlacBenchError, match=re.escape(said)):
        BUILT_IN[name].config(settings)


def test_a_turn_that_did_not_fit_was_never_played() -> None:
    """The context was full: the environment heard nothing, and the state left is the one before."""
    ppo, sac = make("ppo"), make("sac")
    whole, full = episode("t", [0.0], cut=True), episode("t", [0.0, 0.0], cut=True)
    full.turns[-1] = replace(
        full.turns[-1], text="", finish="context_overflow", output_ids=[], observation=""
    )
    one, other = (sac.transitions(e) for e in (whole, full))
    assert len(one) == len(other) == 1 and one[0].next_state == other[0].next_state
    assert ppo.left_in(whole, 7) == ppo.left_in(full, 7)
    assert [s is None for s in ppo.turns([full])[0]] == [False, True] and ppo.encoder.too_long == 0


def test_ppo_whitens_over_the_whole_iteration() -> None:
    found = make("ppo").advantages([episode("a", [1.0]), episode("b", [0.0, 0.0, 0.0])])
    own = torch.tensor([a for s in found for a, m in zip(s.advantages, s.loss_mask, strict=True) if m])
    assert own.mean() == pytest.approx(0, abs=1e-5) and own.std(unbiased=False) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("name", ["ppo", "grpo"])
@pytest.mark.parametrize("epochs", [1, 2])
def test_ratios_begin_at_one(name: str, epochs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    algorithm: Any = make(name, num_epochs=epochs, mini_batch_size=64, kl_coef=0.0)
    clipped: list[float] = []
    original = algorithm.learner.forward_backward

    def spy(batch: TokenBatch, loss: Any) -> dict[str, float]:
        now, own = algorithm.learner.logprobs(batch), batch.loss_mask != 0
        assert (batch.old_logprobs is None) == (epochs == 1)
        if batch.old_logprobs is not None:
            assert torch.equal(now[own], batch.old_logprobs[own])
        clipped.append(original(batch, loss)["clipped"])
        return {"loss": 0.0}

    monkeypatch.setattr(algorithm.learner, "forward_backward", spy)
    monkeypatch.setattr(algorithm.learner, "optim_step", dict)
    algorithm.learn([episode("a", [1.0, 0.0]), episode("a", [0.0])], None)
    assert clipped == [0.0] * epochs


@pytest.mark.parametrize("name", ["ppo", "grpo"])
def test_a_first_mini_batch_needs_no_old_log_probabilities(name: str) -> None:
    """Its gradients are those with them; the later ones of the pass have those of the weights before it."""
    played = [episode("a", [1.0, 0.0]), episode("a", [0.0, 0.0])]
    gradients: list[list[torch.Tensor]] = []
    for with_old in (False, True):
        algorithm: Any = make(name, num_epochs=1, mini_batch_size=2, kl_coef=0.0, lr=0.01)
        learner = algorithm.learner
        batches: list[TokenBatch] = []
        algorithm.take_steps = lambda given, loss, limit, batches=batches: batches.extend(given) or {}
        algorithm.learn(played, None)
        first, second = batches
        assert first.old_logprobs is None and second.old_logprobs is not None
        old = learner.logprobs(second)
        own = second.loss_mask != 0
        assert torch.equal(second.old_logprobs[own], old[own])
        if with_old:
            first = replace(first, old_logprobs=learner.logprobs(first))
        learner.forward_backward(first, algorithm.loss(first))
        gradients.append([p.grad.clone() for p in learner.model.parameters() if p.grad is not None])
    assert any(g.abs().max() > 0 for g in gradients[0])
    for without, with_old in zip(*gradients, strict=True):
        assert torch.equal(without, with_old)


@pytest.mark.parametrize("name", ["ppo", "grpo"])
@pytest.mark.parametrize(
    ("older", "factor"), [(0.0, 1.0), (-0.5, math.exp(0.5)), (0.5, math.exp(-0.5)), (-9, 2.0)]
)
def test_tokens_that_older_weights_sampled_are_weighted_by_their_importance(
    name: str, older: float, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``older`` is the difference of a token's log-probability when it was sampled to the present one."""
    advantages: list[torch.Tensor] = []
    for staleness in (0, 1):
        algorithm: Any = make(name, num_epochs=1, mini_batch_size=64, kl_coef=0.0, max_staleness=staleness)
        played = [episode("a", [1.0, 0.0]), episode("a", [0.0])]
        for turn in (turn for e in played for turn in e.turns):
            ids = [*(turn.prompt_ids or ()), *(turn.output_ids or ())]
            now = algorithm.learner.text_logprobs(ids, len(turn.prompt_ids or ()))
            turn.logprobs = [logprob + older for logprob in now]

        def spy(batch: TokenBatch, loss: Any) -> dict[str, float]:
            assert batch.advantages is not None
            advantages.append(batch.advantages * batch.loss_mask)
            return {"loss": 0.0}

        monkeypatch.setattr(algorithm.learner, "forward_backward", spy)
        algorithm.learn(played, None)
    plain, weighted = advantages
    assert plain.abs().max() > 0
    torch.testing.assert_close(weighted, plain * factor, rtol=1e-4, atol=1e-6)


def test_every_epoch_has_other_mini_batches_with_the_same_old_log_probabilities() -> None:
    ppo: PPO = make("ppo", mini_batch_size=3)
    sequences = [
        TokenSequence([5, 6, 7 + i], [0.0, 0.0, 1.0], advantages=[0.0, 0.0, float(i)], group_id=i)
        for i in range(9)
    ]
    batches = list(ppo.epochs(sequences, 3))
    passes = [batches[start : start + 3] for start in (0, 3, 6)]
    members = [[sorted({int(i) for i in b.group_id[b.loss_mask != 0]}) for b in part] for part in passes]
    assert all(sorted(i for batch in part for i in batch) == list(range(9)) for part in members)
    assert len({str(sorted(part)) for part in members}) == 3, "each pass is shuffled anew"
    for part in passes:
        for batch in part:
            own = batch.loss_mask != 0
            assert batch.old_logprobs is not None and batch.advantages is not None
            torch.testing.assert_close(batch.old_logprobs[own], ppo.learner.logprobs(batch)[own])
            assert batch.advantages[own].tolist() == batch.group_id[own].tolist()


def test_the_prompt_of_a_cut_continues_the_policys_own_tokens() -> None:
    """A model that thinks reads its thoughts, which the chat template would drop."""
    ppo: PPO = make("ppo")
    cut = episode("t", [0.0, 0.0], cut=True)
    cut.turns[-1] = replace(cut.turns[-1], prompt_ids=[5, 6, 7, 8], output_ids=[9, 1])
    rendered = ppo.left_in(cut, 3)
    assert rendered is not None and list(rendered.ids[:3]) != [5, 6, 7]
    ppo.resources = replace(ppo.resources, prompts=ChatPrompts("first"))
    left = ppo.left_in(cut, 3)
    assert left is not None and list(left.ids[:6]) == [5, 6, 7, 8, 9, 1] and len(left.ids) > 7
    full = replace(cut.turns[-1], text="", finish="context_overflow", output_ids=[], observation="")
    cut.turns.append(full)
    assert ppo.left_in(cut, 3) == left, "a turn that did not fit was not played"


# --- GRPO, RFT ----------------------------------------------------------------------------------------


def test_grpo_compares_within_a_task_and_spends_nothing_on_equal_returns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    grpo: GRPO = make("grpo")
    seen: list[TokenSequence] = []

    def record(sequences: list[TokenSequence], epoch: int = 0) -> list[Any]:
        seen.extend(sequences)
        return []

    monkeypatch.setattr(grpo, "mini_batches", record)
    metrics = grpo.learn(
        [episode("a", [1.0]), episode("a", [0.0, 0.0]), episode("b", [1.0]), episode("b", [1.0]),
         episode("c", [1.0])],
        None,
    )  # fmt: skip
    # mean 0.5, sample deviation 0.7071: ± 0.7071 for every token; the singleton keeps no raw reward
    assert [round(s.advantages[-1], 4) for s in seen if s.advantages] == [0.7071, -0.7071, -0.7071]
    assert metrics["gradient_steps"] == 0 and metrics["informative"] == pytest.approx(0.4)
    assert metrics["mean_return"] == pytest.approx(0.8)
    seen.clear()
    metrics = grpo.learn([episode("a", [x]) for x in (0.0, 0.5, 1.0)], None)
    assert [round(s.advantages[-1], 4) for s in seen if s.advantages] == [-1, 0, 1]
    assert metrics["informative"] == 1, "the middle one counts among its group's tokens"


def test_grpo_refuses_a_group_of_one() -> None:
    with pytest.raises(NlacBenchError, match="rollouts_per_task must be at least 2, got 1"):
        BUILT_IN["grpo"].config({"rollouts_per_task": 1})
    with pytest.raises(NlacBenchError, match="multiple of"):
        BUILT_IN["grpo"].config({"rollouts_per_task": 5})


@pytest.mark.parametrize("aggregation", ["episode", "token"])
def test_grpo_averages_over_episodes_or_over_tokens(aggregation: str) -> None:
    """Advantages ±0.7071 on 1 token and on 2 + 3 tokens, ratios 1: −0.7071 + 0.7071 over 2 episodes, or
    −0.7071 · (1 − 5) over 6 tokens."""
    grpo: GRPO = make("grpo", loss_aggregation=aggregation, kl_coef=0.0, kl_probe=False)
    metrics = grpo.learn([episode("a", [1.0], [1]), episode("a", [0.0, 0.0], [2, 3])], None)
    expected = {"episode": 0.0, "token": math.sqrt(0.5) * 4 / 6}[aggregation]
    assert metrics["policy_loss"] == pytest.approx(expected, abs=1e-5)


def test_grpo_takes_one_step_for_each_batch_unless_told_otherwise() -> None:
    played = [episode("a", [float(i % 2)] * 2) for i in range(20)]
    assert make("grpo").learn(played, None)["gradient_steps"] == 1
    assert make("grpo", mini_batch_size=10).learn(played, None)["gradient_steps"] == 4
    assert make("grpo", num_epochs=3).learn(played, None)["gradient_steps"] == 3
    tiny = tiny_defaults("grpo")
    assert "mini_batch_size" not in tiny and "lr" in tiny
    assert tiny_defaults("rft")["mini_batch_size"] == 32


@pytest.mark.parametrize(("high", "clipped"), [(None, 1.0), (0.5, 0.0)])
def test_grpo_has_an_upper_bound_of_its_own(high: float | None, clipped: float) -> None:
    """Ratio 1.3 with a positive advantage; with a negative one the lower bound holds."""
    grpo: GRPO = make("grpo", clip_ratio=0.2, clip_ratio_high=high, kl_coef=0.0, kl_probe=False)
    for advantage, ratio, share in ((1.0, 1.3, clipped), (-1.0, 1.3, 0.0), (-1.0, 0.7, 1.0)):
        now = grpo.learner.text_logprobs([5, 6, 7], 2)[0]
        batch = pack(
            [TokenSequence([5, 6, 7], [0.0, 0.0, 1.0], advantages=[0.0, 0.0, advantage],
                           old_logprobs=[0.0, 0.0, now - math.log(ratio)])], 8,
        )  # fmt: skip
        metrics = grpo.learner.forward_backward(batch, grpo.loss(batch))
        assert metrics["clipped"] == share
        bound = {(1.0, None): 1.2, (1.0, 0.5): 1.3}.get((advantage, high), max(ratio, 0.8))
        assert metrics["policy_loss"] == pytest.approx(-advantage * bound, rel=1e-4)


def test_rft_learns_equal_solutions_once() -> None:
    same, other_task = [episode("a", [1.0]) for _ in range(3)], episode("b", [1.0])
    other = episode("a", [1.0])
    other.turns[0] = replace(other.turns[0], text="red-1")
    played = [*same, other_task, other]
    for distinct, turns in ((True, 3), (False, 5)):
        rft: RFT = make("rft", mini_batch_size=1, distinct=distinct)
        metrics = rft.learn(played, None)
        assert metrics["gradient_steps"] == turns and metrics["accepted"] == 1.0


def test_rft_learns_only_what_succeeded() -> None:
    rft: RFT = make("rft", mini_batch_size=1)
    won, lost = episode("a", [0.0, 1.0]), episode("b", [0.0])
    assert rft.learn([lost], None) == {"gradient_steps": 0.0, "accepted": 0.0}
    before = rft.learner.text_logprobs([5, 6, 7, 8, 8], 3)
    metrics = rft.learn([won, lost], max_steps=5)
    assert metrics["gradient_steps"] == 2 and metrics["accepted"] == 0.5
    assert sum(rft.learner.text_logprobs([5, 6, 7, 8, 8], 3)) > sum(before)


def test_rft_imitates_recorded_successes() -> None:
    rft: RFT = make("rft", mini_batch_size=1, test_freq=2)
    won, lost = episode("a", [0.0, 0.0, 1.0]), episode("b", [0.0])
    assert rft.remember([won, won, lost]) == 3, "equal successes of a task are learned once"
    sequence = rft.encoder.acted(rft.recorded[0].state, rft.recorded[0].action, "policy")
    assert sequence is not None
    start, ids = sequence.loss_mask.index(1.0), sequence.ids
    before = rft.learner.text_logprobs(ids, start)
    assert asyncio.run(rft.update([]))["gradient_steps"] == 2, "an iteration ends at the next validation"
    assert asyncio.run(rft.update([]))["gradient_steps"] == 1, "the pass is ended"
    assert asyncio.run(rft.update([], 1))["gradient_steps"] == 1, "a budget is not exceeded"
    assert sum(rft.learner.text_logprobs(ids, start)) > sum(before)


def test_rft_continues_its_pass_over_recorded_steps_after_a_resume(tmp_path: Path) -> None:
    won = episode("a", [0.0, 0.0, 0.0, 1.0])

    def learned(rft: RFT) -> list[int]:
        """Return the numbers of the steps that one update learns."""
        acted, found = rft.encoder.acted, list[int]()

        def spy(state: Any, *others: Any, **named: Any) -> Any:
            found.append(next(t.step for t in rft.recorded if t.state is state))
            return acted(state, *others, **named)

        rft.encoder.acted = spy  # type: ignore[method-assign]
        asyncio.run(rft.update([]))
        return found

    first, resumed = (make("rft", mini_batch_size=1, test_freq=3) for _ in range(2))
    assert first.remember([won]) == resumed.remember([won]) == 4
    before = learned(first)
    resumed.load(tmp_path, first.save(tmp_path))
    assert len(before) == 3 and sorted(before + learned(resumed)) == [0, 1, 2, 3]


def test_early_experience_keeps_no_recorded_episodes() -> None:
    with pytest.raises(NlacBenchError, match="on policy"):
        make("early_experience").remember([episode("a", [1.0])])


@pytest.mark.parametrize("name", ["rft", "nlac", "sac"])
def test_without_kl_no_initial_weights_are_kept(name: str) -> None:
    algorithm = make(name, kl_probe=False)
    sequence = TokenSequence([5, 6, 7, 8], [0.0, 0.0, 1.0, 1.0])
    algorithm.learned = [sequence]
    assert algorithm.learner.reference is None
    assert "kl_to_start" not in asyncio.run(algorithm.probe([episode("a", [1.0])][: name == "rft"], False))
    with pytest.raises(ValueError, match="reference=True"):
        algorithm.learner.reference_kl(pack([sequence], 8))
    assert make(name, kl_probe=False, kl_coef=0.1).learner.reference is not None


def test_on_policy_algorithms_say_that_they_need_episodes() -> None:
    with pytest.raises(NlacBenchError, match="on policy"):
        asyncio.run(make("rft").update([]))


# --- SAC ----------------------------------------------------------------------------------------------


def test_first_and_last_tokens_of_packed_actions() -> None:
    batch = pack(
        [TokenSequence([1, 2, 3], [0, 1, 1]), TokenSequence([4, 5], [0, 1]), TokenSequence([6, 7], [0, 0])], 8
    )
    assert batch.ids[last_tokens(batch)].tolist() == [3, 5]
    assert batch.ids[first_tokens(batch)].tolist() == [2, 5]


def sac_lesson(sac: SAC, terminated: bool, reward: float, following: Sample | None) -> SacLesson:
    (t,) = sac.transitions(episode("t", [reward]))
    after = t.state.after("red-0", "right", "message")
    t = replace(t, terminated=terminated, next_state=None if terminated else after)
    return SacLesson(t, 1.0, sac.speaking.speaker("x"), following=following)


def test_sac_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    sac: SAC = make("sac", gamma=0.9, alpha=0.1)
    heads = ({1: 0.8}, {1: 0.5})
    monkeypatch.setattr(sac, "q_values", lambda sequences: heads)
    following = Sample("red-1", "stop", ids=[9, 1], logprobs=[-1.0, -2.0])
    ended = sac_lesson(sac, True, 1.0, None)
    going = sac_lesson(sac, False, 0.25, following)
    too_long = sac_lesson(sac, False, 0.0, None)
    found = sac.targets([ended, going, too_long])
    # y = 0.25 + 0.9 (min(0.8, 0.5) + 0.1 · 3); what is too long has no target
    assert found == {0: pytest.approx(1.0), 1: pytest.approx(0.25 + 0.9 * 0.8)}


def test_sac_values_the_tokens_that_were_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the sampled text identifiers are numbers, which the environment's text does not contain."""
    sac: SAC = make("sac")
    lesson = sac_lesson(sac, False, 0.0, Sample("~0", "stop", ids=[9, 1], logprobs=[-1.0, -2.0]))
    after = lesson.transition.state.after("red-0", "Your order is #W1234567.", "message")
    lesson.transition = replace(lesson.transition, next_state=after)
    valued: list[TokenSequence] = []

    def values(sequences: Sequence[TokenSequence]) -> tuple[dict[int, float], dict[int, float]]:
        valued.extend(sequences)
        return {0: 0.5}, {0: 0.5}

    monkeypatch.setattr(sac, "q_values", values)
    assert list(sac.targets([lesson])) == [0]
    assert "#W1234567" in CompactPrompts().policy(after).codec.decode("~0")
    assert [list(s.ids[-2:]) for s in valued] == [[9, 1]]


def test_sac_may_train_its_critic_alone_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    sac: SAC = make("sac", critic_warmup=2)
    distilled: list[int] = []

    def improved(lessons: Sequence[SacLesson]) -> list[TokenSequence]:
        distilled.append(sac.learner.step)
        return []

    monkeypatch.setattr(sac, "improved", improved)
    lesson = sac_lesson(sac, True, 1.0, None)
    sac.replay.add([lesson.transition])
    for _ in range(4):
        assert sac.step([lesson]) is not None
    assert distilled == [2, 3]


def test_sac_evaluates_the_policy_that_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply that cannot be parsed is played, so its value belongs to the target; it is not distilled."""
    sac: SAC = make("sac")
    lesson = sac_lesson(sac, False, 0.0, None)

    async def unparseable(*_: Any, **__: Any) -> list[Sample]:
        return [Sample("", "length", ids=[9, 9], logprobs=[-1.0, -1.0])]

    monkeypatch.setattr(lesson.speaker, "_ask", unparseable)
    asyncio.run(sac.sample_actions(lesson))
    assert lesson.following is not None and lesson.candidates == []
    assert list(sac.targets([lesson])) == [0]


def test_sac_distils_the_candidate_of_the_highest_smaller_q(monkeypatch: pytest.MonkeyPatch) -> None:
    sac: SAC = make("sac")
    monkeypatch.setattr(sac, "q_values", lambda sequences: ({0: 0.9, 1: 0.5}, {0: 0.1, 1: 0.4}))
    lesson = sac_lesson(sac, True, 1.0, None)
    lesson.candidates = [Action(f"red-{i}", Sample(f"red-{i}", "stop", ids=[9 + i, 1])) for i in range(2)]
    (chosen,) = sac.improved([lesson])
    assert (chosen.group_id, chosen.loss) == (0, "policy") and list(chosen.ids[-2:]) == [10, 1]
    assert lesson.proposed is not None and lesson.proposed.text == "red-1"


def test_sacs_actor_is_the_policy_that_its_targets_evaluate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Softmax of min Q = 0.1 and 0.4 by α; candidates of 2 and 3 tokens."""
    shares: dict[float, list[float]] = {}
    for alpha in (1e-4, 0.3, 1e4):
        sac: SAC = make("sac", alpha=alpha, actor="softmax")
        monkeypatch.setattr(sac, "q_values", lambda sequences: ({0: 0.9, 1: 0.5}, {0: 0.1, 1: 0.4}))
        lesson = sac_lesson(sac, True, 1.0, None)
        lesson.candidates = [
            Action(text, Sample(text, "stop", ids=ids))
            for text, ids in (("red-0", [9, 1]), ("red-1", [10, 10, 1]))
        ]
        monkeypatch.setattr(sac.encoder, "_answer_ids", lambda prompt, action: list(action.sample.ids))
        chosen = sac.improved([lesson])
        assert lesson.proposed is not None and lesson.proposed.text == "red-1"
        shares[alpha] = [s.weight for s in chosen]
        loss = q_loss(sac.config, [], learned_tokens(chosen, weighted=True), {}, torch.zeros(1))
        found = sac.learner.forward_backward(pack(chosen, 64), loss)["l2"]
        nll = [-sum(sac.learner.text_logprobs(s.ids, int(len(s.ids) - sum(s.loss_mask)))) for s in chosen]
        length = sum(s.weight * sum(s.loss_mask) for s in chosen)
        assert found == pytest.approx(sum(s.weight * n for s, n in zip(chosen, nll, strict=True)) / length)
    first = 1 / (1 + math.exp(0.3 / 0.3))
    assert shares[0.3] == pytest.approx([first, 1 - first])
    assert shares[1e-4] == [1.0], "the limit is the best candidate"
    assert shares[1e4] == pytest.approx([0.5, 0.5], abs=1e-4)


def test_sacs_average_has_moved_after_forty_steps() -> None:
    """``--model tiny`` keeps the method's own rate."""
    tau = getattr(BUILT_IN["sac"].config({}), "ema_tau")  # noqa: B009
    assert 1 - (1 - tau) ** 40 > 0.95
    tiny = tiny_defaults("sac")
    assert "ema_tau" not in tiny
    assert tiny_defaults("nlac")["ema_tau"] == 0.05


def test_sac_weighs_what_was_played_and_keeps_its_tokens() -> None:
    """Two actions with y = 1 and 0, weights 0.25 and 1, Q = 0: (0.25 · 2 · 1/2 + 0) / 2 = 0.125."""
    sac: SAC = make("sac")
    lessons = [replace(sac_lesson(sac, True, 1.0 - i, None), weight=(0.25, 1.0)[i]) for i in range(2)]
    played = [sac.encoder.played(lesson, i) for i, lesson in enumerate(lessons)]
    assert [(list(s.ids), s.weight) for s in played if s] == [([5, 6, 7, 8, 8], 0.25), ([5, 6, 7, 8, 8], 1.0)]
    for name, parameter in sac.learner.model.heads.named_parameters():
        if name.startswith("q"):
            parameter.data.zero_()
    loss = q_loss(sac.config, [s for s in played if s], 1.0, sac.targets(lessons), torch.zeros(2))
    found = sac.learner.forward_backward(pack([s for s in played if s], 64), loss)
    assert found["q_loss"] == pytest.approx(0.125)


def test_sac_draws_by_the_size_of_its_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Q = 0.5 and -0.5 for y = 1 and 0: |δ| = (0.5 + 1.5) / 2 and 0.5, not the halves of the squares."""
    sac: SAC = make("sac", mini_batch_size=4, lr=1e-9)
    lessons = [replace(sac_lesson(sac, True, 1.0 - i, None), index=i) for i in range(2)]
    sac.replay.add([lesson.transition for lesson in lessons])
    for name, parameter in sac.learner.model.heads.named_parameters():
        parameter.data.fill_(0.0 if name.endswith("weight") else 0.5 if name.startswith("q1") else -0.5)
    sac.steps(lessons, sac.step)
    assert sac.replay.losses == pytest.approx([1.0, 0.5])


@pytest.mark.parametrize("settings", [{}, {"num_candidates": 3}])
def test_methods_that_choose_have_as_many_candidates(settings: dict[str, Any]) -> None:
    for name in ("sac", "nlql", "nlrl"):
        assert getattr(BUILT_IN[name].config(settings), "num_candidates") == settings.get("num_candidates", 4)  # noqa: B009
    sac: SAC = make("sac", **settings)
    lesson = sac_lesson(sac, True, 1.0, None)

    async def act(state: Any) -> Action:
        return Action("red-0", Sample("red-0", "stop", ids=[9, 1]))

    lesson.speaker.act = act  # type: ignore[method-assign, assignment]
    asyncio.run(sac.sample_actions(lesson))
    assert len(lesson.candidates) == settings.get("num_candidates", 4)


def test_sac_refuses_a_prompt_that_neither_loss_can_use() -> None:
    sac: SAC = make("sac", max_prompt_length=2)
    assert sac.remember([episode("t", [1.0])]) == 0 and sac.encoder.too_long == 1
    metrics = asyncio.run(sac.update([episode("t", [1.0])]))
    assert metrics["too_long"] == 2 and metrics["gradient_steps"] == 0 == metrics["buffer_size"]


# --- the moving average -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "settings", "ema", "slots"),
    [
        ("nlac", {}, True, ("policy", "target")),
        ("nlac", {"critic_coef": 0}, True, ("policy", "target")),
        ("nlac", {"critic_coef": 0, "priority_alpha": 0}, False, ("policy",)),
        ("nlql", {}, True, ("policy", "target")),
        ("self_distillation", {}, False, ("policy",)),
        ("self_distillation", {"critic_coef": 1}, True, ("policy", "target")),
        ("sac", {}, True, ("policy",)),
        ("sac", {"critic_coef": 0, "priority_alpha": 0}, True, ("policy",)),
        ("nlrl", {}, False, ("policy",)),
        ("ppo", {}, False, ("policy",)),
        ("drlc", {"verdict_coef": 0}, False, ("policy",)),
    ],
)
def test_a_moving_average_is_kept_and_synced_only_where_it_is_used(
    name: str, settings: dict[str, Any], ema: bool, slots: tuple[str, ...]
) -> None:
    method = BUILT_IN[name]
    config = method.config(settings)
    assert bool(method.learner_options(config).get("ema")) == ema and method.slots(config) == slots
    algorithm = make(name, **settings)
    assert (algorithm.learner.ema is not None) == ema
    synced: list[str] = []
    algorithm.resources.engine.sync = lambda source, version, slot: synced.append(slot)
    algorithm.sync()
    assert tuple(synced) == slots
    if name in ("sac", "nlrl", "self_distillation"):
        algorithm.descend([TokenSequence([5, 6, 7], [0.0, 0.0, 1.0], loss="policy")], *_l2(algorithm))


def _l2(algorithm: Any) -> tuple[Any, torch.Tensor]:
    return lambda outputs, batch: distillation(algorithm.config, outputs, batch, 1.0), torch.zeros(1)


def test_twin_q_heads_stay_two() -> None:
    sac: SAC = make("sac", mini_batch_size=4)
    lessons = [replace(sac_lesson(sac, True, float(i % 2), None), index=i) for i in range(4)]
    sac.replay.add([lesson.transition for lesson in lessons])
    for _ in range(5):
        sac.steps(lessons, sac.step)
    q1, q2 = (sac.learner.model.heads[name].get_parameter("weight") for name in ("q1", "q2"))
    assert not torch.equal(q1, q2)


# --- the ablations ------------------------------------------------------------------------------------


def test_nlql_prefers_the_verdict_then_the_outcome_then_the_first() -> None:
    nlql: NLQL = make("nlql")
    lesson = Lesson(nlql.transitions(episode("t", [1.0]))[0], 1.0, nlql.speaking.speaker("x"))
    yes, no = Critique(True, "optimal: yes"), Critique(False, "optimal: no")
    worths = [
        nlql.worth(replace(lesson, critique=critique, future=f"next: x; end: {end}"))
        for critique, end in ((no, "failure"), (no, "success"), (yes, "failure"), (yes, "success"))
    ]
    assert worths == sorted(worths) and len(set(worths)) == 4


def test_self_distillation_reads_what_really_happened() -> None:
    algorithm: SelfDistillation = make("self_distillation")
    played = episode("t", [0.0, 0.0, 1.0])
    algorithm.remember([played])
    assert [t.notes["real"] for t in algorithm.replay.items] == [
        "next: right; then: right; end: success",
        "next: right; then: right; end: success",
        "next: right; end: success",
    ]
    drawn = algorithm.lessons(algorithm.replay.newest(2))
    assert [(x.index, x.weight) for x in sorted(drawn, key=lambda x: x.index)] == [(1, 1.0), (2, 1.0)]
    lesson = Lesson(algorithm.replay.items[2], 1.0, algorithm.speaking.speaker("x"))
    assert asyncio.run(algorithm.real_future(lesson)) == ["next: right; end: success"]


def test_self_distillation_reads_a_fixed_state_alike_in_a_resumed_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Reasons that an earlier validation noted would be those of other weights."""
    algorithm: Any = make("self_distillation")
    algorithm.speaking.prompts = CompactPrompts(explains=True)
    state, asked = algorithm.transitions(episode("t", [0.0, 1.0]))[0], []

    async def reasons(speaker: Any, *_: Any) -> str:
        asked.append(speaker._seed)
        return ""

    monkeypatch.setattr(Speaker, "reasons", reasons)
    for algorithm.replay.iteration in range(2):
        asyncio.run(algorithm.read_all([state], "probe set"))
    assert len(asked) == 2 and asked[0] == asked[1]


def test_states_of_one_episode_that_are_read_at_the_same_time_have_the_reasons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    algorithm: Any = make("self_distillation")
    algorithm.speaking.prompts, algorithm.speaking.concurrency = CompactPrompts(explains=True), 8
    states = algorithm.transitions(episode("t", [0.0, 0.0, 1.0]))

    async def reasons(speaker: Any, *_: Any) -> str:
        for _turn in range(speaker._seed % 5):  # in any order
            await asyncio.sleep(0)
        return "by: luck; right: skill; end: success"

    monkeypatch.setattr(Speaker, "reasons", reasons)
    lessons = asyncio.run(algorithm.read_all(states, "probe set"))
    assert [lesson.future for lesson in lessons] == ["by: luck; right: skill; end: success"] * 3


def test_nlrl_learns_values_of_three_iterations() -> None:
    nlrl: Any = make("nlrl", transitions_per_iteration=1)
    for iteration in range(5):
        nlrl.replay.iteration = iteration
        nlrl.remember([episode("t", [1.0])])
        nlrl.replay.items[-1].notes["target"] = f"next: right; end: success {iteration}"
    assert nlrl.replay.since(2) == [2, 3, 4]
    with pytest.raises(NlacBenchError, match="on policy"):
        asyncio.run(nlrl.update([]))


def test_nlrl_asks_for_a_choice_only_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    nlrl: Any = make("nlrl")
    nlrl.remember([episode("t", [1.0])])
    offered: list[list[str]] = []

    async def futures(state: Any, text: str) -> list[Future]:
        return [Future(f"next: {text}; end: success")]

    async def pick(state: Any, candidates: Sequence[tuple[str, str]]) -> int:
        offered.append([action for action, _ in candidates])
        return len(candidates) - 1

    def chosen(*drawn: str) -> tuple[str | None, str]:
        monkeypatch.setattr(nlrl, "config", nlrl.config.changed(num_candidates=len(drawn)))
        lesson, texts = Lesson(nlrl.replay.items[0], 1.0, nlrl.speaking.speaker("x")), iter(drawn)

        async def act(state: Any) -> Action:
            return Action(next(texts), Sample("", "stop"))

        for function in (act, futures, pick):
            monkeypatch.setattr(lesson.speaker, function.__name__, function)
        asyncio.run(nlrl.choose(lesson))
        assert lesson.proposed is not None
        return lesson.first, lesson.proposed.text

    assert chosen("left", "left") == ("left", "left") and offered == []
    assert chosen("left", "right") == ("left", "right") and offered == [["left", "right"]]
    # Equal actions are counted: the most frequent one is read first, and of equally frequent ones the first.
    assert chosen("left", "right", "up", "right") == ("left", "up")
    assert offered[1:] == [["right", "left", "up"]]


def test_nlrl_aggregates_as_many_futures_as_the_embedded_models_were_taught() -> None:
    (t,) = make("nlrl").transitions(episode("t", [1.0]))
    taught = aggregator_row(t.state, [t.action], ["next: right"], random.Random(0))
    assert taught.prompt.count(FUTURE) == tiny_defaults("nlrl")["num_futures"]
    assert NlrlConfig().num_futures == 4, "of other models"


def test_nlrl_values_candidates_after_the_value_role_has_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    nlrl: Any = make("nlrl", num_futures=1, num_candidates=1)
    order: list[str] = []

    async def evaluate(lesson: Lesson) -> None:
        order.append("evaluate")
        lesson.target = "next: right; end: success"

    async def choose(lesson: Lesson) -> None:
        order.append("choose")
        lesson.proposed = Action("red-0", Sample("red-0", "stop", ids=[9, 1]))

    step, push = nlrl.learner.optim_step, nlrl.sync

    def optim_step() -> Any:
        order.append("step")
        return step()

    def sync() -> None:
        order.append("sync")
        push()

    monkeypatch.setattr(nlrl, "evaluate", evaluate)
    monkeypatch.setattr(nlrl, "choose", choose)
    monkeypatch.setattr(nlrl.learner, "optim_step", optim_step)
    monkeypatch.setattr(nlrl, "sync", sync)
    metrics = asyncio.run(nlrl.update([episode("t", [1.0])]))
    assert order == ["evaluate", "step", "sync", "choose", "step", "sync"]
    assert metrics["gradient_steps"] == 2 and metrics["l1"] > 0 and metrics["l2"] > 0
    order.clear()
    metrics = asyncio.run(nlrl.update([episode("t", [1.0])], max_steps=1))
    assert metrics["gradient_steps"] == 1 and order.count("step") == 1 and metrics["l2"] > 0


@pytest.mark.parametrize("end", ["success", "failure", "cut"])
def test_nlrl_reads_the_episodes_own_rest_and_no_cut(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two continuations one is the episode's own unless it was cut; one that is cut has no outcome."""
    nlrl: Any = make("nlrl", num_futures=2)
    nlrl.remember([episode("red-0", [0.0, float(end == "success")], cut=end == "cut")])
    read: list[list[str]] = []
    last = replace(nlrl.replay.items[-1], terminated=True)
    outcomes = iter([Playout(["wrong"], True, 1.0, last), Playout(["wrong"], False, 0.0, None)])

    async def aggregate(state: Any, action: str, futures: Sequence[str]) -> str:
        read.append(list(futures))
        return futures[0]

    async def play_on(*_: Any) -> Playout:
        return next(outcomes)

    monkeypatch.setattr(Resources, "play_on", play_on)
    lesson = Lesson(nlrl.replay.items[0], 1.0, nlrl.speaking.speaker("x"))
    monkeypatch.setattr(lesson.speaker, "aggregate", aggregate)
    asyncio.run(nlrl.evaluate(lesson))
    own = [f"next: right; then: right; end: {end}"] if end != "cut" else []
    assert read == [[*own, "next: wrong; end: success"]]
    assert next(outcomes, None) is None or own, "one is played, or two"


@pytest.mark.parametrize("turns", [1, 3])
def test_nlrl_is_charged_for_every_step_that_it_plays(turns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"num_futures": 3, "transitions_per_iteration": 8, "num_candidates": 1, "max_response_length": 3}
    nlrl: Any = make("nlrl", **few)
    steps, step = 0, CountDown.astep

    async def counted(env: Any, action: str) -> Any:
        nonlocal steps
        steps += 1
        return await step(env, action)

    monkeypatch.setattr(CountDown, "astep", counted)
    agent = replace(nlrl.resources.agent, sampling=Sampling(max_tokens=3))
    nlrl.resources = replace(nlrl.resources, make_env=CountDown, agent=agent)
    env, task = CountDown(), str(turns + 1)
    observation, _ = env.reset(seed=0, options={"task_id": task})
    played = Episode("count_down", task, 0, 0, observation, terminated=True, success=True)
    for number in range(turns, 0, -1):
        observation, reward, *_, info = env.step(str(number))
        played.turns.append(Turn(str(number), observation, reward=reward, info=info))
    steps = 0
    with spending_on("probe"):
        asyncio.run(nlrl.resources.reached(nlrl.transitions(played)[-1]))
    assert nlrl.resources.steps.taken() == 0, "the steps of probes are not those of the training"
    steps = 0
    asyncio.run(nlrl.update([played]))
    assert steps and nlrl.resources.steps.taken() == steps
