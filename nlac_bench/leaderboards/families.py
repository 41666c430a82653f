"""Reads ``families.toml``: the entries that a board tests against each other, named before they are measured.

::

    [[family]]
    board = "tau_retail-f609404e8892"
    kind = "algorithms"
    entries = [{ agent = "nlac", model = "tiny" }, { agent = "ppo", model = "tiny" }]

Without a family, each further entry makes the correction for many pairs stricter for all entries of a board.
With a family, only its entries have places, and the correction is over their pairs.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import Field, ValidationError, model_validator

from nlac_bench.leaderboards.entry import Entry, Kind
from nlac_bench.leaderboards.entry_file import EntryError, explained
from nlac_bench.leaderboards.entry_part import EntryPart, Id, Name
from nlac_bench.untrusted import read_toml

FAMILIES = "families.toml"
"""The file's name in the folder of the entries."""


class Registered(EntryPart):
    """An entry of a family: its agent's label, and its model unless the agent has one entry on the board."""

    agent: Name
    model: Name | None = None

    def names(self, entry: Entry) -> bool:
        """Return whether this is ``entry``."""
        return entry.subject.label == self.agent and self.model in (None, entry.subject.model)


class BoardFamily(EntryPart):
    """The registered entries of the board ``board`` of ``kind``."""

    board: Id
    kind: Kind
    entries: list[Registered] = Field(min_length=1, max_length=1_000)

    def members(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return those of ``entries`` that are registered.

        Raises:
            EntryError: a registered name fits several entries.
        """
        found: list[Entry] = []
        for registered in self.entries:
            fitting = [entry for entry in entries if registered.names(entry)]
            if len(fitting) > 1:
                raise EntryError(
                    f"the family of {self.board} names the agent {registered.agent!r:.200}, which "
                    f"{len(fitting)} entries have ({', '.join(entry.entry_id for entry in fitting[:3])}): "
                    "name the model, or remove all but one"
                )
            found += [entry for entry in fitting if entry not in found]
        return found


class _FamiliesFile(EntryPart):
    family: list[BoardFamily] = Field(max_length=10_000)

    @model_validator(mode="after")
    def _check(self) -> "_FamiliesFile":
        boards = [(family.board, family.kind) for family in self.family]
        if len(set(boards)) < len(boards):
            raise ValueError("a board has two families; join their entries")
        return self


def read_families(results: Path) -> Mapping[tuple[str, Kind], BoardFamily]:
    """Return the families in ``results`` by board and kind; none if there is no such file.

    Raises:
        EntryError: the file is not a regular file, too large, or not valid.
    """
    try:
        content = _FamiliesFile.model_validate(read_toml(results / FAMILIES))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise EntryError(f"cannot be read ({error.strerror})") from None
    except ValidationError as error:
        raise EntryError(explained(error)) from None
    except ValueError as error:
        raise EntryError(f"is not valid TOML ({str(error)[:200]})") from None
    return {(family.board, family.kind): family for family in content.family}
