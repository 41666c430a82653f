"""NLAC's parts, and one real iteration of it on the embedded model."""

import asyncio
import gc
import gzip
import json
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from nlac_bench import tiny
from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.nlac.config import NlacConfig
from nlac_bench.agents.nlac.lesson import Encoder, Lesson
from nlac_bench.agents.nlac.nlac import NLAC, PROPOSE, ask, predicted, refine, replayed, shuffle
from nlac_bench.agents.nlac.replay import Replay
from nlac_bench.agents.nlac.theory import ExactPrompts, Grid, Tables, random_walks
from nlac_bench.agents.roles.chat import ChatPrompts
from nlac_bench.agents.roles.compact import CompactPrompts
from nlac_bench.agents.roles.policy_agent import PolicyAgent
from nlac_bench.agents.roles.role_prompts import Critique
from nlac_bench.agents.roles.shared import Beginning, shared_tokens
from nlac_bench.agents.roles.speaker import Action, decoded
from nlac_bench.agents.roles.speaking import Speaking
from nlac_bench.agents.roles.styles import prompts_for
from nlac_bench.agents.roles.transition import State, Transition, transitions
from nlac_bench.envs import registry
from nlac_bench.errors import DataError, NlacBenchError
from nlac_bench.learner.learner import Learner
from nlac_bench.rollout.driver import Driver, EpisodeSpec, Failure
from nlac_bench.rollout.engines.engine import Sample, SampleRequest, Sampling
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.rollout.meter import MeteredEngine
from nlac_bench.types import Episode, Turn
from tests.baselines.test_parts import episode as short_episode
from tests.baselines.test_parts import make

ENV = 'tau_retail@{"level": "easy"}'


def episode(turns: int = 3, terminated: bool = True, success: bool = True) -> Episode:
    played = [
        Turn(
            f"action {i}",
            f"answer {i}",
            prompt_ids=[1] * (i + 1),
            output_ids=[2],
            info={"action_kind": "tool"},
        )
        for i in range(turns)
    ]
    return Episode("demo", "t1", 2, 7, "hello", played, terminated, not terminated, success)


def transition(text: str = "hello", **changes: Any) -> Transition:
    state = State("demo", "be kind", (), ({"role": "user", "content": text, "kind": "message"},))
    made = Transition(state, "a", 1.0, None, True, True, "t", 0, 0, 0, last_words="bye")
    return replace(made, **changes)


# --- transitions ------------------------------------------------------------------------------------


def test_transitions_of_an_episode() -> None:
    found = transitions(episode(), "demo", {"policy": "p", "tools": [{"name": "x"}]})
    assert [t.terminated for t in found] == [False, False, True]
    assert [(t.trial, t.step) for t in found] == [(2, 0), (2, 1), (2, 2)]
    assert [t.answered for t in found] == ["answer 0", "answer 1", "answer 2"]
    assert [m["content"] for m in found[2].state.messages] == [
        "hello",
        "action 0",
        "answer 0",
        "action 1",
        "answer 1",
    ]
    assert found[0].next_state == found[1].state and found[2].next_state is None
    assert found[1].state.prompt_ids == [1, 1] and found[0].next_state is not None
    assert found[0].next_state.prompt_ids == [1, 1]
    assert found[2].last_words == "answer 2" and found[0].state.policy == "p"


def test_a_cut_is_no_end() -> None:
    found = transitions(episode(terminated=False, success=False), "demo", {})
    assert [t.step for t in found] == [0, 1, 2]
    assert not any(t.terminated for t in found) and all(t.next_state for t in found)


def test_the_backup_prompt_contains_the_steps_reward() -> None:
    following = State("demo", "be kind", (), ({"role": "user", "content": "on you go", "kind": "message"},))
    for prompts in (CompactPrompts(), ChatPrompts()):
        told = [
            str(prompts.backup(transition(reward=reward, next_state=following), "b", "next: x").messages)
            for reward in (0.0, 0.25)
        ]
        assert "[reward" not in told[0] and "on you go [reward 0.25]" in told[1]


# --- replay -----------------------------------------------------------------------------------------


def test_draws_follow_priorities_and_weights_undo_them() -> None:
    replay = Replay(alpha=0.6, beta=1.0, seed=3)
    replay.add([transition(str(i)) for i in range(4)])
    losses = np.array([0.1, 1.0, 2.0, 8.0])
    replay.update(range(4), losses.tolist())
    chances = losses**0.6 / (losses**0.6).sum()
    drawn = np.concatenate([replay.draw(1)[0] for _ in range(4000)])
    counts = np.bincount(drawn, minlength=4)
    assert stats.chisquare(counts, 4000 * chances).pvalue > 1e-3
    indices, weights = replay.draw(4)
    expected = 1 / (4 * chances[indices])
    np.testing.assert_allclose(weights, expected / expected.max())


def test_new_transitions_are_drawn_soon_and_old_ones_leave() -> None:
    replay = Replay(capacity=3, seed=0)
    replay.add([transition("old")])
    replay.update([0], [5.0])
    replay.iteration = 4
    replay.add([transition(str(i)) for i in range(3)])
    assert len(replay) == 3 and all(t.state.observation != "old" for t in replay.items)
    replay.update([0], [float("nan")])
    _, weights = replay.draw(3)
    np.testing.assert_allclose(weights, 1.0)  # all as likely as the likeliest so far
    assert replay.mean_age([0, 1, 2]) == 0.0
    with pytest.raises(ValueError, match="empty"):
        Replay().draw(1)


def test_what_cannot_be_learned_is_drawn_more_rarely_than_the_rest() -> None:
    """A tenth can never be learned from; with their first priority they would get a fifth of the draws."""
    replay = Replay(seed=0)
    replay.add([transition(str(i)) for i in range(400)])
    rng, hopeless = np.random.default_rng(0), 0
    for _ in range(100):
        indices, _ = replay.draw(32)
        known = [int(i) for i in indices if i % 10]
        hopeless += len(indices) - len(known)
        replay.update(known, rng.uniform(0.1, 0.6, len(known)).tolist())
    assert hopeless / 3200 < 0.1


def test_a_loss_that_is_not_finite_decays_like_a_missing_one(tmp_path: Path) -> None:
    replay = Replay(seed=0)
    replay.add([transition("0"), transition("1")])
    replay.draw(2)
    replay.update([0, 1], [float("nan"), 0.25])
    replay.save(tmp_path / "r.gz")
    assert replay.losses == [0.5, 0.25]
    twin = Replay()
    twin.load(tmp_path / "r.gz")
    replay.add([transition("2")])
    twin.add([transition("2")])
    assert twin.losses == replay.losses == [0.5, 0.25, 0.5]


def test_the_correction_grows_to_a_full_one() -> None:
    weights = []
    for done in (0.0, 0.5, 1.0):
        replay = Replay(beta=0.4, seed=0)
        replay.add([transition(str(i)) for i in range(4)])
        replay.update(range(4), [0.1, 1.0, 2.0, 8.0])
        indices, found = replay.draw(4, done)
        chances = np.array([0.1, 1.0, 2.0, 8.0]) ** 0.6
        expected = (4 * (chances / chances.sum())[indices]) ** -(0.4 + 0.6 * done)
        np.testing.assert_allclose(found, expected / expected.max())
        weights.append(found.min())
    assert weights == sorted(weights, reverse=True)


def test_a_replay_goes_on_where_it_was_saved(tmp_path: Path) -> None:
    replay = Replay(seed=5)
    replay.add([*transitions(episode(), "demo", {"policy": "p", "tools": [{"name": "x"}]}), transition()])
    replay.update([1], [3.0])
    replay.items[0].notes["critique"] = "optimal: no"
    replay.save(tmp_path / "r.gz")
    twin = Replay()
    twin.load(tmp_path / "r.gz")
    assert twin.items == replay.items and twin.items[0].state.prompt_ids == [1]
    for _ in range(5):
        mine, theirs = replay.draw(3), twin.draw(3)
        assert mine[0].tolist() == theirs[0].tolist() and mine[1].tolist() == theirs[1].tolist()
    assert twin.items[0].next_state is twin.items[1].state, "states are shared"
    header, *rows = gzip.decompress((tmp_path / "r.gz").read_bytes()).splitlines()
    assert len(rows) == 2, "an episode is written once"
    earlier = json.dumps({k: v for k, v in json.loads(header).items() if k != "format"}).encode()
    (tmp_path / "r.gz").write_bytes(gzip.compress(b"\n".join([earlier, *rows])))
    with pytest.raises(DataError, match="it has format 1, and this version reads format 2"):
        twin.load(tmp_path / "r.gz")
    assert twin.items == replay.items, "a file that cannot be read changes nothing"
    (tmp_path / "r.gz").write_bytes(b"no gzip")
    with pytest.raises(DataError, match="cannot be read as a replay buffer"):
        Replay().load(tmp_path / "r.gz")


def stored_bytes(make: Callable[[], Replay]) -> tuple[Replay, int]:
    """The result of ``make``, and the memory that it keeps."""
    gc.collect()
    tracemalloc.start()
    try:
        kept = make()
        gc.collect()
        return kept, tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def test_an_episode_is_kept_once(tmp_path: Path) -> None:
    """20 turns of 200 characters and 100 tokens each; with copies, the last prompt alone takes 16 kB."""

    def played() -> Episode:
        ids, turns = list(range(1000, 1100)), []
        for i in range(20):
            text = f"{i} {'x' * 200}"
            turns.append(Turn(text, text + " heard", prompt_ids=ids, output_ids=[2000 + i] * 50))
            ids = [*ids, *[2000 + i] * 50, *[3000 + i] * 50]
        return Episode("demo", "t1", 2, 7, "hello", turns, True, False, True)

    def filled() -> Replay:
        buffer = Replay()
        buffer.add(transitions(played(), "demo", {}))
        return buffer

    def loaded() -> Replay:
        buffer = Replay()
        buffer.load(tmp_path / "r.gz")
        return buffer

    replay, live = stored_bytes(filled)
    # The conversation has 10 kB, and 2,000 tokens of 4 bytes; a transition and its state take about 1 kB.
    assert live < 60_000
    replay.save(tmp_path / "r.gz")
    twin, resumed = stored_bytes(loaded)
    assert resumed < 60_000
    assert twin.items == replay.items
    for buffer in (replay, twin):
        first, *_, last = buffer.items
        assert [m["content"][:2] for m in last.state.messages[-2:]] == ["18", "18"]
        assert (
            list(last.state.prompt_ids or ())[-51:] == [2018] + [3018] * 50 and last.action_ids == [2019] * 50
        )
        assert first.state.messages.whole is last.state.messages.whole  # type: ignore[attr-defined]
        assert first.state.prompt_ids.whole is last.state.prompt_ids.whole  # type: ignore[union-attr]


def test_prompts_that_do_not_continue_keep_their_tokens() -> None:
    found = shared_tokens([[1, 2], None, [1, 2, 3], [9], [9, 8]])
    assert found == [[1, 2], None, [1, 2, 3], [9], [9, 8]]
    assert [x and len(x.whole) for x in found] == [3, None, 3, 2, 2]
    some = Beginning("abcd", 3)
    assert (some[-1], some[1:], list(some), len(some)) == ("c", ("b", "c"), ["a", "b", "c"], 3)
    assert some == ("a", "b", "c") and some not in (("a", "b"), {"a"})
    with pytest.raises(ValueError, match="at most 4, got 5"):
        Beginning("abcd", 5)


# --- chat prompts -----------------------------------------------------------------------------------


def test_thoughts_do_not_quote_what_the_critic_could_not_know() -> None:
    prompts = ChatPrompts(thinking="opened")
    written = (
        "<think>The critique says it failed.</think>Thought: if the user agrees, cancel.\nAction: Shall I?"
    )
    refined = prompts.parse_refined(written)
    assert refined == "<think>\nif the user agrees, cancel.\n</think>\n\nAction: Shall I?"
    assert ChatPrompts().parse_refined(written) == "Thought: if the user agrees, cancel.\nAction: Shall I?"
    target = prompts.parse_future(
        "<think>x</think>Reasoning: if yes, then\nPrediction: it ends.\nOutcome: success"
    )
    assert target == "<think>\nif yes, then\n</think>\n\nPrediction: it ends.\nOutcome: success"
    assert prompts.outcome(target) == "success"
    state = transition().state
    assert prompts.heard("<think>secret</think>\n\nAction: Shall I?", state) == "Shall I?"
    assert prompts.policy(state).opening == "<think>\n"


@pytest.mark.parametrize(
    ("written", "optimal"),
    [
        ("Optimal: yes", True),
        ("**Optimal:** no\nWhy: it fails", False),
        ("I like it", None),
        ("<think>Optimal: yes</think>Optimal: no", False),
    ],
)
def test_verdicts(written: str, optimal: bool | None) -> None:
    found = ChatPrompts().parse_critique(written)
    assert (found.optimal if found else None) == optimal


@pytest.mark.parametrize(
    "text", ["", "Outcome: perhaps", "all will be well", "x" * 30_000 + "\nOutcome: success"]
)
def test_futures_without_an_outcome_are_not_trained_on(text: str) -> None:
    assert ChatPrompts().parse_future(text) is None


# --- what is remembered and drawn -------------------------------------------------------------------


def test_what_can_never_be_learned_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    nlac: NLAC = make("nlac", replay_ratio=1.0)
    drawn: list[int] = []

    async def asked(lessons: Sequence[Lesson]) -> None:
        drawn.append(len(lessons))

    monkeypatch.setattr(nlac, "ask", asked)
    monkeypatch.setattr(nlac, "fits", lambda t: t.step == 0)
    played = [short_episode(f"red-{i}", [0.0, 0.0, 1.0]) for i in range(6)]
    asyncio.run(nlac.update(played))
    assert len(nlac.replay) == 6 and drawn == [6]
    monkeypatch.setattr(nlac, "fits", lambda t: False)
    metrics = asyncio.run(nlac.update(played))
    assert len(nlac.replay) == 6 and drawn == [6, 0] and metrics["buffer_age"] == 0
    assert metrics["too_long"] == 18
    with pytest.raises(ValueError, match="empty"):
        asyncio.run(make("nlac").update([]))


def walked(**settings: Any) -> tuple[list[Lesson], dict[str, set[str]]]:
    """Lessons of random walks after NLAC has asked the roles, which tables answer; and the slots by role."""
    tables, config = Tables(Grid(), 0), NlacConfig(**settings)
    asked: dict[str, set[str]] = {}
    sample = tables.sample

    async def heard(request: SampleRequest) -> list[Sample]:
        asked.setdefault(request.role, set()).add(request.slot)
        return await sample(request)

    tables.sample = heard  # type: ignore[method-assign]
    roles = Speaking(tables, ExactPrompts(), Sampling(), Sampling(), seed=0, concurrency=4)
    found = [t for walk in random_walks(Grid(), 6, 0) for t in transitions(walk, "grid", {})]
    lessons = [Lesson(t, 1.0, roles.speaker(n)) for n, t in enumerate(found)]
    asyncio.run(ask(lessons, roles, config, PROPOSE[config.refine_source], partial(predicted, k=1)))
    return lessons, asked


def test_the_control_without_l1_has_the_same_targets() -> None:
    targets = [
        [lesson.target for lesson in walked(**settings)[0]]
        for settings in ({}, {"critic_coef": 0.0}, {"critic_coef": 0.0, "priority_alpha": 0.0})
    ]
    assert all(targets[0]) and targets[1] == targets[0] and not any(targets[2])


@pytest.mark.parametrize(
    ("backup_by", "slots"),
    [("target", {"target"}), ("successor", {"policy", "target"})],
)
def test_the_target_network_generates_the_target(backup_by: Any, slots: set[str]) -> None:
    _, asked = walked(backup_by=backup_by, num_refinement_steps=0, refine_source="replayed")
    assert asked["successor"] == {"target"} and set.union(*asked.values()) == slots
    assert asked["policy"] == asked["backup"] == ({"target"} if backup_by == "target" else {"policy"})


# --- one real iteration -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def parts() -> Iterator[tuple[NLAC, PolicyAgent]]:
    engine = HFEngine.from_pretrained(str(tiny.path()), dtype="float32")
    config = NlacConfig(
        lr=1e-4,
        precision="fp32",
        mini_batch_size=8,
        row_tokens=1024,
        max_response_length=96,
        probes=4,
        replay_ratio=0.5,
    )
    prompts = prompts_for(engine.tokenizer)
    metered = MeteredEngine(engine)
    agent = PolicyAgent(metered, prompts, Sampling(max_tokens=96))
    learner = Learner(str(tiny.path()), config.learner(0, ema=True))
    nlac = NLAC(Resources(config, metered, learner, prompts, agent, make_env, seed=0, concurrency=16))
    nlac.sync()
    yield nlac, agent
    engine.close()


def make_env() -> Any:
    return registry.make_training_env(ENV)


@pytest.mark.slow  # the embedded model plays, asks every role and learns
def test_an_iteration_learns_and_says_why(parts: tuple[NLAC, PolicyAgent]) -> None:
    nlac, agent = parts
    specs = [EpisodeSpec("tau_retail", task, 0, 1) for task in make_env().task_ids[:4]]

    async def play() -> list[Episode | Failure]:
        return [r async for r in Driver(agent, make_env, concurrency=4).run(specs)]

    played = [e for e in asyncio.run(play()) if isinstance(e, Episode)]
    assert len(played) == 4
    before = [p.detach().clone() for p in nlac.learner.parameters]
    metrics = asyncio.run(nlac.update(played, max_steps=2))
    assert metrics["gradient_steps"] in (1, 2) and metrics["l1"] > 0 and metrics["l2"] > 0
    assert any((a != b).any() for a, b in zip(before, nlac.learner.parameters, strict=True))
    noted = [t for t in nlac.replay.items if t.notes]
    assert noted and any("target" in t.notes for t in noted) and any("critique" in t.notes for t in noted)
    roles = {role for purpose, role in nlac.resources.engine.usage if purpose == "learning"}  # type: ignore[attr-defined]
    assert {"policy", "successor", "evaluator"} <= roles
    probed = asyncio.run(nlac.probe(played, deep=False))
    assert probed["probes"] == 4 and probed["kl_to_start"] >= 0


def test_sampled_words_are_trained_on_as_they_were_sampled(parts: tuple[NLAC, PolicyAgent]) -> None:
    nlac, _ = parts
    env = make_env()
    observation, info = env.reset(seed=0)
    state = State(
        env.name,
        info["policy"],
        info["tools"],
        ({"role": "user", "content": observation, "kind": "message"},),
    )
    speaker = nlac.speaking.speaker("test")
    action = asyncio.run(speaker.act(state))
    assert action is not None
    lesson = Lesson(
        transition(state=state, action=action.text), 0.5, speaker, target="next: bye; end: success"
    )
    lesson.proposed = action
    policy, critic = nlac.encoder.policy(lesson, group=0), nlac.encoder.critic(lesson, group=0)
    assert policy is not None and critic is not None and action.sample.ids is not None
    assert [*(action.sample.prompt_ids or ()), *action.sample.ids] == list(policy.ids)
    assert sum(policy.loss_mask) == len(action.sample.ids) and critic.weight == 0.5 and policy.weight == 1.0
    text = nlac.encoder.format.tokenizer.decode(critic.ids)
    assert text.endswith(f"next: bye; end: success{nlac.encoder.format.tokenizer.eos_token}")


@pytest.mark.parametrize("written", ["look up ~97", "look up ~0", "a ~~ b", "order #W1234567"])
def test_an_action_is_learned_as_it_was_sampled_whatever_numbers_it_has(
    parts: tuple[NLAC, PolicyAgent], written: str
) -> None:
    """Also with the number of no identifier, which the environment receives as it is. Other tokens of the
    same text, such as an escaped tilde, would be improbable ones."""
    nlac, _ = parts
    message = {"role": "user", "content": "It is order #W1234567.", "kind": "message"}
    state = State("shop_worlds", "", (), (message,))
    tokenizer = nlac.encoder.format.tokenizer
    assert tokenizer.eos_token_id is not None
    ids = [*tokenizer(written, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
    sample = Sample(written, "stop", ids=ids)
    text = decoded(nlac.speaking.prompts.policy(state), sample)
    assert ("#W1234567" in text) == (written in ("look up ~0", "order #W1234567"))
    lesson = Lesson(transition(state=state, action=text), 1.0, nlac.speaking.speaker("test"))
    lesson.proposed = Action(text, sample)
    sequence = nlac.encoder.policy(lesson, group=0)
    assert sequence is not None and list(sequence.ids)[-len(ids) :] == ids
    lesson.proposed = Action(text + "!", sample)  # another text has tokens of its own
    sequence = nlac.encoder.policy(lesson, group=0)
    assert sequence is not None
    assert tokenizer.decode(
        [i for i, m in zip(sequence.ids, sequence.loss_mask, strict=True) if m][:-1]
    ).endswith("!")


def test_long_prompts_and_unreadable_texts_are_left_out_and_counted(parts: tuple[NLAC, PolicyAgent]) -> None:
    nlac, _ = parts
    encoder = Encoder(nlac.encoder.format.tokenizer, nlac.speaking.prompts, 4, 4)
    lesson = Lesson(
        transition("a long message " * 20), 1.0, nlac.speaking.speaker("x"), target="next: x; end: failure"
    )
    assert encoder.critic(lesson, 0) is None and encoder.too_long == 1
    assert encoder.policy(lesson, 0) is None, "no action, no lesson"
    assert not encoder.fits(lesson.transition)
    thought = replace(lesson.transition.state, prompt_ids=[1, 2, 3])
    assert encoder.fits(replace(lesson.transition, state=thought)), "the policy's prompt has 3 tokens"
    asyncio.run(replayed(lesson))
    asyncio.run(refine(lesson))
    assert lesson.rounds == 0


def test_shuffled_critiques_come_from_others(parts: tuple[NLAC, PolicyAgent]) -> None:
    nlac, _ = parts
    lessons = [Lesson(transition(str(i)), 1.0, nlac.speaking.speaker(i)) for i in range(3)]
    for i, lesson in enumerate(lessons):
        lesson.critique = Critique(False, str(i))
    shuffle(lessons)
    assert [x.critique.text for x in lessons if x.critique] == ["1", "2", "0"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_nlq_samples": 0}, "num_nlq_samples"),
        ({"budget": "hours=3"}, "hours=3"),
        ({"lr": "fast"}, "fast"),
        ({"learning_rate": 1}, "learning_rate"),
        ({"refine_source": "both"}, "both"),
        ({"ema_tau": 0}, "ema_tau"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(NlacBenchError, match=message):
        NlacConfig.from_mapping(settings)
