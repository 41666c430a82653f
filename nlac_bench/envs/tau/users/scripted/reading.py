"""Reads an agent's message for a scripted user: a list of acts, found by sentence and list structure.

Each unit of a message (``structure``) performs one or more acts: it states, proposes, asks, offers a choice,
reports, refuses, transfers. The database is not used, and nothing here depends on the user's goals.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from nlac_bench.envs.tau.users.scripted import signals
from nlac_bench.envs.tau.users.scripted.reference import referred
from nlac_bench.envs.tau.users.scripted.requests import (
    IDENTITY,
    WH,
    WH_START,
    asks_for_value,
    asks_for_yes,
    is_choice,
    wants_identity,
)
from nlac_bench.envs.tau.users.scripted.structure import Unit, units
from nlac_bench.envs.tau.users.scripted.topics import topics


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed message of an agent.

    ``claims`` are the units that state or propose something (without open questions, conditions and
    consequences), ``questions`` those that ask for a value or offer a choice, ``reports`` those that say that
    something has been done, ``asks`` the topics of the questions. ``confirm``: the message asks for a yes;
    ``announced``: it says that the agent is about to act, without asking.
    """

    text: str
    claims: tuple[Unit, ...]
    proposed: tuple[Unit, ...]
    questions: tuple[Unit, ...]
    reports: tuple[Unit, ...]
    asks: frozenset[str]
    confirm: bool
    announced: bool
    choice: bool
    refused: bool
    not_found: bool
    transfer: bool
    transfer_offer: bool
    more: bool
    wait: bool


def read(message: str) -> Reading:
    """Parse ``message``."""
    parts = units(message)
    text = "\n".join(part.full for part in parts)
    claims: list[Unit] = []
    proposed: list[Unit] = []
    questions: list[Unit] = []
    reports: list[Unit] = []
    asks: set[str] = set()
    confirm = announced = choice = refused = not_found = more = wait = False
    asking = ""  # the heading of a list whose entries are asked for
    for place, part in enumerate(parts):
        said = part.text
        if signals.MORE.search(said):
            more = True
            asks |= {"complete"} if signals.COMPLETE.search(said) else set()
            if not (signals.YES_NO.search(said) or signals.PROCEED.search(said)):
                if signals.OTHERS.search(said):
                    questions.append(part)
                continue
        if signals.NOT_FOUND.search(said):
            not_found = True
        elif signals.CAVEAT.search(said):
            pass
        elif signals.REFUSED.search(said) or (signals.REGRET.search(said) and not asks_for_value(said)):
            refused = True
        if asking and part.heading == asking:
            asks |= _topics(said) - {"request", "unclear"}
            questions.append(part)
            if not asking.endswith("?"):
                claims.append(part)  # what looks like a question may be a label: what it lists is compared
        elif signals.OTHERS.search(said) and said.endswith("?"):
            asks |= {"complete"}
            questions.append(part)
        elif asks_for_value(said):
            asks |= referred(said, parts[:place]) or _topics(said)
            questions.append(part)
            asking = said if _opens_list(parts, place) else ""
            if said.endswith("?") and not WH_START.match(said):
                claims.append(part)
        elif asks_for_yes(said):
            confirm = True
            choice = choice or is_choice(said)
            claims.append(part)
            proposed.append(part)
            asking = said if _opens_list(parts, place) and said.endswith("?") else ""
        elif said.endswith("?"):
            asks |= _topics(said)
            questions.append(part)
            choice = choice or is_choice(said)
            asking = said if _opens_list(parts, place) else ""
            if not WH.search(said):
                claims.append(part)
        elif signals.WAIT.search(said):
            wait = True
            announced = announced or bool(signals.ANNOUNCES.search(said))
            if signals.ANNOUNCES.search(said):
                claims.append(part)
        else:
            asking = ""
            if said.endswith(":") and wants_identity(said):
                asks |= topics(said) & IDENTITY or {"identity"}
                asking = said
                questions.append(part)
                continue
            if not signals.REFUSED.search(said) or signals.CAVEAT.search(said):
                claims.append(part)
            announced = announced or bool(signals.ANNOUNCES.search(said))
            if (
                signals.REPORT.search(said)
                and not signals.REFUSED.search(said)
                and not signals.FUTURE.search(said)
            ):
                reports.append(part)
            if signals.ASSENT.search(said):
                confirm = True
                proposed.append(part)
    return Reading(
        text=text,
        claims=tuple(claims),
        proposed=tuple(proposed),
        questions=tuple(questions),
        reports=tuple(reports),
        asks=frozenset(asks),
        confirm=confirm,
        announced=announced,
        choice=choice,
        refused=refused,
        not_found=not_found,
        transfer=bool(signals.TRANSFER.search(text)) and not signals.TRANSFER_OFFER.search(text),
        transfer_offer=bool(signals.TRANSFER.search(text) and signals.TRANSFER_OFFER.search(text)),
        more=more,
        wait=wait,
    )


def _topics(sentence: str) -> set[str]:
    found = set(topics(sentence))
    if "passengers" in found and not found & {"email", "zip", "user_id"}:
        found -= {"name", "identity"}
    if "address" in found and not found & {"email", "name", "user_id"}:
        found.discard("zip")  # a part of the address, not of the identity
    if found & IDENTITY and not wants_identity(sentence):
        found -= {"email"} if "receive" in sentence or "sent" in sentence else set()
    return found or {"unclear"}


def _opens_list(parts: Sequence[Unit], place: int) -> bool:
    return place + 1 < len(parts) and parts[place + 1].heading == parts[place].text
