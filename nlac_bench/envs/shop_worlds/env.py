"""Defines the environment ``shop_worlds``: the embedded shop with procedures that differ between worlds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from nlac_bench.envs.shop_worlds.customer import WaitingCustomer
from nlac_bench.envs.shop_worlds.domain import load_world
from nlac_bench.envs.shop_worlds.office import DELAY, Change, Filed, Handled, check, receipt, rows_of
from nlac_bench.envs.shop_worlds.plan import STAYS, plan
from nlac_bench.envs.shop_worlds.policy import Rules
from nlac_bench.envs.shop_worlds.procedures import KIND_OF_TOOL, KINDS, Evidence, described
from nlac_bench.envs.shop_worlds.tasks import CONDITIONAL, TASKS, case_of
from nlac_bench.envs.shop_worlds.worlds import HELD_OUT, OPEN, world_of
from nlac_bench.envs.tau.actions import CallAction, Message, parse_action, render_call, render_message
from nlac_bench.envs.tau.consent import consented
from nlac_bench.envs.tau.database import Row
from nlac_bench.envs.tau.env import ServiceState, TauEnv
from nlac_bench.envs.tau.selection import selected_tasks
from nlac_bench.envs.tau.shaping import RewardRule
from nlac_bench.envs.text_env import EndReason, Outcome


@dataclass(slots=True)
class WorldState(ServiceState):
    """The state of an episode, with the calls that are to be checked and the look-ups made so far.

    ``gold_done`` counts the actions of the oracle's plan that have been taken in order. ``handled`` has
    an entry for each call that changed an order. ``repairs`` is the number of failed calls that can still be
    undone; ``undone_after`` is the number of messages that the agent had sent when the last call was undone.
    """

    user: WaitingCustomer
    filed: tuple[Filed, ...] = ()
    handled: tuple[Handled, ...] = ()
    looked_up: tuple[str, ...] = ()
    repairs: int = 0
    undone_after: int = 0


class ShopWorldsEnv(TauEnv):
    """Serve customers of a shop whose procedures depend on the world.

    The shop is that of ``tau_retail`` with embedded data: the same tools, customers and databases. For each
    of six kinds of request, a world requires one of four procedures: which reason to enter, whether to ask
    for a yes, how to identify the customer, which payment method to use, what to read last. With
    ``rules="told"`` the policy states them. With ``rules="hidden"`` it lists the valid ones, and
    nothing that an agent can read before it acts depends on the world: the procedures can only be learned by
    acting in that world.

    ## Action Space
    Text: a tool call as JSON, ``{"name": …, "arguments": {…}}``, else a message to the customer. The grammar
    is that of ``nlac_bench.envs.tau.actions``.

    ## Observation Space
    Text: a tool's result for a call, the customer's reply for a message.

    ## Starting State
    The customer's first message, with the identity and the first request. ``info`` has the policy and the
    tool schemas.

    ## Reward
    0 until the end, then 1 if the database equals the one after the right calls, else 0. A call that does not
    follow the world's procedure has the usual result. Two steps later the order is put ``on hold``, which no
    tool can undo; the customer says so in the next message, and the reward is 0. At the level
    ``conditional``, the first such call of an episode is undone instead of the order being put on hold: its
    order and its customer have the rows that they had before the call (unless one has changed again since),
    the customer states the request again, and it can be handled once more.

    ## Episode End
    An episode ends when the customer says ``###STOP###``, when the agent calls
    ``transfer_to_human_agents``, or after 30 steps, for which the reward is 0. A customer whose requests are
    done stays until the shop has checked them; if a check was due or failed at the agent's last report, the
    last message says how each was handled, and how it should have been. ``end_reason`` is ``success`` if the
    reward is 1, else the cause of the end: ``user_stop``, ``agent_stop`` or ``max_steps``.

    ## Information
    The keys of every ``TextEnv``; at reset also ``user``, always ``scripted``. A call has ``action_kind``
    ``tool``, and ``tool_error`` is the message of a tool that fails or does not exist. The world is not in
    ``info``.

    ## Arguments
    * ``split``: ``train``, ``validation`` or ``test``; they have no customer and no order in common.
    * ``rules``: ``told`` or ``hidden``.
    * ``world``: a number from 0 to 1011; the default is 0. The tasks and their ids are the same in every
      world. Worlds from 1000 on are held out: 1000 to 1007 for measuring, 1008 to 1011 for tuning and pilots.
    * ``worlds``: with ``held_out`` a run with seed s plays world 1000 + s. The harness sets ``world``, which
      is 1000 by default.
    * ``level``: ``easy``, ``medium`` or ``hard``, which have one, two and three requests a task; the default
      is all three. ``conditional`` has one request a task, and the procedure depends on a fact about the
      order or the customer, which the tools show.
    * ``data``: ``embedded``; there are no other data.
    * ``render_mode``: ``ansi`` makes ``render()`` return the conversation.

    Raises:
        UnknownIdError: there is no such split, level or task.
        ValueError: an argument has another value than those above.

    ## Version History
    * v0: first release. Its ``env_version`` is "2" since customers name the item id of the variant that they
      want instead of another, and say at the end how their requests were handled and should have been. It is
      "3" since a yes makes a request ``confirmed`` only if the message that got it names the request, and
      customers object to what they did not ask for. It is "4" since a text with the marker of a native tool
      call that is not read here is an invalid action.
    """

    name = "shop_worlds"
    splits = tuple(TASKS)
    domain_name = "retail"
    env_version: ClassVar[str] = "4"
    worlds: ClassVar[Mapping[str, Sequence[int]]] = {"held_out": HELD_OUT}

    def __init__(
        self,
        *,
        split: str = "test",
        rules: Rules = "hidden",
        world: int | None = None,
        worlds: Literal["held_out"] | None = None,
        level: Literal["easy", "medium", "hard", "conditional"] | None = None,
        data: Literal["embedded"] = "embedded",
        render_mode: str | None = None,
    ) -> None:
        if data != "embedded":
            raise ValueError(f"data must be 'embedded', the only data of shop_worlds, got {data!r}")
        if rules not in ("told", "hidden"):
            raise ValueError(f"rules must be 'told' or 'hidden', got {rules!r}")
        if worlds not in (None, "held_out"):
            raise ValueError(f"worlds must be 'held_out' or left out, got {worlds!r}")
        if world is None:
            world = HELD_OUT[0] if worlds else OPEN[0]
        if worlds and world not in HELD_OUT:
            raise ValueError(
                f"world {world!r} is not held out; with worlds='held_out' it must be from "
                f"{HELD_OUT[0]} to {HELD_OUT[-1]}"
            )
        self._conditional = level == CONDITIONAL
        self._world = world_of(world, self._conditional)
        domain = load_world(world, rules, self._conditional)
        self.played_world, self.rules, self._rule = world, rules, RewardRule.parse("original")
        self._serve(domain, selected_tasks(domain, split, level, None), split, render_mode)
        self.user_kind, self.floors_only = "scripted", False
        self._new_user = WaitingCustomer(domain)

    def describe_world(self) -> dict[str, Any]:
        """Return the world, the names of its procedures by kind of request, and whether it is held out."""
        return {
            "world": self.played_world,
            "procedures": self._world.names(),
            "held_out": self.played_world in HELD_OUT,
        }

    def conditions(self) -> dict[str, Any]:
        """Return the user, the reward and whether the rules are told. The world is not a condition."""
        return {**super().conditions(), "rules": self.rules}

    # --- playing --------------------------------------------------------------------------------

    async def _begin(self, task_id: str) -> str:
        first = await super()._begin(task_id)
        begun: ServiceState = self._state
        self._state = WorldState(**{each.name: getattr(begun, each.name) for each in fields(begun)})
        self._state.repairs = int(self._conditional)
        return first

    async def _respond(self, action: str) -> Outcome:
        state, due = self._state, self._due()
        self._check(self._steps)
        outcome = await super()._respond(action)
        state.gold_done += parse_action(action) == due
        return outcome

    def _call(self, call: CallAction) -> Outcome:
        state, kind = self._state, KIND_OF_TOOL.get(call.name)
        before = rows_of(state.db, str(call.arguments.get("order_id"))) if kind else {}
        outcome = super()._call(call)
        if outcome.tool_error is not None or outcome.end_reason is not None:
            return outcome
        if kind:
            self._file(kind, call.arguments, before)
        else:
            state.looked_up = (*(name for name in state.looked_up if name != call.name), call.name)
        return outcome

    def _file(self, kind: str, arguments: Mapping[str, Any], before: Mapping[tuple[str, str], Row]) -> None:
        """Record how a call changed an order and what the world requires, for a later check."""
        state, order_id, tables = self._state, arguments["order_id"], self.domain.tables
        order = tables["orders"][order_id]
        demanded = self._world.demanded(order, tables["users"][order["user_id"]])[kind]
        taken = KINDS[kind].taken(self._evidence(arguments))
        state.handled = (*state.handled, Handled(described(kind, taken), described(kind, demanded)))
        change = Change(before, rows_of(state.db, order_id))
        filed = Filed(kind, order_id, taken == demanded, self._steps + DELAY, change)
        state.filed = (*state.filed, filed)

    def _evidence(self, arguments: Mapping[str, Any]) -> Evidence:
        state = self._state
        order = state.db.get("orders", arguments["order_id"])
        original = order["payment_history"][0]["payment_method_id"]  # changes are added behind it
        turns = list(zip(state.said, state.heard[1:], strict=True))[state.undone_after :]
        agreed = consented(state.writes[-1], turns)
        return Evidence(arguments, agreed, state.looked_up, original)

    def _check(self, step: float) -> None:
        state = self._state
        state.filed, news, undone = check(state.filed, step, state.db, state.repairs)
        if undone:
            state.repairs -= len(undone)
            state.gold_done = 0  # the plan of the only request starts again
            state.undone_after = len(state.said)
        state.user.hear(news, undone, pending=bool(state.filed), receipt=receipt(state.handled))

    def _conduct(self, transferred: bool) -> dict[str, float]:
        """Return no graded parts: the procedures say what is asked and looked up."""
        return {}

    def _grade(self, outcome: Outcome, stopped_by: EndReason) -> None:
        self._check(float("inf"))
        super()._grade(outcome, stopped_by)

    # --- the player without a model -------------------------------------------------------------

    def oracle_action(self) -> str:
        """Return the next action of a plan that follows the world's procedures."""
        due = self._due()
        if isinstance(due, CallAction):
            return render_call(due.name, due.arguments)
        return render_message(due.content)

    def _due(self) -> CallAction | Message:
        state = self._state
        case = case_of(state.task.task_id)
        procedures = case.demanded(self._world)
        actions = plan(case.script.person, case.user_id, case.requests, procedures)
        return next((a for place, a in enumerate(actions) if place == state.gold_done), Message(STAYS))
