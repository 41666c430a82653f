"""Reads the rows of a file of JSON lines, CSV or parquet, which may come from anybody, within limits."""

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nlac_bench.envs.datasets import MAX_FILE_BYTES
from nlac_bench.errors import DataError, MissingError
from nlac_bench.untrusted import MAX_VALUES, count_values, parse_json, read_untrusted, refuse_deeper

MAX_ROWS = 1_000_000
MAX_PARQUET_BYTES = 2**30
"""Largest size of a parquet file's columns when they are decoded: each use of a dictionary's text counts."""
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
    values = 0
    try:
        for number, row in read(data):
            if number > MAX_ROWS:
                raise ValueError(f"it has more than {MAX_ROWS:,} rows")
            if not isinstance(row, dict):
                raise ValueError(f"row {number} must be an object, got {row!r:.80}")
            refuse_deeper(row, 50)
            values += count_values(row)
            if values > MAX_VALUES and read is not _parquet:  # whose bytes are counted
                raise ValueError(f"it has more than {MAX_VALUES:,} values")
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
        groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
        _refuse_large(meta.num_rows, sum(map(_stated_bytes, groups)))
        number = size = 0
        for index, group in enumerate(groups):
            # A text is not longer than its group, so that a batch of so few rows has a bounded size.
            rows = max(1, min(64, MAX_PARQUET_BYTES // (1 + group.total_byte_size)))
            for batch in file.iter_batches(rows, row_groups=[index]):
                size += sum(map(_decoded_bytes, batch.columns))
                _refuse_large(meta.num_rows, size)
                for row in batch.to_pylist():
                    number += 1
                    yield number, _plain(row)
    except pa.ArrowException as error:
        raise ValueError(f"it is not parquet that can be read ({str(error).splitlines()[0]:.200})") from error


def _stated_bytes(group: Any) -> int:
    """Return the size of a row group; a dictionary's texts count once, and each number has 8 bytes."""
    return int(
        max(group.total_byte_size, 8 * sum(group.column(i).num_values for i in range(group.num_columns)))
    )


def _refuse_large(rows: int, size: int) -> None:
    if size > MAX_PARQUET_BYTES or rows > MAX_ROWS:
        raise ValueError(
            f"it has {rows:,} rows of {size:,} bytes or more; at most {MAX_ROWS:,} rows and "
            f"{MAX_PARQUET_BYTES:,} bytes are read"
        )


def _decoded_bytes(array: Any) -> int:
    """Return the size of an Arrow array; the schema of a file may demand dictionaries."""
    import pyarrow as pa
    from pyarrow import compute

    if isinstance(array, pa.DictionaryArray):
        return compute.sum(compute.binary_length(array.dictionary).take(array.indices)).as_py() or 0
    if isinstance(array, pa.StructArray):
        return sum(map(_decoded_bytes, array.flatten()))
    if isinstance(array, pa.MapArray):
        array = pa.ListArray.from_arrays(array.offsets, array.values)  # maps cannot be flattened
    return _decoded_bytes(array.flatten()) if pa.types.is_nested(array.type) else int(array.nbytes)


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
