"""Agents and methods that are named as ``module:object``, and run folders of somebody else that name them."""

import json
from pathlib import Path
from typing import Any

import pytest

import nlac_bench as nb
from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.measure.estimate import estimate_of
from nlac_bench.harness.measure.prepare import outline
from nlac_bench.harness.runs import named_agents
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.sweep.file import check_sweep, read_sweep
from nlac_bench.sweep.play import training_job
from tests.cli.command import call, nlac_bench

SOURCE = """
from pathlib import Path
from nlac_bench.agents.floors import Constant
from nlac_bench.agents.methods import Method
from nlac_bench.rollout.engines.engine import SampleRequest
from nlac_bench.types import Turn

Path(__file__).with_suffix(".imported").touch()
METHOD = Method(
    name="short", summary="imitates", algorithm="nlac_bench.baselines.rft:RFT",
    settings="nlac_bench.baselines.config:RftConfig",
)
def wrong(algorithm="nlac_bench.baselines.rft:RFT", settings="nlac_bench.baselines.config:RftConfig"):
    return Method(name="wrong", summary="imitates", algorithm=algorithm, settings=settings)

NO_MODULE = wrong("no_such_module:RFT")
NO_CLASS = wrong(__name__ + ":RFT")
NO_ALGORITHM = wrong(__name__ + ":Constant")
NO_SETTINGS = wrong(settings=__name__ + ":Constant")
five = 5

def constant(context):
    return Constant("\\\\boxed{1}", name="one")

def exits(context):
    raise SystemExit(3)

class Other:
    def __init__(self, context): pass

def nothing_made(context):
    return None

class Begins(Other):
    def begin(self, env, seed): return 5

class Acts(Begins):
    def begin(self, env, seed): return self
    async def act(self, observation, info): return "yes"

class Fails(Acts):
    async def act(self, observation, info): return 1 / 0

class Reads(Acts):
    def __init__(self, context): self.engine = context.engine
    async def act(self, observation, info):
        (sample,) = await self.engine.sample(SampleRequest(messages=({"role": "user", "content": "?"},)))
        return Turn(text=sample.text.split()[0])
"""
ENV = 'math500_hard@{"level": 1}'


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A module of the current folder, with a name of its own for each test."""
    name = f"mine_{abs(hash(request.node.name))}"
    (tmp_path / f"{name}.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(__import__("sys").path))
    return name


def test_a_callable_makes_an_agent_and_its_run_is_resumed_by_repeating_it(
    module: str, tmp_path: Path
) -> None:
    agent = f"{module}:constant"
    nlac_bench("run", "--env", ENV, "--agent", agent, "--limit", "2", "--out", "run")
    assert json.loads(Path("run/manifest.json").read_text())["subject"]["agent"] == agent
    refused = nlac_bench("resume", "run", status=2)
    assert f"--agent {agent}" in refused.stderr and "imports code of a module" in refused.stderr
    nlac_bench("resume", "run", "--agent", agent)
    assert "install it with an entry point" in nlac_bench("submit", "run", "--out", "s", status=2).stderr
    for command in (["score", "run"], ["report", "run", "--out", "r.html"]):
        nlac_bench(*command)


def test_a_method_plans_a_training_with_its_settings(module: str) -> None:
    pytest.importorskip("torch", reason="a plan of a training run needs the training packages")
    agent = f"{module}:METHOD"
    assert named_agents.is_method(agent) and named_agents.method(agent).name == "short"
    asked: dict[str, Any] = {"env": ENV, "agent": agent, "model": "tiny", "limit": 2}
    planned = estimate_of(RunConfig.from_mapping({**asked, "train": {"budget": "steps=1"}}, "test"))
    assert planned.training is not None and planned.training.gradient_steps == 1
    with pytest.raises(NlacBenchError, match="replay_ratio_of_nothing"):
        RunConfig.from_mapping({**asked, "train": {"replay_ratio_of_nothing": 1}}, "test")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("NO_MODULE", "'no_such_module:RFT' of a training algorithm cannot be imported: ModuleNotFoundError"),
        ("NO_CLASS", "cannot be imported: AttributeError"),
        ("NO_ALGORITHM", "Constant'> has no method update, probe, remember, sync, save, load"),
        ("NO_SETTINGS", "must be a subclass of TrainConfig"),
    ],
)
def test_a_method_that_cannot_learn_is_refused_before_the_model_is_measured(
    name: str, said: str, module: str
) -> None:
    pytest.importorskip("torch", reason="a training run needs the training packages")
    asked = {"env": ENV, "agent": f"{module}:{name}", "model": "tiny", "limit": 2, "train": {}}
    with pytest.raises(NlacBenchError) as refused:
        outline(RunConfig.from_mapping(asked, "test"))
    assert said in str(refused.value)


def test_a_sweep_names_a_method_of_a_module(module: str, tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(
        f"""methods = ["rft", "{module}:METHOD", "slow"]
[variants]
slow = "{module}:METHOD"
[seeds]
math500_hard = [0]
[run]
model = "tiny"
limit = 2
[methods_train."{module}:METHOD"]
lr = 1e-5
"""
    )
    planned = read_sweep(tmp_path / "sweep.toml")
    check_sweep(planned)
    _, own, slow = (training_job(planned, cell, tmp_path / "out", None) for cell in planned.cells())
    assert own.settings["agent"] == slow.settings["agent"] == f"{module}:METHOD"
    assert own.settings["train"] == {"lr": 1e-5} and slow.settings["train"] == {}
    assert own.command()[-2:] == ["--agent", f"{module}:METHOD"], "the configuration alone imports nothing"
    file = tmp_path / "sweep.toml"
    for name, said in (("constant", "is a function, not a Method"), ("nothing", "no attribute 'nothing'")):
        file.write_text(f'methods = ["{module}:{name}"]\n[seeds]\nmath500_hard = [0]\n')
        assert said in nlac_bench("sweep", str(file), "--out", "out2", status=2).stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("five", "is a int; it must be a Method"),
        ("nothing", "has no attribute 'nothing'"),
        ("exits", "SystemExit: 3 (mine_"),
        ("Other", ".Other object at"),
        ("nothing_made", "returned None, which is no agent: it has no method begin(env, seed)"),
    ],
)
def test_other_objects_are_refused(name: str, said: str, module: str) -> None:
    done = nlac_bench(
        "run", "--env", ENV, "--agent", f"{module}:{name}", "--limit", "1", "--out", "run", status=2
    )
    assert said in done.stderr and "Traceback" not in done.stderr and not Path("run").exists()
    missing = nlac_bench("run", "--env", ENV, "--agent", "no_such_module:x", "--dry-run", status=2)
    assert "No module named 'no_such_module'" in missing.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [("Begins", "begin() of agent 'Begins' returned 5, which is no actor: it has no method act("),
     ("Acts", "act() of the agent returned 'yes'; it must be a Turn with a text"),
     ("Fails", "ZeroDivisionError: division by zero")],
)  # fmt: skip
def test_what_an_agent_returns_in_an_episode_is_checked(name: str, said: str, module: str) -> None:
    options = ("run", "--env", ENV, "--agent", f"{module}:{name}", "--limit", "1")
    assert said in nlac_bench(*options, "--out", "run", status=3).stderr
    dry = call(*options, "--dry-run")
    assert dry.returncode == (0 if name == "Acts" else 2) and "Traceback" not in dry.stderr
    assert name == "Acts" or said in dry.stderr


def test_an_agent_that_reads_its_models_answer_is_planned_without_one(module: str) -> None:
    """A dry run's engine answers nothing."""
    asked = {"env": ENV, "agent": f"{module}:Reads", "model": "m", "base_url": "http://h:1/v1", "limit": 2}
    assert estimate_of(RunConfig.from_mapping(asked, "test")).planned == 2


def test_a_folder_of_somebody_else_does_not_import_its_agent(module: str, tmp_path: Path) -> None:
    """Whatever reads the folder; its training settings are those of a class in the module, too."""
    nlac_bench("run", "--env", ENV, "--agent", "random", "--limit", "2", "--out", "run")
    for train in (None, {"budget": "steps=1"}):
        for file in ("config", "manifest"):
            path = Path("run") / f"{file}.json"
            content = json.loads(path.read_text())
            (content if file == "config" else content["subject"]).update(
                agent=f"{module}:METHOD", model="tiny", train=train
            )
            path.write_text(json.dumps(content))
        for command in (
            ["resume", "run"], ["run", "--config", "run/config.json"],
            ["eval", "--config", "run/config.json"],
            ["submit", "run", "--out", "s"], ["score", "run"], ["report", "run", "--out", "r.html"],
            ["critiques", "run"], ["launch", "--config", "run/config.json", "--dry-run"],
            ["compare", "run", "run"],
        ):  # fmt: skip
            done = call(*command)
            assert "Traceback" not in done.stderr, (command, done.stderr)
            if command[0] in ("resume", "run", "eval", "submit", "launch"):
                assert done.returncode == 2, (command, done.stderr)
            assert not (tmp_path / f"{module}.imported").exists(), command
    (Path("run") / "checkpoints" / "best").mkdir(parents=True)
    with pytest.raises(NlacBenchError, match="model='run/checkpoints/best'"):
        nb.evaluate(ENV, agent=nb.Run(Path("run")), limit=1)
    assert not (tmp_path / f"{module}.imported").exists()
    (Path("run") / "theirs.py").write_text(SOURCE)
    manifest = Path("run/manifest.json")
    manifest.write_text(manifest.read_text().replace(f"{module}:METHOD", "run.theirs:METHOD"))
    with pytest.raises(NlacBenchError, match="no code is imported"):
        nb.evaluate(ENV, agent=nb.Run(Path("run")), limit=1)
    done = call("run", "--config", "run/config.json", "--agent", "run.theirs:METHOD")
    assert done.returncode == 2 and not Path("run/theirs.imported").exists(), done.stderr
