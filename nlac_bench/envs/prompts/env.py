"""Defines the environment prompts: rows of a file, whose rewards the file names."""

import os
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from nlac_bench.envs import registry
from nlac_bench.envs.adapter import PlainEnv
from nlac_bench.envs.datasets import DataSource
from nlac_bench.envs.prompts.rows import PromptRow, read_rows
from nlac_bench.envs.prompts.services import checked_url, share_passed, verified
from nlac_bench.envs.prompts.table import read_bytes
from nlac_bench.envs.text_env import END_REASONS, Outcome, TextEnv
from nlac_bench.envs.vector import vectorized
from nlac_bench.errors import ConfigError, DataError
from nlac_bench.simulators.math_grader import boxed, default_grader
from nlac_bench.types import Message, ToolSchema, Usage

_GSM8K = re.compile(r"#### (-?[0-9.,]+)")
_GSM8K_TAIL = 300
"""The part of a reply, in characters, in which verl looks for the answer of GSM8K."""
_BY_SERVICE = ("verifier", "code")


@dataclass(slots=True)
class _PromptTask:
    row: PromptRow
    inner: TextEnv | None = None
    """The episode of another environment that the row stands for."""

    def copy(self) -> "_PromptTask":
        """Return a copy that shares nothing that changes."""
        return _PromptTask(self.row, None if self.inner is None else self.inner.fork())


class PromptsEnv(TextEnv):
    """Prompts of a file, one a task, with rewards as verl's data files name them.

    A file of JSON lines, CSV or parquet has the columns ``prompt`` (a text or messages), ``reward_model``
    (``style``, ``ground_truth``), ``data_source`` and ``extra_info``; or ``question`` and ``answer``.

    ## Action Space
    Any text: the reply. Rows of style ``agent_env`` take the actions of their environment.

    ## Observation Space
    Text: the last message of the prompt; the other messages are rules and examples.

    ## Starting State
    A row of the file.

    ## Reward
    It depends on the row's style: 1 or 0 by a rule; a service's score; the share of passed test cases; the
    reward of another environment.

    ## Episode End
    The first step; with ``agent_env``, the end of that environment's episode.

    ## Information
    As of every ``TextEnv``.

    ## Arguments
    * ``data``: the file. Its rows are trained on, and measured unless ``val`` is set.
    * ``val``: a file whose rows are measured.
    * ``split``: ``"test"`` (default) or ``"train"``; without ``val``, one of those that the rows name.
    * ``verifier``: URL of the service of style ``verifier_service``.
    * ``sandbox``: URL of the SandboxFusion of style ``code-sandbox``.
    * ``render_mode``: None or ``"ansi"``.

    ## Version History
    * v0: first version; its ``env_version`` is "1".
    """

    name = "prompts"
    env_version = "1"
    remote = True  # graders and services are waited for

    def __init__(
        self,
        *,
        data: str | os.PathLike[str] | None = None,
        val: str | os.PathLike[str] | None = None,
        split: str = "test",
        verifier: str | None = None,
        sandbox: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        if data is None:
            raise ConfigError('prompts plays a file: set --data FILE, or prompts@{"data": "FILE"}')
        files = [Path(file) for file in (data, val) if file is not None]
        tables, hashes = zip(*map(_loaded, files), strict=True)
        self._verifier, self._sandbox = checked_url("verifier", verifier), checked_url("sandbox", sandbox)
        for file, rows in zip(files, tables, strict=True):
            self._refuse_without_service(file, rows)
        every = (row for rows in tables for row in rows)
        self._named = dict.fromkeys(row.gold for row in every if row.scorer == "episode")
        by_split = _splits(tables)
        self.splits = tuple(by_split)
        if split not in self.splits:
            raise ValueError(f"split must be {' or '.join(map(repr, self.splits))}, got {split!r:.80}")
        if split == "train" and by_split["train"] is by_split.get("test"):
            warnings.warn(
                f"{files[0]}: the rows that are trained on are also measured; set val to a file with others",
                stacklevel=2,
            )
        self._rows = by_split[split]
        self._inner: dict[str, TextEnv] = {}
        source = DataSource("custom", sha256(b"".join(hashes)).hexdigest())
        super().__init__(task_ids=tuple(self._rows), split=split, source=source, render_mode=render_mode)

    def _refuse_without_service(self, file: Path, rows: Sequence[PromptRow]) -> None:
        for scorer, url, name in (
            ("verifier", self._verifier, "verifier"),
            ("code", self._sandbox, "sandbox"),
        ):
            row = next((row for row in rows if row.scorer == scorer), None)
            if row is not None and url is None:
                raise ConfigError(
                    f"{file}, row {row.number}, column reward_model.style: its reward needs a service; set "
                    f'the argument {name} to its URL, as in prompts@{{"data": "FILE", "{name}": "http://…"}}'
                )

    @property
    def max_steps(self) -> int:  # type: ignore[override]
        """One, or the limit of the environment that the running row stands for."""
        inner = self._playing()
        return 1 if inner is None else inner.max_steps

    @property
    def floors_only(self) -> bool:
        """Whether the user of a row's environment has to be played by a model, which rows cannot name."""
        return any(getattr(self._made(text), "floors_only", False) for text in self._named)

    @cached_property
    def has_oracle(self) -> bool:  # type: ignore[override]
        """Whether no service scores a row, and the environments of the rows have an oracle."""
        return all(
            self._made(row.gold).has_oracle if row.scorer == "episode" else row.scorer not in _BY_SERVICE
            for row in self._rows.values()
        )

    def _made(self, text: str) -> TextEnv:
        """Return the environment ``text``, made once."""
        if text not in self._inner:
            self._inner[text] = registry.make_text_env(text)
        return self._inner[text]

    def stored_row(self, task_id: str) -> dict[str, Any]:
        """Return the row of a task as the file has it, without null values."""
        return dict(self._rows[task_id].columns)

    def _playing(self) -> TextEnv | None:
        return None if self._state is None else self._state.inner

    def policy(self) -> str:
        """Return the system message of the running row, or the rules of its environment."""
        inner = self._playing()
        if inner is not None:
            return inner.policy()
        return "" if self._state is None else self._state.row.policy

    def examples(self) -> Sequence[Message]:
        """Return the messages of the running row before its last one."""
        inner = self._playing()
        if inner is not None:
            return inner.examples()
        return () if self._state is None else self._state.row.examples

    def tools(self) -> Sequence[ToolSchema]:
        """Return the tools of the environment that the running row stands for; none for other rows."""
        inner = self._playing()
        return () if inner is None else inner.tools()

    def conditions(self) -> dict[str, Any]:
        """Return the services that score."""
        services = {"verifier": self._verifier, "sandbox": self._sandbox}
        return {name: url for name, url in services.items() if url is not None}

    def oracle_action(self) -> str:
        """Return the ground truth in the form that the row's rule reads.

        Raises:
            ConfigError: a service scores the row, so that its right answer is unknown.
        """
        row, inner = self._state.row, self._state.inner
        if inner is not None:
            return str(inner.oracle_action())
        if row.scorer in _BY_SERVICE:
            raise ConfigError(
                f"row {row.number} is scored by a service, so the oracle does not know its answer"
            )
        return f"#### {row.gold}" if row.scorer == "gsm8k" else rf"\boxed{{{row.gold}}}"

    def random_action(self, rng: np.random.Generator) -> str:
        """Return a small number in the forms that the rules read, or an action of the row's environment."""
        inner = self._playing()
        if inner is not None:
            return inner.random_action(rng)
        number = int(rng.integers(0, 101))
        return rf"\boxed{{{number}}}" f"\n#### {number}"

    def close(self) -> None:
        """Close the plain Gymnasium environment of the running row; each episode has its own."""
        inner = self._playing()
        if isinstance(inner, PlainEnv):
            inner.close()

    async def _begin(self, task_id: str) -> str:
        self.close()
        row = self._rows[task_id]
        if row.scorer != "episode":
            self._state = _PromptTask(row)
            return row.question
        inner = self._made(row.gold)
        # A plain Gymnasium environment need not be one that can be copied.
        inner = registry.make_text_env(row.gold) if isinstance(inner, PlainEnv) else inner.fork()
        drawn, named = int(self.np_random.integers(2**31)), row.extra.get("seed")
        seed = named if isinstance(named, int) and 0 <= named < 2**31 else drawn
        observation, _ = await inner.areset(seed=seed, options={"task_id": _inner_task(row, inner)})
        self._state = _PromptTask(row, inner)
        return observation

    async def _respond(self, action: str) -> Outcome:
        row, inner = self._state.row, self._state.inner
        if inner is not None:
            return await _played(inner, action)
        if row.scorer == "verifier":
            score, success = await verified(str(self._verifier), row, action)
        elif row.scorer == "code":
            score = await share_passed(str(self._sandbox), row, action)
            success = score == 1
        else:
            success = await _is_right(row, action)
            score = float(success)
        observation = "Your answer is correct." if success else "Your answer is not correct."
        reason = "success" if success else "failure"
        return Outcome(observation, score, reason, success, {"score": score})  # type: ignore[arg-type]


def _loaded(file: Path) -> tuple[Sequence[PromptRow], bytes]:
    """Return the rows of a file and the hash of its content; all environments of a run read the same file."""
    try:
        state = file.lstat()
    except OSError:
        return _read(file, None)  # the error says why it cannot be read
    return _read(file.absolute(), (state.st_ino, state.st_size, state.st_mtime_ns))


@lru_cache(maxsize=8)
def _read(file: Path, state: tuple[int, int, int] | None) -> tuple[Sequence[PromptRow], bytes]:
    content = read_bytes(file)
    return read_rows(file, content), sha256(content).digest()


async def _played(inner: TextEnv, action: str) -> Outcome:
    """Take a step in another environment; a plain Gymnasium environment need not say how an episode ends."""
    observation, reward, terminated, truncated, info = await inner.astep(action)
    extra = {name: value for name, value in info.items() if name not in _OUTCOME}
    success = info.get("success")
    reason: Any = info.get("end_reason")
    if reason not in END_REASONS:
        reason = "success" if success else "max_steps" if truncated else "failure"
    return Outcome(
        observation,
        reward,
        reason if terminated or truncated else None,
        None if success is None else bool(success),  # type: ignore[arg-type]
        info.get("reward_parts") or {},
        info["action_kind"],
        info.get("tool_name"),
        info.get("tool_error"),
        {role: Usage(**spent) for role, spent in info.get("usage", {}).items()},
        extra,
    )


_OUTCOME = ("action_kind", "tool_name", "tool_error", "usage", "success", "reward_parts", "end_reason")


async def _is_right(row: PromptRow, reply: str) -> bool:
    """Return whether a rule accepts ``reply``."""
    if row.scorer == "gsm8k":
        numbers = _GSM8K.findall(reply[-_GSM8K_TAIL:])
        return bool(numbers) and numbers[-1].replace(",", "").rstrip(".") == row.gold.replace(",", "").strip()
    if row.scorer == "answer":
        answer = reply.rpartition("####")[2] if "####" in reply else boxed(reply) or reply
        if _folded(answer) == _folded(row.gold):
            return True
    grade = await default_grader().agrade(row.gold, reply)
    return grade.correct is True


def _folded(text: str) -> str:
    return " ".join(text.split()).removesuffix(".").casefold()


def _inner_task(row: PromptRow, inner: TextEnv) -> str:
    """Return the task of ``inner`` that ``row`` names: ``extra_info.task_id``, or by its number."""
    named = row.extra.get("task_id")
    if isinstance(named, str):
        return named
    index = row.extra.get("index", row.number - 1)
    place = index if isinstance(index, int) else row.number - 1
    return inner.task_ids[place % len(inner.task_ids)]


def _splits(tables: Sequence[Sequence[PromptRow]]) -> dict[str, dict[str, PromptRow]]:
    """Return the rows by split and task. Tasks of different splits have different ids.

    Raises:
        DataError: the rows name several splits, and a row names none, or test is not one of them.
    """
    if len(tables) == 2:
        return {name: _tasks(name, rows) for name, rows in zip(("train", "test"), tables, strict=True)}
    (rows,) = tables
    named = list(dict.fromkeys(row.split for row in rows if row.split is not None))
    if len(named) > 1:
        if "test" not in named:
            raise DataError(f"the rows name the splits {', '.join(named)[:200]}; one of them must be test")
        without = next((row for row in rows if row.split is None), None)
        if without is not None:
            raise DataError(
                f"row {without.number} names no split, while others name {', '.join(named)[:200]}; name "
                "one in each row (extra_info.split, or the column split) or in none"
            )
        return {name: _tasks(name, [row for row in rows if row.split == name]) for name in named}
    every = _tasks("row", rows)
    return {"train": every, "test": every}


def _tasks(name: str, rows: Sequence[PromptRow]) -> dict[str, PromptRow]:
    return {f"{name}/{row.number:06d}": row for row in rows}


PromptsEnvVector = vectorized(PromptsEnv)
