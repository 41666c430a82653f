"""Reads the argument ``reward`` of the τ environments, and computes shaped rewards for training."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

from nlac_bench.types import SHAPED

RULES = ("original", "strict")
BEST = {
    "identified": 1.0,
    "consented": 1.0,
    "violations": 0.0,
    "needless_transfer": 0.0,
    "steps_over_oracle": 0.0,
}
"""The graded parts, and the value of each in a faultless episode."""


@dataclass(frozen=True, slots=True)
class RewardRule:
    """How the reward follows from its parts: ``part`` is ``original`` or ``strict``, and decides the success.

    A shaped reward is that of ``part`` plus, for each part in ``weights``, the weight times the difference
    between the part and its best value. So it is at most that, and idleness earns nothing.
    """

    name: str
    part: str
    weights: Mapping[str, float]

    @classmethod
    def parse(cls, text: str, default: str = "original") -> "RewardRule":
        """Read ``original``, ``strict`` or ``shaped@{"consented": 0.2, "violations": -0.1}``.

        A shaped reward is based on the rule ``default``.

        Raises:
            ValueError: ``text`` is none of these, or a weight rewards a fault.
        """
        if text in RULES:
            return cls(text, text, {})
        if not isinstance(text, str) or not text.startswith(SHAPED):
            raise ValueError(f"reward must be 'original', 'strict' or '{SHAPED}{{…weights…}}', got {text!r}")
        try:
            weights = json.loads(text.removeprefix(SHAPED))
        except ValueError as error:
            raise ValueError(f"the weights of reward {text!r:.200} are not JSON: {error}") from None
        if not isinstance(weights, dict) or not weights:
            raise ValueError(f'reward {text!r:.200} needs weights such as {SHAPED}{{"consented": 0.2}}')
        for part, weight in weights.items():
            if part not in BEST:
                raise ValueError(f"reward has a weight of {part!r:.80}; the parts are {', '.join(BEST)}")
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight):
                raise ValueError(f"the weight of {part!r} must be a number, got {weight!r:.80}")
            if weight * (1 if BEST[part] else -1) < 0:
                sign = "positive" if BEST[part] else "negative"
                raise ValueError(
                    f"the weight of {part!r} must be {sign}, or faults are rewarded; got {weight}"
                )
        chosen = {part: float(weights[part]) for part in BEST if part in weights}
        return cls(SHAPED + json.dumps(chosen), default, chosen)

    def reward(self, parts: Mapping[str, float]) -> float:
        """Return the reward of an episode with these parts."""
        return parts[self.part] + sum(
            weight * (parts[name] - BEST[name]) for name, weight in self.weights.items()
        )
