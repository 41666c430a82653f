"""The fixed probe set: states that the critic reads again at every validation."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from nlac_bench.agents.algorithm import ReadsStates
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.errors import EpisodeFormatError
from nlac_bench.harness.runs.critiques import PROBE_SET, PROBES
from nlac_bench.harness.runs.episode_json import episode_from_row, episode_line
from nlac_bench.harness.runs.iteration_log import IterationLog
from nlac_bench.harness.runs.lines import RunFolderError, read_lines, write_atomically
from nlac_bench.redaction import redactor
from nlac_bench.rollout.engines.engine import derive_seed
from nlac_bench.types import Episode


class ProbeSet:
    """States with the played actions, which are drawn once and kept in the run's folder.

    They are drawn from the episodes of the first validation, whose tasks are not trained on: one of each
    episode, and further ones only if there are fewer episodes than states.

    Args:
        folder: of the run.
        critic: the algorithm, which reads the states.
        seed: of the draw.

    Raises:
        RunFolderError: the folder's probe set is damaged.
    """

    def __init__(self, folder: Path, critic: ReadsStates, seed: int) -> None:
        self.log = IterationLog(folder / PROBES)
        self._path, self._critic, self._seed = folder / PROBE_SET, critic, seed
        self._states = self._stored()

    @property
    def drawn(self) -> bool:
        """Whether the states have been drawn."""
        return bool(self._states)

    async def read(self, iteration: int) -> None:
        """Store the critic's texts about the states.

        Args:
            iteration: the number of the last iteration.
        """
        records = await self._critic.read_states(self._states, iteration)
        self.log.append(map(asdict, records))

    def draw(self, validation: Sequence[Episode]) -> None:
        """Draw the states from the episodes of the first validation."""
        rng = np.random.default_rng(derive_seed(self._seed, "probe set"))
        results = []
        for place, number in enumerate(rng.permutation(len(validation)).tolist()):
            steps = rng.permutation(len(self._critic.transitions(validation[number]))).tolist()
            results += [(turn, place, number, step) for turn, step in enumerate(steps)]
        lines = []
        for _, _, number, step in sorted(results)[: self._critic.probe_states]:
            episode = episode_line(_texts(validation[number]), redactor())
            lines.append(f'{{"step":{step},"episode":{episode}}}\n')
        write_atomically(self._path, "".join(lines))
        self._states = self._stored()  # so that a resumed run reads the same texts

    def _stored(self) -> list[Transition]:
        states = []
        for number, (row, _) in enumerate(read_lines(self._path), start=1):
            try:
                states.append(self._critic.transitions(episode_from_row(row["episode"]))[row["step"]])
            except (EpisodeFormatError, LookupError, TypeError) as error:
                raise RunFolderError(
                    f"{self._path} line {number} is not a state ({error}); restore the file, or start a new "
                    "run"
                ) from error
        return states


def _texts(episode: Episode) -> Episode:
    """Return ``episode`` without token ids, which the critic does not read."""
    turns = [replace(turn, prompt_ids=None, output_ids=None, logprobs=None) for turn in episode.turns]
    return replace(episode, turns=turns)
