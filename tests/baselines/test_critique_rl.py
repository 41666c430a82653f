"""Critique-RL: what its critic reads and is trained on."""

import asyncio
import copy
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any

import pytest

from nlac_bench.rollout.engines.engine import Sample, SampleRequest
from tests.baselines import signal_env
from tests.baselines.signal_env import BUTTONS, CHANCE, COLOURS, right_button
from tests.baselines.test_controls import trained
from tests.baselines.test_parts import episode, make


def foreseeing(
    algorithm: Any, monkeypatch: pytest.MonkeyPatch, ends: Sequence[str]
) -> list[tuple[str, list[int]]]:
    """Let futures have ``ends`` in turn, while each critique repeats its future's verdict, as ``tiny`` does.
    Return the roles and the tokens of all answers."""
    left, given = cycle(ends), list[tuple[str, list[int]]]()
    tokenizer = algorithm.resources.tokenizer

    async def sample(request: SampleRequest) -> list[Sample]:
        shown = str(request.messages)
        verdict = "optimal: yes" if "end: success" in shown else "optimal: no; why: wrong"
        predicts = request.role == "successor"
        texts = [f"next: wrong; {next(left)}" if predicts else verdict for _ in range(request.n)]
        ids = [[*tokenizer(text, add_special_tokens=False)["input_ids"], 1] for text in texts]
        given.extend((request.role, each) for each in ids)
        return [Sample(text, "stop", ids=each) for text, each in zip(texts, ids, strict=True)]

    monkeypatch.setattr(algorithm.resources.engine, "sample", sample)
    return given


def test_each_critique_has_its_own_futures_which_are_learned_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The action failed. Two of four critiques say so, because of their futures; one future cannot be read,
    so that its critic gives no verdict. The others of the same action are compared with them."""
    algorithm = make("critique_rl", stage_one=1.0)
    given = foreseeing(algorithm, monkeypatch, ["end: failure", "end: success", "end: right", "end: failure"])
    found = trained(algorithm, monkeypatch, [episode("red-5", [0.0])])
    assert [role for role, _ in given] == ["successor"] * 4 + ["evaluator"] * 3
    futures, critiques = [ids for _, ids in given[:4]], [ids for _, ids in given[4:]]
    expected = [futures[0], critiques[0], futures[1], critiques[1], futures[2], futures[3], critiques[2]]
    own = [[i for i, m in zip(s.ids, s.loss_mask, strict=True) if m] for s in found]
    assert own == expected and {s.loss for s in found} == {"critic"}
    # r = 1, −1, −1, 1 against the means of the others
    of_each = [s.advantages[-1] for s in found if s.advantages]
    assert of_each == pytest.approx([x * 4 / 3 for x in (1, 1, -1, -1, -1, 1, 1)])


def test_equal_critiques_of_equal_futures_teach_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Right or wrong: all rewards are equal."""
    for ends in (["end: failure"], ["end: success"]):
        algorithm = make("critique_rl", stage_one=1.0)
        foreseeing(algorithm, monkeypatch, ends)
        assert trained(algorithm, monkeypatch, [episode("red-5", [0.0])]) == []


def test_a_critique_reads_all_futures_that_were_drawn_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    algorithm = make("critique_rl", stage_one=1.0, num_nlq_samples=2, num_critiques=2)
    given = foreseeing(algorithm, monkeypatch, ["end: failure", "end: failure", "end: success", "end: right"])
    found = trained(algorithm, monkeypatch, [episode("red-5", [0.0])])
    assert [role for role, _ in given] == ["successor"] * 4 + ["evaluator"] * 2
    assert [s.advantages[-1] for s in found if s.advantages] == pytest.approx([2.0] * 3 + [-2.0] * 3)
    read = [algorithm.resources.tokenizer.decode(found[n].ids) for n in (2, 5)]
    assert [text.count("end: failure") for text in read] == [2, 0]
    assert [text.count("end: success") for text in read] == [0, 1], "what cannot be read is not shown"


@pytest.mark.slow(reason="up to 32 updates on 64 actions")
def test_a_critic_that_repeats_its_futures_learns_which_come_true(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all actions, a quarter is right. From shuffled outcomes only this share can be learned."""
    warm = signal_env.shared_warm_start(tmp_path_factory)
    monkeypatch.setattr(signal_env, "random_model", lambda: copy.deepcopy(warm))
    pairs = [(colour, button) for colour in COLOURS for button in BUTTONS[colour]] * 8

    def accuracies(shuffled: bool, updates: int) -> list[float]:
        algorithm = make(
            "critique_rl",
            stage_one=1.0,
            lr=1e-3,
            kl_coef=0.0,
            mini_batch_size=64,
            transitions_per_iteration=64,
        )
        algorithm.sync()
        rng, found = random.Random(0), [0.0]
        while len(found) <= updates and found[-1] < 0.9:
            played = []
            for trial, (colour, button) in enumerate(pairs):
                won = rng.random() < CHANCE if shuffled else button == right_button(colour)
                pressed = replace(episode(f"{colour}-0", [float(won)]), first_observation=colour, trial=trial)
                pressed.turns[0] = replace(pressed.turns[0], text=button)
                played.append(pressed)
            found.append(asyncio.run(algorithm.update(played))["verdict_accuracy"])
        return found[1:]

    right = accuracies(False, 16)
    assert right[0] < 0.7 and right[-1] >= 0.9, right
    assert max(shuffled := accuracies(True, len(right))) < 0.85, shuffled
