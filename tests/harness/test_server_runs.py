"""Training runs on vLLM servers (stubs that run the embedded model): metrics, and kills in every phase."""

import contextlib
import multiprocessing
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from nlac_bench import tiny
from nlac_bench.errors import ConfigError, NlacBenchError
from nlac_bench.harness.measure.servers import assigned
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.trust import refuse_unrepeated, to_repeat
from nlac_bench.rollout.engines.engine import EngineError
from nlac_bench.rollout.engines.hf.precision import fast_bf16
from nlac_bench.rollout.engines.pool import EnginePool
from nlac_bench.training.curve import latest
from nlac_bench.training.mismatch import MismatchError
from tests.cli.command import call
from tests.harness.server_run import PHASES, happening, killed, settings, shortest
from tests.rollout.stub_vllm import StubVLLM, serve
from tests.training.test_training import play

URLS = ["http://a:1", "http://b:2", "http://c:3"]


@pytest.mark.parametrize(
    ("servers", "needs_target", "slots"),
    [
        ("http://a:1@policy,http://b:2@target", True, "pt"),
        ("http://a:1, http://b:2", True, "pt"),
        ("http://a:1,http://b:2", False, "pp"),
        ("http://a:1@target,http://b:2", True, "tp"),
        ("http://a:1@policy,http://b:2@target", False, "p"),
        ("http://a:1@policy,http://b:2", True, "pt"),
        (",".join(f"http://a:{n}" for n in range(1, 9)), True, "pppppppt"),
        (",".join(f"http://a:{n}" for n in range(1, 17)), True, "p" * 14 + "tt"),
        ("http://user:secret@a:1@policy", False, "p"),
    ],
)
def test_slots_of_servers(servers: str, needs_target: bool, slots: str) -> None:
    found = assigned(servers, needs_target)
    assert "".join(slot[0] for _, slot in found) == slots
    assert all(url.startswith("http://") and not url.endswith("@policy") for url, _ in found)


@pytest.mark.parametrize(
    ("servers", "needs_target", "why"),
    [
        ("http://a:1", True, "no server of slot 'policy'"),
        ("http://a:1@target", False, "no server of slot 'policy'"),
        ("http://a:1@policy", True, "no server of slot 'target'"),
        ("http://a:1@critic", True, "'critic' is not a slot"),
        ("http://a:1,http://a:1", True, "twice"),
        ("", False, "no server of slot 'policy'"),
    ],
)
def test_servers_without_a_slot(servers: str, needs_target: bool, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        assigned(servers, needs_target)


@pytest.mark.parametrize("url", ["a:1", "ftp://a", "http://", "http://a:99999", "http://a:x", "http://[::1"])
def test_what_is_no_address_is_refused_before_the_run(url: str) -> None:
    with pytest.raises(NlacBenchError, match="is not the address of a server; write it as http://host:port"):
        assigned(f"http://b:2@policy,{url}@target", True)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"engine": "vllm"}, "engine cannot be used together with servers"),
        ({"replicas": 2}, "replicas cannot be used together with servers"),
        ({"base_url": "http://c:1/v1"}, "base_url cannot be used together with servers"),
        ({"model": None}, "servers needs model"),
        ({"servers": None, "weights_folder": "/shared"}, "weights_folder is a setting for servers"),
        ({"servers": None, "weights_by": "nccl"}, "weights_by is a setting for servers"),
        ({"weights_by": "ipc"}, "weights_by must be"),
    ],
)
def test_settings_that_contradict_each_other(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        RunConfig.from_mapping({"env": "tau_retail", "agent": "nlac", "model": "tiny",
                                "servers": "http://a:1,http://b:2", **changes}, "test")  # fmt: skip


@pytest.mark.parametrize(
    ("servers", "accepted"),
    [
        ("http://10.0.0.5:8000@policy,http://10.0.0.6:8000@target", True),
        ("http://node-1.cluster:8000@policy, http://[fd00::2]:8000@target", True),
        ("http://node@policy", True),
        ("http://me:hunter2@node:8000@policy", False),
        ("http://node:8000@policy,http://me:hunter2@node:8001", False),
        ("http://me:hunter2@policy", False),
        ("http://me:hunter2@policy.example.com", False),
        ("http://me:12345678@policy", False),
    ],
    ids=map(str, range(8)),  # pytest writes the id to an environment variable, where passwords are known ones
)
def test_a_label_is_no_password(servers: str, accepted: bool) -> None:
    settings = {"env": "tau_retail", "agent": "act", "model": "tiny", "servers": servers}
    if accepted:
        assert RunConfig.from_mapping(settings, "test").servers == servers
    else:
        with pytest.raises(ConfigError, match="URL with a password"):
            RunConfig.from_mapping(settings, "test")


def test_a_run_without_a_server_that_can_be_used_is_refused(tmp_path: Path) -> None:
    command = ("run", "--env", "tau_retail", "--agent", "ppo", "--servers", "http://127.0.0.1:9",
               "--limit", "2", "--out", str(tmp_path / "run"))  # fmt: skip
    done = call(*command)
    assert done.returncode == 2 and "unreachable" in done.stderr and not (tmp_path / "run").exists()
    assert "Traceback" not in done.stderr


def test_a_stored_configuration_does_not_decide_where_weights_are_sent(tmp_path: Path) -> None:
    """The folder of a run may come from somebody else; other servers may be named when it is continued."""
    stored = {"env": "tau_retail", "servers": "http://a:1", "weights_folder": "/shared"}
    assert to_repeat(stored) == {"servers": "http://a:1", "weights_folder": "/shared"}
    with pytest.raises(ConfigError, match="--servers http://a:1 --weights-folder /shared"):
        refuse_unrepeated(stored, {}, tmp_path / "config.json", "run:")
    given = {"servers": "http://b:1", "weights_folder": "/other"}
    refuse_unrepeated(stored, given, tmp_path / "config.json", "run:")


# --- whole runs -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stubs() -> Iterator[list[StubVLLM]]:
    with contextlib.ExitStack() as stack:
        made = [StubVLLM(str(tiny.path()), deterministic=False) for _ in range(2)]
        yield [stack.enter_context(stub.running()) for stub in made]


def labelled(urls: list[str]) -> str:
    """The last one has the moving average."""
    return ",".join(f"{url}@{'target' if url == urls[-1] else 'policy'}" for url in urls)


@pytest.mark.slow(reason="trains for half a minute")
@pytest.mark.parametrize("agent", ["nlac", "ppo"])
def test_a_run_on_servers_trains_and_reports_its_pushes(
    agent: str, stubs: list[StubVLLM], tmp_path: Path
) -> None:
    servers = labelled([stub.url for stub in stubs])
    more = {} if agent == "nlac" else {"mini_batch_size": 16, "train_batch_size": 16}
    assert play(tmp_path / "run", settings(servers, 4, agent, **more))
    run = RunFolder.open(tmp_path / "run")
    assert run.subject["engine"] == "VLLMServers" and not run.owed()
    rows = latest(list(run.metrics()), "iteration")
    slopes = [row["push_slope"] for row in rows if row["push_slope"] is not None]  # None: next to no change
    assert slopes and slopes == pytest.approx([1.0] * len(slopes), abs=0.1)
    for row in rows:
        assert row["push_seconds"] > 0 and 0 < row["prefix_hit_rate"] < 1
        assert (
            0 <= row["logprob_gap"] < (0.03 if fast_bf16() else 1e-3)
        )  # bf16 rounds a logit by up to 1 in 256
    versions = [stub.weight_version.split(":")[0] for stub in stubs]
    assert versions == ["policy", "target" if agent == "nlac" else versions[1]]


@pytest.mark.slow(reason="trains for some seconds")
def test_rollouts_that_the_learner_cannot_explain_stop_the_run(
    stubs: list[StubVLLM], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate = StubVLLM.generate

    def shifted(self: StubVLLM, body: Any) -> Any:
        """Probes are scored rightly, and samples with log-probabilities of another model."""
        reply = generate(self, body)
        if not body.get("sampling_params", {}).get("ignore_eos"):
            for choice in reply.get("choices", ()):
                for row in choice["logprobs"]["content"]:
                    row["logprob"] -= 0.3
        return reply

    monkeypatch.setattr(StubVLLM, "generate", shifted)
    with pytest.raises(MismatchError, match=r"differ from the learner's by 0\.3.* at most 0\.1 is allowed"):
        play(tmp_path / "run", settings(stubs[0].url, 4, "ppo", mini_batch_size=4))


# --- kills ----------------------------------------------------------------------------------------------


PROCESSES = multiprocessing.get_context("forkserver")
"""Starts processes as forks of one that has imported these modules and done nothing else, because importing
torch takes seconds."""
PROCESSES.set_forkserver_preload(["tests.harness.server_run", "tests.rollout.stub_vllm"])


class Served:
    """A stub in a process of its own, which can be killed and started again at the same address."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        receiver, sender = PROCESSES.Pipe(duplex=False)
        self.process = PROCESSES.Process(target=serve, args=(str(tiny.path()), self.port, sender))
        self.process.start()
        sender.close()
        assert receiver.recv() == self.url

    def kill(self) -> None:
        self.process.kill()
        self.process.join()


def kept(folder: Path) -> dict[str, list[str]]:
    """The lines of all episodes that the run has recorded."""
    return {
        name: path.read_text().splitlines() if (path := folder / name).exists() else []
        for name in ("base/episodes.jsonl", "episodes.jsonl")
    }


def check_complete(folder: Path, plan: Any, before: dict[str, list[str]]) -> None:
    """The run has its plan, each planned episode once, and the episodes that it had before."""
    for run in (RunFolder.open(folder), RunFolder.open(folder / "base")):
        assert run.plan == plan and not run.owed()
        played = [(episode.task_id, episode.trial, episode.seed) for episode in run.episodes()]
        assert sorted(played) == sorted((item.task_id, item.trial, item.seed) for item in plan)
    after = kept(folder)
    assert all(after[name][: len(lines)] == lines for name, lines in before.items())


@pytest.fixture(scope="module")
def served() -> Iterator[list[Served]]:
    """Two servers for the policy and two for the moving average, in turn."""
    made: list[Served] = []
    try:
        for _ in range(4):
            made.append(Served())  # noqa: PERF401 - those before a failure are ended
        yield made
    finally:
        for server in made:
            server.kill()


@pytest.mark.slow(reason="trains five times; starts four processes and 10 more")
@pytest.mark.parametrize("phase", PHASES)
def test_a_server_that_is_killed_is_replaced_by_another_one(
    phase: str, tmp_path: Path, served: list[Served], capfd: pytest.CaptureFixture[str]
) -> None:
    """Of two servers of each slot one is killed. It is started again when the run has left it out, and used
    after the next push."""
    text = ",".join(f"{s.url}@{slot}" for s, slot in zip(served, ("policy", "target") * 2, strict=True))
    restarted: list[Served] = []
    leave_out = EnginePool.leave_out

    def left_out(self: EnginePool, number: int, error: EngineError) -> None:
        leave_out(self, number, error)
        for server in served[:2]:
            if server.url in str(error) and not server.process.is_alive():
                server.start()
                restarted.append(server)

    def die() -> None:
        for server in served[:2]:
            server.kill()

    with happening(phase, 1, die), mock.patch.object(EnginePool, "leave_out", left_out):
        assert play(tmp_path / "run", shortest(text, iterations=2))
    assert {server.url for server in restarted} == {server.url for server in served[:2]}
    run = RunFolder.open(tmp_path / "run")
    check_complete(tmp_path / "run", run.plan, {})
    assert [row["iteration"] for row in run.metrics() if row["kind"] == "iteration"] == [1, 2]
    told = capfd.readouterr().err
    assert f"the server {served[0].url} (policy) is left out" in told
    assert re.search(rf"{re.escape(served[0].url)}.* is used again", told)


@pytest.mark.slow(reason="starts a training of some seconds ten times")
def test_a_run_that_is_killed_ten_times_is_continued(tmp_path: Path, stubs: list[StubVLLM]) -> None:
    """It is killed in each phase of its first iteration and then of its second; each time it loses at most
    one iteration."""
    folder, servers = tmp_path / "run", labelled([stub.url for stub in stubs])
    plan = None
    for number, phase in enumerate(PHASES * 2):
        before = kept(folder)
        # The sixth process completes the first iteration, which those before it have lost.
        iteration = 2 if number == 5 else 1
        process = PROCESSES.Process(target=killed, args=(folder, servers, phase, iteration))
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL, phase
        run = RunFolder.open(folder)
        plan = plan or run.plan
        assert run.plan == plan
        assert all(kept(folder)[name][: len(lines)] == lines for name, lines in before.items())
        assert (folder / "checkpoints" / "last").exists() == (number >= 5), phase
    before = kept(folder)
    assert play(folder, shortest(servers, iterations=2))
    # The row of an iteration that was killed while it was saved is there twice.
    rows = RunFolder.open(folder).metrics()
    assert [row["iteration"] for row in rows if row["kind"] == "iteration"] == [1, 1, 2, 2]
    check_complete(folder, plan, before)
