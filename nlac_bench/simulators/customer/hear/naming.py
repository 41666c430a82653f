"""Finds the products and the values of their options that an agent's message names."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from nlac_bench.simulators.customer.hear.roles import Role, item_roles, value_roles
from nlac_bench.simulators.customer.hear.structure import Unit
from nlac_bench.simulators.customer.hear.swaps import swapped
from nlac_bench.simulators.customer.intent.goals import Goal, Item, Script, Vocabulary

_Option: TypeAlias = tuple[int, int, str, str, str]
"""Start and end in the text, product, option, value."""

_IDIOM = re.compile(
    r"\b(?:straight (?:away|after|to|from|on|through)|right (?:away|now|here|there)|"
    r"double[ -]?check\w*|green light|"
    r"as long as|(?:so|how|too|"
    r"before|not) long|long (?:as|story|time|ago)|(?:at|on|in) (?:hand|the other hand)|hand(?:s|ed|"
    r"ing)? (?:it|this|that|"
    r"over|back|off)|by hand|every single|single (?:step|order|time|request|reply)|(?:one|"
    r"single) (?:moment|thing|step|last|"
    r"more|request|second|minute|time|final|quick)|(?:return|exchange|delivery) window|window (?:of|"
    r"for|is)|paper ?work|on paper|"
    r"paper (?:label|form)|fast (?:refund|delivery|shipping)|at large|large (?:part|amount)|"
    r"small (?:fee|difference|note|"
    r"print|thing)|in short|short (?:summary|notice|version|wait|while|recap)|fine (?:with|by|for|"
    r"print)|plain "
    r"(?:text|english|words)|original box|box it|soft copy|hard (?:time|copy)|regular (?:price|"
    r"customer)|classic case|"
    r"full (?:set|list|amount|refund|name|price|details?|summary|address|cost|total|order)|"
    r"slow (?:reply|response)|low (?:price|stock)|wide (?:range|selection)|clear ?cut|black and white)\b"
)
"""Everyday phrases that contain an option's value: "straight away" does not name a straight stand."""
_NO_GOODS = re.compile(
    r"\border with the ([a-z-]+ ?){1,3}|\b(?:on|across the) board\b|"
    r"\bin (?:the|its|their) (?:original )?box\b|"
    r"\b(?:gift|credit|debit) cards?\b|\b(?:to|onto|on) cards\b"
)
"""Names an order or nothing, but not goods: "are you on board?"."""


def names_items(units: Sequence[Unit], goal: Goal) -> bool:
    """Return whether ``units`` name one of the goal's products."""
    text = _NO_GOODS.sub(" ", "\n".join(unit.full for unit in units))
    return any(
        name_of(thing.product).search(text) or _head(thing.product).search(text) for thing in goal.items
    )


def option_mentions(
    units: Sequence[Unit], goal: Goal, script: Script
) -> Iterator[tuple[str, str, str, Role]]:
    """Yield (product, option, value, role) for each value of the goal's products that ``units`` name."""
    products = list(dict.fromkeys(thing.product for thing in goal.items))
    current = products[0] if len(products) == 1 else ""
    unnamed = not current and not names_items(units, goal)
    for unit in units:
        text, offset = unit.full, len(unit.full) - len(unit.text)
        spans = _named(text, goal, script)
        if offset:
            before = [product for start, _, product in spans if start < offset]
            current = before[-1] if before else current
        places = [(start, end, product) for start, end, product in spans if start >= offset]
        # the text before the first name describes it, or goes on about the product of the unit before
        first = places[0][2] if places and (not current or len(products) == 1) else current
        stretches = []
        begin, about = offset, first
        for start, end, product in places:
            noun = _DESCRIBES.search(text, begin, start)
            place = noun.start() if noun else start
            stretches += [(begin, place, about), (place, start, product)]
            begin, about = end, product
        stretches.append((begin, len(text), about))
        matches: list[_Option] = []
        for start, stop, product in stretches:
            if product in products:
                matches += [
                    (start + a, start + b, product, key, value)
                    for a, b, key, value in _values(text[start:stop], product, goal, script)
                ]
            elif unnamed:  # "Should the colour be navy?" of two products
                matches += _somewhere(text, start, products, goal, script)
        matches.sort()
        spans_of = [(start, end) for start, end, *_ in matches]
        roles = swapped(text, spans_of, _shared(text, matches, value_roles(text, spans_of)))
        around = item_roles(text, spans_of)
        for (_, _, product, key, value), role, near in zip(matches, roles, around, strict=True):
            yield product, key, value, "context" if near == "context" and role in ("none", "kept") else role
        if places:
            current = places[-1][2]
        if len(products) == 1:
            current = products[0]


_DESCRIBES = re.compile(
    r"(?<![\w-])(?:the|your|an?) (?:(?!for |to |with |in |from |and (?:the|your|an?) |"
    r"ones?\b|which |that |is |are )[^\s:;().|]+ )*$"
)
"""The beginning of a noun phrase up to its noun: "the navy, large" jacket."""


def _shared(text: str, matches: Sequence[_Option], roles: Sequence[Role]) -> list[Role]:
    """Return ``roles`` with one role for all values within brackets: "the jacket (size: L, colour: navy)"."""
    groups: dict[int, list[int]] = {}
    for place, (start, *_) in enumerate(matches):
        opening = text.rfind("(", 0, start)
        groups.setdefault(opening if opening > text.rfind(")", 0, start) else -1 - place, []).append(place)
    shared = list(roles)
    for places in groups.values():
        kept = [roles[place] for place in places if roles[place] in ("present", "kept")]
        for place in places:
            shared[place] = kept[0] if kept else roles[places[0]]
    return shared


def _somewhere(text: str, start: int, products: Sequence[str], goal: Goal, script: Script) -> list[_Option]:
    """Return the options that ``text`` names without a product, each of the product that it fits best."""
    best: dict[tuple[int, int], tuple[bool, str, str, str]] = {}
    for product in products:
        new = [wanted(thing) for thing in goal.items if thing.product == product]
        stated: dict[str, list[tuple[int, int, str]]] = {}
        for a, b, key, value in _values(text[start:], product, goal, script):
            if re.search(rf"\b{re.escape(key.lower())}\b", text[start:]):
                stated.setdefault(key, []).append((a, b, value))
        for key, values in stated.items():
            fits = any(options.get(key) == value for options in new for _, _, value in values)
            for a, b, value in values:
                best[a, b] = max(best.get((a, b), (False, "", "", "")), (fits, product, key, value))
    return [(start + a, start + b, product, key, value) for (a, b), (_, product, key, value) in best.items()]


def _values(text: str, product: str, goal: Goal, script: Script) -> Iterable[tuple[int, int, str, str]]:
    things = [thing for thing in goal.items if thing.product == product]
    known = script.vocabulary.get(product, {})
    for name in (product, *(key for key in things[0].options if "/" in key)):
        text = text.replace(name.lower(), " " * len(name))  # "bath towel", "bagged/bagless" contain values
    text = _IDIOM.sub(lambda match: " " * len(match[0]), text)
    for key in {key for thing in things for key in (*thing.options, *wanted(thing))}:
        mine = {thing.options[key] for thing in things if key in thing.options}
        mine |= {wanted(thing)[key] for thing in things if key in wanted(thing)}
        values = {*known.get(key, ()), *mine}
        # "a silver frame and blue lenses": a value of another option does not contradict this one
        values -= {v for thing in things for v in _others(thing, key)} - mine
        yield from ((start, end, key, value) for start, end, value in _said(text, key, values))


def _said(text: str, key: str, values: Iterable[str]) -> list[tuple[int, int, str]]:
    """Return where ``text`` names an option's values; "Wi-Fi + Cellular" does not name "Wi-Fi"."""
    matches: list[tuple[int, int, str]] = []
    for named in (True, False):  # first next to the option's name, if that is written out
        for value in sorted(values, key=len, reverse=True):
            pattern = _value(value, key, named)
            spots = [match.span() for match in pattern.finditer(text)]
            for start, end in spots:
                matches.append((start, end, value))
                text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
        if matches:
            break
    for _, end, _ in matches:  # grows: "colour black, blue or green"
        join = _OR.match(text, end)
        after = join and [
            (*match.span(), value) for value in sorted(values, key=len, reverse=True)
            if (match := _value(value, key, named=False).match(text, join.end()))
        ]  # fmt: skip
        matches += after[:1] if after else []
    return matches


_OR = re.compile(r"\"?(?: ?/ ?|,? or |, (?=[^,.?]{1,30},? or ))\"?")


def _others(thing: Item, key: str) -> set[str]:
    """Return the values of the thing's other options, before and after the exchange."""
    return {v for options in (thing.options, wanted(thing)) for k, v in options.items() if k != key}


def mentions(unit: Unit, goal: Goal, script: Script) -> list[tuple[str, Role]]:
    """Return the products that a unit names after its heading, with their roles."""
    text, offset = unit.full, len(unit.full) - len(unit.text)
    spans = [span for span in _named(text, goal, script) if span[0] >= offset]
    roles = item_roles(_without_negative_values(text, script), [(start, end) for start, end, _ in spans])
    return [(product, role) for (_, _, product), role in zip(spans, roles, strict=True)]


def _without_negative_values(text: str, script: Script) -> str:
    """Return ``text`` with spaces instead of values like "not resistant", which negate nothing."""
    if "not " in text:
        for options in script.vocabulary.values():
            for value in (value.lower() for values in options.values() for value in values):
                if value.startswith("not "):
                    text = text.replace(value, " " * len(value))
    return text


def _named(text: str, goal: Goal, script: Script) -> list[tuple[int, int, str]]:
    """Return where ``text`` names products: the goal's also by their head words, others in full."""
    own = tuple(dict.fromkeys(thing.product for thing in goal.items))
    by_name = {name.lower(): name for name in (*script.vocabulary, *own)}
    text = _NO_GOODS.sub(lambda match: " " * len(match[0]), text)
    spans = []
    for match in _any_name(tuple(by_name)).finditer(text):
        product = by_name[match[1]]
        # "laptop compartment" of a backpack does not name a laptop
        if _is_value(text, match, script):
            continue
        spans.append((match.start(), match.end(), product))
    taken = list(spans)
    words = {w for thing in goal.items for k, v in thing.options.items() for w in f"{k} {v}".lower().split()}
    words |= {w for product in own for k in script.vocabulary.get(product, ()) for w in k.lower().split()}
    for product in own:
        head = product.lower().split()[-1]
        twins = [other for other in own if other != product and other.lower().split()[-1] == head]
        if " " not in product or twins or head in words:
            continue
        spans += [
            (*match.span(), product)
            for match in _head(product).finditer(text)
            if all(match.end() <= start or match.start() >= end for start, end, _ in taken)
        ]
    return sorted(spans)


def _is_value(text: str, name: re.Match[str], script: Script) -> bool:
    """Return whether a product's name is used as the value of an option.

    It is in brackets, beside the option's name, and before another product's name: "laptop backpack".
    """
    keys = _keys_of(script.vocabulary).get(name[1])
    if not keys:
        return False
    before = text[max(0, name.start() - 200) : name.start()]
    if before.rfind("(") > before.rfind(")"):
        return True
    return bool(
        re.search(rf"\b(?:{keys})[: =]+$", before)
        or re.match(rf"[ -](?:{keys}|ones?)\b", text[name.end() :])  # "for the black, laptop one"
        or name.re.match(text, name.end() + 1)
    )


_vocabularies: dict[int, tuple[Vocabulary, Mapping[str, str]]] = {}
_MAX_VOCABULARIES = 8


def _keys_of(vocabulary: Vocabulary) -> Mapping[str, str]:
    """Return for each value the names of its options, as a pattern; computed once for each vocabulary."""
    known = _vocabularies.get(id(vocabulary))
    if known is not None:
        return known[1]
    keys: dict[str, list[str]] = {}
    for options in vocabulary.values():
        for key, values in options.items():
            for value in values:
                keys.setdefault(value.lower(), []).append(re.escape(key.lower()))
    patterns = {value: "|".join(names) for value, names in keys.items()}
    if vocabulary:
        if len(_vocabularies) >= _MAX_VOCABULARIES:
            _vocabularies.clear()
        _vocabularies[id(vocabulary)] = vocabulary, patterns  # keep a reference, so that the id is not reused
    return patterns


def wanted(thing: Item) -> Mapping[str, str]:
    """Return the options that the user wants instead; empty for the same variant or a return."""
    return thing.wanted or {}


@lru_cache(maxsize=256)
def _any_name(names: tuple[str, ...]) -> re.Pattern[str]:
    longest = sorted(names, key=len, reverse=True)
    return re.compile(rf"\b({'|'.join(map(re.escape, longest))})(?:e?s)?\b" if names else r"(?!)")


@lru_cache(maxsize=4096)
def name_of(product: str) -> re.Pattern[str]:
    """Return a pattern of a product's name, also in the plural."""
    return re.compile(rf"\b{re.escape(product.lower())}(?:e?s)?\b")


def _head(product: str) -> re.Pattern[str]:
    return name_of(product.rsplit(maxsplit=1)[-1])


_SPELLINGS: Mapping[str, str] = {
    "s": "(?:s|small)", "m": "(?:m|medium|met(?:er|re)s?)", "l": "(?:l|large|lit(?:er|re)s?)",
    "xl": "(?:xl|x-large|extra[- ]large)", "xxl": "(?:xxl|xx-large|2xl)", "inch": "(?:inch(?:es)?|in\\b|\"|"
    "'')",
    "inches": "(?:inch(?:es)?|in\\b|\"|'')", "gb": "(?:gb|gigs?|gigabytes?)", "tb": "(?:tb|terabytes?)",
    "ml": "(?:ml|millilit(?:er|re)s?)", "cm": "(?:cm|centimet(?:er|re)s?)", "ft": "(?:ft|feet|foot|')",
    "lbs": "(?:lbs?|pounds?)", "mp": "(?:mp|megapixels?)", "person": "(?:persons?|people|p)",
    "gray": "(?:gray|grey)", "grey": "(?:gray|grey)", "hours": "(?:hours?|hrs?|h)", "pieces": "(?:pieces?|"
    "pcs?)",
    "piece": "(?:pieces?|pcs?)", "bar": "(?:bars?)", "one": "(?:one|1)", "two": "(?:two|"
    "2)", "three": "(?:three|3)",
    "1": "(?:1|one|single)", "2": "(?:2|two)", "3": "(?:3|three)", "4": "(?:4|four)", "5": "(?:5|"
    "five)", "6": "(?:6|six)",
    "7": "(?:7|seven)", "8": "(?:8|eight)", "9": "(?:9|nine)", "10": "(?:10|ten)", "12": "(?:12|twelve)",
}  # fmt: skip
"""Ways to write a part of an option's value."""


def _spelled(value: str) -> str:
    """Return a pattern of ``value`` in any spelling: "4 person", "four-person" and "4p" are one."""
    parts = re.findall(r"\d+(?:\.\d+)?|[^\W\d_]+|[^\w\s-]", value.lower())
    return "[- ]?".join(_SPELLINGS.get(part, re.escape(part)) for part in parts)


@lru_cache(maxsize=8192)
def _value(value: str, key: str, named: bool) -> re.Pattern[str]:
    """Return a pattern of an option value as a whole word: by the option's name if ``named``, else anywhere.

    Words such as yes and no match only next to the option's name. A price does not match.
    """
    plain = _spelled(value)
    word = re.escape(key.lower())
    if named:
        return re.compile(rf"\b{word}(?: is| to| of| from| =|:)*:? ?[\"(]?(?:{plain})(?![\w-]|\.\d)")
    if value in ("yes", "no", "none"):
        last = re.escape(key.lower().split()[-1])
        return re.compile(rf"\b{last}(?: is| to|:)*:? ?\"?{plain}\b")
    # "sheet-size" names the size sheet
    return re.compile(rf"(?<![\w.$'-]){plain}(?![\w']|-(?!{word}\b)|\.\d)")
