"""The twenty questions environment: rules, rewards, information, Gymnasium's contract."""

import copy
import hashlib
import json
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics
from hypothesis import given, settings
from hypothesis import strategies as st

import nlac_bench  # noqa: F401  (registers the ids)
from nlac_bench.envs.twenty_questions import TwentyQuestionsEnv
from nlac_bench.envs.twenty_questions.games import games
from nlac_bench.errors import UnknownIdError
from nlac_bench.simulators.oracle20.answer.world import embedded_world
from nlac_bench.simulators.oracle20.find.sentence import find_question
from nlac_bench.simulators.oracle20.find.words import MAX_SENTENCE
from tests.timing import scans

ENV_ID = "nlac_bench/TwentyQuestions-v0"
PLAYED = ["Is it alive?", "Is it a violin?", "hm", "Can you eat it?", "Is it a dog?"]


def playing(name: str, **kwargs: object) -> TwentyQuestionsEnv:
    """An environment whose hidden object is ``name``."""
    for split in ("train", "validation", "test"):
        env = TwentyQuestionsEnv(split=split, **kwargs)  # type: ignore[arg-type]
        for game in games(env.world, split, env.level, official=False):
            if env.world.names[game.hidden] == name:
                env.reset(seed=0, options={"task_id": game.task_id})
                return env
    raise AssertionError(name)


@pytest.mark.parametrize("k", [1, 2, 7, 20])
def test_a_win_on_question_k_returns_minus_k_plus_one(k: int) -> None:
    env = playing("violin")
    total = 0.0
    for _ in range(k - 1):
        _, reward, ended, _, _ = env.step("Is it alive?")
        assert not ended
        assert reward == -1
        total += reward
    observation, reward, ended, truncated, info = env.step("Is it a violin?")
    assert ended
    assert not truncated
    assert total + reward == -(k - 1)
    assert observation.startswith("Yes.")
    assert info["success"] is True
    assert info["end_reason"] == "success"
    assert info["reward_parts"] == {"solved": 1.0, "questions": float(k)}


def test_a_loss_returns_minus_twenty_and_ends_by_max_steps() -> None:
    env = playing("violin")
    steps = [env.step("Is it a guitar?" if i % 2 else "What is it?") for i in range(20)]
    assert [s[2] for s in steps] == [False] * 19 + [True]
    assert sum(s[1] for s in steps) == -20
    info = steps[-1][4]
    assert info["success"] is False
    assert info["end_reason"] == "max_steps"
    assert "violin" not in json.dumps(info)
    assert steps[0][0].endswith("19 questions left.")
    assert steps[18][0].endswith("1 question left.")


def test_binary_reward() -> None:
    env = playing("violin", reward="binary")
    assert env.step("Is it alive?")[1] == 0
    assert env.step("How big is it?")[1] == 0
    assert env.step("Is it a violin?")[1] == 1
    env = playing("violin", reward="binary")
    assert sum(env.step("Is it alive?")[1] for _ in range(20)) == 0


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("violin", "Is it a violin?"),
        ("violin", "is it a VIOLIN"),
        ("violin", "Is it the violins?"),
        ("violin", "Is the answer “violin”?"),
        ("violin", "Is it a fiddle?"),
        ("violin", "Could it be a violin?"),
        ("violin", "My final guess: is it a violin?"),
        ("violin", "Is it a brown wooden violin?"),
        ("violin", "A violin?"),
        ("violin", "Are you thinking of a violin?"),
        ("sofa", "Is it a couch or a sofa?"),
        ("scissors", "Is it a pair of scissors?"),
        ("knife", "Are they knives?"),
        ("yo-yo", "Is it a yoyo?"),
        ("airplane", "Is it a plane?"),
        ("orange", "Is it an orange?"),
        ("moon", "Is it the Moon?"),
        ("hot-air balloon", "Is it a hot air balloon?"),
        ("violin", "<think>Is it a dog? No.</think>It has strings. So: is it a violin?"),
        ("violin", "<think>The form is: Is it a [thing]?</think>So: is it a violin?"),
        ("violin", "Is it a violin? (The form is: Is it a [thing]?)"),
        ("violin", 'I ask in the form "Is it a [thing]?". Is it a violin?'),
    ],
)
def test_guesses_that_win(name: str, question: str) -> None:
    env = playing(name)
    _, reward, ended, _, info = env.step(question)
    assert ended, env.render()
    assert info["success"]
    assert info["guess"]
    assert reward == 0


@pytest.mark.parametrize(
    "question",
    [
        "Is it a musical instrument like a violin?",
        "Is it used to play the violin?",
        "Is it a violin case?",
        "Is it similar to a violin?",
        "Is it bigger than a violin?",
        "Is it a violin bow?",
        "Is it a violin or a guitar?",
        "Is it a violin, a cello or a harp?",
        "Is it not a violin?",
        "Isn't it something other than a violin?",
        "Is it a violinist?",
        "Do you play it like a violin?",
        "Does it come with a violin?",
        "Is it a violin and a guitar?",
        "Is it made for violins?",
        "I think it is a violin.",
        "violin",
        "Is it a dog? Is it a violin? Is it a cat?",
        "Is it a musical instrument?",
        "Is it a plastic violin?",
        "Is it a vi olin?",
        "Is it used as a violin for working?",
        "Is it kept as a violin?",
        "Is it named after a violin?",
        "Is it about a violin?",
        "Is it in a violin?",
        "Is it of a violin?",
        "Could it pass as a violin?",
        "Was it once a violin?",
        "Is it sold as a violin?",
        "Do you use it as a violin?",
        "Does it serve as a violin?",
        "Does it function as a violin?",
        "Could it act as a violin?",
        "Does it belong to the violin family?",
        "Is it a musical instrument used as a violin?",
        "Is it a thing that is used as a violin?",
        "Is it one of these: violin, cello, harp?",
        "Is it any of a violin or a cello?",
        "Is it a violin, a cello, a harp?",
    ],
)
def test_mentions_that_do_not_win(question: str) -> None:
    env = playing("violin")
    _, _, ended, _, _ = env.step(question)
    assert not ended


@pytest.mark.parametrize(
    "frame",
    ["Is it a {}?", "is it an {}", "Is the object some {}?", "Could it be the {}?", "Is it a kind of {}?",
     "My final guess: a {}?", "It's a {}, isn't it?", "Is it a {}, then?", "Are you thinking of a {}?"],
)  # fmt: skip
def test_every_object_can_be_guessed_by_each_of_its_names(frame: str) -> None:
    """Also with an odd article: "Is it a headphones?"."""
    world = embedded_world()
    for i, name in enumerate(world.names):
        for called in (name, *world.kb.aliases[i]):
            formula = world.read(find_question(frame.format(called)).words)
            assert world.guessed(formula) == {i}, called
            assert world.truth_of(formula)[i] == 1, called


def test_orange_the_colour_is_no_guess() -> None:
    env = playing("orange")
    observation, _, ended, _, info = env.step("Is it orange?")
    assert observation.startswith("Yes.")
    assert not ended
    assert not info["guess"]


def test_a_list_of_objects_is_refused_and_counted() -> None:
    env = playing("violin")
    names = [n for n in env.world.names if n != "violin"][:40]
    for some in (names[:4], names[:15], names):
        _, reward, ended, _, info = env.step(f"Is it a {', a '.join(some)} or a violin?")
        assert info["action_kind"] == "invalid"
        assert not ended
        assert reward == -1
    observation = env.step("Is it a dog, a cat, a horse, a cow or a violin?")[0]
    assert "too many objects" in observation
    assert env.step("Is it a dog or a violin?")[0].startswith("Yes.")


@pytest.mark.parametrize(
    "action",
    ["", "   ", "hello", "I like turtles.", "What colour is it?", "Where do you find it?", "?", "???",
     "\x00\x01", "🙂", "x" * 200_000, "\ud800", "Is it a \udfff?", "violin", "The object is a violin.",
     "Is it a ...?", "Is it a [thing]?", "Could it be a **[violin]**?", "Is it larger than <object>?",
     "Is it a kind of {x}?", "Is it larger than [object]"],
)  # fmt: skip
def test_what_is_not_a_question_is_a_counted_invalid_step(action: str) -> None:
    env = playing("violin")
    observation, reward, ended, truncated, info = env.step(action)
    assert info["action_kind"] == "invalid"
    assert reward == -1
    assert not ended
    assert not truncated
    assert observation.endswith("19 questions left.")
    observation.encode()


def test_ten_megabytes() -> None:
    env = playing("violin")
    assert env.step("Is it a violin? " * 650_000)[4]["action_kind"] == "invalid"


def test_the_last_of_several_questions_is_answered_and_named() -> None:
    env = playing("violin")
    observation = env.step("It could be alive? No matter. Is it made of wood?")[0]
    assert observation.startswith("Yes. (That answers only your last question")
    assert "is it made of wood" in observation


def test_information() -> None:
    env = TwentyQuestionsEnv()
    _, info = env.reset(seed=1)
    assert info["oracle"] == "knowledge"
    assert info["level"] == "full"
    assert info["data_source"] == "embedded"
    assert len(info["data_sha256"]) == 64
    json.dumps(info)
    env = playing("violin")
    assert env.step("Is it made of wood?")[4]["unknown_rate"] == 0
    info = env.step("Is it a Stradivarius?")[4]
    assert info["known"] is False
    assert info["unknown_rate"] == 0.5
    assert env.step("What is it?")[4]["unknown_rate"] == 0.5
    json.dumps(info)


def test_an_unknown_is_said_or_answered_with_no_and_costs_a_question() -> None:
    env = playing("violin")
    observation, reward, ended, _, info = env.step("Is it a Stradivarius?")
    assert (observation, reward, ended) == ("I can't say. 19 questions left.", -1, False)
    assert info["action_kind"] == "message"
    assert not info["known"]
    published = playing("violin", unknowns="no")
    observation, _, _, _, info = published.step("Is it a Stradivarius?")
    assert observation == "No. 19 questions left."
    assert not info["known"]
    assert "I can't say." in env.policy()
    assert "can't" not in published.policy()
    assert env.conditions() != published.conditions()
    twin = pickle.loads(pickle.dumps(env))
    assert twin.step("Is it a Stradivarius?")[0] == "I can't say. 18 questions left."
    for asked in (env, published):
        ended = False
        while not ended:
            _, _, ended, _, info = asked.step(asked.oracle_action())
    assert info["success"]


def test_reset_options_and_arguments() -> None:
    env = TwentyQuestionsEnv(split="train", level="easy")
    with pytest.raises(UnknownIdError, match="test-0000"):
        env.reset(options={"task_id": "test-0000"})
    for bad in ({"split": "dev"}, {"level": "hard"}, {"reward": "sparse"}, {"oracle": "magic"},
                {"unknowns": "maybe"},
                {"oracle": "llm"}, {"oracle": "replay"}, {"render_mode": "human"}):  # fmt: skip
        with pytest.raises(ValueError, match=next(iter(bad.values()))):
            TwentyQuestionsEnv(**bad)  # type: ignore[arg-type]


def hidden_words(split: str, **kwargs: object) -> list[str]:
    env = TwentyQuestionsEnv(split=split, **kwargs)  # type: ignore[arg-type]
    assert env.task_ids[:2] == (f"{split}-0000", f"{split}-0001")
    return [env.world.names[game.hidden] for game in games(env.world, split, env.level, official=False)]


@pytest.mark.parametrize(("level", "sizes"), [("full", (102, 51, 102)), ("easy", (33, 10, 21))])
def test_splits_have_different_objects_and_together_all(level: str, sizes: tuple[int, ...]) -> None:
    words = [hidden_words(split, level=level) for split in ("train", "validation", "test")]
    assert tuple(map(len, words)) == sizes
    assert len(set().union(*words)) == sum(sizes) == (255 if level == "full" else 64)


def test_a_test_word_of_one_level_is_no_training_word_of_the_other() -> None:
    full, easy = ({s: set(hidden_words(s, level=level)) for s in ("train", "validation", "test")}
                  for level in ("full", "easy"))  # fmt: skip
    assert easy["train"] | easy["validation"] < full["train"]
    assert easy["test"] < full["test"]


def test_the_tests_of_the_easy_level_are_those_of_version_1() -> None:
    """Results of trained models rest on them."""
    words = hidden_words("test", level="easy")
    digest = hashlib.sha256("\n".join(words).encode()).hexdigest()
    assert digest.startswith("bb6d608cf4386a82")


def test_the_same_seed_gives_the_same_game() -> None:
    a, b = TwentyQuestionsEnv(), TwentyQuestionsEnv()
    assert a.reset(seed=5)[1]["task_id"] == b.reset(seed=5)[1]["task_id"]
    assert len({a.reset()[1]["task_id"] for _ in range(40)}) > 20


def test_gymnasium_contract() -> None:
    env = gymnasium.make(ENV_ID, split="train")
    check_env(env.unwrapped, skip_render_check=True)
    recorded = RecordEpisodeStatistics(env)
    recorded.reset(seed=0)
    ended = False
    while not ended:
        _, _, ended, _, info = recorded.step(recorded.get_wrapper_attr("oracle_action")())
    assert info["episode"]["l"] <= 20


def test_vector_environments() -> None:
    vector = gymnasium.make_vec(ENV_ID, num_envs=3, vectorization_mode="vector_entry_point", level="easy")
    observations, infos = vector.reset(seed=0)
    assert len(observations) == 3
    assert list(infos["oracle"]) == ["knowledge"] * 3
    observations, rewards, *_ = vector.step(["Is it alive?"] * 3)
    assert all(o.startswith(("Yes.", "No.")) for o in observations)
    assert rewards.tolist() == [-1, -1, -1]
    vector.close()
    workers = AsyncVectorEnv([lambda: gymnasium.make(ENV_ID)] * 2, shared_memory=False)
    try:
        workers.reset(seed=0)
        observations, *_ = workers.step(["Is it alive?", "What?"])
        assert observations[0].startswith(("Yes.", "No."))
    finally:
        workers.close()


def test_pickling_in_the_middle_of_a_game() -> None:
    env = playing("violin")
    env.step("Is it alive?")
    content = pickle.dumps(env)
    assert len(content) < 100_000
    twin = pickle.loads(content)
    for action in ("Is it made of wood?", "Is it a Stradivarius?", "Is it a violin?"):
        assert env.step(action) == twin.step(action)


def test_rendering() -> None:
    env = playing("violin", render_mode="ansi")
    env.step("Is it alive?")
    text = env.render()
    assert text is not None
    assert "[assistant] Is it alive?" in text


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(PLAYED), max_size=12),
    st.integers(0, 6),
    st.integers(0, 10_000),
)
def test_a_fork_never_changes_its_parent(actions: list[str], at: int, seed: int) -> None:
    parent, witness = TwentyQuestionsEnv(level="easy"), TwentyQuestionsEnv(level="easy")
    parent.reset(seed=seed)
    witness.reset(seed=seed)
    for i, action in enumerate(actions):
        if i == at:
            fork, ended = parent.fork(), False
            before = copy.deepcopy(parent._state)
            while not ended:
                ended = fork.step(fork.oracle_action())[2]
            assert parent._state == before
        assert parent.oracle_action() == witness.oracle_action()
        step = parent.step(action)
        assert step == witness.step(action)
        if step[2]:
            break


@pytest.mark.lists
def test_a_thousand_random_actions() -> None:
    env = TwentyQuestionsEnv()
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    alphabet = list("is it a the does have? ,.\n'\"<>not or and dog violin than 2 more \x00\ud8ffé中")
    for i in range(1000):
        if i % 3 == 0:
            action = env.random_action(rng)
        elif i % 3 == 1:
            action = env.action_space.sample()
        else:
            action = "".join(rng.choice(alphabet, size=int(rng.integers(0, 400))))
        observation, _, ended, _, info = env.step(action)
        json.dumps(info)
        observation.encode()
        if ended:
            env.reset()


def test_constant_actions_name_every_object() -> None:
    env = TwentyQuestionsEnv(level="easy")
    actions = env.constant_actions()
    assert len(actions) == 64 + 5
    env.reset(seed=0)
    hidden = env.world.names[env._state.hidden]
    winning = [a for a in actions if hidden in a]
    assert any(env.fork().step(a)[4].get("success") for a in winning)


@pytest.mark.parametrize("end", ["[yes/no]", "[y/n]", "</b>"])
def test_a_bracket_at_the_end_of_a_question_is_no_placeholder(end: str) -> None:
    assert playing("violin").step(f"Is it alive {end}?")[4]["action_kind"] == "message"


@pytest.mark.parametrize("filler", [" ", "\n", " ,", ", \n"])
def test_runs_of_spaces_and_commas_take_linear_time(filler: str) -> None:
    text = "a" + filler * 5_000 + "?"
    assert scans(lambda: find_question(text), text) < 100


@pytest.mark.parametrize("part", ["one of: a ", "among: a ", "- is it ", "any of a, "])
def test_long_sentences_take_linear_time(part: str) -> None:
    text = "is it " + part * (40_000 // len(part)) + "?"
    assert scans(lambda: find_question(text), text) < 100
    assert len(find_question(text).text) < 2 * MAX_SENTENCE  # a comma of a choice becomes "or"


def test_a_long_choice_is_refused() -> None:
    assert playing("violin").step("is it " + "one of: a " * 4_000 + "?")[4]["action_kind"] == "invalid"


def test_a_long_explanation_does_not_change_a_question() -> None:
    asked = "Is it an instrument"
    short, long = (find_question(f"{asked}, meaning {'something ' * n}?") for n in (1, 1_000))
    assert short.words == long.words == find_question(f"{asked}?").words
