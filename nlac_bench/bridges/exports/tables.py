"""Writes a run's data frames (``nlac_bench.api.frames``) as CSV or Parquet."""

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nlac_bench.api.exporting import write_file
from nlac_bench.api.frames import critiques_frame, episodes_frame, metrics_frame, turns_frame
from nlac_bench.bridges.exports.sides import clean, sides_of
from nlac_bench.errors import MissingError, NlacBenchError
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.reports.pages.text import csv_text

if TYPE_CHECKING:
    import pandas as pd


def export_tables(folder: Path, out: Path, form: Literal["csv", "parquet"]) -> int:
    """Write the tables ``episodes``, ``turns``, ``metrics`` and ``critiques`` to files in the folder ``out``.

    The first column of episodes and turns is ``side``: for a training run ``untrained`` or ``trained``, for
    others the agent. Validations are rows of the metrics. Lists and objects are written as JSON. In CSV, a
    text that a spreadsheet would take for a formula begins with an apostrophe (``csv_text``).

    Returns:
        The number of episodes.

    Raises:
        MissingError: pandas or pyarrow is not installed.
        RunFolderError: the run cannot be read.
        NlacBenchError: a file cannot be written, or a column has values of several types, for Parquet.
    """
    run = RunFolder.open(folder)
    episodes: list[Any] = []
    turns: list[Any] = []
    for side in sides_of(folder):
        if side.measured:
            for frames, frame in ((episodes, episodes_frame(side.run)), (turns, turns_frame(side.run))):
                frame.insert(0, "side", side.name)
                frames.append(frame)
    import pandas as pd

    tables = {
        "episodes": pd.concat(episodes, ignore_index=True),
        "turns": pd.concat(turns, ignore_index=True),
        "metrics": metrics_frame(run),
        "critiques": critiques_frame(run),
    }
    encode = _csv if form == "csv" else _parquet
    files = {name: encode(name, frame.map(_cell, na_action="ignore")) for name, frame in tables.items()}
    for name, content in files.items():
        write_file(out / f"{name}.{form}", content)
    return len(tables["episodes"])


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list):
        value = json.dumps(value)
    return clean(value) if isinstance(value, str) else value


def _csv(_: str, frame: "pd.DataFrame") -> bytes:
    rows = frame.astype(object).where(frame.notna(), None)
    return csv_text(list(frame.columns), rows.itertuples(index=False)).encode()


def _parquet(name: str, frame: "pd.DataFrame") -> bytes:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingError("parquet files need pyarrow", "pip install 'nlac-bench[frames]'") from error
    buffer = io.BytesIO()
    try:
        frame.to_parquet(buffer, index=False)
    except (pa.ArrowException, OverflowError) as error:
        reason = " ".join(map(str, error.args))
        raise NlacBenchError(
            f"a column of the table {name} cannot be stored as Parquet ({reason}); use "
            "`nlac-bench export csv`"
        ) from error
    return buffer.getvalue()
