"""Reads the rows of a file of JSON lines, CSV or parquet, which may come from anybody, within limits."""

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nlac_bench.envs.datasets import MAX_FILE_BYTES
from nlac_bench.errors import DataError, MissingError
from nlac_bench.untrusted import parse_json, read_untrusted, refuse_deeper

MAX_ROWS = 1_000_000
MAX_PARQUET_BYTES = 2**30
"""Largest size of a parquet file's columns after decompression."""
_MAX_CELL = 2**24
STRUCTURED = ("prompt", "reward_model", "extra_info")
"""The columns whose cells in CSV may be JSON."""
FORMATS = (".jsonl", ".json", ".csv", ".parquet")


def read_table(path: Path, data: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each row, from 1, and its values by column, without those that are null.

    Args:
        path: its ending chooses the format; ``.json`` holds JSON lines, or a list of objects.
        data: the content of the file.

    Raises:
        DataError: the file has another ending, or cannot be read; the message names the row.
        MissingError: the file is parquet, and pyarrow is not installed.
    """
    if path.suffix not in FORMATS:
        raise DataError(f"{path}: expected a file that ends with {', '.join(FORMATS)}")
    read = {".csv": _csv, ".parquet": _parquet}.get(path.suffix, _json)
    try:
        for number, row in read(data):
            if number > MAX_ROWS:
                raise ValueError(f"it has more than {MAX_ROWS:,} rows")
            if not isinstance(row, dict):
                raise ValueError(f"row {number} must be an object, got {row!r:.80}")
            refuse_deeper(row, 50)
            yield number, without_nulls(row)
    except (ValueError, csv.Error) as error:
        raise DataError(f"{path}: {error}") from error


def read_bytes(path: Path) -> bytes:
    """Return the content of ``path``.

    Raises:
        DataError: it is no regular file, is too large or cannot be read.
    """
    try:
        return read_untrusted(path, MAX_FILE_BYTES)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror or error})") from error


def without_nulls(value: Any) -> Any:
    """Return ``value`` without keys that have null: Arrow gives all structs of a column the same keys."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def _json(data: bytes) -> Iterator[tuple[int, Any]]:
    if data.lstrip()[:1] == b"[":
        yield from enumerate(parse_json(data, finite=True), 1)
        return
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                yield number, parse_json(line, finite=True)
            except ValueError as error:
                raise ValueError(f"row {number} is not JSON ({error})") from None


def _csv(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the rows of a CSV file. JSON objects and lists in the columns ``STRUCTURED`` are read as such."""
    csv.field_size_limit(_MAX_CELL)
    rows = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
    for number, row in enumerate(rows, 1):
        if None in row or None in row.values():
            raise ValueError(f"row {number} has not the {len(rows.fieldnames or ())} cells of the header")
        yield number, {name: _cell(text) if name in STRUCTURED else text for name, text in row.items()}


def _cell(text: str) -> Any:
    if text[:1] in ("[", "{"):
        try:
            return parse_json(text.encode("utf-8", "surrogatepass"), finite=True)
        except ValueError:
            return text
    return text


def _parquet(data: bytes) -> Iterator[tuple[int, Any]]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingError("parquet files need pyarrow", "pip install 'nlac-bench[frames]'") from error
    try:
        file = parquet.ParquetFile(pa.BufferReader(data))
        meta = file.metadata
        size = sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
        if size > MAX_PARQUET_BYTES or meta.num_rows > MAX_ROWS:
            raise ValueError(
                f"it has {meta.num_rows:,} rows of {size:,} bytes; at most {MAX_ROWS:,} rows and "
                f"{MAX_PARQUET_BYTES:,} bytes are read"
            )
        number = 0
        for batch in file.iter_batches(1024):
            for row in batch.to_pylist():
                number += 1
                yield number, _plain(row)
    except pa.ArrowException as error:
        raise ValueError(f"it is not parquet that can be read ({str(error).splitlines()[0]:.200})") from error


def _plain(value: Any) -> Any:
    """Return a value of Arrow as JSON has it; others become text."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if value is None or isinstance(value, str | int | bool):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)
