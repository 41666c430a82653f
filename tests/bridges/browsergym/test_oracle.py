"""The scripted player solves tasks of MiniWoB++ in the browser, and says which ones it does not know."""

import os
import shutil

import pytest

pytest.importorskip("browsergym.core", reason="BrowserGym is not installed", exc_type=ImportError)

from nlac_bench.bridges.browsergym.chromium import SYSTEM_NAMES
from nlac_bench.envs import registry
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import NlacBenchError

pytestmark = [
    pytest.mark.bridge,
    pytest.mark.skipif(
        not any(map(shutil.which, SYSTEM_NAMES)) and "CI" not in os.environ, reason="there is no Chromium"
    ),
]

SOLVED = (
    "choose-list", "click-button", "click-checkboxes", "click-collapsible", "click-collapsible-2-nodelay",
    "click-color", "click-dialog", "click-link", "click-option", "click-scroll-list", "click-tab",
    "click-tab-2", "click-test", "click-test-2", "click-widget", "copy-paste-2", "email-inbox-delete",
    "enter-date", "enter-password", "enter-text-2", "enter-time", "find-word", "focus-text-2",
    "form-sequence-3", "login-user", "login-user-popup", "navigate-tree", "odd-or-even", "read-table",
    "simple-algebra", "simple-arithmetic",
)  # fmt: skip
"""A task of each rule; docs/browser.md says how many others there are."""


def solved(task: str, seed: int) -> bool:
    env: TextEnv = registry.make_text_env("browsergym", task=f"miniwob.{task}")
    try:
        env.reset(seed=0, options={"task_id": f"miniwob.{task}/{seed}"})
        for _ in range(env.max_steps):
            _, reward, ended, _, info = env.step(env.oracle_action())
            if ended:
                return bool(info["success"]) and reward == 1
        return False
    finally:
        env.close()


@pytest.mark.parametrize("task", SOLVED)
def test_the_oracle_solves(task: str) -> None:
    assert solved(task, 2)


def test_a_covered_button_is_clicked_where_it_is_seen() -> None:
    """In instance 14 the button TWO covers the middle of ONE."""
    assert solved("click-test-2", 14)


@pytest.mark.parametrize("task", ["drag-box", "click-checkboxes-soft"])
def test_an_unknown_task_is_named(task: str) -> None:
    with pytest.raises(NlacBenchError, match=f"cannot play miniwob.{task}: no rule fits the goal"):
        solved(task, 2)
