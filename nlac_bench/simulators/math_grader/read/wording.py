"""Lists the words that change what a value means, and those that do not.

A text beside a value is a unit or a counted noun unless it has one of these words. They are closed classes of
English; answers in other languages are recognised by their connectives and negations only.
"""

import re

from nlac_bench.simulators.math_grader.read.nodes import names
from nlac_bench.simulators.math_grader.read.normalize import NUMBER_WORDS, words

NEGATIONS = names(
    "not no never nor neither none nothing without except excluding but besides cannot cant dont doesnt "
    "didnt isnt arent wasnt werent wont wouldnt couldnt shouldnt false wrong incorrect impossible fails "
    "excluded extraneous invalid rejected discarded non nicht kein keine pas ne nunca 不 不是 非 не нет"
)
_ALTERNATIVES = names("or etc either maybe perhaps possibly otherwise unless if when whenever else")
_COMPARISONS = names(
    "more less fewer greater larger smaller bigger higher lower least most than over under above below "
    "beyond between within before after until up down exceeds exceeding almost nearly barely short off"
)
_OPERATIONS = names(
    "plus minus times divided multiplied squared cubed half twice double triple mod base and negative "
    "outside complement opposite factorial reciprocal halves thirds fourths fifths sixths eighths tenths "
    "hundredths thousandths"
)
_VALUES = names("undefined infinite infinitely")
MEANINGFUL = NEGATIONS | _ALTERNATIVES | _COMPARISONS | _OPERATIONS | _VALUES
"""A value with one of these words beside it is only equal to a value with the same words."""
UNCERTAIN = NEGATIONS | _ALTERNATIVES
"""Words with which even a named value (`\\text{not } x = 5`) is not stated."""
LINKS = names("is are was were be equals equal gives yields becomes has have")
_FILLERS = LINKS | names(
    "a about all altogether an ans answer answers approximately are around at both correct each exactly "
    "final find get giving got hence it its just obtain of only our overall precisely "
    "result roughly simply simplified so that thats the then there therefore this thus to total unit "
    "units we which yes yielding you"
)

AND = names("and & und et и 和 及 以及 と")
OR = names("or oder ou или 或 或者 または")
_CONNECTIVES = "|".join(sorted(map(re.escape, AND | OR), key=len, reverse=True))
SEPARATOR_TEXT = re.compile(
    rf"[\s,;.]*(?:(?P<word>{_CONNECTIVES})(?![^\W\d_]))?[\s,;.]*",
    re.IGNORECASE,
)


def connective(word: str | None) -> str:
    """Return "and" or "or" for a connective of any known language, and "" for None."""
    word = (word or "").casefold()
    return "and" if word in AND else "or" if word in OR else ""


_PREPOSITIONS = names("at by from in of on to with")
_CLASSES = names("day month year season function number integer curve graph conic of")
_AMOUNTS = names("total increase decrease gain loss profit rise fall drop discount change distance length")
_OTHERS = names("other others rest remaining")
_ROOTS = names("root roots zero zeros solution solutions")
_ARTICLES = names("a an the")
_FIRST_GROUP = re.compile(r"\\(?:text|mbox|mathrm)\s*\{([^{}]*)\}[\s,:]*(\S.*)", re.DOTALL)
_COMPLEMENT = re.compile(
    r"\b(?:of|in|from|on|for|at) (?:the|an?|this|that|each|every|all)\b(?! (?:most|least|negative))"
)
_IDENTITY = re.compile(
    r"^\s*is (?:the|our|your)\b(?! (?:second|third|fourth|fifth|next|last|other)\b)(?: (?:least|most)\b)?"
)
_LINK_END = re.compile(  # the sum is equal to exactly
    rf"\b(?:{'|'.join(sorted(LINKS))}|equal to|given by"
    r"|(?:simplif|evaluat|reduc|amount|com|add|sum)\w* (?:out |up )?to"
    r"|(?:increas|decreas|ris|grow|fall|drop|chang)\w* by"
    r"|costs?|takes?|measures?|weighs?|contains?|requires?|needs?|totals?|worth|lasts?)"
    r"(?: (?:about|approximately|roughly|exactly|just|only|simply|then|thus|therefore))*\Z"
)
_POSSIBLE = re.compile(
    r"\b(?:is|are|can be) (?:possible|needed|required|left|available|formed|made|chosen)\s*\Z"
)
_COUNTS = re.compile(  # 3 times as many; 22 more euros than pounds
    rf"\A\s*times\b(?!.*\b(?:{'|'.join(NUMBER_WORDS)})\b)"
    r"|\b(?:more|fewer|less) (?!than\b)[a-z ]+ than (?!(?:half|twice|double|triple)\b)[a-z ]+\Z"
)
_IN_TOTAL = re.compile(r"\bin (?=total|all)")
_QUALIFIED = re.compile(r"\b(?:at least|at most|\w+er than|more than|less than|up to|or)\b", re.IGNORECASE)


def is_qualified(text: str) -> bool:
    """Return whether words before a value, as in `not 5` or `at least 5`, say that it is not the answer."""
    return bool(NEGATIONS.intersection(words(text).split()) or _QUALIFIED.search(text))


def without_fillers(text: str) -> str:
    """Return the words that add something to a value: `` for `is the answer`, `days` for `days in total`."""
    return " ".join(word for word in _IN_TOTAL.sub("", words(text)).split() if word not in _FILLERS)


def is_filler(text: str) -> bool:
    """Return whether a text adds nothing to a value beside it: `about`, `is the answer`."""
    return not without_fillers(text)


def is_introduction(text: str) -> bool:
    """Return whether a text before a value only introduces it: `Thus`, `The area is`, `Total:`."""
    if len(words(text)) < 2:  # a letter
        return False
    if is_filler(text):
        return True
    return not is_qualified(text) and bool(
        _LINK_END.search(words(text)) or text.rstrip(" ~\\").endswith((":", "="))
    )


def without_introduction(text: str) -> str:
    """Return an answer without the text that introduces it: `\\text{The time is } \\text{4:30 p.m.}`."""
    match = _FIRST_GROUP.match(text)
    return match[2] if match and is_introduction(match[1]) else text


def is_noun(text: str) -> bool:
    """Return whether a text before a value can be its name: `minimum value`, but not `half of` or `not`."""
    spoken = words(text).split()
    is_amount = spoken[-1:] == ["of"] and bool(_AMOUNTS.intersection(spoken[-2:]))
    open_end = spoken[-1:] and spoken[-1] in _PREPOSITIONS and not is_amount
    return len("".join(spoken)) > 1 and not open_end and not states_otherwise(text)


def without_complement(text: str) -> str:
    """Return the words before the first complement: `edges` for `edges of the larger cube`."""
    return _COMPLEMENT.split(text, maxsplit=1)[0]


def is_aside(text: str) -> bool:
    """Return whether words in brackets after a value only comment on it: `double root`, `nearest tenth`."""
    spoken = text.split()
    if spoken[0] in _OTHERS:  # the other roots are not real
        return True
    return not UNCERTAIN.intersection(spoken) and (
        spoken[-1] in _ROOTS or not MEANINGFUL.intersection(spoken)
    )


def after_link(text: str) -> str:
    """Return the words after the last `is` or `are`, `Monday` for `it is on a Monday`; "" with a negation."""
    spoken = words(text).split()
    if NEGATIONS.intersection(spoken):
        return ""
    last = max((index for index, word in enumerate(spoken) if word in LINKS), default=-1)
    spoken = spoken[last + 1 :]
    for leading in (_PREPOSITIONS, _ARTICLES):
        spoken = spoken[1:] if spoken[:1] and spoken[0] in leading else spoken
    return " ".join(spoken)


def before_link(text: str) -> str:
    """Return the words before the first `is` or `has`; "" with a word that changes the meaning."""
    spoken = words(text).split()
    first = next((index for index, word in enumerate(spoken) if word in LINKS), 0)
    return "" if MEANINGFUL.intersection(spoken) else " ".join(spoken[:first])


def without_class(text: str) -> str:
    """Return the words without a noun for their class: `May` for `month of May`."""
    return " ".join(word for word in text.split() if word not in _CLASSES)


def states_otherwise(text: str) -> bool:
    """Return whether a text has a word that changes the meaning of a value beside it, or is a predicate."""
    if UNCERTAIN.intersection(words(text).split()):
        return True
    spoken = set(
        words(without_complement(_COUNTS.sub("", _POSSIBLE.sub("", _IDENTITY.sub("", text))))).split()
    )
    return bool(spoken & MEANINGFUL) or bool(spoken & LINKS and not spoken <= _FILLERS)
