"""Boards show what each seed spent of its budget, the costs of each pair, and what holds at equal cost."""

import csv
import io
from collections.abc import Sequence

from nlac_bench.leaderboards.boards import make_boards
from nlac_bench.leaderboards.entry import Cost, Curve, CurvePoint, Entry
from nlac_bench.leaderboards.subject import Subject, Tokens, Training, TrainingCost
from nlac_bench.reports.boards.build import render_boards
from nlac_bench.reports.boards.view import BoardView
from tests.leaderboards.factory import entry

WON = [True] * 12 + [False] * 8
SEEDS = (WON, WON[1:] + WON[:1], WON[2:] + WON[:2])


def spent(tokens: int) -> Tokens:
    return Tokens(calls=9, prompt_tokens=9, completion_tokens=tokens, cost=0.0, seconds=1.0)


def trained(agent: str, tokens: Sequence[int], rate: float, budget: str | None = "tokens=12000") -> Entry:
    """An entry whose seeds generated ``tokens``; at the end their validations have the success ``rate``."""
    runs = [
        TrainingCost(
            seed=seed, gradient_steps=40, environment_steps=total // 10, generated_tokens=total, seconds=60.0,
            tokens_by_role={"policy": spent(total), "validation:policy": spent(77_777)}, chosen_step=40,
            base_success=0.1,
        )
        for seed, total in enumerate(tokens)
    ]  # fmt: skip
    curves = [
        Curve(
            seed=run.seed,
            points=[
                CurvePoint(
                    gradient_steps=40 * i, environment_steps=i * run.environment_steps,
                    tokens=i * run.generated_tokens, seconds=60.0 * i, success=rate * i, ci=None, tasks=40,
                    best=True,
                )
                for i in (0, 1)
            ],
        )
        for run in runs
    ]  # fmt: skip
    training = Training(method=agent, budget=budget, runs=runs)
    return entry(agent, *SEEDS, subject=Subject(agent=agent, model="tiny", training=training), curves=curves)


def test_a_board_says_who_spent_more_than_the_budget_and_what_holds_at_equal_cost() -> None:
    entries = [trained("ppo", (12_000, 12_100, 12_000), 0.7), trained("sac", (34_858, 35_000, 20_199), 0.9)]
    (board,) = make_boards(entries)
    view = BoardView(board)
    rows = {row.agent: row for row in view.rows}
    assert rows["sac"].training == "tokens=12000, spent 30,019, 3 seeds"
    assert rows["ppo"].budget is not None and round(rows["ppo"].budget.overshoot) == 33
    (costs,) = view.costs
    assert costs[1:] == ["+0.000", "0.40", "0.40", "1.00", "1.00", None] or costs[1:] == [
        "+0.000", "2.49", "2.49", "1.00", "1.00", None,
    ]  # fmt: skip
    warning, equal = view.cost_notes
    assert "sac spent 149% more generated tokens than ppo" in warning
    assert "at 12,033 generated tokens (validation)" in equal
    assert "ppo 0.467" in equal, "of one seed only the validation before training is at equal cost"
    files = render_boards([board])
    markdown, page, table = (
        next(text for name, text in files.items() if name.endswith(end))
        for end in ("algorithms.md", "algorithms.html", "algorithms.csv")
    )
    for text in (markdown, page):
        assert "spent 30,019" in text and "149% more generated tokens" in text
    assert "77,777" not in markdown
    by_agent = {row["agent"]: row for row in csv.DictReader(io.StringIO(table))}
    use = [by_agent["sac"][f"budget_{name}"] for name in ("kind", "planned", "spent", "overshoot")]
    assert use[:2] == ["tokens", "12000"] and [round(float(x)) for x in use[2:]] == [30_019, 18_019]


def test_entries_without_budgets_have_costs_and_no_warning() -> None:
    prompted = [
        entry(name, WON, cost=Cost(tokens_by_role={"policy": spent(n)}, seconds=9.0))
        for name, n in (("react", 500), ("act", 250))
    ]
    (board,) = make_boards(prompted)
    view = BoardView(board)
    (costs,) = view.costs
    assert costs[2:] in ([None, "2.00", None, "1.00", "2.00"], [None, "0.50", None, "1.00", "0.50"])
    assert view.cost_notes == [] and all(row.budget is None for row in view.rows)
    unlimited = trained("nlac", (12_000, 90_000, 500), 0.5, budget=None)
    (board,) = make_boards([unlimited, trained("ppo", (12_000, 12_000, 12_000), 0.5)])
    assert BoardView(board).cost_notes == []


def test_equal_budgets_are_not_warned_about() -> None:
    (board,) = make_boards([trained("ppo", (12_000,) * 3, 0.5), trained("rft", (12_300,) * 3, 0.5)])
    assert BoardView(board).cost_notes == [] and len(BoardView(board).costs) == 1
