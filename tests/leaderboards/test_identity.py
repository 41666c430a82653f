"""Ids that collide, runs without a model that bear a model's name, and checkpoints with one folder's name."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nlac_bench import tiny
from nlac_bench.leaderboards.boards import collect, make_boards
from nlac_bench.leaderboards.entry import Cost, Entry, Limits, RunProvenance
from nlac_bench.leaderboards.entry_file import board_id, entry_text, read_entry, wrong_ids
from nlac_bench.leaderboards.families import Registered
from nlac_bench.leaderboards.subject import Subject, Tokens
from nlac_bench.reports.boards.build import render_boards
from nlac_bench.reports.boards.view import BoardView
from tests.cli.command import nlac_bench
from tests.leaderboards.factory import KEY, entry
from tests.leaderboards.test_submit import failed, lines, rewrite, submit, verify

COLLIDING = [KEY.model_copy(update={"limits": Limits(max_turns=n)}) for n in (10_444_310, 23_852_289)]
"""Two conditions whose hashes begin with the same 12 digits; found among 36 million in a minute."""


def short(made: Entry) -> Entry:
    """The entry with ids of 12 digits, as earlier versions wrote them."""
    return made.model_copy(update={"board_id": made.board_id[:-52], "entry_id": made.entry_id[:-52]})


def write(folder: Path, *entries: Entry) -> Path:
    folder.mkdir(exist_ok=True)
    for i, each in enumerate(entries):
        (folder / f"{i}.json").write_text(entry_text(each))
    return folder


def test_new_ids_have_64_digits_and_stored_ones_stay_valid(tmp_path: Path) -> None:
    new = entry("react", [True, False])
    assert len(new.board_id.rsplit("-", 1)[1]) == len(new.entry_id.rsplit("-", 1)[1]) == 64
    assert not wrong_ids(new) and not wrong_ids(short(new))
    for digits in (11, 13, 63):
        cut = new.model_copy(update={"board_id": new.board_id[: digits - 64]})
        assert wrong_ids(cut) and write(tmp_path / str(digits), cut)
        assert "board_id" in collect(tmp_path / str(digits)).rejected[0].reason


def test_entries_with_short_and_long_ids_stand_on_one_board(tmp_path: Path) -> None:
    results = write(tmp_path, short(entry("react", [True] * 4)), entry("act", [False] * 4))
    (board,) = collect(results).boards
    assert len(board.ranked) == 2 and len(board.pairs) == 1
    assert board.board_id == board_id(KEY)[:-52], "the files of a stored board keep their names"
    assert [b.board_id for b in make_boards([entry("act", [False] * 4)])] == [board_id(KEY)]


def test_what_plays_beside_a_policy_is_part_of_its_name(tmp_path: Path) -> None:
    """Entries of a policy alone have the ids that they had before; a family names one of the agents."""
    used = (("policy", 300), ("evaluator", 100))
    spent = {r: Tokens(calls=1, prompt_tokens=9, completion_tokens=n, cost=0, seconds=0) for r, n in used}
    refined = Subject(agent="nlac", model="tiny", refine=2)
    plain = entry("nlac", [False] * 4)
    other = entry("nlac", [True] * 4, subject=refined, cost=Cost(tokens_by_role=spent))
    assert "refine" not in entry_text(plain) and '"refine": 2' in entry_text(other)
    assert other.entry_id.split("-")[1:3] == ["nlac", "refine"] and refined.label == "nlac + refine 2"
    results = write(tmp_path, plain, other)
    (board,) = collect(results).boards
    (page,) = (text for name, text in render_boards([board]).items() if name.endswith("models.md"))
    assert "nlac + refine 2" in page and "| test tokens / episode |" in page
    view = BoardView(board)
    assert [(row.name, row.episode_tokens) for row in view.rows] == [
        ("nlac + refine 2", 100.0),
        ("nlac", None),
    ]
    named = Registered(agent="nlac + refine 2")
    assert [named.names(each) for each in (plain, other)] == [False, True]
    assert [Registered(agent="nlac").names(each) for each in (plain, other)] == [True, False]


def test_colliding_boards_are_refused_and_both_named(tmp_path: Path) -> None:
    a, b = (entry(name, [True] * 4, key=key) for name, key in zip("ab", COLLIDING, strict=True))
    assert board_id(a.board) != board_id(b.board) and short(a).board_id == short(b).board_id
    results, out = write(tmp_path / "results", short(a), short(b)), tmp_path / "out"
    done = nlac_bench("leaderboard", "build", "--results", str(results), "--out", str(out), status=2)
    assert str(results / "0.json") in done.stderr and str(results / "1.json") in done.stderr
    assert "other conditions" in done.stderr and not out.exists()
    write(results, a, b)
    nlac_bench("leaderboard", "build", "--results", str(results), "--out", str(out))
    assert len(list(out.glob("*-models.md"))) == 2


def test_an_entry_with_the_id_of_another_one_is_no_second_run(tmp_path: Path) -> None:
    one = entry("react", [True] * 4)
    results = write(tmp_path, short(one), one)
    assert "has the same run as" in collect(results).rejected[0].reason


# --- runs that no model played ----------------------------------------------------------------------


def relabel(run: Path, **subject: Any) -> Path:
    """Give a run of the agent ``random`` the name of a model."""
    manifest, config = (json.loads((run / f"{n}.json").read_text()) for n in ("manifest", "config"))
    config |= {"agent": "react", "model": "gpt-5"}
    manifest["subject"] |= {
        "agent": "react", "model": "gpt-5", "engine": "OpenAIEngine", "temperature": config["temperature"],
        "max_tokens": config["max_tokens"], **subject,
    }  # fmt: skip
    (run / "manifest.json").write_text(json.dumps(manifest))
    (run / "config.json").write_text(json.dumps(config))
    return run


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("game") / "run"
    env = 'math500_hard@{"num_tasks": 5}'
    nlac_bench("run", "--env", env, "--agent", "random", "--out", str(folder))
    return folder


def calls(row: dict[str, Any]) -> None:
    for turn in row["turns"]:
        turn["usage"]["calls"] = 1
    row["usage"]["policy"] = {**row["turns"][0]["usage"], "calls": len(row["turns"])}


def calls_and_tokens(row: dict[str, Any]) -> None:
    row["turns"][0]["usage"]["completion_tokens"] = 7
    calls(row)
    row["usage"]["policy"]["completion_tokens"] = 8


@pytest.mark.parametrize("replayed", [(), ("--replay",)])
@pytest.mark.parametrize(
    ("change", "subject", "said"),
    [
        (lambda row: None, {}, "without a call of the model"),
        (lambda row: None, {"engine": None, "temperature": None, "max_tokens": None}, "no engine is stated"),
        (calls, {}, "no token was generated"),
        (calls_and_tokens, {}, "calls and tokens are stated"),
    ],
)
def test_random_play_with_the_name_of_a_model_is_refused(
    change: Callable[[dict[str, Any]], None],
    subject: Any,
    said: str,
    replayed: Any,
    game: Path,
    tmp_path: Path,
) -> None:
    run = relabel(Path(shutil.copytree(game, tmp_path / "run")), **subject)
    rows = lines(run / "episodes.jsonl")
    for row in rows:
        change(row)
    rewrite(run / "episodes.jsonl", rows)
    refused = submit(run, *replayed, "--out", tmp_path / "out", status=2)["said"]
    assert "a model acted: expected calls and tokens" in refused and said in refused
    assert not (tmp_path / "out").exists()


def test_an_entry_of_a_model_without_a_call_is_not_listed(tmp_path: Path) -> None:
    zero = "0" * 64
    run = RunProvenance(
        started="", nlac_bench="", python="", commit=None, dirty=None, packages_sha256=zero,
        manifest_sha256=zero, episodes_sha256=zero,
    )  # fmt: skip
    made = entry("react", [True, False])
    of_a_model: dict[str, Any] = {
        "subject": made.subject.model_copy(update={"engine": "HFEngine"}),
        "provenance": made.provenance.model_copy(update={"runs": [run]}),
    }
    for tokens, said in ((0, "no calls or tokens"), (9, None)):
        spent = Tokens(calls=2, prompt_tokens=9, completion_tokens=tokens, cost=0.0, seconds=1.0)
        cost = Cost(tokens_by_role={"policy": spent}, seconds=1.0)
        rejected = collect(write(tmp_path, entry("react", [True, False], cost=cost, **of_a_model))).rejected
        assert bool(rejected) == bool(said) and (said is None or said in rejected[0].reason)


# --- models in folders ------------------------------------------------------------------------------

TINY_ENV = 'math500_hard@{"level": 1, "num_tasks": 4}'


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a checkpoint in its folder, as a training run has one, and an `eval` of the checkpoint."""
    folder = tmp_path_factory.mktemp("trained")
    nlac_bench(
        "run", "--env", TINY_ENV, "--agent", "random", "--seed", "3", "--out", str(folder / "training")
    )
    best = folder / "training" / "checkpoints" / "best"
    shutil.copytree(tiny.path(), best)
    nlac_bench(
        "eval", "--env", TINY_ENV, "--agent", "react", "--model", str(best), "--max-tokens", "12",
        "--replicas", "1", "--out", str(folder / "eval"),
    )  # fmt: skip
    return folder


def test_a_checkpoint_is_identified_by_its_weights_and_its_run(trained: Path, tmp_path: Path) -> None:
    (made,) = submit(trained / "eval", "--replay", "--out", tmp_path)["entries"]
    weights = read_entry(Path(made["path"])).subject.weights
    assert weights is not None and weights.run is not None
    assert (weights.run.agent, weights.run.env, weights.run.seed) == ("random", "math500_hard", 3)
    (row,) = BoardView(collect(tmp_path).boards[0]).rows
    assert row.training == "random on math500_hard, seed 3"
    assert row.model == f"{weights.run.model} @ weights {weights.sha256[:12]}" and weights.run.model != "best"
    assert ("Weights, SHA-256", weights.sha256) in row.subject
    nlac_bench("leaderboard", "build", "--results", str(tmp_path), "--out", str(tmp_path / "boards"))
    (table,) = (tmp_path / "boards").glob("*.csv")
    assert f",{weights.run.model},sha256:{weights.sha256}," in table.read_text()
    assert verify(made["path"], trained / "eval", status=0)["holds"]


@pytest.mark.parametrize("model", ["/models/best", "./best", "a/b/best"])
def test_a_path_without_known_weights_is_no_model(model: str, game: Path, tmp_path: Path) -> None:
    """A model on a server, named by its path there, cannot be told from another one."""
    run = Path(shutil.copytree(game, tmp_path / "run"))
    for name in ("config", "manifest"):
        content = json.loads((run / f"{name}.json").read_text())
        content.get("subject", content)["model"] = model
        (run / f"{name}.json").write_text(json.dumps(content))
    said = submit(run, "--out", tmp_path / "out", status=2)["said"]
    assert "the model is identified" in said and "--served-model-name" in said and model in said


def test_a_folder_of_unknown_origin_is_not_called_untrained() -> None:
    old = entry("react", [True, False], subject=Subject(agent="react", model="folder best"))
    named = entry("act", [True, False], subject=Subject(agent="act", model="Qwen/Qwen2.5-7B-Instruct"))
    rows = {row.agent: row for row in BoardView(make_boards([old, named])[0]).rows}
    assert (rows["react"].training, rows["act"].training) == ("unknown", "none")


def test_an_entry_of_other_weights_does_not_hold(trained: Path, tmp_path: Path) -> None:
    (made,) = submit(trained / "eval", "--out", tmp_path)["entries"]
    weights = trained / "training" / "checkpoints" / "best" / "model.safetensors"
    before = weights.read_bytes()
    weights.write_bytes(before[:-1] + bytes([before[-1] ^ 1]))
    try:
        result = verify(made["path"], trained / "eval", status=1)
        assert failed(result) == {"the weights are those that were measured"}
    finally:
        weights.write_bytes(before)


def test_token_counts_are_compared_with_the_texts(trained: Path, tmp_path: Path) -> None:
    """A count that the model's tokenizer, or the list of sampled tokens, contradicts is refused."""
    for keep_ids, replayed in ((True, ()), (False, ("--replay",))):
        run = tmp_path / f"run-{keep_ids}"
        shutil.copytree(trained / "eval", run)
        rows = lines(run / "episodes.jsonl")
        for row in rows:
            for turn in row["turns"]:
                row["usage"]["policy"]["completion_tokens"] -= turn["usage"]["completion_tokens"] - 1
                turn["usage"]["completion_tokens"] = 1
                if not keep_ids:
                    turn.update(output_ids=None, prompt_ids=None, logprobs=None)
        rewrite(run / "episodes.jsonl", rows)
        said = submit(run, *replayed, "--out", tmp_path / "out", status=2)["said"]
        assert ("sampled tokens, and states 1" if keep_ids else "token counts fit the texts") in said


def test_counts_far_above_the_texts_are_refused(trained: Path, tmp_path: Path) -> None:
    """Random play with forged calls and counts that add up, for a model whose tokenizer is here."""
    run = Path(shutil.copytree(trained / "eval", tmp_path / "run"))
    rows = lines(run / "episodes.jsonl")
    for row in rows:
        for turn in row["turns"]:
            row["usage"]["policy"]["completion_tokens"] += 500 - turn["usage"]["completion_tokens"]
            turn["usage"]["completion_tokens"] = 500
            turn.update(output_ids=None, prompt_ids=None, logprobs=None)
    rewrite(run / "episodes.jsonl", rows)
    said = submit(run, "--replay", "--out", tmp_path / "out", status=2)["said"]
    assert "token counts fit the texts" in said and "states 500 tokens" in said


def test_sampled_tokens_are_those_of_the_text(trained: Path, tmp_path: Path) -> None:
    """Forged ids that agree with the counts, but not with the text, are refused."""
    for name, ids in (
        ("other", lambda ids: [*ids[1:], ids[0]]),
        ("none", lambda ids: [2**31 - 1] * len(ids)),
    ):
        run = Path(shutil.copytree(trained / "eval", tmp_path / name))
        rows = lines(run / "episodes.jsonl")
        for turn in (turn for row in rows for turn in row["turns"]):
            turn["output_ids"] = ids(turn["output_ids"])
        rewrite(run / "episodes.jsonl", rows)
        said = submit(run, "--replay", "--out", tmp_path / "out", status=2)["said"]
        assert "a text that is not that of its sampled tokens" in said
