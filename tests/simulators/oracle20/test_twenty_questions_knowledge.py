"""The embedded knowledge base: its size, its decided cells, and its agreement with itself."""

from itertools import pairwise

import numpy as np
import pytest

from nlac_bench.envs.twenty_questions.player import repertoire
from nlac_bench.simulators.oracle20.answer.world import _AT_MOST_RANK, _LARGER_THAN_RANK, embedded_world
from nlac_bench.simulators.oracle20.find.sentence import find_question
from nlac_bench.simulators.oracle20.know.implications import close, rules
from nlac_bench.simulators.oracle20.know.knowledge import ROLES, embedded
from nlac_bench.simulators.oracle20.read.formula import Attr, Or
from nlac_bench.simulators.oracle20.read.lexicon import embedded_lexicon
from tests.simulators.oracle20.contradictions import contradictions

KB = embedded()
TOP_CATEGORIES = (
    "mammal",
    "bird",
    "reptile",
    "fish",
    "insect",
    "plant",
    "fruit",
    "vegetable",
    "dessert",
    "drink",
    "clothing",
    "jewelry",
    "furniture",
    "tableware",
    "appliance",
    "electronic_device",
    "vehicle",
    "musical_instrument",
    "tool",
    "office_supply",
    "sports_equipment",
    "toy",
    "toiletry",
    "weapon",
    "building",
    "landform",
)


def cell(attribute: str, name: str) -> int:
    return int(KB.cells[KB.row[attribute], KB.names.index(name)])


def test_size() -> None:
    assert len(KB.names) == len(set(KB.names)) == 255
    assert len(KB.easy) == 64
    assert len(KB.attributes) >= 600
    assert all((KB.cells[KB.row[c]] > 0).any() for c in TOP_CATEGORIES)


def test_every_cell_is_decided() -> None:
    assert KB.cells.dtype == np.int8
    assert (np.abs(KB.cells) == 1).all()
    for measure in ("length", "weight", "height"):
        assert np.isfinite(KB.measures[measure]).all()
        assert (KB.measures[measure] > 0).all()


def test_no_contradiction_with_any_rule() -> None:
    assert len(rules()) > 500
    assert contradictions(KB.cells, KB.row, KB.names) == []


def test_the_rules_find_planted_contradictions() -> None:
    for attribute, name, wrong in (
        ("alive", "dog", -1),
        ("bigger_than_person", "ant", 1),
        ("electric", "lion", 1),
    ):
        cells = KB.cells.copy()
        cells[KB.row[attribute], KB.names.index(name)] = wrong
        found = contradictions(cells, KB.row, KB.names)
        assert found
        assert all(line.startswith(f"{name}:") for line in found)


def test_the_rules_are_closed_without_changing_what_is_known() -> None:
    cells = np.zeros_like(KB.cells)
    cells[KB.row["bird"], 0] = 1
    close(cells, KB.row)
    for attribute, value in (
        ("animal", 1),
        ("alive", 1),
        ("feathers", 1),
        ("man_made", -1),
        ("mammal", 0),
        ("electric", -1),
    ):
        assert cells[KB.row[attribute], 0] == value or (
            attribute == "mammal" and cells[KB.row["mammal"], 0] == -1
        )
    assert (cells[:, 1] == 0).all()


def test_size_attributes_follow_the_measures() -> None:
    rank = KB.size_rank
    order = ["bigger_than_breadbox", "bigger_than_person", "bigger_than_car", "bigger_than_house"]
    for smaller, bigger in pairwise(order):
        assert not ((KB.cells[KB.row[bigger]] > 0) & (KB.cells[KB.row[smaller]] < 0)).any()
    for attribute, largest in _LARGER_THAN_RANK.items():
        assert ((KB.cells[KB.row[attribute]] > 0) == (rank > largest)).all(), attribute
    for attribute, largest in _AT_MOST_RANK.items():
        assert (rank[KB.cells[KB.row[attribute]] > 0] <= largest).all(), attribute
    # what is three ranks bulkier than another thing is longer than it, or at least heavier
    for i in range(len(rank)):
        bulkier = rank >= rank[i] + 3
        longer = KB.measures["length"][bulkier] > KB.measures["length"][i]
        heavier = KB.measures["weight"][bulkier] > KB.measures["weight"][i]
        assert (longer | heavier).all(), KB.names[i]


@pytest.mark.parametrize(
    ("attribute", "yes", "no"),
    [
        ("mammal", "dog bat whale dolphin", "shark penguin ant"),
        ("flies", "eagle airplane bee bat", "penguin ostrich car"),
        ("edible", "apple bread cheese", "soap milk cactus"),
        ("electric", "toaster lamp car", "hammer candle bicycle"),
        ("worn", "shirt ring helmet", "spoon towel"),
        ("wheels", "car bicycle skateboard", "sailboat chair"),
        ("makes_sound", "dog piano drum", "pillow spoon"),
        ("kitchen", "spoon oven apple", "tractor bed"),
        ("metal", "key fork car", "pillow pencil"),
        ("natural", "river lion apple", "castle book"),
    ],
)
def test_spot_checks(attribute: str, yes: str, no: str) -> None:
    assert [n for n in yes.split() if cell(attribute, n) < 0] == []
    assert [n for n in no.split() if cell(attribute, n) > 0] == []


def test_every_objects_row_is_its_own() -> None:
    columns = {KB.cells[:, i].tobytes() for i in range(len(KB.names))}
    assert len(columns) == len(KB.names)


def test_no_name_belongs_to_two_objects() -> None:
    seen: dict[tuple[str, ...], str] = {}
    for name, keys in zip(KB.names, embedded_world().name_keys, strict=True):
        for key in keys:
            assert seen.setdefault(key, name) == name, key
        assert not keys & KB.foreign, f"{name} is in other_things.txt"


def test_every_attribute_can_be_asked_in_its_own_words() -> None:
    """The player's questions mean to the parser what they mean to their author."""
    world = embedded_world()
    for attribute in KB.attributes:
        if attribute.ask:
            truth = world.truth_of(world.read(find_question(attribute.ask).words))
            decided = truth != 0
            assert decided.mean() > 0.9, attribute
            assert (truth == KB.cells[KB.row[attribute.id]])[decided].all(), attribute


def test_the_repertoire_tells_all_objects_apart() -> None:
    yes = repertoire(embedded_world()).yes
    assert len({yes[:, i].tobytes() for i in range(yes.shape[1])}) == yes.shape[1]


def test_phrases_with_several_readings_are_few_and_positive() -> None:
    lexicon = embedded_lexicon()
    phrases = [f for role in ROLES for f in lexicon.tables[role].values()]
    several = [f for f in phrases if isinstance(f, Or)]
    assert len(phrases) > 5000
    assert len(several) < 0.03 * len(phrases)
    assert all(isinstance(part, Attr) for f in several for part in f.parts if len(f.parts) > 2)
