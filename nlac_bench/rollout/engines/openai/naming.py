"""Finds the fields of a request that an error is about, by where a name stands in it."""

import re
from collections.abc import Iterable, Mapping, Set

from nlac_bench.rollout.engines.openai.complaint import Complaint

_ALIASES: Mapping[str, tuple[str, ...]] = {
    "max_tokens": ("max_new_tokens", "max_output_tokens", "max_tokens_to_sample"),
    "max_completion_tokens": ("max_new_tokens", "max_output_tokens"),
    "stop": ("stop_sequences", "stop_words"),
    "n": ("best_of", "candidate_count"),
    "logprobs": ("top_logprobs",),
    "response_format": ("json_mode",),
}
_KIND = (
    r"(?:parameters?|param|arguments?|arg|fields?|propert(?:y|ies)|options?|keywords?|keys?|names?|inputs?"
    r"|settings?|values?|attributes?|参数|字段)"
)
_VERB = (
    r"(?:is|are|was|not|must|should|does|do|cannot|can|isn|unsupported|deprecated|parameter|argument|field"
    r"|property|option|value|参数)\b"
)
_KNOWN_NAMES = re.compile(
    r"\b(?:expected|must be|should be) (?:one|any) of\b[^.\n]*"
    r"|(?<!not )\b(?:allowed|supported|valid|known|accepted|permitted|expected)"
    r" (?:fields|param\w*s|properties|keys|arguments|options|names)\b[^.\n]*"
    r"|\b(?:you (?:mean|meant|want|wanted)|similar(?: \w+)?|closest(?: \w+)?)\b[^.\n]*",
    re.I,
)
"""What the server accepts, as a list or as a suggestion: the field that it refuses is not among it."""
_CONDITION = re.compile(r"\b(?:when|whenever|if|while|unless)\b[^.,;\n]*", re.I)
_ANSWER_LENGTH = re.compile(
    r"\bmax(?:imum)? (?:(?:new|output|completion) )?tokens\b"
    r"|\b(?:output|completion|response|answer|generation) (?:tokens|length|limit)\b",
    re.I,
)
_STATED_BOUND = re.compile(
    r"(?:at most|up to|no more than|<=|<(?= )|≤|(?:less|lower|smaller|fewer) than(?: or equal to)?"
    r"|less or equal to|(?:limit|maximum|limited) (?:is|of|to|:)|exceeds? (?:the )?(?:limit|maximum)(?: of)?"
    r"|exceeds? (?:the )?(?:\w+ ){0,3}limit of)\W{0,3}(\d[\d,]{0,9})(?:\.0)?(?![\w.]*\d)",
    re.I,
)


def named(complaint: Complaint, fields: Iterable[str]) -> list[str]:
    """Return those of ``fields`` that the complaint is about.

    Those that a sentence names come in its order, and after them those that it names only as a condition
    ("temperature must be 1 when thinking is enabled").
    """
    fields = list(fields)
    spellings = {name: _spellings(name, {*fields} - {name}) for name in fields}
    ends = {end for param in complaint.params for end in _ends(param)}
    parameters = [name for name in fields if ends & {spelling.lower() for spelling in spellings[name]}]
    if parameters:
        return parameters
    # "Unsupported parameter: 'max_tokens' …. Use 'max_completion_tokens' instead": the request has the first.
    message = _KNOWN_NAMES.sub("", complaint.message)
    conditions = [match.span() for match in _CONDITION.finditer(message)]
    places: dict[str, tuple[bool, int]] = {}
    for name in fields:
        found = [place for each in spellings[name] for place in _mentions(each, message)]
        within = [(any(begin <= place < end for begin, end in conditions), place) for place in found]
        if within:
            places[name] = min(within)
    return sorted(places, key=places.__getitem__)


def _ends(path: str) -> set[str]:
    """Return ``path`` and the names at its ends (``stop[0]``, ``thinking.budget_tokens``), in lower case."""
    names = [part.strip("'\" ]").lower() for part in re.split(r"[.\[]", path)]
    names = [name for name in names if name and not name.isdecimal()]
    return {path.strip("'\" ").lower(), *names[:1], *names[-1:]}


def _mentions(name: str, message: str) -> list[int]:
    """Return where ``message`` speaks of the field ``name``; ``stop`` and ``seed`` are also words."""
    path = rf"(?<![\w.\[/]){name}(?:\[\d{{1,6}}\]|\.[a-z_]{{2,40}}\b(?!\())"
    pattern = rf"['\"`‘“]{name}['\"`’”]|\[['\"]?{name}['\"]?\]|(?-i:{path})"
    flags = 0
    if len(name) > 1 and (
        "_" in name or " " in name or name != name.lower() or name in ("temperature", "logprobs")
    ):
        pattern = rf"(?<![A-Za-z0-9_]){name}(?![A-Za-z0-9_])"
        flags = re.I if name == "temperature" or " " in name else 0
    elif len(name) > 1:
        pattern += (
            rf"|{_KIND}\W{{1,3}}{name}\b|(?<![\w]){name}\W?\s+{_VERB}|:\s*{name}\s*(?:[.,;)}}\"]|$)"
            rf"|\b(?:for|of|with|in|body\.)\s*{name}\b(?!\s+\w+ing)|^{name}: "
        )
        flags = re.I
    return [match.start() for match in re.finditer(pattern, message, flags)]


def _spellings(name: str, others: Set[str]) -> list[str]:
    """Return how servers write ``name``, without the names of ``others``, which are fields of their own."""
    names = (name, *(alias for alias in _ALIASES.get(name, ()) if alias not in others))
    spaced = [each.replace("_", " ") for each in names[1:]]
    return list(dict.fromkeys([*names, *map(_camel, names), *spaced]))


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def bounds_answer(message: str, below: float) -> bool:
    """Return whether ``message`` states a bound below ``below`` of the answer's length, in prose."""
    return _ANSWER_LENGTH.search(message) is not None and stated_bound(message, below) is not None


def stated_bound(message: str, below: float) -> int | None:
    """Return the number below ``below`` that ``message`` calls a limit ("at most 512"); None without one."""
    found = [int(number.replace(",", "")) for number in _STATED_BOUND.findall(message)]
    return max((number for number in found if 0 < number < below), default=None)
