"""Words: a question's text as normalised tokens, and the keys under which words meet in the lexicon.

Nothing here knows what a word means. The same functions prepare the lexicon's phrases and the player's
questions, so a crude but consistent stem is enough.
"""

import re
import unicodedata
from functools import lru_cache

MAX_TOKENS = 60
"""Longer questions are not read."""

_SPELLING = {
    "colour": "color", "colours": "color", "coloured": "colored", "colourful": "colorful", "grey": "gray",
    "colouring": "coloring", "colors": "color", "jewellery": "jewelry", "aluminium": "aluminum",
    "metre": "meter", "metres": "meters", "centre": "center", "theatre": "theater", "tyre": "tire",
    "tyres": "tire", "flavour": "flavor", "savoury": "savory", "fibre": "fiber", "plough": "plow",
    "centimetre": "centimeter", "centimetres": "centimeter", "motorised": "motorized", "odour": "odor",
    "kilogramme": "kilogram",  "programme": "program", "cosy": "cozy", "behaviour": "behavior",
    "categorised": "categorized", "recognised": "recognized", "fuelled": "fueled", "t.v": "tv",
    "neighbourhood": "neighborhood", "moustache": "mustache", "pyjamas": "pajamas", "doughnut": "donut",
    "cellphone": "phone", "lbs": "pound", "lb": "pound", "kgs": "kg", "cms": "cm", "nonliving": "non living",
    "bread-box": "breadbox", "shoe-box": "shoebox", "t-shirt": "tshirt", "tee-shirt": "tshirt",
    "something": "thing", "anything": "thing", "things": "thing", "stuff": "thing", "object": "thing",
    "objects": "thing", "item": "thing", "items": "thing", "article": "thing", "everything": "thing",
    "somewhere": "in place", "an": "a", "the": "a", "your": "a", "my": "a", "his": "a", "her": "a",
    "their": "a", "our": "a", "any": "a", "some": "a", "another": "a", "its": "its", "whose": "its",
    "i": "you", "we": "you", "me": "you", "us": "you", "someone": "you", "somebody": "you",
    "people": "you", "peoples": "you", "humans": "you", "human": "you", "persons": "you", "person": "you",
    "anyone": "you", "anybody": "you", "folks": "you", "yourself": "you", "themselves": "you",
    "they": "it", "them": "it", "he": "it", "she": "it", "itself": "it", "these": "it",
    "which": "that", "who": "that", "whom": "that", "never": "not", "cannot": "can not",
    "whilst": "while", "upon": "on", "onto": "on", "within": "in", "into": "in",
    "besides": "beside", "alongside": "beside", "&": "and", "kids": "child", "kid": "child",
    "children": "child", "via": "by", "utilized": "used", "utilised": "used", "utilize": "use",
    "automobile": "car", "automobiles": "car", "where": "that", "individual": "you", "individuals": "you",
    "purchase": "buy", "purchased": "bought", "obtain": "get", "obtained": "got", "discover": "find",
    "discovered": "found", "observe": "see", "observed": "seen",
    "repair": "fix", "repairing": "fixing", "repaired": "fixed", "mend": "fix", "toss": "throw",
    "hurl": "throw", "grasp": "hold", "require": "need", "requires": "needs", "required": "needed",
    "requiring": "needing", "assist": "help", "assists": "helps", "aid": "help", "aids": "helps",
    "sea": "ocean", "seas": "ocean", "woods": "forest", "noise": "sound", "noises": "sound",
    "big": "large", "bigger": "larger", "biggest": "largest", "little": "small", "littler": "smaller",
    "road": "street", "roads": "street", "tv": "television", "tvs": "television", "shop": "store",
    "shops": "store", "cloth": "fabric", "textile": "fabric", "youngsters": "child", "lady": "woman",
    "ladies": "woman", "gentleman": "man", "residence": "home", "rapidly": "fast", "quickly": "fast",
    "speedily": "fast", "construct": "build", "constructed": "built", "but": "and", 
    "employed": "used", "utilised": "used", "whenever": "when", 
}  # fmt: skip
# "people" and "human" become "you" in the lexicon too, so "made by people" and "made by you" are one phrase.

_CONTRACTIONS = [
    (re.compile(r"\b(?:someone|somebody|anyone|one|people|everyone|a person|person|peoples?)['’]s?(?=\s)"), "a"),
    (re.compile(r"\b(is|are|was|were|do|does|did|could|would|should|has|have|had|might|must)n['’]?t\b"),
     r"\1 n't"),
    (re.compile(r"\bcan['’]?t\b"), "can n't"),
    (re.compile(r"\bwon['’]t\b"), "will n't"),
    (re.compile(r"\b(it|that|he|she|there|what)['’]s\b"), r"\1 is"),
    (re.compile(r"\b(you|they|we)['’]re\b"), r"\1 are"),
    (re.compile(r"\b(you|i|we|it)['’]d\b"), r"\1 would"),
    (re.compile(r"\b(you|i|we|they)['’]ve\b"), r"\1 have"),
    (re.compile(r"\bi['’]m\b"), "i am"),
    (re.compile(r"(\w)['’]s\b"), r"\1"),
]  # fmt: skip

_TOKEN = re.compile(r"n't|\$\s?\d[\d,]*(?:\.\d+)?|\d[\d,]*(?:\.\d+)?|[^\W\d_]+(?:\.[^\W\d_]+)?|[,&%]")

HEDGES = frozenset(
    """usually typically generally normally often commonly mostly mainly primarily largely frequently sometimes
    ordinarily actually also just ever even still perhaps maybe possibly probably likely basically essentially
    simply specifically particularly especially predominantly chiefly traditionally please regularly widely
    currently apparently occasionally majorly originally physically popularly conventionally technically
    definitely certainly kinda sorta literally exactly necessarily truly mere""".split()
)
_FINAL = frozenset(("often", "regularly", "frequently"))
"""Dropped: "usually found" and "found" are the same test."""
INTENSIFIERS = frozenset(
    "very extremely really quite pretty fairly rather relatively somewhat super so too".split()
)

_DROPPED_PHRASES = re.compile(
    r"\b(?:by any chance|at all|in general|most of the time|for the most part|in most cases|as well"
    r"|under normal circumstances|in any way|a majority of the time|of the time|in the world|in real life"
    r"|at room temperature|when in use|while in use|when being used|when (?:it is |it's )?used|in use|during use"
    r"|in some form|of some (?:kind|sort|type)|in one form or another|for example|in some way|more often than not|as a rule|nowadays|these days|in everyday life used)\b"
)

_IRREGULAR_PLURALS = {
    "mice": "mouse", "feet": "foot", "teeth": "tooth", "geese": "goose", "men": "man", "women": "woman",
    "knives": "knife", "leaves": "leaf", "wolves": "wolf", "shelves": "shelf", "loaves": "loaf",
    "scarves": "scarf", "hooves": "hoof", "halves": "half", "wives": "wife", "calves": "calf",
    "buses": "bus", "gases": "gas", "lenses": "lens", "cacti": "cactus", "fungi": "fungus", "octopi": "octopus",
    "shoes": "shoe", "toes": "toe", "canoes": "canoe", "people": "person", "oxen": "ox", "axes": "axe",
    "clothes": "clothes", "glasses": "glasses", "sunglasses": "sunglasses", "eyeglasses": "eyeglasses",
    "spectacles": "spectacles", "goods": "goods", "news": "news", "gas": "gas", "lens": "lens", "bus": "bus",
    "mathematics": "mathematics", "athletics": "athletics", "series": "series", "species": "species",
    "octopuses": "octopus", "antennae": "antenna", "walruses": "walrus", "irises": "iris", "heroes": "hero", "arms": "arm",
    "electronics": "electronics", "christmas": "christmas", "always": "always", "lives": "live",
    "this": "this", "its": "its", "is": "is", "was": "was", "has": "has", "does": "does", "us": "us",
    "less": "less", "as": "as", "plus": "plus", "dice": "dice", "tennis": "tennis", "chess": "chess",
}  # fmt: skip

_IRREGULAR_VERBS = {
    form: base
    for base, forms in {
        "wear": "wore worn", "eat": "ate eaten", "ride": "rode ridden", "drive": "drove driven",
        "write": "wrote written", "draw": "drew drawn", "fly": "flew flown", "swim": "swam swum",
        "build": "built", "buy": "bought", "sell": "sold", "keep": "kept", "hold": "held", "find": "found",
        "see": "seen", "throw": "threw thrown", "catch": "caught", "teach": "taught", "make": "made",
        "do": "did done", "go": "went gone goes", "give": "gave given", "take": "took taken",
        "break": "broke broken", "speak": "spoke spoken", "grow": "grew grown", "blow": "blew blown",
        "shoot": "shot", "hang": "hung", "light": "lit", "sleep": "slept", "sit": "sat", "stand": "stood",
        "lie": "lay lain lying", "lay": "laid", "sew": "sewn", "dig": "dug", "spin": "spun", "stick": "stuck",
        "sweep": "swept", "feed": "fed", "breed": "bred", "bring": "brought", "send": "sent",
        "spend": "spent", "feel": "felt", "run": "ran", "sing": "sang sung", "drink": "drank drunk",
        "bite": "bitten", "hide": "hidden", "steal": "stolen", "freeze": "froze frozen", "tear": "tore torn",
        "hear": "heard", "tell": "told", "pay": "paid", "bend": "bent", "know": "knew known",
        "come": "came", "get": "got gotten", "have": "had has", "be": "been being", "fall": "fell fallen",
        "fight": "fought", "lead": "led", "leave": "left", "lose": "lost", "win": "won", "tie": "tying",
        "beat": "beaten", "shake": "shook shaken", "shrink": "shrank shrunk", "sting": "stung",
    }.items()
    for form in forms.split()
}  # fmt: skip


def clean(text: str) -> str:
    """``text`` in lower case, compatibility-normalised, without marks-up, controls and zero-width characters."""
    text = unicodedata.normalize("NFKC", text).lower()
    text = "".join(
        c if c.isprintable() or c in "\n\t" else " " for c in text if unicodedata.category(c) != "Cf"
    )
    return re.sub(r"[*_`#\"“”«»()\[\]{}<>]+", " ", text.replace("’", "'").replace("‘", "'"))


@lru_cache(maxsize=65536)
def tokens(text: str) -> tuple[str, ...]:
    """The normalised tokens of one sentence; determiners are ``a``, generic people ``you``, things ``thing``.

    A sentence of more than ``MAX_TOKENS`` tokens gives the first ``MAX_TOKENS + 1``.
    """
    text = _DROPPED_PHRASES.sub(" ", clean(text[:4000]))
    for pattern, replacement in _CONTRACTIONS:
        text = pattern.sub(replacement, text)
    for hyphenated in ("bread-box", "shoe-box", "t-shirt", "tee-shirt"):
        text = text.replace(hyphenated, _SPELLING[hyphenated])
    out: list[str] = []
    found = _TOKEN.findall(text)
    for i, token in enumerate(found):
        if token in HEDGES and not (i + 1 == len(found) and token in _FINAL):
            continue
        if token == "inside" and i + 1 < len(found) and found[i + 1] not in ("it", "or", "and", ","):
            token = "in"
        out += _SPELLING.get(token, token).split()
        if len(out) > MAX_TOKENS:
            break
    kept = [
        t for i, t in enumerate(out) if not (t in INTENSIFIERS and i + 1 < len(out) and out[i + 1] != "you")
    ]
    merged: list[str] = []
    for token in kept:
        if token == "being" and merged and merged[-1] == "you":  # human being
            continue
        if token in ("a", "you") and merged and merged[-1] == token:
            continue
        if token == "you" and merged and merged[-1] == "a":  # a person
            merged.pop()
        if token == "you" and merged and merged[-1] in ("one", "single") and merged[-2:-1] != ["than"]:
            merged.pop()
        if token == "thing" and merged and merged[-1] == "other":
            merged.pop()
        if token == "made" and merged and merged[-1] == "man":
            merged[-1] = "manmade"
            continue
        merged.append(token)
    return tuple(merged)


@lru_cache(maxsize=65536)
def noun_key(token: str) -> str:
    """The token in the singular."""
    if token in _IRREGULAR_PLURALS:
        return _IRREGULAR_PLURALS[token]
    if len(token) > 3 and token.endswith("s") and not token.endswith(("ss", "us", "is")):
        if token.endswith("ies"):
            token = token[:-3] + "y"
        elif token.endswith(("xes", "ches", "shes", "sses", "zzes", "oes")):
            token = token[:-2]
        else:
            token = token[:-1]
    return token[:-2] + "y" if len(token) > 4 and token.endswith("ie") else token


@lru_cache(maxsize=65536)
def verb_key(token: str) -> str:
    """A stem shared by a verb's forms; also maps a noun's plural to its singular's stem."""
    token = _IRREGULAR_VERBS.get(token, token)
    token = noun_key(token)
    if len(token) > 4 and token.endswith("ied"):
        token = token[:-3] + "y"
    elif token.endswith("ing") and len(token) > 4 and _has_vowel(token[:-3]):
        token = token[:-3]
    elif token.endswith("ed") and len(token) > 3 and not token.endswith("eed") and _has_vowel(token[:-2]):
        token = token[:-2]
    if len(token) > 2 and token.endswith("e"):
        token = token[:-1]
    if len(token) > 3 and token[-1] == token[-2] and token[-1] not in "aeiou":
        token = token[:-1]
    return token


def _has_vowel(stem: str) -> bool:
    return any(c in "aeiouy" for c in stem)
