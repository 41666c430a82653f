"""An estimate with its 95 % interval, and its text."""

from dataclasses import dataclass

from nlac_bench.stats.intervals import Interval
from nlac_bench.stats.tables import number


@dataclass(frozen=True)
class Estimate:
    """A value with its interval. ``value`` is None if it is unknown, the bounds if the interval is."""

    value: float | None
    low: float | None = None
    high: float | None = None

    @classmethod
    def with_interval(cls, value: float | None, interval: Interval | None) -> "Estimate":
        """Return ``value`` with the bounds of ``interval``."""
        return cls(value) if interval is None else cls(value, interval.low, interval.high)

    def to_text(self, *, sign: bool = False, digits: int = 3) -> str:
        """Return the estimate as text: ``0.370 [0.290, 0.460]``, with signs ``+0.050 [+0.005, +0.094]``."""
        value, low, high = (number(x, sign=sign, digits=digits) for x in (self.value, self.low, self.high))
        if self.value is None or self.low is None or self.high is None:
            return value
        return f"{value} [{low}, {high}]"
