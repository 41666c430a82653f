"""Generated problems: every gold holds, the text says what was meant, train and test never meet."""

import functools
import hashlib
import itertools
import random
import re
from fractions import Fraction
from math import comb
from typing import Any, cast

import numpy as np
import pytest
import sympy
from math_verify import LatexExtractionConfig, parse

from nlac_bench.envs.math500_hard import generator
from nlac_bench.envs.math500_hard.generator import latex
from nlac_bench.envs.math500_hard.generator.family import NEW_FAMILIES, Draft, Draw, close, family
from nlac_bench.envs.math500_hard.problem import GENERATED, LEVELS, SUBJECTS, Split
from nlac_bench.errors import UnknownIdError
from nlac_bench.simulators.math_grader.compare.judge import check

PLACES = [(family, level) for family in generator.FAMILIES.values() for level in family.levels]
SAMPLES = 12
"""Problems of each family, level and split that is checked."""


def ids(name: str, level: int, count: int, split: str = "test") -> list[str]:
    subject = generator.FAMILIES[name].subject
    split = "test_new" if name in NEW_FAMILIES else split
    return [f"{split}/{subject}/{name}/{level}/{i:06d}" for i in range(count)]


def statements(name: str, level: int, count: int = 25) -> list[tuple[str, object]]:
    """Statement and exact answer of some problems of a family."""
    drafts = [generator.draft(task_id)[0] for task_id in ids(name, level, count)]
    return [(draft.statement, draft.value) for draft in drafts]


@functools.cache
def statements_of(split: Split, levels: tuple[int, ...], count: int) -> set[str]:
    return {generator.generate(task_id).statement for task_id in generator.task_ids(split, levels, count)}


def keys_of(task_ids: list[str]) -> set[object]:
    return {(task_id.split("/")[2], generator.draft(task_id)[1]) for task_id in task_ids}


def read(text: str) -> sympy.Basic:
    """LaTeX read by another project's parser."""
    return parse(f"${text}$", [LatexExtractionConfig()], parsing_timeout=None)[0]


def put(expression: sympy.Basic, **values: object) -> sympy.Basic:
    """``expression`` with symbols replaced by name: the parser gives its symbols assumptions of its own."""
    expression = sympy.sympify(expression)
    return expression.subs({s: sympy.sympify(values[s.name]) for s in expression.free_symbols})


def sides(text: str) -> tuple[sympy.Basic, sympy.Basic]:
    left, right = text.split("=")
    return read(left), read(right)


# --- what is there ------------------------------------------------------------------------------


def test_families_cover_every_subject_and_level() -> None:
    assert len(generator.FAMILIES) >= 24
    assert {family.subject for family, _ in PLACES} == set(SUBJECTS)
    assert {(family.subject, level) for family, level in PLACES} == {(s, k) for s in SUBJECTS for k in LEVELS}


@pytest.mark.lists
def test_every_gold_passes_its_second_method_and_every_text_is_well_formed() -> None:
    checked = 0
    for fam, level in PLACES:
        phrasings: dict[str, set[str]] = {}
        for split in ("test_new",) if fam.name in NEW_FAMILIES else ("train", "test", "test_new"):
            phrasings[split] = set()
            for task_id in ids(fam.name, level, SAMPLES, split):
                draft, _, _, _ = generator.draft(task_id)
                assert draft.check, task_id
                problem = generator.generate(task_id)  # raises where the check fails
                assert problem.level == level and problem.subject == SUBJECTS[fam.subject]
                for text in (problem.statement, problem.work, f"${problem.answer}$"):
                    assert text.isascii() and text.count("$") % 2 == text.count(r"\$") % 2, (task_id, text)
                    assert text.count("{") == text.count("}")
                    assert "  " not in text and "None" not in text and "Fraction(" not in text, (
                        task_id,
                        text,
                    )
                    assert not re.search(r"\+ -|- -|(?<!\d)1x|\b0x", text), (task_id, text)
                assert problem.statement.rstrip("$")[-1] in ".?=1234567890]}", task_id
                assert 0 < len(problem.statement) < 420 and 0 < len(problem.work) < 420
                phrasings[split].add(re.sub(r"\$[^$]*\$|\d+", "#", problem.statement))
                checked += 1
        assert len(set.union(*phrasings.values())) >= 2, f"{fam.name} at level {level} has one wording only"
        new = phrasings.pop("test_new")
        assert new and not any(new & others for others in phrasings.values()), fam.name
    assert checked > 2 * SAMPLES * len(PLACES)


def test_whole_families_and_a_fifth_of_the_wordings_are_only_in_the_new_test() -> None:
    assert len(NEW_FAMILIES) >= 6 and not NEW_FAMILIES - generator.FAMILIES.keys()
    assert {generator.FAMILIES[name].subject for name in NEW_FAMILIES} == set(SUBJECTS)
    splits: tuple[Split, ...] = ("train", "validation", "test", "test_new")
    for split in splits:
        listed = generator.task_ids(split, LEVELS, 500)
        used = {task_id.split("/")[2] for task_id in listed} & NEW_FAMILIES
        assert used == (NEW_FAMILIES if split == "test_new" else set())
    wordings = tuple("abcdefg")
    for count in range(2, 8):
        drawn = [
            {Draw("linear_equation", "test", str(i), new=new).phrase(*wordings[:count]) for i in range(200)}
            for new in (False, True)
        ]
        assert not drawn[0] & drawn[1] and len(drawn[1]) >= count / 5 and len(drawn[0] | drawn[1]) == count


@pytest.mark.parametrize(("fam", "level"), PLACES, ids=lambda x: getattr(x, "name", x))
def test_the_latex_of_the_answer_means_the_value(fam: generator.Family, level: int) -> None:
    for task_id in ids(fam.name, level, 3, "train"):
        value = generator.draft(task_id)[0].value
        answer = generator.generate(task_id).answer
        if isinstance(value, str):
            assert answer == value
            continue
        assert answer == latex.show(value)
        expected = [value] if not isinstance(value, (list, tuple)) else list(value)
        if isinstance(value, list | tuple):
            inner = answer.strip("()") if isinstance(value, tuple) else answer
            parts = [read(part) for part in inner.split(", ")]
        else:
            parts = [read(answer)]
        for part, exact in zip(parts, expected, strict=True):
            point = sympy.Rational(17, 7)
            assert close(put(part, i=sympy.I, x=point), complex(put(exact, x=point).evalf(20))), task_id


@pytest.mark.parametrize(("fam", "level"), PLACES, ids=lambda x: getattr(x, "name", x))
def test_the_grader_accepts_the_gold_and_refuses_another_answer(fam: generator.Family, level: int) -> None:
    problems = [generator.generate(task_id) for task_id in ids(fam.name, level, 6, "train")]
    first = problems[0]
    assert check(first.answer, rf"{first.work} So it is \boxed{{{first.answer}}}.")[0] is True
    other = next((p.answer for p in problems if p.answer != first.answer), None)
    if other is not None:
        assert check(first.answer, rf"\boxed{{{other}}}")[0] is False


# --- the statement, read back, is solved by the gold ----------------------------------------------


@pytest.mark.parametrize("level", [1, 2, 3])
def test_linear_equations_hold_at_the_gold(level: int) -> None:
    for text, value in statements("linear_equation", level):
        equation = next(part for part in re.findall(r"\$([^$]+)\$", text) if "=" in part)
        left, right = sides(equation)
        assert sympy.simplify(put(left - right, x=str(value))) == 0, text


@pytest.mark.parametrize("level", [2, 3, 4])
def test_systems_hold_at_the_gold(level: int) -> None:
    for text, value in statements("linear_system", level):
        x, y = cast(tuple[Any, Any], value)
        equations = re.findall(r"[-0-9xy+ ]+ = -?\d+", text)
        assert len(equations) == 2, text
        for equation in equations:
            left, right = sides(equation)
            assert put(left, x=x, y=y) == right, text


@pytest.mark.parametrize("level", [2, 3, 4, 5])
def test_quadratics_vanish_at_the_gold(level: int) -> None:
    for text, value in statements("quadratic_roots", level):
        polynomial = read(re.search(r"\$([^$=]*x\^\{2\}[^$=]*)", text)[1])  # type: ignore[index]
        roots = sorted(sympy.roots(polynomial), key=lambda root: root.evalf(20))
        if isinstance(value, list):
            assert roots == [sympy.Rational(str(v)) for v in value], text
        else:
            assert sympy.simplify(roots["larger" in text] - value) == 0, text


@pytest.mark.parametrize("level", [3, 4, 5])
def test_exponent_equations_hold_at_the_gold(level: int) -> None:
    for text, value in statements("exponent_equation", level):
        left, right = sides(next(p for p in re.findall(r"\$([^$]+)\$", text) if "=" in p))
        logs = [sympy.log(put(side, x=str(value))) for side in (left, right)]
        gap = sympy.expand_log(logs[0] - logs[1], force=True)
        assert abs(gap.evalf(40)) < 1e-15, text


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("integer_arithmetic", (1, 2)),
        ("order_of_operations", (2, 3)),
        ("fraction_sum", (1, 2, 3, 4)),
        ("exact_trigonometry", (3,)),
        ("complex_arithmetic", (1, 2, 3)),
        ("polynomial_product", (2, 3)),
        ("complex_power", (4, 5)),
    ],
)
def test_expressions_have_the_gold_value(name: str, levels: tuple[int, ...]) -> None:
    names = {"i": sympy.I, "x": sympy.Rational(9, 4)}
    for level in levels:
        for text, value in statements(name, level, 12):
            expression = re.search(r"\$([^$]+)\$", text)[1]  # type: ignore[index]
            assert close(put(read(expression), **names), complex(put(value, **names).evalf(20))), text


@pytest.mark.parametrize(
    ("name", "level", "pattern", "solve"),
    [
        ("remainder", 1, r"when \$(\d+)\$ is divided by \$(\d+)\$", lambda a, m: a % m),
        ("remainder", 3, r"when \$(\d+)\^\{(\d+)\}\$ is divided by \$(\d+)\$", lambda a, k, m: a**k % m),
        ("last_digits", 3, r"of \$(\d+)\^\{(\d+)\}\$", lambda a, k: a**k % 10),
        ("last_digits", 4, r"\$(\d+)\^\{(\d+)\}\$", lambda a, k: a**k % 100),
        ("percentage", 1, r"\$(\d+)(?:\\%)?\$ (?:percent )?of \$(\d+)\$", lambda p, n: Fraction(p * n, 100)),
        ("right_triangle", 1, r"\$(\d+)\$ and \$(\d+)\$", lambda a, b: sympy.sqrt(a * a + b * b)),
        ("divisor_sum", 4, r"divisors of \$(\d+)\$", lambda n: sum(d for d in range(1, n + 1) if n % d == 0)),
        ("committees", 2, r"choose \$(\d+)\$ people from a group of \$(\d+)\$", lambda k, n: comb(n, k)),
        ("number_base", 3, r"number \$(\d+)\$ in base \$(\d)\$", np.base_repr),
        ("degrees_and_radians", 1, r"\$(-?\d+)\^", lambda d: sympy.pi * d / 180),
        ("coprime_count", 4, r"prime to \$(\d+)\$", lambda n: sum(np.gcd(k, n) == 1 for k in range(1, n))),
    ],
)  # fmt: skip
def test_numbers_in_the_text_give_the_gold(name: str, level: int, pattern: str, solve: object) -> None:
    solved = 0
    for text, value in statements(name, level, 40):
        if found := re.search(pattern, text):
            assert solve(*map(int, found.groups())) == value, text  # type: ignore[operator]
            solved += 1
    assert solved >= 8


# --- train and test -------------------------------------------------------------------------------


@pytest.mark.lists
def test_splits_are_disjoint_and_listings_have_no_repeats() -> None:
    seen: dict[str, set[object]] = {}
    texts: dict[str, set[str]] = {}
    for split, count in (("train", 2_000), ("validation", 500), ("test", 500), ("test_new", 500)):
        listed = generator.task_ids(split, LEVELS, count)  # type: ignore[arg-type]
        assert len(set(listed)) == count
        keys = [(task_id.split("/")[2], generator.draft(task_id)[1]) for task_id in listed]
        assert len(set(keys)) == count  # no two tasks are the same problem
        side = "train" if split == "train" else "test"
        assert all(generator.side_of(name, key) == side for name, key in keys)
        seen[split] = set(keys)
        texts[split] = {generator.generate(task_id).statement for task_id in listed}
        assert {task_id.split("/")[1] for task_id in listed[:35]} == set(SUBJECTS)
        assert {task_id.split("/")[3] for task_id in listed[:35]} == set("12345")
    for split, other in itertools.combinations(seen, 2):
        if {split, other} != {"test", "test_new"}:  # which have the same problems in other words
            assert not seen[split] & seen[other]
        assert not texts[split] & texts[other]


@pytest.mark.lists
@pytest.mark.parametrize("level", [1, 5])
def test_no_statement_of_validation_is_in_the_default_splits(level: int) -> None:
    """Neither at its level nor at all levels; a longer listing leaves out as long a test.

    No problem of it is in the split test_new in other words.
    """
    held_out = statements_of("validation", (level,), GENERATED["validation"])
    assert len(held_out) == 100
    for levels in ((level,), LEVELS):
        assert not held_out & statements_of("test", levels, GENERATED["test"] * len(levels))
        new = generator.task_ids("test_new", levels, GENERATED["test_new"] * len(levels))
        validation = generator.task_ids("validation", (level,), GENERATED["validation"])
        assert not keys_of(new) & keys_of(validation)
    assert not held_out & statements_of("train", (level,), GENERATED["train"])
    assert not statements_of("validation", (level,), 700) & statements_of("test", (level,), 700)


def test_validation_problems_are_the_pinned_ones() -> None:
    found = generator.task_ids("validation", LEVELS, 500) + generator.task_ids("validation", (1,), 100)
    texts = "\n".join(generator.generate(task_id).statement for task_id in found)
    assert hashlib.sha256(texts.encode()).hexdigest() == (
        "71c0a81d9fde89ff37447dc17d9784fd92283a6940da8d48d42ee8618b8f11be"
    )


def test_other_seeds_give_other_problems_on_the_same_side() -> None:
    first = generator.task_ids("test", (3,), 200)
    other = generator.task_ids("test", (3,), 200, seed=7)
    assert not set(first) & set(other)
    problems = [{generator.draft(task_id)[1] for task_id in listed} for listed in (first, other)]
    assert len(problems[0] & problems[1]) < 60
    assert all(generator.side_of(t.split("/")[2], generator.draft(t)[1]) == "test" for t in other)


def test_about_a_quarter_of_each_family_is_for_testing() -> None:
    share = np.mean([generator.side_of("any", (i,)) == "test" for i in range(4_000)])
    assert 0.22 < share < 0.28


def test_a_listing_that_cannot_be_filled_says_how_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generator, "_MAX_REPEATS", 0)
    with pytest.raises(ValueError, match=r"num_tasks must be at most [\d,]+ for levels \(1,\)"):
        generator.task_ids("test", (1,), 10**7)


# --- one identifier, one problem, for ever ----------------------------------------------------------


def test_problems_are_the_pinned_ones() -> None:
    digest = hashlib.sha256()
    for fam, level in PLACES:
        for split in ("train", "test", "test_new"):
            for task_id in ids(fam.name, level, 3, split):
                problem = generator.generate(task_id)
                digest.update(f"{task_id}\n{problem.statement}\n{problem.answer}\n{problem.work}\n".encode())
    assert digest.hexdigest() == generator.CONTENT_SHA256, (
        "generated problems changed: if that is meant, set CONTENT_SHA256 to the hash above and say so in "
        "the changelog, since results on the old and the new problems do not compare"
    )


def test_generating_neither_uses_nor_touches_global_random_state() -> None:
    states = random.getstate(), np.random.get_state(legacy=False)["state"]["key"].tolist()
    task_ids = [t for fam, level in PLACES for t in ids(fam.name, level, 1)]
    first = [generator.draft(task_id)[0].statement for task_id in task_ids]
    assert (random.getstate(), np.random.get_state(legacy=False)["state"]["key"].tolist()) == states
    random.seed(1)
    assert [generator.draft(task_id)[0].statement for task_id in task_ids] == first


@pytest.mark.parametrize(
    "task_id",
    [
        "",
        "train/algebra/linear_equation/1",
        "train/algebra/linear_equation/4/000001",  # a level that the family does not offer
        "train/geometry/linear_equation/1/000001",
        "valid/algebra/linear_equation/1/000001",
        "train/algebra/nothing/1/000001",
        "test/number_theory/gcd_lcm/1/000001",  # a family that only test_new has
        "train/algebra/linear_equation/1/1",
        "train/algebra/linear_equation/1/000001\n",
        "train/algebra/linear_equation/1/" + "9" * 19,
        "train/algebra/linear_equation/1/٠٠٠٠٠١",
    ],
)
def test_unknown_ids_are_named(task_id: str) -> None:
    with pytest.raises(UnknownIdError, match="task id"):
        generator.generate(task_id)


def test_a_wrong_gold_never_leaves_the_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    def off_by_one(draw: Draw, level: int) -> Draft:
        """A family with a mistake."""
        a = draw.integer(1, 1000)
        draw.claim(a)
        return Draft(f"What is ${a} + 1$?", a, "", check=a - 1 == a)

    monkeypatch.setattr(generator.family, "FAMILIES", dict(generator.FAMILIES))
    monkeypatch.setattr(generator, "FAMILIES", generator.family.FAMILIES)
    family("algebra", 1)(off_by_one)
    with pytest.raises(RuntimeError, match="fails its check"):
        generator.generate("test/algebra/off_by_one/1/000000")
