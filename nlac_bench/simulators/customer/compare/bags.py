"""Compares the number of checked bags that an agent proposes with the number that the user wants.

Every number is classified by the words around it: the new total, the present number, the past number, what
is added, what is free and what is paid for. The words directly after a number decide, otherwise the last
such word before it. In a proposal the present number is the one before the change, in a report the one
after it. Bags of another reservation are not counted.
"""

import re
from collections.abc import Iterator, Sequence

from nlac_bench.simulators.counting import NUMBERS
from nlac_bench.simulators.customer.hear.actions import RESERVATION_ID
from nlac_bench.simulators.customer.hear.structure import Unit
from nlac_bench.simulators.customer.intent.goals import Goal

_NOUN = r"(?:bags?|baggages?|luggage|suitcases?|pieces?|items? of luggage)"
_KINDS = r"(?:checked(?:-in)?|check-in|hold|whole|extra|additional|further|free|paid|single|more)"
_COUNT = rf"(?:\d|(?:{'|'.join(NUMBERS)})\b)"
_OF = r" of (?:(?:the|your|these|those|all) )?"
"""Between a part of the bags and their number: "3 of the 4"."""
_NUMBER = re.compile(
    rf"(?<![\w.,$€£#:/-])(?:(?P<digits>\d{{1,2}})(?:(?= ?[x×])|(?![\w%/:]|[.,]\d|-\d| ?[ap]m\b))|"
    rf"(?P<word>{'|'.join(NUMBERS)})\b(?!-| (?:of my|way|moment|thing|second|minute|time|request)\b)|"
    rf"(?P<pair>(?:a )?(?:couple|pair)\b(?: of)?)|"
    rf"(?P<none>(?:no|none|without(?: any)?)\b(?=(?: {_KINDS})* {_NOUN})|(?<=[:=] )(?:no|"
    rf"none)\b(?=[^\w\n]*$| \())|"
    rf"(?P<article>(?:an?|another)\b(?=(?: {_KINDS})* (?:bag|suitcase|piece)\b(?! (?:fee|charge|cost"
    rf"|allowance)s?\b))))"
)
_NOUNS = re.compile(rf"\b{_NOUN}\b|\bchecked\b|\bcheck(?:ing)?(?: in)? (?={_COUNT}|no\b)")
_PRONOUN = re.compile(r"\b(?:this|that|the|which|each|every|any|first|second|next|old|new|no|last) $")
_UNITS = re.compile(
    r"(?: ?(?:to|-|or) ?\d{1,2})?"
    r"[ -]?(?:passengers?|people|persons?|adults?|child\w*|travell?ers?|flights?|legs?|segments?|kg|kilos?|"
    r"lbs?|pounds?|dollars?|usd|bucks|days?|hours?|hrs?|minutes?|mins?|stops?|times?|business|"
    r"reservations?|steps?|(?:quick |short )?(?:facts?|points?|notes?|questions?)|"
    r"bookings?|trips?|seats?|tickets?|of (?:you|us)|st|nd|rd|th|for (?:yes|no))\b"
)
_ALLOWED = r"(?:(?:the|your|our|this|that) )?(?:free |baggage |bag )*(?:allowance|limit|quota)"
_AFTER = re.compile(
    rf"(?: ?[x×])?(?: of (?:them|those|these|which|the \w+|your \w+))?"
    rf"(?: (?:checked(?:-in)?|check-in|hold|whole|single))*(?: {_NOUN}| ones?)?(?: of (?:luggage|baggage))?"
    r"(?: (?:that|which|is|are|was|were|will|would|must|shall|has|have|been|be|being|to|"
    r"you'd|you'll|you|at|come|comes|go|goes|for|wanted|requested|asked|counts?|counted|fall|falls|as))*?"
    r"[ (:-]*"
    r"(?:(?P<total>(?:in )?total\b|in all\b|altogether|overall|all told|in sum|combined|counting|"
    r"afterwards)|"
    rf"(?P<free>(?:(?<!\()(?!(?:\d+|{'|'.join(NUMBERS)})\b)\w+ )?free\b(?!:)|complimentary|"
    r"included\b(?! in)|no (?:\w+ )?(?:charge|cost|fee)|"
    r"without (?:charge|cost)|covered|on us\b|cost(?:s|ing)? nothing|"
    rf"(?:within|inside|under|part of) {_ALLOWED})|"
    r"(?P<added>more\b|added\b|additional|extra\b|further\b|on top|another|to (?:add|be added)\b|new\b)|"
    r"(?P<paid>(?<=be )(?:paid|charged|billed)\b|(?<=is )(?:paid|charged|billed)\b|"
    r"(?<=are )(?:paid|charged|billed)\b|(?:paid|payable|charged|billed|pay|owed?)\b(?!:| (?:with|by|via|"
    r"from|through|using|on|to|"
    r"out)\b)|"
    rf"(?:outside|beyond|over|above|on top of|in excess of|exceed\w*) {_ALLOWED}|"
    r"chargeable|non-?free|costs?\b|costing|with a (?:fee|charge)|[x×] ?\$|\$)|"
    r"(?P<each>each\b|apiece|per (?:person|passenger|travell?er|head))|"
    r"(?P<past>you(?:'ve)? (?:already (?:have|had|got|booked)|had)\b|so far|already|existing|before)|"
    r"(?P<present>(?:right )?now\b|current|present|you(?:'ve)? (?:currently |now )?(?:have|"
    r"got|booked)\b|at (?:the moment|present)|today|"
    r"as of (?:now|today)|as it stands|on (?:it|file|record|there|the \w+)(?: (?:right now|now|"
    r"today|"
    r"already|currently|at the moment)|\W*$)))"
)
"""Words directly after a number."""
_BEFORE = re.compile(
    r"\b(?:(?P<total>count(?:ing)? (?:in )?(?:the ones|those|what|all)\b[^;.]{0,20}?\b(?:have|got)"
    r"|total\w*|in all|altogether|overall|becomes?|after(?:wards?)?|new|makes?|making|gives?|"
    r"giving|brings?|bringing|reach\w*|requested|proposed|updated|will|would|shall|then|to|into|requests?|"
    r"so(?= $))|(?P<free>free|complimentary|included|covers?|covering|waived?|no (?:charge|cost)|of charge)|"
    r"(?P<paid>non-?free|pay(?:s|ing|able)?|paid|charg(?:e|ed|ing|eable)|bill(?:ed|ing)?|fees?|costs?"
    r"|owe|remain(?:ing|der))|"
    r"(?P<limit>limit\w*|max\w*|allow\w*|(?:bring|free|check|carry) up to|at most|entitle\w*|per)|"
    r"(?P<added>add(?:s|ed|ing|ition|itional)?|plus|extra|another|further|more|increas\w* by|by|on top of|"
    r"buy(?:ing)?|purchas\w*)|"
    r"(?P<past>already(?: (?:have|has|got))?|so far|existing|had|(?:was|were)(?! (?:(?:a|\w+ly) )?"
    r"(?:success|updat|chang|add|rais|increas|modif|adjust|set))|before|old|previous(?:ly)?|"
    r"original(?:ly)?|from(?=[ \w]{0,12}$)|instead of|rather than|not(?=[ \w]{0,8}$)|in place of|"
    r"compared to)|"
    r"(?P<present>now|current(?:ly)?|present(?:ly)?|today|right now|at the moment|have|has|got|on file|"
    r"lists?|there's|there (?:is|are)|shows?|includes?|holds?)|"
    r"(?P<other>(?:passengers?|travell?ers?|adults?|people|flights?|seats?|rows?|stops?|steps?|"
    r"options?|legs?|"
    r"terminal|gate|ending(?: in)?|zip)(?=[^;]{0,20}$)))\b|(?P<target>->|→)|(?P<plus>\+)|"
    r"(?P<modal>'ll|'d)\b"
)
"""Words before a number."""
_SETS = re.compile(
    r"\b(?:set|updat|chang|increas|rais|go|mov|bring|mak|adjust)\w*\b[^.;:,]{0,40}(?<!up )\bto $"
)
_LABEL = re.compile(r"[^:\d]*?\b(?:(?P<paid>paid|non-?free|chargeable)|(?P<free>free|included))\b[^:\d]*:")
"""The name of a table row, which gives all numbers in the row their meaning: "paid bags: from 0 -> 1"."""
_MODAL = re.compile(r"\b(?:will|would|shall|then|after|once|to (?:have|be|get))\b|'ll\b|'d\b")
_WHY_FREE = re.compile(r"\(\W*$|\b(?:as|because|(?:al|even )?though)\b[^.;]*$")
"""Before an allowance that explains a number: "2 free (1 per passenger)"."""
_ALLOWANCE = re.compile(
    r"\b(?:each|every) (?:passenger|person|travell?er)\b[^.;]*"
    r"\b(?:free|included?|allow\w*|complimentary|entitled)\b[^.;]*"
)
"""Explains what is free: "each passenger gets 2 free bags (6 in all)"."""
_PART = re.compile(rf"{_OF}{_COUNT}")
_WHOLE = re.compile(rf"(?:\d|\b(?:{'|'.join(NUMBERS)})){_OF}$")
_QUOTA = re.compile(rf"\b{_ALLOWED} (?:of|is) $")
_ADDS = re.compile(r"\b(?:add|adds|adding|plus)(?: (?:you|on|in|the|your|checked|extra|bags?))*:? *$")


def wrong_bags(units: Sequence[Unit], goal: Goal, reported: bool = False) -> bool:
    """Return whether ``units`` propose, or if ``reported`` report, another number of bags than the goal's."""
    if goal.bags is None:
        return False
    counts: dict[str, list[int]] = {}
    tenses = {"past": "present", "present": "total" if reported else "present"}
    for unit in _own(units, goal):
        for kind, number in _counts(unit, len(goal.passengers)):
            counts.setdefault(tenses.get(kind, kind), []).append(number)
    totals, added = counts.get("total", []), counts.get("added", [])
    parts = [counts[kind][-1] for kind in ("free", "paid") if kind in counts]
    if goal.kind == "book":  # there was nothing before
        totals = totals + counts.get("present", []) or added
    elif "present" in counts and added:
        totals = [*totals, counts["present"][-1] + added[-1]]
    if totals:
        # the first of several may be the present number: it is lower, because bags are only added
        first_is_present = goal.kind != "book" and len(totals) > 1 and totals[0] < goal.bags
        return set(totals[first_is_present:]) != {goal.bags}
    if len(parts) == 2 and not added:
        return sum(parts) != goal.bags
    return any(number > goal.bags for kind in counts for number in counts[kind])


def states_bags(units: Sequence[Unit], goal: Goal) -> bool:
    """Return whether ``units`` name the goal's number of bags, in any role."""
    named = {number for unit in units for _, number in _counts(unit, len(goal.passengers))}
    return goal.bags in named


def _own(units: Sequence[Unit], goal: Goal) -> Iterator[Unit]:
    """Yield the units that may count the goal's bags: of a booking only those that name bags.

    A unit that names only codes of other reservations is left out if the user knows its own. The user does
    not know the code of a new booking: after a unit with its number of bags, a code that was not named before
    belongs to another reservation.
    """
    known = {goal.record.lower()} if goal.record else set()
    settled = bool(goal.record)
    for unit in units:
        codes = set(RESERVATION_ID.findall(unit.full))
        other = settled and bool(codes) and not codes & known
        if not goal.record:
            known |= set() if other else codes
        if not other and (goal.kind != "book" or _NOUNS.search(unit.full.replace("_", " "))):
            kinds = {kind for kind, _ in _counts(unit, len(goal.passengers))}
            settled = settled or (goal.kind == "book" and "total" in kinds)
            yield unit


def _counts(unit: Unit, passengers: int) -> Iterator[tuple[str, int]]:
    """Yield what each number of bags after a unit's heading counts, and the number."""
    text, offset = unit.full.replace("_", " "), len(unit.full) - len(unit.text)
    numbers = [match for match in _NUMBER.finditer(text) if _counts_bags(text, match)]
    begin = 0
    label = _LABEL.match(unit.text)
    for match in numbers:
        left = text[begin : match.start()]
        after = _AFTER.match(text, match.end())
        begin = (after or match).end()
        kind = after.lastgroup if after else label.lastgroup if label else _kind_before(left)
        if kind == "other" and _NOUNS.match(text, match.end() + 1):
            kind = "total"
        number = _value(match)
        if kind == "total" and _PART.match(text, match.end()):
            continue  # "3 of 4"
        if _QUOTA.search(text, 0, match.start()):
            continue
        if kind in ("free", "paid") and _WHOLE.search(text, 0, match.start()):
            kind = "total"  # "3 of the 4 bags are free"
        if kind in ("free", "paid") and _SETS.search(text[: match.start()]):
            kind = "total"  # "setting it to 3 bags costs nothing"
        if (kind == "each" and _WHY_FREE.search(left)) or any(
            rule.start() < match.start() < rule.end() for rule in _ALLOWANCE.finditer(text)
        ):
            continue
        if kind == "each":
            kind, number = "total", number * max(1, passengers)
        if match["article"] and kind == "total" and "another" in match[0]:
            kind = "added"
        if kind == "present" and after and _MODAL.search(left):
            kind = "total"
        if match.start() >= offset and kind and kind not in ("limit", "other"):
            yield kind, number


def _kind_before(left: str) -> str:
    """Return what the number after ``left`` counts, according to the last word of ``_BEFORE`` in it."""
    if _ADDS.search(left):
        return "added"
    kind = "total"
    for match in _BEFORE.finditer(left):
        kind = match.lastgroup or ""
    if kind == "other" and _NOUNS.search(left):
        return "total"
    if kind == "present" and _MODAL.search(left):
        return "total"
    return {"target": "total", "plus": "added", "modal": "total"}.get(kind, kind)


def _counts_bags(text: str, match: re.Match[str]) -> bool:
    if _UNITS.match(text, match.end()):
        return False
    if match["word"] == "one" and not _NOUNS.search(text) and not _AFTER.match(text, match.end()):
        return False  # "one word from you is enough"
    return not (match["word"] and _PRONOUN.search(text, max(0, match.start() - 10), match.start()))


def _value(match: re.Match[str]) -> int:
    if match["digits"]:
        return int(match["digits"])
    if match["word"]:
        return NUMBERS.index(match["word"])
    return 2 if match["pair"] else 0 if match["none"] else 1
