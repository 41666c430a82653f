"""Plans the calls and messages of an agent that follows a procedure, request by request."""

from collections.abc import Iterator, Mapping, Sequence

from nlac_bench.envs.shop_worlds.procedures import Procedure
from nlac_bench.envs.shop_worlds.requests import Request
from nlac_bench.envs.tau.actions import CallAction, Message
from nlac_bench.simulators.customer import goals
from nlac_bench.simulators.customer import phrases as say

STAYS = "Of course, I will stay with you."

_DONE: Mapping[str, str] = {
    "cancel": "{order} has been cancelled.",
    "return": "The return of {items} from {order} has been requested.",
    "exchange": "The exchange of {items} from {order} has been requested.",
    "modify_items": "In {order}, {items} has been changed as you wished.",
    "order_address": "The address of {order} has been changed to {address}.",
    "order_payment": "The payment method of {order} has been changed to {payment}.",
}
_PROPOSED: Mapping[str, str] = {
    "cancel": "I will cancel {order}.",
    "return": "I will request the return of {items} from {order}.",
    "exchange": "I will exchange {items} from {order} for the variant that you described.",
    "modify_items": "I will change {items} in {order} to the variant that you described.",
    "order_address": "I will change the address of {order} to {address}.",
    "order_payment": "I will change the payment method of {order} to {payment}.",
}


def plan(
    person: goals.Person,
    user_id: str,
    requests: Sequence[Request],
    procedures: Mapping[str, Procedure],
) -> Iterator[CallAction | Message]:
    """Yield the actions that fulfil ``requests`` by ``procedures`` (kind of request → procedure)."""
    for request in requests:
        procedure = procedures[request.goal.kind]
        yield _identification(person, procedure)
        yield from _readings(request, user_id, procedure)
        if "confirmed" in procedure:
            yield Message(f"{_words(_PROPOSED, request.goal)} Is that all right with you (yes or no)?")
        gold = request.gold(procedure)
        yield CallAction(gold.name, dict(gold.kwargs))
        yield Message(f"{_words(_DONE, request.goal)} Is there anything else?")


def _identification(person: goals.Person, procedure: Procedure) -> CallAction:
    if "name_zip" not in procedure:
        return CallAction("find_user_id_by_email", {"email": person.email})
    name: dict[str, object] = {"first_name": person.first_name, "last_name": person.last_name}
    return CallAction("find_user_id_by_name_zip", {**name, "zip": person.zip})


def _readings(request: Request, user_id: str, procedure: Procedure) -> Iterator[CallAction]:
    order = CallAction("get_order_details", {"order_id": request.order_id})
    others = [CallAction("get_product_details", {"product_id": product}) for product in request.products]
    if request.goal.kind != "cancel" and not others:
        others = [CallAction("get_user_details", {"user_id": user_id})]
    yield order  # it has the product's id
    yield from others
    if "order_last" in procedure:
        yield order


def _words(forms: Mapping[str, str], goal: goals.Goal) -> str:
    request = forms[goal.kind].format(
        order=say.record(goal),
        items=say.join([f"the {item.product}" for item in goal.items]) if goal.items else "",
        address=say.address(goal.address) if goal.address else "",
        payment=goal.payment.id if goal.payment else "",
    )
    return f"{request[0].upper()}{request[1:]}"
