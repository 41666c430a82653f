"""``nlac-bench launch``: layouts, commands, and the scripts, which bash runs with small processes."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.agents import methods
from nlac_bench.api.configure import completed
from nlac_bench.cluster.launch import start
from nlac_bench.cluster.launch.layout import layout
from nlac_bench.cluster.launch.plan import Command, Plan, plan
from nlac_bench.cluster.launch.scripts import script
from nlac_bench.cluster.launch.settings import LaunchSettings
from nlac_bench.errors import ConfigError
from nlac_bench.harness.runs.stored_settings import read_config
from nlac_bench.learner.memory import Shape, learner_bytes
from nlac_bench.rollout.engines.vllm.server_check import ENVIRONMENT, flags
from tests.cli.command import nlac_bench, one_json

ROOT = Path(__file__).parents[2]
PAPER = sorted((ROOT / "configs" / "paper").glob("*.toml"))
SHAPES = {  # of the models' config.json
    "Qwen/Qwen2.5-7B-Instruct": Shape(7.62e9, 28, 3584, 3584, 512, 18944, 152064, False),
    "Qwen/QwQ-32B": Shape(32.8e9, 64, 5120, 5120, 1024, 27648, 152064, False),
}


def planned(path: Path, **settings: Any) -> Plan:
    found = LaunchSettings.read(path).changed(**settings)
    return plan(path, completed(read_config(path), False, str(path)), found)


def small(tmp_path: Path, agent: str = "nlac", **launch: Any) -> Path:
    path = tmp_path / "own.toml"
    table = "".join(f"{name} = {json.dumps(value)}\n" for name, value in launch.items())
    path.write_text(f'env = "tau_retail"\nagent = "{agent}"\nmodel = "tiny"\n[launch]\n{table}')
    return path


@pytest.mark.parametrize("path", PAPER, ids=lambda path: path.stem)
def test_paper_configurations_use_all_gpus_once_and_fit(path: Path) -> None:
    found = planned(path)
    settings = found.settings
    wanted = 8 if "7b" in path.stem else 64
    assert settings.nodes * settings.gpus_per_node == wanted
    used = [
        (node, gpu)
        for place in (found.place, *(server.place for server in found.servers))
        for node in place.nodes
        for gpu in place.gpus
    ]
    assert len(used) == len(set(used)) == wanted
    slots = [server.slot for server in found.servers]
    assert slots.count("target") == 1 and slots.count("policy") == (3 if wanted == 8 else 7)
    assert len({server.url for server in found.servers}) == len(found.servers)
    config = completed(read_config(path), False, str(path))
    assert config.train is not None and config.model is not None
    shape, learner = SHAPES[config.model], methods.find("nlac").learner
    parts = learner_bytes(shape, config.train, learner, ranks=found.place.size, bf16=True, device="cuda")
    assert sum(parts.values()) < 72e9  # of 80 GB, less what torch and NCCL need


@pytest.mark.parametrize("path", PAPER, ids=lambda path: path.stem)
def test_run_ignores_the_table(path: Path) -> None:
    table = tomllib.loads(path.read_text())
    assert "launch" in table and read_config(path) == {k: v for k, v in table.items() if k != "launch"}


@pytest.mark.parametrize(
    ("file", "config", "options"),
    [
        ("node8.sh", "tau_retail_qwen2.5-7b.toml", ["--gpus", "8"]),
        ("slurm.sbatch", "tau_retail_qwq-32b.toml", ["--nodes", "8"]),
    ],
)
def test_the_scripts_of_the_repository_are_those_that_are_printed(
    file: str, config: str, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    done = nlac_bench("launch", "--config", f"configs/paper/{config}", *options, "--dry-run")
    assert (ROOT / "launch" / file).read_text() == done.stdout
    subprocess.run(["bash", "-n"], input=done.stdout, text=True, check=True)


def test_json_has_servers_and_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    found = one_json(
        nlac_bench(
            "launch",
            "--config",
            "configs/paper/tau_retail_qwen2.5-7b.toml",
            "--gpus",
            "8",
            "--dry-run",
            "--json",
        )
    )
    assert [server["slot"] for server in found["servers"]] == ["policy", "policy", "policy", "target"]
    assert [server["gpus"] for server in found["servers"]] == [[4], [5], [6], [7]]
    assert found["learner"]["ranks"] == 4
    words = shlex.split(found["learner"]["command"])
    told = words[words.index("--servers") + 1].split(",")
    assert told == [f"{server['url']}@{server['slot']}" for server in found["servers"]]
    for server in found["servers"]:
        words = shlex.split(server["command"])
        assert words[words.index("--max-model-len") + 1] == str(16384 + 1024)
        assert json.loads(words[words.index("--weight-transfer-config") + 1]) == {
            "backend": "nlac_bench_nccl"
        }
        assert "VLLM_SERVER_DEV_MODE=1" in words and "--enable-scale-out" in words


@pytest.mark.parametrize(
    ("launch", "agent", "named"),
    [
        ({"gpus_per_node": 1}, "nlac", "--engine vllm"),
        ({"gpus_per_node": 2}, "nlac", "a server of slot policy and one of slot target"),
        ({"learner_gpus": 8}, "nlac", "learner_gpus = 8"),
        ({"nodes": 2, "learner_gpus": 12}, "nlac", "learner_gpus = 12"),
        ({"tensor_parallel_size": 3}, "nlac", "tensor_parallel_size = 3 does not divide the 4 GPUs"),
        ({"tensor_parallel_size": 16}, "nlac", "tensor_parallel_size = 16 is more than the 8 GPUs"),
        ({"data_parallel_size": 3}, "nlac", "data_parallel_size = 3"),
        ({"nodes": 4, "data_parallel_size": 12}, "grpo", "need 12 GPUs, which must be whole machines"),
        ({"nodes": 5, "data_parallel_size": 16}, "grpo", "3 machines have no learner"),
        ({"target_servers": 4}, "nlac", "target_servers = 4 must be from 1 to 3"),
        ({"target_servers": 0}, "nlql", "target_servers = 0 must be from 1 to 3"),
        ({"target_servers": 1}, "grpo", "target_servers = 1, but this method samples from no slot target"),
        ({"target_servers": 1}, "sac", "target_servers = 1, but this method samples from no slot target"),
        ({"nodes": 0}, "nlac", "launch.nodes must be at least 1"),
        ({"gpus_per_node": "8"}, "nlac", "launch.gpus_per_node must be a whole number, got '8'"),
        ({"gpu_memory_utilization": 1.5}, "nlac", "gpu_memory_utilization must be above 0 and at most 1"),
        ({"gpus": 8}, "nlac", "unknown setting 'gpus'; the settings are nodes, gpus_per_node"),
    ],
)  # fmt: skip
def test_wrong_sizes_are_refused_with_the_setting_to_change(
    launch: dict[str, Any], agent: str, named: str, tmp_path: Path
) -> None:
    path = small(tmp_path, agent, **launch)
    done = nlac_bench("launch", "--config", str(path), "--dry-run", "--json", status=2)
    assert named in " ".join(done.stderr.split()) and done.stdout == ""


def test_heads_of_a_model_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text('{"num_attention_heads": 6}')
    path = small(tmp_path, tensor_parallel_size=2)
    text = path.read_text().replace('"tiny"', json.dumps(str(tmp_path / "model")))
    path.write_text(text)
    assert planned(path).servers
    path.write_text(text.replace("tensor_parallel_size = 2", "tensor_parallel_size = 4\nlearner_gpus = 4"))
    with pytest.raises(ConfigError, match="one of slot target"):
        planned(path)
    with pytest.raises(ConfigError, match="4 does not divide the 6 attention heads"):
        planned(path, gpus_per_node=16)


def test_default_layouts() -> None:
    for nodes, gpus, parts, averaged, policy, target in [
        (1, 8, 1, True, 3, 1), (1, 8, 1, False, 4, 0), (1, 3, 1, True, 1, 1), (1, 2, 1, False, 1, 0),
        (8, 8, 4, True, 7, 1), (16, 8, 1, True, 56, 8), (3, 8, 2, True, 7, 1),
    ]:  # fmt: skip
        settings = LaunchSettings(nodes=nodes, gpus_per_node=gpus, tensor_parallel_size=parts)
        slots = [slot for slot, _ in layout(settings, averaged).servers]
        assert (slots.count("policy"), slots.count("target")) == (policy, target), settings
        assert slots == sorted(slots)


def test_servers_that_span_machines_start_with_ray(tmp_path: Path) -> None:
    path = small(tmp_path, "grpo", nodes=6, learner_gpus=16, tensor_parallel_size=2, data_parallel_size=8)
    found = planned(path)
    assert [server.place.nodes for server in found.servers] == [(2, 3), (4, 5)]
    words = found.servers[0].command.arguments
    assert words[words.index("--data-parallel-size") + 1] == "8"
    assert words[words.index("--data-parallel-size-local") + 1] == "4"  # engines of each machine
    assert words[words.index("--data-parallel-backend") + 1] == "ray"
    assert [len(server.ray) for server in found.servers] == [2, 2]
    text = script(found)
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)
    assert text.count("ray start --head") == 2 and text.count('ray start --address "$NODE') == 2


def test_words_with_other_shell_syntax_stay_quoted() -> None:
    assert str(Command(("a", "$NODE1$(touch x)"), {"B": "`c`"})) == "B='`c`' a '$NODE1$(touch x)'"
    assert str(Command(("http://$NODE12:1@policy",))) == '"http://$NODE12:1@policy"'


def test_gpus_and_nodes_together_and_missing_gpus(tmp_path: Path) -> None:
    path = small(tmp_path)
    done = nlac_bench("launch", "--config", str(path), "--gpus", "8", "--nodes", "2", "--dry-run", status=2)
    assert "--gpus 8" in done.stderr and "--nodes 2" in done.stderr
    done = nlac_bench("launch", "--config", str(path), "--gpus", "900", status=2)
    assert "900 GPUs are wanted" in " ".join(done.stderr.split()) and not (tmp_path / "runs").exists()


def test_an_agent_without_training_is_refused(tmp_path: Path) -> None:
    path = small(tmp_path, "react")
    done = nlac_bench("launch", "--config", str(path), "--dry-run", status=2)
    assert "'react' is not trained" in " ".join(done.stderr.split())


def test_servers_on_several_machines_read_weights_from_a_shared_folder(tmp_path: Path) -> None:
    found = planned(small(tmp_path, nodes=2, weights_by="file"))
    words = found.learner.arguments
    folder = words[words.index("--weights-folder") + 1]
    assert folder == "runs/own-weights" and f"mkdir -p runs/own-logs {folder}\n" in script(found)
    for launch in ({"nodes": 1, "weights_by": "file"}, {"nodes": 2}):
        assert "--weights-folder" not in planned(small(tmp_path, **launch)).learner.arguments


def test_servers_have_the_flags_that_doctor_checks(tmp_path: Path) -> None:
    options = ["--max-num-seqs", "512"]
    for way in ("file", "nccl"):
        found = planned(small(tmp_path, vllm_options=options, weights_by=way))
        assert found.learner.arguments[found.learner.arguments.index("--weights-by") + 1] == way
        for server in found.servers:
            words = server.command.arguments
            assert words[-2:] == tuple(options) and set(flags(way)) <= set(words)
            assert ENVIRONMENT.items() <= server.command.environment.items()


def test_settings_that_exclude_servers_are_refused(tmp_path: Path) -> None:
    path = small(tmp_path)
    path.write_text(f'engine = "vllm"\n{path.read_text()}')
    done = nlac_bench("launch", "--config", str(path), "--dry-run", status=2)
    assert "engine cannot be used together with servers" in " ".join(done.stderr.split())


def test_options_of_run_follow_two_dashes(tmp_path: Path) -> None:
    path = small(tmp_path)
    done = nlac_bench("launch", "--config", str(path), "--dry-run", "--json", "--", "--user-model", "a b")
    assert shlex.split(one_json(done)["learner"]["command"])[-2:] == ["--user-model", "a b"]


def test_an_interrupted_run_is_continued(tmp_path: Path) -> None:
    path, out = small(tmp_path), tmp_path / "run"
    nlac_bench("run", "--env", "tau_retail", "--agent", "oracle", "--limit", "1", "--out", str(out))
    config = completed(read_config(path), False, str(path))
    words = plan(path, config, LaunchSettings(), out).learner.arguments
    assert words[words.index("nlac_bench") + 1 :][:3] == ("resume", str(out), "--servers")


def test_a_job_is_submitted_with_sbatch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = small(tmp_path, nodes=2)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = nlac_bench("launch", "--config", str(path), status=2)
    assert "sbatch is not found" in " ".join(done.stderr.split())
    sbatch = tmp_path / "sbatch"
    sbatch.write_text(f"#!{sys.executable}\nimport sys\nopen({str(tmp_path / 'job')!r}, 'w').write("
                      "sys.stdin.read())\nprint('Submitted batch job 7')\n")  # fmt: skip
    sbatch.chmod(0o755)
    assert one_json(nlac_bench("launch", "--config", str(path), "--json"))["submitted"].endswith("job 7")
    assert (tmp_path / "job").read_text() == script(planned(path))


# --- the script of one machine, with small processes in place of vLLM and torchrun ---------------------

SERVER = """
import http.server, os, pathlib, sys
pathlib.Path(sys.argv[2]).write_text(str(os.getpid()))
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture
def small_plan(tmp_path: Path) -> Plan:
    """A plan with two small HTTP servers; tests replace the learner."""
    found = planned(small(tmp_path, gpus_per_node=4), start_timeout=60)
    servers = []
    for number, server in enumerate(found.servers):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        words = (sys.executable, "-c", SERVER, str(port), str(tmp_path / f"pid{number}"))
        servers.append(replace(server, url=f"http://127.0.0.1:{port}", command=Command(words)))
    return replace(found, servers=tuple(servers), out=tmp_path / "run")


def learner(code: str) -> Command:
    return Command((sys.executable, "-c", code))


def ended(folder: Path) -> Iterator[bool]:
    """Whether each server that was started has ended."""
    for path in folder.glob("pid*"):
        try:
            os.kill(int(path.read_text()), 0)
            yield False
        except ProcessLookupError:
            yield True


@pytest.mark.parametrize("code", [0, 3])
def test_the_script_waits_for_servers_and_ends_them_with_the_learner(
    code: int, small_plan: Plan, tmp_path: Path
) -> None:
    urls = [server.url for server in small_plan.servers]
    asked = f"import sys, urllib.request as r\nfor u in {urls}: r.urlopen(u)\nsys.exit({code})"
    assert start.run(script(replace(small_plan, learner=learner(asked)), 0.1)) == code
    assert list(ended(tmp_path)) == [True, True]
    assert sorted(path.name for path in small_plan.logs.iterdir()) == [
        "server-0-policy.log",
        "server-1-target.log",
    ]


def test_a_server_that_ends_before_all_answer_ends_the_script(
    small_plan: Plan, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    first, second = small_plan.servers
    broken = replace(second, command=learner("import sys; sys.exit('no GPU')"))
    touched = learner(f"open({str(tmp_path / 'learned')!r}, 'w')")
    text = script(replace(small_plan, servers=(first, broken), learner=touched), 0.1)
    assert start.run(text) == 1 and not (tmp_path / "learned").exists()
    assert list(ended(tmp_path)) in ([True], [])
    assert "a server has ended; its output is in" in capfd.readouterr().err
    assert (small_plan.logs / "server-1-target.log").read_text() == "no GPU\n"


def test_servers_that_do_not_answer_are_not_waited_for_without_limit(
    small_plan: Plan, capfd: pytest.CaptureFixture[str]
) -> None:
    first, second = small_plan.servers
    silent = replace(second, command=learner("import time; time.sleep(600)"))
    slow = replace(small_plan, servers=(first, silent), settings=small_plan.settings.changed(start_timeout=1))
    assert start.run(script(slow, 0.1)) == 1
    assert "does not answer after 1 s" in capfd.readouterr().err


def test_a_server_that_dies_later_does_not_end_the_learner(small_plan: Plan, tmp_path: Path) -> None:
    kill = f"import os; os.kill(int(open({str(tmp_path / 'pid0')!r}).read()), 9)"
    assert start.run(script(replace(small_plan, learner=learner(kill)), 0.1)) == 0
    assert list(ended(tmp_path)) == [True, True]


def test_a_stop_signal_reaches_the_learner_and_its_exit_code_is_kept(
    small_plan: Plan, tmp_path: Path
) -> None:
    saves = (
        "import pathlib, signal, sys, time\n"
        f"done = pathlib.Path({str(tmp_path / 'begun')!r})\n"
        "def stop(*_):\n    time.sleep(0.5); sys.exit(3)\n"
        "signal.signal(signal.SIGTERM, stop); done.write_text('')\n"
        "while True: time.sleep(0.05)\n"
    )
    text = script(replace(small_plan, learner=learner(saves)), 0.1)
    begun = tmp_path / "begun"
    code = f"""
import os, pathlib, signal, threading, time
from nlac_bench.cluster.launch import start
def stop():
    while not pathlib.Path({str(begun)!r}).exists(): time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=stop).start()
raise SystemExit(start.run({text!r}))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        check=False,
        timeout=300,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert done.returncode == 3
    for _ in range(600):
        if all(ended(tmp_path)):
            break
        time.sleep(0.1)
    assert list(ended(tmp_path)) == [True, True]
