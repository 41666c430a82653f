"""The games of tiny-worlds: habits that better questions beat, and a critic that follows futures alone."""

import random
import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from nlac_bench import tiny
from nlac_bench.agents.roles.compact import ACT, CRITIQUE, FUTURE, REFINE, USER, CompactPrompts
from nlac_bench.agents.roles.transition import first_state
from nlac_bench.envs.twenty_questions import TwentyQuestionsEnv, player
from nlac_bench.envs.twenty_questions.env import OPENING, QUESTIONS
from nlac_bench.envs.twenty_questions.games import games
from nlac_bench.rollout.engines.hf.loading import load_tokenizer
from nlac_bench.simulators.oracle20 import embedded_world
from workshop import corpus, critic_rows, games_corpus, games_player, prepare
from workshop.corpus import CorpusRow
from workshop.games_player import GameSituation, GamesPlayer, Habit, objects
from workshop.trees import IGNORED, trees

IS = re.compile("~0 ")
"""The word "Is" of the opening has the number 0 in prompts and answers."""


@pytest.fixture(scope="module")
def rows() -> list[CorpusRow]:
    return [row for found in games_corpus.episodes(60, seed=1) for row in found]


@pytest.fixture(scope="module")
def not_trained() -> set[str]:
    world = embedded_world()
    apart = [game for split in ("validation", "test") for game in games(world, split, "full", official=False)]
    return {world.names[game.hidden] for game in apart}


def turns(prompt: str) -> list[tuple[str, str]]:
    """The actions of a conversation, each with its answer."""
    found = re.findall(rf"{re.escape(ACT)}([^<]*){re.escape(USER)}([^<]*)", prompt)
    return [(IS.sub("Is ", action), heard) for action, heard in found]


def success(habit: Habit, split: str, games: int) -> float:
    env, won = TwentyQuestionsEnv(split=split), 0
    for number in range(games):
        rng = random.Random(number)
        env.reset(seed=0, options={"task_id": env.task_ids[number]})
        who, now, ended = GamesPlayer(habit, rng.randint(*games_player.NEAR)), GameSituation(), False
        while not ended:
            action = who.act(now, rng)
            observation, _, ended, _, info = env.step(action)
            assert info["known"] and info["guess"] == (action in objects().named)
            if not ended:
                now = now.after(action, observation.startswith("Yes"))
        won += info["success"]
    return won / games


def test_better_questions_beat_the_habits_on_objects_never_seen() -> None:
    strong, without = games_player.HABITS[0], Habit("none", 0.0)
    assert success(without, "validation", 51) == 1.0
    assert success(strong, "validation", 51) < 0.5


def test_the_questions_tell_the_objects_apart() -> None:
    known = objects()
    assert len(known.questions) == len(set(known.questions)) == games_player.QUESTIONS == len(known.yes)
    alike = Counter(column.tobytes() for column in known.yes.T)
    assert max(alike.values()) <= player.GUESS_AT_MOST


def test_a_situation_has_the_objects_that_the_environments_player_finds() -> None:
    env = TwentyQuestionsEnv(split="validation")
    env.reset(seed=0, options={"task_id": "validation-0003"})
    rng, now, asked = random.Random(0), GameSituation(), []
    for _ in range(8):
        action = GamesPlayer(Habit("half", 0.5), 48).act(now, rng)
        observation, _, ended, _, _ = env.step(action)
        assert not ended
        asked.append((action, observation.startswith("Yes")))
        now = now.after(*asked[-1])
        expected = player.remaining(env.world, np.ones(len(env.world), dtype=bool), asked)
        assert np.array_equal(now.left, expected)
    assert now.refused is not None


def test_every_habit_is_met_and_leaves_room_for_questions() -> None:
    """Where few objects remain and nothing was guessed yet, questions and guesses are both frequent."""
    rng, asked, repeated = random.Random(0), [], 0
    for _ in range(150):
        steps, _ = games_corpus.play(GamesPlayer.drawn(rng), games_corpus.training_env(), rng)
        for step in steps:
            if player.GUESS_AT_MOST < step.now.left.sum() <= games_player.NEAR[0] and not step.now.refused:
                asked.append(step.action in objects().questions)
            repeated += step.action in step.now.asked
    assert 0.25 < np.mean(asked) < 0.75
    assert repeated > 150


def test_an_episode_depends_only_on_its_number_and_the_seed() -> None:
    together = list(games_corpus.episodes(3, seed=1))
    (alone,) = games_corpus.episodes(3, seed=1, first=2)
    (other,) = games_corpus.episodes(3, seed=2, first=2)
    assert alone == together[2] != other
    assert together == list(prepare.generated("tiny-worlds", "twenty_questions", 3, 1))


def test_every_answer_is_what_its_role_may_say(rows: list[CorpusRow]) -> None:
    prompts, counts = CompactPrompts(), Counter[str]()
    actions = {*objects().questions, *objects().named}
    for row in rows:
        counts[row.role] += 1
        assert row.prompt.startswith("<|twenty_questions|>")
        if row.role in ("successor", "backup", "aggregator"):
            assert prompts.parse_future(row.answer) == row.answer
        elif row.role == "evaluator":
            assert prompts.parse_critique(row.answer) is not None
        elif row.role == "picker":
            assert prompts.parse_pick(row.answer, 4) is not None
        else:
            assert row.answer in actions
    assert set(counts) == set(corpus.ROLES) - {"drill"}


def test_answers_survive_the_numbering_of_identifiers() -> None:
    state = first_state("twenty_questions", OPENING, {"tools": (), "policy": ""})
    codec = CompactPrompts().policy(state).codec
    for text in (*objects().questions, *objects().named):
        assert codec.decode(codec.encode(text)) == codec.encode(text) == text
        advice = f"instead: {text}"
        assert codec.decode(codec.encode(advice)) == advice


def test_only_training_words_are_hidden(rows: list[CorpusRow], not_trained: set[str]) -> None:
    """A game is won by a guess of the hidden word; only rows without a game name the others rightly."""
    world = games_corpus.training_env().world
    hidden = {world.names[game.hidden] for game in games(world, "train", "full", official=False)}
    assert not hidden & not_trained
    found = 0
    for row in rows:
        if row.role == "successor" and row.answer.startswith("next: Yes. You found it."):
            action = IS.sub("Is ", row.prompt.removesuffix(FUTURE).rpartition(ACT)[2])
            assert objects().names[objects().named[action]] in hidden
            found += 1
    assert found > 3


def test_rows_that_name_an_object_ask_nothing_and_follow_from_their_answers(not_trained: set[str]) -> None:
    rng, named = random.Random(0), set()
    for hidden in range(len(objects().names)):
        row = games_corpus.recall_row(hidden, rng)
        now = GameSituation()
        for text, heard in turns(row.prompt):
            assert heard.startswith("Yes") == objects().answers[text][hidden]
            now = now.after(text, heard.startswith("Yes"))
        assert now.left[hidden] and now.left.sum() <= player.GUESS_AT_MOST
        assert now.left[objects().named[row.answer]]
        named.add(objects().names[objects().named[row.answer]])
    assert len(named & not_trained) > 100
    for episode in games_corpus.episodes(3, seed=4):
        assert all(row.answer in objects().named for row in episode[-games_corpus.RECALLED :])


def test_the_questions_before_a_named_object_are_not_learned() -> None:
    tok = load_tokenizer(tiny.path())
    for episode in games_corpus.episodes(5, seed=2):
        for row in episode[-games_corpus.RECALLED :]:
            (tree,) = trees(prepare.tokens(tok, [episode[0], row]), 1024, prepare.CONTEXT_KIND)
            branch = [target for target in tree.targets[tree.trunk_size :] if target != IGNORED]
            assert tok.decode(branch[:-1]) == row.answer and branch[-1] == tok.eos_token_id


def test_exercises_name_an_object_that_fits_the_answers_so_far(not_trained: set[str]) -> None:
    named, asked = set(), []
    for rows in games_corpus.exercises(120, seed=0):
        asked.append(len(rows))
        prompts = [row.prompt for row in rows]
        assert all(longer.startswith(prompt) for prompt, longer in pairwise(prompts[::-1]))
        for number, row in enumerate(reversed(rows), 1):
            now, said = GameSituation(), turns(row.prompt)
            assert len(said) == number and row.role == "drill"
            for text, heard in said:
                assert heard in ("Yes.", "No.")
                now = now.after(text, heard == "Yes.")
            assert now.left[objects().named[row.answer]]
            named.add(objects().names[objects().named[row.answer]])
        assert now.left.sum() <= player.GUESS_AT_MOST
    assert len(named) > 240 and len(named & not_trained) > 140 and max(asked) < QUESTIONS


def test_an_exercise_depends_only_on_its_number_and_the_seed() -> None:
    together = list(prepare.generated("tiny-worlds", "objects", 3, seed=1))
    (alone,) = prepare.generated("tiny-worlds", "objects", 3, seed=1, first=2)
    (other,) = prepare.generated("tiny-worlds", "objects", 3, seed=2, first=2)
    assert alone == together[2] != other


def test_only_the_answers_of_exercises_are_learned() -> None:
    """A guess may share its first tokens with the question that was asked instead, so tokens are counted."""
    tok, learns_prompts = load_tokenizer(tiny.path()), "objects" not in prepare.ANSWER_ONLY
    for rows in games_corpus.exercises(5, seed=2):
        tokens = prepare.tokens(tok, rows)
        (tree,) = trees(tokens, 1024, prepare.CONTEXT_KIND, learns_prompts)
        answers = Counter(token for row in tokens for token in row.ids[row.prompt_len :])
        assert Counter(target for target in tree.targets if target != IGNORED) == answers


def test_rows_that_name_an_object_have_the_environments_answers() -> None:
    env = TwentyQuestionsEnv(split="train")
    env.reset(seed=0)
    for turn in range(1, QUESTIONS - 1):
        observation = env.step(objects().questions[turn])[0]
        assert observation == games_corpus.answer(observation.startswith("Yes"), QUESTIONS - turn)


def test_verdicts_follow_the_futures_and_not_the_action() -> None:
    rng = random.Random(0)
    steps, _ = games_corpus.play(GamesPlayer.drawn(rng), games_corpus.training_env(), rng)
    step, futures = steps[4], games_corpus.bank(1)
    actions = [step.action, objects().questions[7], "Is it a dog?"]
    for seed in range(40):
        made = [
            critic_rows.evaluator_row(step.state, action, lambda *_: None, futures, random.Random(seed))
            for action in actions
        ]
        assert len({row.answer for row in made}) == 1
        wins = [
            future.endswith("success") for future in made[0].prompt.removesuffix(CRITIQUE).split(FUTURE)[1:]
        ]
        assert made[0].truth == (2 * sum(wins) >= len(wins))


def test_the_refiner_takes_the_advised_action_which_is_not_always_the_best(rows: list[CorpusRow]) -> None:
    changed = best = 0
    for row in rows:
        if row.role != "refiner":
            continue
        before, _, critique = row.prompt.removesuffix(REFINE).rpartition(CRITIQUE)
        action = IS.sub("Is ", before.rpartition(ACT)[2])
        advised = IS.sub("Is ", critique.rpartition("instead: ")[2])
        if "optimal: yes" in critique or advised == "nothing":
            assert row.answer == action
            continue
        assert row.answer == advised != action
        now = GameSituation()
        for text, heard in turns(before):
            now = now.after(text, heard.startswith("Yes"))
        assert row.answer not in now.asked
        changed += 1
        best += row.answer == games_player.good(now, random.Random(0))
    assert changed > 40 and best < changed / 4


@pytest.mark.parametrize("model", prepare.EPISODES)
def test_every_environment_of_a_corpus_has_episodes(model: str) -> None:
    for name in prepare.EPISODES[model]:
        (found,) = prepare.generated(model, name, 1, seed=0)
        assert found[0].role == "policy" and found[0].prompt.startswith(f"<|{name}|>")
