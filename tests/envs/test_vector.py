"""TextVectorEnv: rows at once, a tuple of strings, autoreset at the next step."""

import gc
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from tests.envs.count_down import CountDown, CountDownVector


def test_rows_equal_single_environments() -> None:
    vector = CountDownVector(num_envs=3)
    observations, infos = vector.reset(seed=7)
    singles = [CountDown() for _ in range(3)]
    firsts = [env.reset(seed=7 + i) for i, env in enumerate(singles)]
    assert observations == tuple(first for first, _ in firsts)
    assert list(infos["task_id"]) == [info["task_id"] for _, info in firsts]
    actions = [str(int(o) - 1) for o in observations]
    stepped = vector.step(actions)
    for row, (env, action) in enumerate(zip(singles, actions, strict=True)):
        observation, reward, terminated, truncated, _ = env.step(action)
        assert stepped[0][row] == observation
        assert (stepped[1][row], stepped[2][row], stepped[3][row]) == (reward, terminated, truncated)


def test_same_episodes_as_gymnasiums_sync_vector() -> None:
    ours, theirs = CountDownVector(num_envs=2), SyncVectorEnv([CountDown] * 2)
    assert ours.reset(seed=3)[0] == theirs.reset(seed=3)[0]
    rng = np.random.default_rng(0)
    for _ in range(40):
        actions = tuple(rng.choice(["1", "2", "3", "?"]) for _ in range(2))
        a: tuple[Any, ...] = ours.step(actions)
        b: tuple[Any, ...] = theirs.step(actions)
        assert a[0] == b[0]
        for i in (1, 2, 3):
            assert np.array_equal(a[i], b[i])


def test_next_step_autoreset_is_stated_and_done() -> None:
    vector = CountDownVector(num_envs=2)
    assert vector.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    vector.reset(seed=0, options={"task_id": "2"})
    _, rewards, terminated, _, infos = vector.step(["1", "?"])
    assert rewards.tolist() == [1.0, 0.0] and terminated.tolist() == [True, False]
    assert infos["success"][0] and infos["_success"].tolist() == [True, False]
    observations, rewards, terminated, _, infos = vector.step(["ignored", "1"])
    assert observations[0] in {"2", "3", "4"} and rewards.tolist() == [0.0, 1.0]
    assert terminated.tolist() == [False, True] and infos["_task_id"].tolist() == [True, False]


@pytest.mark.parametrize("remote", [False, True])
def test_a_mask_resets_the_same_rows_as_gymnasiums(remote: bool) -> None:
    ours = CountDownVector(num_envs=3, remote=remote)
    theirs = SyncVectorEnv([lambda: CountDown(remote=remote)] * 3)
    for vector in (ours, theirs):
        vector.reset(seed=0, options={"task_id": "2"})
        vector.step(["1", "1", "?"])
        options = {"reset_mask": np.array([True, False, False]), "task_id": "4"}
        observations, infos = vector.reset(seed=5, options=options)
        assert observations[0] == "4" and observations[1].startswith("1 ") and observations[2] == "Again."
        assert infos["_task_id"].tolist() == [True, False, False]
        assert vector is theirs or set(options) == {"reset_mask", "task_id"}  # the caller's own object
    a: tuple[Any, ...] = ours.step(["3", "ignored", "1"])
    b: tuple[Any, ...] = theirs.step(["3", "ignored", "1"])
    assert a[0] == b[0] and a[0][0].startswith("3 ") and a[0][1] in {"2", "3", "4"}
    assert a[2].tolist() == b[2].tolist() == [False, False, True]
    ours.reset(seed=1)
    assert ours.reset(options={"reset_mask": np.array([True] * 3), "task_id": "3"})[0] == ("3", "3", "3")


@pytest.mark.parametrize(
    "mask",
    [[True, False], np.array([1, 0]), np.array([True]), np.array([[True, True]]), np.array([False, False])],
)
def test_masks_that_gymnasium_refuses_are_refused(mask: Any) -> None:
    for vector in (CountDownVector(num_envs=2), SyncVectorEnv([CountDown] * 2)):
        with pytest.raises((TypeError, ValueError), match="reset_mask") as refused:
            vector.reset(options={"reset_mask": mask})
        assert refused.type is (ValueError if getattr(mask, "dtype", None) == np.bool_ else TypeError)


def test_remote_rows_wait_together() -> None:
    vector = CountDownVector(num_envs=20, remote=True)
    vector.reset(seed=0)
    CountDown.most_waiting = 0
    vector.step(["?"] * 20)
    assert CountDown.most_waiting == 20


def test_seeds_by_list_and_wrong_lengths() -> None:
    vector = CountDownVector(num_envs=2)
    assert vector.reset(seed=[5, 5])[0][0] == vector.reset(seed=[5, 5])[0][1]
    with pytest.raises(ValueError, match="2 actions"):
        vector.step(["1"])
    with pytest.raises(ValueError, match="2 actions"):
        vector.step("12")
    with pytest.raises(ValueError, match="num_envs"):
        CountDownVector(num_envs=0)


def test_async_vector_env_without_shared_memory() -> None:
    vector = AsyncVectorEnv([CountDown, CountDown], shared_memory=False)
    try:
        first, _ = vector.reset(seed=1, options={"task_id": "3"})
        assert first == ("3", "3")
        observations, *_ = vector.step(("2", "nonsense"))
        assert observations[0].startswith("2 ") and observations[1] == "Again."
    finally:
        vector.close()


def test_remote_environment_in_forked_workers() -> None:
    single = CountDown(remote=True)
    single.reset(seed=0)  # the parent's loop thread is running before the fork
    vector = AsyncVectorEnv([lambda: CountDown(remote=True)] * 2, shared_memory=False, context="fork")
    try:
        assert vector.reset(seed=1, options={"task_id": "2"})[0] == ("2", "2")
    finally:
        vector.close()


@pytest.mark.parametrize("name", ["nlac_bench/TauRetail-v0", "nlac_bench/TwentyQuestions-v0"])
def test_make_vec_async_without_arguments(name: str) -> None:
    vector = gymnasium.make_vec(name, num_envs=2, vectorization_mode="async")
    single = gymnasium.make(name)
    try:
        observations, infos = vector.reset(seed=3)
        assert isinstance(observations, tuple)
        assert observations == (single.reset(seed=3)[0], single.reset(seed=4)[0])
        assert observations[0] in infos["messages"][0][-1]["content"]
        answers, *_ = vector.step(("Is it alive?", "Is it alive? é🙂"))
        assert observations != answers and all(isinstance(text, str) and text for text in answers)
        single.reset(seed=4)
        assert answers[1] == single.step("Is it alive? é🙂")[0]
    finally:
        vector.close()


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_shared_texts_between_processes(context: str) -> None:
    vector = AsyncVectorEnv([CountDown, CountDown], context=context)
    folder = vector.observations._folder
    try:
        assert vector.reset(seed=1, options={"task_id": "3"})[0] == ("3", "3")
        observations, *_ = vector.step(("2", "nonsense"))
        assert observations[0].startswith("2 ") and observations[1] == "Again."
        assert folder.is_dir()
    finally:
        vector.close()
    assert folder.is_dir(), "a worker that ends does not remove it"
    del vector
    gc.collect()
    assert not folder.exists()
