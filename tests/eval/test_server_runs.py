"""Training runs on vLLM servers (stubs that run the embedded model): metrics, and kills in every phase."""

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nlac_bench import tiny
from nlac_bench.errors import ConfigError
from nlac_bench.eval.measure.servers import assigned
from nlac_bench.eval.runs.configuration import RunConfig
from nlac_bench.eval.runs.folder import RunFolder
from nlac_bench.eval.runs.trust import refuse_unrepeated, to_repeat
from nlac_bench.eval.training.curve import latest
from nlac_bench.eval.training.mismatch import MismatchError
from nlac_bench.rollout.engines.hf.precision import fast_bf16
from tests.cli.command import call
from tests.eval.server_run import PHASES, happening, settings
from tests.eval.test_training import play
from tests.rollout.stub_vllm import StubVLLM

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


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"engine": "vllm"}, "engine cannot be used together with servers"),
        ({"replicas": 2}, "replicas cannot be used together with servers"),
        ({"base_url": "http://c:1/v1"}, "base_url cannot be used together with servers"),
        ({"model": None}, "servers needs model"),
        ({"servers": None, "weights_folder": "/shared"}, "weights_folder is a setting for servers"),
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
    more = {} if agent == "nlac" else {"mini_batch_size": 6}
    assert play(tmp_path / "run", settings(servers, 4, agent, **more))
    run = RunFolder.open(tmp_path / "run")
    assert run.subject["engine"] == "VLLMServers" and not run.owed()
    for row in latest(list(run.metrics()), "iteration"):
        assert row["push_seconds"] > 0 and 0 < row["prefix_hit_rate"] < 1
        assert row["push_slope"] == pytest.approx(1.0, abs=0.1)
        assert (
            0 <= row["logprob_gap"] < (0.03 if fast_bf16() else 1e-3)
        )  # bf16 rounds a logit by up to 1 in 256
    versions = [stub.weight_version.split(":")[0] for stub in stubs]
    assert versions == ["policy", "target" if agent == "nlac" else versions[1]]


@pytest.mark.slow(reason="trains for some seconds")
def test_rollouts_that_the_learner_cannot_explain_stop_the_run(
    stubs: list[StubVLLM], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate = StubVLLM._generate

    def shifted(self: StubVLLM, body: Any) -> Any:
        """Probes are scored rightly, and samples with log-probabilities of another model."""
        reply = generate(self, body)
        if not body.get("sampling_params", {}).get("ignore_eos"):
            for choice in reply.get("choices", ()):
                for row in choice["logprobs"]["content"]:
                    row["logprob"] -= 0.3
        return reply

    monkeypatch.setattr(StubVLLM, "_generate", shifted)
    with pytest.raises(MismatchError, match=r"differ from the learner's by 0\.3.* at most 0\.1 is allowed"):
        play(tmp_path / "run", settings(stubs[0].url, 4, "ppo", mini_batch_size=6))


# --- kills ----------------------------------------------------------------------------------------------


class Served:
    """A stub in a process of its own, which can be killed and started again at the same address."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        arguments = ["-m", "tests.rollout.stub_vllm", "--model", str(tiny.path()), "--port", str(self.port)]
        self.process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None and self.process.stdout.readline().strip() == self.url

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def restart(self) -> None:
        self.kill()
        self.start()


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


@pytest.mark.slow(reason="trains ten times; starts four processes and 10 more")
@pytest.mark.parametrize("phase", PHASES)
def test_a_server_that_is_killed_is_replaced_by_another_one(
    phase: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of two servers of each slot one is killed; it is started again, and used after the next push."""
    servers: list[Served] = []
    starting: list[threading.Thread] = []
    try:
        for _ in range(4):
            servers.append(Served())  # noqa: PERF401 - those before a failure are ended
        text = ",".join(f"{s.url}@{slot}" for s, slot in zip(servers, ("policy", "target") * 2, strict=True))

        def die() -> None:
            for server in servers[:2]:
                server.kill()
                starting.append(threading.Thread(target=server.start))
                starting[-1].start()

        with happening(phase, 1, die):
            assert play(tmp_path / "run", settings(text, steps=6))
        assert len(starting) == 2
        run = RunFolder.open(tmp_path / "run")
        check_complete(tmp_path / "run", run.plan, {})
        assert [row["iteration"] for row in run.metrics() if row["kind"] == "iteration"] == [1, 2, 3]
        told = capfd.readouterr().err
        assert "left out" in told and servers[0].url in told
    finally:
        for thread in starting:
            thread.join()
        for server in servers:
            server.kill()


@pytest.mark.slow(reason="starts a training of some seconds 15 times")
@pytest.mark.parametrize("phase", PHASES)
def test_a_run_that_is_killed_is_continued(phase: str, tmp_path: Path, stubs: list[StubVLLM]) -> None:
    """It is killed in its first and in its second iteration; each time it loses at most one iteration."""
    folder, servers = tmp_path / "run", labelled([stub.url for stub in stubs])
    plan, done = None, 0
    for number in (1, 2, 0):
        before = kept(folder)
        command = ["-m", "tests.eval.server_run", str(folder), servers, phase if number else "-", str(number)]
        ended = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
        assert ended.returncode == (-9 if number else 0), ended.stderr[-2000:]
        run = RunFolder.open(folder)
        plan = plan or run.plan
        iterations = [row["iteration"] for row in run.metrics() if row["kind"] == "iteration"]
        # The row of an iteration that was lost is there twice.
        assert not 0 < done < len(iterations) or iterations[done] >= iterations[done - 1]
        done = len(iterations)
        assert run.plan == plan
        assert all(kept(folder)[name][: len(lines)] == lines for name, lines in before.items())
    check_complete(folder, plan, {})
