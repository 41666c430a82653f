"""How often a run makes its environment: a constructor may be expensive."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.agents.methods import BUILT_IN
from nlac_bench.agents.names import FLOORS
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.driver import Driver
from tests.cli.command import call

SMALL = ("--model", "tiny", "--budget", "steps=1", "--max-tokens", "16", "--concurrency", "4")
TRAIN = (
    "train_batch_size=8", "mini_batch_size=2", "val_tasks=2", "max_response_length=16", "row_tokens=256",
    "precision=fp32",
)  # fmt: skip
TRAINED = (*SMALL, *(word for setting in TRAIN for word in ("--train", setting)))
PLAIN = "tests.envs.plain_env:nlac_bench_test/Echo-v0"
ENV_OF = {"rft": "prompts", "ppo": "tau_retail"} | dict.fromkeys(
    ("archer", "early_experience"), "shop_worlds"
)
WORLDS = 'shop_worlds@{"rules": "told", "worlds": "held_out", "level": "easy"}'


class BegunError(NlacBenchError):
    """Ends a command at the first reset of an episode."""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The splits of all environments that were made, in order."""
    found: list[str] = []
    construct: Callable[..., None] = TextEnv.__init__

    def counted(env: TextEnv, **arguments: Any) -> None:
        construct(env, **arguments)
        found.append(env.split)

    monkeypatch.setattr(TextEnv, "__init__", counted)
    return found


def ends_at_the_first_episode(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    async def stop(*_: Any) -> None:
        raise BegunError("an episode begins")

    monkeypatch.setattr(Driver, "_play_turns", stop)
    done = call("run", *arguments)
    assert "an episode begins" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("env", "agent", "splits"),
    [
        ("tau_retail", "oracle", "test"),
        ("tau_airline", "constant", "test train"),
        (PLAIN, "random", "test"),
        ("tau_retail", "react", "test"),
        ("tau_retail", "nlac", "train test validation"),
        ("math500_hard", "sac", "train test validation"),
        (PLAIN, "nlac", "train test"),
        (WORLDS, "oracle", "test"),
        (WORLDS, "nlac", "train test validation"),
    ],
)
def test_each_environment_is_made_once_before_the_first_episode(
    env: str, agent: str, splits: str, tmp_path: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    more = TRAINED if agent in BUILT_IN else () if agent in FLOORS else ("--model", "tiny")
    run = ("--env", env, "--agent", agent, "--limit", "2", "--out", str(tmp_path / "run"))
    ends_at_the_first_episode(monkeypatch, *run, *more)
    assert made == splits.split()


@pytest.mark.parametrize("method", sorted(BUILT_IN.keys() - {"nlac", "sac"}))
def test_all_methods_make_each_environment_once_before_the_first_episode(
    method: str, tmp_path: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    env = ENV_OF.get(method, "first_steps")
    run = ["--env", env, "--agent", method, "--limit", "2", "--out", str(tmp_path / "run")]
    if env == "prompts":
        (tmp_path / "rows.jsonl").write_text('{"question": "1 + 1?", "answer": 2}\n' * 12)
        run += ["--data", str(tmp_path / "rows.jsonl")]
    ends_at_the_first_episode(monkeypatch, *run, *TRAINED)
    assert made == (["train", "test"] if env == "prompts" else ["train", "test", "validation"])


@pytest.mark.official
@pytest.mark.parametrize("agent", ["oracle", "nlac"])
@pytest.mark.parametrize("env", ["tau_retail", "tau_airline", "math500_hard", "twenty_questions"])
def test_official_environments_are_made_once_before_the_first_episode(
    env: str, agent: str, official_data: Path, tmp_path: Path, made: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    run = ("--env", env, "--data", "official", "--limit", "2", "--out", str(tmp_path / "run"))
    served = ("--user-model", "m", "--user-base-url", "http://127.0.0.1:9/v1") if "tau" in env else ()
    trained = TRAINED if agent == "nlac" else ()
    ends_at_the_first_episode(monkeypatch, *run, "--agent", agent, *served, *trained)
    assert len(made) == len(set(made)) <= 3


@pytest.mark.slow  # it trains for a step
@pytest.mark.parametrize("agent", ["nlac", "ppo"])
def test_a_training_run_makes_its_environments_for_episodes_that_play_at_the_same_time(
    agent: str, tmp_path: Path, made: list[str]
) -> None:
    run = ("--env", "tau_retail", "--agent", agent, "--limit", "2", "--out", str(tmp_path / "run"), "--json")
    whole = ("--train", "max_response_length=48")  # answers of the roles that are cut cannot be learned from
    done = call("run", *run, *TRAINED, *whole)
    assert done.returncode == 0, done.stderr
    # Up to four episodes are played at the same time in training, and two in a validation. One environment of
    # each split answers questions. The two test tasks are played by the base model, the trained one and four
    # references, each in at most two environments; one of them is the one that answers questions.
    assert (made.count("train"), made.count("validation")) == (5, 3)
    assert made.count("test") <= 6 * 2
