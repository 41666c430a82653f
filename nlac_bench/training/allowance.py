"""Keeps a training within its budget of tokens or environment steps: shortens the last iteration."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from nlac_bench.learner.config import Budget
from nlac_bench.training.progress import Progress

T = TypeVar("T")

CAUTION = 0.7
"""Share of what is left that a part of an iteration is expected to cost, because costs vary."""

STAGES = 2
"""Largest number of stages of an update; the weights change between them."""


class Allowance:
    """Divides the work of an iteration into parts, and ends it when the budget is spent.

    A budget of gradient steps is not divided: ``Progress.steps_left`` limits its updates. Of the other
    budgets, a part is as large as what is left allows, by the cost of the items before it, and at least one
    unit: the episodes of one task, or the transitions of one mini-batch. The parts depend on counts only, so
    runs with the same seed have the same parts. If episodes are played ahead, their cost is counted as
    that of the update, so that parts are smaller than necessary.

    Args:
        budget: of the training.
        tokens: returns the number of tokens generated since training began.
        generates: expected number of answers per turn of an episode, the policy's own included; used until
            an iteration has been measured.
    """

    def __init__(self, budget: Budget, tokens: Callable[[], int], generates: float = 1.0) -> None:
        self.budget, self.tokens = budget, tokens
        self.progress = Progress()
        self.env_steps = 0
        """Environment steps that ``progress`` does not contain yet."""
        self._first_share = 1 / generates if budget.unit == "tokens" else 1.0
        self._stages: Counter[int] = Counter()
        """The number of calls of ``learn`` in each iteration."""

    def left(self) -> int:
        """Return what is left, in the unit of the budget; negative after an overshoot."""
        if self.budget.unit == "tokens":
            return self.budget.amount - self.tokens()
        now = self.env_steps if self.budget.unit == "env_steps" else 0
        return self.budget.amount - self.progress.spent(self.budget) - now

    def finished(self) -> bool:
        """Return whether the budget is spent, or what is left is less than half of the smallest iteration."""
        smallest = self._cost("task") + self._cost("mini_batch") if self.progress.gradient_steps else 0
        return self.left() <= smallest / 2

    def may_play_ahead(self) -> bool:
        """Return whether the budget suffices for this iteration and the next one."""
        return self.budget.unit == "steps" or (
            self.progress.iteration > 0 and self.left() > 2 * (self._cost("play") + self._cost("learn"))
        )

    def _cost(self, name: str) -> float:
        """Return the last cost of ``name`` (see ``Progress.costs``), summed over the stages of an update."""
        return sum(cost for key, cost in self.progress.costs.items() if key.partition("/")[0] == name)

    async def play(self, items: Sequence[T], unit: int, do: Callable[[Sequence[T]], Awaitable[int]]) -> int:
        """Play ``items``, the episodes of an iteration, but leave what the update is expected to cost.

        Args:
            unit: number of episodes of one task.
            do: plays a part and returns the environment steps of its episodes.

        Returns:
            The number of episodes that were played, at least one unit.
        """
        before = self._cost("play") + self._cost("learn")
        share = self._cost("play") / before if before else self._first_share
        return await self._in_parts("play", "task", items, unit, do, self.left() * (1 - share))

    async def learn(
        self, items: Sequence[T], unit: int | None, do: Callable[[Sequence[T]], Awaitable[int]]
    ) -> int:
        """Sample the answers that an update needs for ``items``, the transitions that it learns from.

        An update that does so in stages calls this once in each; what later stages cost last time is left.
        The first update leaves half of the budget, since nobody knows yet what later stages cost.

        Args:
            unit: number of transitions of a mini-batch; None if the update needs all ``items`` at once, whose
                cost then determines only how many episodes the next iterations play.
            do: processes a part and returns the environment steps that it took itself.

        Returns:
            The number of transitions that were processed, at least one unit.
        """
        self._stages[self.progress.iteration] += 1
        stage, costs = self._stages[self.progress.iteration], self.progress.costs
        later = [costs.get(f"learn/{number}", 0.0) for number in range(stage + 1, STAGES + 1)]
        name = f"/{stage}" if stage > 1 else ""
        reserve = sum(later) if "learn" in costs else self.left() / 2
        return await self._in_parts(f"learn{name}", f"mini_batch{name}", items, unit, do, reserve)

    async def _in_parts(
        self,
        phase: str,
        unit_name: str,
        items: Sequence[T],
        unit: int | None,
        do: Callable[[Sequence[T]], Awaitable[int]],
        reserve: float,
    ) -> int:
        """Process ``items`` until no more than ``reserve`` is left; without ``unit``, all of them."""
        if self.budget.unit == "steps" or not items:
            await do(items)
            return len(items)
        costs, done, began = self.progress.costs, 0, self.left()
        measured, whole, unit = unit_name in costs, unit is None, unit or 1
        while done < len(items) and (done == 0 or self.left() > reserve or not costs[unit_name]):
            units = 1
            if (
                whole or costs.get(unit_name) == 0
            ):  # an update that takes no environment steps is not shortened
                units = len(items)
            elif unit_name in costs:
                units = max(1, int(CAUTION * (self.left() - reserve) / max(1.0, costs[unit_name])))
                if not measured:  # a mean over few units is uncertain
                    units = min(units, max(1, 2 * done // unit))
            part = items[done : done + unit * units]
            self.env_steps += await do(part)
            done += len(part)
            costs[unit_name] = (began - self.left()) / done * unit
        costs[phase] = float(began - self.left())
        return done
