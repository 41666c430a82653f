"""The controls of NLAC: what must be right in each, on figures worked by hand, and their known results."""

import asyncio
import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import torch

from nlac_bench.agents.nlac.lesson import Encoder
from nlac_bench.agents.roles.chat import ChatPrompts
from nlac_bench.agents.roles.compact import CompactPrompts
from nlac_bench.agents.roles.role_prompts import Critique, Prompt
from nlac_bench.agents.roles.speaker import Action, Future, Speaker
from nlac_bench.agents.roles.transition import State
from nlac_bench.baselines.critique_rl import Trial
from nlac_bench.baselines.drlc import DRLC
from nlac_bench.learner import checkpoint
from nlac_bench.learner.batch import TokenSequence
from nlac_bench.rollout.engines.engine import Sample
from nlac_bench.rollout.engines.forms import Filled
from nlac_bench.types import Episode
from tests.baselines import signal_env
from tests.baselines.signal_env import BUTTONS
from tests.baselines.test_parts import episode, make


def judging(monkeypatch: pytest.MonkeyPatch, verdicts: Sequence[bool | None]) -> None:
    """Let the critic call the next actions optimal or not, in the order in which it is asked; None cannot be
    parsed."""
    left = iter(verdicts)

    async def futures(*_: Any) -> list[Future]:
        return [Future("next: right; end: success")]

    async def critique(*_: Any) -> Critique | None:
        verdict = next(left)
        return None if verdict is None else Critique(verdict, "optimal: yes" if verdict else "optimal: no")

    monkeypatch.setattr(Speaker, "futures", futures)
    monkeypatch.setattr(Speaker, "critique", critique)


def weights(algorithm: Any) -> torch.Tensor:
    return torch.cat([tensor.flatten() for _, tensor in algorithm.learner.named_tensors()])


# --- DRLC ---------------------------------------------------------------------------------------------


def test_drlc_without_verdicts_is_ppo_to_the_bit() -> None:
    played = [episode("a", [0.0, 1.0]), episode("b", [0.0], cut=True), episode("c", [0.0])]
    pair = [make("ppo", mini_batch_size=2), make("drlc", mini_batch_size=2, verdict_coef=0)]
    metrics = [asyncio.run(algorithm.update(played)) for algorithm in pair]
    assert metrics[0] == metrics[1] and metrics[0]["gradient_steps"] == 4
    assert torch.equal(*map(weights, pair))


def test_drlc_adds_the_verdicts_that_follow_to_an_advantage(monkeypatch: pytest.MonkeyPatch) -> None:
    """With γ = λ = 1, a turn's advantage is PPO's plus the sum of its and the later verdicts. The turn that
    did not fit into the context was not judged, and a critique that cannot be parsed is no reward."""
    judging(monkeypatch, [True, False, False, None, True])
    played = [episode("a", [0.0, 0.0, 1.0]), episode("b", [0.0, 0.0, 0.0], cut=True)]
    played[1].turns[-1] = replace(played[1].turns[-1], finish="context_overflow", output_ids=[])
    ppo, drlc = make("ppo"), make("drlc", verdict_coef=0.5)
    asyncio.run(drlc.prepare(played))
    assert drlc.rewards(played[0]) == [0.5, -0.5, 0.5] and drlc.rewards(played[1]) == [0.0, 0.5, 0.0]
    found: list[list[float]] = []
    for algorithm in (ppo, drlc):
        monkeypatch.setattr(algorithm, "_whitened", lambda sequences: sequences)
        found.append([s.advantages[-1] for s in algorithm.advantages(played)])
    added = [one - other for one, other in zip(found[1], found[0], strict=True)]
    assert added == pytest.approx([-0.5, -1.0, -0.5, 0.5, 0.5], abs=1e-6)
    assert drlc.learn(played, 1)["share_optimal"] == 0.5


@pytest.mark.parametrize("optimal", [True, False])
def test_a_critic_that_always_says_the_same_is_no_reward(
    monkeypatch: pytest.MonkeyPatch, optimal: bool
) -> None:
    """Neither longer nor shorter episodes pay; of other verdicts, what differs from the mean counts."""
    played = [episode("a", [0.0, 0.0, 1.0]), episode("b", [0.0])]
    drlc: DRLC = make("drlc", verdict_coef=0.8)
    judging(monkeypatch, [optimal] * 4)
    asyncio.run(drlc.prepare(played))
    assert [drlc.rewards(e) for e in played] == [[0.0, 0.0, 1.0], [0.0]]
    assert drlc.learn(played, 1)["share_optimal"] == optimal
    judging(monkeypatch, [optimal, optimal, optimal, not optimal])
    asyncio.run(drlc.prepare(played))
    sign = 1 if optimal else -1
    assert [r for e in played for r in drlc.rewards(e)] == pytest.approx(
        [0.4 * sign, 0.4 * sign, 1 + 0.4 * sign, -1.2 * sign]
    )


def test_drlcs_shuffled_verdicts_are_those_of_other_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """All turns of half of the episodes are optimal; the verdicts of neighbours would be the right ones."""
    played = [episode(f"{i:02}", [0.0] * 4) for i in range(16)]
    right = [i < 8 for i in range(16) for _ in range(4)]
    found = []
    for shuffled in (False, True):
        judging(monkeypatch, right)
        drlc: DRLC = make("drlc", verdict_coef=1, shuffle_critiques=shuffled)
        asyncio.run(drlc.prepare(played))
        found.append([reward > 0 for e in played for reward in drlc.rewards(e)])
    assert found[0] == right and sum(found[1]) == sum(right)
    assert 16 < sum(one == other for one, other in zip(found[1], right, strict=True)) < 48


def test_drlcs_critic_is_the_initial_model_also_after_a_resume(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is copied to the engine once; later only the policy is."""
    warm = signal_env.shared_warm_start(tmp_path_factory)
    monkeypatch.setattr(signal_env, "random_model", lambda: copy.deepcopy(warm))
    played = [episode(f"{i}", [0.0, float(i % 2)]) for i in range(4)]

    def judged(drlc: DRLC) -> list[tuple[str | None, Critique | None]]:
        drlc.version = 1  # the seeds depend on it
        asyncio.run(drlc.prepare(played))
        return [(x.future, x.critique) for lessons in drlc.judged.values() for x in lessons]

    drlc: DRLC = make("drlc", lr=0.05)
    drlc.sync()
    before, first = weights(drlc), judged(drlc)
    assert all(critique is not None for _, critique in first)
    asyncio.run(drlc.update(played))
    after = weights(drlc)
    assert not torch.equal(before, after) and judged(drlc) == first
    checkpoint.save(drlc.learner, tmp_path / "last", drlc.save)
    resumed: DRLC = make("drlc", lr=0.05)
    resumed.load(tmp_path / "last", checkpoint.load(resumed.learner, tmp_path / "last"))
    assert torch.equal(weights(resumed), after) and judged(resumed) == first
    synced: list[str] = []
    monkeypatch.setattr(resumed.resources.engine, "sync", lambda source, version, slot: synced.append(slot))
    resumed.sync()
    assert synced == ["policy"]


# --- NLAC with backup=monte_carlo ---------------------------------------------------------------------


def test_monte_carlo_targets_are_the_rest_of_the_episode(tmp_path: Path) -> None:
    """They need no averaged weights, outlast what a draw stores with a transition, and a resume."""
    nlac = make("nlac", backup="monte_carlo")
    assert nlac.learner.ema is None and nlac.resources.slots == ("policy",)
    assert nlac.remember([episode("a", [0.0, 0.0, 1.0]), episode("b", [0.0, 0.0], cut=True)]) == 5
    for _ in range(2):
        lessons = nlac.lessons(range(5))
        for lesson in lessons:
            asyncio.run(nlac.back_up(lesson))
            lesson.future = "next: wrong; end: failure"  # what the successor predicted
            lesson.keep()
        assert [lesson.target for lesson in lessons] == [
            "next: right; then: right; end: success", "next: right; then: right; end: success",
            "next: right; end: success", None, None,
        ]  # fmt: skip
        nlac.load(tmp_path, nlac.save(tmp_path))
        items = nlac.replay.items
        assert all(t.end is end for t, end in zip(items, [items[2]] * 2 + [None] * 3, strict=True))
    bellman = make("nlac")
    assert bellman.learner.ema is not None and bellman.remember([episode("a", [0.0, 1.0])]) == 2
    lesson = bellman.lessons([1])[0]
    asyncio.run(bellman.back_up(lesson))
    assert lesson.target == "next: right; end: success", "at the end, both targets are the outcome"


# --- Early Experience ---------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{"num_alternatives": 0}, {"world_model_share": 0.0}])
def test_early_experience_without_a_world_model_is_rft_to_the_bit(settings: dict[str, Any]) -> None:
    played = [episode("a", [0.0, 1.0]), episode("b", [0.0]), episode("c", [0.0, 0.0, 1.0])]
    pair = [make("rft", mini_batch_size=2), make("early_experience", mini_batch_size=2, **settings)]
    metrics = [asyncio.run(algorithm.update(played)) for algorithm in pair]
    assert metrics[1] == {**metrics[0], "predicts": 0.0} and metrics[0]["gradient_steps"] == 3
    assert torch.equal(*map(weights, pair))


def learned_words(algorithm: Any) -> list[str]:
    """The tokens that the losses are about, as text."""
    tokens = [[i for i, m in zip(s.ids, s.loss_mask, strict=True) if m] for s in algorithm.sequences]
    return [algorithm.resources.tokenizer.decode(ids) for ids in tokens]


def acting(monkeypatch: pytest.MonkeyPatch, words: Iterable[str | None]) -> None:
    """Let the policy draw ``words`` in turn; None cannot be parsed."""
    left = iter(words)

    async def act(*_: Any) -> Action | None:
        word = next(left)
        return None if word is None else Action(word, Sample(word, "stop"))

    monkeypatch.setattr(Speaker, "act", act)


def test_the_world_model_learns_the_answers_to_other_actions_and_no_action(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """red-0 was played and is right; an action that was drawn twice is taken once."""
    acting(monkeypatch, ["red-1", None, "red-1", "red-0", "red-2"])
    early = make("early_experience", num_alternatives=5)
    asyncio.run(early.prepare([episode("red-0", [1.0]), episode("red-1", [0.0])]))
    assert early.predicts and learned_words(early) == ["wrong", "wrong"]
    assert early.resources.steps.taken() == 2
    assert early.learn([episode("red-0", [1.0])], None)["gradient_steps"] == 1
    assert not early.learned, "the policy learned nothing, so there is no kl_to_start"
    early.resources = replace(early.resources, done=lambda: 0.25)
    asyncio.run(early.prepare([episode("red-0", [1.0])]))
    assert not early.predicts and [s.ids[3:] for s in early.sequences] == [[8, 8]]
    early.learn([episode("red-0", [1.0])], None)
    assert early.learned == early.sequences


def test_the_expert_plays_the_tasks_and_is_imitated() -> None:
    early = make("early_experience", imitates="expert", world_model_share=0)
    played = [episode("blue-0", [0.0]), episode("red-3", [0.0])]
    metrics = asyncio.run(early.update(played))
    assert learned_words(early) == ["blue-1 <|end|>", "red-0 <|end|>"]
    assert metrics["extra_env_steps"] == 2 and metrics["accepted"] == 0 and metrics["gradient_steps"] == 1


def test_the_world_model_learns_a_deterministic_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    acting(monkeypatch, cycle(BUTTONS["red"]))
    early = make("early_experience", imitates="expert", num_alternatives=4, lr=3e-3)
    losses = [asyncio.run(early.update([episode("red-0", [0.0])]))["nll"] for _ in range(25)]
    assert losses[0] > 1 and losses[-1] < 0.05


def test_an_observations_tokens_are_those_of_the_next_prompt() -> None:
    """In both styles; a prompt that is shortened to make room for it is not learned."""
    tokenizer = signal_env.tokenizer()
    tokenizer.chat_template = "{% for message in messages %}{{ message['content'] + ' ' }}{% endfor %}"
    for prompts in (CompactPrompts(), ChatPrompts()):
        encoder = Encoder(tokenizer, prompts, 2048, 64)
        state = State("signal", "", (), ({"role": "user", "content": "red", "kind": "message"},))
        s = encoder.observed(state, "red-1", "right wrong", "message", 3)
        assert s is not None and (s.loss, s.group_id) == ("critic", 3)
        own = [i for i, m in zip(s.ids, s.loss_mask, strict=True) if m]
        assert tokenizer.decode(own) == "right wrong"
        assert encoder.observed(state, "red-1", "", "message", 0) is None and encoder.too_long == 1
    short = Encoder(tokenizer, CompactPrompts(max_chars=60), 64, 64)
    long = state.after("red-1", "wrong wrong wrong wrong", "message").after("red-2", "right", "message")
    assert short.observed(long, "red-1", "right right right right", "message", 0) is None
    assert short.too_long == 1


# --- Critique-RL --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "refines", "rewards"),
    [
        ("critique_rl", False, [1.0, 1.0, -1.0, -1.0, -1.0, -1.0]),
        ("critique_rl", True, [1.2, 0.2, -1.0, -1.0, -1.0, -1.0]),
        ("ctrl", True, [1.0, 0.0, 1.0, 0.0, -1.0, -1.0]),
        ("rl4f", True, [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]),
    ],
)
def test_rewards_of_critiques(kind: str, refines: bool, rewards: list[float]) -> None:
    """Right, wrong and unreadable verdicts, with a refined action that succeeds or fails."""
    algorithm = make("critique_rl", reward=kind)
    algorithm.refines = refines
    yes = Critique(True, "optimal: yes")
    cases = [(yes, True), (yes, False), (None, False)]
    trials = [Trial([], c, right, success=won) for c, right in cases for won in (True, False)]
    assert [algorithm.reward(trial) for trial in trials] == pytest.approx(rewards)


def criticising(monkeypatch: pytest.MonkeyPatch, verdicts: Sequence[bool | None], *better: str) -> None:
    """Let the evaluator return critiques with ``verdicts`` for every action, and the refiner ``better``."""
    left = cycle(better)

    async def critiques(*_: Any) -> list[tuple[Sample, Critique | None]]:
        texts = [None if v is None else f"optimal: {'yes' if v else 'no'}" for v in verdicts]
        return [
            (Sample(text or "", "stop", ids=[9, 8, 1]), None if text is None else Critique(bool(v), text))
            for v, text in zip(verdicts, texts, strict=True)
        ]

    async def refine(*_: Any) -> Action:
        word = next(left)
        return Action(word, Sample(word, "stop"))

    monkeypatch.setattr(Speaker, "critiques", critiques)
    monkeypatch.setattr(Speaker, "refine", refine)


def trained(
    algorithm: Any, monkeypatch: pytest.MonkeyPatch, played: Sequence[Episode]
) -> list[TokenSequence]:
    """Return the sequences of an update."""
    seen: list[TokenSequence] = []

    def epochs(sequences: Sequence[TokenSequence], count: int) -> Iterator[Any]:
        seen.extend(sequences)
        return iter([])

    monkeypatch.setattr(algorithm, "epochs", epochs)
    asyncio.run(algorithm.prepare(played))
    algorithm.learn(played, None)
    return seen


def test_critiques_are_compared_by_their_verdicts_then_by_what_they_lead_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """red-1 was played and failed, as two of four critiques say; one cannot be read. The episode that was cut
    has no outcome. Of the refined actions only red-0 succeeds; the policy then learns the first one."""
    criticising(monkeypatch, [False, True, None, False], "red-0", "red-2")
    algorithm = make("critique_rl", num_nlq_samples=0, stage_one=0.5)
    lost = episode("red-5", [0.0])
    lost.turns[0] = replace(lost.turns[0], text="red-1")
    played = [lost, episode("red-6", [0.0], cut=True)]
    first = trained(algorithm, monkeypatch, played)
    # r = 1, −1, −1, 1 against the means of the others
    assert [s.advantages[-1] for s in first if s.advantages] == pytest.approx([4 / 3, -4 / 3, -4 / 3, 4 / 3])
    assert {s.loss for s in first} == {"critic"} and algorithm.resources.steps.taken() == 0
    algorithm.resources = replace(algorithm.resources, done=lambda: 0.5)
    *critics, policy = trained(algorithm, monkeypatch, played)
    # r = 1.2, −1, −1, 0.2
    expected = [1.2 + 0.6, -1 - 0.4 / 3, -1 - 0.4 / 3, 0.2 + 0.8 / 3]
    assert [s.advantages[-1] for s in critics if s.advantages] == pytest.approx(expected)
    assert policy.loss == "policy" and set(policy.advantages or ()) == {0.0}
    assert policy.ids[-2:] == algorithm.encoder.format.tokenizer("red-0<|end|>")["input_ids"]
    assert algorithm.resources.steps.taken() == 2, "one for each new action"


def test_a_refiner_that_ignores_critiques_teaches_them_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    criticising(monkeypatch, [False, False, False, False], "red-2")
    algorithm = make("critique_rl", reward="rl4f", num_nlq_samples=0)
    found = trained(algorithm, monkeypatch, [episode("red-0", [0.0]), episode("red-1", [0.0])])
    assert {s.loss for s in found} == {"policy"} and len(found) == 2


def test_critiques_and_refined_actions_take_gradient_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    criticising(monkeypatch, [False, True, None, False], "red-0", "red-2")
    settings: dict[str, Any] = {"num_nlq_samples": 0, "stage_one": 0, "mini_batch_size": 4, "kl_coef": 0.0}
    algorithm = make("critique_rl", **settings, max_staleness=1)
    lost = episode("red-5", [0.0])
    lost.turns[0] = replace(lost.turns[0], text="red-1", logprobs=[-1.0, -1.0])
    metrics = asyncio.run(algorithm.update([lost]))
    assert metrics["gradient_steps"] == 4, "five sequences, two passes"
    assert metrics["verdict_accuracy"] == 0.5 and metrics["trial_success"] == 1 / 3 and metrics["l2"] > 0
    assert {s.loss for s in algorithm.learned} == {"policy"}, "KL(π ‖ initial π) is that of the policy"


def test_before_anything_is_refined_nothing_is_said_of_refined_actions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    criticising(monkeypatch, [False, True, None, False], "red-0")
    algorithm = make("critique_rl", num_nlq_samples=0, stage_one=0.5)
    metrics = asyncio.run(algorithm.update([episode("red-5", [0.0])]))
    assert metrics["verdict_accuracy"] == 0.5 and "trial_success" not in metrics
    assert not algorithm.learned and "kl_to_start" not in asyncio.run(algorithm.probe([], False))


def test_the_fixed_words_of_a_form_are_not_learned() -> None:
    """Of a critique in a form, the verdict was chosen between two tokens, and the first word was given."""
    encoder = make("critique_rl").encoder
    prompt = Prompt(({"role": "user", "content": "red"},))
    filled = Filled([False, True, True], {1: [12, 13]})
    sample = Sample("optimal: no", "stop", prompt_ids=[5, 6], ids=[11, 12, 1], filled=filled)
    s = encoder.answer(prompt, sample, "critic")
    assert s is not None and list(s.loss_mask) == [0.0, 0.0, 0.0, 1.0, 1.0]
    assert dict(s.restricted) == {3: [12, 13]} and s.loss == "critic"


def test_transitions_whose_episode_ends_outside_the_memory_refer_to_no_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The end would be forgotten at a resume."""
    nlac = make("nlac", backup="monte_carlo")
    monkeypatch.setattr(nlac, "fits", lambda transition: not transition.terminated)
    assert nlac.remember([episode("a", [0.0, 0.0, 1.0])]) == 2
    assert [t.end for t in nlac.replay.items] == [None, None]
