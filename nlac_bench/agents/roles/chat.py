"""The chat prompt style for real models: instructions in natural language (files in ``agents/prompts``)."""

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Literal, TypeAlias

from nlac_bench.agents.prompted import spoken
from nlac_bench.agents.prompts import PACKAGED, PromptFiles
from nlac_bench.agents.roles import chat_answers, chat_forms
from nlac_bench.agents.roles.role_prompts import Critique, Outcome, Prompt
from nlac_bench.agents.roles.transition import State, Transition, beyond_success, earned
from nlac_bench.envs import react
from nlac_bench.rollout.engines.forms import Form
from nlac_bench.thoughts import drop_reasoning
from nlac_bench.types import Message

ChatStyle: TypeAlias = Literal["react", "act"]
"""The prompted agent whose prompt the policy has."""
_ROLE_FILES = (
    "tool_result",
    "role_system",
    "nlac_successor",
    "nlac_backup",
    "nlac_evaluator",
    "nlac_refiner",
    "nlrl_aggregator",
    "nlrl_picker",
)
FILES = ("react_tools", "react_plain", *_ROLE_FILES)
"""The prompt files of a method; those of the agent ``act`` are named after it."""
EXAMPLE = "\n\nAn example of the form"
"""The beginning of the last part of a role's prompt; it is left out if the model fills in a form."""
MAX_ANSWER_CHARS = 20_000
HEARD = 6
"""Number of the environment's answers that hindsight quotes."""


class ChatPrompts:
    """``RolePrompts`` in natural language. The policy's prompt is that of a prompted agent.

    A model that writes thoughts is also trained on thoughts: the reasons of a target become its thought. The
    prompts of backup and refiner therefore ask for reasons without facts that were unknown at the time (what
    the user answered becomes what the user may answer).

    Args:
        thinking: how the model thinks before its answer. Only thoughts in ``<think>…</think>`` are trained.
        files: the prompt files.
        filled: the model fills in the forms of ``chat_forms``; if not, or if its thoughts are ``marked``
            otherwise, it writes whole answers.
        one_line: see ``TextEnv.one_line``.
        style: the prompted agent whose prompt is that of the policy.
    """

    grows = True

    def __init__(
        self,
        thinking: chat_forms.Thinking = "never",
        files: PromptFiles = PACKAGED,
        filled: bool = True,
        one_line: bool = False,
        style: ChatStyle = "react",
    ) -> None:
        self.thinking, self.one_line, self._files, self._style = thinking, one_line, files, style
        self.thinks = thinking in ("first", "opened")
        self.filled = filled and thinking != "marked"
        self._opening = "<think>\n" if thinking == "opened" else ""

    def with_forms(self, filled: bool, one_line: bool = False) -> "ChatPrompts":
        """Return the same prompts with or without forms."""
        return ChatPrompts(self.thinking, self._files, filled, one_line, self._style)

    def policy(self, state: State) -> Prompt:
        """Return the prompt for an action."""
        messages: list[Message] = [{"role": "system", "content": self._setting(state)}]
        for message in state.messages:
            text = str(message["content"])
            if message["role"] == "user" and message.get("kind") in ("tool", "invalid"):
                text = self._files.fill("tool_result", observation=text)
            messages.append({"role": message["role"], "content": text})
        form = chat_forms.policy(self.thinking) if self._style == "react" else None
        return Prompt(tuple(messages), opening=self._opening, form=form)

    def successor(self, state: State, action: str) -> Prompt:
        """Return the prompt for M(d | s, a)."""
        return self._ask("nlac_successor", state, chat_forms.SUCCESSOR, action=drop_reasoning(action))

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
            chat_forms.REASONED,
            action=drop_reasoning(transition.action),
            answer=following.observation + earned(transition),
            next_action=drop_reasoning(next_action),
            next_future=drop_reasoning(next_future),
        )

    @property
    def explains(self) -> bool:
        """Whether the model writes thoughts."""
        return self.thinks

    @property
    def explains_episodes(self) -> bool:
        """False: a thought is about one action, and may not tell what was heard later."""
        return False

    def ending(self, transition: Transition, target: str) -> Prompt:
        """Return the backup prompt in which nothing follows the environment's last answer."""
        return self._ask(
            "nlac_backup",
            transition.state,
            chat_forms.REASONED,
            action=drop_reasoning(transition.action),
            answer=(transition.last_words or "nothing") + earned(transition),
            next_action="None: the task ended with that answer.",
            next_future=drop_reasoning(target),
        )

    def parse_ending(self, written: str, target: str) -> str | None:
        """Return ``target`` with the reasons in ``written`` as its thought."""
        text = drop_reasoning(written)
        parts = chat_answers.reasoned(text)
        if parts is None or self._unusable(text) or self.outcome(text) != self.outcome(target):
            return None
        return self._with_thought(parts[0], drop_reasoning(target))

    def hindsight(self, answers: Sequence[str], success: bool, reward: float | None = None) -> str:
        """Return the environment's next answers, the reward if it says more than success, and the outcome."""
        shown = [" ".join(words.split())[:300] or "nothing" for words in answers[:HEARD]]
        if len(answers) == 1:
            reason, future = "This action ends the task.", f"The task ends with this action: {shown[0]}"
        else:
            reason = f"After this action the task goes on for {len(answers) - 1} more steps."
            future = f"The answer would be: {shown[0]} Then: " + " Then: ".join(shown[1:])
        if total := beyond_success(reward, success):
            future += f" The rewards of the whole task add up to {total}."
        outcome = "success" if success else "failure"
        return self._with_thought(reason, f"Prediction: {future}\nOutcome: {outcome}")

    def evaluator(self, state: State, action: str, futures: Sequence[str]) -> Prompt:
        """Return the prompt for E(s, a, d¹…dᵏ)."""
        listed = "\n\n".join(
            f"Prediction {i}:\n{drop_reasoning(future)}" for i, future in enumerate(futures, 1)
        )
        parts = {"action": drop_reasoning(action), "futures": listed}
        return self._ask("nlac_evaluator", state, chat_forms.EVALUATOR, **parts)

    def refiner(self, state: State, action: str, critique: Critique) -> Prompt:
        """Return the prompt for π_r(· | s, a, critique)."""
        parts = {"action": drop_reasoning(action), "critique": critique.text}
        return self._ask("nlac_refiner", state, chat_forms.refiner(self.one_line), **parts)

    def aggregator(self, state: State, action: str, futures: Sequence[str]) -> Prompt:
        """Return the prompt for a language value from K futures of one action (NLRL)."""
        listed = "\n\n".join(f"Course {i}:\n{drop_reasoning(future)}" for i, future in enumerate(futures, 1))
        parts = {"action": drop_reasoning(action), "futures": listed}
        return self._ask("nlrl_aggregator", state, chat_forms.REASONED, **parts)

    def picker(self, state: State, candidates: Sequence[tuple[str, str]]) -> Prompt:
        """Return the prompt for the number of the best (action, value) pair (NLRL)."""
        listed = "\n\n".join(
            f"Candidate {i}:\n{drop_reasoning(action)}\nWhat it leads to:\n{drop_reasoning(value)}"
            for i, (action, value) in enumerate(candidates, 1)
        )
        return self._ask("nlrl_picker", state, chat_forms.picker(len(candidates)), candidates=listed)

    def parse_action(self, written: str) -> str | None:
        """Return the answer up to the end of its first action, including thoughts.

        None if the answer or the action is empty, or if the action is a copy of the prompt's.
        """
        thought, text = _split(written)
        parts = chat_answers.thought_and_action(text)
        if parts is None:
            return written.strip() or None
        end = react.first_action(text)
        assert end is not None
        return (thought + text[: end[2]]).strip() if self._is_action(parts[1]) else None

    def parse_refined(self, written: str) -> str | None:
        """Return the refiner's action in the form of the policy's prompt.

        The refiner's own thoughts, which refer to the critique, are left out.
        """
        parts = chat_answers.thought_and_action(drop_reasoning(written))
        if parts is None or not self._is_action(parts[1]) or self._unusable(f"Thought: {parts[0]}"):
            return None
        return self.reply(parts[1], parts[0])

    def reply(self, action: str, thought: str = "") -> str:
        """Return the reply to the policy's prompt that takes ``action``."""
        action = action if self._bare else f"Action: {action}"
        if self.thinks:
            return self._with_thought(thought, action)
        return f"Thought: {thought}\n{action}" if thought and not self._bare else action

    def parse_future(self, written: str) -> str | None:
        """Return the prediction, with its reasons as a thought if the model writes thoughts."""
        text = drop_reasoning(written)
        if self._unusable(text) or self.outcome(text) is None:
            return None
        parts = chat_answers.reasoned(text)
        return text if parts is None else self._with_thought(*parts)

    def parse_critique(self, written: str) -> Critique | None:
        """Return the critique if the answer contains a verdict."""
        text = drop_reasoning(written)
        optimal = chat_answers.verdict(text)
        return None if optimal is None or self._unusable(text) else Critique(optimal, text)

    def parse_pick(self, written: str, candidates: int) -> int | None:
        """Return the number after ``Best:`` as an index from 0."""
        number = chat_answers.number(drop_reasoning(written)) or 0
        return number - 1 if 1 <= number <= candidates else None

    def outcome(self, future: str) -> Outcome | None:
        """Return the outcome that ``future`` names; None if it names none or both."""
        match = chat_answers.outcome_place(drop_reasoning(future))
        if match is None:
            return None
        return "success" if match[1].lower() == "success" else "failure"

    def heard(self, action: str, state: State) -> str:
        """Return the text without thoughts if the environment has tools, else the text after ``Action:``."""
        return drop_reasoning(action) if state.tools else spoken(action)

    def hashes(self) -> dict[str, str]:
        """Return the sha256 of each prompt file."""
        return {name: self._files.sha256(name) for name in self._names}

    def _ask(self, name: str, state: State, form: Form, **parts: str) -> Prompt:
        lines = []
        for message in state.messages:
            kind = message.get("kind")
            who = "Agent" if message["role"] == "assistant" else "Tool result" if kind == "tool" else "User"
            lines.append(f"{who}: {drop_reasoning(str(message['content']))}")
        text = self._files.fill(name, setting=self._setting(state), conversation="\n\n".join(lines), **parts)
        if self.filled:  # small models copy the example, which a form makes unnecessary
            text = text.rpartition(EXAMPLE)[0] or text
        messages = (
            {"role": "system", "content": self._files.load("role_system")},
            {"role": "user", "content": text},
        )
        if self.thinks:
            form = chat_forms.after_thought(form, opened=bool(self._opening))
        return Prompt(messages, opening=self._opening, form=form if self.filled else None)

    @property
    def _names(self) -> tuple[str, ...]:
        """The names of the prompt files."""
        return (f"{self._style}_tools", f"{self._style}_plain", *_ROLE_FILES)

    @cached_property
    def _bare(self) -> bool:
        """Whether the policy's prompt asks for the action alone, as some environments' prompts do."""
        return "Action:" not in self._files.load(f"{self._style}_plain")

    @cached_property
    def _examples(self) -> frozenset[str]:
        """The values of labelled lines in the prompts, which an answer must not repeat."""
        return frozenset(
            value for name in self._names for value in chat_answers.values(self._files.load(name))
        )

    def _unusable(self, text: str) -> bool:
        return len(text) > MAX_ANSWER_CHARS or chat_answers.copies(text, self._examples)

    def _is_action(self, action: str) -> bool:
        return any(map(str.isalnum, action)) and not self._unusable(f"Action: {action}")

    def _setting(self, state: State) -> str:
        if not state.tools:
            return self._files.fill(f"{self._style}_plain", policy=state.policy)
        tools = "\n".join(json.dumps(tool.get("function", tool), ensure_ascii=False) for tool in state.tools)
        return self._files.fill(f"{self._style}_tools", policy=state.policy, tools=tools)

    def _with_thought(self, thought: str, answer: str) -> str:
        return f"<think>\n{thought}\n</think>\n\n{answer}" if self.thinks else answer


def _split(text: str) -> tuple[str, str]:
    """Return the thoughts with their end mark, which may be empty, and the rest."""
    end = text.rfind("</think>") + len("</think>") if "</think>" in text else 0
    return text[:end], text[end:]
