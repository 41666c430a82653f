"""From an agent's raw text to the one question in it."""

import re
from dataclasses import dataclass

from nlac_bench.envs.twenty_questions.words import clean, tokens

AUXILIARIES = frozenset(
    """is are was were do does did can could would will might may should must has have had am""".split()
)
WH = frozenset("what where when why who whom whose which how".split())

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_SENTENCE = re.compile(r"[^.?!\n]*(?:[.](?=\S)[^.?!\n]*)*[.?!\n]*")
_LABEL = re.compile(
    r"^\s*(?:[-•>]+\s*)?(?:(?:my\s+)?(?:next\s+|first\s+|second\s+|final\s+|last\s+|new\s+)?"
    r"(?:q|question|guess|answer|action|turn|player|output|response|a)\s*(?:number\s*)?#?\s*\d*\s*(?:is)?\s*[:.)-]"
    r"|\d+\s*[.):-])\s*",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"^\s*(?:(?:ok(?:ay)?|so|well|hmm+|um+|uh|oh|ah|alright|all right|great|thanks|thank you|then|now|next|first"
    r"|first of all|good|right|yes|no|and|but|also|interesting|cool|nice|perfect|sure|hello|hi|hey|wait"
    r"|let(?:'s| us) see|let me (?:think|ask|see|guess)(?: you)?(?: this)?|let's try|i(?:'d| would| will|'ll) ask|i(?:'ll| will| am going to|'m going to)"
    r" (?:guess|ask|say)|i (?:want|would like|'d like|wish) to (?:ask|know)(?: if| whether)?|i (?:guess|think|wonder|believe|was wondering)(?: if| whether| that)?"
    r"|my (?:next |first |final |last )?(?:question|guess) is(?: if| whether| that)?|(?:can|could|may) i ask(?: you)?(?: if| whether)?"
    r"|(?:can|could|would) you (?:please )?tell me(?: if| whether)?|tell me(?: if| whether)?|(?:just )?to (?:clarify|confirm|narrow (?:it|this) down)|generally speaking"
    r"|in that case|if so|if not|for my (?:next|first) question|here is my (?:next )?question|final (?:guess|answer)|my guess|quick question"
    r"|based on (?:that|this|the answers?)|given (?:that|this))\b[\s,:;.!-]*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Found:
    """The question in a text: its words, how many questions the text had, or why there is none."""

    text: str = ""
    words: tuple[str, ...] = ()
    questions: int = 0
    problem: str | None = None


def find_question(text: str) -> Found:
    """The last question of ``text``: thoughts in ``<think>`` tags and statements around it do not count.

    A sentence is a question when it ends with a question mark, or when it has the last word of the text
    and begins as one ("is it", "does it", …). "What colour is it?" cannot be answered by yes or no.
    """
    text = _THOUGHT.sub(" ", text)
    asked = [s.strip() for s in _SENTENCE.findall(clean(text)) if s.strip(" .!?\n\t,;:-'")]
    marked = [s for s in asked if "?" in s]
    if marked:
        sentence = marked[-1]
    elif asked and _begins_as_question(_without_lead(asked[-1])):
        sentence = asked[-1]
    else:
        return Found(problem="That is not a question.")
    count = max(len(marked), 1)
    sentence = _without_lead(sentence)
    words = tokens(sentence)
    if not any(w.isalnum() for w in words):
        return Found(problem="That is not a question.")
    # "is it what you sit on" is fine; "what is it" is not
    raw = re.findall(r"[a-z]+", sentence)
    if raw[:1] and (
        raw[0] in WH or (raw[0] in ("in", "for", "on", "of", "at") and raw[1:2] and raw[1] in WH)
    ):
        return Found(problem="That question cannot be answered with yes or no.")
    return Found(sentence.strip(), words, count)


def _without_lead(sentence: str) -> str:
    for _ in range(6):
        shorter = _LEAD.sub("", _LABEL.sub("", sentence, count=1), count=1)
        if shorter == sentence or not shorter.strip(" .!?\n\t,;:-'"):
            break
        sentence = shorter
    return sentence


def _begins_as_question(sentence: str) -> bool:
    words = tokens(sentence)
    return (
        len(words) > 1
        and words[0] in AUXILIARIES
        and words[1] in ("it", "you", "n't", "a", "thing", "there", "its", "not", "that")
    )
