"""What ``--agent`` trains: each algorithm's settings, class, and what its learner needs beside the model."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nlac_bench.errors import UnknownIdError
from nlac_bench.train.config import TrainConfig


@dataclass(frozen=True)
class Method:
    """An algorithm. Names, not classes: torch is imported when something is trained.

    ``learner`` are fields of ``LearnerConfig``; ``off_policy`` ones can learn from another policy's episodes.
    """

    module: str
    config_name: str
    algorithm_name: str
    learner: Mapping[str, Any] = field(default_factory=dict)
    config_module: str | None = None
    off_policy: bool = False

    @property
    def config_class(self) -> type[TrainConfig]:
        """Of its settings."""
        found: type[TrainConfig] = getattr(
            importlib.import_module(self.config_module or self.module), self.config_name
        )
        return found

    def config(self, settings: Mapping[str, Any]) -> TrainConfig:
        """The settings, checked.

        Raises:
            NlacBenchError: naming the setting that is unknown or impossible.
        """
        return self.config_class.from_mapping(settings)

    def algorithm(self) -> Any:
        """The class."""
        return getattr(importlib.import_module(self.module), self.algorithm_name)


_NLAC = "nlac_bench.agents.nlac"
_HERE = "nlac_bench.baselines"
_CONFIG = f"{_HERE}.config"
_EMA = {"ema": True}
METHODS: Mapping[str, Method] = {
    "nlac": Method(f"{_NLAC}.algorithm", "NlacConfig", "NLAC", _EMA, f"{_NLAC}.config", True),
    "rft": Method(f"{_HERE}.rft", "RftConfig", "RFT", {}, _CONFIG),
    "ppo": Method(f"{_HERE}.ppo", "PpoConfig", "PPO", {"heads": ("value",)}, _CONFIG),
    "grpo": Method(f"{_HERE}.grpo", "GrpoConfig", "GRPO", {}, _CONFIG),
    "sac": Method(f"{_HERE}.sac", "SacConfig", "SAC", {**_EMA, "heads": ("q1", "q2")}, _CONFIG, True),
    "nlrl": Method(f"{_HERE}.nlrl", "NlrlConfig", "NLRL", _EMA, _CONFIG),
    "self_distillation": Method(
        f"{_HERE}.self_distillation", "SelfDistillationConfig", "SelfDistillation", _EMA, _CONFIG, True
    ),
    "nlql": Method(f"{_HERE}.nlql", "NlqlConfig", "NLQL", _EMA, _CONFIG, True),
}


def find(name: str) -> Method:
    """The algorithm called ``name``.

    Raises:
        UnknownIdError: there is none.
    """
    if name not in METHODS:
        raise UnknownIdError(f"no training algorithm is called {name!r}; there are {', '.join(METHODS)}")
    return METHODS[name]
