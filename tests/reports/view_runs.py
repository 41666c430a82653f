"""Run folders for the tests of the viewer, and how its data are read again."""

import base64
import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nlac_bench.agents.nlac.records import Continued, ProbeRecord
from nlac_bench.harness.runs.episode_json import dump_line, episode_to_row
from nlac_bench.types import Episode, Turn, Usage
from tests.reports.report_runs import LOST, WON, critique, make_training


def rollout(task: str, text: str = "they answer", seed: int = 0) -> Episode:
    """A lost training episode of two turns, all of whose messages are ``text``."""
    first = played = answered = text
    spent = Usage(1, 100, 10, 0.0, 0.5)
    turns = [
        Turn(played, answered, usage=spent, info={"action_kind": "message"}),
        Turn(
            played,
            answered,
            0.5,
            usage=spent,
            info={"action_kind": "tool", "tool_name": "look", "tool_error": answered},
        ),
    ]
    return Episode(
        "tau_retail", task, 0, seed, first, turns, True, False, False, "max_steps", {}, {"policy": spent}, 1.0
    )


def probe(iteration: int, state: int, **changes: Any) -> ProbeRecord:
    """A reading of a state of the probe set."""
    fields: dict[str, Any] = {
        "iteration": iteration, "weight_version": iteration, "task": f"v{state}", "trial": 0, "seed": 7,
        "step": 1,
        "heard": "heard it", "played": "call a b", "answered": "they answer", "success": False,
        "future": f"future at {iteration}", "predicted": "failure" if iteration else "success",
        "critique": f"critique at {iteration}", "optimal": False, "refined": "call a c", "state": state,
        "played_on": Continued(success=False, turns=3, answered="no"),
        "refined_on": Continued(success=True, turns=2, answered="yes"),
    }  # fmt: skip
    return ProbeRecord(**{**fields, **changes})


def make_critic_run(folder: Path, texts: Sequence[str] = ("plain",), validations: int = 3) -> Path:
    """Write a training run whose critic read one training episode and one validation episode
    for each of ``texts``."""
    lessons = [
        critique(i, iteration=it, task=f"r{i}", step=1, heard=text, played=text, answered=text, future=text,
                 critique=f"{text} {it}", proposed=text, refined=f"{text} better")
        for it in (1, 2) for i, text in enumerate(texts)
    ]  # fmt: skip
    run = make_training(folder, [LOST, WON], [WON, WON], critiques=lessons)
    rollouts = [rollout(f"r{i}", text) for i, text in enumerate(texts)]
    _lines(run / "rollouts.jsonl", [episode_to_row(e) for e in [*rollouts, rollouts[0], rollout("unread")]])
    states = [rollout(f"v{i}", text, seed=7) for i, text in enumerate(texts)]
    _lines(run / "probe_set.jsonl", [{"step": 1, "episode": episode_to_row(e)} for e in states])
    probes = [
        probe(it, i, heard=text, played=text, answered=text, future=f"{text} {it}", critique=f"{text} {it}",
              refined=text)
        for it in range(validations) for i, text in enumerate(texts)
    ]  # fmt: skip
    _lines(run / "probes.jsonl", map(asdict, probes))
    return run


def _lines(path: Path, rows: Any) -> None:
    path.write_text("".join(f"{dump_line(row)}\n" for row in rows))


def index_of(page: Path) -> dict[str, Any]:
    """The index of a page."""
    block = re.search(
        r'<script type="application/json" id="index">(.*?)</script>', page.read_text(), re.DOTALL
    )
    assert block is not None
    index = json.loads(block[1])
    assert isinstance(index, dict)
    return index


def part_of(page: Path, number: int) -> list[Any]:
    """The transcripts of one part of a page or of its folder of parts."""
    folder = index_of(page)["folder"]
    if folder:
        text = (page.parent / folder / f"part-{number}.js").read_text()
        data = re.fullmatch(rf'nlacPart\({number},"([\w+/=]*)"\);\n', text)
    else:
        data = re.search(rf'id="part-{number}">"([\w+/=]*)"</script>', page.read_text())
    assert data is not None
    part = json.loads(zlib.decompress(base64.b64decode(data[1])))
    assert isinstance(part, list)
    return part


def episodes_of(page: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    """The transcripts of a page by side, task and trial."""
    index = index_of(page)
    columns, parts = index["columns"], {n: part_of(page, n) for n in set(index["columns"]["part"])}
    return {
        (index["sides"][side]["name"], index["tasks"][task], trial): parts[part][place]
        for side, task, trial, part, place in zip(
            *(columns[name] for name in ("side", "task", "trial", "part", "place")), strict=True
        )
    }
