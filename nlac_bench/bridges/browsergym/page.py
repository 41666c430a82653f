"""An episode's page in the browser, and what is read from it."""

import asyncio
import contextlib
import importlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from nlac_bench.bridges.browsergym.actions import ActionCall
from nlac_bench.bridges.browsergym.chromium import Chromium
from nlac_bench.bridges.browsergym.tasks import benchmark_of

SETTLE_S = 0.5
"""Seconds between an action and the observation, as in BrowserGym."""
ACTION_MS = 3_000
"""Milliseconds that an action waits until its element can be clicked or filled."""
_IGNORED_ROLES = ("LineBreak", "InlineTextBox")
"""Roles that repeat the text of their parents."""


@dataclass(frozen=True, slots=True)
class View:
    """What is seen after an action."""

    goal: str
    text: str
    """The accessibility tree: an element a line, with its id, role, name, state and centre in pixels."""
    nodes: Sequence[Mapping[str, Any]]
    """The nodes of the accessibility tree, as Chromium gives them."""
    dom: Mapping[str, Any]
    properties: Mapping[str, Mapping[str, Any]]
    """Visibility and bounding box in pixels, by element id."""
    error: str = ""
    """What the browser said about the action."""
    reward: float = 0.0
    ended: bool = False


class Page:
    """The page of one episode; ``open`` and ``step`` are to be awaited, one at a time."""

    def __init__(self, chromium: Chromium, task: str) -> None:
        self.chromium, self.task = chromium, task
        self.busy = False
        self._env: Any = None

    @property
    def is_open(self) -> bool:
        """Whether the page can be used. It is closed at the episode's end, or to make place for others."""
        return self._env is not None

    async def open(self, seed: int) -> View:
        """Open the page of instance ``seed``; raises what ``Chromium.call`` raises."""
        return await self.chromium.call(self._open, seed)

    async def step(self, call: ActionCall) -> View:
        """Take an action; raises what ``Chromium.call`` raises."""
        self.busy = True
        try:
            error = await self.chromium.call(self._act, call)
            await asyncio.sleep(SETTLE_S)  # here, and not in the browser's thread: others act in the meantime
            return await self.chromium.call(self._look, error)
        finally:
            self.busy = False

    async def screenshot(self) -> bytes:
        """Return what is seen now as a PNG file; raises what ``Chromium.call`` raises."""
        return await self.chromium.call(lambda: bytes(self._env.page.screenshot()))

    def close(self) -> None:
        """Close the page."""
        env, self._env = self._env, None
        if env is not None:
            for each in env.context.pages if env.context else ():
                with contextlib.suppress(Exception):  # of a page that does not answer
                    each.goto("about:blank")  # a page that loads while its context closes may hang Playwright
            env.close()

    def _open(self, seed: int) -> View:
        import gymnasium

        importlib.import_module(f"browsergym.{benchmark_of(self.task)}")  # registers its tasks
        options, blocked = _site(self.task)
        self.chromium.use(self)
        self.chromium.lend(blocked)
        env = gymnasium.make(f"browsergym/{self.task}", disable_env_checker=True, **options).unwrapped
        self._env = env
        try:
            observation, _ = env.reset(seed=seed)
        except BaseException:
            self.close()
            raise
        return _view(observation)

    def _act(self, call: ActionCall) -> str:
        """Take an action and return its error; errors are the agent's own unless ``_look`` fails too."""
        self.chromium.use(self)
        _, send, refuse = self._env.pre_step()
        names = {
            "page": self._env.page, "send_message_to_user": send, "report_infeasible_instructions": refuse,
            "DEMO_MODE": False,
        }  # fmt: skip
        exec(_program(benchmark_of(self.task)), names)  # BrowserGym's own functions, which use these names
        try:
            names[call.name](*call.args, **call.kwargs)
        except Exception as error:
            return f"{type(error).__name__}: {error}".partition("\n")[0][:300]
        return ""

    def _look(self, error: str) -> View:
        observation, reward, terminated, truncated, _ = self._env.post_step({})
        return _view(observation, error, float(reward), bool(terminated or truncated))


@cache
def functions(benchmark: str) -> dict[str, Callable[..., Any]]:
    """Return the functions that actions may call, without those that read local files, by name.

    They are BrowserGym's set for the benchmark; for MiniWoB++ also those that take an element's id.
    """
    from browsergym.core.action.highlevel import ACTION_SUBSETS, noop

    named = {"miniwob": ("miniwob_all", "bid")}.get(benchmark, (benchmark,))
    subsets = named if set(named) <= set(ACTION_SUBSETS) else ("chat", "infeas", "bid", "nav", "tab")
    listed = [noop, *(function for subset in subsets for function in ACTION_SUBSETS[subset])]
    return {each.__name__: each for each in listed if "upload" not in each.__name__}


@cache
def action_set(benchmark: str) -> Any:
    """Return BrowserGym's description of ``functions``."""
    from browsergym.core.action.highlevel import HighLevelActionSet

    return HighLevelActionSet("custom", [*functions(benchmark).values()], multiaction=False)


@cache
def _program(benchmark: str) -> Any:
    """Return the source of ``functions``, compiled, with longer time-outs.

    BrowserGym repeats an action that took over 0.5 s, so that a busy machine would click twice.
    """
    source = action_set(benchmark).python_includes.replace("timeout=500", f"timeout={ACTION_MS}")
    return compile(source, "<browsergym>", "exec")


def miniwob_folder() -> Path:
    """Return the folder of MiniWoB++'s pages, which the package ``miniwob`` installs."""
    return Path(str(importlib.util.find_spec("miniwob").submodule_search_locations[0])) / "html"  # type: ignore


def _site(task: str) -> tuple[dict[str, Any], str]:
    """Return the options of BrowserGym's environment, and which URLs its pages may not load, as a pattern."""
    options: dict[str, Any] = {"pre_observation_delay": 0.0}
    if benchmark_of(task) != "miniwob":
        return options, "^file:"
    pages = miniwob_folder().as_uri() + "/"
    options["task_kwargs"] = {"base_url": f"{pages}miniwob/"}
    options["pw_context_kwargs"] = {
        "offline": True, "service_workers": "block", "accept_downloads": False,
        # Sockets ignore the two others; no proxy listens there, and this machine's addresses use it too.
        "proxy": {"server": "http://127.0.0.1:9", "bypass": "<-loopback>"},
    }  # fmt: skip
    return options | {"locale": "en-US", "timezone_id": "UTC"}, f"^(?!{re.escape(pages)}|about:|data:|blob:)"


def _view(observation: Mapping[str, Any], error: str = "", reward: float = 0.0, ended: bool = False) -> View:
    from browsergym.utils.obs import flatten_axtree_to_str

    properties = observation["extra_element_properties"]
    nodes = _with_clickable(observation["axtree_object"]["nodes"], properties)
    text = flatten_axtree_to_str(
        {"nodes": nodes},
        properties,
        with_clickable=True,
        with_center_coords=True,
        ignored_roles=_IGNORED_ROLES,
    )
    if "miniwob" in observation["url"]:
        text = text.replace(miniwob_folder().as_uri() + "/", "")  # the same on every machine
    dom = observation["dom_object"]
    return View(observation["goal"], text, nodes, dom, properties, error, reward, ended)


def _with_clickable(
    nodes: Sequence[Mapping[str, Any]], properties: Mapping[str, Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return ``nodes`` with a name for those that can be clicked and have none; those without a role get one.

    BrowserGym leaves out nodes without a role, so that such a link would have no id. The role is ``element``.
    """
    by_id = {node["nodeId"]: node for node in nodes}

    def nameless(node: Mapping[str, Any]) -> bool:
        clickable = properties.get(node.get("browsergym_id", ""), {}).get("clickable")
        return bool(clickable) and node["role"]["value"] in ("generic", "listitem")

    def texts(node: Mapping[str, Any]) -> Iterator[str]:
        for child in (by_id[id_] for id_ in node["childIds"] if id_ in by_id):
            if child["role"]["value"] == "StaticText":
                yield child["name"]["value"]
            elif not nameless(child):
                yield from texts(child)

    return [
        {
            **node,
            "role": {"value": "element" if node["role"]["value"] == "generic" else "listitem"},
            "name": {"value": " ".join(texts(node))},
        }
        if nameless(node)
        else node
        for node in nodes
    ]
