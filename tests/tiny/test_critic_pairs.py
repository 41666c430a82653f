"""What the critic said about the same states before and after training."""

import json
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from nlac_bench.envs.shop_worlds.procedures import KINDS, described
from nlac_bench.envs.shop_worlds.worlds import SPARE, procedures_of
from tests.tiny.test_world_criteria import probe
from workshop import critic_pairs
from workshop.critic_pairs import drawn, main, pairs_of, to_text

WORLD = SPARE[0]
RIGHT, OTHER = (
    f"by: no change; right: {described('cancel', each)}; end: failure"
    for each in sorted(KINDS["cancel"].procedures, key=lambda each: each != procedures_of(WORLD)["cancel"])[
        :2
    ]
)
RECORDS = [
    *(probe(i, OTHER, success=False, optimal=False, iteration=0) for i in range(6)),
    *(probe(i, RIGHT if i < 4 else OTHER, success=False, optimal=False, iteration=9) for i in range(6)),
    probe(6, RIGHT, success=True, optimal=True, iteration=9),  # not probed before training
    probe(7, OTHER, success=True, optimal=True, iteration=0),
    probe(7, None, success=True, optimal=None, iteration=9),  # no longer readable
]


def test_states_are_drawn_by_what_the_critic_believes_at_last() -> None:
    pairs = pairs_of(RECORDS)
    assert [(first.iteration, last.iteration) for first, last in pairs] == [(0, 9)] * 7
    chosen = drawn(WORLD, pairs, 3, 2)
    assert [last.state is not None and last.state < 4 for _, last in chosen] == [True] * 3 + [False] * 2
    assert {last.state for _, last in chosen[3:]} == {4, 5}, "a future without a procedure is neither"
    assert chosen == drawn(WORLD, pairs, 3, 2) and len(drawn(WORLD, pairs, 9, 9)) == 6
    text = to_text(WORLD, chosen[0])
    before, after = text.split("iteration 9")
    assert "procedure: another than the world's" in before and OTHER in before
    assert "procedure: that of the world" in after and RIGHT in after
    assert text.endswith("the episode ended in: failure")


def test_the_pairs_of_a_run_are_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([str(tmp_path)])
    assert stopped.value.code == 2 and str(tmp_path) in capsys.readouterr().err
    (tmp_path / "probes.jsonl").write_text("".join(f"{json.dumps(asdict(r))}\n" for r in RECORDS))
    opened = SimpleNamespace(open=lambda path: SimpleNamespace(path=path, world=WORLD))
    monkeypatch.setattr(critic_pairs, "RunFolder", opened)
    main([str(tmp_path), "--count", "1", "--wrong", "1"])
    out = capsys.readouterr().out
    assert out.count("the episode ended in: failure") == 2 and out.count("procedure: that of the world") == 1
    opened.open = lambda path: SimpleNamespace(path=path, world=None)
    with pytest.raises(SystemExit):
        main([str(tmp_path)])
    assert "was not played in a world" in capsys.readouterr().err
