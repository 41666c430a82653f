"""The three oracles and the information-theoretic player."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlac_bench.envs.twenty_questions import TwentyQuestionsEnv, player
from nlac_bench.envs.twenty_questions.oracles import ReplayOracle, Unknowns, yes_or_no
from nlac_bench.errors import DataError, EnvInfraError
from nlac_bench.simulators.oracle20.answer.world import embedded_world
from nlac_bench.simulators.oracle20.read.formula import Const
from nlac_bench.types import ChatReply, Messages, Role, Usage
from tests.full_disk import files_of_at_most

ANSWER = '{"object": "dog", "question": "a", "answer": "Yes."}'


class Model:
    """A chat function that says what it is given to say, in turn."""

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[str, Role]] = []

    async def __call__(self, messages: Messages, role: Role) -> ChatReply:
        self.asked.append((messages[-1]["content"], role))
        self.system = messages[0]["content"]
        return ChatReply(self.replies.pop(0), Usage(calls=1, completion_tokens=2))


def play(env: TwentyQuestionsEnv, task_id: str) -> dict[str, Any]:
    env.reset(options={"task_id": task_id})
    ended = False
    while not ended:
        _, _, ended, _, info = env.step(env.oracle_action())
    return info


# --- llm ------------------------------------------------------------------------------------------


def test_the_llm_oracle_is_asked_and_believed() -> None:
    model = Model("Yes.", "no, it is not", "YES")
    env = TwentyQuestionsEnv(oracle="llm", chat=model)
    _, info = env.reset(seed=3)
    assert info["oracle"] == "llm"
    hidden = env.world.names[env._state.hidden]
    observation, _, _, _, info = env.step("Is it popular in Japan?")
    assert observation.startswith("Yes.")
    assert info["usage"]["oracle"]["calls"] == 1
    assert info["unknown_rate"] == 0
    assert hidden in model.system
    assert env.step("Is it a thing?")[0].startswith("No.")
    _, _, ended, _, info = env.step(f"Is it a {hidden}?")
    assert ended
    assert info["success"]
    assert [role for _, role in model.asked] == ["oracle"] * 3


def test_a_right_guess_needs_the_oracles_yes() -> None:
    env = TwentyQuestionsEnv(oracle="llm", chat=Model("No."))
    env.reset(seed=3)
    assert not env.step(f"Is it a {env.world.names[env._state.hidden]}?")[2]


def test_a_model_that_says_neither_yes_nor_no_is_asked_again_then_an_error() -> None:
    model = Model("Hmm.", "Perhaps", "Yes")
    env = TwentyQuestionsEnv(oracle="llm", chat=model)
    env.reset(seed=0)
    observation, _, _, _, info = env.step("Is it alive?")
    assert observation.startswith("Yes.")
    assert info["usage"]["oracle"] == {
        "calls": 3,
        "prompt_tokens": 0,
        "completion_tokens": 6,
        "cost": 0.0,
        "seconds": 0.0,
    }
    env = TwentyQuestionsEnv(oracle="llm", chat=Model("Yesterday", "", "It depends"))
    env.reset(seed=0)
    with pytest.raises(EnvInfraError, match=r"neither yes nor no in 3 attempts.*It depends") as caught:
        env.step("Is it alive?")
    assert caught.value.spent["oracle"].calls == 3


@pytest.mark.parametrize("reply", ["Unknown", "unknown.", "**Unknown**", "I can’t say.", "I cannot say"])
def test_a_model_may_say_that_it_does_not_know(reply: str) -> None:
    model = Model(reply)
    env = TwentyQuestionsEnv(oracle="llm", chat=model)
    env.reset(seed=0)
    observation, _, _, _, info = env.step("Is it alive?")
    assert observation.startswith("I can't say.")
    assert info["unknown_rate"] == 1
    assert "Yes, No or Unknown" in model.system
    model = Model(reply, "no")
    env = TwentyQuestionsEnv(oracle="llm", chat=model, unknowns="no")
    env.reset(seed=0)
    assert env.step("Is it alive?")[0].startswith("No.")
    assert "Yes or No." in model.system
    assert len(model.asked) == 2


@pytest.mark.parametrize(
    ("reply", "expected"),
    [("Yes", True), ("yes.", True), ("**No**", False), ("No, it is", False), ("\n yes", True),
     ("Nope", None), ("Yess", None), ("", None), ("I think yes", None), ("not", None),
     ("yes" * 100_000, None), ("'No.'", False)],
)  # fmt: skip
def test_reading_a_reply(reply: str, expected: bool | None) -> None:
    assert yes_or_no(reply) is expected


def test_questions_without_sense_never_reach_the_model() -> None:
    model = Model()
    env = TwentyQuestionsEnv(oracle="llm", chat=model)
    env.reset(seed=0)
    assert env.step("What is it?")[4]["action_kind"] == "invalid"
    assert model.asked == []


# --- replay ---------------------------------------------------------------------------------------


def test_a_recording_replays_and_fails_loudly(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    model = Model("Yes", "No", "no")
    env = TwentyQuestionsEnv(oracle="llm", chat=model, recording=path)
    questions = ["Is it alive?", "Is it “very” old?", "Is it popular in Japan?"]
    env.reset(seed=4)
    first = [env.step(q)[0] for q in questions]
    again = TwentyQuestionsEnv(oracle="replay", recording=path)
    _, info = again.reset(seed=4)
    assert info["oracle"] == "replay"
    assert [again.step(q)[0] for q in questions] == first
    with pytest.raises(EnvInfraError, match="no answer to 'is it heavy"):
        again.step("Is it heavy?")


def test_a_recording_has_the_third_answer_and_serves_either_rule(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    played = {}
    each: tuple[Unknowns, ...] = ("say", "no")
    for unknowns in each:
        env = TwentyQuestionsEnv(recording=path, unknowns=unknowns)
        env.reset(seed=4)
        played[unknowns] = [env.step(q) for q in ("Is it popular in Japan?", "Is it alive?")]
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert {row["question"]: row["answer"] for row in rows}["is it popular in japan?"] == "I can't say."
    for unknowns in each:
        steps = played[unknowns]
        again = TwentyQuestionsEnv(oracle="replay", recording=path, unknowns=unknowns)
        again.reset(seed=4)
        replayed = [again.step(q) for q in ("Is it popular in Japan?", "Is it alive?")]
        assert [step[0] for step in replayed] == [step[0] for step in steps]
        assert [step[4]["known"] for step in replayed] == [False, True]


def test_a_recording_of_an_earlier_version_has_its_unknowns(tmp_path: Path) -> None:
    env = TwentyQuestionsEnv()
    env.reset(seed=4)
    row = {"object": env.world.names[env._state.hidden], "question": "is it popular in japan?",
           "answer": "No.", "known": False}  # fmt: skip
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps(row) + "\n")
    each: tuple[tuple[Unknowns, str], ...] = (("say", "I can't say."), ("no", "No."))
    for unknowns, says in each:
        env = TwentyQuestionsEnv(oracle="replay", recording=path, unknowns=unknowns)
        env.reset(seed=4)
        observation, _, _, _, info = env.step("Is it popular in Japan?")
        assert observation.startswith(says)
        assert info["known"] is False


@pytest.mark.parametrize(
    ("content", "message"),
    [("", None), ("{", "line 1"), ('{"object": "dog"}\n', "line 1"), ('["dog"]', "line 1"),
     ('{"object": "dog", "question": "a", "answer": "maybe"}', "neither yes nor no"),
     ('{"object": "dog", "question": "a", "answer": "Yes."}\n'
      '{"object": "dog", "question": "a", "answer": "No."}', "line 2")],
)  # fmt: skip
def test_a_bad_recording_is_named(tmp_path: Path, content: str, message: str | None) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(content)
    if message is None:
        ReplayOracle(embedded_world(), path)
        return
    with pytest.raises(DataError, match=message):
        ReplayOracle(embedded_world(), path)


@pytest.mark.parametrize(
    "content",
    [
        "my notes\n",
        "{}\n",
        '{"object": "dog"}\n',
        "\0" * 100,
        "[1]\nend",
        f"{ANSWER}\nend",
        f"{ANSWER}\n[1]\n",
    ],
)
def test_nothing_is_appended_to_a_file_that_is_no_recording(tmp_path: Path, content: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(content)
    with pytest.raises(DataError, match=r"notes\.txt"):
        TwentyQuestionsEnv(recording=path)
    (tmp_path / "link").symlink_to(path)
    os.mkfifo(tmp_path / "pipe")
    for name, said in (("link", "is a link"), ("pipe", "is a pipe")):
        with pytest.raises(DataError, match=said):
            TwentyQuestionsEnv(recording=tmp_path / name)
    assert path.read_text() == content


def test_a_recording_is_created_or_continued(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    for lines in (1, 2):
        env = TwentyQuestionsEnv(recording=path)
        env.reset(seed=lines)
        env.step("Is it alive?")
        assert len(path.read_text().splitlines()) == lines
    path.write_text("")
    TwentyQuestionsEnv(recording=path)


def test_a_recording_is_complete_after_the_disk_was_full(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    env = TwentyQuestionsEnv(recording=path)
    env.reset(seed=4)
    env.step("Is it alive?")
    whole = path.read_bytes()
    with files_of_at_most(len(whole) + 10), pytest.raises(DataError, match="cannot write to the recording"):
        env.step("Is it heavy?")
    assert path.read_bytes() == whole
    env.step("Is it heavy?")
    assert len(ReplayOracle(env.world, path)._answers) == 2


def test_the_line_that_a_crash_left_incomplete_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    env = TwentyQuestionsEnv(recording=path)
    env.reset(seed=4)
    env.step("Is it alive?")
    whole = path.read_bytes()
    for torn in (whole[:5], whole[:-1]):
        path.write_bytes(whole + torn)
        TwentyQuestionsEnv(recording=path)
        assert path.read_bytes() == whole


def test_a_missing_recording(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.jsonl"):
        TwentyQuestionsEnv(oracle="replay", recording=tmp_path / "none.jsonl")


def test_scores_under_different_oracles_have_different_conditions(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(ANSWER)
    environments = [
        TwentyQuestionsEnv(),
        TwentyQuestionsEnv(reward="binary"),
        TwentyQuestionsEnv(level="easy"),
        TwentyQuestionsEnv(unknowns="no"),
        TwentyQuestionsEnv(oracle="llm", chat=Model()),
        TwentyQuestionsEnv(oracle="replay", recording=path),
    ]
    conditions = [json.dumps(env.conditions(), sort_keys=True) for env in environments]
    assert len(set(conditions)) == 6
    assert TwentyQuestionsEnv(split="train").conditions() == environments[0].conditions()
    llm = environments[4].conditions()
    assert llm["oracle"] == "llm"
    assert len(llm["oracle_prompt"]) == 64
    recorded = TwentyQuestionsEnv(oracle="llm", chat=Model(), recording=tmp_path / "more.jsonl")
    assert recorded.conditions() == llm


# --- player ---------------------------------------------------------------------------------------


@pytest.mark.lists
@pytest.mark.parametrize(("level", "mean", "worst"), [("easy", 6.8, 9), ("full", 8.9, 12)])
def test_the_player_wins_every_embedded_game(level: str, mean: float, worst: int) -> None:
    used, unknown = [], []
    for split in ("train", "validation", "test"):
        env = TwentyQuestionsEnv(split=split, level=level)  # type: ignore[arg-type]
        for task_id in env.task_ids:
            info = play(env, task_id)
            assert info["success"]
            unknown.append(info["unknown_rate"])
            used.append(info["reward_parts"]["questions"])
    assert np.mean(used) < mean
    assert max(used) <= worst
    assert np.mean(unknown) < 0.01


def test_the_player_does_not_see_the_object_and_uses_others_questions() -> None:
    env = TwentyQuestionsEnv()
    env.reset(seed=0)
    first = env.oracle_action()
    env._state.hidden = (env._state.hidden + 1) % len(env.world)
    assert env.oracle_action() == first
    asked = [
        ("is it an animal", True),
        ("is it a bird", True),
        ("does it swim", True),
        ("is it a duck", False),
    ]
    left = player.remaining(env.world, np.ones(len(env.world), dtype=bool), asked)
    assert [env.world.names[i] for i in np.flatnonzero(left)] == ["penguin"]
    assert player.next_question(env.world, np.ones(len(env.world), dtype=bool), asked) == "Is it a penguin?"


def test_the_player_excludes_nothing_by_an_unknown_and_does_not_ask_again() -> None:
    world = embedded_world()
    everything = np.ones(len(world), dtype=bool)
    first = player.next_question(world, everything, [])
    assert player.remaining(world, everything, [(first, None)]).all()
    asked: list[tuple[str, bool | None]] = []
    for _ in range(20):
        asked.append((player.next_question(world, everything, asked), None))
    assert len({text for text, _ in asked}) == 20
    guesses = [("is it a violin", None), ("is it a toy violin", None)]
    left = player.remaining(world, everything, guesses)
    assert [world.names[i] for i in np.flatnonzero(~left)] == ["violin"]
    assert player.remaining(world, everything, guesses[1:]).all()


@pytest.mark.lists
@pytest.mark.official
def test_the_player_counts_on_unknown_answers_of_official_objects(official_data: Path) -> None:
    env = TwentyQuestionsEnv(data="official")
    known = player.repertoire(env.world)
    assert (known.answers == 0).any()
    assert (player.repertoire(env.world, "no").answers != 0).all()
    each: tuple[Unknowns, ...] = ("say", "no")
    for unknowns in each:
        env = TwentyQuestionsEnv(data="official", unknowns=unknowns)
        assert all(play(env, task_id)["success"] for task_id in env.task_ids[::50])


def test_the_player_survives_answers_that_contradict_each_other() -> None:
    world = embedded_world()
    asked = [("is it an animal", True), ("is it a vehicle", True), ("is it a plant", True)]
    assert player.next_question(world, np.ones(len(world), dtype=bool), asked).endswith("?")


def test_an_oracle_answer_to_a_tautology() -> None:
    world = embedded_world()
    assert (world.truth_of(Const(True)) == 1).all()
