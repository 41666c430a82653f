"""Compares the payment methods and cabins that an agent proposes with those that the user wants."""

import re
from collections.abc import Callable, Iterable, Sequence

from nlac_bench.envs.tau.users.scripted.intent import Goal, Payment
from nlac_bench.envs.tau.users.scripted.roles import Role, value_roles
from nlac_bench.envs.tau.users.scripted.structure import Unit, joined


def spoken(
    units: Sequence[Unit], find: Callable[[str], Iterable[tuple[int, int, str]]]
) -> list[tuple[str, Role, str]]:
    """Return the values that ``find`` sees in each unit (not in its heading), with role and clause."""
    said = []
    for unit in units:
        text, offset = unit.full, len(unit.full) - len(unit.text)
        found = sorted(span for span in find(text) if span[0] >= offset)
        roles = value_roles(text, [(start, end) for start, end, _ in found])
        for (start, end, value), role in zip(found, roles, strict=True):
            stop = text.find(";", end)
            clause = text[text.rfind(";", 0, start) + 1 : stop if stop >= 0 else len(text)]
            said.append((value, role, clause))
    return said


def _proposes(said: Sequence[tuple[str, Role, str]], own: str) -> bool | None:
    """Return whether the value proposed is ``own``; None if no value is proposed.

    A value without a governing word counts only if no other is proposed outright; of several that are
    proposed, the last one decides.
    """
    new = [value for value, role, _ in said if role == "new"]
    plain = [value for value, role, _ in said if role == "none"]
    if new:
        return new[-1] == own and (own in new)
    return own in plain and plain[-1] == own if plain else None


PAYMENT_ID = re.compile(r"\b(?:credit_card|gift_card|paypal|certificate)_\d+")
_LAST_FOUR = re.compile(
    r"(?:\b(?:ending|ends|last four|last 4)(?: digits)?(?: in| with| are| is|:)? ?|\.\.\. ?|x{2,}-?)(\d{4})\b"
)
_SOURCES = re.compile(
    r"(?P<paypal>\bpay ?pal\b(?!_))|(?P<gift_card>\bgift ?cards?\b(?!_))|"
    r"(?P<credit_card>\bcredit ?cards?\b(?!_)|\bvisa\b|\bmaster ?card\b|\bamex\b)|"
    r"(?P<certificate>\b(?:travel )?certificates?\b(?!_))"
)
_REFUND = re.compile(r"\brefund")


def wrong_payment(units: Sequence[Unit], goal: Goal) -> bool:
    paid = goal.payment
    if paid is None:
        return False
    said = [
        (value, role)
        for value, role, clause in spoken(units, methods)
        if role not in ("present", "context", "kept")
        and not (goal.kind == "order_payment" and _REFUND.search(clause))
    ]
    if any(role == "new" for _, role in said) and goal.kind != "return":
        said = [(value, role) for value, role in said if role == "new"]
    ids = {value for value, _ in said if PAYMENT_ID.fullmatch(value)}
    if ids:
        return paid.id not in ids or (len(ids) > 1 and goal.kind not in ("order_payment", "book"))
    fours = {value for value, _ in said if value.isdigit()}
    if fours and paid.source == "credit_card" and paid.last_four:
        return paid.last_four not in fours
    sources = {value for value, _ in said if not value.isdigit()}
    if sources:
        return paid.source not in sources or (len(sources) > 1 and goal.kind == "return")
    return _elsewhere(joined(units), paid, goal)


def methods(text: str) -> Iterable[tuple[int, int, str]]:
    """Return the payment methods that ``text`` names: ids, last four digits and sources."""
    for match in PAYMENT_ID.finditer(text):
        yield *match.span(), match[0]
    for match in _LAST_FOUR.finditer(text):
        yield *match.span(), match[1]
    for match in _SOURCES.finditer(text):
        yield *match.span(), match.lastgroup or ""


def _elsewhere(text: str, paid: Payment, goal: Goal) -> bool:
    if paid.original or goal.kind not in ("return", "exchange", "modify_items"):
        return False
    return bool(re.search(r"\boriginal (payment|method|form|card)", text))


_CABIN = re.compile(
    r"(?P<basic_economy>\bbasic[ _-]economy\b)|(?P<economy>\beconomy\b)|(?P<business>\bbusiness\b(?! "
    r"days?\b))"
)


def wrong_cabin(units: Sequence[Unit], goal: Goal) -> bool:
    if goal.cabin is None:
        return False
    said = spoken(units, lambda text: ((*m.span(), m.lastgroup or "") for m in _CABIN.finditer(text)))
    return _proposes([s for s in said if s[1] in ("new", "none")], goal.cabin) is False
