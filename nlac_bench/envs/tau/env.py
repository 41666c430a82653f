"""Defines the τ environments: a customer service agent talks to a user and changes a database with tools."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from nlac_bench.envs.call_markers import call_marker, named_call
from nlac_bench.envs.tau.actions import (
    EXAMPLE,
    RESPOND,
    CallAction,
    Invalid,
    parse_action,
    render_call,
    render_message,
)
from nlac_bench.envs.tau.answers import OutputAnswers
from nlac_bench.envs.tau.conduct import LOOK_UPS, Course, conduct
from nlac_bench.envs.tau.database import Database
from nlac_bench.envs.tau.domain import Domain, DomainName, GoldCall, Task, load_official
from nlac_bench.envs.tau.embedded import SPLITS, load_embedded
from nlac_bench.envs.tau.invoke import TRANSFER, invoke
from nlac_bench.envs.tau.reward import TauGrader
from nlac_bench.envs.tau.sampling import gather, random_call
from nlac_bench.envs.tau.selection import selected_tasks
from nlac_bench.envs.tau.shaping import RewardRule
from nlac_bench.envs.tau.users.base import User, UserKind
from nlac_bench.envs.tau.users.factory import REMOTE, default_user, make_user
from nlac_bench.envs.tau.users.models import prompt_hashes
from nlac_bench.envs.tau.users.offline import RecordedConversation, RepeatingUser
from nlac_bench.envs.tau.writes import WRITES, Write
from nlac_bench.envs.text_env import EndReason, Outcome, TextEnv
from nlac_bench.simulators.customer import STOP
from nlac_bench.thoughts import ANY_MARK, CONTROL_TOKEN
from nlac_bench.types import ChatFn, Info, ToolSchema

HANDED_OVER = render_call(TRANSFER, {"summary": "handed over"})


@dataclass(slots=True)
class ServiceState:
    """All state that changes during an episode."""

    task: Task
    db: Database
    user: User
    answers: OutputAnswers
    said: list[str] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    gold_done: int = 0
    """Number of gold calls that have been made in order; the oracle continues from there."""
    writes: tuple[Write, ...] = ()
    """The calls of tools that change the database, also those that a tool refused."""
    found_user: bool = False
    """Whether a tool has found the user before the first call that changed the database."""

    def copy(self) -> Self:
        """Return an independent copy."""
        return replace(
            self, db=self.db.fork(), user=self.user.copy(), answers=self.answers.copy(),
            said=list(self.said), heard=list(self.heard),
        )  # fmt: skip


class TauEnv(TextEnv):
    """Serve one user under a policy, with tools that read and change a database.

    The rules are those of τ-bench (Yao et al. 2024, arXiv 2406.12045).

    ## Action Space
    Text: a tool call as JSON, ``{"name": …, "arguments": {…}}``, else a message to the user. The grammar is
    that of ``nlac_bench.envs.tau.actions``.

    ## Observation Space
    Text: a tool's result for a call, the user's reply for a message.

    ## Starting State
    The user's first message. ``info`` has the policy and the tool schemas.

    ## Reward
    0 until the end, then 1 if the database equals the one after the gold actions and the user was told every
    required output, else 0. ``reward="original"`` searches outputs as τ-bench does, where "100" satisfies
    "10", and so does a list of all numbers. With ``"strict"``, a message must state the output as the answer:
    no other value of its kind competes (``nlac_bench.envs.tau.answers``). Both are in
    ``info["reward_parts"]`` at each graded end, with ``r_actions`` and ``r_outputs``; the graded parts of
    ``nlac_bench.envs.tau.conduct``, which say how decently the agent has worked, are there at each end. For
    training, ``shaped@{"consented": 0.2}`` adds to the default reward the weight times the difference between
    a part and its best value; boards refuse it.

    ## Episode End
    An episode ends when the user says ``###STOP###``, when the agent calls ``transfer_to_human_agents``, or
    after 30 steps, for which the reward is 0 without a comparison of databases, as in τ-bench.
    ``end_reason`` is ``success`` if the reward is 1, else the cause of the end: ``user_stop``,
    ``agent_stop`` or ``max_steps``.

    ## Information
    The keys of every ``TextEnv``; at reset also ``user``, the kind of user. A call has ``action_kind``
    ``tool``, and ``tool_error`` is the message of a tool that fails or does not exist. ``usage`` has the cost
    of the user's model by role; the cost of the opening message is reported with the first step.

    ## Users
    * ``scripted`` needs no model; it replies from the task's intent. It can play the embedded tasks and the
      training split of official retail.
    * ``llm``, ``react``, ``verify`` and ``reflection`` are τ-bench's strategies and need a ``chat``.
    * ``replay`` repeats recorded conversations.
    * ``human`` asks at the terminal.
    * ``none`` says a fixed line and stops, so that the oracle and the floors can play tasks that have no
      other user. ``floors_only`` is then True; the score of any other agent is meaningless.

    ## Arguments
    * ``split``: ``train``, ``validation`` or ``test``, which have no user, order or reservation in common.
      Official retail has ``train``, ``dev`` and ``test``, official airline ``test`` only.
    * ``data``: ``embedded`` (made by this project), ``official``, or a folder in the official format.
      In the official airline, a change of flights keeps the old cabin in the reservation; in the embedded
      airline, it stores the new cabin.
    * ``level``: ``easy``, ``medium`` or ``hard``: plays only the embedded tasks of that level.
    * ``user``: the kind of user. The default is ``scripted`` if the tasks have one, else ``llm`` with a
      ``chat`` and ``none`` without.
    * ``chat``: function that calls the model of users that have one.
    * ``reward``: ``original``, ``strict`` or ``shaped@`` with weights of the graded parts as JSON: positive
      ones of ``identified`` and ``consented``, negative ones of ``violations``, ``needless_transfer`` and
      ``steps_over_oracle``. The default is ``strict`` for embedded data and ``original`` for others.
    * ``tasks``: the ids (or indices) to play, or ``clean``: all except those whose gold answer is known to
      be wrong.
    * ``replies``: for ``replay``, a file of JSON lines, each the return value of ``conversation()``.
    * ``render_mode``: ``ansi`` makes ``render()`` return the conversation.

    Raises:
        DataError: the data folder is incomplete or was altered.
        UnknownIdError: there is no such split, level or task.
        ValueError: arguments contradict each other; the message names them and the reason.
        EnvInfraError: on reset or step, the user's model or record does not answer.

    ## Version History
    * v0: first release. Its ``env_version`` is "1" since the scripted users read messages by their structure,
      compare the proposed state only and say only what they were asked. Results of version 0 were measured
      with users that misunderstood thorough agents. It is "2" since they answer all questions of a message,
      compare a report in full, object to wrong values beside a question about the payment, and vary the reply
      to a repeated message. It is "3" since they object to what they did not ask for: other actions, fees,
      and facts about themselves that are not true. It is "4" since a text with the marker of a native tool
      call that is not read here is an invalid action, and since the first action of a text in ReAct's form
      counts, also if its markers are in bold or in another case. In ``tau_airline`` it is "5" since users who
      want another cabin in the end say so also if the first one is refused.
    """

    env_version: ClassVar[str] = "4"
    max_steps = 30
    domain_name: ClassVar[DomainName]
    floors_only: bool
    """Whether the user is ``none``: a harness should then reject agents other than floors and the oracle."""

    def __init__(
        self,
        *,
        split: str = "test",
        data: str | os.PathLike[str] = "embedded",
        level: Literal["easy", "medium", "hard"] | None = None,
        user: UserKind | None = None,
        chat: ChatFn | None = None,
        reward: str | None = None,
        tasks: Literal["clean"] | Sequence[str | int] | None = None,
        replies: str | os.PathLike[str] | None = None,
        render_mode: str | None = None,
    ) -> None:
        default = "strict" if data == "embedded" else "original"
        self._rule = RewardRule.parse(default if reward is None else reward, default)
        if chat is not None and not callable(chat):
            raise TypeError(f"chat must be a function that calls a model, got {chat!r:.80}")
        name = self.domain_name
        if data == "embedded":
            domain, self.splits = load_embedded(name, split), SPLITS
        else:
            domain = load_official(name, data)
            self.splits = tuple(domain.tasks)
        self._serve(domain, selected_tasks(domain, split, level, tasks), split, render_mode)
        self.user_kind = user or default_user(self.domain, split, chat)
        self._new_user = make_user(self.user_kind, self.domain, split, chat=chat, replies=replies)
        self.floors_only = self.user_kind == "none"
        self.remote = self.user_kind in REMOTE

    def _serve(self, domain: Domain, tasks: Sequence[Task], split: str, render_mode: str | None) -> None:
        """Set what is played and graded: ``tasks`` of ``split`` in ``domain``."""
        self.domain = domain
        self.tasks = {task.task_id: task for task in tasks}
        super().__init__(
            task_ids=tuple(self.tasks), split=split, source=domain.source, render_mode=render_mode
        )
        self._grader = TauGrader(domain)
        self._tool_names = [RESPOND] + [str(tool.get("function", tool)["name"]) for tool in domain.tools]

    def conversation(self) -> RecordedConversation:
        """Return the conversation so far, as a line of the file that ``user="replay"`` reads."""
        state = self._state
        first, *replies = state.heard
        return {
            "task_id": state.task.task_id,
            "first": first,
            "turns": [list(turn) for turn in zip(state.said, replies, strict=True)],
        }

    # --- playing --------------------------------------------------------------------------------

    async def areset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[str, Info]:
        """Reset the environment; ``info`` also names the kind of ``user``."""
        observation, info = await super().areset(seed=seed, options=options)
        return observation, {**info, "user": self.user_kind}

    async def _begin(self, task_id: str) -> str:
        task = self.tasks[task_id]
        user = self._new_user.copy()
        first = await user.begin(task, np.random.default_rng(self.np_random.integers(2**63)))
        answers = OutputAnswers(task.outputs, self.domain.policy)
        answers.hear(first)
        self._state = ServiceState(task, self.domain.new_database(), user, answers, heard=[first])
        return first

    async def _respond(self, action: str) -> Outcome:
        parsed = parse_action(action)
        if isinstance(parsed, Invalid):
            return self._invalid(parsed.problem)
        if isinstance(parsed, CallAction):
            return self._call(parsed)
        said = parsed.content
        written = f"Action: {said}" if parsed.labelled else said
        if marker := call_marker(said) or named_call(written, self._tool_names):
            return self._invalid(
                f"Invalid action: the text contains {marker!r}, which belongs to a tool call in a format "
                "that is not read here, so it was not sent to the user. Call a tool with one JSON object "
                f"such as {EXAMPLE}."
            )
        if mark := CONTROL_TOKEN.search(said) or ANY_MARK.search(said):
            return self._invalid(
                f"Invalid action: the text contains {mark[0]!r}, so it was not sent to the user. Write plain "
                "text."
            )
        return await self._say(said)

    async def _say(self, message: str) -> Outcome:
        state = self._state
        reply = await state.user.reply(message)
        state.said.append(message)
        state.heard.append(reply)
        state.answers.say(message)
        state.answers.hear(reply)
        outcome = Outcome(reply)
        outcome.usage, state.user.usage = state.user.usage, {}
        if STOP in reply:
            self._grade(outcome, "user_stop")
        return outcome

    def _call(self, call: CallAction) -> Outcome:
        state = self._state
        before = state.db.fork() if call.name in WRITES[self.domain_name] else None
        result = invoke(self._grader.tools, state.db, call.name, call.arguments)
        state.answers.call(call.arguments, result.observation, failed=result.error)
        if before is not None:
            write = Write(call.name, call.arguments, before, len(state.said), result.error, state.writes)
            state.writes = (*state.writes, write)
        elif not result.error and all(write.failed for write in state.writes):
            state.found_user |= self._finds_user(call, result.observation)
        gold = self.gold_calls()
        if state.gold_done < len(gold):
            due = gold[state.gold_done]
            state.gold_done += (due.name, due.kwargs) == (call.name, call.arguments)
        outcome = Outcome(result.observation, action_kind="tool", tool_name=call.name)
        if result.error:
            outcome.tool_error = result.observation
        if result.done:
            self._grade(outcome, "agent_stop")
        return outcome

    def _finds_user(self, call: CallAction, found: str) -> bool:
        """Return whether a call without an error was a look-up that found the user of the task."""
        user_id = self._state.task.user_id
        if call.name not in LOOK_UPS[self.domain_name]:
            return False
        return user_id in (found, call.arguments.get("user_id"))

    def _grade(self, outcome: Outcome, stopped_by: EndReason) -> None:
        state = self._state
        parts = self._grader.judge(state.task, state.db, state.said, state.answers).parts()
        parts |= self._conduct(transferred=stopped_by == "agent_stop")
        outcome.reward_parts = parts
        outcome.reward = self._rule.reward(parts)
        outcome.success = parts[self._rule.part] == 1.0
        outcome.end_reason = "success" if outcome.success else stopped_by

    def _out_of_steps(self, outcome: Outcome) -> Outcome:
        """Return reward 0 without grading, as in the original, whose agents stop at the limit."""
        parts = {"original": 0.0, "strict": 0.0, **self._conduct(transferred=False)}
        outcome.reward_parts, outcome.reward = parts, self._rule.reward(parts)
        return super()._out_of_steps(outcome)

    def _conduct(self, transferred: bool) -> dict[str, float]:
        """Return the graded parts of the reward at the end of an episode."""
        state = self._state
        course = Course(
            self.domain_name, state.task, state.said, state.heard, state.writes, state.found_user,
            self._steps, transferred,
        )  # fmt: skip
        return conduct(course)

    def policy(self) -> str:
        """Return the domain's policy."""
        return self.domain.policy

    def tools(self) -> Sequence[ToolSchema]:
        """Return the schemas of the domain's tools."""
        return self.domain.tools

    def conditions(self) -> dict[str, Any]:
        """Return the user, the hashes of its prompts, and the reward rule."""
        return {
            "user": self.user_kind,
            "user_prompts": prompt_hashes(self.user_kind),
            "reward": self._rule.name,
        }

    def repeat_user(self) -> RepeatingUser:
        """Replace the user of the following episodes by one that repeats messages, and return it."""
        self._new_user = user = RepeatingUser()
        self.user_kind, self.remote = user.kind, False
        return user

    def describe_state(self) -> dict[str, Any]:
        """Return the rows of the database that were changed; see ``Database.changed``."""
        return {"rows": self._state.db.changed()}

    # --- players without a model ----------------------------------------------------------------

    def oracle_action(self) -> str:
        """Return the next gold call; after the last, a message with all required outputs; then a transfer."""
        state = self._state
        gold = self.gold_calls()
        if state.gold_done < len(gold):
            call = gold[state.gold_done]
            return render_call(call.name, call.kwargs)
        closing = "\n".join(("That is all done.", *state.task.outputs))
        hands_over = any(call.name == TRANSFER for call in state.task.actions)
        if closing in state.said or (hands_over and not state.task.outputs):
            return HANDED_OVER
        return render_message(closing)

    def gold_calls(self) -> list[GoldCall]:
        return [call for call in self._state.task.actions if call.name not in (TRANSFER, RESPOND)]

    def random_action(self, rng: np.random.Generator) -> str:
        """Return a call with arguments drawn by schema and from observed values, or sometimes a message."""
        if rng.random() < 0.15:
            texts = ("Could you tell me more?", "Do you want me to go ahead?", "Done. Anything else?", "No.")
            return texts[int(rng.integers(len(texts)))]
        pool = gather(m["content"] for m in self._conversation if m["role"] == "user")
        return render_call(*random_call(rng, self.domain.tools, pool))

    def constant_actions(self) -> Sequence[str]:
        """Return the transfer call, and messages that may end a conversation."""
        return (
            HANDED_OVER,
            "",
            "I am sorry, I cannot help you with that.",
            "Yes.",
            "That is done. Is there anything else?",
            "Goodbye.",
        )


class TauRetailEnv(TauEnv):
    __doc__ = TauEnv.__doc__
    name = "tau_retail"
    domain_name = "retail"


class TauAirlineEnv(TauEnv):
    __doc__ = TauEnv.__doc__
    name = "tau_airline"
    domain_name = "airline"
    env_version: ClassVar[str] = "5"
