"""The table of docs/baselines.md is what ``docs/cost_table.py`` prints; what settings predict is right."""

import json
from pathlib import Path
from typing import Any

import pytest

from docs import cost_table
from nlac_bench.agents.methods import BUILT_IN
from nlac_bench.learner.transition_cost import TransitionCost, tokens

MEASURED: dict[str, dict[str, Any]] = json.loads(cost_table.STORED.read_text(encoding="utf-8"))


def cost(name: str, turns: float = 5.0, **settings: object) -> TransitionCost:
    return BUILT_IN[name].config(settings).cost(turns)


def test_the_table_is_up_to_date() -> None:
    page = Path(cost_table.__file__).with_name("baselines.md").read_text(encoding="utf-8")
    assert cost_table.costs(MEASURED) in page, "run `python -m docs.cost_table` and copy its table"


def test_every_method_has_a_row() -> None:
    assert {name.partition(",")[0] for name in MEASURED} == BUILT_IN.keys()


@pytest.mark.parametrize("name", MEASURED)
def test_what_was_measured_is_at_most_what_the_settings_predict(name: str) -> None:
    """They count every episode and answer as used. Drawn states are in long episodes more often than in short
    ones, so that forks take more steps than an episode of mean length has left."""
    config, row = cost_table.rows()[name].train, MEASURED[name]
    assert config is not None
    predicted = config.cost(row["train_turns"])
    learned = (row["env_steps"] - row["extra_env_steps"]) / predicted.played
    _, sequences = cost_table.lengths(row)
    asked = sum(row["answers"].values()) / learned
    assert 0 < asked <= 1.5 * sum(predicted.answers.values())
    assert 0 < row["env_steps"] / learned <= 1.5 * predicted.env_steps
    assert 0 < row["backward_tokens"] / learned <= 1.1 * tokens(predicted.backward, sequences)
    assert row["forward_tokens"] / learned <= 1.1 * tokens(predicted.forward, sequences)


@pytest.mark.parametrize("name", ["ppo", "sac", "archer"])
def test_methods_that_use_everything_cost_what_is_predicted(name: str) -> None:
    config, row = cost_table.rows()[name].train, MEASURED[name]
    assert config is not None
    predicted, turns = config.cost(row["train_turns"]), row["env_steps"]
    _, lengths = cost_table.lengths(row)
    assert row["answers"]["policy"] / turns == pytest.approx(predicted.answers["policy"], rel=0.05)
    for measured, counts in (("backward", predicted.backward), ("forward", predicted.forward)):
        found = row[f"{measured}_tokens"] / turns
        assert found == pytest.approx(tokens(counts, lengths), rel=0.1)


def test_costs_follow_the_settings() -> None:
    nlac = cost("nlac")
    assert nlac.answers == {"policy": 3, "successor": 2, "backup": 1, "evaluator": 1, "refiner": 1}
    told = cost("nlac", backup="monte_carlo", refine_source="replayed", num_nlq_samples=3, replay_ratio=2.0)
    assert told.answers == {"policy": 0.5, "successor": 3, "backup": 0, "evaluator": 1, "refiner": 1}
    assert told.env_steps == 0.5 and told.backward == nlac.backward == {"successor": 1, "policy": 1}
    assert cost("nlac", kl_coef=0.1).forward == {"successor": 1, "policy": 1}
    assert cost("sac", num_candidates=8).forward == {"policy": 9}
    assert cost("drlc", verdict_coef=0.0, num_epochs=3).backward == {"policy": 3}
    assert cost("archer", critic_steps=1).backward == {"policy": 1.5}
    # 32 of 160 new transitions: 5 are played for each; 2 steps lead to the mean state, where 3 forks take 3.
    nlrl = cost("nlrl", train_batch_size=32, transitions_per_iteration=32)
    assert (nlrl.played, nlrl.further_steps, nlrl.answers["policy"]) == (5, 2 + 3 * 3, 5 + 3 * 2 + 4)
    assert cost("nlrl", num_futures=1, transitions_per_iteration=1_000).env_steps == 1
    read = cost("critique_rl", num_nlq_samples=2, num_critiques=3, num_epochs=1, stage_one=1.0, kl_coef=0.0)
    assert read.forward == read.backward == {"successor": 6, "evaluator": 3, "policy": 0} and read.items == 9
    assert (read.answers["successor"], read.answers["evaluator"]) == (6, 3)
    assert cost("critique_rl", num_nlq_samples=0).backward["successor"] == 0
    assert cost("pacs", train_batch_size=32).forward == {"policy": 1.75}  # four tasks, the first is at S = 0


@pytest.mark.parametrize(("name", "steps"), [("nlac", 32), ("ppo", 16), ("nlrl", 8), ("agent_prm", 16)])
def test_steps_follow_from_the_places_in_mini_batches(name: str, steps: float) -> None:
    assert BUILT_IN[name].config({"mini_batch_size": 32}).transitions_per_step(5) == steps
