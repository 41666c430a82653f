"""The question parser, on lists of questions with expected answers and on hostile text.

The lists were written by people of this project. ``questions_300`` stood before the parser.
``questions_development`` grew beside it, a hundred questions and more at a time, each batch put to the parser
once as unseen questions and used to improve it since: what these two measure is regression, not quality. At
first sight its nine batches were answered 83, 68, 61, 85, 73, 83, 81, 77 and 89 % right and 0.4, 2.0, 4.3,
3.5, 1.6, 1.9, 1.7, 3.8 and 1.4 % wrong. ``questions_held_out`` is never used for improvement:
no word is added for its sake. It has plainer questions than the later batches, which went looking for gaps.
"""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlac_bench.simulators.oracle20.answer.world import embedded_world
from nlac_bench.simulators.oracle20.find.sentence import find_question
from nlac_bench.simulators.oracle20.find.words import noun_key, tokens, verb_key
from nlac_bench.simulators.oracle20.read.formula import Unknown, evaluate
from tests.simulators.oracle20.fresh_questions import check
from tests.timing import cpu_seconds

WORLD = embedded_world()
LISTS = Path(__file__).parent / "data_twenty_questions"


def answer(question: str, name: str) -> str:
    found = find_question(question)
    value = WORLD.truth_of(WORLD.read(found.words))[WORLD.index[name]] if found.words else 0
    return {1: "yes", -1: "no", 0: "unknown"}[int(value)]


def rates(name: str) -> tuple[int, int, float, float]:
    """Questions, expected answers, share of right and of wrong answers."""
    rows = [json.loads(line) for line in (LISTS / name).read_text(encoding="utf-8").splitlines()]
    pairs = [
        (row["question"], word, expected)
        for row in rows
        for expected in ("yes", "no")
        for word in row[expected]
    ]
    given_ = [(answer(question, word), expected) for question, word, expected in pairs]
    right = sum(a == e for a, e in given_)
    wrong = sum(a not in (e, "unknown") for a, e in given_)
    return len(rows), len(pairs), right / len(pairs), wrong / len(pairs)


def test_the_list_that_stood_before_the_parser() -> None:
    questions, answers, right, wrong = rates("questions_300.jsonl")
    assert questions >= 300
    assert answers >= 800
    assert right >= 0.98
    assert wrong <= 0.005


def test_the_development_list() -> None:
    questions, answers, right, wrong = rates("questions_development.jsonl")
    assert questions >= 1000
    assert answers >= 3000
    assert right >= 0.92
    assert wrong <= 0.006


def test_the_held_out_list() -> None:
    questions, answers, right, wrong = rates("questions_held_out.jsonl")
    assert questions >= 190
    assert answers >= 800
    assert right >= 0.9
    assert wrong <= 0.02


def test_near_a_place_is_not_in_it_and_small_is_relative_to_a_thing() -> None:
    assert answer("Is it located near the sea?", "lighthouse") == "yes"
    assert answer("Is it located near the sea?", "tiger") == "unknown"
    assert answer("Does it live in the sea?", "lion") == "no"
    assert answer("Is it a small dog?", "dog") == "unknown"
    assert answer("Is it a small animal?", "dog") == "no"
    assert answer("Is it a small dog?", "piano") == "no"


@pytest.mark.parametrize(
    ("question", "yes", "no"),
    [
        ("Is it not an animal and not a plant?", "hammer", "rose dog"),
        ("Is it not alive, and not edible?", "hammer", "apple dog"),
        ("Is it not an animal, not a plant, and not a tool?", "car", "dog rose hammer"),
        ("Is it not made of metal and not made of wood?", "dog", "chair hammer"),
        ("Is it something that is not alive and not edible?", "hammer", "apple dog"),
        ("Is it an animal that doesn't fly and doesn't swim?", "giraffe", "eagle shark hammer"),
        ("Does it have no fur and no feathers?", "snake hammer", "eagle dog"),
        ("Does it have neither fur nor feathers?", "snake hammer", "eagle dog"),
        ("Does it neither fly nor swim?", "hammer", "eagle shark"),
        ("Does it lack both fur and feathers?", "snake hammer", "eagle dog"),
        ("Is it an animal without fur or feathers?", "snake", "eagle dog hammer"),
        ("Is it not an animal, nor a plant?", "hammer", "rose dog"),
        ("Is it not a tool but a toy?", "doll", "hammer dog"),
        ("Is it something that is not alive but edible?", "apple", "hammer dog"),
        ("Do you not eat it but wear it?", "hat", "apple hammer"),
        ("Is it not just an animal but also a pet?", "dog", "tiger hammer"),
        ("Is it not both an animal and a pet?", "tiger hammer", "dog"),
        ("Is it not an animal or a plant?", "hammer", "rose dog"),
        ("Is it an animal but not a mammal?", "eagle", "dog hammer"),
        ("Is it not black and white?", "dog", "zebra"),
        ("Is it anything but an animal?", "hammer", "dog"),
        ("Is it everything but alive?", "hammer", "dog"),
        ("Is it not neither alive nor edible?", "apple dog", "hammer"),
        ("Is it an animal, but not one that lives in water?", "dog giraffe", "shark hammer"),
        ("Is it alive and not found in water?", "dog giraffe", "shark hammer"),
        ("Is it not edible, and smaller than a car?", "dog hammer", "apple car"),
        ("Is it something that is not alive, and edible?", "apple", "hammer dog"),
        ("Is it non-living and smaller than a car?", "apple hammer", "dog car"),
        ("Is it non-living and edible?", "apple", "hammer dog"),
        ("Is it non-living or edible?", "apple hammer", "dog"),
        ("Is it a non-flying bird or a fish?", "shark", "eagle dog hammer"),
        ("Is it a non-electric kitchen tool?", "knife", "hammer dog toaster"),
    ],
)
def test_what_not_denies(question: str, yes: str, no: str) -> None:
    assert [answer(question, name) for name in yes.split()] == ["yes"] * len(yes.split())
    assert [answer(question, name) for name in no.split()] == ["no"] * len(no.split())


@pytest.mark.parametrize(
    "question",
    ["Is it not an animal and a toy?", "Does it have no legs and wings?", "Does it lack fur and feathers?",
     "Is it not big and heavy?", "Is it not a tool, a toy, and a weapon?",
     "Is it used for anything but cooking?"],
)  # fmt: skip
def test_whether_not_denies_one_or_both_is_not_known(question: str) -> None:
    assert {answer(question, name) for name in WORLD.names} == {"unknown"}


@pytest.mark.parametrize(
    ("question", "yes", "no"),
    [
        ("Is it taller than a car?", "elephant refrigerator bus", "car dog chair"),
        ("Is it shorter than a car?", "dog chair", "elephant bus car"),
        ("Is it taller than a bed?", "chair cow horse table", "mouse bed"),
        ("Is it taller than a person?", "giraffe", "dog chair"),
        ("Is it longer than a car?", "bus", "dog car"),
        ("Does it weigh at most 10 pounds?", "spoon", "dog car"),
        ("Does it weigh up to 10 pounds?", "spoon", "dog car"),
        ("Does it weigh below 10 pounds?", "spoon", "dog car"),
        ("Does it weigh above 10 pounds?", "dog car", "spoon"),
        ("Does it weigh about 10 pounds?", "cat", "spoon car"),
        ("Does it weigh between 1 and 100 pounds?", "cat", "spoon car"),
        ("Does it weigh at least 10 pounds?", "dog car", "spoon"),
        ("Does it weigh as much as a car?", "car whale", "spoon dog"),
        ("Does it cost between $10 and $100?", "book", "car spoon"),
        ("Is it a foot long or longer?", "car dog", "spoon"),
        ("Is it about two feet tall?", "dog", "car spoon"),
        ("Is it more than two and a half feet tall?", "car", "spoon"),
        ("Is it between 5 and 10 inches long?", "spoon", "car"),
        ("Is it an animal that is about 2 feet tall?", "dog", "ant car"),
        ("Does it have half a dozen legs?", "ant", "dog spider"),
        ("Does it have two dozen legs?", "", "ant dog"),
        ("Does it have up to four legs?", "dog hammer", "ant"),
        ("Does it have between two and four legs?", "dog eagle", "ant hammer"),
        ("Does it have four or more legs?", "dog ant", "eagle"),
    ],
)
def test_amounts(question: str, yes: str, no: str) -> None:
    assert [answer(question, name) for name in yes.split()] == ["yes"] * len(yes.split())
    assert [answer(question, name) for name in no.split()] == ["no"] * len(no.split())


@pytest.mark.parametrize(
    "question",
    ["Is it several feet long?", "Is it two feet wide?", "Is it a foot wide?", "Does it weigh a few pounds?",
     "Is it taller than a mattress?", "Does it have fewer than 3 buttons?"],
)  # fmt: skip
def test_an_amount_that_is_not_understood_is_not_known(question: str) -> None:
    assert {answer(question, name) for name in WORLD.names} == {"unknown"}


def test_a_number_of_other_things_narrows() -> None:
    assert answer("Is it a game for two players?", "hammer") == "no"
    assert answer("Does it have 12 buttons?", "dog") == "no"
    assert answer("Does it walk on two feet?", "eagle") == "yes"


@pytest.mark.parametrize(
    ("kind", "members"),
    [("bovine", ["cow"]), ("equine", ["horse", "zebra"]), ("melon", ["watermelon"]), ("waterfowl", ["duck"]),
     ("raptor", ["eagle", "owl"]), ("sweetener", ["honey", "sugar"]), ("keyboard instrument", ["piano"])],
)  # fmt: skip
def test_further_kinds(kind: str, members: list[str]) -> None:
    question = f"Is it a {kind}?"
    assert [name for name in WORLD.names if answer(question, name) == "yes"] == members


@pytest.mark.parametrize(
    "question",
    [
        "Is it one of these: lion, tiger, bear, wolf?",
        "Is it one of the following animals: lion, tiger, bear, or wolf?",
        "Is it one of these animals (a lion, a tiger or a bear)?",
        "Is it any of a lion, a tiger or a bear?",
        "Is it any of lion, tiger, bear?",
        "Is it one of lion, tiger and bear?",
        "Is it among these: lion, tiger, bear?",
        "Is it a lion, a tiger, a bear?",
    ],
)
def test_a_choice_from_a_list_is_an_or(question: str) -> None:
    expected = [answer("Is it a lion, a tiger or a bear?", name) for name in WORLD.names]
    assert [answer(question, name) for name in WORLD.names] == expected
    assert not WORLD.guessed(WORLD.read(find_question(question).words))


def test_a_list_of_parts_is_a_choice_and_a_list_of_adjectives_is_not() -> None:
    assert answer("Does it have one of these: wheels, wings, legs?", "dog") == "yes"
    assert answer("Is it made of any of these: wood, metal, plastic?", "bread") == "no"
    assert answer("Is it a small, gray animal?", "elephant") == "no"
    assert answer("Is it one of those animals that live in Africa or Asia?", "tiger") == "yes"


@pytest.mark.parametrize(
    "frame",
    ["Is it used as a {} for working?", "Is it used as a {}?", "Do you use it as a {}?",
     "Is it kept as a {}?", "Is it sold as a {}?", "Does it serve as a {}?", "Could it act as a {}?",
     "Does it function as a {}?", "Does it belong to the {} family?", "Is it a thing used as a {}?"],
)  # fmt: skip
def test_a_role_is_no_guess(frame: str) -> None:
    """What a thing is used, kept or sold as is not what it is; whether it is that object stays unknown."""
    for name in WORLD.names:
        formula = WORLD.read(find_question(frame.format(name)).words)
        assert not WORLD.guessed(formula), name
        assert not WORLD.fairly_guessed(formula, WORLD.index[name])
    assert answer("Is it used as a tiger for working?", "tiger") == "unknown"
    assert answer("Is it used as a weapon?", "sword") == "yes"
    assert answer("Is it kept as a pet?", "dog") == "yes"


@pytest.mark.parametrize(
    ("name", "questions", "right", "wrong"),
    [
        # 235 questions of the kinds that had been misread, by people who had not seen the tables. At
        # first sight 74.5 % were answered right, 1.7 % wrong and 23.8 % not; the list has been used
        # since.
        ("fresh_embedded.jsonl", 235, 0.9, 0.01),
        # 230 questions as players put them, by people who had not seen the tables. At first sight
        # 79.6 % were answered right, 1.7 % wrong and 18.7 % not; the list has been used since.
        ("fresh_embedded_2.jsonl", 230, 0.9, 0.01),
        # 510 questions, many about what is peculiar to one object, as a model asks late in a game.
        # 324 of them stood before the lists of features, without which 61.7 % of those were answered
        # right and 5.6 % wrong. Of the last 186 86.6 % were answered right at first sight, 0.5 %
        # wrong and 12.9 % not.
        ("fresh_embedded_3.jsonl", 510, 0.86, 0.02),
        # 230 questions about 78 objects drawn at random, by people who had not seen the tables. The
        # list was not used to improve the tables.
        ("fresh_embedded_4.jsonl", 230, 0.9, 0.02),
        # 60 questions about 32 objects, by a reader who had not seen the tables. At first sight 85.0
        # % were answered right, 1.7 % wrong and 13.3 % not; the list has been used since.
        ("fresh_embedded_5.jsonl", 60, 0.93, 0.02),
        # 150 questions by an author who had not seen the tables. The list was not used to improve
        # them.
        ("fresh_embedded_6.jsonl", 150, 0.9, 0.02),
        # 200 questions that were asked for in rare and roundabout words. The list was not used.
        ("fresh_embedded_7.jsonl", 200, 0.55, 0.03),
        # 150 plain questions about 75 objects drawn at random, by an author who had not seen the tables.
        # At first sight 97.3 % were answered right, 0.7 % wrong.
        ("fresh_embedded_8.jsonl", 150, 0.96, 0.01),
        # 75 questions as players ask late in a game, with kinds and lists, by the same author. At first
        # sight 77.3 % were answered right, 2.7 % wrong; every second question has been used since.
        ("fresh_embedded_9.jsonl", 75, 0.8, 0.0),
        # 63 further questions of that kind; at first sight 77.8 % were answered right, 1.6 % wrong. The
        # list has been used since.
        ("fresh_embedded_10.jsonl", 63, 0.84, 0.0),
    ],
)
def test_lists_of_questions(name: str, questions: int, right: float, wrong: float) -> None:
    """Each list is answered right in at least, and wrong in at most, these shares."""
    check(LISTS / name, WORLD, questions, right, wrong)


@pytest.mark.parametrize(
    ("name", "question", "truth"),
    [
        ("cow", "Is a shoe made from it?", 0),
        ("river", "Is it a place, not an object?", 1),
        ("cup", "Is it a place, not an object?", -1),
        ("pineapple", "Is the surface smooth?", -1),
        ("computer keyboard", "Do you use your fingers to operate it?", 1),
        ("computer", "Was it around 500 years ago?", -1),
        ("hammer", "Is it a tool – is it used with your hands?", 1),
    ],
)
def test_what_is_asked_about_another_subject(name: str, question: str, truth: int) -> None:
    """A product, a surface or a contrast is not taken for what the hidden object itself is."""
    value = WORLD.truth_of(WORLD.read(find_question(question).words))[WORLD.names.index(name)]
    assert value == truth


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("Does it have a wick?", "candle", "yes"),
        ("Does it build dams?", "cactus", "unknown"),
        ("Does it need a lot of water?", "cactus", "unknown"),
        ("Would you wear it to the beach?", "piano", "no"),
        ("Can it hardly be lit?", "candle", "unknown"),
    ],
)
def test_what_is_said_of_objects(question: str, text: str, expected: str) -> None:
    assert answer(question, text) == expected


@pytest.mark.parametrize(
    ("question", "name", "expected"),
    [
        ("Isn't it an animal?", "dog", "yes"),
        ("Isn't it an animal?", "hammer", "no"),
        ("Is it not an animal?", "hammer", "yes"),
        ("It's an animal, isn't it?", "dog", "yes"),
        ("It isn't an animal, is it?", "dog", "yes"),
        ("Can't you eat it?", "bread", "yes"),
        ("Is it neither alive nor edible?", "hammer", "yes"),
        ("Is it a non-living thing?", "hammer", "yes"),
        ("Is it inedible?", "hammer", "yes"),
        ("Is it something that is not alive?", "hammer", "yes"),
        ("Does it not have wheels?", "car", "no"),
        ("Is it a tool without a blade?", "hammer", "yes"),
        ("Is it a tool without a blade?", "saw", "no"),
        ("Is it red or green?", "tomato", "yes"),
        ("Is it alive or not?", "dog", "yes"),
        ("Is it heavy or light?", "elephant", "unknown"),
        ("Is it both edible and sweet?", "apple", "yes"),
        ("Is it both edible and sweet?", "potato", "no"),
        ("Is it a large animal that lives in Africa?", "giraffe", "yes"),
        ("Is it bigger than a cat but smaller than a horse?", "elephant", "no"),
        ("Does it have exactly four legs?", "dog", "yes"),
        ("Does it have at least six legs?", "spider", "yes"),
        ("Does it have fewer than four wheels?", "bicycle", "yes"),
        ("Does it weigh over 100 pounds?", "horse", "yes"),
        ("Is it under 2 kg?", "cup", "yes"),
        ("Is it the size of a breadbox?", "ant", "no"),
        ("Is it heavier than a horse?", "car", "yes"),
        ("Is it lighter than a feather?", "feather", "no"),
        ("Is it cheaper than $20?", "pencil", "yes"),
        ("Is it taller than the average person?", "giraffe", "yes"),
        ("Is it as big as a house?", "castle", "unknown"),
        ("Would it fit inside a suitcase?", "shirt", "yes"),
        ("Is its colour yellow?", "banana", "yes"),
        ("Is its main purpose to cut things?", "scissors", "yes"),
        ("Do children play with it?", "doll", "yes"),
        ("Is it used by doctors?", "stethoscope", "yes"),
        ("Is there a screen on it?", "television", "yes"),
        ("Made of wood?", "pencil", "yes"),
        ("does it fly", "eagle", "yes"),
        ("Is it a wolf?", "dog", "no"),
        ("Is it a gadget from the future?", "radio", "unknown"),
        ("Is it a gadget from the future?", "dog", "no"),
        ("Does it remind you of your mother?", "vase", "unknown"),
        ("Is it used to play the violin?", "violin", "unknown"),
        ("Is it popular in Japan?", "camera", "unknown"),
        ("Is it the best animal?", "dog", "unknown"),
        ("Is it made by Sony?", "camera", "unknown"),
        ("Is it always red?", "apple", "unknown"),
        ("Is it made of metal or plastic?", "pen", "yes"),
        ("Is it made of metal or plastic?", "book", "no"),
        ("Is it made of metal rather than plastic?", "hammer", "yes"),
        ("Is it made of metal rather than plastic?", "pen", "no"),
        ("Is it found indoors instead of outdoors?", "car", "no"),
        ("Is it part of something?", "dog", "unknown"),
        ("Is it a part of something bigger?", "dog", "no"),
        ("Does it fit in a car?", "car", "no"),
        ("Does it fit in a car?", "dog", "yes"),
        ("Does it fit in a backpack?", "towel", "unknown"),
        ("Does it fit in a backpack?", "piano", "no"),
        ("Is it the size of a basketball?", "soccer ball", "yes"),
        ("Is it the size of a basketball?", "belt", "no"),
        ("Does it make a noise when you shake it?", "dice", "unknown"),
        ("Is it soft when you touch it?", "pillow", "yes"),
        ("Does it float in the summer?", "duck", "unknown"),
        ("Is it worn on the feet or legs?", "dog", "no"),
        ("Is it worn on the feet or legs?", "pants", "yes"),
        ("Is it big (bigger than a person)?", "horse", "yes"),
        ("Is it alive (made of wood)?", "dog", "unknown"),
        ("Is it a vehicle (car, truck, bus)?", "car", "yes"),
        ("Is it a vehicle (e.g. a car)?", "dog", "no"),
        ("Is it too heavy to lift?", "piano", "yes"),
        ("Is it too heavy to lift?", "pen", "no"),
        ("Is it soft, and do you find it in the bedroom?", "pillow", "yes"),
        ("Is it an animal and can it fly?", "cow", "no"),
        ("Does it work without electricity?", "toaster", "no"),
        ("Is it roughly as big as a cat?", "elephant", "no"),
        ("Is it at least as big as a dog?", "horse", "yes"),
    ],
)
def test_grammar(question: str, name: str, expected: str) -> None:
    assert answer(question, name) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Question 3: Is it alive?", "is it alive"),
        ("Okay, so, is it alive?", "is it alive"),
        ("**Is it alive?**", "is it alive"),
        ("I wonder if it is alive?", "it is alive"),
        ("It may be a dog. Is it alive?", "is it alive"),
        ("Is it a dog? Hm. Is it alive?", "is it alive"),
        ("Thought: it could be alive.\nAction: Is it alive?", "is it alive"),
        ("Is it more than 2.5 kg?", "is it more than 2.5 kg"),
        ("IS IT ALIVE", "is it alive"),
        ("Is it usually alive?", "is it alive"),
        ("Is this person's object alive?", "is this a thing alive"),
        ("I think it's a dog. Am I right?", "it is a dog"),
        ("It must be a dog. Is that correct?", "it must be a dog"),
        ("New topic: is it alive?", "is it alive"),
        ("Sorry to ask again, but is it alive?", "is it alive"),
        ("I would like to know if it is alive.", "it is alive"),
        ("My guess is a dog!", "a dog"),
    ],
)
def test_finding_the_question(text: str, words: str) -> None:
    assert " ".join(find_question(text).words).replace("this you thing", "this a thing") == words


@pytest.mark.parametrize(
    "text", ["", "Hello.", "What is it?", "Which colour?", "It is a dog.", "...", "How heavy is it?", "Why?"]
)
def test_what_is_no_question(text: str) -> None:
    found = find_question(text)
    assert found.problem
    assert not found.words


@pytest.mark.parametrize(
    ("plural", "singular"),
    [("knives", "knife"), ("buses", "bus"), ("cherries", "cherry"), ("cookies", "cookie"),
     ("glasses", "glasses"), ("boxes", "box"), ("vases", "vase"), ("potatoes", "potato")],
)  # fmt: skip
def test_plurals_share_the_key_of_their_singular(plural: str, singular: str) -> None:
    assert noun_key(plural) == noun_key(singular)


@pytest.mark.parametrize(
    ("form", "verb"),
    [("eaten", "eat"), ("riding", "ride"), ("cutting", "cut"), ("flies", "fly"), ("carried", "carry"),
     ("used", "use"), ("worn", "wear"), ("played", "play")],
)  # fmt: skip
def test_forms_share_the_key_of_their_verb(form: str, verb: str) -> None:
    assert verb_key(form) == verb_key(verb)


def test_keys_keep_words_apart_and_bring_people_together() -> None:
    assert noun_key("glass") != noun_key("glasses")
    assert tokens("Is the object found in a person's home?") == tokens("is an object found in your home")


WORDS = sorted(
    {
        w
        for row in (LISTS / "questions_300.jsonl").read_text().splitlines()
        for w in json.loads(row)["question"].split()
    }
)


@pytest.mark.parametrize(
    ("question", "name", "fair"),
    [
        ("Is it a pet dog?", "dog", True),
        ("Is it the front door?", "door", True),
        ("Is it a pair of shoes?", "shoe", True),
        ("Is it a bottle of wine?", "wine", True),
        ("Is it an old family dog?", "dog", True),
        ("Is it a toy dog?", "dog", False),
        ("Is it a stuffed dog?", "dog", False),
        ("Is it a hot dog?", "dog", False),
        ("Is it dog food?", "dog", False),
        ("Is it a violin case?", "violin", False),
        ("Is it a computer mouse?", "mouse", False),
        ("Is it used with an apple?", "apple", False),
        ("Is it made by a dog?", "dog", False),
        ("Is it like a dog?", "dog", False),
        ("Is it part of a door?", "door", False),
        ("Is it a picture of a dog?", "dog", False),
        ("Is it roughly as big as a cat?", "cat", False),
    ],
)
def test_fair_guesses(question: str, name: str, fair: bool) -> None:
    assert WORLD.fairly_guessed(WORLD.read(find_question(question).words), WORLD.index[name]) is fair


NOT_A_GUESS = (
    "Is it a {} case?", "Is it {} food?", "Is it like a {}?", "Is it a picture of a {}?", "Is it a model {}?",
    "Is it used with a {}?", "Is it found near a {}?", "Is it part of a {}?", "Is it not a {}?",
    "Is it made by a {}?", "Does it look like a {}?", "Is it bigger than a {}?", "Does it go with a {}?",
    "Would a {} use it?",
)  # fmt: skip


@pytest.mark.lists
def test_a_question_that_only_mentions_the_object_is_no_fair_guess() -> None:
    for pattern in NOT_A_GUESS:
        for i, name in enumerate(WORLD.names):
            formula = WORLD.read(find_question(pattern.format(name)).words)
            assert not WORLD.fairly_guessed(formula, i), pattern.format(name)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join) | st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    found = find_question(text + "?")
    if found.words:
        truth = evaluate(WORLD.read(found.words), WORLD)
        assert truth.shape == (len(WORLD),)
        assert set(truth.tolist()) <= {-1, 0, 1}


def test_nested_conjunctions_are_bounded() -> None:
    def reading(parts: int) -> float:
        question = "Is it " + " or ".join(["used to cut in the kitchen and bathroom"] * parts) + "?"
        words = find_question(question).words
        assert WORLD.read(words) is not None
        return cpu_seconds(lambda: WORLD.read(words))

    assert reading(8) < 100 * reading(1)


def test_parsing_is_the_same_every_time() -> None:
    question = find_question("Is it a small animal that can fly?").words
    assert WORLD.parser.read(question) == WORLD.parser.read(question)
    assert isinstance(WORLD.parser.read(("is", "it", "blorf")), Unknown)
