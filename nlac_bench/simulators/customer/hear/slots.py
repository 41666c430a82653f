"""Compares the payment methods and cabins that an agent proposes with those that the user wants."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from nlac_bench.simulators.customer.hear.roles import Role, value_roles
from nlac_bench.simulators.customer.hear.structure import Unit, joined
from nlac_bench.simulators.customer.intent.goals import Goal, Payment


def spoken(
    units: Sequence[Unit], find: Callable[[str], Iterable[tuple[int, int, str]]]
) -> list[tuple[str, Role, str]]:
    """Return the values that ``find`` sees in each unit (not in its heading), with role and clause."""
    values = []
    for unit in units:
        text, offset = unit.full, len(unit.full) - len(unit.text)
        spans = sorted(span for span in find(text) if span[0] >= offset)
        roles = value_roles(text, [(start, end) for start, end, _ in spans])
        for (start, end, value), role in zip(spans, roles, strict=True):
            stop = _CLAUSE.search(text, end)
            before = max((match.end() for match in _CLAUSE.finditer(text, 0, start)), default=0)
            values.append((value, role, text[before : stop.start() if stop else len(text)]))
    return values


_CLAUSE = re.compile(r";|, (?:and|but|while|whereas|with|so)\b")


def _proposes(values: Sequence[tuple[str, Role, str]], own: str) -> bool | None:
    """Return whether the value proposed is ``own``; None if no value is proposed.

    A value without a governing word counts only if no other is proposed outright; of several that are
    proposed, the last one decides.
    """
    new = [value for value, role, _ in values if role == "new"]
    plain = [value for value, role, _ in values if role == "none"]
    if new:
        return new[-1] == own and (own in new)
    return own in plain and plain[-1] == own if plain else None


PAYMENT_ID = re.compile(r"\b(?:credit_card|gift_card|paypal|certificate)_\d+")
_LAST_FOUR = re.compile(
    r"(?:\b(?:ending|ends|last four|last 4)(?: digits)?(?: in| with| are| is|:)? ?|\.\.\. ?|x{2,}-?|"
    r"\b(?:visa|master ?card|amex|card)\b[ (#.:x-]*(?:no\.? |number )?(?:in |at )?)(\d{4})\b(?!-)"
)
_SOURCES = re.compile(
    r"(?P<paypal>\bpay ?-?pal\b(?!_))|"
    r"(?P<gift_card>\b(?:e-?)?gift[ -]?(?:cards?|vouchers?|certificates?|balance)\b(?!_)|\bstore credit\b)|"
    r"(?P<certificate>\b(?:travel )?(?:certificates?|vouchers?)\b(?!_))|"
    r"(?P<credit_card>\b(?:credit|debit)[ -]?cards?\b(?!_|: )|\bvisa\b|\bmaster ?card\b|\bamex\b|"
    r"\bamerican express\b|(?<!\bsd )(?<!\bcf )(?<!memory )(?<!video )(?<!sim )\bcards?\b(?!_|"
    r"(?: ?(?:or|and|/) ?(?:\w+ ){0,2}\w+)?: ))|"
    r"(?P<other>\bbank (?:account|transfer)|\bwire transfer|\bin cash\b|\b(?:apple|google) ?pay\b|"
    r"\bvenmo\b)"
)
_BRANDS = re.compile(r"\bvisa\b|\bmaster ?card\b")
_IN_GENERAL = re.compile(
    r"\b(?:if|when|unless|whether|whenever)\b[^.;:()$]{0,24}\ban? $|\b(?:any|other|for an?) $|\(an? $"
)
"""Words before a payment method that is named as an example of its kind: "immediate if it's a gift card"."""
_DEFINITE = re.compile(r"\b(?:your|the|this|(?<!refunds )(?<!payments )(?:to|onto|on|via|with)) $")
_KIND_OF = re.compile(
    r" (?:refunds?|payments?|purchases|holders?)\b(?! (?:is|goes|will|would|of))|"
    r"(?: and [\w ]{3,12}| or [\w ]{3,12})?(?::| is| are| =|,? (?:can )?(?:takes?|needs?)) (?:about |"
    r"around |usually |up to )?"
    r"(?:immediate|instant|faster|at once|right away|\d+ ?(?:-|to) ?\d+ (?:business |working )?days)"
)
_REFUND = re.compile(
    r"\brefund|\brevers(?:e|ed|al)\b|\breleas(?:e|ed)\b|\breimburs|"
    r"\b(?:get|gets|giv\w+|receiv\w+|paid|pay|goes|returned|credited)\b[^;]{0,20}\bback\b"
)
"""Says what happens with the money of the old payment."""


def wrong_payment(units: Sequence[Unit], goal: Goal) -> bool:
    paid = goal.payment
    if paid is None:
        return False
    units = [replace(unit, text=_RULE.sub(" ", unit.text)) for unit in units]
    named = spoken(units, _own_methods)
    if _absent({value for value, _, _ in named}, paid) and not (
        paid.original and _ORIGINAL.search(joined(units))
    ):
        return True
    mentioned = [
        (value, role)
        for value, role, clause in named
        if not (goal.kind == "order_payment" and _REFUND.search(clause))
    ]
    proposed = [(value, role) for value, role in mentioned if role not in ("present", "context", "kept")]
    # "I'd bill what isn't free to your Visa" keeps nothing
    proposed = proposed or [(value, role) for value, role in mentioned if role == "kept"]
    if any(role == "new" for _, role in proposed) and goal.kind != "return":
        proposed = [(value, role) for value, role in proposed if role == "new"]
    ids = {value for value, _ in proposed if PAYMENT_ID.fullmatch(value)}
    if ids:
        return paid.id not in ids or (len(ids) > 1 and goal.kind not in ("order_payment", "book"))
    fours = {value for value, _ in proposed if value.isdigit()}
    if fours and paid.source == "credit_card" and paid.last_four:
        return paid.last_four not in fours
    sources = {value for value, _ in proposed if not value.isdigit()}
    brands = set(_BRANDS.findall(paid.words.lower()))
    if brands and sources == {"credit_card"}:  # "your Visa card" is not "your Mastercard"
        written = set(_BRANDS.findall(joined(units)))
        return bool(written) and not brands & written
    if fours and not sources:
        return paid.source != "credit_card"
    if sources:
        return paid.source not in sources or (len(sources) > 1 and goal.kind == "return")
    return _elsewhere(joined(units), paid, goal)


_RULE = re.compile(
    r"\b(?:must|has to|have to|can only|may only|needs to|should|could|can|may|is to|only) (?:\w+ "
    r"){0,3}?(?:(?:to|onto|on|by|with) )?either\b"
    r"(?=[^.;?]*\bor\b)(?:(?!\bor\b)[^.;?])*\bor\b(?:\([^()]*\)|[^.;?,])*|"
    r"\b(?:must|has to|have to|can only|may only|can|may) (?:\w+ ){0,2}?(?:to|onto|on) (?:(?!\bor\b)[^.;?])*"
    r"\bor (?:to|onto|on)\b(?:\([^()]*\)|[^.;?,])*"
)
"""States between which methods one may choose: "it has to go either to A or to a gift card"."""


def names_payment(units: Sequence[Unit], goal: Goal) -> bool:
    """Return whether ``units`` name the goal's payment method, in any role."""
    paid = goal.payment
    named = {value for value, _, _ in spoken(units, _own_methods)}
    if paid is None or not named or _absent(named, paid):
        return False
    fours = {value for value in named if value.isdigit()}
    return not (fours and paid.last_four) or paid.last_four in fours


def _own_methods(text: str) -> Iterable[tuple[int, int, str]]:
    """Return the payment methods that ``text`` names, without those named as examples of their kind."""
    for start, end, value in methods(text):
        if _DEFINITE.search(text, max(0, start - 12), start):
            yield start, end, value
            continue
        example = text[start:end].endswith("cards") or _IN_GENERAL.search(text, max(0, start - 40), start)
        if not (value in _SOURCES.groupindex and (example or _KIND_OF.match(text, end))):
            yield start, end, value


def methods(text: str) -> Iterable[tuple[int, int, str]]:
    """Return the payment methods that ``text`` names: ids, last four digits and sources."""
    for match in PAYMENT_ID.finditer(text):
        yield *match.span(), match[0]
    for match in _LAST_FOUR.finditer(text):
        yield *match.span(), match[1]
    for match in _SOURCES.finditer(text):
        yield *match.span(), match.lastgroup or ""


def _absent(named: set[str], paid: Payment) -> bool:
    """Return whether ``named`` has payment methods, in any role, but lacks ``paid``."""
    ids = {value for value in named if PAYMENT_ID.fullmatch(value)}
    if ids:  # methods of other sources may be named beside the user's: "your Visa, no longer paypal_123"
        others = {value for value in ids if not value.startswith(paid.source)}
        return paid.id not in ids and (paid.source not in named or ids != others)
    sources = named & _SOURCES.groupindex.keys()
    return bool(sources) and paid.source not in sources


def _elsewhere(text: str, paid: Payment, goal: Goal) -> bool:
    if paid.original or goal.kind not in ("return", "exchange", "modify_items"):
        return False
    return bool(_ORIGINAL.search(text))


_ORIGINAL = re.compile(
    r"\b(?:original|same) (?:form of )?(?:payment|method|form|card|source|account)|"
    r"\b(?:method|account|card) (?:that )?(?:you (?:originally )?(?:used|paid)|originally)"
)


_CABIN = re.compile(
    r"(?P<basic_economy>\bbasic(?:[ _-]?econ(?:omy)?\b|(?= (?:fares?|class|cabin|tickets?|seats?)\b)))|"
    r"(?P<economy>\becon(?:omy)?\b|\bcoach\b|\bmain cabin\b)|"
    r"(?P<business>\bbiz\b|\bbusiness\b(?! (?:days?|hours?|trip|card)\b))|(?P<first>\bfirst[ -]class\b)"
)


def wrong_cabin(units: Sequence[Unit], goal: Goal) -> bool:
    if goal.cabin is None:
        return False
    values = spoken(units, lambda text: ((*m.span(), m.lastgroup or "") for m in _CABIN.finditer(text)))
    if values and goal.cabin not in {value for value, _, _ in values}:
        return True
    return _proposes([s for s in values if s[1] in ("new", "none")], goal.cabin) is False
