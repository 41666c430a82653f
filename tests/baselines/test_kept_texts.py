"""What the methods with a language critic store of its texts."""

import asyncio
import copy
import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from nlac_bench.agents.algorithm import ReadsStates, Resources
from nlac_bench.agents.methods import BUILT_IN
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.nlac.nlac import shares_of
from nlac_bench.agents.nlac.records import CritiqueRecord, ProbeRecord
from nlac_bench.agents.roles.answers import AnswerRecord
from nlac_bench.agents.roles.compact import CompactPrompts
from nlac_bench.agents.roles.policy_agent import PolicyAgent
from nlac_bench.agents.roles.role_prompts import Critique
from nlac_bench.agents.roles.speaker import Action
from nlac_bench.learner.learner import Learner
from nlac_bench.rollout.driver import Driver, EpisodeSpec
from nlac_bench.rollout.engines.engine import Sample, SampleRequest, Sampling
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.rollout.meter import MeteredEngine, spending_on
from nlac_bench.types import Episode
from tests.baselines import signal_env
from tests.baselines.signal_env import Signal
from tests.baselines.test_parts import episode, make

CRITICS = [name for name, method in BUILT_IN.items() if method.keeps_critiques]


def test_these_methods_have_a_language_critic() -> None:
    assert CRITICS == ["nlac", "nlrl", "self_distillation", "nlql"]
    for name in CRITICS:
        assert isinstance(make(name), ReadsStates)


# --- lessons ------------------------------------------------------------------------------------------


def written(nlac: Any, count: int) -> list[Lesson]:
    """Lessons of an episode's two steps in turn; every third has no text of the critic."""
    steps = nlac.transitions(replace(episode("t", [0.0, 1.0]), trial=5))
    found = [Lesson(steps[n % 2], 1.0, nlac.speaking.speaker(n)) for n in range(count)]
    for number, lesson in enumerate(found):
        lesson.first, lesson.proposed = "red-0", Action(f"red-{number}", Sample("", "stop"))
        if number % 3:
            lesson.future, lesson.critique = "next: wrong; end: failure", Critique(False, f"no {number}", 0.3)
            lesson.success_probability, lesson.rounds = 0.4, 1
    return found


def kept_of(nlac: Any, lessons: list[Lesson]) -> list[CritiqueRecord]:
    """The records that an iteration with ``lessons`` stores."""
    records: list[CritiqueRecord] = []
    nlac.resources = replace(nlac.resources, keep_critiques=records.extend)
    nlac.keep(lessons)
    return records


def test_a_record_has_the_key_and_the_texts_of_its_lesson() -> None:
    nlac = make("nlac")
    nlac.replay.iteration, nlac.version = 4, 9
    _, record, _ = kept_of(nlac, [*written(nlac, 4), *written(nlac, 2)])
    assert record == CritiqueRecord(
        iteration=5, lesson=2, weight_version=9, played_weight_version=0, task="t", trial=5, seed=0, step=0,
        heard="red", played="red-0", answered="right", success=True, target=None, proposed="red-0",
        future="next: wrong; end: failure", predicted="failure", success_probability=0.4, critique="no 2",
        optimal=False, optimal_probability=0.3, refined="red-2",
    )  # fmt: skip


def test_probabilities_grade_the_probes_and_words_do_where_there_are_none() -> None:
    """Both episodes get the same verdict and the same predicted outcome, with another probability."""
    nlac = make("nlac")
    won, lost = (nlac.transitions(episode("t", [0.0, reward]))[0] for reward in (1.0, 0.0))

    def lesson(t: Any, chance: float | None) -> Lesson:
        made = Lesson(t, 1.0, nlac.speaking.speaker(0), future="next: wrong; end: failure")
        made.critique, made.success_probability = Critique(False, "no", chance), chance
        return made

    graded = nlac.accuracy([lesson(won, 0.4), lesson(lost, 0.1)])
    assert (graded["evaluator_auc"], graded["successor_auc"], graded["successor_accuracy"]) == (1.0, 1.0, 0.5)
    words = nlac.accuracy([lesson(won, None), lesson(lost, None)])
    assert (words["evaluator_auc"], words["successor_auc"]) == (0.5, 0.5)
    assert "successor_auc" not in nlac.accuracy([lesson(won, 0.4)]), "one outcome only"
    assert (
        shares_of([lesson(won, 0.4)])["share_optimal"] == 0.0
        and shares_of([replace(lesson(won, 0.4), critique=None)]) == {}
    )


@pytest.mark.parametrize(("most", "kept"), [(0, 0), (1, 1), (20, 20), (40, 40), (256, 40)])
def test_at_most_so_many_lessons_are_kept(most: int, kept: int) -> None:
    nlac = make("nlac", kept_critiques=most)
    lessons = written(nlac, 60)

    def drawn(iteration: int) -> list[int]:
        nlac.replay.iteration = iteration
        return [record.lesson for record in kept_of(nlac, lessons)]

    assert len(drawn(0)) == kept and drawn(0) == sorted(set(drawn(0))) == drawn(0)
    assert all(number % 3 for number in drawn(0)), "the others have no text of the critic"
    assert (len({tuple(drawn(iteration)) for iteration in range(8)}) > 1) == (0 < most < 40)


@pytest.mark.parametrize(
    ("name", "asked"),
    [("nlac", {"successor", "evaluator"}), ("nlql", {"successor", "evaluator"}),
     ("self_distillation", {"evaluator"}), ("nlrl", {"successor"})],
)  # fmt: skip
def test_probes_and_probe_set_ask_the_same_roles(
    name: str, asked: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Self-Distillation's evaluator reads the real future in both; its successor model may be untrained."""
    algorithm = make(name, probes=2)
    roles: list[str] = []

    async def answer(request: SampleRequest) -> list[Sample]:
        roles.append(request.role)
        said = {"successor": "next: wrong; end: failure", "evaluator": "optimal: yes"}
        return [Sample(said[request.role], "stop")]

    monkeypatch.setattr(algorithm.resources.engine, "sample", answer)
    found = asyncio.run(algorithm.probe([episode("t", [0.0, 1.0])], False))
    assert set(roles) == asked and len(roles) == 2 * len(asked)
    assert found.get("successor_accuracy") == (0.0 if "successor" in asked else None)
    roles.clear()
    (state, _) = algorithm.transitions(episode("t", [0.0, 1.0]))
    (record,) = asyncio.run(algorithm.read_states([state], 1))
    assert set(roles) == asked and record.predicted == ("failure" if "successor" in asked else "success")


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("nlac", {"policy", "successor", "evaluator", "refiner"}), ("sac", {"policy"}),
        ("drlc", {"successor", "evaluator"}), ("critique_rl", {"successor", "evaluator"}), ("ppo", set()),
    ],
)  # fmt: skip
def test_raw_answers_of_every_iteration_are_stored(
    name: str, asked: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every method that asks roles, with the numbers of iterations that ``metrics.jsonl`` has."""
    kept: list[AnswerRecord] = []
    algorithm = make(name)
    algorithm.resources = replace(algorithm.resources, keep_answers=kept.extend)
    answering(algorithm, monkeypatch, ["optimal: no"])
    algorithm.sync()  # as the training loop does
    for number in (1, 2):
        asyncio.run(algorithm.update([episode("t", [1.0])]))
        assert {r.iteration for r in kept} == ({number} if asked else set())
        assert {r.role for r in kept} == asked and all(r.readable for r in kept)
        kept.clear()


def answering(algorithm: Any, monkeypatch: pytest.MonkeyPatch, verdicts: Sequence[str]) -> None:
    """Let the engine answer in every role; ``verdicts`` are the evaluator's answers, in turn."""
    left = itertools.cycle(verdicts)
    said = {"successor": "next: wrong; end: failure", "policy": "red-1", "refiner": "red-2"}

    async def sample(request: SampleRequest) -> list[Sample]:
        answers = [
            next(left) if request.role == "evaluator" else said[request.role] for _ in range(request.n)
        ]
        return [Sample(text, "stop") for text in answers]

    monkeypatch.setattr(algorithm.resources.engine, "sample", sample)


def test_nlqls_share_of_optimal_actions_is_that_of_all_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best of several is optimal more often than an action of the policy, which NLAC's share is of."""
    nlql = make("nlql", num_candidates=4, replay_ratio=1)
    answering(nlql, monkeypatch, ["optimal: no", "optimal: no", "optimal: yes", "optimal: no"])
    for _ in range(2):
        assert asyncio.run(nlql.update([episode("t", [1.0])]))["share_optimal"] == 0.25
    answering(nlql, monkeypatch, ["unreadable"])
    assert "share_optimal" not in asyncio.run(nlql.update([episode("t", [1.0])]))


def test_probes_leave_out_episodes_without_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cut is no failure. Without new episodes those of D are read."""
    algorithm = make("nlac", probes=64)
    answering(algorithm, monkeypatch, ["optimal: yes"])
    won, cut = episode("t", [0.0, 1.0]), episode("u", [0.0] * 3, cut=True)

    def probed(episodes: Sequence[Episode]) -> Any:
        return asyncio.run(algorithm.probe(episodes, False))

    for success in (None, False):
        cut.success = success
        found = probed([won, cut])
        assert found["probes"] == 2 and found["successor_accuracy"] == 0 and "successor_auc" not in found
        assert probed([cut]) == {"probes": 0}
    lost = probed([won, episode("u", [0.0] * 3)])
    assert lost["probes"] == 5 and lost["successor_accuracy"] == 0.6 and lost["successor_auc"] == 0.5
    algorithm.remember([won, cut])
    assert probed([])["probes"] == 2


# --- real iterations ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return signal_env.shared_warm_start(tmp_path_factory, steps=200)


def settings(name: str, **changes: Any) -> Any:
    few = {"mini_batch_size": 64, "max_prompt_length": 48, "max_response_length": 8, "row_tokens": 64}
    return BUILT_IN[name].config({**few, "precision": "fp32", "lr": 1e-3, **changes})


def algorithm_and_episodes(name: str, model: Any, **changes: Any) -> tuple[Any, list[Episode], list[Any]]:
    """A method on the bandit, 16 episodes that it has played, and the list that it passes its texts to."""
    config = settings(name, **changes)
    engine = MeteredEngine(HFEngine(copy.deepcopy(model), signal_env.tokenizer(), deterministic=True))
    prompts = CompactPrompts()
    agent = PolicyAgent(engine, prompts, Sampling(max_tokens=config.max_response_length))
    learner = Learner(copy.deepcopy(model), config.learner(0, **BUILT_IN[name].learner))
    kept: list[Any] = []
    algorithm = BUILT_IN[name].algorithm_class(
        Resources(config, engine, learner, prompts, agent, Signal, 0, 16, keep_critiques=kept.append)
    )
    algorithm.sync()

    async def play() -> list[Episode]:
        specs = [EpisodeSpec("signal", task, 3, 1) for task in Signal().task_ids[:16]]
        return [e async for e in Driver(agent, Signal, concurrency=16).run(specs) if isinstance(e, Episode)]

    return algorithm, asyncio.run(play()), kept


@pytest.mark.slow(reason="pre-trains a small model, then every method plays and learns")
@pytest.mark.parametrize("name", CRITICS)
def test_every_method_with_a_critic_stores_its_texts(name: str, warm: Any) -> None:
    algorithm, episodes, kept = algorithm_and_episodes(name, warm)
    asyncio.run(algorithm.update(episodes, 1))
    (records,) = kept
    by_task = {e.task_id: e for e in episodes}
    assert records and {r.iteration for r in records} == {1} and {r.weight_version for r in records} == {1}
    for r in records:
        played = by_task[r.task]
        assert (r.trial, r.seed, r.step, r.heard) == (3, played.seed, 0, played.first_observation)
        assert (r.played, r.answered) == (played.turns[0].text, played.turns[0].observation)
        assert r.success == played.success and r.predicted in (None, "success", "failure")
    assert any(r.target for r in records) == (name != "self_distillation")
    assert any(r.critique for r in records) == (name != "nlrl")
    assert any(r.future for r in records) and any(r.refined for r in records)
    if name == "self_distillation":
        assert all(r.predicted == ("success" if r.success else "failure") for r in records)
    asyncio.run(algorithm.update(episodes, 1))
    assert {r.iteration for r in kept[1]} == {2} and {r.weight_version for r in kept[1]} == {2}


@pytest.mark.slow(reason="pre-trains a small model, then every method reads states")
@pytest.mark.parametrize("name", CRITICS)
def test_the_probe_set_is_read_alike_by_the_same_weights(name: str, warm: Any) -> None:
    algorithm, episodes, kept = algorithm_and_episodes(
        name, warm, **({} if name == "nlrl" else {"probe_playouts": 2})
    )
    states = [t for e in episodes for t in algorithm.transitions(e)]
    spent = dict(algorithm.resources.engine.usage)

    def read(iteration: int) -> list[ProbeRecord]:
        with spending_on("probe"):
            found: list[ProbeRecord] = asyncio.run(algorithm.read_states(states, iteration))
        return found

    first = read(0)
    assert [r.state for r in first] == list(range(16)) and {r.iteration for r in first} == {0}
    algorithm.replay.iteration = 3
    assert [replace(r, iteration=0) for r in read(5)] == first
    assert not kept and not len(algorithm.replay) and not algorithm.speaking.counts
    assert {purpose for purpose, _ in set(algorithm.resources.engine.usage) - set(spent)} == {"probe"}
    assert all(algorithm.resources.engine.usage[key] == usage for key, usage in spent.items())
    assert any(r.future for r in first) and any(r.critique for r in first) == (name != "nlrl")
    continued = [r for r in first if r.refined_on is not None]
    changed = [r for r in first if r.refined not in (None, r.played)]
    assert continued == changed[:2] and bool(continued) == (name != "nlrl")
    for r in continued:
        assert r.played_on is not None and r.refined_on is not None and r.refined is not None
        assert r.played_on.success == r.success and r.played_on.answered == r.answered
        right = signal_env.share_right([(r.heard, r.refined)]) == 1.0
        assert (r.refined_on.success, r.refined_on.turns) == (right, 1)
        assert r.refined_on.answered == ("right" if right else "wrong")


@pytest.mark.slow(reason="pre-trains a small model, then learns with and without stored texts")
@pytest.mark.parametrize("name", CRITICS)
def test_storing_texts_changes_nothing_that_is_learned(name: str, warm: Any) -> None:
    learned = []
    for most in (256, 3, 0):
        algorithm, episodes, kept = algorithm_and_episodes(name, warm, kept_critiques=most)
        if most == 3:
            asyncio.run(algorithm.read_states([t for e in episodes for t in algorithm.transitions(e)], 0))
        metrics = asyncio.run(algorithm.update(episodes, 1))
        learned.append((metrics, [t.notes for t in algorithm.replay.items]))
        assert len(kept[0]) <= most
    assert learned[0] == learned[1] == learned[2]
