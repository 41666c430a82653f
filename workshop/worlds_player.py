"""Defines who plays ``shop_worlds`` in the training text: a competent agent that guesses the procedure."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from operator import eq

from nlac_bench.envs.shop_worlds.env import ShopWorldsEnv
from nlac_bench.envs.shop_worlds.office import Handled
from nlac_bench.envs.shop_worlds.plan import STAYS, plan
from nlac_bench.envs.shop_worlds.procedures import KIND_OF_TOOL, KINDS, Procedure
from nlac_bench.envs.shop_worlds.tasks import Case, cases
from nlac_bench.envs.tau.actions import CallAction, Message, parse_action, render_call, render_message
from workshop import mistakes
from workshop.mistakes import ServiceSituation

SLIP = 0.08
"""Probability that an action is a slip of ``mistakes``, after which the player continues with its plan."""


@cache
def practice() -> Mapping[str, Case]:
    """Return the requests of all training tasks of all levels, each as a case of its own, by id.

    Customers of validation and test tasks are not among them.
    """
    result = {}
    for case in cases()["train"]:
        for number, request in enumerate(case.requests):
            script = replace(case.script, goals=(request.goal,))
            name = f"{case.task_id}/{number}"
            result[name] = replace(case, task_id=name, requests=(request,), script=script)
    return result


class PracticeEnv(ShopWorldsEnv):
    """``shop_worlds`` in ``world``, with the tasks of ``practice``; it has no oracle."""

    def __init__(self, world: int) -> None:
        super().__init__(split="train", world=world)
        tasks = [case.task(index, self._world) for index, case in enumerate(practice().values())]
        self._serve(self.domain, tasks, "train", None)

    @property
    def handled(self) -> Sequence[Handled]:
        """How the requests of the episode were handled."""
        return self._state.handled

    def _due(self) -> CallAction | Message:
        return Message(STAYS)


class WorldsPlayer:
    """Fulfils the only request of ``case`` (of kind ``kind``) by ``procedure``.

    ``plans`` has the actions of each procedure of this kind of request, after which the agent stays until the
    customer leaves. All plans have the same form, so that an action shows only the choices of its procedure.
    """

    def __init__(self, case: Case, procedure: Procedure) -> None:
        (request,) = case.requests
        self.kind = request.goal.kind
        self.plans = {valid: tuple(_actions(case, valid)) for valid in KINDS[self.kind].procedures}
        self._plan = self.plans[procedure]

    @staticmethod
    def guessing(case: Case, rng: random.Random) -> "WorldsPlayer":
        """Return a player with a valid procedure drawn at random."""
        return WorldsPlayer(case, rng.choice(KINDS[case.requests[0].goal.kind].procedures))

    def due(self, done: int) -> str:
        """Return the action after the first ``done`` ones of the plan."""
        return self._plan[done] if done < len(self._plan) else render_message(STAYS)

    def slip(self, done: int, text: str, rng: random.Random) -> str:
        """Return a mistake after the first ``done`` actions; ``text`` is the conversation so far."""
        rest = self._plan[done:] or (render_message(STAYS),)
        return mistakes.slip(ServiceSituation("tau_retail", rest, text), rng)

    def others(self, done: int, action: str) -> Sequence[str]:
        """Return the other procedures' actions here, without ``action``, in a fixed order.

        The procedures are those that begin with the same ``done`` actions.
        """
        return [each for each in dict.fromkeys(self._fitting(done).values()) if each != action]

    def towards(self, done: int, demanded: Procedure) -> str:
        """Return the action of ``demanded`` after the first ``done`` actions.

        If ``demanded`` begins with other actions, the procedure is used that begins with these and shares the
        most options with it.
        """
        fitting = self._fitting(done)
        nearest = max(fitting, key=lambda each: sum(map(eq, each, demanded)), default=None)
        return self.due(done) if nearest is None else fitting[nearest]

    def _fitting(self, done: int) -> Mapping[Procedure, str]:
        """Return the next action of each procedure that begins with the same ``done`` actions."""
        begun = self._plan[:done]
        return {
            valid: plan[done] for valid, plan in self.plans.items() if plan[:done] == begun and plan[done:]
        }


def changes_order(action: str) -> bool:
    """Return whether ``action`` is a call that changes an order."""
    parsed = parse_action(action)
    return isinstance(parsed, CallAction) and parsed.name in KIND_OF_TOOL


def _actions(case: Case, procedure: Procedure) -> Iterator[str]:
    """Yield the actions of the plan as texts; before settling a price difference the agent reads the profile,
    which lists the gift card."""
    (request,) = case.requests
    for each in plan(case.script.person, case.user_id, case.requests, {request.goal.kind: procedure}):
        yield (
            render_call(each.name, each.arguments)
            if isinstance(each, CallAction)
            else render_message(each.content)
        )
        if request.products and isinstance(each, CallAction) and each.name.startswith("find_user_id"):
            yield render_call("get_user_details", {"user_id": case.user_id})
