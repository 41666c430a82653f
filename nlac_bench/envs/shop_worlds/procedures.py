"""Defines the kinds of requests, their valid procedures, and which of them an agent has followed.

A procedure of a kind takes one option of each of the kind's two choices, so that each kind has four. Every
call that changes an order follows at most one of them: the options of a choice exclude each other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeAlias

from nlac_bench.simulators.customer import phrases as say

Procedure: TypeAlias = tuple[str, ...]
"""The names of the options, one of each choice."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The shop's knowledge about a call that changes an order.

    ``agreed``: the customer has said yes to a message that names this request. ``looked_up``: the look-up
    tools that the agent has called before, each once, in the order of their last calls. ``original``: the
    payment method with which the order was paid.
    """

    arguments: Mapping[str, Any]
    agreed: bool = False
    looked_up: tuple[str, ...] = ()
    original: str | None = None

    def last_of(self, tools: Mapping[str, str]) -> str | None:
        """Return the value in ``tools`` (tool → value) of the tool called last; None if none was called."""
        return next((tools[name] for name in reversed(self.looked_up) if name in tools), None)


@dataclass(frozen=True, slots=True)
class ProcedureChoice:
    """Two options; the shop requires one of them.

    ``rules`` has the options' names and their rules in words; ``taken`` returns the name of the option that
    an agent has taken, or None if it has taken neither.
    """

    rules: Mapping[str, str]
    taken: Callable[[Evidence], str | None] = field(repr=False)


def _consent(evidence: Evidence) -> str:
    return "confirmed" if evidence.agreed else "at_once"


def _proof(evidence: Evidence) -> str | None:
    return evidence.last_of({"find_user_id_by_email": "email", "find_user_id_by_name_zip": "name_zip"})


def _reason(evidence: Evidence) -> str | None:
    return {say.NOT_NEEDED: "not_needed", say.MISTAKE: "mistake"}.get(evidence.arguments["reason"])


def _method(evidence: Evidence) -> str | None:
    method = str(evidence.arguments["payment_method_id"])
    if method == evidence.original:
        return "original"
    return "gift_card" if method.startswith("gift_card") else None


def _order_or_product(evidence: Evidence) -> str | None:
    return evidence.last_of({"get_order_details": "order_last", "get_product_details": "product_last"})


def _order_or_customer(evidence: Evidence) -> str | None:
    return evidence.last_of({"get_order_details": "order_last", "get_user_details": "customer_last"})


CONSENT = ProcedureChoice(
    {
        "confirmed": "ask the customer for a clear yes before the call",
        "at_once": "make the call without asking the customer for a yes",
    },
    _consent,
)
PROOF = ProcedureChoice(
    {
        "email": "identify the customer by email",
        "name_zip": "identify the customer by name and zip code",
    },
    _proof,
)
REASON = ProcedureChoice(
    {"not_needed": f"give the reason `{say.NOT_NEEDED}`", "mistake": f"give the reason `{say.MISTAKE}`"},
    _reason,
)
REFUND = ProcedureChoice(
    {
        "original": "refund to the payment method with which the order was paid",
        "gift_card": "refund to the customer's gift card",
    },
    _method,
)
DIFFERENCE = ProcedureChoice(
    {
        "original": "settle the price difference with the payment method with which the order was paid",
        "gift_card": "settle the price difference with the customer's gift card",
    },
    _method,
)
STOCK = ProcedureChoice(
    {
        "order_last": "read the product first and the order last before the call",
        "product_last": "read the order first and the product last before the call",
    },
    _order_or_product,
)
PROFILE = ProcedureChoice(
    {
        "order_last": "read the customer's profile first and the order last before the call",
        "customer_last": "read the order first and the customer's profile last before the call",
    },
    _order_or_customer,
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of request: its name in the policy, the tool that fulfils it, its choices, and the customer's
    words when it fails."""

    title: str
    tool: str
    choices: tuple[ProcedureChoice, ProcedureChoice]
    complaint: str

    @property
    def procedures(self) -> tuple[Procedure, ...]:
        """The valid procedures, in a fixed order."""
        return tuple(product(*(choice.rules for choice in self.choices)))

    def taken(self, evidence: Evidence) -> tuple[str | None, ...]:
        """Return the option of each choice that a call with ``evidence`` took; None where it took neither."""
        return tuple(choice.taken(evidence) for choice in self.choices)


KINDS: Mapping[str, Kind] = {
    "cancel": Kind(
        "Cancelling a pending order", "cancel_pending_order", (REASON, CONSENT), "The refund bounced"
    ),
    "return": Kind(
        "Taking back items", "return_delivered_order_items", (REFUND, PROOF), "The return was turned down"
    ),
    "exchange": Kind(
        "Exchanging delivered items",
        "exchange_delivered_order_items",
        (DIFFERENCE, STOCK),
        "The courier refused the exchange",
    ),
    "modify_items": Kind(
        "Changing items of a pending order",
        "modify_pending_order_items",
        (DIFFERENCE, CONSENT),
        "The old items are being packed",
    ),
    "order_address": Kind(
        "Changing the address of a pending order",
        "modify_pending_order_address",
        (PROOF, CONSENT),
        "The parcel still has the old address",
    ),
    "order_payment": Kind(
        "Changing the payment of a pending order",
        "modify_pending_order_payment",
        (CONSENT, PROFILE),
        "The new payment was declined",
    ),
}
"""The kinds of requests by the names of the scripted users' goals."""

KIND_OF_TOOL: Mapping[str, str] = {kind.tool: name for name, kind in KINDS.items()}


def described(kind: str, taken: Sequence[str | None]) -> str:
    """Return how a request was handled in words, such as ``cancel, mistake, at once``."""
    return ", ".join([kind, *(option or "neither" for option in taken)]).replace("_", " ")


def name_of(procedure: Procedure) -> str:
    """Return the name of a procedure, such as ``mistake+confirmed``."""
    return "+".join(procedure)
