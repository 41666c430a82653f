"""The cost model of docs/scaling.md. ``python -m docs.scaling_model`` prints the page's table.

Seconds of an iteration of NLAC with the paper's configurations of τ-retail: 128 episodes, and the gradient
steps on as many transitions as they have. A test compares the table with the page.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nlac_bench.harness.measure.training_estimate import ENGINE_SHARE, LEARNER_SHARE, PEAK_FLOPS

EPISODES, TURNS, MINI_BATCH, ANSWER = 128, 12, 128, 150
"""Of the configurations; turns and the length of an answer as ``run --dry-run`` estimates them."""
STEPS = EPISODES * TURNS // MINI_BATCH
GENERATED, READ, TRAINED = 153_600, 734_961, 1_508_322
"""Tokens a gradient step, from ``run --dry-run`` (its totals divided by 30,720 steps)."""
PLAYER = 7_200
"""Environment steps a CPU second of the player; measured on two CPU cores."""
WRITTEN, HASHED = 1.7e9, 0.84e9
"""Bytes a second of the file backend: writing safetensors, and sha256; measured on one CPU core."""
LINK = 25e9
"""Bytes a second of the slowest link of a broadcast: assumed (a network of 200 Gbit/s), not measured."""
RECOMPUTED = 8
"""Operations a parameter and trained token with activation checkpointing (6 without)."""
SLOTS = 2
"""Policy and moving average."""


@dataclass(frozen=True)
class Setup:
    """A model on ``learners`` GPUs that learn and ``servers`` GPUs that sample."""

    name: str
    parameters: float
    learners: int
    servers: int

    def sampling(self) -> float:
        """Seconds in which the servers generate and read, if they are never idle."""
        operations = 2 * self.parameters * (GENERATED + READ) * STEPS
        return operations / (ENGINE_SHARE * PEAK_FLOPS * self.servers)

    def learning(self) -> float:
        """Seconds of the gradient steps."""
        operations = RECOMPUTED * self.parameters * TRAINED * STEPS
        return operations / (LEARNER_SHARE * PEAK_FLOPS * self.learners)

    def pushing_by_file(self) -> float:
        """Seconds of a push by the file backend: a file in float32 is written, hashed by the sender and by
        each server; servers of a slot load it at the same time."""
        size = 4 * self.parameters
        return SLOTS * (size / WRITTEN + 2 * size / HASHED)

    def pushing(self) -> float:
        """Seconds of a push by broadcast in bf16: its bytes pass each link once."""
        return SLOTS * 2 * self.parameters / LINK

    def row(self) -> list[str]:
        """Return the row of the table."""
        stages = (self.sampling(), self.learning(), self.pushing())
        together, ahead = sum(stages), max(stages[0], stages[1]) + stages[2]
        steps = 30_720 / STEPS
        shown = (*stages[:2], self.pushing_by_file(), self.pushing(), together)
        cells = [f"{seconds:,.0f} s" for seconds in shown]
        return [self.name, *cells, f"{together * steps / 3600:,.0f} h", f"{together / ahead:.2f} ×"]


SETUPS = (
    Setup("7B, 4 GPUs learn, 4 sample", 7e9, 4, 4),
    Setup("7B, 32 learn, 32 sample", 7e9, 32, 32),
    Setup("32B, 32 learn, 32 sample", 32e9, 32, 32),
)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows))


def costs() -> str:
    """Return the table of an iteration's seconds."""
    header = [
        "model and GPUs",
        "sampling",
        "learning",
        "push, `file`",
        "push, `nccl`",
        "an iteration",
        "30,720 steps",
        "one step ahead",
    ]
    return table(header, (setup.row() for setup in SETUPS))


if __name__ == "__main__":
    print(costs())
