"""Figures of the official data sets, for estimates on machines that do not have the data."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nlac_bench.agents.names import FLOORS
from nlac_bench.envs import registry as envs
from nlac_bench.envs.env_string import join
from nlac_bench.harness.runs.configuration import RunConfig

NEEDS_USER = "{env} with these tasks needs a model that plays the user"
TOLD_NO = join("twenty_questions", {"unknowns": "no"})
"""Twenty questions with the answers of published results, whose rules and replies are shorter."""
USER_FIX = (
    "set --user-model NAME (and --user-base-url URL of its server), or --replay FILE; without it, only the "
    "floors and the oracle can be run"
)
ROWS_FIX = (
    "let the rows name environments that need no model (column reward_model.ground_truth); these can be "
    "played only by the floors and the oracle"
)


@dataclass(frozen=True)
class Sampled:
    """The lengths, in characters, of the texts that an agent reads in one episode.

    ``rules`` counts those of the environment's rules and tools, ``observations`` has the first observation
    and that after each action. ``talks`` is whether actions are tool calls or messages to a user.
    ``answer`` is the mean length of the oracle's actions if an answer of the model is the action alone (the
    environment has ``prompts`` of its own, and ``one_line``), else None.
    """

    rules: int
    talks: bool
    observations: tuple[int, ...]
    answer: float | None = None


@dataclass(frozen=True)
class OfficialTasks:
    """The figures of an environment's official data set.

    Args:
        data: its name for ``nlac-bench data fetch``.
        counts: numbers of tasks by split.
        sampled: what ``sample_episodes`` measures on the test split.
        clean: numbers of tasks by split with ``--tasks clean``.
        all_levels: number of training tasks of all levels, if the default is one of several levels.
        scripted: splits whose user is a script; a model must play the user of the others. None if the tasks
            have no user.
    """

    data: str
    counts: Mapping[str, int]
    sampled: tuple[Sampled, ...]
    clean: Mapping[str, int] = field(default_factory=dict)
    all_levels: int | None = None
    scripted: frozenset[str] | None = None

    def planned(self, config: RunConfig) -> int | None:
        """Return the number of tasks that ``config`` selects; None if the data have no such split."""
        counts = self.clean if config.tasks == "clean" else self.counts
        count = counts.get(_argument(config, "split") or "test")
        if count is not None and config.tasks not in (None, "clean"):
            count = len([name for name in str(config.tasks).split(",") if name.strip()])
        return None if count is None else min(count, config.limit or count)


def official_tasks(config: RunConfig) -> OfficialTasks | None:
    """Return the figures of the official data that ``config`` plays; None if it plays other data."""
    name = envs.find(envs.parse(config.env)[0]).name
    if name == "twenty_questions" and envs.parse(config.env)[1].get("unknowns") == "no":
        name = TOLD_NO
    return OFFICIAL_TASKS.get(name) if _argument(config, "data") == "official" else None


def needs_user(config: RunConfig) -> bool:
    """Return whether a model must play the user of official tasks, and ``config`` names none."""
    official = official_tasks(config)
    return (
        official is not None
        and official.scripted is not None
        and (_argument(config, "split") or "test") not in official.scripted
        and _argument(config, "user") is None
        and config.user_model is None
        and config.replay is None
        and config.agent not in FLOORS
    )


def _argument(config: RunConfig, name: str) -> str | None:
    """Return the constructor argument ``name``: a setting, or part of the environment string."""
    value = getattr(config, name)
    return envs.parse(config.env)[1].get(name) if value is None else value


def _math(observation: int) -> Sampled:
    return Sampled(127, False, (observation, 23))


def _questions(rules: int, *observations: int) -> Sampled:
    return Sampled(rules, False, (202, *observations, 18))


def _retail(*observations: int) -> Sampled:
    return Sampled(16_914, True, (32, *observations, 10))


def _airline(*observations: int) -> Sampled:
    return Sampled(15_299, True, (32, *observations, 10))


# Printed by ``sample_episodes`` with the official data; tests/harness/test_dry_run.py compares them.
OFFICIAL_TASKS = {
    "tau_retail": OfficialTasks(
        "tau",
        {"train": 500, "dev": 20, "test": 115},
        (
            _retail(16, 1355, 3151, 1385, 1554),
            _retail(20, 442, 524, 1356, 1403, 590, 2944, 759, 1493, 1527, 1894, 653),
            _retail(18, 22, 22, 1426, 7, 1525, 7),
            _retail(15, 459, 573, 704),
            _retail(1289, 1247),
        ),
        clean={"train": 481, "dev": 20, "test": 106},
        scripted=frozenset({"train"}),
    ),
    "tau_airline": OfficialTasks(
        "tau",
        {"test": 50},  # training uses the embedded tasks
        (
            _airline(666),
            _airline(833, 671),
            _airline(801, 629, 750),
            _airline(936, 844, 631, 631, 905, 632, 628, 630, 711, 710),
            _airline(924, 631, 631, 840, 529, 627),
        ),
        clean={"test": 36},
        scripted=frozenset(),
    ),
    "math500_hard": OfficialTasks(
        "math",
        {"train": 3_476, "test": 134},
        (_math(217), _math(329), _math(336), _math(289), _math(144)),
        all_levels=11_951,
    ),
    "twenty_questions": OfficialTasks(
        "twenty_questions",
        {"train": 1_000, "test": 500, "validation": 100},
        (
            _questions(571, 23, 23, 23, 22, 22, 22, 22, 22, 23, 22),
            _questions(571, 22, 22, 22, 23, 23, 23, 22, 23, 23, 23),
            _questions(571, 22, 22, 23, 31, 22, 23, 22, 23, 22, 23, 22, 21),
            _questions(571, 23, 22, 22, 22, 22, 23, 22, 22, 22, 22),
            _questions(571, 22, 22, 23, 23, 22, 23, 31, 22, 22, 23, 30, 22),
        ),
    ),
    TOLD_NO: OfficialTasks(
        "twenty_questions",
        {"train": 1_000, "test": 500, "validation": 100},
        (
            _questions(469, 23, 22, 23, 22, 23, 22, 22, 22, 22, 22),
            _questions(469, 22, 22, 23, 23, 23, 23, 23, 23, 23, 23, 21),
            _questions(469, 23, 22, 22, 22, 23, 22, 23, 22, 22, 23, 21),
            _questions(469, 23, 23, 22, 22, 23, 22, 22, 23, 22, 23, 21),
            _questions(469, 23, 22, 22, 22, 22, 22, 22, 23, 23, 22, 21),
        ),
    ),
}
"""Official data sets by the name of the environment, or by its name and the arguments that matter."""
