"""Decides which part a named value plays in its sentence: proposed, present, kept, or mentioned only.

"I'll change the address from A to B; the lamp stays with you" proposes B, names A as present, keeps the lamp.
A value takes its role from the nearest governing word before it, or from a predicate that follows it
directly.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from nlac_bench.envs.tau.users.scripted.structure import Unit

Role: TypeAlias = Literal["none", "new", "present", "kept", "context"]
Span: TypeAlias = tuple[int, int]

ACTION = (
    r"cancel\w*|call(?:ed|ing)? off|return(?:s|ed|ing)?\b(?! (?:window|policy|flight|trip|label|period|leg))|"
    r"sen[dt](?:ing)? (?:\w+ ){0,2}?back\b|exchang\w*|swap\w*|replac(?:e|es|ed|ing|ement)\b|trad(?:e|"
    r"ing)\b|modif\w*|chang(?:e|es|ed|ing)\b|updat\w*|switch(?! types?\b)\w*|process(?!ors?\b)\w*|refund\w*"
)
_GOES = (
    r"(?:goes|go|going|come|comes|coming|"
    r"(?:tak(?:e|es|ing)|hand(?:s|ed|ing)?|giv(?:e|es|ing))(?: \w+){0,2}?) back\b(?!\?: no\b)"
)
_NEGATED = (
    r"(?:\bnot|\b\w+n't|\bnever)(?: \w+){0,2}? (?:be |being |get )?"
    r"(?:touch|affect|chang|includ|return|exchang|modif|cancel|part|involv|mov|swap|go|alter|replac|"
    r"impact|remov|travel|fly|join|com(?:e|ing)\b|sen[dt] back|go(?:ing)? back|sold back)\w*"
)
_KEPT = (
    rf"{_NEGATED}|\bstill yours\b|\byours (?:to keep|still|:)|\b(?:keep|keeps|keeping|kept|retain(?:s|ed|"
    rf"ing)?|"
    r"leav(?:e|es|ing)|left (?:alone|as|out|un|with)\w*|"
    r"h[ao]ng(?:s|ing)? on to|h[oe]ld(?:s|ing)? on to|(?<!nothing )except(?:ing)?(?: for)?|"
    r"excluding|excluded|without|apart from|aside from|(?<!nothing )other than|(?<!nothing )besides|but not|"
    r"not (?:the|your|a|an|for)|"
    r"no changes?|nothing (?:changes|else)|unchanged|unaffected|untouched|unmodified|remain(?:s|ing)?|"
    r"stay(?:s|ing)?|rest of|(?:(?:fine|okay|ok|good|alright|correct) )?as (?:it|they) (?:is|are)|"
    r"(?:(?:ship|com|arriv|go)\w* (?:with (?:it|them|the rest) )?)?(?:just )?as (?:planned|ordered|usual|"
    r"before|normal)|is "
    r"fine|are fine|isn't|aren't|is not|are not|not)\b"
)
_CONTEXT = (
    r"\b(?:(?<!now )(?<!would )(?<!will )contain(?:s|ed|ing)?|(?<!would )(?<!will )consist(?:s|ing)? of|"
    r"compris(?:es|ing|ed)|"
    r"(?<!now )(?<!return )(?<!exchange )(?<!request )(?<!change )(?<!refund )(?<!would )(?<!will )"
    r"(?:includes?|holds?)|"
    r"i (?:can |do |could |now )?(?:also |only )?(?:see|notice|found)|i(?:'m| am) (?:also "
    r")?(?:showing|seeing)|"
    r"your other (?:\w+ )?(?:orders|reservations|bookings)|"
    r"i(?:'ve| have) (?:found|located|got|pulled up)|same as|just like|as (?:on|with) (?:the|your)|"
    r"(?:order|reservation|it|which|that|trip|account)(?: #?\w*\d+\w*)?(?: \([^()]*\))? (?:currently "
    r"|also |only )?(?:has|had|have)(?![a-z])(?! (?:now |just |already )*been\b)|"
    r"there(?:'s| is| are| was| were)(?: also)?|(?:you )?also (?:have|has)|you(?: have|'ve)? "
    r"(?:originally )?(?:ordered|bought|purchased)|"
    r"(?:what's|what is|what was|items?|everything|products?) (?:\w+ ){0,2}(?:in|on) (?:the|your|"
    r"this|that|it)\b(?: order)?)"
)
_LISTING = (
    r"\b(?:contain(?:s|ed|ing)?|there(?:'s| is| are)|we (?:also )?(?:have|offer)|(?:options|methods|"
    r"choices|alternatives|flights|variants) "
    r"(?:available|on (?:file|your)|in (?:the|your)|you have)|available|on (?:file|your (?:account|"
    r"profile)))\b"
)
_ADVERB = r"\b(?:currently|presently|at present|right now|at the moment|so far|as of now|for now)\b"
_PRESENT = (
    rf"{_ADVERB}|\b(?:current|present|existing|old|previous(?:ly)?|originally|formerly|former|today|"
    r"already|was|were|earlier|prior|taking|as it stands|no more|until now|in exchange for|taken off|"
    r"drops? out|gives? up|tak(?:e|es|ing) (?:the place of|over from)|step(?:s|ping)? in for|"
    r"off(?! of\b)|supplant(?:s|ing)?|displac(?:es?|ing)|swap(?:s|ping)? out|"
    r"overwrit(?:e|es|ing)|still (?:ships?|goes)|"
    r"you(?:'re| are) (?:booked|booked in|booked on|travell?ing|flying|sitting|on|in)|had|instead of|"
    r"rather than|in place of|replac(?:es?|ing)|supersed(?:es?|ing)|out (?:goes|with)|"
    r"the one (?:there|on file|on record|in (?:your|the) \w+)(?: \w+){0,3}? (?:is|was)|in lieu of|no longer|"
    r"(?:sen[dt]|ship|mail|post|hand|giv(?:e|ing))(?:p?ing)?(?= [^.;,:$]{1,80} back\b(?! (?:to|on|onto)\b))|"
    r"where there(?:'s| is| are| was| were)|pick(?:s|ed|ing)? up|"
    r"collect(?:s|ing)?(?= (?:the|your|an?) (?!diff|am|pay))|"
    r"remov(?:e|es|ed|ing)|out of|(?:now|before|today)(?=:)|"
    r"(?<!would )(?<!will )(?<!'ll )(?<!'d )(?<!so )(?<!to )(?:you|it|reservation|they) (?:have|has))\b"
)
_NEW = (
    r"\b(?:after(?:wards)?(?=:)|after (?:the|this|that) (?:change|update)|new|will|would|become|becomes|"
    r"updated? to|changed? to|switch(?:ed)? to|mov(?:e|ed) to|instead|total of|put(?:s|ting)? in|"
    r"in total|(?:gives?|giving) you|receiv(?:e|es|ing)|makes?|making|brings?|bringing|upgrad\w*|"
    r"downgrad\w*)\b|'ll\b|'d\b"
)
_IT = r"(?:it|that|this|them|those|these|the (?:above|old|present) \w+)"
_OF_LABEL = r"(?=[^:.;,?(]{0,24}:)"
_AT_LABEL = r"(?: (?:the|this) (?:change|update|exchange|modification|swap|switch))?(?= ?:)"
_PRESENT_LABEL = (
    rf"\b(?:out|now|today|before|was){_AT_LABEL}|"
    r"\b(?:leaving|outgoing|remov(?:e|ed|ing)|(?:send|sent|sending|giv(?:e|ing)|go(?:es|ing)|hand(?:ing)?) "
    rf"(?:back|up|in)|trad(?:e|ing) in|own)\b{_OF_LABEL}"
)
_NEW_LABEL = (
    rf"\b(?:in|after(?:wards)?|then){_AT_LABEL}|"
    r"\b(?:joining|incoming|add(?:ed|ing)?|get(?:s|ting)?|receiv\w+|will be|becomes?|instead|want(?:ed)?|"
    rf"request(?:ed)?|replacement|desired)\b{_OF_LABEL}"
)
"""Words in a label of which the value is the present one, and the new one: "item you're sending back: …"."""
_WEAK = r"\b(?:to|into|onto|with|via|by|on|using|use|charged?|paid|pay|for|as|is|are|be|in)\b"
_END = (
    r";|,? (?:but|while|whereas)\b|, (?=(?:and |so )?(?:i|we|you|they|it|the refund)\b)|, so\b|\. | - (?!\$)"
)

_ITEM_MARKS = re.compile(
    rf"(?P<kept>{_KEPT}|\b(?:won't|will not|not going to) \w+(?: \w+ back\b| back\b)?)|"
    rf"(?P<back>\b{_GOES}\b)|(?P<act>->|\b(?:{ACTION}))|(?P<context>{_CONTEXT})|"
    rf"(?P<end>{_END}|\bnow (?:includes?|contains?|has|have|holds?|consists? of)\b)"
)
_VALUE_MARKS = re.compile(
    rf"(?P<arrow>->|\b(?:replac|supersed)(?:e|ed|ing) (?:{_IT} )?(?:with|by)\b|"
    rf"\b(?:overwrit|swap|chang|substitut|switch|exchang|trad)\w* {_IT} (?:with|by|for|to|into)\b)|"
    rf"(?P<new>{_NEW_LABEL})|(?P<present>{_PRESENT_LABEL})|"
    rf"(?P<kept>{_KEPT})|(?P<from>\bfrom\b)|"
    rf"(?P<context>{_LISTING})|(?P<old>{_PRESENT})|(?P<aim>{_NEW})|(?P<weak>{_WEAK})|(?P<end>{_END}|, )"
)
_FILL = re.compile(
    r"(?:[\s,:()\"'-]|\$[\d.]+|#w\d+|\([^()]*\)|\b(?:and|or|the|your|an?|both|which|that|also|other|items?|"
    r"just|simply|is|are|same|that's|it's|they're|"
    r"do|does|will|would|should|shall|could|may|might|they|it|this|order|yours|in|one|be|can|to|all|of|we|i|you)\b)*"
)
_KEEPS = re.compile(r"(?:keep|leav)(?:e|s|es|ing)?\b")
_OBJECT = re.compile(
    r" (?:(?:only|just|both|out) )?(?:the (?!same|way)|your |(?:this|that) (?!one\b|alone\b|as\b|is\b)|"
    r"an? |everything|anything|all\b|both\b|any\b|others\b|reservation|order |flight )"
)
_COULD = re.compile(r"\b(?:could|can|may|might|eligible to) (?:also )?(?:still )?be\b")
_BEFORE = re.compile(
    r"(?:without|except|exclud|apart|aside|other than|besides|but not|"
    r"not (?:(?:the|your|a|an|for|with|to|on|by|via|in|from|economy|business|basic|paypal|gift|visa|"
    r"mastercard|credit)\b|[\d#])|no changes?|nothing)"
)
"""Words that govern what follows them, never what precedes."""
_OF_ACTION = re.compile(r"(?:items?|everything|products?) |(?:compris|contain|consist|includ)ing\b")
"""After an action, "the item in your order" is what the action is about, and what it comprises."""
_CONTENTS = re.compile(r"(?:#w\d+|\border|\bcontents) \(")
"""What an order contains, in brackets: "order #W1234567 (a kite; a lamp)"."""
_BRACKET = re.compile(r"[()]")
_BRACKETS = re.compile(r"\([^()]*\)")
_CLAUSE = re.compile(r", (?:and|but|while|whereas|so) ")
_SINGULAR = re.compile(r"\b(?:stays|remains|is|was|isn't|does|doesn't|goes|comes|keeps)\b")
_PASSIVE = re.compile(r"\b(?:be|is|are|get|gets|being|been)\b[ \w]{0,12}$")


def item_roles(text: str, spans: Sequence[Span]) -> list[Role]:
    """Return the roles of goods or records named at ``spans``, in order of their position."""
    if not spans:
        return []
    roles: list[Role] = []
    state: Role = "none"
    group: list[tuple[int, int]] = []  # the mentions since the last governing word, and where they begin
    last_end = 0
    contents = _contents(text)
    for start, end, kind in _events(text, spans, _ITEM_MARKS):
        if kind == "mention":
            if state != "new" and any(a < start < b for a, b in contents):
                roles.append("context")
                continue
            roles.append(state)
            group.append((len(roles) - 1, start))
            last_end = end
        elif kind == "end":
            state = "context" if state == "context" and text[start] == ";" else "none"
            group = []
        elif (
            kind in ("kept", "back")
            and group
            and not _BEFORE.match(text, start)
            and not _governs(text, start, end, spans)
            and _FILL.fullmatch(text, last_end, start)
        ):
            # a column's name, "goes back?", is about all that the row names
            singular = bool(_SINGULAR.search(text, last_end, end)) and text[end : end + 1] != "?"
            for place in _subject(text, group, state, singular):
                roles[place] = "kept" if kind == "kept" else "new"
            state, group = "none", []
        elif kind == "kept":
            state, group = "kept", []
        elif kind in ("act", "back"):
            if group and _FILL.fullmatch(text, last_end, start) and _PASSIVE.search(text, last_end, start):
                # "the lamp could be returned as well" proposes nothing
                for place in _subject(text, group, state):
                    roles[place] = "context" if _COULD.search(text, last_end, start) else "new"
            state, group = "new", []
        elif not (state == "new" and not group and _OF_ACTION.match(text, start)):
            state, group = "context", []
    return roles


def _governs(text: str, start: int, end: int, spans: Sequence[Span]) -> bool:
    """Return whether the verb of keeping at ``start`` has its object after it: "and leave the kite as it is".

    Without one it is a predicate of what stands before it: "the kite you keep".
    """
    if not _KEEPS.match(text, start):
        return False
    return bool(_OBJECT.match(text, end)) or any(first == end + 1 for first, _ in spans)


def _contents(text: str) -> list[Span]:
    """Return the brackets after a record, in which its contents are listed; brackets may contain others."""
    found: list[Span] = []
    for opening in _CONTENTS.finditer(text):
        if found and opening.start() < found[-1][1]:
            continue
        depth, end = 1, len(text)
        for bracket in _BRACKET.finditer(text, opening.end()):
            depth += 1 if bracket[0] == "(" else -1
            if not depth:
                end = bracket.start()
                break
        found.append((opening.end() - 1, end))
    return found


def _subject(text: str, group: Sequence[tuple[int, int]], state: Role, singular: bool = False) -> list[int]:
    """Return the mentions that a predicate after them is about: those of its own clause.

    Of mentions that a word before them governs, and before a verb in the singular, these are the ones after
    the last ", and", or the last one: "you keep the kite, and the tent and the lamp will go back".
    """
    if state == "none" and not singular:
        return [place for place, _ in group]
    flat = _BRACKETS.sub(lambda found: " " * len(found[0]), text[: group[-1][1]])
    cut = max((found.end() for found in _CLAUSE.finditer(flat, group[0][1])), default=group[-1][1])
    return [place for place, start in group if start >= cut]


def value_roles(text: str, spans: Sequence[Span]) -> list[Role]:
    """Return the roles of slot values (addresses, payments, cabins, dates …) named at ``spans``."""
    if not spans:
        return []
    roles: list[Role] = []
    state: Role = "none"
    strong = False  # whether the state comes from a word that only a proposal has
    seen = opened = False  # whether a value was named since, and whether "from" awaits its "to"
    last_end = since = 0
    left: tuple[int, Role, bool] | None = None  # what holds after a bracket that a comma divides
    for start, end, kind in _events(text, spans, _VALUE_MARKS):
        if left and start > left[0]:
            if state == "none" and _AND.match(text, left[0]):
                state, strong = left[1:]
            left = None
        near = bool(roles) and bool(_FILL.fullmatch(text, last_end, start))
        if kind == "mention":
            roles.append("present" if says_present(text, end) else state)
            seen, last_end = True, end
            continue
        if kind == "end":
            listing = seen and state in ("present", "context")  # "A, B and C are available"
            aside = _ASIDE.match(text, start) if state == "present" and not seen else None
            since = aside.end() if aside else since
            if text[start] == "," and (listing or (state == "present" and end - since < 4)):
                continue  # "currently, it goes to A", "currently booked, under SF4PKV, on B"
            if text[start] == "," and left is None and state != "none" and (close := _closes(text, start)):
                left = close, state, strong
            state, strong, opened = "none", False, False
        elif kind == "weak":
            word = text[start:end]
            if not (
                state == "none"
                or seen
                or (opened and word in _TARGETS)
                or (state == "context" and word in _MEANS)
            ):
                continue
            state, strong, opened = "new", False, False
        elif kind == "arrow":
            if near:
                roles[-1] = "present"
            state, strong = "new", True
        elif kind == "from":
            reversed_ = seen and _leads(text, end, spans)  # "to B from A"
            if not reversed_ and not _TO.search(text, end):
                continue
            state, opened = "present", not reversed_
        elif kind == "old" and text[start:end] == "off" and not _leads(text, end, spans):
            continue  # "take A off the profile"
        elif kind in ("present", "old"):
            closes = end >= len(text) or text[end] in ".,;)?!" or text.startswith((" and", " -"), end)
            if seen and closes and (near or (_ADVERBS.fullmatch(text, start, end) and not strong)):
                roles[-1] = "present"
                continue
            state, opened = "present", False
        elif (
            kind == "kept" and near and not (_BEFORE.match(text, start) or _governs(text, start, end, spans))
        ):
            roles[-1] = "kept"
            continue
        else:
            state, strong = ("new", True) if kind in ("new", "aim") else (_STATES[kind], False)
        seen, since = False, end
    return roles


def _closes(text: str, place: int) -> int:
    """Return where the bracket around ``place`` closes; 0 if there is none."""
    opened, closed = text.rfind("(", 0, place), text.rfind(")", 0, place)
    return text.find(")", place) + 1 if opened > closed else 0


_AND = re.compile(r",? (?:and|plus|&) |, (?=[\w -]{1,40} \()")
"""After a bracket: "from A (…), B (…) and C (…)" governs all."""


def _leads(text: str, end: int, spans: Sequence[Span]) -> bool:
    """Return whether a value directly follows the word that ends at ``end``."""
    value = next((first for first, _ in spans if first >= end), None)
    return value is not None and _FILL.fullmatch(text, end, value) is not None


def says_present(text: str, end: int) -> bool:
    """Return whether the predicate after a value, which ends at ``end``, says that it is the present one."""
    return _IS_PRESENT.match(text, end) is not None


_IS_PRESENT = re.compile(
    r"[ ,)\"']*(?:which |that |and )?(?:"
    r"(?:is|are|was|were) (?:(?:only|just) )?(?:what(?:'s| is| was| stands)? (?:there|here|on|in|it|we|you|"
    r"they|your)\b(?! (?:want|wish|need|ask|chose|choose|pick|prefer|would|request|like))(?!'d)|"
    r"(?:there|here)\b|on (?:file|record)\b|in (?:your|the) (?:profile|account|system)\b|the one\b|"
    r"the (?:old|current|present|previous|existing|former)\b|gone\b|out\b|dropped\b|removed\b|deleted\b)|"
    r"(?:drops?|comes?|goes|falls) (?:out|away|off)\b|no more\b|any ?more\b|"
    r"(?:will|would) (?:go(?= ?[,.;)?]| away)|no longer|disappear|drop out|be (?:removed|deleted|dropped|"
    r"gone)))"
)
"""In "(A is what's there today)"."""
_ASIDE = re.compile(r", (?:under|in|for|on|with|as) [^,.;:]{1,40}(?:, (?:on|in|at|with|for|to)\b|:)")
_TARGETS = frozenset({"to", "into"})
_MEANS = frozenset({"to", "with", "via", "using", "charge", "charged", "paid", "pay"})
_STATES: Mapping[str, Role] = {"kept": "kept", "context": "context"}
_TO = re.compile(r"\bto\b|->|\binto\b")
_ADVERBS = re.compile(_ADVERB)


def _events(text: str, spans: Sequence[Span], marks: re.Pattern[str]) -> list[tuple[int, int, str]]:
    """Return mentions and marks by position; a mark within a mention is part of the name."""
    events = [(start, end, "mention") for start, end in spans]
    covered = sorted(spans)
    place = 0
    for found in marks.finditer(text):
        while place < len(covered) and covered[place][1] <= found.start():
            place += 1
        if place < len(covered) and covered[place][0] < found.end():
            continue
        events.append((found.start(), found.end(), found.lastgroup or ""))
    return sorted(events)


def proposes(unit: Unit) -> bool:
    """Return whether a statement proposes something: a change, or a list's entry that is no present state."""
    if _CHANGE.search(unit.full):
        return True
    return bool(unit.heading) and not _STATE.search(unit.full)


_CHANGE = re.compile(rf"->|{_NEW}|\b(?:{ACTION})")
_STATE = re.compile(rf"{_PRESENT}|{_CONTEXT}|{_LISTING}")
