"""Saves and restores the checkpoints of a training run: the last one and the best one."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from nlac_bench.agents.algorithm import Algorithm
from nlac_bench.envs.foreign import described
from nlac_bench.errors import CheckpointError, DataError
from nlac_bench.files import delete, find_folder, replace_folder, restore_folder
from nlac_bench.harness.measure.weights import weights_sha256
from nlac_bench.harness.runs.episode_json import (
    dump_line,
    episode_from_row,
    episode_line,
    episode_to_row,
    usage_from_row,
)
from nlac_bench.harness.runs.lines import read_lines
from nlac_bench.learner import checkpoint, checkpoint_index, tensor_file
from nlac_bench.learner.learner import Learner
from nlac_bench.redaction import redactor
from nlac_bench.rollout.engines import model_files
from nlac_bench.rollout.meter import spent_from_row
from nlac_bench.training.progress import Progress
from nlac_bench.types import Episode
from nlac_bench.untrusted import read_json

AHEAD = "ahead.jsonl"
"""The file of the episodes that have been played for the next iteration."""
WEIGHTS = "model.safetensors"
"""The file of an exported model that is small enough for one."""
NEXT = ".best.next"
"""The folder of a best policy that ``last`` does not know yet, and the field of ``last`` with its hash."""


class Checkpoints:
    """Saves and restores the state of learner, algorithm and progress together.

    Args:
        folder: contains ``last``, from which training resumes (weights, optimizer, random generators, state
            of the algorithm), and ``best``, the best policy as a Hugging Face folder. A new best policy is
            stored as ``.best.next`` until ``last``, which has its hash, is written, so that a crash leaves
            the best policy that ``last`` knows.
    """

    def __init__(self, folder: Path, learner: Learner, algorithm: Algorithm, tokenizer: Any) -> None:
        self.last, self.best, self.next = folder / "last", folder / "best", folder / NEXT
        self._learner, self._algorithm, self._tokenizer = learner, algorithm, tokenizer

    def exist(self) -> bool:
        """Return whether ``last`` exists."""
        return find_folder(self.last) is not None

    def save(self, progress: Progress, ahead: Sequence[Episode] = ()) -> None:
        """Write ``last``, and replace ``best`` if ``export_best`` has been called since the last time.

        Args:
            ahead: the episodes that have been played for the next iteration. If they contain a secret, which
                is not written, they are played again.
        """

        def write(folder: Path) -> dict[str, object]:
            lines = [dump_line(episode_to_row(episode)) for episode in ahead]
            if lines and lines == [episode_line(episode, redactor()) for episode in ahead]:
                (folder / AHEAD).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            return {"progress": asdict(progress), "algorithm": self._algorithm.save(folder), NEXT: sha256}

        sha256 = weights_sha256(self.next)
        checkpoint.save(self._learner, self.last, write)
        if sha256 is not None:
            replace_folder(self.next, self.best)

    def restore(self) -> tuple[Progress, list[Episode]]:
        """Load ``last`` into learner and algorithm; return its progress, and the episodes played ahead.

        Raises:
            CheckpointError: ``last`` or ``best`` is missing, damaged, or does not fit this run.
        """
        restore_folder(self.best)
        state = checkpoint.load(self._learner, self.last)
        with _damaged(self.last):
            progress = _progress(state)
            self._algorithm.load(self.last, state["algorithm"])
            ahead = [episode_from_row(row) for row, _ in read_lines(self.last / AHEAD)]
        if exported := _exported(self.last.parent, state):
            replace_folder(exported, self.best)
        delete(self.next)
        _check_best(self.best, progress)
        return progress, ahead

    def export_best(self) -> None:
        """Export the current policy; it becomes ``best`` at once if there is no ``last``, else in ``save``.

        A reader finds the earlier policy or the new one.
        """
        partial = self.best.with_name(f".{self.best.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        checkpoint.export(self._learner, partial, self._tokenizer)
        replace_folder(partial, self.next if self.exist() else self.best)


def check(folder: Path) -> None:
    """Check the checkpoints of the run in ``folder`` before it is resumed; changes nothing.

    Raises:
        CheckpointError: ``last`` or ``best`` is missing, damaged, or of an earlier format.
    """
    last = find_folder(folder / "checkpoints" / "last")
    if last is None:
        return
    index = checkpoint_index.read(last)
    checkpoint_index.check_files(last, index, index.files)
    with _damaged(last):
        progress = _progress(index.loop)
    _check_best(_exported(last.parent, index.loop) or last.parent / "best", progress)


def _progress(state: Mapping[str, Any]) -> Progress:
    progress = TypeAdapter(Progress).validate_json(json.dumps(state["progress"]), strict=True)
    usage_from_row(progress.usage)
    spent_from_row(progress.usage)
    return progress


def _exported(folder: Path, state: Mapping[str, Any]) -> Path | None:
    """Return the best policy that ``last`` with ``state`` knows, if it has not replaced ``best`` yet."""
    sha256 = state.get(NEXT)
    return folder / NEXT if sha256 is not None and weights_sha256(folder / NEXT) == sha256 else None


def _check_best(best: Path, progress: Progress) -> None:
    if progress.best < 0:  # no validation is complete yet
        return
    result = find_folder(best)
    try:
        if result is None:
            raise DataError(f"{best} does not exist")
        index = result / model_files.INDEX
        listed = read_json(index, model_files.MAX_JSON_BYTES) if index.exists() else None
        files = [WEIGHTS] if listed is None else listed["weight_map"].values()
        for name in set(files):
            tensor_file.read(result / Path(name).name)
    except (DataError, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise CheckpointError(
            f"the best policy so far, of iteration {progress.best_iteration} with validation success "
            f"{progress.best:.3f}, cannot be read: {error}; restore the folder, or start a new run"
        ) from error


@contextmanager
def _damaged(last: Path) -> Iterator[None]:
    """Turn errors about the content of the checkpoint ``last`` into CheckpointError."""
    try:
        yield
    except CheckpointError:
        raise
    except (
        DataError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as error:
        raise CheckpointError(
            f"the training state in {last} is damaged ({described(error)}); restore the folder, or start a "
            "new run"
        ) from error
