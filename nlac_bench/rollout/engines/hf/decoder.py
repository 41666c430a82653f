"""Continuous batching for a transformers model: rows join and leave the batch between two tokens.

Slots of ended rows keep their keys and values. The next turn of a conversation, further samples of a prompt
and prompts with the same beginning therefore compute only their new tokens.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from nlac_bench.rollout.engines.common_beginning import common_length_of_arrays
from nlac_bench.rollout.engines.hf import attention, drafts
from nlac_bench.rollout.engines.hf.kv_slots import SlotCache
from nlac_bench.rollout.engines.hf.row import Row
from nlac_bench.rollout.engines.hf.threads import Threads, using

_PREFILL_TOKENS = 4096
"""Largest number of tokens of one prefill pass; it bounds the memory."""
_OVERHEAD = {"float32": (2.4e8, 8), "bfloat16": (2.4e9, 80), "cuda": (5e12, 300)}
"""The overhead of a pass, on CPUs by dtype and on GPUs: the number of multiplications that take as long as
Python, and the number of tokens whose computation takes as long as reading the weights."""
_WORTH_COPYING = 32
"""Smallest length of a common prefix for which copying is faster than computing."""


class Decoder:
    """Decodes rows with one model. Not thread-safe.

    Args:
        model: a transformers causal LM whose layers all have full attention.
        end_ids: tokens that end a sample.
        max_rows: number of rows decoded together, and of conversations whose keys and values are kept.
        alone: compute each row by itself and each token in a pass of its own, which makes a row bitwise
            independent of all others. In a batch, sums are taken in another order, which changes the last
            bits of the logits and rarely a token.
    """

    def __init__(self, model: Any, end_ids: frozenset[int], max_rows: int, alone: bool = False) -> None:
        self.model = model
        self.end_ids = end_ids
        self.max_rows = 1 if alone else max_rows
        self.reuse = not alone
        self._drafts = None if alone else drafts.Drafts()
        self._threads = Threads(torch.get_num_threads(), adaptive=not alone and model.device.type == "cpu")
        self._parameters = sum(p.numel() for p in model.parameters())
        kind = "cuda" if model.device.type == "cuda" else str(model.dtype).removeprefix("torch.")
        overhead, reading = _OVERHEAD.get(kind, _OVERHEAD["float32"])
        self._overhead = overhead / self._parameters + reading
        """Number of tokens that take as long as the overhead of a pass."""
        self.prompt_tokens = self.cached_tokens = 0
        """Number of tokens of all prompts so far, and of those whose keys and values were in the cache."""
        self.read_tokens = 0
        """Number of tokens of prompts that were computed so far, one pass after the other."""
        self._empty(0, 0)

    def reset(self) -> None:
        """Drop all rows and cached keys and values; called after new weights and after a failure."""
        # As large as before: growing again would copy the cache several times after every iteration.
        self._empty(self._cache.slots, self._cache.length)

    def _empty(self, slots: int, length: int) -> None:
        self.active: list[Row] = []
        self._cache = SlotCache(self.model.config.get_text_config().num_hidden_layers, slots, length)
        self._kept_ST = np.zeros((slots, length), dtype=np.int64)  # tokens whose keys and values a slot holds
        self._lengths_S = np.zeros(slots, dtype=np.int64)
        # When the slot's row ended; the slot that ended first is overwritten first.
        self._ended_S = np.zeros(slots, dtype=np.int64)
        self._clock = 0

    def admit(self, rows: Sequence[Row]) -> None:
        """Add rows to the batch, which then has at most ``max_rows``, and compute their prompts."""
        with using(1):  # prefill passes choose their own number of threads
            self._admit(rows)

    def _admit(self, rows: Sequence[Row]) -> None:
        # Rows of a pass are as wide as its widest: neighbours should have about as much to compute.
        waiting = sorted(rows, key=self._new_tokens, reverse=True)
        while waiting:
            wave: list[tuple[np.ndarray, int]] = []
            later: list[Row] = []
            for row in waiting:
                prompt_T = np.array(row.prompt, dtype=np.int64)
                known, source = self._longest_match(prompt_T)
                near = (
                    max((common_length_of_arrays(prompt_T, other) for other, _ in wave), default=0)
                    if self.reuse
                    else 0
                )
                if near > known + _WORTH_COPYING:  # an earlier row of the same batch will compute the prefix
                    later.append(row)
                else:
                    self._place(row, prompt_T, known, source)
                    wave.append((prompt_T, len(self.active) - 1))
            self._prefill([slot for _, slot in wave])
            waiting = later

    def step(self) -> int:
        """Sample a token for every active row; return the number of sampled tokens.

        Further tokens are sampled while the proposed tokens equal the drawn ones. ``finish`` is set on rows
        that end.
        """
        most = self._drafts.worth(len(self.active), self._overhead) if self._drafts else 0
        pieces = [[*row.tail(1), *self._proposed(row, most)] for row in self.active]
        widths = [len(piece) for piece in pieces]
        return sum(self._sampling_pass(first, pieces[first:last]) for first, last in self._passes(widths))

    def _sampling_pass(self, first: int, pieces: Sequence[list[int]]) -> int:
        """Compute ``pieces`` of the rows from ``first`` on and sample tokens; return their number.

        A piece is the last token of a row and proposed tokens.
        """
        rows = self.active[first : first + len(pieces)]
        starts_R = self._lengths_S[first : first + len(rows)].copy()
        free_R = [row.filling is None or not row.filling.given for row in rows]
        width = max(map(len, pieces))
        with self._threads.for_step(len(pieces) * width * self._parameters):
            logits_RQV = self.forward(first, pieces, starts_R, width)
            counts_R = np.zeros(len(rows), dtype=np.int64)
            going = list(range(len(rows)))  # rows whose proposals were drawn so far
            for q in range(width):
                drawn, logprobs = sample_tokens(logits_RQV[going, q], [rows[r] for r in going])
                for r, token, logprob in zip(going, drawn, logprobs, strict=True):
                    rows[r].append(token, logprob, self.end_ids)
                counts_R[going] += 1
                going = [
                    r
                    for r in going
                    if rows[r].finish is None and pieces[r][q + 1 : q + 2] == rows[r].ids[-1:]
                ]
                if not going:
                    break
        for r, (row, count) in enumerate(zip(rows, counts_R.tolist(), strict=True)):
            slot, start = first + r, starts_R[r]
            self._kept_ST[slot, start : start + count] = pieces[r][:count]
            if self._drafts is not None:
                seen = row.tail(drafts.CONTEXT + count)
                self._drafts.learn(seen, len(seen) - count, sampled=free_R[r])
        self._lengths_S[first : first + len(rows)] += counts_R
        return int(counts_R.sum())

    def _passes(self, widths: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Split neighbouring rows of these ``widths`` into passes; yield the first row and the end of each.

        The rows of a pass are padded to the widest. They are split where this takes longer than another pass.
        """
        first = width = wanted = 0
        for row, need in enumerate(widths):
            wider, count = max(width, need), row + 1 - first
            padding = wider * count - wanted - need
            if row > first and (wider * count > _PREFILL_TOKENS or padding > self._overhead + wanted // 2):
                yield first, row
                first, width, wanted = row, need, need
            else:
                width, wanted = wider, wanted + need
        yield first, len(widths)

    def _proposed(self, row: Row, most: int) -> list[int]:
        if self._drafts is None:
            return []
        if row.filling is not None and row.filling.given:
            return list(row.filling.given)[: row.proposals()]
        most = min(most, row.proposals())
        return self._drafts.propose(row.tail(drafts.CONTEXT), most) if most else []

    def release(self, row: Row) -> None:
        """Remove an ended or abandoned row; its slot becomes the first idle one."""
        slot, last = self.active.index(row), len(self.active) - 1
        with using(1):
            self._swap(slot, last)
        self.active[slot] = self.active[last]
        self.active.pop()
        self._clock += 1
        self._ended_S[last] = self._clock

    def _new_tokens(self, row: Row) -> int:
        return len(row.prompt) - self._longest_match(np.array(row.prompt, dtype=np.int64))[0]

    def _longest_match(self, prompt_T: np.ndarray) -> tuple[int, int]:
        """Return the longest prefix of the prompt (without its last token) in any slot, and that slot."""
        if not self.reuse or not len(self._lengths_S):
            return 0, 0
        width = min(len(prompt_T) - 1, self._kept_ST.shape[1])
        if width == 0:
            return 0, 0
        differs_ST = self._kept_ST[:, :width] != prompt_T[:width]
        first_S = np.where(differs_ST.any(axis=1), differs_ST.argmax(axis=1), width)
        match_S = np.minimum(first_S, self._lengths_S)
        slot = int(match_S.argmax())
        return int(match_S[slot]), slot

    def _place(self, row: Row, prompt_T: np.ndarray, known: int, source: int) -> None:
        """Put ``row`` into the slot after the active ones, with ``known`` tokens copied from ``source``."""
        slot = len(self.active)
        self._reserve(slot + 1, len(prompt_T) + 1)
        oldest = slot + int(self._ended_S[slot:].argmin())
        known = known if known >= _WORTH_COPYING else 0
        continued = known >= 0.9 * self._lengths_S[source]  # the same conversation, a turn later
        if known and source >= slot and (continued or source == oldest):
            self._swap(slot, source)
        else:
            if oldest != slot:  # keep what the slot holds; the oldest slot is forgotten
                source = oldest if source == slot else source
                self._copy(slot, oldest)
            if known and source != slot:
                self._cache.copy(source, slot, known)
        self._kept_ST[slot, : len(prompt_T)] = prompt_T
        self._lengths_S[slot] = known
        self.prompt_tokens += len(prompt_T)
        self.cached_tokens += known
        if self._drafts is not None:
            self._drafts.learn(row.prompt, known)
        self.active.append(row)

    def _prefill(self, slots: Sequence[int]) -> None:
        """Compute the keys and values of all prompt tokens but the last, which the next step feeds in."""
        needs = [len(self.active[slot].prompt) - 1 - int(self._lengths_S[slot]) for slot in slots]
        for begin, end in self._passes(needs):
            width = max(needs[begin:end])
            for offset in range(0, width, _PREFILL_TOKENS):
                self._prefill_pass(slots[begin], slots[end - 1] + 1, min(_PREFILL_TOKENS, width - offset))

    def _prefill_pass(self, first: int, last: int, width: int) -> None:
        starts_R = self._lengths_S[first:last].copy()
        ends_R = np.array([len(row.prompt) - 1 for row in self.active[first:last]])
        pieces = [
            self._kept_ST[slot, start : min(start + width, end)].tolist()
            for slot, start, end in zip(range(first, last), starts_R, ends_R, strict=True)
        ]
        with self._threads.for_pass(len(pieces) * width * self._parameters):
            self.forward(first, pieces, starts_R, 1)
        self.read_tokens += sum(map(len, pieces))
        self._lengths_S[first:last] = np.minimum(starts_R + width, ends_R)

    def forward(
        self, first: int, pieces: Sequence[Sequence[int]], starts_R: np.ndarray, columns: int
    ) -> torch.Tensor:
        """Compute the tokens ``pieces`` of the slots from ``first`` on, each from position ``starts_R`` on.

        Returns:
            The logits ``[R, columns, V]`` of the last columns of the pieces, which are padded at their ends.
        """
        width = max(map(len, pieces))
        tokens_RQ = np.zeros((len(pieces), width), dtype=np.int64)
        for tokens_Q, piece in zip(tokens_RQ, pieces, strict=True):
            tokens_Q[: len(piece)] = piece
        length = int(starts_R.max()) + width
        self._reserve(first + len(starts_R), length)
        device = self.model.device
        positions_RQ = torch.from_numpy(starts_R[:, None] + np.arange(width)).to(device)
        mask_R1QT = torch.arange(length, device=device) <= positions_RQ[:, None, :, None]
        self._cache.focus(first, positions_RQ, length)
        # Padding may be beyond the model's last position, which may have no embedding.
        ends_R1 = torch.from_numpy(starts_R + [max(0, len(piece) - 1) for piece in pieces])[:, None]
        lengths = (starts_R + width).tolist()
        rows = {"lengths": lengths} if attention.worth_alone(self.model, width, lengths) else {}
        with torch.no_grad():
            output = self.model(
                input_ids=torch.from_numpy(tokens_RQ).to(device),
                attention_mask=mask_R1QT,
                position_ids=positions_RQ.minimum(ends_R1.to(device)),
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=columns,
                **rows,
            )
        logits_RQV: torch.Tensor = output.logits
        return logits_RQV

    def _reserve(self, slots: int, length: int) -> None:
        self._cache.reserve(slots, length, self.max_rows, self._lengths_S.tolist())
        missing_slots = self._cache.slots - len(self._lengths_S)
        missing_width = self._cache.length - self._kept_ST.shape[1]
        if missing_slots or missing_width:
            self._kept_ST = np.pad(self._kept_ST, ((0, missing_slots), (0, missing_width)))
            self._lengths_S = np.pad(self._lengths_S, (0, missing_slots))
            self._ended_S = np.pad(self._ended_S, (0, missing_slots))

    def _swap(self, one: int, other: int) -> None:
        if one == other:
            return
        self._cache.swap(one, other, int(max(self._lengths_S[one], self._lengths_S[other])))
        for array in (self._kept_ST, self._lengths_S, self._ended_S):
            array[[one, other]] = array[[other, one]]

    def _copy(self, source: int, target: int) -> None:
        self._cache.copy(source, target, int(self._lengths_S[source]))
        for array in (self._kept_ST, self._lengths_S, self._ended_S):
            array[target] = array[source]


def sample_tokens(logits_RV: torch.Tensor, rows: Sequence[Row]) -> tuple[list[int], list[float]]:
    """Sample one token per row; return tokens and their log-probabilities under the sampling distribution.

    The token is the one at which the cumulative distribution passes the row's random number, so a row's token
    does not depend on other rows. Sums are in float64, where rounding over a vocabulary does not matter.
    """
    device = logits_RV.device
    temperatures = [row.sampling.temperature for row in rows]
    scale_R = torch.tensor([t or 1.0 for t in temperatures], device=device)
    logits_RV = _allowed(logits_RV.float(), rows)
    logprobs_RV = torch.log_softmax(logits_RV / scale_R[:, None], dim=-1)
    if any(row.sampling.top_p < 1 for row in rows):
        top_p_R = torch.tensor([row.sampling.top_p for row in rows], device=device)
        logprobs_RV = _nucleus(logprobs_RV, top_p_R)
    drawn_R = torch.tensor([row.draws.random() for row in rows], dtype=torch.float64, device=device)
    cumulative_RV = logprobs_RV.double().exp().cumsum(dim=-1)
    # The bound is below the total, so that rounding cannot select a token without probability.
    wanted_R1 = (drawn_R * cumulative_RV[:, -1])[:, None]
    tokens_R = torch.searchsorted(cumulative_RV, wanted_R1, right=True)[:, 0]
    tokens_R = tokens_R.clamp(max=logits_RV.shape[1] - 1)
    if 0.0 in temperatures:
        greedy_R = torch.tensor([t == 0 for t in temperatures], device=device)
        tokens_R = torch.where(greedy_R, logits_RV.argmax(dim=-1), tokens_R)
    picked_R = logprobs_RV.gather(1, tokens_R[:, None])[:, 0]
    return tokens_R.tolist(), picked_R.tolist()


def _allowed(logits_RV: torch.Tensor, rows: Sequence[Row]) -> torch.Tensor:
    """Set the logits of tokens that a row's form does not allow to minus infinity."""
    limited = [(r, ids) for r, row in enumerate(rows) if (ids := row.allowed) is not None]
    if not limited:
        return logits_RV
    allowed_RV = logits_RV.clone()
    for r, ids in limited:
        allowed_RV[r] = -torch.inf
        allowed_RV[r, ids] = logits_RV[r, ids]
    return allowed_RV


def _nucleus(logprobs_RV: torch.Tensor, top_p_R: torch.Tensor) -> torch.Tensor:
    """Keep the smallest set of likeliest tokens with probability ``top_p`` and renormalise (nucleus sampling;
    Holtzman et al. 2020)."""
    sorted_RV, order_RV = logprobs_RV.sort(dim=-1, descending=True)
    before_RV = sorted_RV.exp().cumsum(dim=-1) - sorted_RV.exp()
    sorted_RV = sorted_RV.masked_fill(before_RV >= top_p_R[:, None], -torch.inf)
    kept_RV = torch.full_like(logprobs_RV, -torch.inf).scatter(1, order_RV, sorted_RV)
    return torch.log_softmax(kept_RV, dim=-1)
