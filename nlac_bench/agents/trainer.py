"""The base class of algorithms: roles, token sequences, and weights whose versions the engine gets."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.initial_policy import kl_to_start
from nlac_bench.agents.nlac.config import ImprovementConfig
from nlac_bench.agents.roles.speaker import Speaker
from nlac_bench.agents.roles.transition import Transition, transitions
from nlac_bench.learner.batch import TokenSequence
from nlac_bench.learner.config import TrainConfig
from nlac_bench.learner.outputs import Metrics
from nlac_bench.types import Episode, Info

C = TypeVar("C", bound=TrainConfig)


class Trainer(ABC, Generic[C]):
    """The parts of an ``Algorithm`` that do not depend on what is learned.

    Args:
        speaker_type: makes the speakers of the roles.
    """

    def __init__(self, resources: Resources[C], speaker_type: type[Speaker] = Speaker) -> None:
        self.resources, self.config, self.learner = resources, resources.config, resources.learner
        self.env = resources.make_env().name
        self._beginnings: dict[str, Info] = {}
        c = resources.config
        improvement = c.improvement_temperature if isinstance(c, ImprovementConfig) else None
        self.speaking, self.encoder = resources.speaking(improvement, speaker_type), resources.encoder()
        self.version = 0
        self.learned: list[TokenSequence] = []
        """The sequences that the policy learned last."""

    @abstractmethod
    async def update(self, episodes: Sequence[Episode], max_steps: int | None = None) -> Metrics:
        """Run one iteration; see ``Algorithm``."""

    def transitions(self, episode: Episode) -> list[Transition]:
        """Return the transitions of ``episode``."""
        return transitions(episode, self.env, self.beginning(episode))

    def beginning(self, episode: Episode) -> Info:
        """Return what ``reset`` told the policy in ``episode``; see ``Resources.beginning``."""
        known, task_id = self._beginnings, episode.task_id
        if episode.beginning is not None:
            known[task_id] = episode.beginning
        elif task_id not in known and episode.turns:
            known[task_id] = self.resources.beginning(episode)
        return known.get(task_id, {})

    async def probe(self, episodes: Sequence[Episode], deep: bool) -> Metrics:
        """Return KL(π ‖ initial π) on the sequences that the policy learned last."""
        return kl_to_start(self.learner, self.config, self.learned)

    def too_long(self) -> Metrics:
        """Return the number of sequences, since the last call, that were too long to be trained on."""
        count, self.encoder.too_long = self.encoder.too_long, 0
        return {"too_long": float(count)}

    def sync(self) -> None:
        """Copy θ, and θ̄ if roles are sampled from it, to the engine, which checks them."""
        self.version += 1
        self.resources.push(self.version)

    def save(self, folder: Path) -> dict[str, object]:
        """Return the version of the weights."""
        return {"version": self.version}

    def load(self, folder: Path, state: Mapping[str, Any]) -> None:
        """Restore what ``save`` wrote and returned, and copy the learner's weights to the engine."""
        self.version = int(state["version"])
        self.resources.push(self.version)
