"""Implements the dialogue policy of the customer, which needs no model."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

from nlac_bench.simulators.customer.compare import check, covered, outcome
from nlac_bench.simulators.customer.hear import actions, naming, signals
from nlac_bench.simulators.customer.hear.identity import IDENTITY, wants_identity
from nlac_bench.simulators.customer.hear.reading import MessageReading, read
from nlac_bench.simulators.customer.hear.structure import joined
from nlac_bench.simulators.customer.intent.goals import STOP, Goal, Script
from nlac_bench.simulators.customer.speak import speech
from nlac_bench.simulators.customer.speak.answers import WHO, Answers
from nlac_bench.simulators.customer.speak.talk import MAX_REPLIES, PATIENCE, VARIANTS, Talk


class Customer(Answers):
    """A customer that plays a script, in one conversation.

    It opens with a request, identifies itself and gives details when asked, answers choices, confirms a
    proposal only if nothing in it contradicts its goal, corrects wrong values, changes its mind if its script
    says so, accepts refusals of forbidden requests, and ends with ``STOP``. It gives only details that were
    asked for; after a message that it cannot read, it asks what was meant or repeats its request. Reading a
    message (``hear``) and comparing it with the goal (``compare``) are separate from deciding what to answer,
    which is done here. The customer sees only the conversation, and gives up after repeated wrong proposals
    or many turns without progress.
    """

    def __init__(self) -> None:
        self._talk: Talk | None = None

    def start(self, script: Script, seed: int) -> str:
        """Start the conversation and return the first message; ``seed`` determines the wording."""
        self._talk = Talk(script, seed, speech.told_at_first(script))
        if script.opening == "all":
            self._introduce(frozenset())
        return speech.opening(script, self._pick)

    def answer(self, message: str) -> str:
        """Return the reply to the agent's ``message``; it contains ``STOP`` when the conversation is over."""
        talk = self._talk
        if talk is None or talk.over:
            return STOP
        talk.replies += 1
        if talk.replies >= MAX_REPLIES:
            return self._leave(speech.HOPELESS)
        heard = read(message)
        for variant in range(VARIANTS):
            self._talk = replace(talk, variant=variant, introduced=False)
            reply = speech.once(self._answer(heard, talk.introduced))
            if talk.said.count(reply) < 2:
                break
        else:
            reply = f"{reply} {self._pick(speech.BEFORE)}"
        assert self._talk is not None
        self._talk.said += (reply,)
        return reply

    def copy(self) -> Self:
        """Return an independent customer in the same state."""
        twin = type(self)()
        twin._talk = None if self._talk is None else replace(self._talk)
        return twin

    # --- the dialogue policy --------------------------------------------------------------------

    def _answer(self, heard: MessageReading, introduced: bool) -> str:
        """Return the reply; ``introduced``: the user's last message stated its identity."""
        goal = self._goal
        if heard.slips and not check.names_target(heard.claims, goal, self._script):
            heard = heard.with_slips()  # the proposal may be in the sentence about the mistake
        identity = heard.asks & IDENTITY
        if heard.transfer:
            return self._leave(speech.TRANSFERRED)
        heard = heard.besides_transfer() if heard.transfer_offer and not goal.forbidden else heard
        if heard.transfer_offer:
            if goal.kind == "other":
                return self._say_again(self._pick(speech.GO_ON))
            return self._refused(heard, goal) if goal.forbidden else self._object(["kind"])
        if self._now.refusals and any(signals.GIVE_UP.search(unit.text) for unit in heard.offers):
            return self._next(speech.ACCEPT)
        doubts = covered.doubts(heard, goal, self._script, self._now.agreed)
        if doubts and not (heard.not_found or (heard.refused and goal.forbidden)):
            return self._doubt(doubts, heard, goal)
        if self._reported(heard, goal):
            wrong = check.misreported(heard, goal, self._script, self._now.goal, self._now.agreed)
            return self._object(wrong) if wrong else self._next(speech.THANKS)
        if "request" in heard.asks and heard.confirm and not self._names_goal(heard, goal):
            heard = replace(heard, confirm=False)  # "could you walk me through it?"
        proposes = (
            heard.confirm
            and not (identity or wants_identity(joined(heard.proposed)))
            and (actions.fits(joined(heard.claims), goal) or check.known_slots(heard.text, goal))
        )
        if (
            not proposes
            and heard.not_found
            and (identity or not _about(heard.text, ("order", "reservation", "item", "product")))
        ):
            return self._identify_again(heard, goal)
        if self._now.given and not proposes and heard.unidentified(introduced and not heard.confirm):
            return self._identify_again(heard, goal)
        if self._known_identity(heard):
            return self._tell(
                heard.asks, f"{self._pick(speech.CORRECT)} {self._details(heard, {'request'}, goal)}"
            )
        if identity:
            return self._identify(heard, goal)
        if goal.kind == "ask" and outcome.answers(heard.claims, goal):
            return self._next(speech.THANKS)
        if heard.refused and not heard.confirm:
            return self._refused(heard, goal)
        announced = heard.announced and not heard.asks and self._names_goal(heard, goal)
        if heard.confirm or announced or check.awaits_yes(heard, goal, self._script):
            return self._proposed(heard, goal)
        return self._asked(heard, goal)

    def _asked(self, heard: MessageReading, goal: Goal) -> str:
        """Answer a message that proposes nothing: questions, choices, notes, or nothing readable."""
        if covered.puzzles(heard, goal, self._script):
            return self._say_again(self._pick(speech.UNSURE))
        topics, told = self._told(heard, goal)
        if told:
            answered = {topic for topic in topics if speech.details([{topic}], goal, self._pick)}
            if "payment" in answered <= {"payment", "complete"}:
                wrong = check.passed_over(heard, goal, self._script, self._now.goal)
                if wrong:
                    return self._object(wrong, told)
            return self._tell(topics, told)
        pending = goal.kind != "ask" and not self._now.agreed
        if pending and heard.reports and outcome.reports_something(heard.reports):
            wrong = check.misreported(heard, goal, self._script, self._now.goal)
            if wrong and (self._now.objected or outcome.finishes(heard.reports)):
                return self._object(wrong)
            self._now.vague += 1
            return self._restate(goal, speech.DONE)
        if heard.more:
            if self._now.agreed and goal.kind != "ask":
                return self._next(speech.THANKS)
            return self._restate(goal, speech.HEARD)
        if heard.wait or (self._now.agreed and not heard.asks):
            return self._say_again(self._pick(speech.WAIT))
        read_it = bool(heard.claims) and "unclear" not in heard.asks and len(heard.text.split()) > 3
        return self._restate(goal, speech.HEARD if read_it else speech.UNCLEAR)

    def _names_goal(self, heard: MessageReading, goal: Goal) -> bool:
        text = joined(heard.claims)
        return actions.fits(text, goal) or actions.names_action(text)

    def _reported(self, heard: MessageReading, goal: Goal) -> bool:
        """Return whether the agent says that the goal has been fulfilled.

        A goal that was not agreed counts as done only if the message reports its action and asks nothing.
        """
        if goal.kind == "ask":
            return False
        if not heard.reports:
            return self._now.agreed and check.tells_result(heard, goal, self._script)
        if not self._now.agreed and any(signals.WHAT_CHANGE.search(unit.text) for unit in heard.questions):
            return False
        if heard.confirm and not heard.more and not self._now.agreed:
            return False
        if outcome.reports_goal(heard.reports, goal):
            return self._now.agreed or not heard.asks - {"complete", "request", "unclear"}
        if actions.names_other(joined(heard.reports), goal):
            return False
        if self._now.agreed or self._now.vague > 0:
            return outcome.reports_something(heard.reports)
        return (
            not heard.asks - {"complete"}
            and check.states_target(heard.stated, goal, self._script)
            and not check.misreported(heard, goal, self._script, self._now.goal)
        )

    def _refused(self, heard: MessageReading, goal: Goal) -> str:
        if goal.fallback:
            return self._replace(goal.fallback, speech.THEN)
        if goal.forbidden:
            return self._next(speech.ACCEPT)
        if goal.change and goal.cabin:  # the payment method may not hold enough for the first cabin
            return self._replace(goal.change, speech.MIND)
        self._now.refusals += 1
        if self._now.refusals > 1:
            return self._next(speech.ACCEPT)
        topics, told = self._told(heard, goal)
        if topics <= {"payment", "complete"} and signals.SHORT.search(heard.text):
            told = ""  # the agent asks for another method, and the user has none
        return (
            told or f"{self._pick(speech.SURE)} {speech.want(goal, self._now.told | speech.CORE, self._pick)}"
        )

    def _proposed(self, heard: MessageReading, goal: Goal) -> str:
        claims = joined(heard.claims)
        if goal.kind in ("ask", "other"):
            if check.objections(heard.claims, goal, self._script, self._now.goal):
                return self._object(["kind"])
            return self._say_again(self._pick(speech.GO_ON))
        if any(signals.MEANT.search(unit.text) for unit in heard.offers) and not heard.announced:
            wrong = check.objections(heard.claims, goal, self._script, self._now.goal)
            if "record" in wrong:
                return self._object(["record"])
            if wrong := sorted(set(wrong) & check.TRAVEL):
                return self._object(wrong, self._details(heard, {"request", *wrong}, goal))
            told = self._details(heard, frozenset(), goal)
            return self._say_again(f"{self._pick(speech.THAT_ONE)} {told}".strip())
        proposed = joined(heard.proposed)
        offered = actions.names_other(proposed, goal) and not actions.fits(proposed, goal)
        if heard.refused and (
            offered
            or not (actions.fits(claims, goal) or check.states_target(heard.claims, goal, self._script))
        ):
            return self._refused(heard, goal)  # "I cannot cancel it. Would you like to return it instead?"
        if goal.change and (actions.fits(claims, goal) or not actions.names_action(claims)):
            return self._replace(goal.change, speech.MIND)
        wrong = check.objections(heard.claims, goal, self._script, self._now.goal)
        if wrong and set(wrong) <= heard.left_open:
            return self._tell(heard.asks | set(wrong), self._details(heard, {"request"}, goal))
        if wrong:
            return self._object(wrong, self._details(heard, {"request", *wrong}, goal))
        told = self._details(heard, {"request"}, goal)
        only = any(signals.ONLY.search(unit.text) for unit in heard.proposed)
        yes = f"{self._pick(speech.YES_ALL if only else speech.YES)} {told}".strip()
        named = actions.names_action(claims)
        if not named and not check.known_slots(claims, goal):
            if self._now.agreed:
                return self._say_again(yes)
            # the proposal names nothing, so the reply repeats the details that the user has given and
            # confirms
            self._now.agreed = _changes(heard.text)
            return self._say_again(yes if told else f"{yes} {speech.want(goal, self._now.told, self._pick)}")
        self._now.agreed = True
        if goal.items and not naming.names_items(heard.claims, goal) and "items" not in self._now.told:
            yes = f"{yes} {speech.details([{'items'}], goal, self._pick)}"
        return self._say_again(yes)

    def _doubt(self, doubts: Sequence[covered.Doubt], heard: MessageReading, goal: Goal) -> str:
        """Object by name to what the user did not ask for, and answer the message's open questions."""
        left = heard.without([doubt.unit for doubt in doubts])
        if any(WHO.search(doubt.unit.text) for doubt in doubts):
            return f"No, I am {self._script.person.first_name} {self._script.person.last_name}."
        objections = [text for doubt in doubts if (text := speech.objection(doubt.unit.text, doubt.start))]
        told = speech.identity(heard.asks, self._script.person, self._pick) if heard.asks & IDENTITY else ""
        rest = f"{told} {self._details(left, {'request'}, goal)}".strip()
        wrong = check.objections(heard.claims, goal, self._script, self._now.goal) if heard.confirm else []
        wrong = [topic for topic in wrong if topic != "kind"]
        if not objections:
            if wrong:
                return self._object(wrong, rest)
            return self._say_again(f"{self._pick(speech.UNSURE)} {rest}".strip())
        if all(text in speech.NOT_ALSO for text in objections) and self._reported(left, goal):
            return f"{objections[0]} {self._answer(left, introduced=False)}"
        self._now.objected += 1
        self._now.agreed = False
        if self._now.objected > PATIENCE:
            return self._leave(speech.HOPELESS)
        right = speech.correction(wrong, goal, self._now.told, self._pick) if wrong else ""
        again = f"{right} {rest}".strip() or speech.want(goal, self._now.told | speech.SHORT, self._pick)
        return f"{' '.join(dict.fromkeys(objections[:2]))} {again}"


def _about(text: str, words: Sequence[str]) -> bool:
    return any(word in text for word in words)


def _changes(text: str) -> bool:
    """Return whether a proposal without names is one to change something, not one to look something up."""
    return not _about(
        text, ("look", "check", "search", "find", "see", "pull up", "verify", "access", "review")
    )
