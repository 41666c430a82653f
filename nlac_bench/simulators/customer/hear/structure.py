"""Splits an agent's message into units: sentences, list entries and table rows, each with its heading.

Emphasis marks are removed, dates are written as in the databases, a table row with an old and a new column
becomes ``label: from OLD -> NEW``. Long messages are truncated, so that reading takes bounded time.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nlac_bench.simulators.customer.hear.spelling import normalise
from nlac_bench.simulators.customer.hear.topics import topics

MAX_UNITS = 200
"""Of more units only the first and the last are read."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One sentence, list entry or table row in lower case; ``heading`` introduces its list."""

    text: str
    heading: str = ""

    @property
    def full(self) -> str:
        """The text after its heading."""
        return f"{self.heading} {self.text}" if self.heading else self.text


def units(message: str) -> list[Unit]:
    """Return the units of ``message``."""
    result: list[Unit] = []
    heading, listed, blank = "", False, False
    open_line = False  # the last unit is a line that the next line may continue, as in an address
    columns: list[str] | None = None
    lines = [part for line in normalise(message).split("\n") for part in _spread(line)]
    for number, raw in enumerate(lines):
        line = raw.strip()
        if not line:
            blank, open_line = True, open_line and _DANGLES.search(result[-1].text) is not None
            if listed:
                heading = ""
            listed = False
            continue
        if line.count("|") >= 2:
            cells = _cells(line)
            if _RULE.fullmatch(line):
                columns = _cells(lines[number - 1]) if number else None
                if columns and sum(map(bool, columns)) == 1:  # a title
                    columns = None
                if result and columns and any(columns) and not _FILLED.search(result[-1].text):
                    result.pop()  # names of columns; a first row with values belongs to the table's contents
                if columns and any(map(_EXAMPLE.search, columns)):  # what is needed, with an example of each
                    heading = _NEEDED
                    result.append(Unit(heading))
            elif any(cells):
                result.append(Unit(_row(cells, columns), heading))
            listed, open_line, blank = True, False, False
            continue
        columns = None
        bullet = _BULLET.match(line)
        text = line[bullet.end() :].strip() if bullet else line
        following = next((other.strip() for other in lines[number + 1 :] if other.strip()), "")
        if bullet:
            inner = line[0].isdigit() and following[:1] in ("-", "+") and not _ENDS.search(text)
            if text.endswith(":") or inner:
                heading = ""
                result.append(Unit(text))
                heading, listed = text, False
                continue
            listed = True
            open_line = False
        elif open_line and (
            _DANGLES.search(result[-1].text)
            or not (text.endswith("?") or blank or _LABELLED.match(text))  # "order: …" is a line of its own
        ):
            result[-1] = Unit(f"{result[-1].text}, {text}", result[-1].heading)
            open_line = not _ENDS.search(text)
            blank = False
            continue
        else:
            head = text.endswith(":") or bool(
                (_BULLET.match(following) or following.count("|") >= 2)
                and (not _ENDS.search(text) or _DETAILS.search(text) or text.endswith("?"))
            )
            if listed or head:
                heading = ""
            if head:
                sentences = _sentences(text)
                result += [Unit(sentence) for sentence in sentences]
                heading = sentences[-1]
                listed, open_line, blank = False, False, False
                continue
            if blank and not listed and heading:
                complete = result[-1].heading == heading and text.endswith((".", "!", "?"))  # a new paragraph
                heading = "" if complete or not heading.endswith(":") else heading
        sentences = _sentences(text)
        result += [Unit(sentence, heading) for sentence in sentences]
        if not bullet:
            open_line = not _ENDS.search(text)
            if not open_line:
                heading = ""
        blank = False
    if len(result) > MAX_UNITS:
        result = result[: MAX_UNITS // 2] + result[-MAX_UNITS // 2 :]
    return result


def joined(parts: Sequence[Unit]) -> str:
    """Return units as text, one a line, each after its heading."""
    return "\n".join(part.full for part in parts)


def _spread(line: str) -> list[str]:
    """Return the lines of a list that is written in one line: "I need: 1) your name 2) your zip code"."""
    if len(_DASHED.findall(line)) > 1:
        return _DASHED.sub("\n- ", line).strip("\n").split("\n")
    marks: list[re.Match[str]] = []
    for match in _ENUMERATOR.finditer(line):
        before = line[: match.start()]
        value = marks and before.rstrip().endswith(":")  # "now: 1. requested: 2."
        value = value or (
            match[0].strip().endswith(")") and before.count("(") > before.count(")")
        )  # "(brand: A)"
        if not value and (match[1] == _following(marks[-1][1]) if marks else match[1] in "1a"):
            marks.append(match)
    if len(marks) < 2:
        return [line]
    ends = [*(mark.start() for mark in marks[1:]), len(line)]
    entries = [line[mark.start() : end] for mark, end in zip(marks, ends, strict=True)]
    last, *after = _SPLIT.split(line[marks[-1].end() :], maxsplit=1)
    entries = [_JOINT.sub("", entry) for entry in (*entries[:-1], f"{marks[-1][0]}{last}")]
    before = line[: marks[0].start()]
    return [*([before] if before.strip() else []), *entries, *(["", *after] if after else [])]


def _following(mark: str) -> str:
    """Return the number or letter after ``mark`` in a list."""
    return str(int(mark) + 1) if mark.isdigit() else chr(ord(mark) + 1)


def _cells(line: str) -> list[str]:
    """Return the cells of a table row; the first one, above the rows' names, may be empty."""
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]


def _row(cells: list[str], columns: list[str] | None) -> str:
    """Return a table row as text; of an old and a new column, the old one is marked as such."""
    if columns and len(columns) == len(cells):
        if any(map(_EXAMPLE.search, columns)):
            return next((c for c, name in zip(cells, columns, strict=True) if not _EXAMPLE.search(name)), "")
        if len(cells) == 2 and cells[0] and not cells[1].strip("_. "):
            return f"{cells[0]}?"  # to be filled in
        old = [
            c for c, name in zip(cells, columns, strict=True) if _OLD.search(name) and not _NEW.search(name)
        ]
        new = [c for c, name in zip(cells, columns, strict=True) if _NEW.search(name)]
        rest = [c for c in cells if c not in old and c not in new]
        if old and new:
            return f"{', '.join(rest)}: from {', '.join(old)} -> {', '.join(new)}"
        if old:
            return f"{', '.join(rest)}: current {', '.join(old)}"
    labelled = len(cells) == 2 and topics(cells[0])  # "| insurance | no |"
    if columns and len(columns) == len(cells) and not labelled:
        # a bare number or answer means nothing without its column
        cells = [f"{name}: {c}" if _BARE.fullmatch(c) else c for c, name in zip(cells, columns, strict=True)]
    cells = [cell for cell in cells if cell]
    return f"{cells[0]}: {cells[1]}" if len(cells) == 2 else ", ".join(cells)


def _sentences(text: str) -> list[str]:
    text = _SHORT.sub(lambda match: match[0].replace(".", "\0"), text)
    parts = [part.replace("\0", ".").strip() for part in _SPLIT.split(text) if part.strip()] or [text]
    parts = [_LEAD.sub("", _conditional(part)) for part in parts]
    return [question for part in parts for question in _questions(part)]


def _conditional(sentence: str) -> str:
    """Return an inverted conditional with "if": "should it be right, …" becomes "if it is right, …"."""
    if not _SHOULD.match(sentence):
        return sentence
    sentence = f"if{sentence.removeprefix('should')}"
    return _BE.sub(lambda match: f"{match[1]} {'are' if match[2] in _PLURALS else 'is'}", sentence)


def _questions(sentence: str) -> list[str]:
    """Return the questions that ``sentence`` joins: "which card is it, and shall I go ahead?"."""
    last = _LAST.search(sentence)
    if last:
        return [*_questions(f"{sentence[: last.start()]}."), sentence[last.end() :]]
    for second in _SECOND.finditer(sentence) if sentence.endswith("?") else ():
        if _ASKING.search(sentence, 0, second.start()):
            return [f"{sentence[: second.start()]}?", *_questions(sentence[second.end() :])]
    return [sentence]


_FILLED = re.compile(r"\d|: .*\b(?:paypal|gift card|visa|mastercard|economy|business|yes|no|none)\b")
_RULE = re.compile(r"[|:\- ]*-[|:\- ]*")
_BULLET = re.compile(r"(?:[-+] ?(?=\S)|\(?\d{1,2}[.)] ?(?=\D)|\d{1,2} - (?=\D)|\(?[a-z][.)] |[✅✔☑🔹👉➤▶] ?)")
_ENUMERATOR = re.compile(r"(?:^|(?<=[\s:;,.?(]))\(?(\d{1,2}|[a-f])[.)] (?=\S)")
_DASHED = re.compile(r"(?:^| )- (?=[a-z][a-z ]{0,40}: \S)")
"""Begins an entry of a list in one line: "- reservation: AB3CDE - cabin: business"."""
_JOINT = re.compile(r"(?:[;,]|(?:[;,] ?)?\b(?:and|or))?\s*$")
_LABELLED = re.compile(r"[a-z][\w '/()#-]{0,40}:(?: |$)")
_ENDS = re.compile(r"[.!?:][\"')]*$")
_DANGLES = re.compile(r"\b(?:to|is|be|as|with|for|at|address|following)$")
_DETAILS = re.compile(r"\b(?:following|below|these|here)\b")
_EXAMPLE = re.compile(r"\b(?:examples?|samples?|e\.g|for instance|(?:expected|required) format)\b")
_NEEDED = "what i need:"
_BARE = re.compile(r"\d{1,2}|yes|no|none")
_OLD = re.compile(
    r"\b(?:current(?:ly)?|old|present|existing|now|today|before|from|original|previous|was|were|had)\b"
)
_NEW = re.compile(
    r"\b(?:new|after|to|proposed|updated?|requested|replacement|change|will be|instead|wanted|desired)\b"
)
_SHORT = re.compile(r"\b(?:b|e\.g|i\.e|no|nr|st|apt|ave|rd|dr|mr|mrs|ms|approx|incl|vs|etc)\.(?= )")
_SPLIT = re.compile(r"(?<=[.!?])[\"')]* +(?=\S)|(?<=[?])(?=[a-z])")
_INVERTED = (
    r"(?:(?:shall|should|may|can|could|would|will) (?:i|we|you|it|this|that|these|they)|do (?:i|we|you)|"
    r"(?:is|are) (?:you|it|this|that|these|they|there))\b"
)
_VERB = r"(?:'s|(?:shall|should|may|can|could|would|will|do|does|did|is|are)\b)"
_OPEN = rf"(?:which|what|whose|how many|how much|where|when|why|who|how)(?: [\w-]+){{0,5}}? ?{_VERB}"
_PREPOSED = r"(?:(?:to|on|onto|for|from|with|by) )?"
_EMBEDDED = (
    r"(?:what|which|how|where|when)(?: exactly| precisely)? (?:it is (?:that )?)?you(?:'d|'re| would| want)\b"
)
_BRIEF = rf"{_PREPOSED}(?:(?:which|what|whose)(?: [\w-]+){{1,2}}|how many|how much)"
"""A question without a verb: "with which card?"."""
_ASKING = re.compile(
    rf"^{_VERB}|(?:^|[,:;-] |\b(?:and|so|then|also) )"
    rf"(?:{_INVERTED}|{_PREPOSED}{_OPEN}|{_BRIEF}$)"
)
_SECOND = re.compile(
    rf", (?={_OPEN})|"
    rf"(?:,|;| -)? (?:and|but|plus)(?: also| then)? (?={_INVERTED}|{_PREPOSED}{_OPEN}|{_EMBEDDED}|"
    rf"{_BRIEF}\?)|"
    r", or (?=(?:may|shall|should|can) i (?:go ahead|proceed|continue|submit|do it)\b)"
)
_LAST = re.compile(
    r", (?:so |and |now )?(?=(?:(?:is|are) there|do you (?:need|have|want|wish)|(?:can|may|could) i|"
    r"please (?:tell|let|ask|write)|let me know|tell me|anything|any)\b[^,?]{0,60}"
    r"\b(?:else|other|another|further|more)\b[^,?]{0,60}\??$)"
)
"""Begins, after a comma, the question whether there is anything else."""
_SHOULD = re.compile(r"should (?!i\b|we\b)[^,?]{3,80}, [^?]*$")
_BE = re.compile(r"^(if (?:[\w']+ )*?([\w']+)) be\b(?<!to be)")
_PLURALS = frozenset({"you", "they", "these", "those", "all", "details", "points", "items"})
_LEAD = re.compile(
    rf"^(?:(?:so|now|and|then|please|kindly|just|do) )*(?:tell me|let me know|"
    rf"say)(?: please)?[,:]? (?={_INVERTED}.*\?$)"
)
"""Words that introduce a question: "please tell me, do you agree?"."""
