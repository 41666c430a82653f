"""Parses the frame of a question: subject, tag, and phrases that mean no more than "is it"."""

import re

from nlac_bench.simulators.oracle20.find.words import verb_key, word_set

Words = tuple[str, ...]

_BE = word_set("is are was were")
_DO = word_set("do does did can could would will may might must should shall has have had")

_HIDDEN = "(?:secret|mystery|mysterious|hidden|target|unknown|chosen)"
_THING = "(?:thing|word|answer|noun)"
_CLASS = (
    "(?:animal|creature|food|plant|vehicle|tool|device|instrument|machine|garment|building|fruit|vegetable|toy"
    "|weapon|product|appliance|drink)"
)
_CHOSEN = "(?:thinking of|thinking about|in mind|chose|picked|chosen|selected)"
_ASKING = f"(?:{'|'.join(sorted(_BE | _DO))})"
_TRUE = "(?:fair|true|correct|accurate|safe|right|reasonable)"
_USUAL = "(?:possible|common|normal|typical|easy|usual|likely|safe|customary|legal)"
_CLASSED = (
    "(?:considered|classified|classed|described|categorized|regarded|seen|thought of|called|defined|labeled"
    "|counted|characterized|viewed)"
)

_OUTSIDE = "(?:skin|surface|peel|exterior|outside|shell|rind|texture|outer layer|outer surface)"
_FINGERS = "(?:fingers?|fingertips?|hands?|thumbs?)"
_HANDLES = "(?:use|operate|control|handle|press|play|type on|work)"

# Applied to the sentence's tokens joined by spaces, in this order, repeatedly until nothing changes.
_REWRITES = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # names of the hidden thing
        (rf"\b(?:a )?(?:{_HIDDEN} )?{_THING} (?:that )?you (?:are|have|were)? ?{_CHOSEN}\b", "it"),
        (r"\bwhat you (?:are|have) (?:thinking of|thinking about|in mind)\b", "it"),
        (rf"\b(?:this|that|a) (?:{_HIDDEN} )?{_THING} in question\b", "it"),
        (rf"\b(?:this|a) {_HIDDEN} {_THING}\b", "it"),
        (rf"^({_ASKING}(?: n't)?) (?:this|a|that) (?:thing|word|answer)(?= )(?! to | for | that | you )",
         r"\1 it"),
        (rf"^({_ASKING}(?: n't)?) (?:a|this|that) {_CLASS} (?!of|or|and|that|with)(?=\w)", r"\1 it "),
        (rf"^({_ASKING}(?: n't)?) (?:this|that|one)(?= )", r"\1 it"),
        (r"\bthis thing\b", "it"),
        # ways to ask whether something is so
        (rf"^(?:is|would|could) it (?:be )?(?:{_TRUE}|{_USUAL})? ?(?:to (?:say|assume|conclude)|the case)? ?"
         r"that it ", "it "),
        (rf"^(?:is|would|could|can) it (?:be )?{_TRUE} to (?:say|call|describe|consider|assume) (?:that )?it "
         r"(?:as |is )?", "is it "),
        (r"^(?:do|would|could|can|did) you (?:think of|see|regard|view|describe|classify|categorize|define"
         r"|label|consider|call) (?:it|a thing) (?:as |to be )?(?=a |\w+$)", "is it "),
        (r"^(?:do|would|could) you expect it to be ", "is it "),
        (r"^(?:do|would|could) you expect it to ", "does it "),
        (r"^(?:would|are|is|do|were) you (?:be )?(?:able |supposed |expected |allowed )?to (?!you)",
         "do you "),
        (r"^is (?:it )?a (?:adult|man|woman|you) able to ", "can you "),
        (r"^is it (?:supposed |expected )?to be ", "is it "),
        (r"^is there (?:a |any )?(?:chance|possibility|way) (?:that )?it ", "it "),
        (r"^(?:are|is) (.+) a (?:main|primary|typical|usual) users?(?: of it)?$", r"is it used by \1"),
        (r"^is (\w+) (?:its|a) (?:main|primary|principal) (?:material|ingredient|component)$",
         r"is it made of \1"),
        (r"^is a ((?:main |primary |principal |usual |typical )?\w+) of it ", r"is its \1 "),
        (r"^is a (?:main|primary|principal|usual|typical) (color|shape|texture|material) ", r"is a \1 "),
        (r"^is (\w+) its (?:usual |main |typical |natural )?color$", r"is it \1"),
        (r"^(?:would|do|can) you say (?:that )?its (?:color|shape) is ", "is it "),
        (r"^is (\w+ing) it possible$", r"can you \1 it"),
        (r"\bfamous for ", "known for "),
        (r"^is it popular (?:with|among) ", "is it for "),
        (r"^is it (?:enjoyed|liked|loved|preferred|favored) by ", "is it used by "),
        (r"^is it (?:similar|close|comparable|equal|near) in size to ", "is it a size of "),
        (r"^is it no (larger|smaller|heavier|taller|longer) than ", r"is it not \1 than "),
        (rf"^is it {_USUAL} (?:for you )?to ", "do you "),
        (rf"^is it {_USUAL} for it to ", "does it "),
        (r"^(?:do|would|could|can|did) you (?:say|think|agree|believe|consider|guess|describe|imagine) "
         r"(?:that )?it (?:to be )?(is|has|can|does|would|could|will)\b", r"it \1"),
        (r"^(?:am|are) you (?:right|correct) (?:that|(?:in|to) (?:think|assum)\w*)(?: that)? it ",
         "it "),
        (rf"^({_ASKING}) (?:a )?(?:average|typical|normal|single|grown|regular|ordinary|healthy) "
         r"(?:adult|you|man|woman|child) ", r"\1 you "),
        (r"[ ,]+(?:instead of|as opposed to|rather than) (?=[^,?]+$)", " rather than "),
        (r" of a (?:kind|sort|type)$", ""),
        (r"\bone of (?:it|that|those|this)\b", "one"),
        (r"\balmost (?=every|all|you)", ""),
        (r"\b(use it) (?:a lot|much|lot)$", r"\1"),
        (r" on a outside$", ""),
        (r"^is it heavier than (?:most |many )?you (?:can|could) (?:lift|carry).*$", "is it heavy"),
        (r"^is its meat eaten(?: by you)?$", "do you eat its meat"),
        (r"\b(drop(?:ped)?(?: it)?) (?:on|to) a (?:hard )?(?:floor|ground)$", r"\1"),
        (r"^is it a same (?:thing )?as ", "is it "),
        (r"^(?:would|is|are) (.+) (?:be )?(?:needed|necessary) to (\w+) it$", r"do you need \1 to \2 it"),
        (r" without (?:help|assistance|any help|effort|difficulty)$", ""),
        (r"^(?:are|were) you (?:thinking|talking) (?:of|about) ", "is it "),
        (r"^(?:do|did|would) you mean ", "is it "),
        (r"^is it a case that it ", "it "),
        (r"^does it happen to be ", "is it "),
        (r"^(?:does|would|could|can|might) it (?:qualify|count|be counted) as ", "is it "),
        (r"^(?:does|would) it (?:tend|seem|happen) to be ", "is it "),
        (r"^(does|would|do) (it|you) (?:tend|happen) to ", r"\1 \2 "),
        (r"^(?:does|would|could) it (?:belong (?:to|in)|fall (?:in|under)) a (?:category|class|group) "
         r"(?:of )?", "is it "),
        (r"\b(?:come across|run in|bump in) it\b", "find it"),
        (r"^would it (break.*) if you (?:drop|dropped) it$", r"would it \1 if you drop it"),
        (r"^is (.+) one of (?:its|a) (?:main |primary |most common )?(?:materials|components|ingredients)$",
         r"does it contain \1"),
        (r"^is (.+) (?:needed|necessary) (?:for it )?to (work|function|operate|run)$",
         r"does it need \1 to \2"),
        (r"^(?:is|are|was|can|could) (?!it |you )(?:a |some )?(.+?) (?:be )?(?:made|produced|brewed|"
        r"extracted|obtained)"
         r" (?:from|out of|with|using) it$", r"can you make \1 from it"),
        (r" (?:rather than|, (?:and )?not|and not) a (?:thing|item|article)$", ""),
        (rf"^is (?:its|a) {_OUTSIDE} (?!made|of|in|on|color)(\w+)$", r"is it \1"),
        (rf"^does it have a? ?(smooth|rough|hard|soft|bumpy|shiny|slimy|sticky) {_OUTSIDE}$", r"is it \1"),
        (rf"\b{_HANDLES} it (?:with|using|by) (?:your |a )?{_FINGERS}$", "use it with a hands"),
        (rf"^(do|would|can) you use (?:your |a )?{_FINGERS} to {_HANDLES} it$", r"\1 you use it with a "
        r"hands"),
        (r"^(?:has it (?:existed|been around) for (?:more than |over |at least )?|did it (?:already "
        r")?exist |was it around )"
         r"(?:[4-9]\d\d|several hundred|hundreds of) years?(?: ago)?$", "did it exist in middle age"),
        (r"^(?:can|could|would) it (?:survive|live|exist) (?=(?:on|in|under) )", "does it live "),
        (r"^did it originate (?:in|from) ", "is it from "),
        (r"\bthat originated? (?:in|from) ", "from "),
        (r"^is it more (?!expensive|costly|like)(\w+) than (\w+)$", r"is it \1 rather than \2"),
        (r"^(?:can|could|would) a (?:small |young |little )?child (?:be able to )?(?:lift|carry|pick up)"
         r"(?: it| one)?(?: up| alone)?$", "does it weigh less than 8 kg"),
        (r"^(?:were|was|are) you (?:already )?using it ", "did you use it "),
        (r"^is it priced (above|over|under|below|at) ", r"does it cost \1 "),
        (r"^(?:can|could|would|do) you (?:buy|get|have) it for (?=(?:.* )?(?:\$|\d|\w+ (?:dollars|bucks)))",
         "does it cost "),
        (r"^does it cost (?:you )?above ", "does it cost over "),
        (r"^does it cost (?:you )?below ", "does it cost under "),
        (rf"^(?:would|could|can|might|may|will) it be {_CLASSED}(?: as| to be| of as)? ", "is it "),
        (r"^(?:could|would|might|may|can|will|must|should) (n't )?it be ", r"is \1it "),
        (r"^is a (?:answer|word) ", "is it "),
        (r"^(?:are|was|were) (n't )?it ", r"is \1it "),
        (r"^(?:does|do|did|can) you (?:have to|need to|got to) ", "do you "),
        (r"^it might be ", "it is "),
        (r"^(is|does|can|do) (it|you) (?:then|now|ever) ", r"\1 \2 "),
        # phrases
        (r"^(.* (?:cost|expensive) .*) to (?:buy|own)$", r"\1"),
        (r"\bin order to\b", "to"),
        (r"\bthing like that\b", "thing"),
        (r"\b(?:more or less|or thing|or similar|or so|or thing similar|or not)$", ""),
        (r"\b(?:so that|such that)\b", "that"),
        (r"\bsomewhere you\b", "place you"),
        (r"\bin (?:terms of )?its (color|shape|size)\b", r"in \1"),
        (r"\beach other\b", "thing"),
    )
]  # fmt: skip

_TAG = re.compile(
    r"[ ,]*\b(?:(?:is|are|was|does|do|can|could|would|will|has) (?:n't )?(?:it|you|they)"
    r"|right|correct|yes|no|yeah|true|eh|huh)$"
)
_KINDS = word_set(
    "kind type sort form piece variety species breed example class category style brand member item"
    " source genre means set bar loaf roll stick tube jar carton can glass bottle cup bowl slice bunch pair"
    " bag pack packet"
)
_FRAMES = tuple(
    tuple(frame.split())
    for frame in (
        "considered to be", "said to be", "considered", "classified", "categorized", "classed", "regarded",
        "viewed", "thought of", "described", "defined", "called", "labeled", "recognized", "known", "seen as",
    )
)  # fmt: skip
_PARTICIPLES = word_set(
    """worn eaten ridden driven written drawn flown built bought sold kept held found seen thrown caught made
    done taken broken grown blown shot hung lit dug fed bred spent put cut hit read sung drunk played hunted
    given stuck swept sewn bitten frozen set lain hidden stolen torn told paid bent known heard beaten shaken
    spun sat slept"""
)
_CLAUSE_WORDS = word_set("you it is are be being a on by get do in normally with your hand")
_NORMAL_USE = {verb_key(word) for word in word_set(
    "use wear eat drink play pet touch hold drop operate turn run work ride drive function handle look see"
    " smell"
)}  # fmt: skip
_PROPERTIES = {
    "color": "color", "shape": "shape", "texture": "texture", "material": "material", "purpose": "purpose",
    "function": "purpose", "use": "purpose", "habitat": "habitat", "size": "size", "surface": "texture",
    "outside": "texture", "taste": "texture", "price": "size", "job": "purpose", "flavor": "texture",
    "exterior": "texture",
}  # fmt: skip
_PROPERTY_ADJECTIVES = word_set("main primary natural usual overall principal typical common basic only a")
_SUBJECT_PROPERTIES = word_set("color shape texture material surface outside exterior")


def normal_form(words: Words) -> tuple[Words, bool]:
    """Return the question without tag and polite phrases, and whether a "not" was left out after the subject.

    The answer to "isn't it …" is that of "is it …"; "is it not …" literally asks for the negation. A tag ("it
    is alive, isn't it") does not negate the question.
    """
    sentence = re.sub(r"^(?:and|so|or) ", "", " ".join(words)).strip(" ,")
    sentence = re.sub(r"[ ,]+(?:then|instead|though|maybe|after all)$", "", sentence)
    if sentence.split(" ", 1)[0] in _BE | _DO:
        sentence = re.sub(r"[ ,]+(?:right|correct|yes|yeah|or no|or not|no)$", "", sentence)
    else:
        stripped = _TAG.sub("", sentence).strip(" ,")
        if stripped != sentence and stripped:
            if re.search(r"\b(?:it|you|they)$", sentence):
                stripped = re.sub(r"\b(?:not|n't)\b ?", "", stripped, count=1)
            sentence = stripped
    sentence = re.sub(rf"^({_ASKING}) n't ", r"\1 ", sentence)
    for _ in range(4):
        before = sentence
        for pattern, replacement in _REWRITES:
            sentence = pattern.sub(replacement, sentence)
        sentence = re.sub(r"\s+", " ", sentence).strip(" ,")
        if sentence == before:
            break
    excess = re.fullmatch(
        r"(?:is|would|does) it (?:be )?too \w+ (?:for (?:one |a |single )*you )?to (?:be )?(.+)", sentence
    )
    if excess is not None:  # "is it too heavy to lift" asks whether it cannot be lifted
        return ("do", "you", *excess[1].split()), True
    words = tuple(sentence.split())
    if len(words) > 3 and words[0] in _BE | _DO and words[1] in ("it", "you") and words[2] == "not":
        return (*words[:2], *words[3:]), True
    return words, False


def subject(words: Words) -> tuple[str, Words]:
    """Return the subject (it, its, you, there, other, or "" if elliptical) and the rest of the sentence."""
    first, rest = words[0], words[1:]
    if first in ("it", "this"):
        return "it", rest
    if first in ("you", "its") and rest:
        return first, rest
    if first not in _BE | _DO or not rest:
        return "", words
    if rest[0] == "not":
        rest = rest[1:]
    if rest[:1] and rest[0] in ("it", "this", "that") and len(rest) > 1:
        if first in _BE:
            return "it", ("is", *rest[1:])
        perfect = first in ("has", "have", "had") and not is_participle(rest[1])
        return "it", ("have", *rest[1:]) if perfect else rest[1:]
    if rest[:1] in (("its",), ("there",)):
        return rest[0], rest[1:]
    if rest[2:4] == ("of", "it") and property_kind(rest[1:2]) is not None:
        return "its", (rest[1], *rest[4:])
    if rest[:1] == ("a",) and len(rest) > 2 and rest[1] in _SUBJECT_PROPERTIES:
        return "its", (rest[1], *rest[rest.index("it") + 1 :]) if "it" in rest else rest[1:]
    if rest[:1] == ("you",) and len(rest) > 1:
        return "you", rest[1:]
    if rest[:1] and rest[0] in ("most", "many", "all", "other") and rest[1:2] == ("you",) and len(rest) > 2:
        return "you", rest[2:]
    if first in _DO:
        return "other", rest
    return "", rest


def people(words: Words) -> int:
    """Return how many words at the beginning name people in general ("you", "most people"), or 0."""
    if words[:1] == ("you",):
        return 1
    return 2 if words[:1] in (("most",), ("many",)) and words[1:2] == ("you",) else 0


def without_frame(words: Words) -> Words:
    """Return ``words`` without "considered", "classified as" and similar phrases."""
    for frame in _FRAMES:
        if words[: len(frame)] == frame:
            rest = words[len(frame) :]
            if frame == ("known",) and rest[:1] != ("as",):
                return words
            if rest[:2] == ("to", "be"):
                rest = rest[2:]
            return rest[1:] if rest[:1] == ("as",) else rest
    return words


def without_kind(words: Words) -> Words:
    """Return ``words`` without "kind of", "a type of", "in the category of"."""
    start = int(words[:1] == ("in",) and len(words) > 2)
    for leads in (
        ("a", "its", "certain", "particular", "specific", "one"),
        ("certain", "particular", "specific", "common"),
    ):
        start += words[start : start + 1] != () and words[start] in leads
    kind = words[start : start + 2]
    if len(words) > start + 2 and kind[0].removesuffix("s") in _KINDS and kind[1] == "of":
        return words[start + 2 :]
    return words


def condition(words: Words) -> int:
    """Return the index at which a clause such as "when you drop it" or "if it falls" begins, or 0.

    The clause restricts the question: what is true of the thing in general may be false under the condition.
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


def usual(words: Words) -> bool:
    """Return whether a clause such as "when you use it" states how the thing is normally used or perceived.

    Such a clause does not restrict the question, in contrast to "when you camp" or "if it rains".
    """
    verbs = {verb_key(word) for word in words[1:]} - _CLAUSE_WORDS
    return bool(verbs) and verbs <= _NORMAL_USE


def property_kind(words: Words) -> str | None:
    """Return the property that "its main colour" names, or None."""
    kept = [w for w in words if w not in _PROPERTY_ADJECTIVES]
    return _PROPERTIES.get(kept[0]) if len(kept) == 1 else None


def is_participle(word: str) -> bool:
    """Return whether ``word`` may be a past participle or a gerund."""
    if word in _PARTICIPLES or (word.endswith("ed") and len(word) > 4):
        return True
    return word.endswith("ing") and verb_key(word) != word
