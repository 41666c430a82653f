"""What the exports read of a run: its episodes by side, tool calls, and the critic's texts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nlac_bench.envs.tau.actions import CallAction, parse_action
from nlac_bench.harness.runs.episode_json import episode_from_row, episode_to_row
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.lines import DamagedFolderError
from nlac_bench.leaderboards.from_run import model_name
from nlac_bench.redaction import redactor
from nlac_bench.reports.view.sides import Reading, ViewSide, shown_runs
from nlac_bench.types import Episode, Turn
from nlac_bench.visible import encodable

Words = Mapping[int, list[dict[str, Any]]]
"""The critic's texts about the actions of an episode, by step."""


@dataclass(frozen=True)
class ExportedSide:
    """Episodes of one agent, as ``nlac-bench view`` shows them.

    A training run has the sides ``untrained``, ``trained``, ``training`` and ``validation``. The last two are
    the episodes about which the critic's texts are stored. Any other run has one side, named by its agent.
    """

    name: str
    run: RunFolder
    shown: ViewSide

    @property
    def measured(self) -> bool:
        """Whether the episodes were planned, so that a success rate can be stated."""
        return self.shown.planned is not None

    @property
    def model(self) -> str:
        """The model's name, with the method that trained it; ``none`` for an agent without a model."""
        name = model_name(self.run.subject.get("model")) or "none"
        return clean(f"{name}+{self.run.label}" if self.run.subject.get("train") else name)

    @property
    def started(self) -> datetime:
        """When the run started, in UTC.

        Raises:
            DamagedFolderError: the manifest does not say so.
        """
        text = self.run.manifest["sessions"][0].get("started")
        try:
            return datetime.fromisoformat(text).astimezone(UTC)
        except (TypeError, ValueError):
            raise DamagedFolderError(
                f"{self.run.path / 'manifest.json'}: sessions[0].started must be a time, got {text!r:.80}; "
                "restore the file"
            ) from None

    def episodes(self) -> Iterator[tuple[Episode, Words]]:
        """Yield the episodes, read one at a time, with the critic's texts. All texts are ``clean``."""
        for episode in self.shown.episodes():
            readings = self.shown.readings.get((episode.task_id, episode.trial, episode.seed), {})
            words = {step: [clean(_words(each)) for each in readings[step]] for step in readings}
            yield episode_from_row(clean(episode_to_row(episode))), words


def sides_of(folder: Path) -> list[ExportedSide]:
    """Return the sides of the run in ``folder``.

    Raises:
        RunFolderError: there is no run, or it is damaged.
    """
    return [ExportedSide(clean(shown.name), shown.run, shown) for shown in shown_runs([folder])[0].sides]


@dataclass(frozen=True)
class RecordedCall:
    """A tool call that an action made."""

    id: str
    name: str
    arguments: dict[str, Any]


def _words(reading: Reading) -> dict[str, Any]:
    names = "iteration", "proposed", "future", "predicted", "critique", "optimal", "refined"
    return {name: text for name in names if (text := getattr(reading, name, None)) is not None}


def call_of(turn: Turn, number: int) -> RecordedCall | None:
    """Return the tool call of an action, or None. Its arguments are empty if its text does not show them."""
    if turn.info.get("action_kind") != "tool":
        return None
    action = parse_action(turn.text)
    arguments = dict(action.arguments) if isinstance(action, CallAction) else {}
    return RecordedCall(f"call_{number}", str(turn.info.get("tool_name")), arguments)


def clean(value: Any) -> Any:
    """Return a value of JSON types without secrets, and with lone surrogates escaped, as UTF-8 requires."""
    secrets = redactor()

    def cleaned(part: Any) -> Any:
        if isinstance(part, str):
            return encodable(secrets.text(part))
        if isinstance(part, Mapping):
            return {cleaned(name): cleaned(each) for name, each in part.items()}
        if isinstance(part, list | tuple) and not set(map(type, part)) <= {int, float}:  # token ids are many
            return [cleaned(each) for each in part]
        return part

    return cleaned(value)
