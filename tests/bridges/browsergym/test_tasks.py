"""Which tasks there are, their splits, and what is said where a package is missing."""

import importlib.util
from typing import Any

import numpy as np
import pytest

from nlac_bench.bridges.browsergym.tasks import SPLITS, instances, known_tasks, split_of, splits_of
from nlac_bench.envs import registry
from nlac_bench.errors import ConfigError, UnknownIdError
from tests.cli.command import call

INSTALLED = importlib.util.find_spec("browsergym") is not None
needs_browsergym = pytest.mark.skipif(not INSTALLED, reason="BrowserGym is not installed")


@pytest.mark.parametrize(
    "task", ["miniwob", "miniwob.click-test-2", "webarena.0", "workarena.servicenow.all-menu"]
)
def test_a_missing_package_is_refused_with_what_to_install(task: str) -> None:
    if INSTALLED and task.startswith("miniwob"):
        pytest.skip("it is installed")
    fix = (
        f"pip install browsergym-{task.partition('.')[0]}"
        if INSTALLED
        else "pip install 'nlac-bench[browsergym]'"
    )
    ended = call("run", "--env", f'browsergym@{{"task": "{task}"}}', "--agent", "oracle")
    assert ended.returncode == 2 and fix in ended.stderr and not ended.stdout


@pytest.mark.parametrize(
    "task", ["", "..", "miniwob/x", "../os.path", "core; x", "a" * 100, "MINIWOB.click", "x.\n"]
)
def test_a_name_that_is_no_tasks_imports_nothing(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    imported: list[str] = []
    monkeypatch.setattr("importlib.import_module", imported.append)
    with pytest.raises(UnknownIdError, match="a task is BENCHMARK"):
        known_tasks(task)
    assert not imported


def test_a_task_must_be_named() -> None:
    with pytest.raises(ConfigError, match=r'browsergym@\{"task": "miniwob\.click-test-2"\}'):
        registry.make("browsergym")


@needs_browsergym
def test_the_suite_has_every_task_once_and_splits_share_none() -> None:
    tasks = known_tasks("miniwob")
    assert len(set(tasks)) == len(tasks) == 125
    by_split = {split: {task for task, _ in instances("miniwob", split).values()} for split in SPLITS}
    assert set.union(*by_split.values()) == set(tasks) and sum(map(len, by_split.values())) == 125
    assert {split: len(found) for split, found in by_split.items()} == {
        "train": 78,
        "validation": 15,
        "test": 32,
    }
    families = {split: {"-".join(task.split("-")[:2]) for task in found} for split, found in by_split.items()}
    assert sum(map(len, families.values())) == len(set.union(*families.values()))


@needs_browsergym
@pytest.mark.parametrize("task", ["miniwob", "miniwob.click-test-2"])
def test_no_instance_is_in_two_splits(task: str) -> None:
    env: Any = {split: registry.make_text_env("browsergym", task=task, split=split) for split in SPLITS}
    ids = [task_id for split in SPLITS for task_id in env[split].task_ids]
    assert len(set(ids)) == len(ids)
    # What a page is drawn from is itself drawn, so two seeds could give one page.
    drawn = [
        (each, np.random.RandomState(seed).randint(0, 1_000_000))
        for split in SPLITS
        for each, seed in instances(task, split).values()
    ]
    assert len(set(drawn)) == len(drawn)
    assert len({each.source.sha256 for each in env.values()}) == 3


@needs_browsergym
def test_unknown_tasks_and_splits_are_named() -> None:
    with pytest.raises(UnknownIdError, match=r"miniwob has no task 'miniwob\.no-such'; it has miniwob\.a"):
        registry.make("browsergym", task="miniwob.no-such")
    with pytest.raises(ValueError, match="'train' or 'validation' or 'test', got 'dev'"):
        registry.make("miniwob", split="dev")
    with pytest.raises(UnknownIdError, match="no task"):
        known_tasks("core")


def test_a_task_without_instances_is_only_measured() -> None:
    assert splits_of("webarena.0") == ("test",)
    assert splits_of("webarena") == splits_of("miniwob.click-test") == SPLITS


def test_variants_of_a_task_are_in_its_split() -> None:
    assert len({split_of(f"miniwob.click-tab{end}") for end in ("", "-2", "-2-easy", "-2-hard")}) == 1
