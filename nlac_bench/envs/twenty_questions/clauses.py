"""The frame of a question: subject, tag, and the many ways to say no more than "is it"."""

import re

from nlac_bench.envs.twenty_questions.words import verb_key

Words = tuple[str, ...]

_BE = ("is", "are", "was", "were")
_DO = (
    "do",
    "does",
    "did",
    "can",
    "could",
    "would",
    "will",
    "may",
    "might",
    "must",
    "should",
    "shall",
    "has",
    "have",
    "had",
)

# Rewritten on the sentence's tokens joined by spaces, in this order, again and again until nothing changes.
_REWRITES = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # what the hidden thing is called
        (r"\b(?:a )?(?:secret |mystery |hidden |target |unknown |chosen |mysterious )?(?:thing|word|answer|noun) (?:that )?you (?:are|have|were)? ?(?:thinking of|thinking about|in mind|chose|picked|chosen|selected)\b", "it"),
        (r"\bwhat you (?:are|have) (?:thinking of|thinking about|in mind)\b", "it"),
        (r"\b(?:this|that|a) (?:secret |mystery |hidden |target |unknown |mysterious )?(?:thing|word|answer|noun) in question\b", "it"),
        (r"\b(?:this|a) (?:secret|mystery|hidden|target|unknown|mysterious) (?:thing|word|answer|noun)\b", "it"),
        (r"^((?:is|are|was|does|do|did|can|could|would|will|has|might|may|must|should)(?: n't)?) (?:this|a|that) (?:thing|word|answer)(?= )(?! to | for | that | you )", r"\1 it"),
        (r"^((?:is|are|was|does|do|did|can|could|would|will|has|might|may|must|should)(?: n't)?) (?:this|that|one)(?= )", r"\1 it"),
        (r"\bthis thing\b", "it"),
        (r"^(?:is|would|could) it (?:be )?(?:fair|true|correct|accurate|safe|right|reasonable|possible|common|typical|normal|easy|usual|likely)? ?(?:to say|to assume|to conclude|the case)? ?that it ", "it "),
        (r"^is it (?:fair|true|correct|accurate|safe|right|reasonable) to (?:say|call|describe|consider|assume) (?:that )?it ", "it "),
        (r"^is it (?:possible|common|normal|typical|easy|usual|likely|safe|customary|legal) (?:for you )?to ", "do you "),
        (r"^is it (?:possible|common|likely|normal|typical) for it to ", "does it "),
        (r"^(?:do|would|could|can|did) you (?:say|think|agree|believe|consider|guess|describe|imagine) (?:that )?it (?:to be )?(is|has|can|does|would|could|will)\b", r"it \1"),
        (r"^(?:am you|are you) (?:right|correct) (?:that|in thinking|to think|in assuming|to assume)(?: that)? it ", "it "),
        (r"^(?:are|were) you (?:thinking|talking) (?:of|about) ", "is it "),
        (r"^(?:do|did|would) you mean ", "is it "),
        (r"^(?:is|was) it (?:a )?(?:case )that it ", "it "),
        (r"^does it happen to be ", "is it "),
        (r"^does it (?:qualify|count) as ", "is it "),
        (r"^(?:would|could|can|might|may) it (?:be )?(?:considered|classified|classed|described|categorized|regarded|seen|thought of|called|defined|labeled|counted|characterized|viewed)(?: as| to be| of as)? ", "is it "),
        (r"^(?:could|would|might|may|can|will|must|should) (n't )?it be ", r"is \1it "),
        (r"^(?:is|could|would|might) (?:be )?(?:a )?(?:answer|word) ", "is it "),
        (r"^are (n't )?it ", r"is \1it "),
        (r"^was (n't )?it ", r"is \1it "),
        (r"^(?:does|do|did|can) you (?:have to|need to|got to) ", "do you "),
        (r"^it might be ", "it is "),
        (r"^is it (?:then|by) ", "is it "),
        (r"^(is|does|can|do) (it|you) (?:then|now|ever) ", r"\1 \2 "),
        (r"\bin order to\b", "to"),
        (r"\bthing like that\b", "thing"),
        (r"\b(?:more or less|or thing|or similar|or so|or thing similar|or not)$", ""),
        (r"\b(?:so that|such that)\b", "that"),
        (r"\b(?:bread|shoe) box\b", lambda m: m[0].replace(" ", "")),
        (r"\bsomewhere you\b", "place you"),
        (r"\bin (?:terms of )?its (color|shape|size)\b", r"in \1"),
        (r"\beach other\b", "thing"),
    )
]  # fmt: skip

_TAG = re.compile(
    r"[ ,]*\b(?:(?:is|are|was|does|do|can|could|would|will|has) (?:n't )?(?:it|you|they)|right|correct|yes|no|yeah|true|eh|huh)$"
)
_KINDS = frozenset(
    "kind type sort form piece variety species breed example class category style brand member part item source genre means".split()
)
_FRAMES = (
    ("considered",), ("classified",), ("categorized",), ("classed",), ("regarded",), ("viewed",), ("thought", "of"), ("described",),
    ("defined",), ("called",), ("labeled",), ("recognized",), ("said", "to", "be"), ("known",), ("considered", "to", "be"), ("seen", "as"),
)  # fmt: skip
_PARTICIPLES = frozenset(
    """worn eaten ridden driven written drawn flown built bought sold kept held found seen thrown caught made done
    taken broken grown blown shot hung lit dug fed bred spent put cut hit read sung drunk played hunted given
    stuck swept sewn bitten frozen set lain hidden stolen torn told paid bent known heard beaten shaken spun
    raised kicked carried lived sat slept""".split()
)
_PROPERTIES = {
    "color": "color", "shape": "shape", "texture": "texture", "material": "material", "purpose": "purpose",
    "function": "purpose", "use": "purpose", "habitat": "habitat", "size": "size", "surface": "texture",
    "taste": "texture", "price": "size", "job": "purpose", "flavor": "texture", "exterior": "texture",
}  # fmt: skip
_PROPERTY_ADJECTIVES = frozenset(
    "main primary natural usual overall principal typical common basic only".split()
)


def normal_form(words: Words) -> tuple[Words, bool]:
    """The question without tag and flourish, and whether it asks for the opposite.

    "Isn't it …" expects a yes where the thing is so, hence its answer is that of "is it …"; "is it not …"
    asks, word for word, for the opposite. A tag ("it is alive, isn't it") never turns the answer round.
    """
    sentence = " ".join(words)
    sentence = re.sub(r"^(?:and|so|or|but) ", "", sentence).strip(" ,")
    starts_asking = sentence.split(" ", 1)[0] in (*_BE, *_DO)
    if not starts_asking:
        stripped = _TAG.sub("", sentence)
        if stripped != sentence and stripped.strip(" ,"):
            tag = sentence[len(stripped) :]
            sentence = stripped
            if re.search(r"\b(?:it|you|they)$", tag):
                sentence = re.sub(r"\b(?:not|n't) ?", "", sentence, count=1)
    else:
        sentence = re.sub(r"[ ,]+(?:right|correct|yes|yeah|or no|or not|no)$", "", sentence)
    sentence = re.sub(r"^(is|are|was|do|does|did|can|could|would|will|has|should) n't ", r"\1 ", sentence)
    for _ in range(4):
        before = sentence
        for pattern, replacement in _REWRITES:
            sentence = pattern.sub(replacement, sentence)  # type: ignore[arg-type]
        sentence = re.sub(r"\s+", " ", sentence).strip(" ,")
        if sentence == before:
            break
    words = tuple(sentence.split())
    negated = False
    if len(words) > 3 and words[0] in (*_BE, *_DO) and words[1] in ("it", "you") and words[2] == "not":
        words, negated = (*words[:2], *words[3:]), True
    return words, negated


def subject(words: Words) -> tuple[str, Words]:
    """Who the sentence is about (it, its, you, there, other, or "" when elliptical) and what is said."""
    first, rest = words[0], words[1:]
    if first in ("it", "this"):
        return "it", rest
    if first == "you" and rest:
        return "you", rest
    if first == "its":
        return "its", rest
    if first not in (*_BE, *_DO) or not rest:
        return "", words
    if rest[0] == "not" and len(rest) > 1:
        rest = rest[1:]
    if rest[0] in ("it", "this", "that") and len(rest) > 1:
        return "it", ("is", *rest[1:]) if first in _BE else _after(first, rest[1:])
    if rest[0] == "its":
        return "its", rest[1:]
    if (
        rest[0] == "a"
        and len(rest) > 2
        and property_kind(rest[1:2]) in ("color", "shape", "texture", "material")
    ):
        return "its", rest[1:] if "it" not in rest else (rest[1], *rest[rest.index("it") + 1 :])
    if rest[0] == "a" and "of" in rest and "it" in rest[1:5]:  # "is the color of it red"
        i = rest.index("it")
        return "its", (*rest[1 : i - 1], *rest[i + 1 :])
    if rest[0] == "there":
        return "there", rest[1:]
    if rest[0] == "you" and len(rest) > 1:
        return "you", rest[1:]
    if (
        rest[0] in ("most", "many", "all", "other", "one", "single")
        and rest[1:2] == ("you",)
        and len(rest) > 2
    ):
        return "you", rest[2:]
    if first in _DO:
        return "other", rest
    return "", rest if first in _BE else words


def _after(auxiliary: str, rest: Words) -> Words:
    return ("have", *rest) if auxiliary in ("has", "have", "had") else rest


def without_frame(words: Words) -> Words:
    """``words`` without "considered", "classified as" and the like."""
    for frame in sorted(_FRAMES, key=len, reverse=True):
        if words[: len(frame)] == frame:
            rest = words[len(frame) :]
            if frame == ("known",) and rest[:1] != ("as",):
                return words
            if rest[:2] == ("to", "be"):
                rest = rest[2:]
            return rest[1:] if rest[:1] == ("as",) else rest
    return words


def without_kind(words: Words) -> Words:
    """``words`` without "kind of", "a type of", "in the category of"."""
    if words[:1] == ("in",) and len(words) > 2:
        words = words[1:]
    start = 1 if words[:1] and words[0] in ("a", "its", "certain", "particular", "specific", "one") else 0
    if words[start : start + 1] and words[start] in ("certain", "particular", "specific", "common"):
        start += 1
    if len(words) > start + 2 and words[start].rstrip("s") in _KINDS and words[start + 1] == "of":
        return words[start + 2 :]
    return words


def condition(words: Words) -> int:
    """Where a clause such as "when you drop it" or "if it falls" begins, or 0.

    It only says what everyone assumes anyway: "does it bounce when you drop it" is "does it bounce".
    """
    for i, word in enumerate(words[1:], 1):
        following = words[i + 1] if i + 1 < len(words) else ""
        clause = following in ("you", "it") or (
            following.endswith("ing") and verb_key(following) != following
        )
        if (word in ("when", "if", "while", "once", "after", "before") and clause) or (
            word in ("when", "if") and following == "a"
        ):
            return i
    return 0


def property_kind(words: Words) -> str | None:
    """Which property "its main colour" names, or None."""
    kept = [w for w in words if w not in _PROPERTY_ADJECTIVES and w != "a"]
    return _PROPERTIES.get(kept[0]) if len(kept) == 1 else None


def is_participle(word: str) -> bool:
    """Whether ``word`` may be a past participle."""
    return (
        word in _PARTICIPLES
        or (word.endswith("ed") and len(word) > 4)
        or (word.endswith("ing") and verb_key(word) != word)
    )
