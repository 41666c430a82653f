"""Sends a run's measurements to trackers, in threads of their own, so that none can stop or slow the run.

Trackers get what the run's folder contains: the rows of ``metrics.jsonl``, some of the newest critiques and
the summary. Secrets are removed from all of it.
"""

import hashlib
import json
import math
import queue
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from nlac_bench.api.console import errors, escape
from nlac_bench.envs.foreign import described
from nlac_bench.harness.runs.critiques import last_critiques
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.trackers import Tracker, make_tracker, tracker_names
from nlac_bench.redaction import Redactor, secret_values
from nlac_bench.secret_forms import find_secrets
from nlac_bench.training.progress import Progress

MOST_CALLS = 1000
"""Number of calls that wait for a slow tracker; further ones are left out."""

FINISH_S = 60.0
"""Time, in seconds, in which a tracker must have stored everything at the end of the run."""

SHOWN_CRITIQUES = 4
"""Number of critiques that are sent at each validation."""

_MOST_CHARS = 2000
"""Number of characters of each of a critique's texts that are sent."""


class Tracking:
    """The trackers of a run; a context manager, which starts and finishes them.

    Args:
        run: the run's folder.
        trackers: by name.
        finish_s: see ``FINISH_S``.
    """

    def __init__(
        self, run: RunFolder, trackers: Mapping[str, Tracker], *, finish_s: float = FINISH_S
    ) -> None:
        self._run, self._finish_s = run, finish_s
        self._threads = [_TrackerThread(name, tracker) for name, tracker in trackers.items()]
        secrets = {found.secret: found.where for found in find_secrets(run.config, "config")}
        self._redactor = Redactor(dict(sorted((secrets | secret_values()).items(), key=lambda x: -len(x[0]))))
        self._summary: dict[str, float] = {}
        iterations = [row["iteration"] for row in run.metrics() if "iteration" in row] if trackers else []
        self._step = int(iterations[-1]) if iterations else 0  # a resumed run may have no further row

    @classmethod
    def of(cls, track: str | None, run: RunFolder) -> Self:
        """Return the trackers that the setting ``track`` names."""
        return cls(run, {name: make_tracker(name) for name in tracker_names(track)})

    def __enter__(self) -> Self:
        self._call("start", self._clean(self._run.config), self._run.path, run_id(self._run))
        return self

    def __exit__(self, *exc: object) -> None:
        self._call("finish", self._summary, self._step)
        self._call("end")
        until = time.monotonic() + self._finish_s
        for thread in self._threads:
            thread.join(until)

    def row(self, row: Mapping[str, Any]) -> None:
        """Send a row of ``metrics.jsonl``, and at a validation the newest critiques."""
        if not self._threads:
            return
        self._step, metrics = int(row["iteration"]), row
        if row["kind"] == "validation":
            known = Progress().row().keys() | {"usage", "kind"}
            metrics = {f"validation/{name}": x for name, x in row.items() if name not in known}
            if critiques := last_critiques(self._run.path, SHOWN_CRITIQUES):
                self._call("text", "critiques", self._clean(_markdown(critiques)), self._step)
        self._call("log", self._clean(dict(numbers(metrics))), self._step)

    def summary(self, summary: Mapping[str, Any]) -> None:
        """Set the results that are sent at the end."""
        self._summary = self._clean(dict(numbers(summary)))

    def _call(self, method: str, *arguments: Any) -> None:
        for thread in self._threads:
            thread.call(method, *arguments)

    def _clean(self, value: Any) -> Any:
        return json.loads(self._redactor.json(json.dumps(value)))


class _TrackerThread:
    """Calls a tracker's methods in the order of ``call``, and reports its first error."""

    def __init__(self, name: str, tracker: Tracker) -> None:
        self._name, self._tracker, self._reported = name, tracker, False
        self._calls: queue.SimpleQueue[tuple[str, tuple[Any, ...]]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=f"track-{name}", daemon=True)
        self._thread.start()

    def call(self, method: str, *arguments: Any) -> None:
        """Have ``method`` called; measurements are left out if ``MOST_CALLS`` calls wait. ``end`` is last."""
        if method in ("log", "text") and self._calls.qsize() >= MOST_CALLS:
            self._report("is too slow; measurements are left out")
        else:
            self._calls.put((method, arguments))

    def join(self, until: float) -> None:
        """Wait until all calls are done, but not longer than ``until``."""
        self._thread.join(max(0.0, until - time.monotonic()))
        if self._thread.is_alive():
            self._report("has not stored everything in time")

    def _work(self) -> None:
        started = True
        while True:
            method, arguments = self._calls.get()
            if method == "end":
                return
            if not started:
                continue
            try:
                getattr(self._tracker, method)(*arguments)
            except BaseException as error:
                self._report(f"failed in {method}: {described(error)}")
                started = method != "start"

    def _report(self, what: str) -> None:
        if not self._reported:
            self._reported = True
            errors.print(f"tracker {self._name} {escape(what)}; the run goes on", soft_wrap=True)


def run_id(run: RunFolder) -> str:
    """Return the name under which a run is tracked, which is the same after a resume."""
    facts = [run.path.name, run.config, run.manifest["sessions"][0]]
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", run.path.name)[:40]
    return f"{name}-{hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:8]}"


def numbers(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield the finite numbers in ``values``; those in objects and lists as ``name/inner``."""
    for name, value in values.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from numbers(value, f"{key}/")
        elif isinstance(value, list | tuple):
            yield from numbers({str(i): each for i, each in enumerate(value)}, f"{key}/")
        elif isinstance(value, int | float) and math.isfinite(value):
            yield key, float(value)


def _markdown(critiques: Sequence[Mapping[str, Any]]) -> str:
    """Return critiques as Markdown; the model's texts are indented code, in which no markup counts."""
    parts = []
    for each in critiques:
        parts.append(f"## Task {json.dumps(each['task'])}, action {each['step']}")
        for title in ("proposed", "critique", "refined"):
            if text := each.get(title):
                lines = text[:_MOST_CHARS].splitlines()
                parts.append("\n".join([f"{title}:", "", *(f"    {line}" for line in lines)]))
    return "\n\n".join(parts)
