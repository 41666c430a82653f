"""Extracts the answer from a text: the last box, else what follows "the answer is", else the last value.

Exactly one answer is extracted and graded: several answers in a text are one list, and no element of it is
selected, so listing many answers does not increase the reward.
"""

import re

from nlac_bench.simulators.math_grader.extract.boxes import boxed
from nlac_bench.simulators.math_grader.read.nodes import names
from nlac_bench.simulators.math_grader.read.normalize import normalize, repair_escapes, to_ascii
from nlac_bench.simulators.math_grader.read.tokens import FUNCTIONS
from nlac_bench.simulators.math_grader.read.units import is_unit
from nlac_bench.simulators.math_grader.read.wording import is_qualified

MAX_TAIL = 200_000
"""Number of characters at the end of a text that are searched for a box; MAX_PROSE without a box."""
MAX_PROSE = 20_000

_TAG = re.compile(r"<answer>((?:(?!<answer>).)*)</answer>\s*\Z", re.DOTALL)
_TEMPLATE = re.compile(
    r"<\|(?:im_start|im_end|endoftext|eot_id|end_of_text|end|eom_id)\|>|</s>|<eos>|<end_of_turn>"
)


def extract(text: str) -> str:
    """Return the answer in `text` as it was written; all of `text` if it is only an answer."""
    text = final_part(text)
    contents = boxed(text)
    if contents is not None:
        return _box_answer(contents)
    text = to_ascii(repair_escapes(text[-MAX_PROSE:])).strip()
    text = text.rpartition("####")[2].strip() or text  # GSM8K's mark before the answer
    text = _TEXT.sub(lambda match: match.group().replace("\n", " "), text)  # not the end of a sentence
    inner = _only_math(_EMPHASIS.sub(r"\2", text))
    if is_bare(inner) and not _BOLD.search(inner):
        return inner
    return _from_prose(text)


def _box_answer(content: str) -> str:
    """Return the answer in a box that also has Markdown or the words "the answer is" in it."""
    content = _EMPHASIS.sub(r"\2", content)
    anchor = _ANCHOR.search(content)
    if anchor is None or is_bare(content):
        return content
    rest = content[anchor.end() :].lstrip(" *_:}")
    return _after_anchor(rest) if rest else content


def final_part(text: str) -> str:
    """Return the content of `<answer>…</answer>` at the end of the last message, else this message."""
    text = _last_message(text[-MAX_TAIL:])
    tag = _TAG.search(text[-MAX_PROSE:])
    return tag[1] if tag and tag[1].strip() else text


def _last_message(text: str) -> str:
    """Return the reply without the thinking before it and the chat template's turns after it."""
    thinking, mark, reply = text.rpartition("</think>")
    if mark and reply.strip():
        text = reply
    elif mark:
        text = thinking
    for match in _TEMPLATE.finditer(text):
        if text[: match.start()].strip():
            return text[: match.start()]
    return text


_DELIMITED = re.compile(
    r"\$\$(?:[^$\\]|\\.)+\$\$|\$(?:[^$\\]|\\.)+\$|\\\[(?:[^\\]|\\[^\]])+\\\]|\\\((?:[^\\]|\\[^)])+\\\)",
    re.DOTALL,
)
_HEDGED = r"(?:maybe|perhaps|possibly|also|either|then)\s+"
_HEDGE = rf"(?:{_HEDGED})?"
_JOIN = r"\s*(?:,?\s*and|,?\s*or|,|;)\s*"
_SPANS = re.compile(rf"(?:{_DELIMITED.pattern})(?:{_JOIN}(?:{_DELIMITED.pattern}))*\s*(?:\\?%)?", re.DOTALL)
_TEXT = re.compile(
    r"\\(?:text|mbox|mathrm|textbf|mathbf|operatorname|textit|boldsymbol|hbox|textnormal|begin|end)\s*\{[^{}]*\}"
)
_COMMAND = re.compile(r"\\[a-zA-Z]+")
_WORDS = re.compile(r"[A-Za-z]{2,}|[^\W\d_A-Za-z]+")
_MATH_WORDS = names(
    "and or pi sqrt inf infty infinity am pm percent percentage pct per cent points degrees "
    "degree frac times cdot abs union theta alpha beta mod pmod in per"
)


_EMPHASIS = re.compile(r"\A(\*\*|__|\*)([^*]+)\1\.?\Z")


def _only_math(text: str) -> str:
    """Return the content of `$…$` if the text is nothing else, else the text."""
    match = _DELIMITED.fullmatch(text)
    if not match:
        return text
    width = 1 if text[0] == "$" and text[1] != "$" else 2
    return text[width:-width].strip()


_SENTENCE = re.compile(r"[\d$=:\n]|\b(?:answer|is|are|was)\b", re.IGNORECASE)


def _is_mathematical(word: str) -> bool:
    """Return whether a word can be in an answer that is not a sentence: a name, a unit, adjacent letters."""
    if not word.isascii():
        return False
    known = word.lower() in _MATH_WORDS or word in FUNCTIONS or is_unit(word)
    return known or len(word) <= 2 or (word.isupper() and len(word) <= 4)


def is_bare(text: str) -> bool:
    """Return whether a text is an answer and not sentences that contain one."""
    if len(text) > 2_000 and " " not in text.strip():
        return True
    outside = _DELIMITED.sub(" ", text)
    if outside != text and any(
        word.lower() not in _MATH_WORDS and not is_unit(word) for word in _WORDS.findall(outside)
    ):
        return False
    plain = _COMMAND.sub(" ", _TEXT.sub(" ", text))
    unknown = [word for word in _WORDS.findall(plain) if not _is_mathematical(word)]
    if not unknown:
        return True
    # A few words without mathematics are an answer in words: "two lines".
    return len(plain.split()) <= 4 and not _SENTENCE.search(text)


_ANCHOR = re.compile(
    r"(?:final\s+)?answers?\b(?:\s+(?:to|for|of)\s[^.\n:$]{1,80}?)?(?:\s*\*+)?\s*"
    r"(?::|=|\bis\b|\bare\b|\bwas\b|\bwould be\b|\bmust be\b|\bshould be\b|(?=\$|\\\(|\\\[|\[))"
    r"|(?:réponse|reponse|respuesta|resposta|antwort|risposta|antwoord|svar|vastaus|odpowiedź|odpověď|răspuns|"
    r"cevap|jawaban|đáp án|đáp số|câu trả lời|ответ|відповідь|одговор|απάντηση|الإجابة|الجواب|پاسخ|جواب|"
    r"उत्तर|जवाब|উত্তর|คำตอบ|답|정답|答え|答案|答)(?:\s*(?:finale?|final|الصحيحة|النهائية))?\s*"
    r"(?::|=|\best\b|\bist\b|\bes\b|\bé\b|\bè\b|\bis\b|是|为|為|は|은|는|हैं?|هي|هو|—|-)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.!?](?=\s|\Z)|(?<!\\)[,;:\n]")
_MARKUP = " \n*_:=>"
_MAX_ANCHORS = 10
_END = re.compile(r"\.?\s*I hope it is correct|\n|\.(?=\s|$)(?!\s*\d)")
_LINK = re.compile(r"(?:.*\s)?(?:is|are|equals|be|=)\s+(?=\S)", re.DOTALL)
_VALUE = (
    r"-?\\frac\s*\{-?\d+\}\s*\{\d+\}"
    r"|(?<![A-Za-z0-9_.^{\\])-?\s?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+(?:,\d+)*)(?:\.\d+)?(?:\s*/\s*\d+(?![\d/]))?(?:\s*%)?"
    r"|(?<![A-Za-z0-9_.^{\\])-?\.\d+"
)
_MONEY = r"\\text\{(?:euro|pound|yen|rupee)\}"
_VALUES = re.compile(  # values that are joined are one list: 5 or 7
    rf"(?:{_MONEY} ?|\\?\$ ?)?(?:{_VALUE})(?: ?{_MONEY})?"
    rf"(?:(?:, (?:{_VALUE})){{0,20}},? (?:and|or) {_HEDGE}(?:{_VALUE})|, {_HEDGED}(?:{_VALUE}))*"
)
_CODE = re.compile(
    r"__\w+__|\(\)\.|\b(?:import|exec|eval|open|system|popen|getattr|lambda|input|print)\s*[(.:]|;\s*\w+\("
)
_CHOICE = re.compile(r"(\([A-H]\)|[A-H](?=[,.;:)]))")
_TOLD = re.compile(r"\b(?:is|are|equals)\s+((?:(?!\b(?:is|are|equals)\s)[^\n]){1,200}?)[.\s]*\Z")
_ROOT = re.compile(r"sqrt|\\pi|\\frac")
_BOLD = re.compile(r"(?<![\w)}\]])\*\*(?=\S)([^*\n]{1,200})\*\*(?!\w)")


def _from_prose(text: str) -> str:
    if _CODE.search(text):  # a number in a program is not an answer
        return text
    anchors = [anchor for anchor in _ANCHOR.finditer(text) if text[anchor.end() :].strip(_MARKUP)]
    final = [anchor for anchor in anchors if anchor.group().casefold().startswith("final")]
    candidates = [
        _after_anchor(text[anchor.end() :].lstrip(_MARKUP)) for anchor in (final or anchors)[-_MAX_ANCHORS:]
    ]
    if candidates:
        return ", ".join({normalize(answer): answer for answer in candidates}.values())
    hope = text.find("I hope it is correct")
    if hope > 0:
        text = text[:hope]
    return _last_value(text)


def _after_anchor(rest: str) -> str:
    spans = _SPANS.match(rest)
    if spans:
        return _spans(spans.group())
    end = _END.search(rest)
    sentence = (rest[: end.start()] if end else rest[:400]).lstrip(" *_").rstrip(" *_.")
    if is_bare(sentence):
        return sentence
    if choice := _CHOICE.match(sentence):
        return choice.group(1)
    matches = list(_SPANS.finditer(sentence))
    value = _VALUES.search(sentence)
    first = min((match.start() for match in (*matches[:1], value) if match), default=0)
    if is_qualified(sentence[:first]):
        return sentence
    link = _LINK.match(sentence)
    tail = sentence[link.end() :].lstrip(" *_") if link else ""
    if tail and (is_bare(tail) or (matches and tail.startswith(("$", "\\(", "\\[")))):
        return _spans(tail)
    if matches:
        return _spans(matches[-1].group())
    return value.group() if value else sentence


def _spans(text: str) -> str:
    """Return `$2$, $3$ and $5$` as the list `2 , 3 , 5`."""
    parts = _DELIMITED.findall(text)
    if not parts:
        return text
    percent = "\\%" if text.rstrip().endswith("%") and not parts[-1].rstrip("$").endswith("%") else ""
    return " , ".join(_only_math(part) for part in parts) + percent


def _last_value(text: str) -> str:
    spans = list(_SPANS.finditer(text))
    bold = [match for match in _BOLD.finditer(text) if any(c.isdigit() for c in match.group(1))]
    if not bold and not spans and not any(c.isdigit() for c in text):
        bold = list(_BOLD.finditer(text))
    if bold and (not spans or bold[-1].start() > spans[-1].end()):
        answer = bold[-1].group(1)
        return answer if is_bare(answer) else _last(answer)
    if spans:
        last = spans[-1]
        after = text[last.end() :]
        # "$f(x)$ has 3 roots": a later value is the answer if the formula is only a name.
        value = _VALUES.search(after)
        if value and re.fullmatch(r"[^\d=<>]*", _spans(last.group())):
            return value.group()
        return _stated(text, last.start(), last.end()) or _spans(last.group())
    return _last(text)


def _last(text: str) -> str:
    match = _TOLD.search(text)
    if match and is_bare(match.group(1)) and re.search(r"\d.*(?:=|,\s|\band\b|\bor\b)|=.*\d", match.group(1)):
        return match.group(1)  # "The solutions are x = 3 and x = -2."
    values = list(_VALUES.finditer(text))
    if match and is_bare(match.group(1)) and _ROOT.search(match.group(1)):
        return match.group(1)
    if values:
        last = values[-1]
        return _stated(text, last.start(), last.end()) or last.group().strip(" ,")
    link = _LINK.match(text.strip())
    tail = text.strip()[link.end() :].strip(" .*") if link else ""
    return tail if tail and len(tail.split()) <= 4 else text


def _stated(text: str, start: int, end: int) -> str:
    """Return the clause around a value if it says that the value is not the answer, else ""."""
    before = _CLAUSE.split(text[:start][-200:])[-1]
    after = _CLAUSE.split(text[end:][:200])[0]
    denied = is_qualified(before) or is_qualified(" ".join(after.split()[:6]))
    return before + text[start:end] + after if denied else ""
