"""Implements the moves of the scripted user: what a reply changes in the state of the conversation."""

import zlib
from collections.abc import Sequence
from dataclasses import replace

from nlac_bench.simulators.customer.intent.goals import STOP, Goal, Script
from nlac_bench.simulators.customer.speak import speech
from nlac_bench.simulators.customer.speak.talk import MAX_REPLIES, PATIENCE, UNREAD, Talk


class Moves:
    """The state of a conversation and what each kind of reply changes in it; every move returns the reply."""

    _talk: Talk | None = None

    def _object(self, wrong: Sequence[str], also: str = "") -> str:
        """Correct the topics ``wrong``; ``also`` answers the message's questions about others."""
        self._now.objected += 1
        self._now.agreed = False
        if self._now.objected > PATIENCE:
            return self._leave(speech.HOPELESS)
        self._now.unread = 0
        self._now.told |= set(wrong)
        right = speech.correction(wrong, self._goal, self._now.told, self._pick)
        right = right if also in right else f"{right} {also}"
        return (
            right
            if wrong == ["insurance"] and self._goal.insurance == "no"
            else f"{self._pick(speech.NO)} {right}"
        )

    def _next(self, thanks: Sequence[str]) -> str:
        self._now.goal += 1
        self._reset()
        if self._now.goal >= len(self._script.goals):
            return self._leave(thanks)
        return f"{self._pick(thanks)} {speech.following(self._goal, self._now.told, self._pick)}"

    def _replace(self, goal: Goal, lead: Sequence[str]) -> str:
        goals = list(self._script.goals)
        goals[self._now.goal] = goal
        self._now.script = replace(self._script, goals=tuple(goals))
        self._reset()
        self._now.told = speech.ALL
        return f"{self._pick(lead)} {speech.want(goal, speech.ALL, self._pick)}"

    def _reset(self) -> None:
        """Begin the next request; the user states it as fully as the first one, or at least its subject."""
        talk = self._now
        talk.agreed = False
        talk.answered = frozenset()
        talk.told = speech.told_at_first(self._script) | speech.SHORT
        talk.unread = talk.objected = talk.refusals = talk.vague = 0

    def _restate(self, goal: Goal, lead: Sequence[str]) -> str:
        return self._say_again(f"{self._pick(lead)} {speech.want(goal, self._now.told, self._pick)}")

    def _say_again(self, text: str) -> str:
        """Return ``text``, or give up after too many turns in a row without progress."""
        self._now.unread += 1
        return self._leave(speech.HOPELESS) if self._now.unread > UNREAD else text

    def _tell(self, topics: frozenset[str], text: str) -> str:
        """Answer questions; an answer that was not given before counts as progress."""
        if topics <= self._now.answered:
            return self._say_again(text)
        self._now.answered |= topics
        self._now.told |= topics | (speech.CORE if "request" in topics else frozenset())
        self._now.unread = 0
        return text

    def _leave(self, words: Sequence[str]) -> str:
        self._now.over = True
        return f"{self._pick(words)} {STOP}"

    @property
    def _now(self) -> Talk:
        assert self._talk is not None
        return self._talk

    @property
    def _script(self) -> Script:
        return self._now.script

    @property
    def _goal(self) -> Goal:
        return self._script.goals[self._now.goal]

    @property
    def _others(self) -> list[Goal]:
        """The user's goals after the current one."""
        return list(self._script.goals[self._now.goal + 1 :])

    def _pick(self, wordings: Sequence[str]) -> str:
        """Choose one of several wordings by the episode's seed and the position in the conversation."""
        talk = self._now
        place = talk.replies + MAX_REPLIES * talk.variant
        return wordings[zlib.crc32(f"{talk.seed}/{place}/{wordings[0]}".encode()) % len(wordings)]
