"""The official objects: their games, what is known of them, and data folders that are not as they should."""

import gzip
import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlac_bench.envs.twenty_questions import TwentyQuestionsEnv
from nlac_bench.envs.twenty_questions.games import games
from nlac_bench.envs.twenty_questions.objects import FILES, open_objects, read_things
from nlac_bench.errors import DataError
from nlac_bench.simulators.oracle20.answer.official import COUNTED_KINDS
from nlac_bench.simulators.oracle20.answer.world import embedded_world
from nlac_bench.simulators.oracle20.find.sentence import find_question
from nlac_bench.simulators.oracle20.know.knowledge import KB
from nlac_bench.simulators.oracle20.know.official_cells import SIZES, TABLES
from tests.simulators.oracle20.contradictions import contradictions
from tests.simulators.oracle20.fresh_questions import check

MAX_OUTSIDE = 25
"""Cells of embedded objects outside an attribute's domain, such as the long tail of a kite."""
LISTS = Path(__file__).parent / "data_twenty_questions"


def play(env: TwentyQuestionsEnv, task_id: str) -> dict[str, Any]:
    env.reset(options={"task_id": task_id})
    ended = False
    while not ended:
        _, _, ended, _, info = env.step(env.oracle_action())
    return info


@pytest.fixture(scope="module")
def official(official_data: Path) -> TwentyQuestionsEnv:
    return TwentyQuestionsEnv(data="official", split="train")


@pytest.mark.official
def test_official_games(official: TwentyQuestionsEnv) -> None:
    assert official.source.kind == "official"
    assert len(official.task_ids) == 1000
    others = [TwentyQuestionsEnv(data="official", split=split) for split in ("validation", "test")]
    drawn = [games(official.world, env.split, "full", official=True) for env in (official, *others)]
    names = [{official.world.names[game.hidden] for game in each} for each in drawn]
    assert [len(each) for each in names] == [1000, 100, 500]
    assert len(set().union(*names)) == 1600
    assert len(set(official.world.names)) == 1823
    easy = [
        len(TwentyQuestionsEnv(data="official", split=s, level="easy").task_ids)
        for s in ("train", "validation", "test")
    ]
    assert sum(easy) == 64


@pytest.mark.official
@pytest.mark.parametrize(
    ("word", "question", "value"),
    [
        ("aardvark", "Is it an animal?", 1),
        ("aardvark", "Is it a mammal?", 1),
        ("aardvark", "Is it a bird?", -1),
        ("aardvark", "Is it alive?", 1),
        ("aardvark", "Is it man-made?", -1),
        ("aardvark", "Does it have a tail?", 1),
        ("aardvark", "Does it have wheels?", -1),
        ("aardvark", "Is it an ant bear?", 1),
        ("abacus", "Is it a calculator?", 1),
        ("abacus", "Is it a kind of machine?", 1),
        ("abacus", "Is it a reptile?", -1),
        ("abacus", "Does it have beads?", 1),
        ("abacus", "Does it have a spring?", 0),
        ("abacus", "Is it popular in Japan?", 0),
        ("accordion", "Is it a musical instrument?", 1),
        ("accordion", "Is it a wind instrument?", 1),
        ("accordion", "Is it made by people?", 1),
        ("dog", "Can it fly?", -1),
        ("dog", "Is it bigger than a breadbox?", 1),
    ],
)
def test_official_answers(official: TwentyQuestionsEnv, word: str, question: str, value: int) -> None:
    world = official.world
    truth = world.truth_of(world.read(find_question(question).words))
    assert truth[world.names.index(word)] == value


@pytest.mark.official
def test_the_list_about_official_objects(official: TwentyQuestionsEnv) -> None:
    """Broad questions, mostly about words that are no embedded objects, in two batches.

    At first sight 75 and 79 % were right, none and 2.2 % wrong; both have been used to improve it since.
    """
    world = official.world
    rows = [json.loads(line) for line in (LISTS / "questions_official.jsonl").read_text().splitlines()]
    right = wrong = total = 0
    for row in rows:
        truth = world.truth_of(world.read(find_question(row["question"]).words))
        for expected, word in [(1, w) for w in row["yes"]] + [(-1, w) for w in row["no"]]:
            senses = [truth[i] for i, name in enumerate(world.names) if name == word]
            right += expected in senses  # a homograph's question is about one of its senses
            wrong += all(value == -expected for value in senses)
            total += 1
    assert total >= 450
    assert right / total >= 0.9
    assert wrong / total <= 0.005


@pytest.mark.official
def test_what_is_said_of_official_objects_obeys_the_rules(official: TwentyQuestionsEnv) -> None:
    kb = official.world.kb
    assert (kb.cells[: len(embedded_world().kb.attributes)] != 0).mean() > 0.5
    broken = contradictions(kb.cells, kb.row, kb.names)
    assert len({line.split(":")[0] for line in broken}) <= 15  # THINGS and WordNet disagree on these words


def test_parts_are_counted_as_those_of_the_embedded_objects() -> None:
    kb = embedded_world().kb
    for part, kind, number in COUNTED_KINDS:
        having = (kb.cells[kb.row[kb.count_attributes[part]]] > 0) & (kb.cells[kb.row[kind]] > 0)
        assert having.any()
        assert (kb.counts[part][:, having] == number).all(), (part, kind)


@pytest.mark.official
@pytest.mark.parametrize(
    ("word", "question", "value"),
    [
        ("bagel", "Is it something you can eat?", 1),
        ("beaver", "Does it have four legs?", 1),
        ("moth", "Does it have more than four legs?", 1),
        ("anvil", "Does it have four wheels?", -1),
        ("bagel", "Does it have four legs?", -1),
        ("anvil", "Is it an object?", 1),
        ("giraffe", "Is it known for its long neck?", 1),
    ],
)
def test_questions_about_things_parts_and_numbers(
    official: TwentyQuestionsEnv, word: str, question: str, value: int
) -> None:
    world = official.world
    truth = world.truth_of(world.read(find_question(question).words))
    assert truth[world.names.index(word)] == value


@pytest.mark.official
def test_a_size_that_is_not_known_is_like_no_other(official: TwentyQuestionsEnv) -> None:
    world = official.world
    unknown = int(np.flatnonzero(np.isnan(world.kb.size_rank))[0])
    for question in (
        "Is it the size of a car?",
        "Is it bigger than a dog?",
        "Does it weigh more than a pound?",
    ):
        assert world.truth_of(world.read(find_question(question).words))[unknown] == 0


@pytest.mark.official
@pytest.mark.parametrize("split", ["train", "test"])
def test_standard_questions_are_answered(official: TwentyQuestionsEnv, split: str) -> None:
    """The list stood before the tables of ``kb/official/``; without them 43 % of the answers were unknown."""
    env = official if split == "train" else TwentyQuestionsEnv(data="official", split="test")
    hidden = [game.hidden for game in games(env.world, split, "full", official=True)]
    questions = (LISTS / "standard_40.txt").read_text().splitlines()
    assert len(questions) == 40
    answers = [env.world.truth_of(env.world.read(find_question(q).words))[hidden] for q in questions]
    assert np.mean([(a == 0).mean() for a in answers]) <= 0.06
    assert max((a == 0).mean() for a in answers) <= 0.2


@pytest.mark.lists
@pytest.mark.official
@pytest.mark.parametrize(
    ("name", "questions", "right", "wrong"),
    [
        # 330 questions by people who had not seen the tables. At first sight 80.0 % were answered
        # right, 1.8 % wrong and 18.2 % not; the list has been used since.
        ("fresh_official.jsonl", 330, 0.9, 0.01),
        # 300 questions about single objects, by people who had not seen the tables. At first sight
        # 73.3 % were answered right, 0.7 % wrong and 26.0 % not; the list has been used since.
        ("fresh_official_2.jsonl", 300, 0.91, 0.01),
        # 748 questions, most about what is peculiar to one object, as a model asks late in a game.
        # 542 of them stood before the lists of features, without which 52.6 % of those were answered
        # right and 4.4 % wrong. Of the last 206 86.4 % were answered right at first sight, 2.9 %
        # wrong and 10.7 % not.
        ("fresh_official_3.jsonl", 748, 0.87, 0.02),
        # 300 questions about 110 objects drawn at random, by people who had not seen the tables. The
        # list was not used to improve the tables.
        ("fresh_official_4.jsonl", 300, 0.85, 0.03),
        # 60 questions about 33 objects, by a reader who had not seen the tables. At first sight 93.3
        # % were answered right, none wrong and 6.7 % not; the list has been used since. One
        # expectation was changed: the boa of the data set is worn, the list had meant the snake.
        ("fresh_official_5.jsonl", 60, 0.93, 0.02),
        # 150 questions by an author who had not seen the tables. The list was not used to improve
        # them.
        ("fresh_official_6.jsonl", 150, 0.85, 0.03),
        # 200 questions that were asked for in rare and roundabout words. The list was not used.
        ("fresh_official_7.jsonl", 200, 0.48, 0.02),
        # 150 plain questions about 75 objects drawn at random, by an author who had not seen the tables.
        # At first sight 92.0 % were answered right, none wrong.
        ("fresh_official_8.jsonl", 150, 0.91, 0.01),
        # 75 questions as players ask late in a game, with kinds and lists, by the same author. At first
        # sight 88.0 % were answered right, 6.7 % wrong; every second question has been used since.
        ("fresh_official_9.jsonl", 75, 0.88, 0.06),
        # 79 further questions of that kind; at first sight 87.3 % were answered right, 3.8 % wrong. The
        # list has been used since.
        ("fresh_official_10.jsonl", 79, 0.88, 0.03),
    ],
)
def test_lists_of_questions(
    official: TwentyQuestionsEnv, name: str, questions: int, right: float, wrong: float
) -> None:
    """Each list is answered right in at least, and wrong in at most, these shares."""
    check(LISTS / name, official.world, questions, right, wrong)


@pytest.mark.official
def test_further_names_of_official_objects_win(official: TwentyQuestionsEnv) -> None:
    for word, question in (
        ("bison", "Is it a buffalo?"),
        ("chips", "Is it a bag of potato chips?"),
        ("bookshelf", "Is it a bookcase?"),
        ("wine", "Is it a bottle of wine?"),
    ):
        official.reset(seed=0)
        official._state.hidden = official.world.names.index(word)
        assert official.step(question)[4].get("success"), question


@pytest.mark.official
def test_every_object_has_features(official: TwentyQuestionsEnv) -> None:
    """Every object, official or embedded, has a list in ``kb/features/``."""
    said = official.world.said
    assert all(len(stems) >= 4 for stems in said)
    embedded = embedded_world()
    assert all(len(stems) >= 4 for stems in embedded.said)


@pytest.mark.official
def test_every_term_of_the_tables_names_official_objects(
    official: TwentyQuestionsEnv, official_data: Path
) -> None:
    """A misspelled word in a table would be ignored, since a folder of one's own may lack any object."""
    rows = [
        line.split("\t")
        for line in (official_data / "twenty_questions" / "things_objects.tsv").read_text().splitlines()
    ]
    column = {name: i for i, name in enumerate(rows[0])}
    known = {row[column["unique_id"]] for row in rows[1:]} | {
        row[column["word"]].replace(" ", "_") for row in rows[1:]
    }
    categories = {c.strip() for row in rows[1:] for c in row[column["categories"]].split(";")}
    for file in (*TABLES, "size"):
        for attribute, entry in tomllib.loads((KB / "official" / f"{file}.toml").read_text()).items():
            for field in ("also", "except", "unsure"):
                assert not set(entry.get(field, "").split()) - known, (file, attribute)
            for field in ("yes", "no", "maybe"):
                terms = {" ".join(t.split()) for t in entry.get(field, "").split(",")}
                assert not {t[1:] for t in terms if t.startswith("@")} - categories, (file, attribute)
    for entry in tomllib.loads((KB / "official" / "measures.toml").read_text()).values():
        for group in entry["of"]:
            assert group["bounds"][0] < group["bounds"][1]
            assert not set(f"{group.get('also', '')} {group.get('except', '')}".split()) - known
            terms = {" ".join(t.split()) for t in group.get("yes", "").split(",")}
            assert not {t[1:] for t in terms if t.startswith("@")} - categories
    for words in tomllib.loads((KB / "official" / "colours.toml").read_text()).values():
        assert not set(words.split()) - known
    stand_in = tomllib.loads((KB / "official" / "stand_ins.toml").read_text())
    assert not set(stand_in) - known
    assert not set(stand_in.values()) - known


def test_ranks_are_the_attributes_of_size() -> None:
    kb = embedded_world().kb
    for attribute, (least, most) in SIZES.items():
        in_range = (kb.size_rank >= least) & (kb.size_rank <= most)
        assert (in_range == (kb.cells[kb.row[attribute]] > 0)).all(), attribute


def test_domains_hold_for_the_embedded_objects() -> None:
    """What ``domains.toml`` says of kinds is true of nearly all embedded cells."""
    kb = embedded_world().kb
    wrong = []
    for entry in tomllib.loads((KB / "official" / "domains.toml").read_text()).values():
        outside = np.logical_and.reduce([kb.cells[kb.row[kind]] < 0 for kind in entry["of"].split()])
        for attribute in entry["only"].split():
            wrong += [
                (attribute, kb.names[i]) for i in np.flatnonzero(outside & (kb.cells[kb.row[attribute]] > 0))
            ]
    assert len(wrong) <= MAX_OUTSIDE, wrong


@pytest.mark.official
def test_parts_that_are_not_listed_are_unknown(official: TwentyQuestionsEnv) -> None:
    hidden = official.world.names.index("abacus")
    official.reset(seed=0)
    official._state.hidden = hidden
    observation, _, _, _, info = official.step("Does it have a spring?")
    assert observation.startswith("I can't say.")
    assert info["known"] is False
    assert info["unknown_rate"] == 1
    for word, question in (
        ("incubator", "Does it have a spring?"),
        ("incubator", "Is it made of rubber?"),
        ("typewriter", "Does it have a spring?"),
        ("vacuum", "Does it have a motor?"),
    ):
        world = official.world
        value = world.truth_of(world.read(find_question(question).words))[world.index[word]]
        assert value >= 0, (word, question)


@pytest.mark.official
@pytest.mark.parametrize(
    ("word", "kinds"),
    [
        ("watermelon", ["a melon", "a fruit"]),
        ("incubator", ["a device", "a machine", "equipment", "an apparatus"]),
        ("meat grinder", ["a tool", "a device", "a machine"]),
        ("drill", ["a tool", "a machine"]),
    ],
)
def test_a_thing_is_what_its_kinds_are(official: TwentyQuestionsEnv, word: str, kinds: list[str]) -> None:
    world = official.world
    for kind in kinds:
        truth = world.truth_of(world.read(find_question(f"Is it {kind}?").words))
        assert truth[world.index[word]] == 1, kind


@pytest.mark.official
def test_overlapping_words_for_tools_are_no_known_no(official: TwentyQuestionsEnv) -> None:
    world = official.world
    for word in ("meat grinder", "incubator", "screwdriver"):
        for kind in ("a utensil", "a device", "a tool", "an implement", "a machine", "a gadget"):
            truth = world.truth_of(world.read(find_question(f"Is it {kind}?").words))
            assert truth[world.index[word]] >= 0, (word, kind)
    assert world.truth_of(world.read(find_question("Is it a tool?").words))[world.index["sock"]] == -1


@pytest.mark.lists
@pytest.mark.official
def test_no_object_is_known_not_to_be_one_of_its_kinds_in_wordnet(official: TwentyQuestionsEnv) -> None:
    """Every object against the members of its synset and of all synsets above it, in both data sets."""
    dataset = open_objects("official")
    things, senses = dataset.parse(FILES[0], read_things), dataset.jsonl(FILES[1])
    rows = {row["unique_id"]: row for row in senses}
    embedded, world = embedded_world(), official.world
    asked, wrong = 0, []
    for i, thing in enumerate(things):
        row = rows.get(thing["unique_id"])
        if row is None:
            continue
        alone = world.names.count(thing["word"]) == 1
        places = [(world, i)]
        places += (
            [(embedded, embedded.index[thing["word"]])] if thing["word"] in embedded.index and alone else []
        )
        for lemma in {lemma for group in (*row["ancestors"], row["members"]) for lemma in group}:
            words = find_question(f"Is it a {lemma}?").words
            for each, at in places:
                asked += 1
                if lemma != "round shape" and each.truth_of(each.read(words))[at] < 0:  # asks for the shape
                    wrong.append((each.data, thing["word"], lemma))
    assert asked > 38_000
    assert wrong == []


@pytest.mark.official
def test_homographs_are_one_word_and_one_sense_a_game(official: TwentyQuestionsEnv) -> None:
    bats = [i for i, name in enumerate(official.world.names) if name == "bat"]
    assert len(bats) == 2
    animal = official.world.kb.row["animal"]
    assert sorted(official.world.kb.cells[animal, bats].tolist()) == [-1, 1]
    for hidden in bats:
        official.reset(seed=0)
        official._state.hidden = hidden
        assert official.step("Is it a bat?")[4]["success"]


@pytest.mark.lists
@pytest.mark.official
def test_the_player_on_official_games(official: TwentyQuestionsEnv) -> None:
    infos = [play(official, task_id) for task_id in official.task_ids[:60]]
    assert np.mean([i["success"] for i in infos]) >= 0.93
    assert np.mean([i["reward_parts"]["questions"] for i in infos]) < 13.5


@pytest.mark.official
def test_an_altered_or_torn_folder(official_data: Path, tmp_path: Path) -> None:
    source = official_data / "twenty_questions"
    for name in ("things_objects.tsv", "oewn_things.jsonl.gz"):
        shutil.copy(source / name, tmp_path / name)
    (tmp_path / "oewn_things.jsonl.gz").write_bytes((source / "oewn_things.jsonl.gz").read_bytes()[:5000])
    with pytest.warns(UserWarning, match="differ"), pytest.raises(DataError, match=r"oewn_things\.jsonl\.gz"):
        TwentyQuestionsEnv(data=tmp_path)
    (tmp_path / "oewn_things.jsonl.gz").unlink()
    with pytest.raises(DataError, match=r"lacks oewn_things\.jsonl\.gz"):
        TwentyQuestionsEnv(data=tmp_path)


def write_folder(folder: Path, things: str, senses: list[Any]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "things_objects.tsv").write_text(things)
    rows = "".join(json.dumps(s) + "\n" for s in senses)
    (folder / "oewn_things.jsonl.gz").write_bytes(gzip.compress(rows.encode()))
    return folder


SENSE = {
    "unique_id": "okapi",
    "members": ["okapi"],
    "ancestors": [["giraffid"], ["mammal"], ["animal"]],
    "parts": [["part", "ear"]],
}
HEADER = "index\tunique_id\tword\tcategories\n"


@pytest.mark.filterwarnings("ignore:.*differ")
def test_a_folder_of_ones_own(tmp_path: Path) -> None:
    things = HEADER + "0\tokapi\tokapi\tanimal\n1\tspoon\tspoon\tkitchen tool; tool\n2\tgnu\tgnu\tanimal\n"
    env = TwentyQuestionsEnv(data=write_folder(tmp_path / "d", things, [SENSE]), split="train")
    assert env.source.kind == "custom"
    assert env.reset(seed=0)[1]["data_source"] == "custom"
    assert play(env, env.task_ids[0])["success"]


@pytest.mark.filterwarnings("ignore:.*differ")
@pytest.mark.parametrize(
    ("things", "senses"),
    [("", []), (HEADER, []), ("a\tb\n1\t2\n", []), (HEADER + "0\tokapi\n", []),
     (HEADER + "0\tokapi\tokapi\tanimal\n", [[1]]),
     (HEADER + "0\tokapi\tokapi\tanimal\n", [{"unique_id": "okapi"}]),
     (HEADER + "0\tokapi\tokapi\tanimal\n", [{**SENSE, "ancestors": 5}]),
     (HEADER + "0\tokapi\tokapi\tanimal\n", [{**SENSE, "parts": [["x"]]}])],
)  # fmt: skip
def test_broken_folders_are_data_errors(tmp_path: Path, things: str, senses: list[Any]) -> None:
    with pytest.raises(DataError):
        TwentyQuestionsEnv(data=write_folder(tmp_path / "d", things, senses))
