"""Compares the engine's log-probabilities of sampled tokens with the learner's, before it learns from them.

A push is verified with a probe text. This checks the rollouts themselves: caches, requests that were sent to
other weights, and numerical differences between engine and learner appear here.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from nlac_bench.errors import NlacBenchError
from nlac_bench.learner.batch import TokenSequence, pack
from nlac_bench.learner.config import TrainConfig
from nlac_bench.learner.learner import Learner
from nlac_bench.rollout.meter import MeteredEngine
from nlac_bench.types import Episode, Turn

TURNS = 8
"""Number of turns that are compared in an iteration; more would take a noticeable part of its time."""

Mismatch: TypeAlias = Callable[[Sequence[Episode]], float | None]


class MismatchError(NlacBenchError):
    """The engine's log-probabilities differ from the learner's by more than the limit."""


def mismatch(learner: Learner, engine: MeteredEngine, config: TrainConfig, limit: float) -> Mismatch:
    """Return a function that compares the log-probabilities of episodes that the newest weights played.

    The function returns the mean absolute difference over the sampled tokens of ``TURNS`` turns, which are
    spread evenly over the episodes. It returns None if there are no such turns, as in iterations that were
    played ahead, and with a temperature other than 0 and 1, at which the engine reports those of another
    distribution. It raises ``MismatchError`` above ``limit``.
    """

    def compare(episodes: Sequence[Episode]) -> float | None:
        newest = [t for episode in episodes for t in episode.turns if t.weight_version == engine.version]
        turns = [turn for turn in newest if _comparable(turn, config)]
        chosen = [turns[i * len(turns) // TURNS] for i in range(TURNS)] if len(turns) > TURNS else turns
        if not chosen or config.temperature not in (0, 1):
            return None
        batch = pack([replace(_sequence(t), group_id=i) for i, t in enumerate(chosen)], config.row_tokens)
        sampled_BT = batch.loss_mask != 0
        own_N, numbers_N = learner.logprobs(batch)[sampled_BT], batch.group_id[sampled_BT]
        gaps = [
            abs(a - b)
            for i, turn in enumerate(chosen)
            for a, b in zip(turn.logprobs or (), own_N[numbers_N == i].tolist(), strict=True)
        ]
        gap = sum(gaps) / len(gaps)
        if not gap <= limit:  # NaN too
            raise MismatchError(
                f"the engine's log-probabilities of the tokens that it sampled differ from the learner's by "
                f"{gap:.4g} on average; at most {limit:g} is allowed "
                "(--max-logprob-gap). Engine and learner do not have the same weights, tokens or "
                "temperature: check the servers with nlac-bench doctor --server URL, then resume the run"
            )
        return gap

    return compare


def _comparable(turn: Turn, config: TrainConfig) -> bool:
    fits = len(turn.prompt_ids or ()) + len(turn.output_ids or ()) <= config.row_tokens
    return fits and bool(turn.prompt_ids and turn.output_ids and turn.logprobs)


def _sequence(turn: Turn) -> TokenSequence:
    prompt, output = turn.prompt_ids or [], turn.output_ids or []
    return TokenSequence([*prompt, *output], [0.0] * len(prompt) + [1.0] * len(output))
