"""The chat prompt style for real models: instructions in natural language (files in ``agents/prompts``)."""

import json
import re
from collections.abc import Sequence

from nlac_bench.agents.prompted import spoken
from nlac_bench.agents.prompts import PACKAGED, PromptFiles
from nlac_bench.agents.roles.role_prompts import Critique, Outcome, Prompt
from nlac_bench.agents.roles.transition import State, Transition, beyond_success, earned
from nlac_bench.types import Message

FILES = (
    "react_tools",
    "react_plain",
    "tool_result",
    "nlac_successor",
    "nlac_backup",
    "nlac_evaluator",
    "nlac_refiner",
    "nlrl_aggregator",
    "nlrl_picker",
)
_OUTCOME = re.compile(r"^\W*outcome\W*\s(success|failure)\W*$", re.IGNORECASE | re.MULTILINE)
_OPTIMAL = re.compile(r"^\W*optimal\W*\s(yes|no)\b", re.IGNORECASE | re.MULTILINE)
_REASONED = re.compile(
    r"^\W*reasoning:\s*(.*?)^\W*prediction:\s*(.*)", re.IGNORECASE | re.MULTILINE | re.DOTALL
)
_THOUGHT = re.compile(r"^\W*thought:\s*(.*?)^\W*(action:.*)", re.IGNORECASE | re.MULTILINE | re.DOTALL)
_BEST = re.compile(r"^\W*best\W*\s(\d{1,2})\b", re.IGNORECASE | re.MULTILINE)
MAX_ANSWER_CHARS = 20_000
HEARD = 6
"""Number of the environment's answers that hindsight quotes."""


class ChatPrompts:
    """``RolePrompts`` in natural language. The policy's prompt is that of the agent ``react``.

    A model that writes thoughts is also trained on thoughts: the reasons of a target become its thought. The
    prompts of backup and refiner therefore ask for reasons without facts that were unknown at the time (what
    the user answered becomes what the user may answer).

    Args:
        thinks: the model writes ``<think>…</think>`` before its answer.
        opens: the model's chat template ends with ``<think>``.
        files: the prompt files.
    """

    grows = True

    def __init__(self, thinks: bool = False, opens: bool = False, files: PromptFiles = PACKAGED) -> None:
        self.thinks, self._files = thinks, files
        self._opening = "<think>\n" if opens else ""

    def policy(self, state: State) -> Prompt:
        """Return the prompt for an action."""
        messages: list[Message] = [{"role": "system", "content": self._setting(state)}]
        for message in state.messages:
            text = str(message["content"])
            if message["role"] == "user" and message.get("kind") in ("tool", "invalid"):
                text = self._files.fill("tool_result", observation=text)
            messages.append({"role": message["role"], "content": text})
        return Prompt(tuple(messages), opening=self._opening)

    def successor(self, state: State, action: str) -> Prompt:
        """Return the prompt for M(d | s, a)."""
        return self._ask("nlac_successor", state, action=_visible(action))

    def backup(self, transition: Transition, next_action: str, next_future: str) -> Prompt:
        """Return the prompt for B(s, a, r, s′, d′).

        Raises:
            ValueError: ``transition`` has no next state.
        """
        following = transition.next_state
        if following is None:
            raise ValueError("the last transition of an episode has no next state; use hindsight")
        return self._ask(
            "nlac_backup",
            transition.state,
            action=_visible(transition.action),
            answer=following.observation + earned(transition),
            next_action=_visible(next_action),
            next_future=_visible(next_future),
        )

    @property
    def explains(self) -> bool:
        """Whether the model writes thoughts."""
        return self.thinks

    def ending(self, transition: Transition, target: str) -> Prompt:
        """Return the backup prompt in which nothing follows the environment's last answer."""
        return self._ask(
            "nlac_backup",
            transition.state,
            action=_visible(transition.action),
            answer=(transition.last_words or "nothing") + earned(transition),
            next_action="None: the task ended with that answer.",
            next_future=_visible(target),
        )

    def parse_ending(self, written: str, target: str) -> str | None:
        """Return ``target`` with the reasons in ``written`` as its thought."""
        text = _visible(written)
        match = _REASONED.search(text)
        if match is None or len(text) > MAX_ANSWER_CHARS or self.outcome(text) != self.outcome(target):
            return None
        return self._with_thought(match[1].strip(), _visible(target))

    def hindsight(self, answers: Sequence[str], success: bool, reward: float | None = None) -> str:
        """Return the environment's next answers, the reward if it says more than success, and the outcome."""
        shown = [" ".join(words.split())[:300] or "nothing" for words in answers[:HEARD]]
        if len(answers) == 1:
            reason, future = "This action ends the task.", f"The task ends with this action: {shown[0]}"
        else:
            reason = f"After this action the task goes on for {len(answers) - 1} more steps."
            future = f"The answer would be: {shown[0]}\nThen: " + "\nThen: ".join(shown[1:])
        if total := beyond_success(reward, success):
            future += f"\nThe rewards of the whole task add up to {total}."
        return self._with_thought(reason, f"{future}\nOutcome: {'success' if success else 'failure'}")

    def evaluator(self, state: State, action: str, futures: Sequence[str]) -> Prompt:
        """Return the prompt for E(s, a, d¹…dᵏ)."""
        listed = "\n\n".join(f"Prediction {i}:\n{_visible(future)}" for i, future in enumerate(futures, 1))
        return self._ask("nlac_evaluator", state, action=_visible(action), futures=listed)

    def refiner(self, state: State, action: str, critique: Critique) -> Prompt:
        """Return the prompt for π_r(· | s, a, critique)."""
        return self._ask("nlac_refiner", state, action=_visible(action), critique=critique.text)

    def aggregator(self, state: State, action: str, futures: Sequence[str]) -> Prompt:
        """Return the prompt for a language value from K futures of one action (NLRL)."""
        listed = "\n\n".join(f"Course {i}:\n{_visible(future)}" for i, future in enumerate(futures, 1))
        return self._ask("nlrl_aggregator", state, action=_visible(action), futures=listed)

    def picker(self, state: State, candidates: Sequence[tuple[str, str]]) -> Prompt:
        """Return the prompt for the number of the best (action, value) pair (NLRL)."""
        listed = "\n\n".join(
            f"Candidate {i}:\n{_visible(action)}\nWhat it leads to:\n{_visible(value)}"
            for i, (action, value) in enumerate(candidates, 1)
        )
        return self._ask("nlrl_picker", state, candidates=listed)

    def parse_action(self, written: str) -> str | None:
        """Return the whole answer, including thoughts; None if it is empty."""
        return written.strip() or None

    def parse_refined(self, written: str) -> str | None:
        """Return the refiner's action without the refiner's thoughts, which refer to the critique."""
        text = _visible(written)
        match = _THOUGHT.search(text)
        if match is None:
            return None
        return self._with_thought(match[1].strip(), match[2].strip()) if self.thinks else match[0].strip()

    def parse_future(self, written: str) -> str | None:
        """Return the prediction, with its reasons as a thought if the model writes thoughts."""
        text = _visible(written)
        if len(text) > MAX_ANSWER_CHARS or self.outcome(text) is None:
            return None
        match = _REASONED.search(text)
        return text if match is None else self._with_thought(match[1].strip(), match[2].strip())

    def parse_critique(self, written: str) -> Critique | None:
        """Return the critique if the answer contains a verdict."""
        text = _visible(written)
        match = _OPTIMAL.search(text)
        if match is None or len(text) > MAX_ANSWER_CHARS:
            return None
        return Critique(optimal=match[1].lower() == "yes", text=text)

    def parse_pick(self, written: str, candidates: int) -> int | None:
        """Return the last number after ``Best:`` as an index from 0."""
        numbers = _BEST.findall(_visible(written))
        number = int(numbers[-1]) if numbers else 0
        return number - 1 if 1 <= number <= candidates else None

    def outcome(self, future: str) -> Outcome | None:
        """Return the last outcome that ``future`` names."""
        outcomes = _OUTCOME.findall(_visible(future))
        if not outcomes:
            return None
        return "success" if outcomes[-1].lower() == "success" else "failure"

    def with_outcome(self, future: str, outcome: Outcome) -> str:
        """Return ``future`` with ``outcome`` as the last outcome that it names."""
        *_, last = _OUTCOME.finditer(future)
        return future[: last.start(1)] + outcome + future[last.end(1) :]

    def heard(self, action: str, state: State) -> str:
        """Return the text without thoughts if the environment has tools, else the text after ``Action:``."""
        return _visible(action) if state.tools else spoken(action)

    def hashes(self) -> dict[str, str]:
        """Return the sha256 of each prompt file."""
        return {name: self._files.sha256(name) for name in FILES}

    def _ask(self, name: str, state: State, **parts: str) -> Prompt:
        lines = []
        for message in state.messages:
            kind = message.get("kind")
            who = "Agent" if message["role"] == "assistant" else "Tool result" if kind == "tool" else "User"
            lines.append(f"{who}: {_visible(str(message['content']))}")
        text = self._files.fill(name, setting=self._setting(state), conversation="\n\n".join(lines), **parts)
        return Prompt(({"role": "user", "content": text},), opening=self._opening)

    def _setting(self, state: State) -> str:
        if not state.tools:
            return self._files.fill("react_plain", policy=state.policy)
        tools = "\n".join(json.dumps(tool.get("function", tool), ensure_ascii=False) for tool in state.tools)
        return self._files.fill("react_tools", policy=state.policy, tools=tools)

    def _with_thought(self, thought: str, answer: str) -> str:
        return f"<think>\n{thought}\n</think>\n\n{answer}" if self.thinks else answer


def _visible(text: str) -> str:
    """Return ``text`` without thoughts."""
    return text[text.rfind("</think>") + len("</think>") :].strip() if "</think>" in text else text.strip()
