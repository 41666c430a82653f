"""Finds the question in an agent's raw text."""

import re
from dataclasses import dataclass

from nlac_bench.simulators.oracle20.find.words import MAX_SENTENCE, clean, tokens, word_set
from nlac_bench.thoughts import drop_reasoning

AUXILIARIES = word_set(
    "is are was were do does did can could would will might may should must has have had am"
)
WH = word_set("what where when why who whom whose which how")
_SUBJECTS = word_set("it you n't a thing there its not that this")

_SPACES = re.compile(r"[\s,]{2,}")
_SENTENCE = re.compile(r"[^.?!\n]*(?:[.](?=\S)[^.?!\n]*)*[.?!\n]*")
_LABEL = re.compile(
    r"^\s*(?:[-•>]+\s*)?(?:(?:my\s+)?(?:next\s+|first\s+|second\s+|final\s+|last\s+|new\s+)?"
    r"(?:q|question|guess|answer|action|turn|player|output|response|a)\s*(?:number\s*)?#?\s*\d*\s*(?:is)?\s*[:.)-]"
    r"|\d+\s*[.):-])\s*",
    re.IGNORECASE,
)
_CHECK = re.compile(
    r"\W*(?:(?:am i|was i) (?:right|correct|close)|(?:is|was) (?:that|this|it) (?:right|correct|true|it|so)"
    r"|right|correct|yes or no|true or false|yes|no|did i (?:get|guess) it(?: right)?)\W*",
    re.IGNORECASE,
)
"""A question that only asks whether the statement before it is right."""
_BEGINS = re.compile(
    r"((?:[:;,–—]|\bbut\b|\bso\b)\s+)(?=(?:is|are|was|does|do|did|can|could|would|will|might|should|has)(?:n't)?\s+"
    r"(?:it|you|i|we|they|people|someone|somebody|one|this|that|the|there|its|a)\b\s+\w)",
    re.IGNORECASE,
)
_AGAIN = re.compile(
    r"[^?]*\s(?:-|–|—)+\s+((?:is|are|was|does|do|did|can|could|would|will|might|should|has)(?:n't)?\s+"
    r"(?:it|you|people|someone|somebody|one|they)\b[^?]*\?*)\s*",
    re.IGNORECASE,
)
"""A second wording of a question after a dash, which explains the first."""
_SETTING = re.compile(
    r"\s*((?:if|when|while|once|after|before|unless|during|to|in order to|in|on|at|inside|without)\s[^,:;]+)"
    r",\s*((?:is|are|was|were|does|do|did|can|could|would|will|might|should|has)(?:n't)?\s.+)",
    re.IGNORECASE,
)
"""A condition or a place before the question that it restricts."""
_ASKED = re.compile(
    r"\b(?:know|ask|wonder|wondering)\s+(?:if|whether)\b|\b(?:guess|answer)\s*(?:is|:)"
    r"|^\W*i(?:'ll| will| would)? guess\b",
    re.IGNORECASE,
)
"""Patterns by which a sentence without a question mark is a question."""
_LEAD_WORDS = (
    "ok(?:ay)?|so|well|hmm+|um+|uh|oh|ah|alright|all right|great|thanks|thank you|then|now|next"
    "|first(?: of all)?|good|right|yes|no|and|but|also|interesting|cool|nice|perfect|sure|hello|hi|hey|wait"
    "|generally speaking"
    "|in that case|if so|if not|quick question|final (?:guess|answer)|my guess"
)
_LEAD_PHRASES = (
    r"let(?:'s| us) (?:see|try)|let me (?:think|ask|see|guess)(?: you)?(?: this)?"
    r"|i(?:'d| would| will|'ll| am going to|'m going to)(?: like to)? (?:guess|ask|say)"
    r"|i ?(?:want|would like|'d like|wish) to (?:ask|know)(?: if| whether)?"
    r"|i (?:guess|think|wonder|believe|was wondering)(?: if| whether| that)?"
    r"|(?:for )?(?:my|here is my) (?:next |first |final |last )?(?:question|guess)(?: is)?"
    r"(?: if| whether| that)?"
    r"|(?:can|could|may) i ask(?: you)?(?: if| whether)?"
    r"|(?:(?:can|could|would) you (?:please )?)?tell me(?: if| whether)?"
    r"|(?:just )?to (?:clarify|confirm|narrow (?:it|this) down)"
    r"|the answer is|if you don't mind|if i may(?: ask)?"
    r"|(?:based on|given) (?:that|this|the answers?)"
)
_OPEN = ("it", "object", "thing", "than", "like", "as", "of", "in", "on", "for", "with")
"""Words before an article; "vitamin A" ends with another one."""
_BLANK = re.compile(
    rf"\b(?:{'|'.join((*_OPEN, 'called', 'be', 'this', 'that'))}) (?:an? |the |a/an )?[*_\"'`]{{0,3}}"
    r"[<\[{][^<>\[\]{}?]{1,40}[>\]}]",
    re.IGNORECASE,
)
"""A placeholder where an object belongs."""
_TRAIL = re.compile(
    r"[\s,]+(?:generally speaking|in general|would you say|do you (?:think|know)|i (?:mean|wonder)"
    r"|by any chance|for the most part|as far as you know|roughly speaking|if you know|at all)[\s?.!]*$",
    re.IGNORECASE,
)
"""Words at the end of a question that add nothing."""
_MEANING = re.compile(
    r",\s*(?:such as|for example|for instance|including|meaning|which means)\s[^?]*", re.IGNORECASE
)
_LIKE = re.compile(r",\s*(?:like|say|as in|that is)\s+([^?,]*)", re.IGNORECASE)
"""Examples and a second wording after a comma."""
_LISTED = re.compile(
    r"\b(?:(?:any|either|one|some)(?: one)? of|among)\s*"
    r"(?:(?:these|those|the following)\b[^:,?(]*(?::|\(|\s-)"
    r"|the following\b(?! \w+ (?:that|which|with|in|on|of|you)\b)"
    r"|:|(?<=\bof )(?!(?:the|these|those|its|all)\b))"
    r"\s*(?=[^,?]+(?:,| or | and ))([^?)]*)\)?"
)
"""A choice from a list: "one of these: lion, tiger, bear", "any of a, b or c"."""
_ITEMS = re.compile(r"\s*,\s*(?:or\s|and\s)?\s*|\s+(?:or|and)\s+")
_LEAD = re.compile(rf"^\s*(?:(?:{_LEAD_PHRASES}|{_LEAD_WORDS})\b[\s,:;.!-]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FoundQuestion:
    """The question in a text: its words, the number of questions in the text, or why there is none."""

    text: str = ""
    words: tuple[str, ...] = ()
    questions: int = 0
    problem: str | None = None


_NAMES_NOTHING = FoundQuestion(problem="That question names nothing where an object belongs.")


def find_question(text: str) -> FoundQuestion:
    """Find the last question of ``text``, ignoring thoughts in ``<think>`` tags and statements.

    A sentence is a question if it ends with a question mark, or if it is the last one of the text and begins
    like a question ("is it", "does it", …). "What colour is it?" cannot be answered by yes or no, and
    "Is it a ...?" or "Is it a [thing]?" names nothing.
    """
    written = _SENTENCE.findall(_SPACES.sub(_one_space, drop_reasoning(text)))
    kept = [sentence for sentence in written if not _BLANK.search(sentence)]
    found = _question_in("".join(kept))
    if found.problem is not None and len(kept) < len(written):
        return _NAMES_NOTHING
    return found


def _one_space(spaces: re.Match[str]) -> str:
    """Return at most one comma and one space or new line; patterns search long runs in quadratic time."""
    space = next((each for each in "\n " if each in spaces[0]), "")
    return ("," if "," in spaces[0] else "") + space


def _question_in(text: str) -> FoundQuestion:
    sentences = _SENTENCE.findall(clean(text))
    spoken = [s.strip() for s in sentences if s.strip(" .!?\n\t,;:-'")]
    marked = [s for s in spoken if "?" in s]
    if len(spoken) > 1 and _CHECK.fullmatch(spoken[-1]) and (len(marked) < 2 or marked[-1] is spoken[-1]):
        spoken = spoken[:-1]  # "I think it is a dog. Am I right?" asks whether it is a dog
        marked = [s for s in spoken if "?" in s] or spoken[-1:]
    if marked:
        sentence = _without_lead(marked[-1])
    elif spoken and (_begins_as_question(_without_lead(spoken[-1])) or _ASKED.search(spoken[-1])):
        sentence = _without_lead(spoken[-1])
    else:
        return FoundQuestion(problem="That is not a question.")
    sentence = sentence[:MAX_SENTENCE]  # some patterns search in quadratic time; ``tokens`` reads no more
    again = _AGAIN.fullmatch(sentence)
    if again is not None and _begins_as_question(sentence):
        sentence = again[1]  # "is it fragile - would it break if you dropped it?"
    sentence = _LISTED.sub(lambda found: " or ".join(_ITEMS.split(found[1])), sentence)
    sentence = _LIKE.sub(r" (\1)", _MEANING.sub("", _TRAIL.sub("", sentence)))
    words = tokens(sentence)
    if not any(w.isalnum() for w in words):
        return FoundQuestion(problem="That is not a question.")
    *_, before, last = "", *(w for w in words if w.isalnum())
    if last in ("a", "an") and before in _OPEN:
        return _NAMES_NOTHING
    first = re.findall(r"[a-z]+", sentence)[:2]
    if first and (first[0] in WH or (first[0] in ("in", "for", "on", "of", "at") and first[-1] in WH)):
        return FoundQuestion(problem="That question cannot be answered with yes or no.")
    return FoundQuestion(sentence, words, max(len(marked), 1))


def _without_lead(sentence: str) -> str:
    for _ in range(6):
        shorter = _LEAD.sub("", _LABEL.sub("", sentence, count=1), count=1).strip()
        if shorter == sentence or not shorter.strip(" .!?,;:-'"):
            break
        sentence = shorter
    if not _begins_as_question(sentence):
        setting = _SETTING.match(sentence)
        if setting is not None:  # "when you use it, does it get hot"; the words are part of the question
            return f"{setting[2].strip(' .?!')} {setting[1].strip()}"
        begun = _BEGINS.search(sentence)
        if begun is not None:  # "new topic: is it alive", "sorry to repeat myself, but is it alive"
            return sentence[begun.end(1) :].strip()
    return sentence


def _begins_as_question(sentence: str) -> bool:
    words = tokens(sentence)
    return len(words) > 1 and words[0] in AUXILIARIES and words[1] in _SUBJECTS
