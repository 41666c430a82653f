"""The registry of training algorithms: built-in ones and those of the entry-point group
``nlac_bench.algorithms``.

To add a built-in algorithm, write its file and add an entry to ``BUILT_IN``. Another package adds an
algorithm with an entry point whose name is the algorithm's name and whose value is a ``Method``. Everything
that lists algorithms (``--agent``, help texts, estimates, sweeps, ``doctor``, tests) reads these
registrations.
"""

import importlib
import importlib.metadata
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from nlac_bench import installed
from nlac_bench.agents.names import FLOORS, PROMPTED
from nlac_bench.envs.foreign import ForeignCodeError, load, load_object
from nlac_bench.errors import ConfigError, UnknownIdError
from nlac_bench.rollout.engines.engine import Slot, missing_for_training

if TYPE_CHECKING:
    from nlac_bench.agents.algorithm import Algorithm
    from nlac_bench.learner.config import TrainConfig

PLUGIN_GROUP = "nlac_bench.algorithms"
_STEPS = ("update", "probe", "remember", "sync", "save", "load")
"""The methods of an ``Algorithm``."""


@dataclass(frozen=True, kw_only=True)
class Method:
    """The registration of a training algorithm.

    Classes are given as text, ``"package.module:Class"``, so that torch is imported only for training.

    Args:
        name: the name for ``--agent``; a plug-in's entry point must have the same name.
        summary: one line that says what the algorithm does, with the verb first.
        algorithm: the algorithm's class; its constructor takes ``Resources``
            (``nlac_bench.agents.algorithm``).
        settings: the class of its settings, a subclass of ``TrainConfig``.
        learner: fields of ``LearnerConfig`` that it needs: ``{"ema": True}`` keeps a moving average of the
            weights, unless ``TrainConfig.needs_average`` is False, ``{"heads": {"value": "state"}}`` adds a
            scalar head and says what it values (``nlac_bench.learner.model.HeadKind``).
        samples_average: whether roles are sampled from the moving average, so that the engine needs a copy.
        off_policy: whether it can learn from another policy's episodes (``--offline``).
        keeps_critiques: whether it has a language critic, whose texts ``nlac-bench critiques`` reads.
        best_of: what chooses among the actions of ``--best-of``: the verdicts of the role ``evaluator``, the
            scalar ``heads`` of the kind ``action`` (of several, the smallest counts), or the role ``picker``.
        paper: the publication that describes it.
    """

    name: str
    summary: str
    algorithm: str
    settings: str = "nlac_bench.learner.config:TrainConfig"
    learner: Mapping[str, object] = field(default_factory=dict)
    samples_average: bool = True
    off_policy: bool = False
    keeps_critiques: bool = False
    best_of: Literal["evaluator", "heads", "picker"] = "picker"
    paper: str = ""

    def __post_init__(self) -> None:
        if self.best_of == "heads" and not self.action_heads:
            raise ConfigError(
                f"method {self.name!r} has best_of='heads', but no head of the kind 'action'; add one to its "
                "learner, or set another best_of"
            )

    @property
    def heads(self) -> Mapping[str, str]:
        """The scalar heads: what each values, by name."""
        heads = self.learner.get("heads", {})
        assert isinstance(heads, Mapping)
        return heads

    @property
    def action_heads(self) -> tuple[str, ...]:
        """The names of the heads that value actions."""
        return tuple(name for name, kind in self.heads.items() if kind == "action")

    @property
    def needs(self) -> list[str]:
        """What the method needs beside the policy, with its default settings."""
        options = self.learner_options(self.config({}))
        listed = [f"scalar head {name} ({kind})" for name, kind in self.heads.items()]
        listed += ["moving average of the weights"] if options.get("ema") else []
        if "target" in self.slots(self.config({})):
            listed.append(f"{'moving average' if options.get('ema') else 'initial weights'} in the engine")
        return listed + (["episodes of the newest policy"] if not self.off_policy else [])

    @property
    def config_class(self) -> "type[TrainConfig]":
        """The class of the algorithm's settings."""
        from nlac_bench.learner.config import TrainConfig  # pydantic takes time to import

        config = _imported(self.settings)
        if not (isinstance(config, type) and issubclass(config, TrainConfig)):
            raise ConfigError(
                f"the settings {self.settings!r} of training algorithm {self.name!r} must be a subclass of "
                f"TrainConfig (nlac_bench.learner.config), got {config!r:.80}"
            )
        return config

    @property
    def algorithm_class(self) -> "type[Algorithm]":
        """The algorithm's class; importing it imports torch."""
        algorithm: type[Algorithm] = _imported(self.algorithm)
        lacks = [step for step in _STEPS if not callable(getattr(algorithm, step, None))]
        if not isinstance(algorithm, type) or lacks:
            raise ConfigError(
                f"the algorithm {self.algorithm!r} of {self.name!r} must implement Algorithm "
                f"(nlac_bench.agents.algorithm); {algorithm!r:.80} "
                + (f"has no method {', '.join(lacks)}" if lacks else "is no class")
            )
        return algorithm

    def config(self, settings: Mapping[str, object]) -> "TrainConfig":
        """Check ``settings`` and fill in the defaults.

        Raises:
            ConfigError: a setting is unknown or invalid, or is one of other methods and would have no effect;
                the message names it.
        """
        for name in self.without_effect(settings):
            others = [m.name for m in _usable() if name in m.config_class.model_fields]
            have = "is a setting of" if len(others) == 1 else "is one of the settings of"
            raise ConfigError(
                f"train.{name} would have no effect with {self.name}: it {have} {', '.join(others)}; remove "
                "it, or choose another method"
            )
        return self.config_class.from_mapping(settings)

    def without_effect(self, settings: Mapping[str, object]) -> list[str]:
        """Return the names in ``settings`` that are settings of other methods only."""
        unknown = [name for name in settings if name not in self.config_class.model_fields]
        return [n for n in unknown if any(n in m.config_class.model_fields for m in _usable())]

    def learner_options(self, settings: "TrainConfig") -> dict[str, object]:
        """Return the fields of ``LearnerConfig`` that it needs with ``settings``."""
        average = {"ema": settings.needs_average} if self.learner.get("ema") else {}
        return {**self.learner, **average}

    def slots(self, settings: "TrainConfig") -> tuple[Slot, ...]:
        """Return the slots of the engine that it samples from with ``settings``."""
        average = self.samples_average and self.learner_options(settings).get("ema")
        return ("policy", "target") if average or settings.samples_initial else ("policy",)

    def check_engine(self, engine: object, model: str | None, settings: "TrainConfig | None" = None) -> None:
        """Check that this method can be trained with ``engine``.

        Args:
            model: the value of ``--model``, for the error message.
            settings: of the training; by default the method's defaults.

        Raises:
            ConfigError: ``engine`` lacks something; the message names it.
        """
        slots = self.slots(self.config({}) if settings is None else settings)
        if missing := missing_for_training(engine, slots):
            raise ConfigError(
                f"{self.name} cannot train --model {model}: its engine ({type(engine).__name__}) does not "
                f"provide {', '.join(missing)}. Training needs a model that runs in this process: set "
                "--model to a Hugging Face folder or id, and leave out --base-url"
            )


_NLAC, _BASELINES = "nlac_bench.agents.nlac", "nlac_bench.baselines"
_EMA = {"ema": True}

BUILT_IN: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method(
            name="nlac",
            summary="learns refinements that a language critic suggests (off-policy; arXiv 2512.04601)",
            paper="Natural Language Actor-Critic, arXiv 2512.04601",
            algorithm=f"{_NLAC}.nlac:NLAC",
            settings=f"{_NLAC}.config:NlacConfig",
            best_of="evaluator",
            learner=_EMA,
            off_policy=True,
            keeps_critiques=True,
        ),
        Method(
            name="rft",
            summary="imitates successful episodes, its own or recorded ones (--offline)",
            paper="Yuan et al. 2023, arXiv 2308.01825",
            algorithm=f"{_BASELINES}.rft:RFT",
            settings=f"{_BASELINES}.config:RftConfig",
            off_policy=True,
        ),
        Method(
            name="ppo",
            summary="estimates an advantage for each token with a value head",
            paper="Schulman et al. 2017, arXiv 1707.06347",
            algorithm=f"{_BASELINES}.ppo:PPO",
            settings=f"{_BASELINES}.config:PpoConfig",
            learner={"heads": {"value": "state"}},
        ),
        Method(
            name="grpo",
            summary="compares the returns of several episodes of the same task",
            paper="Shao et al. 2024, arXiv 2402.03300",
            algorithm=f"{_BASELINES}.grpo:GRPO",
            settings=f"{_BASELINES}.config:GrpoConfig",
        ),
        Method(
            name="sac",
            summary="estimates Q with two heads and learns the best of its own actions by Q",
            paper="Haarnoja et al. 2018, arXiv 1801.01290",
            algorithm=f"{_BASELINES}.sac:SAC",
            settings=f"{_BASELINES}.config:SacConfig",
            best_of="heads",
            learner={**_EMA, "heads": {"q1": "action", "q2": "action"}},
            samples_average=False,  # the learner computes its target values
            off_policy=True,
        ),
        Method(
            name="archer",
            summary="values turns with four heads and learns new actions by their advantage",
            paper="Zhou et al. 2024, arXiv 2402.19446",
            algorithm=f"{_BASELINES}.archer:ArCHer",
            settings=f"{_BASELINES}.config:ArcherConfig",
            best_of="heads",
            learner={**_EMA, "heads": {"q1": "action", "q2": "action", "v1": "state", "v2": "state"}},
            samples_average=False,  # the learner computes its target values
            off_policy=True,
        ),
        Method(
            name="nlrl",
            summary="values continued episodes in text and learns the action that a prompt picks",
            paper="Feng et al. 2025, arXiv 2411.14251",
            algorithm=f"{_BASELINES}.nlrl:NLRL",
            settings=f"{_BASELINES}.config:NlrlConfig",
            keeps_critiques=True,
        ),
        Method(
            name="pacs",
            summary="classifies a task's episodes by their log-ratios into successes and failures",
            paper="PACS, arXiv 2509.02522",
            algorithm=f"{_BASELINES}.pacs:PACS",
            settings=f"{_BASELINES}.config:PacsConfig",
        ),
        Method(
            name="agent_prm",
            summary="learns a reward model of actions and prefers the actions that it rates higher",
            paper="Choudhury 2025, arXiv 2502.10325",
            algorithm=f"{_BASELINES}.agent_prm:AgentPRM",
            settings=f"{_BASELINES}.config:AgentPrmConfig",
            best_of="heads",
            learner={"heads": {"reward": "action"}},
        ),
        Method(
            name="self_distillation",
            summary="ablation of nlac: refines with knowledge of the episode's rest; trains no critic",
            paper="Natural Language Actor-Critic, arXiv 2512.04601",
            algorithm=f"{_BASELINES}.self_distillation:SelfDistillation",
            settings=f"{_BASELINES}.control_config:SelfDistillationConfig",
            learner=_EMA,
            off_policy=True,
            keeps_critiques=True,
        ),
        Method(
            name="nlql",
            summary="ablation of nlac: learns the best of its own actions by the language critic",
            paper="Natural Language Actor-Critic, arXiv 2512.04601",
            algorithm=f"{_BASELINES}.nlql:NLQL",
            settings=f"{_BASELINES}.control_config:NlqlConfig",
            best_of="evaluator",
            learner=_EMA,
            off_policy=True,
            keeps_critiques=True,
        ),
        Method(
            name="drlc",
            summary="ppo that also rewards each turn by a language critic's verdict",
            paper="Cao et al. 2024, arXiv 2401.07382",
            algorithm=f"{_BASELINES}.drlc:DRLC",
            settings=f"{_BASELINES}.control_config:DrlcConfig",
            learner={"heads": {"value": "state"}},
        ),
        Method(
            name="early_experience",
            summary="predicts what its own alternatives lead to, then imitates successes or an expert",
            paper="Zhang et al. 2025, arXiv 2510.08558",
            algorithm=f"{_BASELINES}.early_experience:EarlyExperience",
            settings=f"{_BASELINES}.control_config:EarlyExperienceConfig",
        ),
        Method(
            name="critique_rl",
            summary="trains nlac's critic by outcomes instead of backups, and learns its refinements",
            paper="Critique-RL, arXiv 2510.24320",
            algorithm=f"{_BASELINES}.critique_rl:CritiqueRL",
            settings=f"{_BASELINES}.control_config:CritiqueRlConfig",
            best_of="evaluator",
        ),
    )
}


@dataclass(frozen=True)
class Listed:
    """A training algorithm in a listing.

    Args:
        origin: ``built-in``, or the package that installed it and the entry point's value.
        method: its registration; None if it cannot be used.
        error: why it cannot be used.
        fix: what to do about it.
    """

    name: str
    origin: str
    method: Method | None
    error: str = ""
    fix: str = ""


def all_methods() -> Iterator[Listed]:
    """Yield all training algorithms: built-in ones, then plug-ins, including those that cannot be used."""
    for method in BUILT_IN.values():
        yield Listed(method.name, "built-in", method)
    for point in installed.entry_points(PLUGIN_GROUP):
        yield _listed(point)


def _usable() -> Iterator[Method]:
    """Yield the training algorithms that can be used."""
    return (listed.method for listed in all_methods() if listed.method is not None)


def effective(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored object with the keys ``agent`` and ``train``, without training settings of no effect.

    Earlier versions stored settings of other methods too.
    """
    train = stored.get("train")
    if not isinstance(train, Mapping) or stored.get("agent") not in names():
        return dict(stored)
    ignored = find(str(stored["agent"])).without_effect(train)
    return {**stored, "train": {name: train[name] for name in train if name not in ignored}}


def names() -> tuple[str, ...]:
    """Return the names of all training algorithms: built-in ones, then plug-ins, which are not imported."""
    return tuple(dict.fromkeys([*BUILT_IN, *(point.name for point in installed.entry_points(PLUGIN_GROUP))]))


def find(name: str) -> Method:
    """Return the training algorithm ``name``; warn about plug-ins that use a built-in name.

    Raises:
        UnknownIdError: no algorithm has this name, or it is a plug-in that cannot be used (the message says
            why).
    """
    plugins = [_listed(point) for point in installed.entry_points(PLUGIN_GROUP) if point.name == name]
    if name in BUILT_IN:
        for plugin in plugins:
            warnings.warn(f"{plugin.error}; {plugin.fix}; the built-in algorithm is used", stacklevel=2)
        return BUILT_IN[name]
    if not plugins:
        raise UnknownIdError(
            f"no training algorithm is named {name!r}; the training algorithms are {', '.join(names())}"
        )
    if len(plugins) > 1:
        origins = " and ".join(plugin.origin for plugin in plugins)
        raise UnknownIdError(f"training algorithm {name!r} is registered by {origins}; uninstall one of them")
    if plugins[0].method is None:
        raise UnknownIdError(f"{plugins[0].error}; {plugins[0].fix}")
    return plugins[0].method


def _listed(point: importlib.metadata.EntryPoint) -> Listed:
    """Import ``point`` and check it; ``error`` describes any fault."""
    package = point.dist.name if point.dist is not None else "an unknown package"
    origin = f"{package} ({point.value})"
    where = f"training algorithm {point.name!r} of {origin}"
    if point.name in (*BUILT_IN, *FLOORS, *PROMPTED):
        error = f"{where} cannot be used: {point.name!r} is the name of a built-in agent"
        return Listed(point.name, origin, None, error, "rename the entry point")
    try:
        method: object = load(point)
    except ForeignCodeError as raised:
        error = f"{where} cannot be loaded: {raised}"
        return Listed(point.name, origin, None, error, "fix or uninstall the package")
    if not isinstance(method, Method) or method.name != point.name:
        what = (
            f"the Method of {method.name!r}" if isinstance(method, Method) else f"a {type(method).__name__}"
        )
        error = f"{where} cannot be used: its entry point's value must be a Method of that name, not {what}"
        return Listed(point.name, origin, None, error, "correct the entry point")
    return Listed(point.name, origin, method)


def _imported(where: str) -> Any:
    """Import ``package.module:Class``. The time of this package's own imports is not limited."""
    module, _, name = where.partition(":")
    try:
        if module.partition(".")[0] != "nlac_bench":
            return load_object(where)
        return getattr(importlib.import_module(module), name)
    except (AttributeError, ForeignCodeError) as error:
        raise ConfigError(
            f"the class {where!r} of a training algorithm cannot be imported: {error}"
        ) from None
