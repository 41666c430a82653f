"""Compares the trip or order that an agent names with how a user describes its own.

A user who does not know the number of its reservation or order knows the route, or one of the products. A
proposal about another route, or about an order for which only other products are named, is about another
record.
"""

import re
from collections.abc import Sequence

from nlac_bench.simulators.customer.hear.naming import names_products
from nlac_bench.simulators.customer.hear.structure import Unit, joined
from nlac_bench.simulators.customer.intent import goals
from nlac_bench.simulators.customer.intent.goals import Goal, Script

_CODES = {code.lower(): code for code in goals.AIRPORTS} | {
    city.lower(): code for code, city in goals.AIRPORTS.items()
}
_PLACE = "|".join(sorted(_CODES, key=len, reverse=True))
_ROUTE = re.compile(
    rf"\b({_PLACE})\b(?= ?(?:\([a-z]{{3}}\))? ?(?:->|to|-|/|and)(?: back to)? ?\b({_PLACE})\b)"
)
_END = re.compile(
    rf"\b(?:from|origin|depart\w*|leav(?:es|ing)|to|destination|arriv\w*|into)(?: (?:in|at|from|airport))?"
    rf"(?: is|:)? ?({_PLACE})\b"
)
"""An end of a route: "departs from JFK at 8:00 and arrives in Denver"."""
_HINTED = re.compile(r"\bfrom ([A-Z]{3}) to ([A-Z]{3})\b")


def wrong_hint(units: Sequence[Unit], goal: Goal, script: Script, others: Sequence[Goal]) -> bool:
    """Return whether ``units`` are about another trip or order than the one that ``goal`` describes."""
    route = _HINTED.search(goal.hint)
    if route:
        text = joined(units)
        named = {_CODES[place] for match in _ROUTE.finditer(text) for place in match.groups()}
        named |= {_CODES[match[1]] for match in _END.finditer(text)}
        return len(named) > 1 and not set(route.groups()) <= named
    if goal.items:
        return False  # the products themselves are compared
    described = {product for product in script.vocabulary if goal.hint.endswith(f"with the {product}")}
    elsewhere = {thing.product for other in others for thing in other.items}
    contents = names_products(units, goal, script) - elsewhere
    return bool(described and contents) and not described & contents
