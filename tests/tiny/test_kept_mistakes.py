"""What becomes of the mistakes that the critic of a run on ``shop_worlds`` has found."""

import json
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nlac_bench.agents.nlac.records import CritiqueRecord
from nlac_bench.envs.shop_worlds.procedures import KINDS, described
from nlac_bench.envs.shop_worlds.worlds import SPARE, procedures_of
from nlac_bench.simulators.customer import phrases as say
from workshop import kept_mistakes
from workshop.kept_mistakes import argument_of, counts_of, found, main, said

WORLD = SPARE[0]
DEMANDED = procedures_of(WORLD)["cancel"]
RIGHT = f"by: no change; right: {described('cancel', DEMANDED)}; end: failure"
OTHER = RIGHT.replace(
    described("cancel", DEMANDED),
    described("cancel", next(p for p in KINDS["cancel"].procedures if p != DEMANDED)),
)
OWN = f"by: {described('cancel', DEMANDED)}; end: success"
RETURNS = f"by: {described('return', KINDS['return'].procedures[0])}; end: success"


def call(name: str, **arguments: object) -> str:
    return json.dumps({"name": name, "arguments": {"order_id": "#W1", **arguments}})


REASONS = {"not_needed": say.NOT_NEEDED, "mistake": say.MISTAKE}
GOOD = call("cancel_pending_order", reason=REASONS[DEMANDED[0]])
BAD = call("cancel_pending_order", reason=next(v for k, v in REASONS.items() if k != DEMANDED[0]))
ASKS = "Do you want me to cancel the order?"


def lesson(proposed: str, refined: str | None = None, **others: Any) -> CritiqueRecord:
    fields: dict[str, Any] = {
        "iteration": 1, "future": RIGHT, "optimal": False, "critique": "optimal: no; instead: x",
        "played": proposed, "success": False,
    } | others  # fmt: skip
    return CritiqueRecord(
        weight_version=1, task="worlds/train/easy/000", trial=0, seed=0, step=0, heard="Hi",
        answered="Yes", predicted="failure", refined=refined, lesson=0,
        played_weight_version=1, target=None, proposed=proposed, **fields,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("action", "option"),
    [
        (call("cancel_pending_order", reason=say.MISTAKE), ("cancel", "mistake")),
        (call("cancel_pending_order", reason="no reason"), None),
        (call("cancel_pending_order"), None),
        (call("return_delivered_order_items", payment_method_id="gift_card_1"), ("return", "gift_card")),
        (call("exchange_delivered_order_items", payment_method_id="paypal_1"), ("exchange", "original")),
        (call("modify_pending_order_items", payment_method_id="paypal_1"), ("modify_items", "original")),
        (call("modify_pending_order_payment", payment_method_id="gift_card_1"), None),  # the customer's wish
        (call("get_order_details"), None),
        ('{"name": "cancel_pending_order", "arguments": [1]}', None),
        (ASKS, None),
        (None, None),
    ],
)
def test_the_option_of_a_call_is_read_from_its_arguments(action: str | None, option: object) -> None:
    assert argument_of(action) == option


@pytest.mark.parametrize(
    ("record", "result"),
    [
        (lesson(BAD, GOOD), "mended"),
        (lesson(BAD, BAD), "kept"),
        (lesson(BAD, BAD, critique="optimal: no; instead: nothing"), "kept without advice"),
        (lesson(BAD, ASKS), "other action"),
        (lesson(BAD, None), "other action"),
        (lesson(BAD, BAD, future=OTHER), "not found"),
        (lesson(BAD, BAD, future=None), "not found"),
        (lesson(BAD, optimal=True), "not found"),
        (lesson(BAD, optimal=None), "not found"),
        (lesson(GOOD, BAD), "right argument"),
        (lesson(ASKS, GOOD), None),
    ],
)
def test_a_mistake_is_found_by_a_critic_that_names_the_procedure_and_objects(
    record: CritiqueRecord, result: str | None
) -> None:
    argument = argument_of(record.proposed)
    assert (argument and found(WORLD, record, argument)) == result


def test_the_first_and_the_last_iterations_are_counted() -> None:
    records = [lesson(BAD, BAD if i > 4 else GOOD, iteration=i) for i in range(1, 10)]
    counts = counts_of(WORLD, [*records, lesson(ASKS, iteration=10)])
    expected = {
        ("first", "mended"): 4, ("first", "kept"): 1, ("last", "kept"): 5,
        ("first", "wrong"): 5, ("first", "wrong, objection"): 5,
        ("last", "wrong"): 5, ("last", "wrong, objection"): 5,
    }  # fmt: skip
    assert counts == {(name, "reason", result): count for (name, result), count in expected.items()}


@pytest.mark.parametrize(
    ("record", "labels"),
    [
        (lesson(GOOD, future=OWN, success=True, optimal=True), ["futures", "stated", "successful"]),
        (
            lesson(GOOD, future=OWN, success=True),
            ["futures", "stated", "successful", "successful, objection"],
        ),
        (lesson(GOOD, future=OWN, success=True, played=ASKS), ["futures", "stated"]),  # it was not played
        (lesson(GOOD, future=OWN), ["futures", "stated"]),  # another part of the procedure may be wrong
        (lesson(BAD, future=OWN), ["futures", "wrong", "wrong, objection"]),
        (lesson(BAD, future=OWN, optimal=True), ["futures", "wrong"]),
        (lesson(BAD, future=f"right: {described('cancel', DEMANDED)}", optimal=None), ["wrong"]),
        (lesson(BAD, future="by: no change", optimal=None), ["wrong"]),
        (lesson(BAD, future=RETURNS, optimal=None), ["wrong"]),
        (lesson(BAD, future=None, optimal=None), ["wrong"]),
    ],
)
def test_futures_and_objections_are_counted(record: CritiqueRecord, labels: list[str]) -> None:
    argument = argument_of(record.proposed)
    assert argument is not None and said(record, argument, found(WORLD, record, argument)) == labels


def test_the_counts_of_a_run_are_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([str(tmp_path)])
    assert stopped.value.code == 2 and str(tmp_path) in capsys.readouterr().err
    records = [lesson(GOOD), lesson(BAD, BAD), lesson(BAD, GOOD), lesson(BAD, optimal=True)]
    records.append(lesson(GOOD, success=True, future=OWN))
    (tmp_path / "critiques.jsonl").write_text("".join(f"{json.dumps(asdict(r))}\n" for r in records))
    opened = SimpleNamespace(open=lambda path: SimpleNamespace(path=path, world=WORLD, label="nlac"))
    monkeypatch.setattr(kept_mistakes, "RunFolder", opened)
    main([str(tmp_path), str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1:] for line in lines[2:]] == [
        [name, *argument.split(), *counts]
        for name in ("first", "last")
        for argument, counts in (("reason", "22226442200"), ("payment method", "0" * 11))
    ]
    opened.open = lambda path: SimpleNamespace(path=path, world=None)
    with pytest.raises(SystemExit):
        main([str(tmp_path)])
    assert "was not played in a world" in capsys.readouterr().err
