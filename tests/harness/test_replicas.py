"""`--replicas`: how many processes run the model, and that their number changes no result."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from nlac_bench import tiny
from nlac_bench.errors import ConfigError
from nlac_bench.harness.measure import estimate
from nlac_bench.harness.measure.engines import policy_engine, policy_replicas
from nlac_bench.harness.measure.memory_estimate import PROCESS_BYTES, MemoryEstimate
from nlac_bench.harness.measure.model_defaults import with_defaults
from nlac_bench.harness.measure.replicas import MOST, replica_count
from nlac_bench.harness.measure.speed import MachineSpeed
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.training.curve import latest
from tests.cli.command import nlac_bench, one_json
from tests.rollout import tiny_model
from tests.training.test_training import config, play


@pytest.fixture
def three_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.mark.usefixtures("three_cores")
def test_auto_is_one_process_a_core_for_a_small_model_on_a_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(tiny.path())
    assert replica_count("auto", "hf", folder) == 3
    assert replica_count("auto", "openai", folder) == replica_count("auto", "vllm", folder) == 1
    assert replica_count("auto", "hf", "someone/model") == replica_count("auto", "hf", str(tmp_path)) == 1
    monkeypatch.setattr("nlac_bench.harness.measure.replicas.SMALL", 1e6)
    assert replica_count("auto", "hf", folder) == 1
    monkeypatch.undo()
    monkeypatch.setattr(torch, "get_num_threads", lambda: 64)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert replica_count("auto", "hf", folder) == MOST
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert replica_count("auto", "hf", folder) == 1
    assert replica_count(5, "hf", "someone/model") == 5


@pytest.mark.usefixtures("three_cores")
@pytest.mark.parametrize(
    ("settings", "replicas", "concurrency"),
    [({}, 3, 192), ({"replicas": 2}, 2, 128), ({"replicas": 1}, 1, 64), ({"concurrency": 2}, 2, 2),
     ({"concurrency": 1, "replicas": 4}, 1, 1), ({"engine": "vllm"}, 1, 64)],
)  # fmt: skip
def test_each_process_of_the_embedded_model_has_its_episodes(
    settings: dict[str, Any], replicas: int, concurrency: int
) -> None:
    base = {"env": "tau_retail", "agent": "react", "model": "tiny"}
    found = RunConfig.from_mapping(with_defaults(base | settings), "test")
    assert (policy_replicas(found), found.concurrency) == (replicas, concurrency)
    assert found.as_dict()["replicas"] == settings.get("replicas", "auto")


@pytest.mark.usefixtures("three_cores")
def test_agents_without_a_model_need_no_processes() -> None:
    floor = with_defaults({"env": "tau_retail", "agent": "random", "model": "tiny"})
    assert floor["concurrency"] == 64


@pytest.mark.parametrize("value", ["0", "-1", "65", "two", "2.5", "1e1", ""])
def test_other_numbers_are_refused(value: str, tmp_path: Path) -> None:
    command = ("run", "--env", "tau_retail", "--agent", "nlac", "--out", str(tmp_path / "run"))
    refused = nlac_bench(*command, f"--replicas={value}", status=2)
    assert "--replicas must be auto" in refused.stderr and "Traceback" not in refused.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_a_served_model_has_no_processes(dry: tuple[str, ...], tmp_path: Path) -> None:
    command = ("run", "--env", "tau_retail", "--agent", "act", "--model", "m", "--base-url",
               "http://127.0.0.1:9/v1", "--replicas", "2", "--out", str(tmp_path / "run"))  # fmt: skip
    assert "--replicas 2 needs --engine hf" in nlac_bench(*command, *dry, status=2).stderr
    one = RunConfig.from_mapping({"env": "tau_retail", "agent": "act", "model": "m", "replicas": 1}, "test")
    assert policy_replicas(one) == 1
    with pytest.raises(ConfigError, match="needs --engine hf"):
        policy_engine(one.changed(replicas=3))


def test_an_estimate_counts_the_memory_of_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "measure", lambda *_: MachineSpeed(1.0, 1.0, 1.0))  # takes seconds

    def memory(**changes: Any) -> MemoryEstimate:
        found = estimate.estimate_of(config(steps=1, **changes))
        assert found.memory is not None and found.memory_bytes == found.memory.peak
        return found.memory

    one, two, three = (memory(replicas=n) for n in (1, 2, 3))
    assert [each.python for each in (one, two, three)] == [
        PROCESS_BYTES,
        3 * PROCESS_BYTES,
        4 * PROCESS_BYTES,
    ]
    assert 3 * one.engines == 1.5 * two.engines == three.engines
    assert one.learner == two.learner > 0 and one.conversations == two.conversations > 0
    stored = (tiny.path() / "model.safetensors").stat().st_size
    assert [each.loading for each in (one, two, three)] == [stored, 2 * stored, 3 * stored]
    played = memory(replicas=1, train=None, agent="act")
    assert played.learner == played.gradient_step == played.kernels == 0
    assert played.peak == played.python + played.engines + max(played.loading, played.conversations)
    assert played.engines in (2 * 3_674_368, 4 * 3_674_368)  # in bf16 or float32, as this machine computes


@pytest.mark.slow(reason="trains twice; starts two processes")
def test_a_training_is_bitwise_the_same_with_any_number_of_processes(tmp_path: Path) -> None:
    """In deterministic mode; the second run begins with two processes and is continued with one."""
    one, two = tmp_path / "one", tmp_path / "two"
    assert play(one, config(steps=4, replicas=1))
    assert not play(two, config(steps=4, replicas=2), stop_after=0)
    assert play(two, config(steps=4, replicas=1))
    mine, theirs = (load_file(folder / "checkpoints" / "best" / "model.safetensors") for folder in (one, two))
    assert mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)
    timed = ("seconds", "seconds_total", "usage", "push_seconds")
    for kind in ("iteration", "validation"):
        logged = [latest(list(RunFolder.open(folder).metrics()), kind) for folder in (one, two)]
        rows = [[{k: v for k, v in row.items() if k not in timed} for row in each] for each in logged]
        assert rows[0] == rows[1]
    for name in ("", "base"):
        played = [RunFolder.open(folder / name).episodes() for folder in (one, two)]
        said = [sorted((e.task_id, [(t.text, t.logprobs) for t in e.turns]) for e in each) for each in played]
        assert said[0] == said[1]
    assert json.loads((two / "config.json").read_text())["replicas"] == 2


@pytest.mark.slow(reason="starts two processes")
def test_a_run_with_processes_is_resumed_with_another_number(tmp_path: Path) -> None:
    tiny_model.model(context=16384).save_pretrained(tmp_path / "model")
    tiny_model.tokenizer().save_pretrained(tmp_path / "model")
    folder = tmp_path / "run"
    command = ("eval", "--env", 'math500_hard@{"level": 1}', "--agent", "act", "--limit", "3",
               "--max-tokens", "4", "--model", str(tmp_path / "model"), "--replicas", "2",
               "--out", str(folder), "--json")  # fmt: skip
    done = nlac_bench(*command)
    assert one_json(done)["scored"] == 3 and "model" not in done.stderr
    assert json.loads((folder / "config.json").read_text())["replicas"] == 2
    assert RunFolder.open(folder).subject["engine"] == "HFEngine"
    lines = (folder / "episodes.jsonl").read_bytes().splitlines(keepends=True)
    for replicas in ("1", "auto", "2"):
        (folder / "episodes.jsonl").write_bytes(lines[0])
        assert one_json(nlac_bench("resume", str(folder), "--replicas", replicas, "--json"))["scored"] == 3
    refused = nlac_bench("resume", str(folder), "--replicas", "0", status=2)
    assert "--replicas must be auto, or from 1 to 64, got 0" in refused.stderr
