"""Runs with ``--refine`` and ``--best-of``: what is refused, recorded, resumed, counted and compared."""

import json
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.harness.measure.weights import weights_sha256
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.leaderboards.submit import derive
from nlac_bench.rollout.engines.model_files import HEADS
from tests.cli.command import call, nlac_bench, one_json

SHOP = ("--env", "tau_retail", "--model", "tiny", "--replicas", "1", "--json")
SMALL = ("train_batch_size=4", "mini_batch_size=4", "val_tasks=2", "max_response_length=48", "test_freq=2")


def measured(folder: Path, *options: str, command: str = "eval") -> dict[str, Any]:
    return one_json(nlac_bench(command, *SHOP, "--out", str(folder), *options))


def turns(folder: Path) -> list[dict[str, Any]]:
    return [turn for row in RunFolder.open(folder).rows() for turn in row["turns"]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--agent nlac --refine 0", "--refine must be at least 1, got 0"),
        ("--agent nlac --refine some", "--refine must be a whole number, got 'some'"),
        ("--agent nlac --best-of 1", "--best-of must be at least 2"),
        ("--agent nlac --best-of 100", "at most 99, got 100"),
        ("--agent nlac --refine 1 --best-of 3", "--refine = 1 cannot be used together with best_of = 3"),
        ("--agent nlac --best-of 3 --temperature 0", "set temperature above 0"),
        ("--agent oracle --refine 1", "--refine: agent 'oracle' plays without a model; leave out --refine"),
        ("--agent random --best-of 2", "--best-of: agent 'random' plays without a model"),
        ("--agent tool_calling --model tiny --refine 1", "agent 'tool_calling' calls functions natively"),
        ("--agent oracle --best-of 2 --dry-run", "agent 'oracle' plays without a model"),
        ("--agent tests.harness.test_composed_runs:turns --refine 1", "makes its own actions"),
    ],
)
def test_what_cannot_be_composed_is_refused(options: str, said: str, tmp_path: Path) -> None:
    done = call("run", "--env", "tau_retail", "--out", str(tmp_path / "run"), *options.split())
    assert done.returncode == 2 and said in " ".join(done.stderr.split()), done.stderr
    assert not (tmp_path / "run").exists()


def test_a_refined_run_is_resumed_counted_and_compared(tmp_path: Path) -> None:
    plain = measured(tmp_path / "plain", "--agent", "nlac", "--limit", "3")
    refined = measured(tmp_path / "refined", "--agent", "nlac", "--limit", "3", "--refine", "2")
    assert plain["agent"] == "nlac" and refined["agent"] == "nlac + refine 2"
    run = RunFolder.open(tmp_path / "refined")
    assert run.subject["refine"] == run.config["refine"] == 2 and "best_of" not in run.subject
    each, usage = refined["generated_per_episode"], refined["usage"]
    assert each == {role: spent["completion_tokens"] / 3 for role, spent in usage.items()}
    assert {"policy", "successor", "evaluator"} <= each.keys() and plain["generated_per_episode"].keys() == {
        "policy"
    }

    episodes = tmp_path / "refined" / "episodes.jsonl"
    lines = episodes.read_text().splitlines(keepends=True)
    episodes.write_text("".join(lines[:-1]))
    assert one_json(nlac_bench("resume", str(run.path), "--json"))["complete"]
    again = {json.loads(line)["task_id"]: json.loads(line) for line in episodes.read_text().splitlines()}
    lost = json.loads(lines[-1])
    played = [[turn["text"] for turn in row["turns"]] for row in (lost, again[lost["task_id"]])]
    assert played[0] == played[1] and all(turn["other_usage"] for turn in turns(run.path))

    compared = one_json(nlac_bench("compare", str(run.path), str(tmp_path / "plain"), "--json"))
    a, b = (compared["costs"][side]["generated_per_episode"] for side in "ab")
    assert a == pytest.approx(each) and sum(a.values()) > 1.5 * sum(b.values())
    text = nlac_bench("compare", str(run.path), str(tmp_path / "plain")).stdout
    assert "generated tokens of a test episode" in text and "of a test episode by evaluator" in text
    both = f"{run.path},{tmp_path / 'plain'}"
    mixed = call("compare", both, both)
    assert mixed.returncode != 0 and "their agents are nlac + refine 2 and nlac" in " ".join(
        mixed.stderr.split()
    )
    derived = derive([run.path], replayed=True)
    assert not derived.faults and derived.entry.subject.label == "nlac + refine 2"
    assert "--refine 2" in str(derived.entry.reproduce)
    lies = {**again[lost["task_id"]], "usage": {**lost["usage"], "evaluator": lost["usage"]["policy"]}}
    episodes.write_text("".join([*lines[:-1], json.dumps(lies) + "\n"]))
    assert "of the role 'evaluator'" in str([str(fault) for fault in derive([run.path]).faults])

    config = run.path / "config.json"
    config.write_text(config.read_text().replace('"refine": 2', '"refine": 3'))
    done = call("resume", str(run.path))
    assert done.returncode != 0 and "refine" in done.stderr


def test_prompted_agents_are_composed(tmp_path: Path) -> None:
    options = ("--limit", "1", "--max-turns", "2", "--max-tokens", "24", "--seed", "1")
    best = measured(tmp_path / "best", "--agent", "react", "--best-of", "2", *options, command="run")
    assert (
        best["agent"] == "react + best of 2" and RunFolder.open(tmp_path / "best").config["temperature"] == 1
    )
    assert not derive([tmp_path / "best"], replayed=True).faults
    assert all(
        len(turn["info"].get("composition", {}).get("candidates", ())) <= 2
        for turn in turns(tmp_path / "best")
    )


def test_agent_prm_is_tested_with_its_trained_head(tmp_path: Path) -> None:
    """The untrained model has no head, so it chooses itself; a checkpoint has one wherever it is measured."""
    settings = [part for name in SMALL for part in ("--train", name)]
    options = ("--agent", "agent_prm", "--best-of", "3", "--limit", "2")
    run = measured(tmp_path / "run", *options, "--budget", "steps=2", *settings, command="run")
    assert run["agent"] == "agent_prm + best of 3" and run["gradient_steps"] == 2
    judged = run["usage"]["evaluator"]
    assert judged["calls"] > 1 and judged["prompt_tokens"] > 0 and judged["completion_tokens"] == 0
    base = one_json(nlac_bench("score", str(tmp_path / "run" / "base"), "--json"))
    assert base["agent"] == run["agent"] and "evaluator" not in base["usage"]
    best = tmp_path / "run" / "checkpoints" / "best"
    own = measured(tmp_path / "own", *options, "--model", str(best))
    texts = {
        row["task_id"]: [t["text"] for t in row["turns"]] for row in RunFolder.open(tmp_path / "run").rows()
    }
    assert texts == {
        row["task_id"]: [t["text"] for t in row["turns"]] for row in RunFolder.open(tmp_path / "own").rows()
    }
    assert own["usage"]["evaluator"]["calls"] == judged["calls"]
    identity = RunFolder.open(tmp_path / "own").subject["weights"]["sha256"]
    assert weights_sha256(best) == identity
    (best / HEADS).unlink()
    assert weights_sha256(best) not in (None, identity)
