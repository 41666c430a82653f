"""Parses an agent's message for a scripted user: which acts it performs and what it asks for.

Messages are parsed by sentence and keyword, so that free wording is understood: questions, lists, summaries,
typing errors. The database is not used. Long messages are truncated, so that parsing takes bounded time.
"""

import re
import unicodedata
from dataclasses import dataclass

from nlac_bench.envs.tau.users.scripted import patterns as pattern

MAX_READ_CHARS = 6_000
"""Of a longer message only the beginning and the end are read."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed message of an agent.

    ``text`` is normalised, ``claims`` are the sentences that state or propose something (without open
    questions, caveats and statements about what remains unchanged), ``proposed`` the claims that ask for
    confirmation, ``reports`` those that say that something has been done, and ``asks`` the topics of open
    questions.
    """

    text: str
    claims: str
    proposed: str
    reports: str
    asks: frozenset[str]
    confirm: bool
    refused: bool
    not_found: bool
    transfer: bool
    transfer_offer: bool
    more: bool
    wait: bool


def normalise(text: str) -> str:
    """Convert to lower case, plain quotes and dashes, and remove emphasis marks; line breaks are kept."""
    if len(text) > MAX_READ_CHARS:
        text = text[: MAX_READ_CHARS // 2] + "\n" + text[-MAX_READ_CHARS // 2 :]
    text = unicodedata.normalize("NFKC", text).lower().translate(_PLAIN)
    text = _MONTH_FIRST.sub(lambda found: _iso(found[2], found[1], found[3]), text)
    text = _DAY_FIRST.sub(lambda found: _iso(found[1], found[2], found[3]), text)
    return re.sub(r"[ \t]+", " ", text)


def _iso(day: str, month: str, year: str | None) -> str:
    """Return a date in the databases' format; without a year, it is in the year of the flights."""
    return f"{year or 2024}-{_MONTHS.index(month[:3]) + 1:02d}-{int(day):02d}"


def read(message: str) -> Reading:
    """Parse ``message``."""
    text = normalise(message)
    asks: set[str] = set()
    claims: list[str] = []
    proposed: list[str] = []
    reports: list[str] = []
    confirm = refused = not_found = more = False
    listing = False  # the lines of a list belong to the question or claim before it
    for sentence in _sentences(text):
        if pattern.MORE.search(sentence):
            more = True
            asks |= {"complete"} if pattern.COMPLETE.search(sentence) else set()
            if not pattern.YES_NO.search(sentence):
                continue
        bullet = bool(_BULLET.match(sentence))
        if pattern.NOT_FOUND.search(sentence):
            not_found = True
        elif pattern.CAVEAT.search(sentence):
            pass
        elif pattern.REFUSED.search(sentence) or (
            pattern.REGRET.search(sentence) and not pattern.ASK.search(sentence)
        ):
            refused = True
        if (pattern.CONFIRM.search(sentence) or _nudge(sentence)) and not _open(sentence):
            confirm = True
            claims.append(sentence)
            proposed.append(sentence)
            listing = False
        elif pattern.WAIT.search(sentence) and not sentence.endswith("?"):
            listing = False
        elif listing and bullet:
            asks |= _topics(sentence)
        elif _asking(sentence):
            listing = sentence.rstrip().endswith(":")
            asks |= _topics(sentence) or {"unclear"}
            if sentence.endswith("?") and not _open(sentence):
                claims.append(sentence)  # "Shall it be the red one? Then please confirm."
        else:
            listing = False
            if pattern.UNAFFECTED.search(sentence) or pattern.CAVEAT.search(sentence):
                continue
            claims.append(sentence)
            if (
                pattern.REPORT.search(sentence)
                and not pattern.REFUSED.search(sentence)
                and not pattern.FUTURE.search(sentence)
            ):
                reports.append(sentence)
    if pattern.ASSENT.search(text):
        confirm = True
    return Reading(
        text=text,
        claims="\n".join(claims),
        proposed="\n".join(proposed),
        reports="\n".join(reports),
        asks=frozenset(asks),
        confirm=confirm,
        refused=refused,
        not_found=not_found,
        transfer=bool(pattern.TRANSFER.search(text)) and not pattern.TRANSFER_OFFER.search(text),
        transfer_offer=bool(pattern.TRANSFER.search(text) and pattern.TRANSFER_OFFER.search(text)),
        more=more,
        wait=bool(pattern.WAIT.search(text)),
    )


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in _SPLIT.split(text) if part.strip()]


def _open(sentence: str) -> bool:
    """Return whether an apparent request for confirmation is an open question."""
    if pattern.WH.match(sentence):
        return True
    if pattern.CONFIRM_SLOT.search(sentence) and not pattern.VALUE.search(sentence):
        return True
    return bool(pattern.CHOICE.search(sentence)) and not pattern.YES_NO.search(sentence)


def _nudge(sentence: str) -> bool:
    """Return whether a sentence is a question of one or two words about nothing: "Proceed?", "Shall I?"."""
    if not sentence.endswith("?") or len(sentence.split()) > 3 or _NO_NUDGE.search(sentence):
        return False
    return not _topics(sentence)


def _asking(sentence: str) -> bool:
    if sentence.rstrip().endswith("?"):
        return True
    return bool(pattern.ASK.search(sentence)) and not pattern.WAIT.search(sentence)


def _topics(sentence: str) -> set[str]:
    return {topic for topic, asked in pattern.TOPICS if asked.search(sentence)}


_PLAIN = str.maketrans({
    "‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‑": "-", "−": "-", "*": None, "`": None,
    "\u00a0": " ", "\r": "\n", "•": "-", "→": ">",
})  # fmt: skip
_NO_NUDGE = re.compile(r"^(could|can|would|will) you|choice|preference|pick|thoughts|option")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_MONTH_FIRST = re.compile(rf"\b{_MONTH} (\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (\d{{4}})\b)?")
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?{_MONTH}(?:,? (\d{{4}})\b)?")
_SPLIT = re.compile(r"(?<=[.!?]) +|\n+|(?<=[?])(?=[a-z])")
_BULLET = re.compile(r"(?:[-+] ?|\(?\d{1,2}[.)] ?|[a-z][.)] )")
