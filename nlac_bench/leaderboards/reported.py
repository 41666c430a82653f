"""Makes entries of level ``reported`` from published figures; they have no place on a board.

``python -m nlac_bench.leaderboards.reported --out leaderboards/results``, in the repository, reads
``leaderboards/reported.toml``.
"""

import argparse
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nlac_bench.leaderboards.entry import BoardKey, Entry, Source
from nlac_bench.leaderboards.entry_file import sealed
from nlac_bench.leaderboards.numbers import stated_numbers
from nlac_bench.leaderboards.subject import Subject
from nlac_bench.leaderboards.submit import write_entries


def reported(table: Mapping[str, Any]) -> Iterator[Entry]:
    """Yield an entry for each figure in the content of ``reported.toml``."""
    for source in table["source"]:
        cited = Source(title=source["title"], url=source["url"], where=source["where"])
        for row in source["rows"]:
            for subject, success in row["success"].items():
                yield sealed(
                    {
                        "kind": "models",
                        "board": BoardKey(env=row["env"], data_source="official"),
                        "subject": Subject(agent=subject),
                        "outcomes": [],
                        "numbers": stated_numbers(success),
                        "level": "reported",
                        "warnings": ["reported, not reproduced", *([row["note"]] if "note" in row else [])],
                        "source": cited,
                    }
                )


def main(arguments: Sequence[str] | None = None) -> None:
    """Write all reported entries."""
    parser = argparse.ArgumentParser(description="Write the reported entries of the boards.")
    parser.add_argument(
        "--leaderboards", type=Path, default=Path("leaderboards"), help="folder of the sources"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("leaderboards/results"), help="folder of the entries"
    )
    chosen = parser.parse_args(arguments)
    table = tomllib.loads((chosen.leaderboards / "reported.toml").read_text(encoding="utf-8"))
    folder = chosen.out / "reported"
    print(f"{folder}: {len(write_entries(list(reported(table)), folder))} entries")


if __name__ == "__main__":
    main()
