"""Registrations of training algorithms: the built-in ones, plug-ins, and what is refused."""

import importlib.metadata
from collections.abc import Callable

import pytest

from nlac_bench import installed
from nlac_bench.agents import methods
from nlac_bench.agents.algorithm import Algorithm
from nlac_bench.agents.methods import BUILT_IN, Method
from nlac_bench.agents.registry import AgentContext, make
from nlac_bench.errors import ConfigError, UnknownIdError
from nlac_bench.learner.config import TrainConfig
from nlac_bench.rollout.engines.engine import TrainableEngine, missing_for_training
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.rollout.engines.vllm.engine import VLLMEngine
from nlac_bench.rollout.meter import MeteredEngine
from tests.rollout import tiny_model
from tests.rollout.stubs import RuleEngine

MINE = Method(name="mine", summary="nothing", algorithm="nowhere:Nothing")
RFT = BUILT_IN["rft"]


@pytest.fixture
def plugged(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Installs entry points, as NAME=VALUE."""

    def install(*texts: str) -> None:
        pairs = [text.split("=") for text in texts]
        points = [importlib.metadata.EntryPoint(k, v, methods.PLUGIN_GROUP) for k, v in pairs]
        monkeypatch.setattr(
            installed, "entry_points", lambda group: points if group == methods.PLUGIN_GROUP else []
        )

    return install


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_a_registration_names_classes_that_are_there(name: str) -> None:
    method = methods.find(name)
    assert method.name == name and method.summary
    assert issubclass(method.config_class, TrainConfig)
    for part in ("update", "probe", "remember", "sync", "save", "load"):
        assert callable(getattr(method.algorithm_class, part)) and hasattr(Algorithm, part)


def test_a_registration_says_what_the_method_needs() -> None:
    heads = [f"scalar head {name}" for name in ("q1 (action)", "q2 (action)", "v1 (state)", "v2 (state)")]
    assert BUILT_IN["archer"].needs == [*heads, "moving average of the weights"]
    assert BUILT_IN["nlac"].needs == ["moving average of the weights", "moving average in the engine"]
    assert BUILT_IN["drlc"].needs[1:] == ["initial weights in the engine", "episodes of the newest policy"]
    assert BUILT_IN["agent_prm"].needs == ["scalar head reward (action)", "episodes of the newest policy"]
    assert all("arXiv" in method.paper for method in BUILT_IN.values()) and MINE.paper == ""


def test_plugins_are_found_beside_the_built_in_ones(plugged: Callable[..., None]) -> None:
    plugged(f"mine={__name__}:MINE")
    assert methods.find("mine") is MINE and methods.names() == (*BUILT_IN, "mine")
    assert [found.name for found in methods.all_methods()] == [*BUILT_IN, "mine"]
    with pytest.raises(UnknownIdError, match=r"named 'other'; the training algorithms are nlac, .*, mine"):
        methods.find("other")


@pytest.mark.parametrize(
    ("point", "said"),
    [
        ("broken=no_such_module_here:METHOD", "cannot be loaded: ModuleNotFoundError"),
        (f"other={__name__}:MINE", "must be a Method of that name, not the Method of 'mine'"),
        (f"text={__name__}:__doc__", "must be a Method of that name, not a str"),
        (f"react={__name__}:MINE", "'react' is the name of a built-in agent"),
        (f"oracle={__name__}:MINE", "'oracle' is the name of a built-in agent"),
    ],
)
def test_a_plugin_that_cannot_be_used_says_why_and_hides_no_other(
    plugged: Callable[..., None], point: str, said: str
) -> None:
    plugged(point, f"mine={__name__}:MINE")
    name = point.partition("=")[0]
    errors = {found.name: found.error for found in methods.all_methods()}
    assert said in errors[name] and errors["mine"] == ""
    with pytest.raises(UnknownIdError, match=r"(cannot be used|cannot be loaded).*; (fix|correct|rename) "):
        methods.find(name)
    assert methods.find("mine") is MINE


def test_a_built_in_name_stays_the_built_in_ones(plugged: Callable[..., None]) -> None:
    plugged(f"rft={__name__}:RFT")
    with pytest.warns(UserWarning, match="'rft' is the name of a built-in agent.*built-in algorithm is used"):
        assert methods.find("rft") is RFT
    plugged(f"react={__name__}:MINE")
    with pytest.raises(Exception, match="--model"):
        make("react", AgentContext())


def test_two_packages_may_not_offer_one_name(plugged: Callable[..., None]) -> None:
    plugged(f"mine={__name__}:MINE", f"mine={__name__}:MINE")
    with pytest.raises(UnknownIdError, match=r"registered by .* and .*; uninstall one"):
        methods.find("mine")


def test_an_engine_says_what_training_needs() -> None:
    engine = HFEngine(tiny_model.model(), tiny_model.tokenizer())
    metered = MeteredEngine(engine)
    assert isinstance(engine, TrainableEngine) and isinstance(metered, TrainableEngine)
    assert metered.tokenizer is engine.tokenizer and metered.slots == ("policy", "target")
    assert all(hasattr(VLLMEngine, name) for name in ("tokenizer", "slots", "sync"))
    for method in BUILT_IN.values():
        method.check_engine(metered, "m")
    with pytest.raises(
        ConfigError,
        match=r"rft cannot train --model m: its engine \(RuleEngine\) does not provide tokenizer, sync",
    ):
        RFT.check_engine(RuleEngine(lambda request: ""), "m")
    engine.slots = ("policy",)
    assert missing_for_training(engine, ("policy",)) == []
    RFT.check_engine(engine, "m")
    with pytest.raises(ConfigError, match=r"nlac cannot train .* does not provide slot 'target'"):
        BUILT_IN["nlac"].check_engine(engine, "m")
