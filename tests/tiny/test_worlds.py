"""The text of tiny-worlds: competent play by guessed procedures, and a critic that follows futures alone."""

import json
import random
import re
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from nlac_bench import tiny
from nlac_bench.agents.roles.compact import ACT, BACKUP, CRITIQUE, FUTURE, CompactPrompts
from nlac_bench.agents.roles.styles import prompts_for
from nlac_bench.agents.roles.transition import first_state
from nlac_bench.cli import app
from nlac_bench.envs.shop_worlds.env import ShopWorldsEnv
from nlac_bench.envs.shop_worlds.procedures import KINDS, described
from nlac_bench.envs.shop_worlds.tasks import case_of, cases
from nlac_bench.envs.shop_worlds.worlds import MEASURED, OPEN, SPARE, procedures_of
from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.rollout.engines.hf.loading import load_tokenizer
from nlac_bench.tiny import gates
from workshop import critic_rows, mistakes, worlds_corpus
from workshop.corpus import CorpusRow
from workshop.critic_rows import evaluator_row, refiner_row
from workshop.worlds_player import PracticeEnv, WorldsPlayer, practice


@pytest.fixture(scope="module")
def rows() -> list[CorpusRow]:
    return [row for found in worlds_corpus.episodes(60, seed=1) for row in found]


def test_only_training_customers_are_in_the_corpus() -> None:
    taught = {case.user_id for case in practice().values()}
    for split in ("validation", "test"):
        assert not taught & {case.user_id for case in cases()[split]}
    assert {len(case.requests) for case in practice().values()} == {1}


@pytest.mark.parametrize("kind", KINDS)
def test_a_procedure_succeeds_exactly_where_it_is_demanded(kind: str) -> None:
    chosen = [name for name, case in practice().items() if case.requests[0].goal.kind == kind][:3]
    for world in OPEN[:3]:
        env = PracticeEnv(world)
        for task_id in chosen:
            for procedure in KINDS[kind].procedures:
                player, done, ended = WorldsPlayer(practice()[task_id], procedure), 0, False
                env.reset(seed=0, options={"task_id": task_id})
                while not ended:
                    _, _, ended, _, info = env.step(player.due(done))
                    assert info.get("tool_error") is None
                    done += 1
                assert info["success"] == (procedure == procedures_of(world)[kind])


def test_other_procedures_are_those_that_began_alike() -> None:
    case = next(case for case in practice().values() if case.requests[0].goal.kind == "return")
    player = WorldsPlayer(case, ("original", "email"))
    assert [json.loads(other)["name"] for other in player.others(0, player.due(0))] == [
        "find_user_id_by_name_zip"
    ]
    (card,) = player.others(3, player.due(3))
    assert "gift_card" in card and "gift_card" not in player.due(3)
    assert not player.others(1, player.due(1))  # the order is read next in any case
    assert player.others(1, "a slip") == [player.due(1)]


def test_an_episode_depends_only_on_its_number_and_the_seed() -> None:
    together = list(worlds_corpus.episodes(3, seed=1))
    (alone,) = worlds_corpus.episodes(3, seed=1, first=2)
    (other,) = worlds_corpus.episodes(3, seed=2, first=2)
    assert alone == together[2] != other


def test_slips_are_played_and_not_taught(rows: list[CorpusRow]) -> None:
    never_right = (mistakes.HANDOVER, mistakes.REFUSAL)
    policy = [row for row in rows if row.role == "policy"]
    assert any(mistakes.REFUSAL in row.prompt for row in policy)
    assert not any(row.answer in never_right for row in policy)


def test_no_prompt_names_the_world(rows: list[CorpusRow]) -> None:
    head = re.compile(r"<\|shop_worlds\|><\|user\|>")
    assert all(head.match(row.prompt) for row in rows)


def test_a_future_says_how_the_request_was_handled() -> None:
    env, rng = PracticeEnv(OPEN[0]), random.Random(0)
    task_id = next(name for name in env.task_ids if practice()[name].requests[0].goal.kind == "cancel")
    right = described("cancel", procedures_of(OPEN[0])["cancel"])
    by = set()
    for _ in range(12):
        _, steps, success = worlds_corpus.play(env, task_id, rng)
        reasons = worlds_corpus.reasons_of(env)
        by.add(reasons)
        future = f"{reasons}; end: {'success' if success else 'failure'}"
        assert all(critic_rows.future_of(steps, i, success, reasons) == future for i in range(len(steps)))
        assert reasons.endswith(f"; right: {right}") or reasons == worlds_corpus.NO_CHANGE
        assert success == (reasons == f"by: {right}; right: {right}")
    assert len(by) >= 3


def test_the_backup_of_the_last_step_explains_the_outcome(rows: list[CorpusRow]) -> None:
    endings = 0
    for row in rows:
        if row.role != "backup":
            continue
        told = row.prompt.removesuffix(BACKUP).rpartition(FUTURE)[2]
        assert row.answer.startswith("by: ")
        if "by: " not in told:
            endings += 1
            assert CompactPrompts(explains=True).parse_ending(row.answer, told) == row.answer
    assert endings == 60  # one of each episode


def test_the_verdict_is_that_of_most_futures_and_quotes_one(rows: list[CorpusRow]) -> None:
    counts = set()
    for row in rows:
        if row.role != "evaluator":
            continue
        shown = row.prompt.removesuffix(CRITIQUE).split(FUTURE)[1:]
        wins = [future.endswith("end: success") for future in shown]
        counts.add(len(shown))
        critique = CompactPrompts().parse_critique(row.answer)
        assert critique is not None
        assert critique.optimal == row.truth == (2 * sum(wins) >= len(wins))
        reason = re.search(r"; why: (\d) of (\d) end in (success|failure), (.*?); instead: ", row.answer)
        assert reason is not None and int(reason[1]) == wins.count(critique.optimal)
        assert int(reason[2]) == len(shown)
        agreeing = [future for future, win in zip(shown, wins, strict=True) if win == critique.optimal]
        assert agreeing[0].rpartition("; end:")[0].endswith(reason[4])
    assert counts == {1, 2, 3, 4, 5}


def test_the_refiner_takes_the_advice_of_an_objection_and_nothing_else(rows: list[CorpusRow]) -> None:
    changed = 0
    for row in rows:
        if row.role != "refiner":
            continue
        action, _, critique = row.prompt.rpartition(ACT)[2].partition(CRITIQUE)
        if "optimal: yes" in critique or "instead: nothing" in critique:
            assert row.answer == action
        else:
            changed += 1
            assert row.answer != action
    assert changed >= 20


def test_an_objection_advises_the_procedure_that_its_future_calls_right() -> None:
    case = next(case for case in practice().values() if case.requests[0].goal.kind == "cancel")
    player, rng = WorldsPlayer(case, ("mistake", "at_once")), random.Random(0)
    done = next(i for i in range(9) if "cancel_pending_order" in player.due(i))
    call = player.due(done)
    asks = WorldsPlayer(case, ("mistake", "confirmed")).due(done)
    other = call.replace("ordered by mistake", "no longer needed")
    step = worlds_corpus.WorldStep(
        first_state("shop_worlds", "Hi.", {"tools": (), "policy": ""}), call, [], done, False
    )

    def advised(reasons: str) -> str | None:
        advice = worlds_corpus.advised(player, step, call, reasons, rng)
        return advice.action if advice else None

    for way in worlds_corpus.procedures_by_words("cancel"):
        assert advised(f"by: {way}; right: cancel, mistake, at once") is None
        assert advised(f"by: {way}; right: cancel, not needed, at once") == other
        assert advised(f"by: {way}; right: cancel, mistake, confirmed") == asks
    assert {advised(worlds_corpus.NO_CHANGE) for _ in range(40)} == {other, asks}  # at random


def test_the_successor_is_taught_an_episode_as_other_worlds_would_end_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worlds_corpus, "SLIP", 0.0)
    env, rng = PracticeEnv(OPEN[0]), random.Random(2)
    task_id = next(name for name in env.task_ids if practice()[name].requests[0].goal.kind == "cancel")
    player, steps, _ = worlds_corpus.play(env, task_id, rng)
    rows = list(worlds_corpus.in_other_worlds(player, steps, env.handled, rng))
    call = next(i for i, step in enumerate(steps) if "cancel_pending_order" in step.action)
    assert len(rows) == (call + 1) * worlds_corpus.OTHER_WORLDS
    named = worlds_corpus.procedures_by_words("cancel")
    ends = {}
    for row in rows:
        found = re.fullmatch(r"by: (.*); right: (.*); end: (success|failure)", row.answer)
        assert found is not None and found[1] == env.handled[0].way
        ends[named[found[2]]] = found[3] == "success"
    assert set(ends) == set(named.values())
    for demanded, success in ends.items():
        other = PracticeEnv(next(w for w in OPEN if procedures_of(w)["cancel"] == demanded))
        other.reset(seed=0, options={"task_id": task_id})
        ended = False
        info: dict[str, Any] = {}
        for step in steps:
            if not ended:
                _, _, ended, _, info = other.step(step.action)
        while not ended:
            _, _, ended, _, info = other.step(player.due(99))
        assert info["success"] == success
        assert other.handled[0].demanded == described("cancel", demanded)


def test_all_moments_of_a_choice_are_criticised_several_times() -> None:
    env, rng = PracticeEnv(OPEN[3]), random.Random(5)
    rows = worlds_corpus.episode_rows(env, rng)
    evaluated = Counter(
        row.prompt.partition(FUTURE)[0].rpartition(ACT)[0] for row in rows if row.role == "evaluator"
    )
    assert len(evaluated) == worlds_corpus.CRITICISED
    assert set(evaluated.values()) == {1, worlds_corpus.ADVISED}


def test_critiques_are_independent_of_the_world() -> None:
    """The same episode in two worlds, until the shop has checked the call: the same prompts and answers."""
    taught, first = [], OPEN[0]
    other = next(w for w in OPEN if procedures_of(w)["cancel"] != procedures_of(first)["cancel"])
    for world in (first, other):
        env = PracticeEnv(world)
        task_id = next(name for name in env.task_ids if practice()[name].requests[0].goal.kind == "cancel")
        player, steps, _ = worlds_corpus.play(env, task_id, random.Random(3))
        futures = worlds_corpus.futures_of(player.kind)
        rng = random.Random(4)
        state, action = steps[2].state, steps[2].action
        advise = partial(worlds_corpus.advised, player, steps[2], rng=rng)
        makers = (evaluator_row, refiner_row)
        taught.append([make(state, action, advise, futures, rng) for make in makers])
    assert taught[0] == taught[1]


@pytest.mark.parametrize("world", [MEASURED[0], SPARE[2]])
def test_probes_succeed_by_the_rules_alone(world: int) -> None:
    found = gates.probes(6)
    assert {probe.kind for probe in found} == set(KINDS) and len(found) == 24
    env = ShopWorldsEnv(world=world, level="easy")
    for probe in found:
        env.reset(seed=0, options={"task_id": probe.task_id})
        player, done, ended = WorldsPlayer(case_of(probe.task_id), probe.procedure), 0, False
        said = []
        while not ended:
            said.append(player.due(done))
            _, _, ended, _, info = env.step(said[-1])
            done += 1
        assert probe.action in said
        assert info["success"] == gates.succeeds(probe, world)


def test_a_model_that_knows_a_world_is_found() -> None:
    found = gates.probes(6)
    knows_PS = np.array([[gates.succeeds(probe, 1003)] * 2 for probe in found], dtype=float)
    by_world = gates.auc_by_world(found, knows_PS, MEASURED)
    assert by_world[1003] == (1.0, 1.0, 1.0)
    assert by_world[1003][0] == max(value for value, _, _ in by_world.values())
    constant = gates.auc_by_world(found, np.zeros((24, 2)), MEASURED)
    assert all(value == 0.5 for value, _, _ in constant.values())


def test_outcome_auc_counts_ties_half() -> None:
    truth_P = np.array([True, True, False, False])
    assert gates.outcome_auc(np.array([[1.0], [1.0], [0.0], [0.0]]), truth_P) == 1.0
    assert gates.outcome_auc(np.array([[1.0], [0.0], [0.0], [0.0]]), truth_P) == 0.75
    assert gates.outcome_auc(np.array([[0.5], [0.5], [0.5], [0.5]]), truth_P) == 0.5


def test_measuring_asks_the_model() -> None:
    engine = HFEngine.from_pretrained(str(tiny.path()), device="cpu")
    measured = gates.measure(engine, gates.probes(1))
    assert measured.said_PS.shape == (4, gates.SAMPLES) and len(measured.flips) == 4
    assert set(np.unique(measured.said_PS)) <= {0.0, 0.5, 1.0}


@pytest.mark.parametrize(
    ("env", "said"),
    [
        (["tau_retail"], "--env tau_retail cannot be measured with --gates"),
        (["shop_worlds", "shop_worlds"], "one environment"),
        (['shop_worlds@{"world": 5000}'], "world must be an integer"),
        (['shop_worlds@{"level": "hard"}'], "cannot be measured with --gates"),
        (["shop_worlds@{"], "is not JSON"),
    ],
)
def test_what_has_no_gates_is_refused(env: list[str], said: str) -> None:
    with pytest.raises(NlacBenchError, match=re.escape(said)):
        gates.worlds_of(env)
    assert gates.worlds_of(["shop_worlds"]) == MEASURED
    assert gates.worlds_of(['shop_worlds@{"world": 1009}']) == [1009]


def test_too_few_probes_are_refused() -> None:
    result = CliRunner().invoke(app, ["tiny", "report", "--gates", "--tasks", "63"])
    assert result.exit_code == 2 and "at least 64 tasks" in result.stderr.replace("\n", " ")


@pytest.mark.slow  # half a minute: 256 probes are what a gate rests on
def test_gates_that_do_not_hold_exit_with_1() -> None:
    """``tiny`` was taught that actions succeed or fail by what they are, and has not seen this shop."""
    command = ["tiny", "report", "--gates", "--tasks", "64", "--model", str(tiny.path()), "--json"]
    result = CliRunner().invoke(app, command)
    found = json.loads(result.stdout)
    assert result.exit_code == (0 if found["holds"] else 1)
    assert found["holds"] == all(gate["holds"] for gate in found["gates"])
    assert {"name", "value", "ci", "criterion", "holds"} <= found["gates"][0].keys()
    assert not found["gates"][0]["holds"]


@pytest.mark.slow  # 20 seconds: a step of a model of full size, because the weights start from tiny
def test_a_build_of_tiny_worlds_starts_from_tiny(tmp_path: Path) -> None:
    from workshop.build import BuildConfig, build
    from workshop.fingerprint import fingerprint

    config = BuildConfig(model="tiny-worlds", steps=1, scale=0.0003, batch=1, compiled=False, length=1024)
    build(config, tmp_path, lambda state: None, lambda text: None)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["taught"]["started_from"] == "tiny" and manifest["prompts"] == fingerprint()
    assert manifest["build"]["model"] == "tiny-worlds" and len(manifest["phases"]) == 1
    assert prompts_for(load_tokenizer(str(tmp_path))).hashes() == CompactPrompts().hashes()
    assert json.loads((tmp_path / "tokenizer_config.json").read_text())["explains_endings"] is True
    assert (tmp_path / "tokenizer.json").read_bytes() == (tiny.path() / "tokenizer.json").read_bytes()
    assert (tmp_path / "model.safetensors").read_bytes() != (tiny.path() / "model.safetensors").read_bytes()
