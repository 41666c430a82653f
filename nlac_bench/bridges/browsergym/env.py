"""Defines the environments browsergym and miniwob: tasks on web pages in a real browser."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np

from nlac_bench.bridges.browsergym import oracle
from nlac_bench.bridges.browsergym.actions import ActionCall, UncallableActionError, parse_action
from nlac_bench.bridges.browsergym.chromium import shared_chromium
from nlac_bench.bridges.browsergym.page import Page, View, action_set, functions
from nlac_bench.bridges.browsergym.tasks import benchmark_of, instances, known_tasks, splits_of, versions
from nlac_bench.envs.datasets import DataSource
from nlac_bench.envs.docstring import own_docstring, rules
from nlac_bench.envs.text_env import Outcome, TextEnv
from nlac_bench.envs.vector import vectorized
from nlac_bench.errors import ConfigError, EnvInfraError

MAX_STEPS = {"miniwob": 10}
MAX_OBSERVATION = 60_000
"""Characters of a page that are shown."""


@dataclass(slots=True)
class _Episode:
    task: str
    seed: int
    view: View
    calls: tuple[ActionCall, ...] = ()
    page: Page | None = None
    """None in a copy, whose page is made by repeating ``calls`` when it is needed."""

    def copy(self) -> "_Episode":
        """Return a copy that shares nothing that changes."""
        return replace(self, page=None)

    def __reduce__(self) -> tuple[type["_Episode"], tuple[object, ...]]:
        return _Episode, (self.task, self.seed, self.view, self.calls)


class BrowserGymEnv(TextEnv):
    """A task on a web page, in a browser. Do what the goal says by acting on the page's elements.

    ## Action Space
    One call of a function below, with literal arguments. The first argument of most is the id of an element,
    as a text: the number in brackets before it.

    ## Observation Space
    Text: the goal, and the page as an accessibility tree, an element a line. ``center`` is in pixels.

    ## Starting State
    The task's page.

    ## Reward
    The task's own: 1 at the end if the goal was reached, else 0.

    ## Episode End
    The task ends it, or its last step.

    ## Information
    As of every ``TextEnv``. ``tool_error`` is what the browser said about an action that failed.

    ## Arguments
    * ``task``: BrowserGym's name of a task (``"miniwob.click-test-2"``), or of a benchmark (``"miniwob"``)
      for all its tasks.
    * ``split``: ``"test"`` (default), ``"validation"`` or ``"train"``. No instance is in two splits; a
      benchmark's tasks are divided among them.
    * ``render_mode``: None or ``"ansi"``.

    ## Version History
    * v0: first version; its ``env_version`` is "1".
    """

    name = "browsergym"
    env_version = "1"
    one_line = True
    remote = True  # the browser is waited for

    def __init__(
        self, *, task: str | None = None, split: str = "test", render_mode: str | None = None
    ) -> None:
        if task is None:
            raise ConfigError('browsergym plays a task: browsergym@{"task": "miniwob.click-test-2"}')
        known_tasks(task)
        self.splits = tuple(splits_of(task))
        if split not in self.splits:
            raise ValueError(f"split must be {' or '.join(map(repr, self.splits))}, got {split!r:.80}")
        self._benchmark = benchmark_of(task)
        self.max_steps = MAX_STEPS.get(self._benchmark, 30)
        self._instances = instances(task, split)
        digest = sha256("\n".join([versions(self._benchmark), *self._instances]).encode()).hexdigest()
        source = DataSource("custom", digest)
        super().__init__(task_ids=tuple(self._instances), split=split, source=source, render_mode=render_mode)

    @property
    def max_concurrency(self) -> int:  # type: ignore[override]
        """How many pages fit in memory."""
        return shared_chromium().max_pages()

    def policy(self) -> str:
        """Return the rules, with the functions that actions may call."""
        listed = action_set(self._benchmark).describe(with_long_description=False, with_examples=True)
        return f"{rules(own_docstring(BrowserGymEnv, TextEnv))}\n\n{listed.strip()}"

    def conditions(self) -> dict[str, str]:
        """Return the versions of the packages that determine pages and rewards."""
        return {"packages": versions(self._benchmark)}

    def screenshot(self) -> bytes:
        """Return what the running episode's page shows now, as a PNG file."""

        async def take() -> bytes:
            return await (await self._open_page(self._state)).screenshot()

        return self._run(take())

    def oracle_action(self) -> str:
        """Return the next action of a scripted player, who knows how to read some of MiniWoB++'s pages.

        Raises:
            NlacBenchError: it does not know the task.
        """
        return oracle.next_action(self._state.task, self._state.view, self._state.calls)

    def random_action(self, rng: np.random.Generator) -> str:
        """Return a click on a random element that can be clicked, of those that the observation shows."""
        ids = oracle.clickable(self._state.view)
        return f"click({ids[int(rng.integers(len(ids)))]!r})" if ids else "noop(100)"

    def constant_actions(self) -> Sequence[str]:
        """Return clicks on the first elements, and a key."""
        return ("click('13')", "click('14')", "click('15')", "click('16')", "keyboard_press('Enter')")

    def close(self) -> None:
        """Close the page of the running episode."""
        self._leave()

    def _leave(self) -> None:
        if self._state is not None and self._state.page is not None:
            shared_chromium().forget(self._state.page)
            self._state.page = None

    async def _begin(self, task_id: str) -> str:
        self._leave()
        task, seed = self._instances[task_id]
        page = Page(shared_chromium(), task)
        self._state = None
        view = await page.open(seed)
        self._state = _Episode(task, seed, view, page=page)
        return f"Goal: {view.goal}\n\n{_shown(view)}"

    async def _respond(self, action: str) -> Outcome:
        state: _Episode = self._state
        try:
            call = parse_action(action, functions(self._benchmark))
        except UncallableActionError as error:
            return Outcome(f"Invalid action: {error}.", action_kind="invalid")
        page = await self._open_page(state)
        view = await page.step(call)
        state.view, state.calls = view, (*state.calls, call)
        if view.ended:
            self._leave()
        success = view.reward >= 1
        reason = ("success" if success else "failure") if view.ended else None
        message = f"The action failed: {view.error}\n\n" if view.error else ""
        return Outcome(
            message + _shown(view), view.reward, reason, success and view.ended, {"task": view.reward},  # type: ignore[arg-type]
            "tool", call.name, view.error or None,
        )  # fmt: skip

    def _out_of_steps(self, outcome: Outcome) -> Outcome:
        self._leave()
        return super()._out_of_steps(outcome)

    async def _open_page(self, state: _Episode) -> Page:
        """Return the episode's page; if it is closed, or of another episode, it is opened and played again.

        Raises:
            EnvInfraError: the page behaves differently the second time, for instance as it depends on time.
        """
        if state.page is not None and state.page.is_open:
            return state.page
        state.page = Page(shared_chromium(), state.task)
        view = await state.page.open(state.seed)
        for call in state.calls:
            view = await state.page.step(call)
        if view.text != state.view.text:
            raise EnvInfraError(f"{state.task}: the same actions do not lead to the same page again")
        return state.page


def _shown(view: View) -> str:
    cut = len(view.text) - MAX_OBSERVATION
    return view.text if cut <= 0 else f"{view.text[:MAX_OBSERVATION]}\n… ({cut:,} more characters)"


class MiniWobEnv(BrowserGymEnv):
    """All 125 tasks of MiniWoB++ on web pages, in a browser: ``browsergym`` with the task ``"miniwob"``.

    ## Arguments
    * ``task``, ``split``, ``render_mode``: as of ``browsergym``.
    """

    name = "miniwob"

    def __init__(self, *, task: str = "miniwob", split: str = "test", render_mode: str | None = None) -> None:
        super().__init__(task=task, split=split, render_mode=render_mode)


BrowserGymEnvVector = vectorized(BrowserGymEnv)
MiniWobEnvVector = vectorized(MiniWobEnv)
