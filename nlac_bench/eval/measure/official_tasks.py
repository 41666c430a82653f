"""Task counts of the official data sets, for estimates on machines that do not have the data."""

from dataclasses import dataclass

from nlac_bench.eval.runs.configuration import RunConfig


@dataclass(frozen=True)
class OfficialTasks:
    """The name of an official data set for ``nlac-bench data fetch``, and its numbers of tasks by split."""

    data: str
    training: int
    test: int

    def planned(self, config: RunConfig) -> int:
        """Return the number of tasks that ``config`` selects."""
        if config.tasks not in (None, "clean"):
            count = len(str(config.tasks).split(","))
        else:
            count = self.training if config.split == "train" else self.test
        return min(count, config.limit or count)


OFFICIAL_TASKS = {
    "tau_retail": OfficialTasks("tau", 500, 115),
    "tau_airline": OfficialTasks("tau", 0, 50),  # training uses the embedded tasks
    "math500_hard": OfficialTasks("math", 3_476, 134),
    "twenty_questions": OfficialTasks("twenty_questions", 1_000, 500),
}
"""Official data sets by the name of the environment."""
