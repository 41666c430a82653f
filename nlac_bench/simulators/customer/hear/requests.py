"""Decides whether a sentence asks for a value, or for a yes or no."""

import re
from functools import lru_cache

from nlac_bench.simulators.customer.hear import asking
from nlac_bench.simulators.customer.hear.consent import (
    CHOICE,
    CONFIRM,
    CONFIRM_SLOT,
    CONFIRM_WORD,
    CONFIRMS,
    HAS_CONSENT,
    PERMISSION,
    VALUE,
    YES_ONLY,
)
from nlac_bench.simulators.customer.hear.identity import IDENTITY
from nlac_bench.simulators.customer.hear.signals import FUTURE, REPORT, YES_NO
from nlac_bench.simulators.customer.hear.topics import topics

MAX_LABEL_CHARS = 40
"""Most characters of the label of a line."""


@lru_cache(maxsize=1024)
def asks_for_value(sentence: str) -> bool:
    """Return whether a sentence asks for a value: an open question, or a request to tell something."""
    several = YES_ONLY.search(sentence) and asking.SEVERAL.search(sentence)
    if (
        several
        or asking.INSURED.search(sentence)
        or asking.INSURANCE.search(sentence)
        or asking.WHETHER_ANY.search(sentence)
        or (sentence.endswith("?") and asking.ALONE.search(sentence))
    ):
        return True
    if YES_ONLY.search(sentence) or asking.SOUNDS.search(sentence) or PERMISSION.search(sentence):
        return False
    if _is_identity_field(sentence):
        return True
    if (asking.REVIEW.search(sentence) or asking.REVIEW_PART.search(sentence)) and not sentence.endswith("?"):
        return False
    if _asks_who(sentence):
        return True
    if asking.HOW_MANY.search(sentence):
        return True
    if fills_in(sentence):
        return False
    if (
        topics(sentence) & IDENTITY
        and (
            asking.PLEASE.search(sentence)
            or asking.WISHES.search(sentence)
            or (asking.REQUIRES.search(sentence) and not asking.HAS_IT.search(sentence))
        )
        and not (
            asking.MAILED.search(sentence) or asking.IF_AGREED.search(sentence) or VALUE.search(sentence)
        )
    ):
        return True
    slot = CONFIRM_SLOT.search(sentence)
    if slot and not VALUE.search(sentence):
        return True
    if asking.INFORM.search(sentence) and not asking.IF_AGREED.search(sentence):
        return not (
            CONFIRM.search(sentence)
            and (VALUE.search(sentence) or slot is None)
            and not asking.GIVE.search(sentence)
        )
    if sentence.endswith("?"):
        return bool(asking.WH_START.match(sentence)) or (
            bool(asking.WH.search(sentence)) and not asking.TAG.search(sentence)
        )
    if asking.WH_START.match(sentence) and not sentence.endswith((":", ".", "!")):
        return len(sentence.split()) <= 3 or bool(asking.INVERTED.search(sentence))
    needs = asking.NEEDS.search(sentence)
    if needs and topics(sentence) == {"email"} and asking.MAILED.search(sentence):
        return False  # "you'll receive an email; nothing else is needed"
    return bool(needs) or bool(
        asking.PLEASE_NOUN.search(sentence) and topics(sentence) and not asking.IF_AGREED.search(sentence)
    )


def _is_identity_field(sentence: str) -> bool:
    """Return whether a sentence consists only of names of data that identify the user: "User id, please?"."""
    fits = asking.BARE_IDENTITY.fullmatch(sentence) and topics(sentence) & IDENTITY
    return bool(fits) and not VALUE.search(sentence)


def _asks_who(sentence: str) -> bool:
    """Return whether a question asks for data that identify the user, or whether the user has or knows them.

    A question about the use of an email address or a name ("Shall I send it to your email?") does not count.
    """
    if (
        not topics(sentence) & IDENTITY - {"identity"}
        or VALUE.search(sentence)
        or asking.MAILED.search(sentence)
    ):
        return False
    if sentence.endswith("?"):
        return bool(asking.YOURS.search(sentence)) and not asking.DOES.search(sentence)
    return bool(asking.HANDS.search(sentence)) and not asking.IF_AGREED.search(sentence)


def fills_in(sentence: str) -> bool:
    """Return whether a line gives its label's value: "how the difference is paid: PayPal", "zip: 84630"."""
    label, _, value = sentence.partition(": ")
    if not value or sentence.endswith("?") or len(label) > MAX_LABEL_CHARS or " or " in value:
        return False
    if VALUE.search(value) or asking.WH_START.match(label):
        return not (asking.LACKS.search(label) or asking.PLEASE.search(label) or asking.GIVE.search(label))
    asked = asking.LACKS.search(sentence) or asking.PLEASE.search(sentence) or asking.GIVE.search(sentence)
    return not (asked or topics(value) or asking.OPENING.match(label))


def asks_for_list(heading: str, entry: str) -> bool:
    """Return whether ``heading`` asks for the entries of its list; ``entry`` is the first of them."""
    return (
        heading.endswith(":") and bool(asking.LACKS.search(heading)) and not CONFIRM.search(heading)
        and bool(topics(entry) or asking.WH_START.match(entry)) and len(entry.split()) < 9
        and not (VALUE.search(entry) or ": " in entry)
    )  # fmt: skip


@lru_cache(maxsize=1024)
def asks_for_yes(sentence: str) -> bool:
    """Return whether a sentence asks for a yes or no, and not for a value or a choice."""
    if asking.INVITES.search(sentence):
        return False
    if asking.AS_A_RULE.search(sentence) and not sentence.endswith("?"):
        return False
    if YES_ONLY.search(sentence) or asking.SOUNDS.search(sentence):
        return not asking.SEVERAL.search(sentence)
    if _is_identity_field(sentence):
        return False
    if CONFIRM_SLOT.search(sentence) and not VALUE.search(sentence):
        return False
    if is_choice(sentence) and not CONFIRM_WORD.search(sentence):
        return False
    if sentence.endswith("?"):
        if asking.WH_START.match(sentence) or (
            asking.WH.search(sentence) and not asking.TAG.search(sentence)
        ):
            return False
        if asking.KNOWS.search(sentence):
            return False
        terse = len(sentence.split()) <= 4 and bool(topics(sentence)) and not asking.ACTS.match(sentence)
        plain = (
            not topics(sentence) & IDENTITY
            and bool(asking.ACTS.search(sentence) or VALUE.search(sentence))
            and not terse
        )
        declared = asking.DECLARED.match(sentence) and not topics(sentence)
        return bool(
            asking.AUXILIARY.search(sentence)
            or asking.TAG.search(sentence)
            or _nudge(sentence)
            or plain
            or declared
        )
    agreed = CONFIRMS.search(sentence) or HAS_CONSENT.search(sentence)
    if agreed and (REPORT.search(sentence) or _PERFECT.search(sentence)) and not FUTURE.search(sentence):
        return False  # "we confirm that it has been cancelled", "as per your confirmation I have called it"
    return bool(CONFIRM.search(sentence)) and not asking.WH_START.match(sentence)


_PERFECT = re.compile(r"\b(?:i|we)(?:'ve| have) (?:\w+ly |now |just )*(?!your\b|an?\b|the\b)\w+")


def _nudge(sentence: str) -> bool:
    """Return whether a sentence is a question of a few words that names no object: "Proceed?", "Shall I?"."""
    return len(sentence.split()) <= 4 and not topics(sentence) and not asking.NO_NUDGE.search(sentence)


def is_choice(sentence: str) -> bool:
    return bool(CHOICE.search(sentence)) and not YES_NO.search(sentence)
