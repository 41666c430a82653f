"""Parses verb phrases: actions and properties of the hidden thing, and actions of people with it."""

from abc import ABC

from nlac_bench.simulators.oracle20.find.words import verb_key, word_set
from nlac_bench.simulators.oracle20.read import clauses
from nlac_bench.simulators.oracle20.read.comparisons import LIMITS
from nlac_bench.simulators.oracle20.read.core import EVERYBODY, Core, Reader, Words
from nlac_bench.simulators.oracle20.read.formula import Const, Formula, Or, Unknown, conjunction
from nlac_bench.simulators.oracle20.read.function_words import (
    ALLOWED,
    BE,
    DENIALS,
    DETERMINERS,
    HURTING,
    KINDS_OF_GROUP,
    MODALS,
    SENSED_NOUNS,
    TO_CALL,
    TO_CARRY,
    TO_FIND,
    TO_HAVE,
    TO_HELP,
    TO_LIVE,
    TO_NEED,
    TO_OWN,
    TO_SEEM,
    TO_WORK,
    VAGUE,
    WANTING,
)

_AMOUNTS = word_set("many several multiple lot of a its")
_ITS_BODY = ("body", "head", "back", "skin", "surface", "foot", "feet", "fur")
_HAVING_ONE = (
    ("have", "one"),
    ("have", "at", "least", "one"),
    ("have", "it"),
    ("contain", "it"),
    ("contain", "one"),
)


class Doing(Core, ABC):
    """Parses verb phrases."""

    # --- "does it …", "can it …" ----------------------------------------------------------------

    def does(self, words: Words) -> Formula | None:
        """Read what follows "does it" or "can it": a verb phrase of which "it" is the subject."""
        return self.once("does", words, self._does)

    def _does(self, words: Words) -> Formula | None:
        formula = self.find("do", words)
        if formula is not None:
            return formula
        condition = clauses.condition(words)
        if condition:
            injures = verb_key(words[0]) in HURTING and words[condition] == "if"
            dropped = clauses.usual(words[condition:]) and not injures
            return self.does(words[:condition]) if dropped else None
        first, rest = words[0], words[1:]
        if first in BE:
            return self.be(rest)
        if not rest:
            return self.find("use", words)
        if first in ("get", "got") and clauses.is_participle(rest[0]):
            return self.be(rest)
        verb = verb_key(first)
        formula = self._has(verb, rest) or self._needs(verb, first, rest) or self._lives(verb, rest)
        if formula is not None:
            return formula
        return self.joined(words, self.does) or self._restricted(words, self.does) or self.find("use", words)

    def _restricted(self, words: Words, read: Reader) -> Formula | None:
        """Read a verb phrase with an adjunct: "melt in the summer" is not "melt" and "found in the summer".

        It is false of what does not melt; of what does, the answer is not known.
        """
        for k in reversed(range(1, len(words))):
            if self._adjunct(words[k:]) is not None:
                deed = read(words[:k])
                if deed is not None:
                    return conjunction(deed, Unknown(" ".join(words[k:])))
        return None

    def _adjunct(self, words: Words) -> Formula | None:
        """Read what follows a verb, as after a noun, but "with a key" is a means and not a part."""
        return None if words[0] in ("with", "without", "of") else self.post(words)

    def _has(self, verb: str, rest: Words) -> Formula | None:
        """Read verbs of having, being measured, serving and seeming."""
        if verb in ("serv", "hav", "fulfil") and rest[-1] in ("purpose", "function", "role"):
            inside = tuple(w for w in rest[:-1] if w != "a")
            return self.adjective(inside) or self.use(inside) or self.have(rest)
        if verb in TO_HAVE:
            return self.have(rest) or self._infinitive(rest)
        if verb in TO_CARRY:
            return self.comparisons.count(rest)
        if verb == "com" and rest[0] == "with":
            return self.have(rest[1:])
        if verb == "consist" and rest[0] in ("of", "in"):
            return self.material(rest[1:])
        if verb == "lack":
            if rest[0] == "both":
                rest = tuple("or" if w == "and" else w for w in rest[1:])
            return self.denied(rest, self.have)
        if verb == "weigh":
            return self.comparisons.weighs(rest)
        if verb == "cost":
            return self.comparisons.costs(rest)
        if verb in TO_HELP and rest[0] in ("you", "with", "in", "to"):
            return self.use(rest[2:] if rest[1:2] == ("to",) else rest[1:])
        if verb in ("serv", "function", "act") and rest[0] in ("as", "to"):
            return self.role(rest[1:]) if rest[0] == "as" else self.use(rest[1:])
        if verb == "qualify" and rest[0] == "as":
            return self.be(rest[1:])
        if verb in ("involv", "relat", "pertain"):
            return self.topic(rest[1:] if rest[0] == "to" else rest)
        if verb in TO_SEEM and rest[0] != "like":
            return self.find("adj", rest) or (self.find("colour", rest) if verb != "tast" else None)
        return None

    def _needs(self, verb: str, first: str, rest: Words) -> Formula | None:
        """Read "needs electricity to work", "runs on batteries", "has to be plugged in"."""
        if verb not in TO_NEED:
            return None
        if rest[0] == "without":
            return self.denied(rest[1:], self.power)
        power = rest[1:] if rest[0] in ("on", "by", "with", "off", "using") else rest
        for k in range(1, len(power) - 1):  # "… to work" does not change the meaning
            if power[k] == "to" and set(map(verb_key, power[k + 1 :])) <= TO_WORK:
                power = power[:k]
                break
        formula = self.power(power)
        if formula is None and power != rest:
            formula = self.find("do", (first, *power))
        if formula is None and rest[0] == "to":
            formula = self._infinitive(rest)
        return formula or (self.find("have", rest) if verb == "us" else None)

    def _lives(self, verb: str, rest: Words) -> Formula | None:
        """Read verbs of location: "lives in water", "belongs to the cat family", "fits in a box"."""
        if verb == "belong" and rest[:2] == ("to", "a") and rest[-1] in KINDS_OF_GROUP:
            return self.role(rest[1:]) or self.role(rest[1:-1])
        formula = self.place(rest) if verb in TO_LIVE else None
        if formula is None and verb == "fit" and rest[0] in ("in", "through", "under", "on"):
            formula = self.comparisons.fits(rest[1:])
        return formula

    def _infinitive(self, words: Words) -> Formula | None:
        """Read "to be washed", "to be plugged in", "to do with music"."""
        if words[:2] == ("to", "be"):
            return self.find("do", ("need", *words)) or self.participle(words[2:])
        return self.topic(words[3:]) if words[:3] == ("to", "do", "with") else None

    # --- "does it have …" -----------------------------------------------------------------------

    def have(self, words: Words) -> Formula | None:
        """Read what follows "does it have": "four legs", "a handle", "wheels or an engine"."""
        return self.once("have", words, self._have)

    def _have(self, words: Words) -> Formula | None:
        if words[0] == "no":
            return self.denied(words[1:], self.have)
        if words[:4] == ("thing", "to", "do", "with"):
            return self.topic(words[4:])
        formula = self.comparisons.count(words) or self.find("have", words)
        plain = tuple(w for w in words if w not in _AMOUNTS)
        if formula is None and plain:
            formula = self.find("have", plain)
        if formula is not None:
            return formula
        if plain[:2] in (("ability", "to"), ("capability", "to")):
            return self.does(plain[2:])
        kind = clauses.without_kind(words)
        if kind != words:
            return self.have(kind)
        shorter = self._without_location(words)
        if shorter != words:
            return self.have(shorter)
        if words[-1] in SENSED_NOUNS:
            formula = self.adjective(tuple(w for w in words[:-1] if w not in DETERMINERS))
        formula = formula or self.joined(words, self.have)
        vague = self.partial and len(plain) > 1 and not (DENIALS | LIMITS) & set(plain)
        if formula is None and vague:  # "a long trunk" is at least a trunk
            part = self.find("have", plain[-1:])
            formula = None if part is None else conjunction(part, Unknown(" ".join(plain[:-1])))
        return formula

    @staticmethod
    def _without_location(words: Words) -> Words:
        """Return ``words`` without "on it", "attached to it", "on its body"."""
        for tail in ("on it", "in it", "attached to it", "attached", "to it", "it"):
            ending = tuple(tail.split())
            if len(words) > len(ending) and words[-len(ending) :] == ending:
                return words[: -len(ending)]
        if len(words) > 3 and words[-3:-1] == ("on", "its") and words[-1] in _ITS_BODY:
            return words[:-3]
        return words

    # --- "do you … it" --------------------------------------------------------------------------

    def you(self, words: Words) -> Formula | None:
        """Read what people do with it: "eat it", "find it in a kitchen", "use it to cut", "sit on it"."""
        return self.once("you", words, self._you)

    def _you(self, words: Words) -> Formula | None:
        first = words[0]
        if first in MODALS | BE:
            allowed = first in BE and words[1:2] and words[1] in ALLOWED and words[2:3] == ("to",)
            return self.you(words[3:] if allowed else words[1:])
        if first in WANTING and words[1:2] == ("to",):
            return self.find("done", words) or self.you(words[2:])
        if first == "go" and words[1:2] and verb_key(words[1]) in TO_FIND:  # "go and see one at the zoo"
            return self.you(words[1:])
        if first in TO_CALL:
            return self._call(words[1:])
        plain = tuple(w for w in words if w not in ("it", "one", "this"))
        if not plain:
            return None
        formula = self.find("done", plain)
        if formula is not None:
            return formula
        occasion = None
        if verb_key(first) in ("carry", "tak", "bring", "pack"):
            occasion = self._on_occasion(plain[1:])
        if occasion is not None:
            return occasion
        condition = clauses.condition(plain)
        if condition == 1 and verb_key(first) == "us":  # "use it when you eat" is "use it to eat"
            return self.use(plain[3:] if plain[2:3] == ("you",) else plain[2:])
        if condition:
            return self.you(plain[:condition]) if clauses.usual(plain[condition:]) else None
        if plain[-2:] in (("for", "fun"), ("for", "pleasure")):
            return self.you(plain[:-2])
        formula = self._use_or_find(verb_key(plain[0]), plain[1:])
        if formula is None and plain[-1] in ("with", "on"):
            formula = self.find("use", plain[:-1])
        return formula or self.joined(plain, self.you) or self._restricted(plain, self.you)

    def _use_or_find(self, verb: str, rest: Words) -> Formula | None:
        """Read "use for cooking", "find in a kitchen", "fit in a box"."""
        formula = self.used(rest) if verb in ("us", "need", "want") else None
        if formula is None and verb == "need" and rest[-2:-1] == ("to",) and verb_key(rest[-1]) in TO_WORK:
            formula = self.power(rest[:-2])  # "do you need electricity to use it"
        if formula is None and verb in TO_FIND:
            if verb == "look" and rest[:1] == ("for",):
                rest = rest[1:]
            if rest[:2] in (("to", "find"), ("to", "see")):
                rest = rest[2:]
            formula = self.place(rest)
        if (
            formula is None
            and verb in ("fit", "put", "get", "carry", "hid", "pack")
            and rest[:1] in (("in",), ("through",), ("under",))
        ):
            formula = self.comparisons.fits(rest[1:])
        return formula

    def _on_occasion(self, words: Words) -> Formula | None:
        """Read "take it along when you go camping", "carry it on a hike": what the occasion needs."""
        words = tuple(w for w in words if w not in ("along", "with", "you", "are", "go", "is"))
        return self.find("place", words[1:]) if words[:1] in (("when",), ("while",), ("on",)) else None

    def _call(self, rest: Words) -> Formula | None:
        """Read "call it a tool", "consider it to be dangerous"."""
        for lead in ("it", "as", "of", "that", "it is", "it be", "to be"):
            start = tuple(lead.split())
            if rest[: len(start)] == start:
                rest = rest[len(start) :]
        return self.be(rest)

    # --- somebody else --------------------------------------------------------------------------

    def other_subject(self, words: Words) -> Formula | None:
        """Read "children play with it", "a chef uses it", "most homes have one": who, and what they do."""
        listed = self.lexicon.find("done", words)
        if listed is not None:  # "farmers raise it" is more specific than "it is raised" and its user
            return listed
        start = 1 if words[0] in DETERMINERS | VAGUE else 0
        for k in range(min(start + 4, len(words) - 1), start, -1):
            who = self.user(words[:k])
            if who is None or words[:k] == ("you",):
                continue
            rest = words[k:]
            if verb_key(rest[0]) in TO_OWN and set(rest[1:]) <= {"it", "one"}:
                return who
            what = self.you(rest)
            if what is None:
                return None
            if who in EVERYBODY:  # "kids use it" does not mean mainly kids
                who = Or((who, Unknown(" ".join(words[:k]))))
            return conjunction(who, what)
        return self.splits(words, self.place, lambda w: Const(True) if w in _HAVING_ONE else None)
