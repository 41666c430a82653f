"""An answer in a form while an engine samples it."""

import itertools
from collections.abc import Sequence

from nlac_bench.rollout.engines.forms import Choice, Filled, Fixed, FormTokens, Free, Segment, stop_before
from nlac_bench.rollout.engines.tool_calls import read_sample


class Filling:
    """An answer in progress: says which tokens may come next, and takes the tokens that were sampled.

    Args:
        form: the form with its tokens.
        limit: largest number of tokens of the answer.
        end_ids: tokens that end an answer, beside the tokenizer's end token.
    """

    def __init__(self, form: FormTokens, limit: int, end_ids: frozenset[int] = frozenset()) -> None:
        self._form, self._limit, self._end_ids = form, limit, end_ids | {form.end_id}
        self.ids: list[int] = []
        self.logprobs: list[float] = []
        self.filled = Filled()
        self.finish: str | None = None
        """``stop``, or ``length`` if the answer is incomplete; None while it is in progress."""
        self._at = -1
        self._given: list[int] = []
        """Tokens that follow without a choice."""
        self._left: dict[str, list[int]] = {}
        """The options that begin with the tokens so far, with their rest."""
        self._logprob = 0.0
        self._start = self._room = 0
        self._stopped = self._ends = False
        self._begun: int | None = None
        """The index of the first token of free text that is not blank."""
        self._advance()

    @property
    def segment(self) -> Segment | None:
        """The segment in progress; None at the end."""
        return self._form.form[self._at] if self._at < len(self._form.form) else None

    @property
    def given(self) -> Sequence[int]:
        """The tokens that follow without a choice, such as those of fixed words."""
        return self._given

    @property
    def allowed(self) -> list[int] | None:
        """The tokens that may come next; None where all may."""
        if self._given:
            return self._given[:1]
        return list(dict.fromkeys(rest[0] for rest in self._left.values())) or None

    @property
    def room(self) -> int:
        """The number of tokens that free text may still have."""
        return self._room - (len(self.ids) - self._start)

    @property
    def ahead(self) -> int:
        """The number of tokens to sample next: few while they decide whether a segment is skipped."""
        begins = isinstance(self.segment, Free) and self.segment.begins
        return min(self.room, 4) if begins and self._skips(begins) is None else self.room

    def take(self, token: int, logprob: float) -> None:
        """Add the sampled ``token``. One that ends free text before further words is replaced by them."""
        if self._given:
            self._add(self._given.pop(0), 0.0, sampled=False)
            if not self._given and not self._left:
                self._advance()
        elif self._left:
            self._choose(token, logprob)
        elif token in self._end_ids and not self._may_end():
            self._advance()
            self.take(token, 0.0)
        else:
            self._write(token, logprob)

    def text(self, special: bool = False) -> str:
        """Return the answer's text without its end token and without a stop string at its end.

        Args:
            special: with the other special tokens.
        """
        ids = self.ids[:-1] if self.ids and self.ids[-1] in self._end_ids else self.ids
        segment = self._form.form[-1]
        if not isinstance(segment, Free) or self._at < len(self._form.form) - 1:
            return self._decode(ids, special)
        written = self._decode(ids[self._start :], special)
        return self._decode(ids[: self._start], special) + written[: _stop_at(written, segment.stop)]

    def read(self, prompt: Sequence[int]) -> str:
        """Return the text of an answer to ``prompt``; if it has no fixed words, its thoughts are marked."""
        if any(isinstance(segment, Fixed) for segment in self._form.form):
            return self.text()
        tokenizer = self._form.tokenizer
        return read_sample(tokenizer, prompt, self.ids, self.text(), lambda: self.text(special=True))[0]

    def _choose(self, token: int, logprob: float) -> None:
        possible = self.allowed or []
        if len(possible) > 1:
            self.filled.restricted[len(self.ids)] = possible
            self._logprob += logprob
        self._add(token, logprob if len(possible) > 1 else 0.0, sampled=len(possible) > 1)
        self._left = {o: rest[1:] for o, rest in self._left.items() if rest[0] == token}
        if len(self._left) > 1:
            return
        ((option, rest),) = self._left.items()
        self._left = {}
        self.filled.chosen.append((option, self._logprob))
        segment = self.segment
        assert isinstance(segment, Choice)
        self._ends = option in segment.last or self._last()
        self._given = rest
        if not rest:
            self._advance(begun=1)
        elif not self._ends:  # the last token of the rest is the first of the words that follow
            self._at += 1
            self._given = [*rest, *self._form.fixed[self._at][0][1:]]

    def _write(self, token: int, logprob: float) -> None:
        segment = self.segment
        assert isinstance(segment, Free)
        self._add(token, logprob, sampled=True)
        if token in self._end_ids:
            self.finish = "stop"
            return
        if segment.begins and self._skips(segment.begins):
            start = self._start
            self._advance()
            self._room += len(self.ids) - start
            self._start = start
            segment = self.segment
            assert isinstance(segment, Free)
        longest = max(map(len, segment.stop), default=0)
        first = self._start if self._begun is None else self._begun
        start = max(first, len(self.ids) - longest - 8)
        tail = self._decode(self.ids[start:])
        at = _stop_at(tail, segment.stop, begun=start > first and self._begun is not None)
        before = stop_before(self._form.form, self._at + 1)
        self._stopped = at is not None and bool(before) and tail.startswith(before, at)
        if self._begun is None and tail.strip():
            self._begun = len(self.ids) - 1
        if at is not None or self.room < 1:
            if at is None and segment.limit is None:
                self.finish = "length"
            else:
                self._advance()

    def _skips(self, begins: str) -> bool | None:
        """Return whether the segment in progress begins with other text; None if that is not known yet."""
        text = self._decode(self.ids[self._start :]).lstrip()
        if text.startswith(begins):
            return False
        return None if begins.startswith(text) else True

    def _advance(self, begun: int = 0) -> None:
        """Go to the next segment; ``begun`` tokens of it are written."""
        if self._ends or self._last():
            self.finish = "stop"
            return
        stopped, self._stopped = self._stopped, False
        self._at += 1
        segment = self.segment
        if isinstance(segment, Fixed):
            whole, rest = self._form.fixed[self._at]
            self._given = list(rest if stopped else whole[begun:])
            if not self._given:
                self._advance()
        elif isinstance(segment, Choice):
            self._left, self._logprob = dict(self._form.options[self._at]), 0.0
        elif isinstance(segment, Free):
            self._start, self._begun = len(self.ids), None
            following = self._form.form[self._at :]
            share = self._limit - len(self.ids) - self._form.needed(self._at)
            share //= 1 + sum(
                isinstance(each, Free) and isinstance(before, Fixed)
                for before, each in itertools.pairwise(following)
            )
            self._room = share if segment.limit is None else min(segment.limit, share)
            if self._room < 1:
                self.finish = "length"

    def _may_end(self) -> bool:
        """Return whether an end token ends the answer: no fixed words follow the free text in progress."""
        return self._last() or isinstance(self._form.form[self._at + 1], Free)

    def _last(self) -> bool:
        return self._at == len(self._form.form) - 1

    def _add(self, token: int, logprob: float, sampled: bool) -> None:
        self.ids.append(token)
        self.logprobs.append(logprob)
        self.filled.sampled.append(sampled)
        if len(self.ids) >= self._limit:
            self.finish = "length"

    def _decode(self, ids: Sequence[int], special: bool = False) -> str:
        return str(self._form.tokenizer.decode(ids, skip_special_tokens=not special))


def _stop_at(text: str, stop: Sequence[str], begun: bool = False) -> int | None:
    """Return where the first stop string begins that follows other text; None if there is none."""
    blank = 0 if begun else len(text) - len(text.lstrip())
    places = [at for each in stop if (at := text.find(each, blank)) >= 0]
    return min(places, default=None)
