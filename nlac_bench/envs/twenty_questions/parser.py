"""The question parser: from the words of a yes/no question to a formula over the lexicon's attributes.

A recursive-descent reading of English questions about one thing ("it"). Each method reads one kind of
phrase and must account for *every* word of it: a word that nothing explains makes the whole phrase
unreadable (None), and the oracle then does not know the answer. That is what keeps wrong answers rare: "is
it used to play the violin" does not become "is it a violin".
"""

from collections.abc import Callable

from nlac_bench.envs.twenty_questions import clauses
from nlac_bench.envs.twenty_questions.comparisons import Comparisons
from nlac_bench.envs.twenty_questions.formula import (
    And,
    Attr,
    Const,
    Formula,
    Not,
    Noun,
    Or,
    Unknown,
    conjunction,
)
from nlac_bench.envs.twenty_questions.knowledge import KnowledgeBase
from nlac_bench.envs.twenty_questions.lexicon import Lexicon
from nlac_bench.envs.twenty_questions.words import MAX_TOKENS, noun_key, verb_key

Words = tuple[str, ...]
Reader = Callable[[Words], Formula | None]

MAX_CALLS = 20_000
"""Readings tried for one question; a question that needs more is not understood."""

BE = frozenset("is are was were be been am".split())
MODALS = frozenset("can could would will may might must should shall do does did".split())
DETERMINERS = frozenset(("a", "its"))
PREPOSITIONS = frozenset(
    "in on at near around under outside along above below over through across during beside from to behind by".split()
)
VAGUE = frozenset(
    "typical average ordinary normal standard most many every all common regular modern other different various certain whole".split()
)
GENERIC = frozenset("thing one product device equipment physical tangible concrete material".split())


_TO_WORK = frozenset("work function operat run mov us be survive surviv liv grow thriv exist".split())


class _TooHard(Exception):
    """A sentence so ambiguous that reading it would take too long."""


class Parser:
    """Reads questions with one lexicon. Holds the memo of one question, so each call makes its own reader.

    Args:
        lexicon: which phrases test which attributes.
        kb: names the yardsticks of comparisons and the parts that can be counted.
    """

    def __init__(self, lexicon: Lexicon, kb: KnowledgeBase) -> None:
        self.lexicon = lexicon
        self.comparisons = Comparisons(kb)
        self.count_words = dict(kb.count_words)

    def read(self, words: Words) -> Formula:
        """The formula of a question, given as its normalised tokens; ``Unknown`` where it is not understood."""
        if len(words) > MAX_TOKENS:
            return Unknown("too long")
        try:
            formula = _Reading(self).question(words)
        except _TooHard:
            formula = None
        return Unknown(" ".join(words)) if formula is None else formula


class _Reading:
    """The reading of one question: the grammar, with its memo and its budget."""

    def __init__(self, parser: Parser) -> None:
        self.lexicon = parser.lexicon
        self.comparisons = parser.comparisons
        self.count_words = parser.count_words
        self.memo: dict[tuple[str, Words], Formula | None] = {}
        self.calls = 0

    # --- machinery ------------------------------------------------------------------------------

    def once(self, name: str, words: Words, read: Reader) -> Formula | None:
        """``read(words)``, remembered; a phrase that asks for itself is unreadable."""
        if not words:
            return None
        key = (name, words)
        if key not in self.memo:
            self.calls += 1
            if self.calls > MAX_CALLS:
                raise _TooHard
            self.memo[key] = None
            self.memo[key] = read(words)
        return self.memo[key]

    def find(self, role: str, words: Words) -> Formula | None:
        """The lexicon's entry, also without "thing" and other words that add nothing."""
        found = self.lexicon.find(role, words)
        if found is None and "thing" in words:
            found = self.lexicon.find(role, tuple(w for w in words if w not in ("thing", "other")))
        if found is None and any(w in VAGUE for w in words):
            found = self.lexicon.find(role, tuple(w for w in words if w not in VAGUE))
        return found or self.lexicon.find_loosely(role, words)

    def joined(self, words: Words, read: Reader) -> Formula | None:
        """``words`` split at "and", "or" or a comma, each side read alone or with the other's beginning or end."""
        for i, word in enumerate(words):
            if word not in ("and", "or", ",", "nor") or i == 0:
                continue
            left, right = words[:i], words[i + 1 :]
            operator = word
            while right and right[0] in ("and", "or", ","):
                operator, right = right[0], right[1:]
            if operator == ",":
                operator = "or" if "or" in right else "and"
            if left[-1:] == (",",):
                left = left[:-1]
            if left and left[0] in ("either", "both"):
                left = left[1:]
            if not left or not right:
                continue
            pair = self._pair(left, right, read)
            if pair is not None:
                if operator == "or" and (pair[0] == Not(pair[1]) or pair[1] == Not(pair[0])):
                    return None  # "is it big or small" asks which
                return (And if operator == "and" else Or)(pair)
        return None

    def _pair(self, left: Words, right: Words, read: Reader) -> tuple[Formula, Formula] | None:
        first = read(left)
        if len(left) == 1 and len(right) > 2:  # "worn or used by women": the left side lacks the end
            for k in range(1, len(right) - 1):
                shared, second = read(left + right[k:]), read(right)
                if shared is not None and second is not None and right[k] in PREPOSITIONS:
                    return shared, second
        if first is not None and read not in (self.noun_phrase, self.adjective):
            for k in range(
                len(left) - 1, 0, -1
            ):  # "used in the kitchen or bathroom": the right side lacks the beginning
                second = read(left[:k] + right)
                if second is not None:
                    return first, second
        second = read(right)
        if first is not None and second is not None:
            return first, second
        if first is not None:
            for k in range(len(left) - 1, 0, -1):
                second = read(left[:k] + right)
                if second is not None:
                    return first, second
        if second is not None:  # "hot or cold food": the left side lacks the end
            for k in range(1, len(right)):
                first = read(left + right[k:])
                if first is not None:
                    return first, second
        return None

    def splits(self, words: Words, head: Reader, tail: Reader) -> Formula | None:
        """The longest beginning that ``head`` reads and whose rest ``tail`` reads, joined by "and"."""
        for k in range(len(words) - 1, 0, -1):
            rest = tail(words[k:])
            if rest is None:
                continue
            first = head(words[:k])
            if first is not None:
                return conjunction(first, rest)
        return None

    # --- clauses --------------------------------------------------------------------------------

    def question(self, words: Words) -> Formula | None:
        """A whole question, also elliptical ("made of wood") and with a tag ("it is alive, is n't it")."""
        words, negated = clauses.normal_form(words)
        formula = self._clause(words)
        if formula is None and "or" in words:
            # one side of an "or" is understood: enough for a yes, not for a no
            last = len(words) - 1 - words[::-1].index("or")
            side = self._clause(words[:last])
            if side is not None and self.bare(words[last + 1 :]) is None:
                formula = Or((side, Unknown(" ".join(words[last + 1 :]))))
        return None if formula is None else Not(formula) if negated else formula

    def _clause(self, words: Words) -> Formula | None:
        if not words:
            return None
        subject, rest = clauses.subject(words)
        if subject == "it":
            return self.predicate(rest)
        if subject == "its":
            return self.its(rest)
        if subject == "you":
            return self.you(rest)
        if subject == "there":
            return self.there(rest)
        if subject == "other":
            return self.other_subject(rest)
        return self.bare(words)

    def bare(self, words: Words) -> Formula | None:
        """An elliptical question: "a dog", "alive", "made of wood", "has wheels", "can fly"."""
        return self.once("bare", words, self._bare)

    def _bare(self, words: Words) -> Formula | None:
        if words[0] in ("has", "have", "can", "does", "could", "will"):
            return self.predicate(words)
        return self.be(words) or self.does(words) or self.you(words)

    def predicate(self, words: Words) -> Formula | None:
        """What is said of "it", with its verb: "is a dog", "can fly", "has wheels", "belongs to …"."""
        return self.once("predicate", words, self._predicate)

    def _predicate(self, words: Words) -> Formula | None:
        if words[0] in ("not", "n't"):
            inner = self.predicate(words[1:])
            return None if inner is None else Not(inner)
        if words[0] in BE:
            return self.be(words[1:])
        if words[0] in MODALS and len(words) > 1:
            return self.predicate(words[1:])
        if words[0] in ("has", "have", "had") and len(words) > 1 and words[1] in ("been", "got"):
            return self.be(words[2:]) if words[1] == "been" else self.have(words[2:])
        return self.does(words) or self.joined(words, self.predicate)

    def there(self, words: Words) -> Formula | None:
        """ "Is there a screen on it"."""
        for tail in (
            ("on", "it"),
            ("in", "it"),
            ("attached", "to", "it"),
            ("involved",),
            ("inside",),
            ("with", "it"),
        ):
            if words[-len(tail) :] == tail:
                return self.have(words[: -len(tail)])
        return None

    def its(self, words: Words) -> Formula | None:
        """ "Is its colour red", "is its main purpose to cut": the property's name, then its value."""
        for k in range(1, min(4, len(words))):
            kind = clauses.property_kind(words[:k])
            if kind is None:
                continue
            value = words[k:]
            if value[:1] in (("is",), ("be",)):
                value = value[1:]
            if kind == "purpose":
                return self.purpose(value[1:] if value[:1] in (("to",), ("for",)) else value)
            if kind == "material":
                return self.material(value)
            if kind == "habitat":
                return self.place(value)
            if kind == "size":
                return self.be(value)
            return self.find("colour" if kind == "color" else "adj", value) or self.joined(
                value, lambda w: self.find("colour" if kind == "color" else "adj", w)
            )
        return None

    def other_subject(self, words: Words) -> Formula | None:
        """ "Do children play with it", "would a chef use it": who, and what they do."""
        start = 1 if words[0] in DETERMINERS | VAGUE else 0
        for k in range(min(start + 4, len(words) - 1), start, -1):
            who = self.find("by", words[:k]) or (
                self.joined(words[:k], lambda w: self.find("by", w)) if k > 2 else None
            )
            if who is None:
                continue
            rest = words[k:]
            what = self.find("done", (*words[:k], *rest))
            if what is not None:
                return what  # "farmers raise it" is not what anybody does who uses what farmers use
            what = self.you(rest)
            if verb_key(rest[0]) in ("us", "own", "hav", "like", "lik", "need", "enjoy") and set(
                rest[1:]
            ) <= {"it", "one"}:
                return who
            return None if what is None else conjunction(who, what)
        place = self.splits(
            words,
            self.place,
            lambda w: (
                Const(True)
                if w in (("have", "one"), ("have", "it"), ("contain", "it"), ("contain", "one"))
                else None
            ),
        )
        return place

    # --- "is it …" ------------------------------------------------------------------------------

    def be(self, words: Words) -> Formula | None:
        """What follows "is it"."""
        return self.once("be", words, self._be)

    def _be(self, words: Words) -> Formula | None:
        if words[0] in ("not", "n't", "non"):
            inner = self.be(words[1:])
            return None if inner is None else Not(inner)
        words = clauses.without_frame(words)
        if not words:
            return None
        if words == ("you",):
            return Attr("person")
        if words[0] in ("about", "around", "roughly", "approximately") and words[1:4] == ("a", "size", "of"):
            words = words[1:]
        if words[0] in ("a", "its"):
            if words[1:3] == ("size", "of"):
                return self.comparisons.same_size(words[3:])
            if (
                words[-1] in ("color", "shape", "size", "texture", "temperature", "material")
                and len(words) > 2
            ):
                found = self.adjective(words[1:-1])
                if found is not None:
                    return found
            return self.noun_phrase(words)
        if words[0] == "worth" and len(words) > 1:
            return self.adjective(words) or self.comparisons.costs(words[1:])
        if words[:2] == ("known", "for") and len(words) > 2:
            return self.adjective(words) or self.be(words[3:] if words[2] == "being" else words[2:])
        if "enough" in words:
            return self._enough(words)
        simple = self.adjective(words) or self.comparisons.read(words)
        if simple is not None:
            return simple
        condition = clauses.condition(words)
        if condition:
            return self.be(words[:condition])
        if words[:2] == ("part", "of") and len(words) > 2:
            return self.find("noun", words) or self.place(words[2:]) or self.topic(words[2:])
        return (
            self.post(words)
            or self.participle(words)
            or self.noun_phrase(words)
            or self.joined(words, self.be)
            or self.splits(words, self.adjective, self.post)
        )

    def _enough(self, words: Words) -> Formula | None:
        """ "Big enough to sit in", "sharp enough to cut you": what it is then good for, else how it is."""
        found = self.adjective(words)
        if found is not None:
            return found
        i = words.index("enough")
        rest = words[i + 1 :]
        if rest[:2] == ("for", "you"):
            rest = rest[2:]
        if rest[:1] == ("to",) and len(rest) > 1:
            found = self.you(rest[1:]) or self.does(rest[1:])
            if found is not None:
                return found
        return self.adjective(words[:i]) if words[:i] else None

    def adjective(self, words: Words) -> Formula | None:
        """ "Edible", "red", "made of nothing else": one adjective or several joined."""
        return self.once("adjective", words, self._adjective)

    def _adjective(self, words: Words) -> Formula | None:
        if words[0] in ("not", "n't", "non"):
            inner = self.adjective(words[1:])
            return None if inner is None else Not(inner)
        if words[-2:] in (("in", "color"), ("in", "shape"), ("in", "size"), ("in", "appearance"), ("in", "nature"),
                          ("in", "texture"), ("in", "weight")) or words[-1] in ("colored", "sized", "shaped"):  # fmt: skip
            found = self.find("adj", words) or self.find("colour", words)
            shorter = words[:-2] if words[-2] == "in" else words[:-1]
            return found or (self.adjective(shorter) if shorter else None)
        if words[0] == "made" and words[1:2] in (("of",), ("from",)):
            return None
        return (
            self.find("adj", words)
            or self.find("colour", words)
            or (
                self.joined(words, self.adjective)
                if "and" in words or "or" in words or "," in words
                else None
            )
        )

    def participle(self, words: Words) -> Formula | None:
        """A passive: "eaten", "worn on the feet", "used by children", "driven by people every day"."""
        return self.once("participle", words, self._participle)

    def _participle(self, words: Words) -> Formula | None:
        if words[-2:] == ("by", "you"):
            found = self.find("adj", words) or self.find("done", words)
            return found or (
                self.participle(words[:-2]) or self.adjective(words[:-2]) if len(words) > 2 else None
            )
        if not clauses.is_participle(words[0]):
            return None
        found = self.find("done", words)
        if (
            found is None
            and words[1:2] == ("by",)
            and clauses.is_participle(words[2] if len(words) > 2 else "")
        ):
            found = self.find("done", words[2:])  # "played by blowing into it"
        if found is None and words[1:2] == ("as",) and len(words) > 2 and words[0] not in ("used", "known"):
            found = self.noun_phrase(words[2:])  # "kept as a pet", "served as a dessert"
        if found is not None:
            return found
        return self.splits(words, lambda w: self.find("done", w), self.post) or self.joined(
            words, self.participle
        )

    # --- "it is a …" ----------------------------------------------------------------------------

    def noun_phrase(self, words: Words) -> Formula | None:
        """ "A large animal with four legs": modifiers, a noun, and what follows it."""
        return self.once("noun_phrase", words, self._noun_phrase)

    def _noun_phrase(self, words: Words) -> Formula | None:
        if words[0] in ("not", "n't"):
            inner = self.noun_phrase(words[1:])
            return None if inner is None else Not(inner)
        found = self.noun(words)
        if found is not None:
            return found
        if words[0] in DETERMINERS:
            words = words[1:]
            if not words:
                return None
        kind = clauses.without_kind(words)
        if kind != words:
            return self.noun_phrase(kind)
        if "and" in words or "or" in words or "," in words:
            found = self.joined(words, self.noun_phrase)
            if found is not None:
                return found
        return self.splits(words, self.noun_phrase, self.post) or self._modified(words)

    def noun(self, words: Words) -> Formula | None:
        """A noun that the lexicon knows, an object's name, or "thing"."""
        bare = tuple(w for w in words if w not in DETERMINERS)
        if not bare:
            return None
        key = tuple(noun_key(w) for w in bare)
        attribute = self.find("noun", bare)
        if key in self.lexicon.nouns:
            return Noun(key)
        if attribute is not None:
            return attribute
        return (
            Const(True) if all(w in GENERIC for w in key) and key[-1] in ("thing", "one", "product") else None
        )

    def _modified(self, words: Words) -> Formula | None:
        """A noun with adjectives, materials, places or other nouns before it."""
        for k in range(1, len(words)):
            head = self.noun(words[k:])
            if head is None:
                continue
            modifiers = self.modifiers(words[:k])
            if modifiers is not None:
                return conjunction(modifiers, head)
        for k in range(1, len(words) - 1):  # "stringed musical instrument" is a "stringed instrument"
            shorter = self.noun(words[:k] + words[-1:])
            rest = None if shorter is None else self.noun(words[k:])
            if shorter is not None and rest is not None:
                return conjunction(shorter, rest)
        return None

    def modifiers(self, words: Words) -> Formula | None:
        """What stands before a noun: "small", "wooden kitchen", "four legged", "non"."""
        return self.once("modifiers", words, self._modifiers)

    def _modifiers(self, words: Words) -> Formula | None:
        if words[0] in ("non", "not"):
            inner = self.modifiers(words[1:])
            return None if inner is None else Not(inner)
        if all(w in VAGUE | GENERIC | {"of", ","} for w in words):
            return Const(True)
        if len(words) == 2 and verb_key(words[1]) in ("leg", "wheel", "string", "ear", "arm", "wing", "ey"):
            counted = self.comparisons.count(
                (words[0], noun_key(verb_key(words[1]).replace("ey", "eye"))), self.count_words
            )
            if counted is not None:
                return counted
        found = (
            self.adjective(words)
            or self.find("material", words)
            or self.find("place", words)
            or self.find("topic", words)
            or self.find("use", words)
            or self.participle(words)
        )
        if found is None:
            noun = self.find("noun", words)
            found = None if noun == Attr("person") else noun  # "man made" is not "a man"
        return found or self.splits(words, self.modifiers, self.modifiers)

    # --- what follows a noun --------------------------------------------------------------------

    def post(self, words: Words) -> Formula | None:
        """ "That flies", "with a handle", "used for cooking", "in the kitchen", "you wear", "to sit on"."""
        return self.once("post", words, self._post)

    def _post(self, words: Words) -> Formula | None:
        first, rest = words[0], words[1:]
        if first in (",", "and") and rest:
            return self.post(rest)
        if first == "that":
            return self.relative(rest)
        if first == "you" or (first in ("most", "many") and rest[:1] == ("you",)):
            return self.you(words[words.index("you") + 1 :])
        if first == "with":
            return self.have(rest)
        if first == "without":
            inner = self.have(rest)
            return None if inner is None else Not(inner)
        if first in ("of", "from") and rest:
            return self.material(rest) or self.place(rest) or self.find("adj", words)
        if first == "for":
            return (
                self.find("adj", words)
                or self.use(rest)
                or self.user(rest)
                or self.find("use", ("hold", *rest))
            )
        if first == "to":
            return self.you(rest) or self.use(rest)
        if first == "by":
            return self.user(rest)
        if first == "like":
            return None
        if first in (
            "used",
            "useful",
            "helpful",
            "needed",
            "necessary",
            "needed",
            "intended",
            "designed",
            "meant",
            "good",
            "suitable",
            "required",
            "employed",
        ):
            return self.used(rest) or self.participle(words)
        if first in (
            "made",
            "built",
            "constructed",
            "composed",
            "comprised",
            "crafted",
            "manufactured",
            "created",
            "woven",
            "formed",
        ):
            return self.made(words)
        if first in ("found", "kept", "located", "stored", "seen", "placed", "sold", "bought", "grown", "living", "native",
                     "present", "available", "purchased", "encountered", "hung", "situated", "displayed", "played",
                     "performed", "growing", "lives", "sitting", "set", "left", "put", "mounted", "worn"):  # fmt: skip
            found = self.participle(words) or self.adjective(words)
            return found or (self.place(rest) if rest and first not in ("worn", "played") else None)
        if first in (
            "powered",
            "run",
            "operated",
            "driven",
            "fueled",
            "charged",
            "propelled",
            "moved",
            "controlled",
        ):
            power = rest[1:] if rest[:1] in (("by",), ("on",), ("with",), ("using",)) else ()
            return self.adjective(words) or self.power(power) or self.participle(words)
        if first in ("related", "connected", "associated", "linked", "involved", "relevant", "tied"):
            return self.topic(rest[1:]) if rest[:1] in (("to",), ("with",), ("in",)) else None
        if first in ("able", "known", "likely"):
            return self.does(rest[1:]) if rest[:1] == ("to",) else None
        if first == "capable" and rest[:1] == ("of",):
            return self.does(rest[1:])
        if first in ("has", "have", "having", "containing"):
            return self.have(rest)
        if first in ("about", "regarding"):
            return self.topic(rest)
        if first in PREPOSITIONS or first in (
            "indoors",
            "outdoors",
            "outside",
            "underwater",
            "underground",
            "indoor",
            "outdoor",
        ):
            return self.place(words)
        if clauses.is_participle(first):
            return self.participle(words)
        return self.find("adj", words) or (self.other_subject(words) if len(words) > 1 else None)

    def relative(self, words: Words) -> Formula | None:
        """What follows "that": "you wear", "is red", "can fly", "has a handle", "children play with"."""
        return self.once("relative", words, self._relative)

    def _relative(self, words: Words) -> Formula | None:
        if words[0] == "you" or (words[0] in ("most", "many") and words[1:2] == ("you",)):
            return self.you(words[words.index("you") + 1 :])
        found = self.predicate(words)
        return found if found is not None else self.other_subject(words)

    def used(self, words: Words) -> Formula | None:
        """What follows "used": "for cooking", "to cut", "in sports", "by children", "outdoors", "with a hammer"."""
        return self.once("used", words, self._used)

    def _used(self, words: Words) -> Formula | None:
        first, rest = words[0], words[1:]
        if first in ("for", "to") and rest:
            found = self.use(rest) or (self.user(rest) if first == "for" else None)
            if found is None and rest[0] == "be":
                found = self.be(rest[1:])
            return found
        if first in ("in", "on", "at", "during", "while", "when") and rest:
            return (
                self.find("done", ("use", *words)) or self.place(words) or self.use(rest) or self.topic(rest)
            )
        if first == "by":
            return self.user(rest)
        if first == "as" and rest:
            return self.find("done", ("use", *words)) or self.find("use", rest) or self.noun_phrase(rest)
        if first == "with":
            return self.find("done", ("use", *words))
        return (
            self.find("done", ("use", *words))
            or self.place(words)
            or self.joined(words, self.used)
            or self.splits(words, self.used, self.post)
        )

    def purpose(self, words: Words) -> Formula | None:
        """The value of "its purpose is to …"."""
        return self.use(words)

    def use(self, words: Words) -> Formula | None:
        """What it is used for: "cut things", "cooking", "entertainment", "keep you warm"."""
        return self.once("use", words, self._use)

    def _use(self, words: Words) -> Formula | None:
        if words[0] in ("help", "helping", "assist", "allow", "aid", "let") and len(words) > 1:
            start = 2 if words[1] in ("you", "with", "in") else 1
            found = self.use(words[start:]) or (
                self.use(words[start + 1 :]) if words[start : start + 1] == ("to",) else None
            )
            if found is not None:
                return found
        if (
            words[-1] in ("purpose", "activity", "reason", "use", "task", "purposes", "activities")
            and len(words) > 1
        ):
            found = self.use(words[:-1]) or self.topic(words[:-1])
            if found is not None:
                return found
        if words[-2:] == ("with", "it"):
            words = words[:-2]
        if not words:
            return None
        return (
            self.find("use", words) or self.joined(words, self.use) or self.splits(words, self.use, self.post)
        )

    def made(self, words: Words) -> Formula | None:
        """ "Made of wood", "built by people", "made in a factory", "made for children"."""
        return self.once("made", words, self._made)

    def _made(self, words: Words) -> Formula | None:
        found = self.adjective(words) or self.participle_exact(words)
        if found is not None:
            return found
        rest = words[1:]
        if rest[:1] in (("of",), ("from",), ("with",), ("using",)) or rest[:2] in (
            ("out", "of"),
            ("up", "of"),
        ):
            return self.material(rest[2:] if rest[0] in ("out", "up") else rest[1:])
        if rest[:1] == ("by",):
            return self.adjective(("made", *rest))
        if rest[:1] in (("to",), ("for",)):
            return self.used(rest)
        return self.joined(words, self.made)

    def participle_exact(self, words: Words) -> Formula | None:
        """A passive that the lexicon lists as it is."""
        return self.find("done", words)

    def material(self, words: Words) -> Formula | None:
        """ "Wood", "metal or plastic", "a soft material"."""
        return self.once("material", words, self._material)

    def _material(self, words: Words) -> Formula | None:
        found = self.find("material", words)
        if found is not None:
            return found
        kind = clauses.without_kind(words[1:] if words[0] in DETERMINERS else words)
        if kind != words and kind:
            return self.material(kind)
        if words[-1] in ("material", "materials", "substance", "part", "parts") and len(words) > 1:
            found = self.material(words[:-1]) or self.adjective(words[:-1])
            if found is not None:
                return found
        return self.joined(words, self.material)

    def place(self, words: Words) -> Formula | None:
        """ "In the kitchen", "on a farm or in a zoo", "at home", "outdoors"."""
        return self.once("place", words, self._place)

    def _place(self, words: Words) -> Formula | None:
        found = self.find("place", words)
        if found is None and words[0] in PREPOSITIONS and len(words) > 1:
            found = self.find("place", words[1:])
            if found is None and words[0] in ("in", "on", "at"):
                inner = clauses.without_kind(words[1:])
                found = self.place(inner) if inner != words[1:] else None
        if found is None and words[0] in DETERMINERS | VAGUE and len(words) > 1:
            found = self.place(words[1:])
        if (
            found is None
            and len(words) > 1
            and words[-1] in ("setting", "environment", "area", "itself", "place", "settings")
        ):
            found = self.place(words[:-1])
        if found is not None:
            return found
        return self.joined(words, self.place) or self.splits(words, self.place, self._more_place)

    def _more_place(self, words: Words) -> Formula | None:
        if words[0] == "of" and words[1:] and words[-1] in ("home", "house", "homes", "houses"):
            return Const(True)
        return self.place(words) if words[0] in PREPOSITIONS else None

    def user(self, words: Words) -> Formula | None:
        """Who uses it."""
        found = self.find("by", words)
        if found is None and words == ("you",):
            return Attr("man_made")
        return found or self.joined(words, self.user)

    def power(self, words: Words) -> Formula | None:
        """What drives it."""
        return (self.find("power", words) or self.joined(words, self.power)) if words else None

    def topic(self, words: Words) -> Formula | None:
        """What it has to do with."""
        if not words:
            return None
        return self.find("topic", words) or self.find("use", words) or self.joined(words, self.topic)

    # --- "does it …" ----------------------------------------------------------------------------

    def does(self, words: Words) -> Formula | None:
        """What follows "does it" or "can it": a verb phrase of which "it" is the subject."""
        return self.once("does", words, self._does)

    def _does(self, words: Words) -> Formula | None:
        first, rest = words[0], words[1:]
        if first in ("not", "n't"):
            inner = self.does(rest)
            return None if inner is None else Not(inner)
        found = self.find("do", words)
        if found is not None:
            return found
        condition = clauses.condition(words)
        if condition:
            return self.does(words[:condition])
        if not rest:
            return self.find("use", words) if first not in BE else None
        verb = verb_key(first)
        if first in BE:
            return self.be(rest)
        if first in ("get", "got") and clauses.is_participle(rest[0]):
            return self.be(rest)
        if verb in ("hav", "contain", "includ", "featur", "possess", "com") and (
            verb != "com" or rest[0] == "with"
        ):
            return self.have(rest[1:] if verb == "com" else rest) or self._infinitive(rest)
        if verb == "consist" and rest[0] in ("of", "in"):
            return self.material(rest[1:])
        if verb in ("serv", "hav", "fulfil") and rest[-1] in ("purpose", "function", "role"):
            inside = tuple(w for w in rest[:-1] if w != "a")
            return (self.adjective(inside) or self.use(inside)) if inside else None
        if verb == "lack":
            inner = self.have(rest)
            return None if inner is None else Not(inner)
        if verb == "weigh":
            return self.comparisons.weighs(rest)
        if verb == "cost":
            return self.comparisons.costs(rest)
        if verb in (
            "need",
            "requir",
            "us",
            "run",
            "work",
            "tak",
            "consum",
            "operat",
            "rely",
            "depend",
            "function",
        ):
            power = rest[1:] if rest[0] in ("on", "by", "with", "off", "using") else rest
            for tail in (("to",), ("in", "order", "to")):  # "… to work" adds nothing
                for k in range(1, len(power)):
                    if (
                        power[k : k + len(tail)] == tail
                        and power[k + len(tail) :]
                        and set(map(verb_key, power[k + len(tail) :])) <= _TO_WORK
                    ):
                        power = power[:k]
                        break
            found = self.power(power) or (self.find("do", (first, *power)) if power != rest else None)
            found = found or (self._infinitive(rest) if rest[0] == "to" else None)
            if found is not None:
                return found
            if verb in ("us",):
                found = self.find("have", rest)
                if found is not None:
                    return found
        if (
            verb
            in (
                "liv",
                "grow",
                "belong",
                "go",
                "reside",
                "resid",
                "dwel",
                "com",
                "originat",
                "exist",
                "occur",
                "sit",
                "stand",
                "stay",
                "inhabit",
            )
            and rest
        ):
            if (
                rest[:2] == ("to", "a")
                and verb == "belong"
                and rest[-1] in ("family", "category", "group", "class", "kingdom")
            ):
                return self.noun_phrase(rest[1:]) or self.noun_phrase(rest[1:-1])
            found = self.place(rest)
            if found is not None:
                return found
        if verb in ("fit", "go") and rest[0] in ("in", "through", "under"):
            return self._fits(rest[1:])
        if verb in ("help", "allow", "let", "enabl", "aid") and rest[0] in ("you", "with", "in", "to"):
            return self.find("do", words) or self.use(rest[1:] if rest[1:2] != ("to",) else rest[2:])
        if verb in ("serv", "function", "act") and rest[0] in ("as", "to"):
            return self.noun_phrase(rest[1:]) if rest[0] == "as" else self.use(rest[1:])
        if verb in ("involv", "relat", "pertain"):
            return self.topic(rest[1:] if rest[0] == "to" else rest)
        if verb in ("look", "seem", "appear", "feel", "tast", "smel") and rest[0] != "like":
            return (
                self.find("adj", rest) or self.find("colour", rest)
                if verb != "tast"
                else self.find("adj", rest)
            )
        if verb == "qualify" and rest[0] == "as":
            return self.be(rest[1:])
        return (
            self.joined(words, self.does)
            or self.splits(words, self.does, self.post)
            or self.find("use", words)
        )

    def _infinitive(self, words: Words) -> Formula | None:
        """ "Have to be washed", "need to be plugged in"."""
        if words[:2] == ("to", "be"):
            return self.find("do", ("need", *words)) or self.participle(words[2:])
        if words[:3] == ("to", "do", "with"):
            return self.topic(words[3:])
        return None

    def have(self, words: Words) -> Formula | None:
        """What follows "does it have": "four legs", "a handle", "wheels or an engine", "the ability to fly"."""
        return self.once("have", words, self._have)

    def _have(self, words: Words) -> Formula | None:
        if words[0] == "no" and len(words) > 1:
            inner = self.have(words[1:])
            return None if inner is None else Not(inner)
        if words[0] == "thing" and words[1:4] == ("to", "do", "with"):
            return self.topic(words[4:])
        counted = self.comparisons.count(words, self.count_words)
        if counted is not None:
            return counted
        found = self.find("have", words)
        if found is not None:
            return found
        plain = tuple(
            w for w in words if w not in DETERMINERS and w not in ("many", "several", "multiple", "lot", "of")
        )
        if plain and plain != words:
            found = self.find("have", plain)
            if found is not None:
                return found
        for start in (
            ("ability", "to"),
            ("a", "ability", "to"),
            ("capability", "to"),
            ("a", "capability", "to"),
        ):
            if words[: len(start)] == start:
                return self.does(words[len(start) :])
        for tail in (("on", "it"), ("in", "it"), ("attached", "to", "it"), ("attached",), ("to", "it"), ("it",),
                     ("on", "its", "body"), ("on", "its", "head"), ("on", "its", "back"), ("on", "its", "skin"), ("on", "its", "surface"),
                     ("on", "its", "foot"), ("on", "its", "feet"), ("on", "its", "fur")):  # fmt: skip
            if words[-len(tail) :] == tail and len(words) > len(tail):
                return self.have(words[: -len(tail)])
        if words[-1] in ("shape", "color", "texture", "taste", "surface", "flavor") and len(words) > 1:
            inside = tuple(w for w in words[:-1] if w not in DETERMINERS)
            found = self.adjective(inside) if inside else None
            if found is not None:
                return found
        return self.joined(words, self.have)

    def _fits(self, words: Words) -> Formula | None:
        """ "Fit in a shoebox": not bigger than it."""
        reference = self.comparisons.same_size(words)
        if reference is None:
            return None
        return Not(type(reference)(">", reference.rank, reference.cm))  # type: ignore[union-attr,call-arg]

    # --- "do you … it" --------------------------------------------------------------------------

    def you(self, words: Words) -> Formula | None:
        """What people do with it: "eat it", "find it in a kitchen", "use it to cut", "sit on it"."""
        return self.once("you", words, self._you)

    def _you(self, words: Words) -> Formula | None:
        first = words[0]
        if first in ("not", "n't"):
            inner = self.you(words[1:])
            return None if inner is None else Not(inner)
        if first in MODALS | BE and len(words) > 1:
            if (
                first in BE
                and words[1] in ("able", "allowed", "likely", "expected", "supposed")
                and words[2:3] == ("to",)
            ):
                return self.you(words[3:])
            return self.you(words[1:])
        if (
            first in ("need", "want", "have", "like", "expect", "tend", "able")
            and words[1:2] == ("to",)
            and len(words) > 2
        ):
            return self.find("done", words) or self.you(words[2:])
        if first in ("call", "consider", "describe", "classify", "categorize", "say", "think", "label"):
            rest = tuple(w for i, w in enumerate(words[1:]) if not (w == "it" and i == 0))
            if rest[:1] in (("as",), ("of",)):
                rest = rest[1:]
            if rest[:1] == ("that",):
                rest = rest[1:]
            if rest[:2] in (("it", "is"), ("it", "be"), ("to", "be")):
                rest = rest[2:]
            return self.be(rest) if rest else None
        plain = tuple(w for w in words if w not in ("it", "one", "this"))
        if not plain:
            return None
        found = self.find("done", plain)
        if found is not None:
            return found
        condition = clauses.condition(plain)
        if condition:
            return self.you(plain[:condition])
        if plain[-2:-1] == ("for",) and plain[-1] in ("you", "fun", "pleasure") and len(plain) > 2:
            return self.you(plain[:-2])
        verb, rest = verb_key(first), plain[1:]
        if verb in ("us", "need", "want", "requir") and rest:
            found = self.used(rest)
            if found is not None:
                return found
        if verb in ("find", "se", "buy", "get", "keep", "stor", "put", "hav", "plac", "encounter", "expect", "purchas", "look",
                    "locat", "leav", "own", "spot", "grow", "play") and rest:  # fmt: skip
            if rest[:1] == ("for",) and verb == "look":
                rest = rest[1:]
            if rest[:2] == ("to", "find") or rest[:2] == ("to", "see"):
                rest = rest[2:]
            found = self.place(rest) if rest else None
            if found is not None:
                return found
        if verb == "fit" and rest[:1] in (("in",), ("through",), ("under",)):
            return self._fits(rest[1:])
        if rest[-1:] in (("with",), ("on",)) or rest[-2:] == ("with", "it"):
            found = self.find("use", plain[:-1])
            if found is not None:
                return found
        return self.joined(plain, self.you) or self.splits(plain, self.you, self.post)
