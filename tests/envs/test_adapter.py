"""A plain Gymnasium environment as a TextEnv: tasks, seeds, ends, forks, and what is refused."""

import asyncio
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from nlac_bench.agents.floors import RandomAgent, search_constant
from nlac_bench.envs import TextEnv, registry
from nlac_bench.envs.adapter import MAX_INVALID, MAX_STEPS, PlainEnv
from nlac_bench.errors import NlacBenchError, UnknownIdError
from nlac_bench.harness.measure.estimate import estimate_of
from nlac_bench.harness.measure.play import play
from nlac_bench.harness.measure.prepare import outline, prepare
from nlac_bench.harness.runs.configuration import ConfigError, RunConfig
from nlac_bench.harness.runs.episode_json import episode_from_row, episode_to_row
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.rollout.driver import Driver, EpisodeSpec
from nlac_bench.stats.summary import summarise
from nlac_bench.types import Episode
from tests.envs.count_down import CountDown
from tests.envs.plain_env import Echo

PLAIN = "tests.envs.plain_env:nlac_bench_test/Echo-v0"
CUT = "tests.envs.plain_env:nlac_bench_test/EchoCut-v0"
UNREPORTED = "tests.envs.plain_env:nlac_bench_test/EchoUnreported-v0"
LOCKED = "tests.envs.plain_env:nlac_bench_test/EchoLocked-v0"


def made(text: str = PLAIN, **kwargs: object) -> PlainEnv:
    env = registry.make_text_env(text, **kwargs)
    assert isinstance(env, PlainEnv)
    return env


def test_make_leaves_a_plain_environment_alone_and_text_envs_are_not_wrapped() -> None:
    assert isinstance(registry.make(PLAIN).unwrapped, Echo)
    assert not isinstance(registry.make_text_env("tau_retail"), PlainEnv)


def test_an_episode_is_that_of_the_plain_environment() -> None:
    plain, adapted = Echo(), made()
    for seed in range(5):
        first, own = plain.reset(seed=seed)
        observation, info = adapted.reset(seed=seed, options={"task_id": "episode-3"})
        assert observation == first and info["palette"] == own["palette"] == 5
        assert info["task_id"] == "episode-3" and info["tools"] == []
        for action in ("red", "blue", "green"):
            expected = plain.step(action)
            got = adapted.step(action)
            assert got[:4] == expected[:4]
            assert got[4] == {"action_kind": "message", **expected[4]}
            if expected[2]:
                break


def test_policy_is_what_the_docstring_tells_a_player() -> None:
    info = made().reset(seed=0)[1]
    expected = (
        "Say the colour that you are shown.\n\nAction Space:\nOne word.\n\n"
        "Reward:\n1 for the colour, 0 for another word."
    )
    assert info["policy"] == expected
    assert info["messages"][0] == {"role": "system", "content": expected}


def test_tasks_and_splits() -> None:
    assert len(made().task_ids) == 100 and len(made(episodes=250).task_ids) == 250
    train = registry.make_training_env(PLAIN)
    assert isinstance(train, PlainEnv) and len(train.task_ids) == 1_000
    assert not set(train.task_ids) & set(made(episodes=2_000).task_ids)
    with pytest.raises(UnknownIdError, match="episode-0"):
        train.reset(options={"task_id": "episode-0"})


def test_a_training_task_begins_alike_whatever_the_rollouts_seed() -> None:
    train = registry.make_training_env(PLAIN)
    starts = [
        {train.reset(seed=seed, options={"task_id": task})[0] for seed in range(6)}
        for task in train.task_ids[:40]
    ]
    assert all(len(each) == 1 for each in starts)
    assert len(set.union(*starts)) == 5, "tasks differ from each other"


def test_fork_in_the_middle_of_an_episode() -> None:
    env = made()
    env.reset(seed=1)
    env.step("nothing")
    twin = env.fork()
    assert twin.wrapped.unwrapped is not env.wrapped.unwrapped
    ahead = [twin.step("nothing")[0], twin.step("nothing")[0]]
    assert [env.step("nothing")[0], env.step("nothing")[0]] == ahead
    with pytest.raises(ResetNeeded):
        env.step("nothing")


def test_gymnasiums_time_limit_truncates() -> None:
    env = made(CUT)
    assert env.max_steps == 2
    env.reset(seed=0)
    assert env.step("a")[2:4] == (False, False)
    _, _, terminated, truncated, info = env.step("b")
    assert (terminated, truncated) == (False, True) and "success" not in info


@pytest.mark.parametrize(
    ("steps", "stated", "played", "cut"),
    [
        (10**9, None, MAX_STEPS, True),
        (MAX_STEPS + 1, None, MAX_STEPS, True),
        (MAX_STEPS, None, MAX_STEPS, False),
        (10**9, MAX_STEPS + 5, MAX_STEPS + 5, False),
        (MAX_STEPS + 5, MAX_STEPS + 9, MAX_STEPS + 5, False),
    ],
)
def test_without_a_stated_limit_an_episode_is_truncated_after_the_default(
    steps: int, stated: int | None, played: int, cut: bool
) -> None:
    wrapped = Echo(steps=steps)
    spec = gymnasium.envs.registration.EnvSpec("nlac_bench_test/Long-v0", max_episode_steps=stated)
    wrapped.spec = spec
    env = PlainEnv(gymnasium.wrappers.TimeLimit(wrapped, stated) if stated else wrapped, "long")
    for _ in range(2):
        env.reset(seed=0)
        ends = [env.step("nothing")[2:4] for _ in range(played)]
        assert ends[:-1] == [(False, False)] * (played - 1)
        assert ends[-1] == (steps == played, steps != played) and env.cut is cut
        with pytest.raises(ResetNeeded):
            env.step("nothing")


def test_an_exception_on_an_action_outside_the_space_is_an_invalid_action() -> None:
    env = made(PLAIN, strict=True)
    env.reset(seed=0)
    for number in range(1, MAX_INVALID + 1):
        observation, reward, terminated, truncated, info = env.step("two words")
        assert observation == "Invalid action: 'two words' is not a word" and reward == 0.0
        assert info == {"action_kind": "invalid", "error": "ValueError: 'two words' is not a word"}
        assert not terminated and truncated == (number == MAX_INVALID)


def test_an_exception_on_an_action_inside_the_space_is_raised() -> None:
    env = made()
    env.reset(seed=0)
    with pytest.raises(RuntimeError, match="a bug of the environment"):
        env.step("crash")


def test_random_actions_come_from_the_action_space_and_the_given_generator() -> None:
    env = made()
    actions = [env.random_action(np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert actions[0] == actions[1] != actions[2] and all(map(env.action_space.contains, actions))
    with pytest.raises(NlacBenchError, match="no oracle action"):
        env.oracle_action()


def test_close_closes_the_plain_environment() -> None:
    env = made()
    env.close()
    assert env.wrapped.unwrapped.closed  # type: ignore[attr-defined]


def test_other_than_text_is_refused() -> None:
    with pytest.raises(NlacBenchError, match="CartPole-v1 has the observation space Box"):
        registry.make_text_env("CartPole-v1")


def test_the_driver_plays_it() -> None:
    async def played() -> list[Episode]:
        driver = Driver(RandomAgent(), lambda: registry.make_playable(PLAIN), concurrency=4)
        specs = [EpisodeSpec(PLAIN, f"episode-{i}", 0, i) for i in range(8)]
        return [result async for result in driver.run(specs)]  # type: ignore[misc]

    episodes = asyncio.run(played())
    assert {e.task_id for e in episodes} == {f"episode-{i}" for i in range(8)}
    assert all(e.terminated and e.success is not None and len(e.turns) <= 3 for e in episodes)


@pytest.mark.parametrize(("steps", "cut"), [(1, False), (2, False), (3, True)])
def test_an_episode_that_terminates_at_the_limit_was_not_cut(steps: int, cut: bool) -> None:
    """Its value is known, so nothing may be bootstrapped; ``TimeLimit`` returns both ends."""

    def make_env() -> PlainEnv:
        return PlainEnv(gymnasium.wrappers.TimeLimit(Echo(steps=steps), 2), "limited")

    async def played() -> Episode:
        driver = Driver(RandomAgent(), make_env, concurrency=1)
        (result,) = [result async for result in driver.run([EpisodeSpec("limited", "episode-0", 0, 1)])]
        assert isinstance(result, Episode)
        return result

    episode = asyncio.run(played())
    assert (episode.terminated, episode.truncated) == (not cut, cut)
    stored = {**episode_to_row(episode), "truncated": True}  # as earlier versions stored it
    assert episode_from_row(stored).truncated is cut


# --- runs -----------------------------------------------------------------------------------------------


def measured(env: str, folder: Path) -> str:
    prepared = prepare(RunConfig(env=env, agent="random", limit=4))
    with RunWriter.create(
        folder, config={}, conditions=prepared.conditions, subject=prepared.subject, plan=prepared.plan
    ) as writer:
        asyncio.run(play(prepared, writer, lambda result: None))
    return summarise(folder).to_text()


def test_without_info_success_a_run_shows_the_mean_reward_and_says_what_is_missing(tmp_path: Path) -> None:
    text = measured(UNREPORTED, tmp_path / "unreported")
    rows = {line.split("  ")[0]: line.split()[-2:] for line in text.splitlines() if "  " in line}
    assert rows["success"] == ["–", "–"]
    assert rows["mean reward"] != ["–", "–"]
    assert "4 episodes ended without info['success']" in text and "to get a success rate" in text
    told = measured(PLAIN, tmp_path / "reported")
    assert "info['success']" not in told and "success      0.000" in told


@pytest.mark.parametrize(
    ("env", "message"),
    [(UNREPORTED, "end without info\\['success'\\]"), (LOCKED, "cannot pickle '_thread.lock' object")],
)
def test_what_cannot_be_trained_on_is_refused_in_a_dry_run_too(env: str, message: str) -> None:
    config = RunConfig.from_mapping({"env": env, "agent": "ppo", "model": "tiny", "train": {}}, "test")
    for refuse in (outline, estimate_of):
        with pytest.raises(NlacBenchError, match=f"cannot be trained on.*{message}"):
            refuse(config)
    outline(RunConfig(env=env, agent="random"))  # measured it can be


def test_a_dry_run_of_training_estimates_by_random_actions() -> None:
    pytest.importorskip("torch", reason="a plan of a training run needs the training packages")
    planned = estimate_of(
        RunConfig.from_mapping(
            {"env": PLAIN, "agent": "ppo", "model": "tiny", "train": {}, "limit": 7}, "test"
        )
    )
    assert planned.planned == 7 and planned.turns_per_episode == 3.0 and planned.training is not None


def test_agents_that_need_an_oracle_or_actions_are_refused() -> None:
    for agent in ("oracle", "constant"):
        with pytest.raises(ConfigError, match="use 'random' or 'silent' instead"):
            outline(RunConfig(env=PLAIN, agent=agent))


class Own(Echo):
    """Say a colour."""

    def random_action(self, rng: np.random.Generator) -> str:
        return str(rng.choice(["red", "teal"]))


class OwnText(CountDown):
    def random_action(self, rng: np.random.Generator) -> str:
        return f"{self._state.number - int(rng.integers(2))}"


def test_floors_use_the_random_action_of_an_own_environment() -> None:
    env = PlainEnv(Own(), "own")
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    assert {env.random_action(rng) for _ in range(20)} == {"red", "teal"}
    assert sorted(env.constant_actions()) == ["red", "teal"]
    assert search_constant(PlainEnv(Own(), "own", split="train"), tasks=20).action == "red"
    locked = PlainEnv(Own(locked=True), "own")  # it cannot be copied
    assert sorted(locked.constant_actions()) == ["red", "teal"]
    with pytest.raises(ResetNeeded):
        locked.step("red")
    running = OwnText()
    first = running.reset(seed=3)
    assert set(running.constant_actions()) <= {"1", "2", "3", "4"} and running.constant_actions()
    again = OwnText()
    again.reset(seed=3)
    assert running.step("9")[:2] == again.step("9")[:2], (first, "the running episode is not changed")
    assert CountDown().constant_actions() == () and PlainEnv(Echo(), "echo").constant_actions() == ()


class Wrong(Echo):
    def random_action(self) -> str:
        return "red"


class Fails(Echo):
    def random_action(self, rng: np.random.Generator) -> str:
        raise ValueError("no idea")


class OneText(Echo):
    def random_action(self, rng: np.random.Generator) -> int:
        return 4

    def constant_actions(self) -> str:
        return "red"


class Nothing(Echo):
    def random_action(self, rng: np.random.Generator) -> None:
        """Returns nothing."""

    def constant_actions(self) -> list[str | None]:
        return ["red", None]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Wrong, "random_action of own failed: TypeError: .*takes 1 positional argument but 2 were given"),
        (Fails, r"random_action of own failed: ValueError: no idea \(test_adapter.py, line"),
        (OneText, "returned (the action 4; it must be a str|'red'; it must be a list of actions)"),
        (Nothing, "_actions? of own returned the action None; it must be a str"),
    ],
)
def test_a_random_action_that_fails_or_returns_no_text_is_named(kind: type[Echo], said: str) -> None:
    env = PlainEnv(kind(), "own")
    env.reset(seed=0)
    for play_it in (lambda: env.random_action(np.random.default_rng(0)), env.constant_actions):
        with pytest.raises(NlacBenchError, match=said):
            play_it()


def test_what_is_called_random_action_and_is_no_method_is_not_used() -> None:
    env = Echo()
    env.random_action = "red"  # type: ignore[attr-defined]
    plain = PlainEnv(env, "own")
    assert plain.constant_actions() == () and plain.random_action(np.random.default_rng(0)) != "red"


def test_a_text_env_without_a_split_is_refused_for_training() -> None:
    class Unsplit(TextEnv):
        """Has one split."""

        name, max_steps = "unsplit", 1

        def __init__(self) -> None:
            super().__init__(task_ids=("a",))

    gymnasium.register("nlac_bench_test/Unsplit-v0", Unsplit)  # type: ignore[arg-type]
    try:
        with pytest.raises(NlacBenchError, match="does not accept split='train'"):
            registry.make_training_env("nlac_bench_test/Unsplit-v0")
    finally:
        del gymnasium.registry["nlac_bench_test/Unsplit-v0"]
