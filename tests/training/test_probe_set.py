"""The fixed probe set: drawn once from a validation, kept in the run's folder, read at every validation."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.agents.nlac.records import ProbeRecord
from nlac_bench.agents.roles.transition import Transition, transitions
from nlac_bench.harness.runs.critiques import PROBE_SET, read_probes
from nlac_bench.harness.runs.lines import RunFolderError
from nlac_bench.training.probe_set import ProbeSet
from nlac_bench.types import Episode, Turn


class Critic:
    """Repeats the action that it reads."""

    def __init__(self, probe_states: int = 16) -> None:
        self.probe_states = probe_states

    def transitions(self, episode: Episode) -> list[Transition]:
        return transitions(episode, "demo", {})

    async def read_states(self, states: Sequence[Transition], iteration: int) -> list[ProbeRecord]:
        return [
            ProbeRecord(
                iteration=iteration, weight_version=iteration + 1, task=t.task_id, trial=t.trial, seed=t.seed,
                step=t.step, heard=t.state.observation, played=t.action, answered=t.answered,
                success=t.success, future=None, predicted=None, critique=t.action, optimal=None, refined=None,
                state=number, played_on=None, refined_on=None,
            )
            for number, t in enumerate(states)
        ]  # fmt: skip


def validation(*lengths: int) -> list[Episode]:
    """Episodes of so many turns."""

    def turn(name: str) -> Turn:
        return Turn(f"act {name}", f"answer {name}", prompt_ids=[1, 2], output_ids=[3])

    return [
        Episode(
            "demo", f"t{i}", 0, i, f"task {i}", [turn(f"{i}.{n}") for n in range(length)],
            terminated=True, success=i % 2 == 0,
        )
        for i, length in enumerate(lengths)
    ]  # fmt: skip


def read(folder: Path, size: int, episodes: Sequence[Episode], iteration: int = 0, seed: int = 0) -> None:
    probes = ProbeSet(folder, Critic(size), seed)
    if not probes.drawn:
        probes.draw(episodes)
    asyncio.run(probes.read(iteration))
    probes.log.close()


def states(folder: Path) -> list[tuple[str, int]]:
    return [(r.task, r.step) for r in read_probes(folder)]


def test_states_are_spread_over_the_episodes(tmp_path: Path) -> None:
    episodes = validation(30, 1, 2, 40, 3)
    for size, most in ((3, 1), (5, 1), (8, 2)):
        (tmp_path / str(size)).mkdir()
        read(tmp_path / str(size), size, episodes)
        found = states(tmp_path / str(size))
        assert len(set(found)) == len(found) == size
        assert max(sum(task == t for t, _ in found) for task, _ in found) == most
    assert states(tmp_path / "8")[:3] == states(tmp_path / "3"), "a larger set begins with the smaller one"


def test_all_states_are_read_where_there_are_few(tmp_path: Path) -> None:
    read(tmp_path, 16, validation(2, 0, 3))
    assert sorted(states(tmp_path)) == [("t0", 0), ("t0", 1), ("t2", 0), ("t2", 1), ("t2", 2)]


def test_the_seed_determines_the_states(tmp_path: Path) -> None:
    found = []
    for number, seed in enumerate((0, 0, 1, 2)):
        (tmp_path / str(number)).mkdir()
        read(tmp_path / str(number), 4, validation(*[9] * 12), seed=seed)
        found.append(tuple(states(tmp_path / str(number))))
    assert found[0] == found[1] and len(set(found)) == 3


def test_later_validations_read_the_stored_states(tmp_path: Path) -> None:
    """Also those of a resumed run with another seed and other episodes."""
    read(tmp_path, 4, validation(3, 3, 3, 3, 3))
    drawn = (tmp_path / PROBE_SET).read_bytes()
    read(tmp_path, 4, validation(7, 7), iteration=2, seed=5)
    assert (tmp_path / PROBE_SET).read_bytes() == drawn
    records = list(read_probes(tmp_path))
    assert [r.iteration for r in records] == [0] * 4 + [2] * 4 and [r.state for r in records] == [
        0,
        1,
        2,
        3,
    ] * 2
    assert states(tmp_path)[:4] == states(tmp_path)[4:]
    for r in records:
        place = f"{r.task[1:]}.{r.step}"
        assert (r.played, r.answered, r.success) == (
            f"act {place}",
            f"answer {place}",
            int(r.task[1:]) % 2 == 0,
        )


def test_the_stored_states_have_neither_token_ids_nor_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAM_SECRET", "answer 1.0")
    read(tmp_path, 2, validation(1, 1))
    rows = [json.loads(line) for line in (tmp_path / PROBE_SET).read_text().splitlines()]
    turns = [turn for row in rows for turn in row["episode"]["turns"]]
    assert len(turns) == 2 and all(turn["prompt_ids"] is None is turn["output_ids"] for turn in turns)
    assert sorted(turn["observation"] for turn in turns) == ["[redacted: $TEAM_SECRET]", "answer 0.0"]
    assert sorted(r.answered for r in read_probes(tmp_path)) == ["[redacted: $TEAM_SECRET]", "answer 0.0"]


def damaged(row: dict[str, Any]) -> list[Any]:
    return [
        {"step": 0},
        {**row, "step": 1},
        {**row, "step": "x"},
        {**row, "episode": 1},
        {**row, "episode": {}},
    ]


@pytest.mark.parametrize("number", range(5))
def test_a_damaged_set_is_reported(tmp_path: Path, number: int) -> None:
    read(tmp_path, 1, validation(1))
    row = json.loads((tmp_path / PROBE_SET).read_text())
    (tmp_path / PROBE_SET).write_text(json.dumps(damaged(row)[number]) + "\n")
    with pytest.raises(RunFolderError, match=r"probe_set\.jsonl line 1 is not a state"):
        ProbeSet(tmp_path, Critic(), seed=0)
