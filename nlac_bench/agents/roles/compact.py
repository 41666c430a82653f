"""The compact prompt style: marks instead of instructions, for small models that were trained on them.

::

    <|tau_retail|><|user|>…<|act|>…<|tool|>…<|act|>            policy: the action
    …<|act|>a<|future|>                                         successor: next: …; end: success
    …<|act|>a<|tool|>o<|act|>a'<|future|>d'<|backup|>           backup: next: …; then: …; end: success
    …<|act|>a<|user|>o<|future|>d<|backup|>                     backup of the last step, with reasons for d
    …<|act|>a<|future|>d<|critique|>                            evaluator: optimal: no; why: …; instead: …
    …<|act|>a<|critique|>c<|refine|>                            refiner: the action
    …<|act|>a<|future|>d<|future|>d'<|backup|>                  aggregator: next: …; then: …; end: success
    …<|act|>a<|future|>d<|act|>a'<|future|>d'<|pick|>           picker: the best action's number, from 1

Each answer ends with the end token. Identifiers are numbered (``codec.py``). The prompts contain neither the
environment's policy nor its tool schemas, which the model must have learned.
"""

import re
from collections.abc import Sequence

from nlac_bench.agents.roles import behaviour
from nlac_bench.agents.roles.codec import IdentifierCodec, hide
from nlac_bench.agents.roles.role_prompts import Critique, Outcome, Prompt
from nlac_bench.agents.roles.transition import State, Transition, beyond_success, earned

USER, TOOL, INVALID = "<|user|>", "<|tool|>", "<|invalid|>"
ACT, FUTURE, BACKUP, CRITIQUE, REFINE = "<|act|>", "<|future|>", "<|backup|>", "<|critique|>", "<|refine|>"
PICK = "<|pick|>"
MARKS = (USER, TOOL, INVALID, ACT, FUTURE, BACKUP, CRITIQUE, REFINE, PICK)
_KINDS = {"message": USER, "tool": TOOL, "invalid": INVALID, "example": USER}
_END = re.compile(r"(?:^|; )end: (success|failure)$")
_TOLD = re.compile(r"(?:next|then|reward): ")
_OPTIMAL = re.compile(r"^optimal: (yes|no)\b")
_STATUS = re.compile(r'"status": "([a-z ()]{1,40})"')
MAX_ANSWER_CHARS = 4_000


class CompactPrompts:
    """``RolePrompts`` with marks.

    Args:
        max_chars: the middle of longer conversations is removed: the first message has the task, the last
            ones the current state.
        explains: the model was taught ``ending``.
    """

    grows = False  # numbers and the removed middle may change from turn to turn

    def __init__(self, max_chars: int = 6_000, explains: bool = False) -> None:
        self.max_chars, self.explains = max_chars, explains
        self.explains_episodes = explains

    def policy(self, state: State) -> Prompt:
        """Return the prompt for an action."""
        text, codec = self._conversation(state)
        return _prompt(text + ACT, codec)

    def successor(self, state: State, action: str) -> Prompt:
        """Return the prompt for M(d | s, a)."""
        text, codec = self._conversation(state)
        return _prompt(text + ACT + codec.learn(_safe(action)) + FUTURE, codec)

    def backup(self, transition: Transition, next_action: str, next_future: str) -> Prompt:
        """Return the prompt for B(s, a, r, s′, d′).

        Raises:
            ValueError: ``transition`` has no next state.
        """
        if transition.next_state is None:
            raise ValueError("the last transition of an episode has no next state; use hindsight")
        text, codec = self._conversation(transition.next_state)
        text += earned(transition) + ACT + codec.learn(_safe(next_action))
        return _prompt(text + FUTURE + codec.encode(_safe(next_future)) + BACKUP, codec)

    def ending(self, transition: Transition, target: str) -> Prompt:
        """Return the prompt for the reasons of a terminal target: a backup without a next action."""
        text, codec = self._conversation(
            transition.state.after(transition.action, transition.last_words, "message")
        )
        return _prompt(text + earned(transition) + FUTURE + codec.encode(_safe(target)) + BACKUP, codec)

    def parse_ending(self, written: str, target: str) -> str | None:
        """Return the answer's reasons with the outcome of ``target``; None if the answer is not a future.

        The reasons say what was done, which the outcome does not change. If the answer repeats what was
        heard, those clauses are taken from ``target``.
        """
        future = self.parse_future(written)
        if future is None:
            return None
        clauses = future.split("; ")[:-1]
        reasons = [clause for clause in clauses if not _TOLD.match(clause)]
        *facts, end = target.split("; ")
        return "; ".join([*([] if reasons and reasons == clauses else facts), *reasons, end])

    def hindsight(self, answers: Sequence[str], success: bool, reward: float | None = None) -> str:
        """Return the next answer and the one after it, in a few words each, the reward if it says more than
        success, and the outcome."""
        clauses = [f"{when}: {brief(words)}" for when, words in zip(("next", "then"), answers, strict=False)]
        if total := beyond_success(reward, success):
            clauses.append(f"reward: {total}")
        return "; ".join([*clauses, f"end: {'success' if success else 'failure'}"])

    def evaluator(self, state: State, action: str, futures: Sequence[str]) -> Prompt:
        """Return the prompt for E(s, a, d¹…dᵏ)."""
        return self._on_futures(state, action, futures, CRITIQUE)

    def refiner(self, state: State, action: str, critique: Critique) -> Prompt:
        """Return the prompt for π_r(· | s, a, critique)."""
        text, codec = self._conversation(state)
        text += ACT + codec.learn(_safe(action)) + CRITIQUE + codec.encode(_safe(critique.text))
        return _prompt(text + REFINE, codec)

    def aggregator(self, state: State, action: str, futures: Sequence[str]) -> Prompt:
        """Return the prompt for a language value from K futures of one action (NLRL)."""
        return self._on_futures(state, action, futures, BACKUP)

    def picker(self, state: State, candidates: Sequence[tuple[str, str]]) -> Prompt:
        """Return the prompt for the number of the best (action, value) pair (NLRL)."""
        text, codec = self._conversation(state)
        for action, value in candidates:
            text += ACT + codec.learn(_safe(action)) + FUTURE + codec.encode(_safe(value))
        return _prompt(text + PICK, codec)

    def parse_action(self, written: str) -> str | None:
        """Return the whole answer; None if it is empty."""
        return written.strip() or None

    def parse_refined(self, written: str) -> str | None:
        """Return the whole answer; None if it is empty."""
        return self.parse_action(written)

    def reply(self, action: str) -> str:
        """Return the action, which is the whole reply."""
        return action

    def heard(self, action: str, state: State) -> str:
        """Return the whole action."""
        return action

    def parse_future(self, written: str) -> str | None:
        """Return the answer if it ends with an outcome."""
        written = written.strip()
        return written if len(written) <= MAX_ANSWER_CHARS and self.outcome(written) else None

    def parse_critique(self, written: str) -> Critique | None:
        """Return the critique if the answer begins with a verdict."""
        written = written.strip()
        match = _OPTIMAL.match(written)
        if match is None or len(written) > MAX_ANSWER_CHARS:
            return None
        return Critique(optimal=match[1] == "yes", text=written)

    def parse_pick(self, written: str, candidates: int) -> int | None:
        """Return the index, from 0, if the answer is a number from 1 to ``candidates``."""
        written = written.strip()
        number = int(written) if written.isascii() and written.isdecimal() and len(written) < 3 else 0
        return number - 1 if 1 <= number <= candidates else None

    def outcome(self, future: str) -> Outcome | None:
        """Return the outcome at the end of ``future``."""
        match = _END.search(future)
        if match is None:
            return None
        return "success" if match[1] == "success" else "failure"

    def hashes(self) -> dict[str, str]:
        """Return the sha256 of the prompts and of the parsed answers for fixed inputs; see ``behaviour``.

        They change only if a prompt or parser behaves differently, not if its source text changes.
        """
        return {
            "compact": behaviour.sha256(behaviour.prompt_texts(self)),
            "compact_parsers": behaviour.sha256(behaviour.parsed_texts(self)),
        }

    def _on_futures(self, state: State, action: str, futures: Sequence[str], mark: str) -> Prompt:
        text, codec = self._conversation(state)
        text += ACT + codec.learn(_safe(action))
        for future in futures:
            text += FUTURE + codec.encode(_safe(future))
        return _prompt(text + mark, codec)

    def _conversation(self, state: State) -> tuple[str, IdentifierCodec]:
        codec = IdentifierCodec()
        parts = []
        for message in state.messages:
            mark = ACT if message["role"] == "assistant" else _KINDS[message.get("kind", "message")]
            parts.append(mark + codec.learn(_safe(str(message["content"]))))
        return f"<|{state.env.split('@')[0]}|>" + _without_middle(parts, self.max_chars), codec


def _prompt(text: str, codec: IdentifierCodec) -> Prompt:
    return Prompt(messages=({"role": "user", "content": text},), codec=codec)


def _safe(text: str) -> str:
    """Return ``text`` with marks broken up, so that text of users and tools cannot forge a mark."""
    return text.replace("<|", "< |").strip()


def _without_middle(parts: Sequence[str], limit: int) -> str:
    """Join ``parts``; if the result is too long, keep the first part and as many of the last ones as fit."""
    kept: list[str] = []
    room = limit - min(len(parts[0]), limit // 2)
    for part in reversed(parts[1:]):
        room -= len(part)
        if room < 0 and kept:
            break
        kept.append(part[: limit // 2])
    return parts[0][: limit // 2] + "".join(reversed(kept))


def brief(observation: str, words: int = 8) -> str:
    """Summarise an observation for a future: the first words of a message, or the kind of a record.

    Identifiers become ``#``: a future need not name them, and identifiers that the prompt does not mention
    have no number.
    """
    text = observation[:MAX_ANSWER_CHARS].strip()
    if text.startswith("{"):
        status = _STATUS.search(text)
        return f"a record, {status[1]}" if status else "a record"
    if text.startswith("["):
        return "a list"
    text = _safe(hide(text)).replace(";", ",")
    return " ".join(text.split()[:words]) or "nothing"
