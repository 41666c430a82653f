"""Writes the viewer: one HTML file, or for many episodes a file and a folder of parts, which are scripts."""

import base64
import json
import os
import shlex
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nlac_bench.errors import ConfigError, NlacBenchError
from nlac_bench.files import replace_content
from nlac_bench.harness.runs.lines import new_files
from nlac_bench.redaction import redactor
from nlac_bench.reports.pages.render import own_assets, render_html
from nlac_bench.reports.report.ends import end_in_words
from nlac_bench.reports.view.replay import Replayer
from nlac_bench.reports.view.sides import ViewRun, ViewSide, shown_runs
from nlac_bench.reports.view.transcript import finite, flags_of, reading_of, transcript
from nlac_bench.types import Episode, Usage
from nlac_bench.visible import visible

MOST_IN_FILE = 2_000
"""Largest number of episodes in one file."""
PART_EPISODES, PART_CHARACTERS = 50, 400_000
"""A part has at most so many episodes, and ends with the episode that reaches so many characters."""
_SCRIPTS = (
    "data.js",
    "state.js",
    "grid.js",
    "diff.js",
    "critic.js",
    "transcript.js",
    "flipbook.js",
    "view.js",
)


@dataclass(frozen=True)
class Written:
    """The viewer that was written; ``bytes`` counts its folder of parts too."""

    path: Path
    episodes: int
    bytes: int

    def to_json(self) -> dict[str, object]:
        """Return the object that ``--json`` prints."""
        return {"path": str(self.path), "episodes": self.episodes, "bytes": self.bytes}


@dataclass
class _Pages:
    """Collects the columns of the index, and the transcripts in parts."""

    columns: dict[str, list[Any]] = field(default_factory=dict)
    tasks: dict[str, int] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)
    _open: list[str] = field(default_factory=list)

    def add(self, side: int, episode: Episode, criticised: bool, content: dict[str, Any]) -> None:
        """Add an episode with its transcript."""
        spent = sum(episode.usage.values(), Usage())
        row = {
            "side": side,
            "task": self.tasks.setdefault(episode.task_id, len(self.tasks)),
            "trial": episode.trial,
            "seed": episode.seed,
            "success": None if episode.success is None else int(episode.success),
            "flags": flags_of(episode, criticised),
            "end": self.ends.setdefault(episode.end_reason, len(self.ends)),
            "reward": finite(episode.total_reward),
            "tokens": spent.completion_tokens,
            "part": len(self.parts),
            "place": len(self._open),
        }
        for name, value in row.items():
            self.columns.setdefault(name, []).append(value)
        self._open.append(_json(content))
        if len(self._open) >= PART_EPISODES or sum(map(len, self._open)) >= PART_CHARACTERS:
            self.close()

    def close(self) -> None:
        """End the part that is open."""
        if self._open:
            self.parts.append(_deflated(f"[{','.join(self._open)}]"))
            self._open = []

    @property
    def episodes(self) -> int:
        """The number of episodes."""
        return len(self.columns.get("task", ()))

    def index(self) -> dict[str, Any]:
        """Return the part of the index about episodes; ``order`` is that of the grid."""
        tasks, columns = list(self.tasks), self.columns or {"task": [], "success": [], "flags": []}
        order = sorted(
            range(self.episodes),
            key=lambda n: (columns["task"][n], columns["side"][n], columns["trial"][n], n),
        )
        return {
            "columns": columns,
            "tasks": [visible(task) for task in tasks],
            "ends": [[visible(reason), visible(end_in_words(reason))] for reason in self.ends],
            "order": order,
        }


def write_view(folders: Sequence[Path], out: Path) -> Written:
    """Write what one or two run folders contain to ``out``; a file that is there is replaced.

    More than ``MOST_IN_FILE`` episodes become a file and the folder ``{stem}_parts`` beside it.

    Raises:
        ConfigError: ``out`` does not end with ``.html``, or is a folder.
        RunFolderError: a folder contains no run, or is damaged.
        NlacBenchError: the file or the folder cannot be written.
    """
    if out.suffix != ".html" or out.is_dir():
        raise ConfigError(f"--out {out}: expected the name of a file that ends with .html")
    runs = shown_runs(folders)
    pages = _Pages()
    sides: list[dict[str, Any]] = []
    for run in runs:
        for side in run.sides:
            sides.append(_add_side(pages, len(sides), side))
    pages.close()
    episodes = pages.episodes
    validations, flips = _probes(runs)
    if flips:
        pages.parts.append(_deflated(_json(flips)))
    folder = f"{out.stem}_parts" if episodes > MOST_IN_FILE else ""
    index = {
        **pages.index(), "sides": sides, "validations": validations,
        "probes": len(pages.parts) - 1 if flips else None, "folder": folder,
    }  # fmt: skip
    title = " and ".join(dict.fromkeys(str(run.run.subject["agent"]) for run in runs))
    view = {
        "title": redactor().text(f"{title} on {runs[0].run.conditions['env']}"),
        "sides": sides,
        "going": [side["going"] for side in sides if side["going"]],
        "command": redactor().text(shlex.join(["nlac-bench", "view", *map(os.fspath, folders)])),
        "probes": bool(flips),
        "index": _block(index),
        "blocks": () if folder else pages.parts,
    }
    assets = own_assets(__package__ or "", ["view.css"], _SCRIPTS, parts=bool(folder))
    html = render_html(__package__ or "", "view.html.jinja", view=view, **assets).encode()
    parts = [f'nlacPart({n},"{part}");\n'.encode() for n, part in enumerate(pages.parts)] if folder else []
    _write(out, html, folder, parts)
    return Written(out, episodes, len(html) + sum(map(len, parts)))


def _add_side(pages: _Pages, number: int, side: ViewSide) -> dict[str, Any]:
    """Add the episodes of ``side``; return what the page says about it."""
    replayer = Replayer(side)
    mathematics = str(side.run.conditions["env"]).startswith("math")
    results = []
    if side.planned is not None:
        for item in side.run.plan:  # the order of the grid
            pages.tasks.setdefault(item.task_id, len(pages.tasks))
    for episode in side.episodes():
        key = episode.task_id, episode.trial, episode.seed
        readings = side.readings.get(key, {})
        content = transcript(episode, replayer.play(episode), readings, mathematics=mathematics)
        pages.add(number, episode, bool(readings), content)
        results.append(episode.success)
    scored = [each for each in results if each is not None]
    owed = (side.planned or 0) > len(results)
    words = f"{sum(scored):,} of {len(scored):,} won" if scored else "no result yet"
    going = f"{side.name}, {len(results):,} of {side.planned:,} episodes are recorded" if owed else ""
    return {"name": visible(side.name), "planned": side.planned, "result": words, "going": visible(going)}


def _probes(runs: Sequence[ViewRun]) -> tuple[list[dict[str, Any]], list[list[dict[str, Any]]]]:
    """Return the validations, and for each state of the probe sets its readings by validation."""
    validations = [
        {
            "run": n,
            "iteration": row["iteration"],
            "step": row["gradient_steps_total"],
            "success": row["success"],
        }
        for n, run in enumerate(runs)
        for row in run.validations
    ]
    states: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for n, run in enumerate(runs):
        prefix = f"{run.name}: " if len(runs) > 1 else ""
        for reading in run.probes:
            key = f"{prefix}validation/{reading.task}/{reading.trial}/{reading.seed}"
            made = {
                **reading_of(reading), "run": n, "task": visible(f"{prefix}{reading.task}"),
                "step": reading.step, "episode": visible(key),
            }  # fmt: skip
            states.setdefault((n, reading.state), []).append(made)
    return validations, list(states.values())


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _deflated(text: str) -> str:
    clean = redactor().json(text).encode("utf-8")
    return base64.b64encode(zlib.compress(clean, 6)).decode("ascii")


def _block(value: object) -> Any:
    """Return ``value`` as the content of a JSON block: nothing in it can end the block."""
    from markupsafe import Markup

    text = redactor().json(json.dumps(value, separators=(",", ":")))
    return Markup(text.replace("<", "\\u003c"))


def _write(out: Path, html: bytes, folder: str, parts: Sequence[bytes]) -> None:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if folder:
            old = {path.name for path in (out.parent / folder).glob("part-*.js")}
            with new_files(out.parent / folder, old - {f"part-{n}.js" for n in range(len(parts))}) as draft:
                for number, part in enumerate(parts):
                    (draft / f"part-{number}.js").write_bytes(part)
        replace_content(out, html)
    except OSError as error:
        raise NlacBenchError(f"cannot write {out} ({error.strerror}); choose another --out") from error
