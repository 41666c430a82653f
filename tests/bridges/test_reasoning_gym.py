"""The tasks of reasoning-gym: their own answers, splits, hostile answers and lost processes."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nlac_bench.bridges.reasoning_gym import ReasoningGymEnv, client, env
from nlac_bench.bridges.reasoning_gym.evaluation import guarded_eval
from nlac_bench.envs.registry import make_text_env
from nlac_bench.errors import ConfigError, EnvInfraError, MissingError
from tests.cli.command import nlac_bench

WITHOUT_ANSWERS = {"boxnet", "graph_color", "propositional_logic", "rubiks_cube", "rush_hour"}
ACCEPTS_WRONG_ANSWERS = {"coin_flip", "complex_arithmetic", "game_of_life_halting"}


@pytest.fixture(scope="module")
def gym() -> None:
    pytest.importorskip("reasoning_gym")


def played(game: ReasoningGymEnv, action: str, number: int = 0) -> tuple[float, float]:
    """Reward and score of an action in a task."""
    game.reset(seed=0, options={"task_id": game.task_ids[number]})
    _, reward, terminated, _, info = game.step(action)
    assert terminated and info["success"] is (reward == 1) and info["score"] == info["reward_parts"]["score"]
    return reward, info["score"]


@pytest.mark.parametrize(
    "source",
    [
        "__import__('os').system('true')", "(1).__class__", "[x for x in (1,)]", "lambda: 1", "f'{1}'",
        "open('x')", "exp(1)", "exec('1')", "[1][0]", "1 if 1 else 2", "(x := 1)", "", "1; 2", "a = 1",
    ],
)  # fmt: skip
def test_only_literals_and_arithmetic_are_evaluated(source: str) -> None:
    with pytest.raises((ValueError, SyntaxError)):
        guarded_eval(source)


def test_literals_arithmetic_and_elementary_functions_are_evaluated() -> None:
    assert guarded_eval(" [[1, -2], (3, 'a')]") == [[1, -2], (3, "a")]
    assert guarded_eval("(0x10 << 2) // 3") == 21
    names = {"exp": lambda x: x + 1, "open": open}
    assert guarded_eval("exp(x) + 1", names, {"x": 2}) == 4
    for refused in ("open('x')", "exp(open)", "exp(x=1)"):
        with pytest.raises(ValueError, match="is not evaluated"):
            guarded_eval(refused, names, {"x": 2})


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    env._unusable.cache_clear()
    with pytest.raises(MissingError, match=r"reasoning_gym is not installed.*nlac-bench\[reasoning-gym\]"):
        ReasoningGymEnv(dataset="leg_counting")


@pytest.mark.bridge
@pytest.mark.usefixtures("gym")
class TestTasks:
    """Tests with the real package."""

    @pytest.mark.slow(reason="it plays each of a hundred datasets")
    def test_the_oracle_solves_every_dataset(self) -> None:
        from reasoning_gym.factory import DATASETS

        refused, silent = set(), set()
        for name in sorted(DATASETS.keys() - {"composite"}):
            try:
                game = ReasoningGymEnv(dataset=name, size=2)
            except ConfigError as error:
                assert "its scorer accepts" in str(error)
                refused.add(name)
                continue
            game.reset(seed=0, options={"task_id": game.task_ids[0]})
            try:
                action = game.oracle_action()
            except ConfigError:
                silent.add(name)
            else:
                assert game.step(action)[1] == 1, (name, action)
        assert refused == ACCEPTS_WRONG_ANSWERS and silent == WITHOUT_ANSWERS
        assert len(DATASETS) - 1 - len(refused) - len(silent) == 97

    @pytest.mark.parametrize("name", sorted(ACCEPTS_WRONG_ANSWERS))
    def test_a_scorer_that_accepts_wrong_answers_is_refused(self, name: str) -> None:
        with pytest.raises(ConfigError, match="for different answers"):
            ReasoningGymEnv(dataset=name)

    def test_other_arguments_are_refused(self) -> None:
        with pytest.raises(ConfigError, match="has no dataset 'composite'; the datasets are ab, acre"):
            ReasoningGymEnv(dataset="composite")
        with pytest.raises(ConfigError, match="set reasoning_gym@"):
            ReasoningGymEnv()
        for wrong in ({"size": 0}, {"size": True}, {"size": 10**7}, {"seed": 1.5}, {"split": "all"}):
            with pytest.raises(ValueError, match="must be"):
                ReasoningGymEnv(dataset="leg_counting", **wrong)

    def test_full_marks_are_success_and_others_are_not(self) -> None:
        game = ReasoningGymEnv(dataset="chain_sum", size=5)
        game.reset(seed=0, options={"task_id": game.task_ids[0]})
        answer = game.oracle_action()
        assert played(game, answer) == (1, 1)
        bare = answer.removeprefix("<answer>").removesuffix("</answer>")
        assert played(game, bare) == (1, 1), "a reply without tags is an answer"
        assert played(game, f"<answer>0</answer> no: <answer> {bare} </answer>.") == (1, 1), "the last counts"
        reward, score = played(game, f"<answer>It is {bare}.</answer>")
        assert reward == 0 and 0 < score < 1, "the dataset's partial score is no success"
        assert played(game, "<answer></answer>") == played(game, "") == (0, 0)

    def test_no_question_is_in_two_splits(self) -> None:
        questions: dict[str, set[str]] = {}
        for split in ("train", "validation", "test"):
            for seed in (0, 1):
                game = ReasoningGymEnv(dataset="leg_counting", size=40, seed=seed, split=split)
                assert game.splits == ("train", "validation", "test")
                for task in game.task_ids:
                    questions.setdefault(split, set()).add(game.reset(options={"task_id": task})[0])
        for split, asked in questions.items():
            others = set().union(*(more for name, more in questions.items() if name != split))
            assert len(asked) > 60 and not asked & others

    @pytest.mark.parametrize("name", ["isomorphic_strings", "polynomial_multiplication", "ransom_note"])
    def test_tasks_do_not_depend_on_the_process(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without a fixed hash seed these differ from process to process."""
        tasks = []
        for hash_seed in ("1", "2"):
            monkeypatch.setenv("PYTHONHASHSEED", hash_seed)
            own = client.WorkerClient()
            tasks.append([own.task(name, 0, "test", number) for number in range(3)])
            own._discard()
        assert tasks[0] == tasks[1]

    @pytest.mark.parametrize(
        ("dataset", "answer"),
        [
            ("countdown", "__import__('os').system('touch {file}')"),
            ("simple_integration", "__import__('os').system('touch {file}')"),
            ("polynomial_multiplication", "Symbol('x').__class__.__init__.__globals__"),
            ("n_queens", "[open('{file}', 'w')]"),
            ("spiral_matrix", "[x for x in [open('{file}', 'w')]]"),
            ("string_insertion", "['a' * 10**10]"),
            ("binary_matrix", "(" * 90_000),
            ("intermediate_integration", "Integral(x*sin(x), x)"),
            ("prime_factorization", "two × three"),
            ("chain_sum", "9" * 99_000),
        ],
    )
    def test_hostile_answers_are_neither_run_nor_right(
        self, dataset: str, answer: str, tmp_path: Path
    ) -> None:
        game = ReasoningGymEnv(dataset=dataset, size=1)
        reward, score = played(game, f"<answer>{answer.replace('{file}', str(tmp_path / 'made'))}</answer>")
        assert reward == 0 and score < 0.2 and not (tmp_path / "made").exists()

    def test_an_answer_that_takes_too_long_is_wrong_and_the_next_one_is_scored(self) -> None:
        game = ReasoningGymEnv(dataset="countdown", size=1)
        assert played(game, "<answer>9**9**9**9</answer>") == (0, 0)
        assert played(game, game.oracle_action()) == (1, 1)

    def test_a_lost_process_is_replaced_and_one_that_never_starts_is_no_zero(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        game = ReasoningGymEnv(dataset="chain_sum", size=1)
        game.reset(seed=0)
        worker = client.client()._process
        assert worker is not None
        os.kill(worker.pid, 9)
        assert game.step(game.oracle_action())[1] == 1
        game.reset(seed=0)
        client.client()._discard()
        monkeypatch.setattr(client, "_MODULE", "this")  # a module that ends at once
        with pytest.raises(EnvInfraError, match="does not start"):
            game.step(game.oracle_action())

    def test_the_contract_and_the_commands(self, tmp_path: Path) -> None:
        name = 'reasoning_gym@{"dataset": "course_schedule", "size": 20}'
        nlac_bench("envs", "check", name)
        done = nlac_bench(
            "run", "--env", name, "--agent", "oracle", "--limit", "3", "--out", str(tmp_path / "o"), "--json"
        )
        assert json.loads(done.stdout)["success"] == 1
        floor = nlac_bench(
            "run",
            "--env",
            name,
            "--agent",
            "constant",
            "--limit",
            "10",
            "--out",
            str(tmp_path / "c"),
            "--json",
        )
        assert 0 < json.loads(floor.stdout)["success"] < 1, "True or False is right for some"
        assert "reasoning_gym" in json.loads((tmp_path / "o" / "manifest.json").read_text())["conditions"]
        assert make_text_env(name, split="train").split == "train"


@pytest.fixture(scope="module", autouse=True)
def stop_the_process() -> Iterator[None]:
    yield
    client.client()._discard()
