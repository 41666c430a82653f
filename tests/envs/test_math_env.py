"""math500_hard as an environment: its data, its one step, and what counts as which end."""

import asyncio
import gzip
import json
import pickle
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv

from nlac_bench.agents.floors import CopyAgent
from nlac_bench.envs.math500_hard import Math500HardEnv, Math500HardEnvVector
from nlac_bench.envs.math500_hard import env as env_module
from nlac_bench.envs.text_env import MAX_ACTION_CHARS
from nlac_bench.errors import DataError, EnvInfraError, UnknownIdError
from nlac_bench.simulators.math_grader import copies
from nlac_bench.simulators.math_grader.grader import Grader

ID = "nlac_bench/Math500Hard-v0"


@pytest.fixture(scope="module")
def env() -> Math500HardEnv:
    return Math500HardEnv(num_tasks=40)


def row(**changes: Any) -> dict[str, Any]:
    base = {"unique_id": "test/algebra/1.json", "problem": "What is $1 + 1$?", "answer": "2",
            "subject": "Algebra", "level": 5}  # fmt: skip
    return {**base, **changes}


def folder_of(path: Path, *rows: Any) -> Path:
    path.joinpath("math500.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


# --- one step --------------------------------------------------------------------------------------


def test_a_right_answer_earns_one_and_a_wrong_one_nothing(env: Math500HardEnv) -> None:
    for task_id in env.task_ids[:20]:
        observation, info = env.reset(options={"task_id": task_id})
        gold = env.oracle_action()
        assert observation and info["level"] == 5 and info["subject"]
        _, reward, terminated, truncated, end = env.step(gold)
        assert (reward, terminated, truncated) == (1.0, True, False)
        assert (end["success"], end["end_reason"], end["action_kind"]) == (True, "success", "message")
        assert end["reward_parts"] == {"correct": 1.0, "ungraded": 0.0} and end["ungraded"] is None

        env.reset(options={"task_id": task_id})
        observation, reward, terminated, truncated, end = env.step(r"I guess \boxed{-987654321}.")
        assert (reward, terminated, truncated) == (0.0, True, False)
        assert (end["success"], end["end_reason"], end["action_kind"]) == (False, "failure", "message")
        assert end["reward_parts"] == {"correct": 0.0, "ungraded": 0.0}


@pytest.mark.parametrize(
    "action",
    [
        "",
        "The answer is 42.",
        r"\boxed{}",
        r"\boxed{ }",
        "\\boxed",
        "x" * (MAX_ACTION_CHARS + 1),
        "\ud800",
        None,
        7,
    ],
)
def test_an_action_without_an_answer_is_an_invalid_failure(env: Math500HardEnv, action: Any) -> None:
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(action)
    assert observation.startswith("Invalid action") and (reward, terminated, truncated) == (0.0, True, False)
    assert info["action_kind"] == "invalid" and info["end_reason"] == "failure" and info["success"] is False


def test_the_last_box_counts(env: Math500HardEnv) -> None:
    env.reset(seed=1)
    gold = env.oracle_action()
    assert env.step(rf"First \boxed{{-987654321}}, but no: {gold}")[1] == 1.0
    env.reset(seed=1)
    assert env.step(rf"{gold} or is it \boxed{{-987654321}}?")[1] == 0.0


def test_an_answer_that_cannot_be_graded_in_time_is_a_marked_failure(
    env: Math500HardEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Grader(timeout_s=1e-4) as impatient:
        monkeypatch.setattr(env_module, "default_grader", lambda: impatient)
        env.reset(seed=2)
        observation, reward, terminated, _, info = env.step(
            r"\boxed{\int_0^1 \sin(x^2)\,dx + \sqrt{2}^{\pi}}"
        )
    assert (reward, terminated, info["end_reason"]) == (0.0, True, "failure")
    assert info["reward_parts"] == {"correct": 0.0, "ungraded": 1.0}
    assert "time-out" in info["ungraded"] and info["ungraded"] in observation
    assert info["success"] is False and info["action_kind"] == "message"


def test_a_dead_grader_is_an_infrastructure_error_and_no_score(
    env: Math500HardEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = Grader()
    dead.close()
    monkeypatch.setattr(env_module, "default_grader", lambda: dead)
    env.reset(seed=2)
    with pytest.raises(EnvInfraError):
        env.step(r"\boxed{\int_0^1 \sin(x^2)\,dx}")


def test_gold_answers_stay_out_of_info(env: Math500HardEnv) -> None:
    for task_id in env.task_ids:
        _, info = env.reset(options={"task_id": task_id})
        text = json.dumps(info)
        assert env.oracle_action() not in text and "boxed{" + env._state.problem.answer not in text
        assert not {"gold", "answer", "solution", "work"} & set(info)
        end = env.step(r"\boxed{-987654321}")[4]
        assert not {"gold", "answer", "solution", "work"} & set(end)


# --- copies of the statement -------------------------------------------------------------------------


def test_an_expression_of_the_statement_is_not_an_answer(tmp_path: Path) -> None:
    sum_of = row(problem=r"Compute $\sum_{k=1}^{3} k$.", answer="6")
    product = row(unique_id="test/algebra/2.json", problem="Expand $(x+1)(x+2)$.", answer="x^2+3x+2")
    factored = row(unique_id="test/algebra/3.json", problem="Is $(x+1)^2$ or $x$ larger?", answer="(x+1)^2")
    degrees = row(unique_id="test/algebra/4.json", problem=r"Angle $A$ is $60^\circ$. And $B$?", answer="60")
    env = Math500HardEnv(data=folder_of(tmp_path, sum_of, product, factored, degrees))

    def reward(task: int, action: str) -> float:
        env.reset(options={"task_id": f"test/algebra/{task}.json"})
        return float(env.step(rf"So \boxed{{{action}}}.")[1])

    assert reward(1, r"\sum_{k=1}^{3} k") == reward(1, r"V = \sum_{k=1}^{3} k") == 0
    assert reward(1, r"\sum_{k=1}^{3} k = 6") == reward(1, "6") == 1
    assert reward(2, r"\left(x+1\right)(x + 2)") == 0  # but another factored form is accepted
    assert reward(2, "(x+2)(x+1)") == reward(2, "x^2+3x+2") == 1
    assert reward(2, "V = (x + 1)(x + 2)") == reward(2, "{((x+1)(x+2))}") == 0
    assert reward(2, r"\text{Area} = (x+1)(x+2) \text{ cm}^2") == reward(2, "f(x) = (x+1)(x+2)") == 0
    assert reward(2, "V = (x+2)(x+1)") == reward(2, "(x+1)(x+2) = x^2+3x+2") == 1
    assert reward(3, "(x + 1)^2") == reward(3, "y = (x + 1)^2") == reward(4, r"60^\circ") == 1
    env.reset(options={"task_id": "test/algebra/2.json"})  # the grader reads what is in <answer>
    assert env.step(r"\boxed{0} <answer>(x+1)(x+2)</answer>")[1] == 0


@pytest.mark.parametrize(
    ("statement", "gold", "copied", "evaluated"),
    [
        (
            r"Simplify $\sqrt{242}$.",
            r"11\sqrt2",
            [
                r"\sqrt{242}", r"x = \sqrt{242}", r"{\sqrt{242}}", r"\left(\sqrt{242}\right)",
                r"\text{The root is } \sqrt{242}", r"\sqrt{242}\text{ cm}^2", r"[ABC] = \sqrt{242}", "√242",
                r"f^{-1}(3) = \sqrt{242}", r"\theta \in \{\sqrt{242}\}", r"\sqrt{242} = \sqrt{242}",
            ],
            [r"\sqrt{242} = 11\sqrt2", r"x = 11\sqrt{2}", r"\sqrt{242} = 11\sqrt2 cm", r"\sqrt{2 \cdot 121}"],
        ),
        (r"Simplify $\frac{x^3}{x^2}$.", "x", [r"y = \frac{x^3}{x^2}"], [r"\frac{x^3}{x^2} = x"]),
        (r"Simplify $\frac{a^2b}{a}$.", "ab", [r"\frac{a^2b}{a}"], [r"\frac{a^2b}{a} = ba"]),
        (r"Simplify $\tan x \cos x$.", r"\sin x", [r"y = \tan x\cos x"], [r"\tan x \cos x = sin x"]),
        (r"Compute $i^5$.", "i", ["z = i^5"], ["i^5 = i"]),
        (r"Compute $\sum_{k=1}^9 k$.", "45", [r"V = \sum_{k=1}^9 k"], [r"\sum_{k=1}^9 k = 45"]),
        (r"Find $u + v$ if $u = v = 4.5$.", "9", [], ["u+v = 9"]),
        (r"Solve $y - 3 = 2x$ for $y$.", "y = 2x + 3", ["y - 3 = 2x"], ["y = 2x+3", "2x+3"]),
        (
            r"Convert $-420^\circ$ to radians.",
            r"-\frac{7\pi}{3}",
            [r"-420^\circ", r"-420\text{ degrees}", "-420°", r"(-420)^\circ", r"x = \text{-420 degrees}"],
            [r"-420^\circ = -\frac{7\pi}{3}", r"-\frac{14\pi}{6}", r"-300^\circ"],
        ),
        (r"Convert $\pi$ radians to degrees.", r"180^\circ", [r"\pi"], [r"180", r"\pi = 180^\circ"]),
    ],
)  # fmt: skip
def test_words_names_and_brackets_do_not_hide_a_copy(
    statement: str, gold: str, copied: list[str], evaluated: list[str]
) -> None:
    def is_copy(answer: str) -> bool:
        return copies.is_copy(rf"So \boxed{{{answer}}}.", statement, gold)

    assert [each for each in copied if not is_copy(each)] == []
    assert [each for each in evaluated if is_copy(each)] == []


@pytest.mark.parametrize("levels", [1, 20, 21, 900, 5000])
def test_many_brackets_neither_hide_a_copy_nor_take_long(levels: int) -> None:
    def is_copy(answer: str) -> bool:
        return copies.is_copy(rf"\boxed{{{'(' * levels}{answer}{')' * levels}}}", "Find $3 + 4$.", "7")

    began = time.perf_counter()
    assert is_copy("3 + 4") and is_copy("8 - 1") == (levels > 20)
    assert time.perf_counter() - began < 1


def test_an_angle_in_degrees_is_not_its_conversion_to_radians() -> None:
    env = Math500HardEnv(level=1)
    conversions = [task for task in env.task_ids if "degrees_and_radians" in task]
    assert conversions
    for task in conversions:
        statement, _ = env.reset(options={"task_id": task})
        for kind, action in env.copied_actions():
            assert env.fork().step(action)[1] == 0, (kind, action, statement)
        assert env.step(env.oracle_action())[1] == 1


def test_the_floor_copy_tries_the_expressions_of_the_statement(tmp_path: Path) -> None:
    rows = [
        row(problem=r"Compute $\sum_{k=1}^{3} k$ for $k = 6$.", answer="6"),
        row(unique_id="test/algebra/2.json", problem="Is $x^2$ larger?", answer="x^2"),
        row(unique_id="test/algebra/3.json", problem="Expand $(x+1)(x+2)$.", answer="x^2+3x+2"),
    ]
    env = Math500HardEnv(data=folder_of(tmp_path, *rows))

    async def success(kind: Any, task_id: str) -> bool:
        _, info = await env.areset(options={"task_id": task_id})
        turn = await CopyAgent(kind=kind).begin(env, 0).act("", info)
        return bool((await env.astep(turn.text))[4]["success"])

    wins = {
        kind: [asyncio.run(success(kind, task)) for task in env.task_ids]
        for kind in ("number", "gold form", "expression")
    }
    assert wins["number"] == [True, False, False] and wins["gold form"] == [False, True, False]
    assert wins["expression"] == [False, False, False]


# --- actions of the floors ---------------------------------------------------------------------------


def test_random_actions_are_boxed_and_seeded(env: Math500HardEnv) -> None:
    first = [env.random_action(np.random.default_rng(3)) for _ in range(2)]
    assert first[0] == first[1]
    rng = np.random.default_rng(0)
    actions = [env.random_action(rng) for _ in range(200)]
    assert len(set(actions)) > 80 and all(env_module.boxed(action) for action in actions)


@pytest.mark.lists
def test_constant_actions_are_the_commonest_training_answers() -> None:
    env = Math500HardEnv(level=1, num_tasks=5)
    actions = env.constant_actions()
    training = Math500HardEnv(level=1, split="train")
    golds = []
    for task_id in training.task_ids:
        training.reset(options={"task_id": task_id})
        golds.append(training._state.problem.answer)
    counts = [golds.count(env_module.boxed(action)) for action in actions]
    assert len(actions) == 5 and counts == sorted(counts, reverse=True)
    assert counts[0] == max(golds.count(g) for g in set(golds))


# --- generated tasks -----------------------------------------------------------------------------------


def test_generated_tasks_by_default() -> None:
    for split, count in (("train", 2_000), ("test", 500)):
        env = Math500HardEnv(split=split, level=1)
        assert len(env.task_ids) == count and all(
            t.startswith(f"{split}/") and "/1/" in t for t in env.task_ids
        )
    every = Math500HardEnv(level=None)
    assert len(every.task_ids) == 2_500
    assert every.source.kind == "embedded" and len(every.source.sha256) == 64


def test_seeds_and_counts_choose_generated_tasks() -> None:
    few, other = Math500HardEnv(num_tasks=7), Math500HardEnv(num_tasks=7, problem_seed=3)
    assert len(few.task_ids) == 7 and not set(few.task_ids) & set(other.task_ids)
    assert few.task_ids == Math500HardEnv().task_ids[:7]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"split": "dev"}, "split must be"),
        ({"level": 6}, "level must be 1 to 5"),
        ({"level": True}, "level must be 1 to 5"),
        ({"level": "5"}, "level must be 1 to 5"),
        ({"num_tasks": 0}, "num_tasks must be"),
        ({"num_tasks": 10**9, "level": 1}, "num_tasks must be at most"),
        ({"problem_seed": -1}, "problem_seed must be"),
        ({"problem_seed": 1.5}, "problem_seed must be"),
        ({"render_mode": "human"}, "render_mode must be"),
    ],
)
def test_wrong_arguments_are_named(
    kwargs: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nlac_bench.envs.math500_hard import generator

    monkeypatch.setattr(generator, "_MAX_REPEATS", 0)
    with pytest.raises(ValueError, match=message):
        Math500HardEnv(**kwargs)


@pytest.mark.lists
def test_only_generated_problems_have_a_validation_split(tmp_path: Path) -> None:
    held_out = Math500HardEnv(split="validation", level=1)
    assert held_out.splits == ("train", "validation", "test", "test_new") and len(held_out.task_ids) == 100
    assert len(Math500HardEnv(split="validation", level=None).task_ids) == 500
    assert len(Math500HardEnv(split="validation", num_tasks=7).task_ids) == 7
    observation, info = held_out.reset(seed=0, options={"task_id": held_out.task_ids[0]})
    assert (info["split"], info["level"]) == ("validation", 1) and observation
    _, reward, terminated, _, _ = held_out.step(held_out.oracle_action())
    assert (reward, terminated) == (1.0, True)
    with pytest.raises(ValueError, match=r"must be 'train' or 'test' with data=.*, got 'validation'"):
        Math500HardEnv(split="validation", data=tmp_path)


def test_an_unknown_task_is_named(env: Math500HardEnv) -> None:
    with pytest.raises(UnknownIdError, match="test/algebra/99999"):
        env.reset(options={"task_id": "test/algebra/99999.json"})


# --- workers, threads, pickles ---------------------------------------------------------------------------


def test_async_vector_workers_grade() -> None:
    vector = gymnasium.make_vec(
        ID, num_envs=2, vectorization_mode="async", vector_kwargs={"shared_memory": False}, num_tasks=10
    )
    assert isinstance(vector, AsyncVectorEnv)
    observations, _ = vector.reset(seed=5)
    oracle = Math500HardEnv(num_tasks=10)
    actions = []
    for seed, observation in zip((5, 6), observations, strict=True):
        assert oracle.reset(seed=seed)[0] == observation
        actions.append(oracle.oracle_action())
    rewards = vector.step((actions[0], r"\boxed{-987654321}"))[1]
    assert rewards.tolist() == [1.0, 0.0]
    vector.close()


def test_the_text_vector_environment_grades() -> None:
    vector = gymnasium.make_vec(ID, num_envs=8, vectorization_mode="vector_entry_point", num_tasks=10)
    assert isinstance(vector, Math500HardEnvVector)
    vector.reset(seed=0)
    _, rewards, terminated, _, _ = vector.step([env.oracle_action() for env in vector.envs])
    assert rewards.tolist() == [1.0] * 8 and terminated.all()
    vector.close()


def test_threads_grade() -> None:
    def play(seed: int) -> float:
        env = Math500HardEnv(num_tasks=10)
        env.reset(seed=seed)
        return env.step(env.oracle_action())[1]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(play, range(12))) == [1.0] * 12


def test_a_pickled_episode_goes_on(env: Math500HardEnv) -> None:
    env.reset(seed=9)
    twin = pickle.loads(pickle.dumps(env))
    assert twin.step(env.oracle_action())[1] == 1.0
    assert env.step(r"\boxed{-987654321}")[1] == 0.0


# --- folders -----------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*differ from the official files")
def test_a_folder_in_the_same_format_is_played(tmp_path: Path) -> None:
    folder = folder_of(
        tmp_path,
        row(),
        row(unique_id="b", level=3),
        row(unique_id="c", level=None),
        row(unique_id="d", answer=" "),  # an empty gold would reward an empty answer
    )
    env = Math500HardEnv(data=folder)
    assert env.task_ids == ("test/algebra/1.json",) and env.source.kind == "custom"
    assert Math500HardEnv(data=str(folder), level=None).task_ids == ("test/algebra/1.json", "b", "c")
    env.reset()
    assert env.oracle_action() == r"The answer is $\boxed{2}$."
    assert env.step(r"\boxed{2}")[1] == 1.0
    with pytest.raises(DataError, match="no test problem of level 1"):
        Math500HardEnv(data=folder, level=1)
    with pytest.raises(ValueError, match="use data='embedded'"):
        Math500HardEnv(data=folder, num_tasks=3)
    with pytest.raises(DataError, match=r"lacks math_train\.jsonl\.gz .* `nlac-bench data list`"):
        Math500HardEnv(data=folder, split="train")


@pytest.mark.filterwarnings("ignore:.*differ from the official files")
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["[]"], "row 1: expected an object, got list"),
        ([row(), row()], "row 2: unique_id 'test/algebra/1.json' occurs twice"),
        ([row(answer=None)], "row 1: field 'answer' must be text, got None"),
        ([row(problem=3)], "row 1: field 'problem' must be text, got 3"),
        ([row(problem=" ")], "row 1: 'unique_id' and 'problem' must not be empty"),
        ([row(problem="x" * 30_000)], "row 1: field 'problem' has 30,000 characters"),
        ([row(problem="\ud800")], "row 1: field 'problem' contains lone surrogates"),
        ([row(level=7)], "row 1: field 'level' must be 1 to 5 or null, got 7"),
        ([row(level=True)], "row 1: field 'level' must be"),
        ([row(level="5")], "row 1: field 'level' must be"),
        ([row(subject="Chess")], "row 1: field 'subject' must be one of MATH's seven, got 'Chess'"),
        ([{"unique_id": "a"}], "row 1: field 'problem' must be text"),
        (['{"unique_id": "a", '], "cannot be read"),
        ([], "contains no problems"),
    ],
)
def test_malformed_rows_are_named(tmp_path: Path, rows: list[Any], message: str) -> None:
    text = "".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows)
    tmp_path.joinpath("math500.jsonl").write_text(text)
    with pytest.raises(DataError, match=message):
        Math500HardEnv(data=tmp_path)


def test_missing_folders_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="neither 'embedded' nor 'official'"):
        Math500HardEnv(data=tmp_path / "nothing")
    monkeypatch.setenv("NLAC_BENCH_DATA", str(tmp_path))
    monkeypatch.setenv("NLAC_BENCH_CACHE", str(tmp_path))
    with pytest.raises(DataError, match="nlac-bench data fetch math"):
        Math500HardEnv(data="official")


# --- the official data ------------------------------------------------------------------------------


@pytest.mark.official
@pytest.mark.parametrize(("level", "count"), [(5, 134), (4, 128), (3, 105), (2, 90), (1, 43), (None, 500)])
def test_math_500_by_level(level: int | None, count: int) -> None:
    env = Math500HardEnv(data="official", level=level)
    assert len(env.task_ids) == count and env.source.kind == "official"
    _, info = env.reset(seed=0)
    assert info["level"] == level or level is None


@pytest.mark.official
def test_training_problems_leave_out_empty_and_ambiguous_golds() -> None:
    env = Math500HardEnv(data="official", split="train", level=None)
    assert len(env.task_ids) == 12_000 - 2 - 47
    test = Math500HardEnv(data="official", level=None)
    assert not set(env.task_ids) & set(test.task_ids)
    assert "train/algebra/152.json" not in env.task_ids  # one whose solution boxes several values
    assert "train/number_theory/7115.json" not in env.task_ids
    assert len(Math500HardEnv(data="official", split="train").task_ids) < 3_494


@pytest.mark.official
def test_the_oracle_solves_all_of_math_500() -> None:
    env = Math500HardEnv(data="official", level=None)
    failed = []
    for task_id in env.task_ids:
        env.reset(options={"task_id": task_id})
        if env.step(env.oracle_action())[1] != 1.0:
            failed.append(task_id)
    assert not failed


@pytest.mark.official
def test_the_commonest_training_answer_is_a_low_floor() -> None:
    env = Math500HardEnv(data="official")
    best = env.constant_actions()[0]
    assert best == r"\boxed{5}"
    rewards = []
    for task_id in env.task_ids:
        env.reset(options={"task_id": task_id})
        rewards.append(env.step(best)[1])
    assert 0 < np.mean(rewards) < 0.05


@pytest.mark.official
def test_altered_official_files_are_refused(
    official_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(official_data / "math", tmp_path / "math")
    file = tmp_path / "math" / "math_train.jsonl.gz"
    file.chmod(0o644)
    lines = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
    file.write_bytes(gzip.compress(b"".join(lines[:100])))
    monkeypatch.setenv("NLAC_BENCH_DATA", str(tmp_path))
    with pytest.raises(DataError, match="sha256"):
        Math500HardEnv(data="official", split="train")
    with pytest.warns(UserWarning, match="differ from the official files"):
        custom = Math500HardEnv(data=tmp_path / "math", split="train", level=None)
    assert custom.source.kind == "custom" and len(custom.task_ids) <= 100
    file.write_bytes(file.read_bytes()[:500])
    with pytest.warns(UserWarning), pytest.raises(DataError, match="may be truncated"):
        Math500HardEnv(data=tmp_path / "math", split="train")


def test_a_thousand_random_actions(env: Math500HardEnv) -> None:
    rng = np.random.default_rng(0)
    env.action_space.seed(0)
    pieces = [
        r"\boxed{",
        "}",
        r"\frac",
        "{",
        "^",
        "_",
        "1",
        "x",
        r"\sqrt",
        "(",
        ",",
        "\x00",
        "\ud8ff",
        "é",
        " ",
        r"\text",
    ]
    graded = 0
    for i in range(1000):
        env.reset(seed=i)
        if i % 3 == 0:
            action = env.random_action(rng)
        elif i % 3 == 1:
            action = env.action_space.sample()
        else:
            action = "".join(rng.choice(pieces, size=int(rng.integers(0, 60))))
        observation, reward, ended, _, info = env.step(action)
        observation.encode()
        json.dumps(info, allow_nan=False)
        assert ended and reward in (0.0, 1.0)
        graded += info["action_kind"] == "message"
    assert graded > 300
