"""Splits a question's text into normalised tokens, and computes the keys of words in the lexicon.

The meaning of words is not used. The same functions process the lexicon's phrases and the player's questions,
so a simple but consistent stem is sufficient. The word lists are in ``kb/words.toml``.
"""

import re
import tomllib
import unicodedata
from collections.abc import Callable
from functools import lru_cache, wraps
from pathlib import Path
from typing import TypeVar

MAX_TOKENS = 60
"""Maximal number of tokens; longer questions are rejected."""
MAX_SENTENCE = 4_000
"""Maximal number of characters of a sentence that are read; 60 words have fewer."""

_DATA = tomllib.loads((Path(__file__).parents[1] / "know" / "kb" / "words.toml").read_text(encoding="utf-8"))
_SAME = {form: word for word, forms in _DATA["same"].items() for form in forms.split()}
_VERBS = {form: verb for verb, forms in _DATA["verbs"].items() for form in forms.split()}
_PLURALS = {**_DATA["plurals"], **{word: word for word in _DATA["lists"]["not_plural"].split()}}
_HEDGES = frozenset(_DATA["lists"]["hedges"].split())
_INTENSIFIERS = frozenset(_DATA["lists"]["intensifiers"].split())
_MEANT_WHEN_LAST = frozenset(("often", "regularly", "frequently"))
"""Adverbs that are part of the meaning at the end of a question: "do you use it often"."""

_DENIALS = frozenset(("not", "n't", "no"))

_CONTRACTIONS = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\b(?:someone|somebody|anyone|one|everyone|a person|person|people|peoples)'s?(?=\s)", "a"),
        (r"\b(is|are|was|were|do|does|did|could|would|should|has|have|had|might|must)n'?t\b", r"\1 n't"),
        (r"\bcan'?t\b", "can n't"),
        (r"\bwon't\b", "will n't"),
        (r"\b(it|that|he|she|there|what)'s\b", r"\1 is"),
        (r"\b(you|they|we)'re\b", r"\1 are"),
        (r"\b(you|i|we|it)'d\b", r"\1 would"),
        (r"\b(you|i|we|they)'ve\b", r"\1 have"),
        (r"\bi'm\b", "i am"),
        (r"(\w)'s\b", r"\1"),
        (r"\b(bread|shoe)[ -]box", r"\1box"),
        (r"\b(?:t|tee)-shirt", "tshirt"),
        (r"\bnot (?:only|just|merely|simply|solely) (.+?),? but (?:also )?", r"\1 and "),
        (r"\b(it|is|be|this|that|object) (?:any|every|some)thing but (?!not\b)", r"\1 not "),
        (r"thing but (?!not\b)", "thing except "),
    )
]
_ADDS_NOTHING = re.compile(
    r"\b(?:by any chance|at all|in general|most of the time|for the most part|in most cases|as well"
    r"|under normal circumstances|in any way|a majority of the time|of the time|in real life"
    r"|in the world(?! cup)|at room temperature"
    r"|(?:when|while) in use|when being used|when (?:it is |it's )?used|in use|during use"
    r"|in some form|of some (?:kind|sort|type)|in one form or another|for example|in some way"
    r"|more often than not|as a rule|nowadays|these days|right now|at the moment|on average"
    r"|on a regular basis|in your opinion|as far as you know)\b"
)
_TOKEN = re.compile(r"n't|\$\s?\d[\d,]*(?:\.\d+)?|\d[\d,]*(?:\.\d+)?|[^\W\d_]+(?:\.[^\W\d_]+)?|[,&%()]")
_MARKUP = re.compile(r"[*_`#\"“”«»\[\]{}<>]+")
_EXAMPLES = re.compile(
    r"\((?:(?:e\.? ?g\b|for example|such as|like|including)[^()]*|yes (?:or|/) ?no|yes/no|y/n|s|es)\)"
)
"""Brackets that add nothing: examples, "(yes or no)", a plural's ending."""
_SHORT = 200


T = TypeVar("T")


def cache_of_short_texts(function: Callable[[str], T]) -> Callable[[str], T]:
    """Cache the results for the 4,096 latest texts, except long ones, which rarely recur."""
    cached = lru_cache(maxsize=4096)(function)

    @wraps(function)
    def call(text: str) -> T:
        return cached(text) if len(text) <= _SHORT else function(text)

    return call


def word_set(text: str) -> frozenset[str]:
    """Return the words of ``text`` as a set."""
    return frozenset(text.split())


def clean(text: str) -> str:
    """Return ``text`` in lower case and compatibility form, without mark-up and invisible characters."""
    text = unicodedata.normalize("NFKC", text).lower()
    if not text.isprintable():
        kept = (c for c in text if unicodedata.category(c) != "Cf")
        text = "".join(c if c.isprintable() or c in "\n\t" else " " for c in kept)
    text = _MARKUP.sub(" ", text.replace("’", "'").replace("‘", "'"))
    return _EXAMPLES.sub(" ", text)


@cache_of_short_texts
def tokens(text: str) -> tuple[str, ...]:
    """Return the normalised tokens of a sentence; determiners are ``a``, generic people ``you``.

    For a sentence of more than ``MAX_TOKENS`` tokens at least the first ``MAX_TOKENS + 1`` are returned.
    """
    text = _ADDS_NOTHING.sub(" ", clean(text[:MAX_SENTENCE]))
    for pattern, replacement in _CONTRACTIONS:
        text = pattern.sub(replacement, text)
    result = _TOKEN.findall(text)
    out: list[str] = []
    for i, token in enumerate(result):
        last = i + 1 == len(result)
        if token in _HEDGES and not (last and token in _MEANT_WHEN_LAST):
            continue
        too = token == "too" and "to" in result[i + 2 :]  # "too heavy to lift"
        if token in _INTENSIFIERS and not too and not last and result[i + 1] not in ("you", "people", "than"):
            continue
        if token == "inside" and not last and result[i + 1] not in ("it", "or", "and", ","):
            out.append("in")  # "inside a house"; at the end it is an adverb, as in "sit inside"
        elif token == "using" and not last and result[i + 1] != "it":
            out.append("with")  # "made using a hammer"
        elif token == "but" and _DENIALS & set(out):
            out.append("but")  # "not a tool but a toy"; elsewhere it is "and"
        else:
            out += _SAME.get(token, token).split()
        if len(out) > MAX_TOKENS:
            break
    return _merged(out)


def _merged(words: list[str]) -> tuple[str, ...]:
    """Merge pairs of tokens such as "a person", "human being", "other things", "man made"."""
    merged: list[str] = []
    for word in words:
        before = merged[-1] if merged else ""
        if (word == "being" and before == "you") or (word in ("a", "you") and before == word):
            continue
        if word == "you" and before == "a":
            merged.pop()
            before = merged[-1] if merged else ""
        if word == "you" and before in ("one", "single") and merged[-2:-1] != ["than"]:
            merged.pop()
        if word == "thing" and before == "other":
            merged.pop()
        if word == "made" and before == "man":
            merged[-1] = "manmade"
            continue
        merged.append(word)
    return tuple(merged)


@cache_of_short_texts
def noun_key(token: str) -> str:
    """Return the token in the singular."""
    if token in _PLURALS:
        return str(_PLURALS[token])
    if len(token) > 3 and token.endswith("s") and not token.endswith(("ss", "us", "is")):
        if token.endswith("ies"):
            token = token[:-3] + "y"
        elif token.endswith(("xes", "ches", "shes", "sses", "zzes", "oes")):
            token = token[:-2]
        else:
            token = token[:-1]
    return token[:-2] + "y" if len(token) > 4 and token.endswith("ie") else token


@cache_of_short_texts
def verb_key(token: str) -> str:
    """Return a stem that all forms of a verb share; a noun's plural has the stem of its singular."""
    token = noun_key(_VERBS.get(token, token))
    if len(token) > 4 and token.endswith("ied"):
        token = token[:-3] + "y"
    elif token.endswith("ing") and len(token) > 4 and _has_vowel(token[:-3]):
        token = token[:-3]
    elif token.endswith("ed") and len(token) > 3 and not token.endswith("eed") and _has_vowel(token[:-2]):
        token = token[:-2]
    if len(token) > 2 and token.endswith("e") and not token.endswith("ee"):
        token = token[:-1]
    if len(token) > 3 and token[-1] == token[-2] and token[-1] not in "aeiou":
        token = token[:-1]
    return token


def _has_vowel(stem: str) -> bool:
    return any(c in "aeiouy" for c in stem)
