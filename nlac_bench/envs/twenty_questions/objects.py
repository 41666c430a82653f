"""Reads the official objects: the THINGS words and their senses in Open English WordNet."""

import csv
import io
import json
import os
from functools import lru_cache

from nlac_bench.envs.datasets import Dataset, DataSource, open_dataset
from nlac_bench.errors import DataError
from nlac_bench.simulators.oracle20 import World, things_world

FILES = ("things_objects.tsv", "oewn_things.jsonl.gz")


def open_objects(data: str | os.PathLike[str]) -> Dataset:
    """Open the data set's two files.

    Raises:
        DataError: a file is missing or altered.
    """
    return open_dataset("twenty_questions", data, FILES)


@lru_cache(maxsize=4)
def official_world(data: str) -> tuple[World, DataSource]:
    """Return the world of the official objects in ``data`` (``"official"`` or a folder), one per *concept*.

    Homographs (bat the animal, bat the stick) are two concepts with one name.

    Raises:
        DataError: the files are missing, altered or not in their format.
    """
    dataset = open_objects(data)
    things = dataset.parse(FILES[0], read_things)
    rows = dataset.jsonl(FILES[1])
    if not things:
        raise DataError(f"{dataset.folder / FILES[0]} lists no objects")
    try:
        json.dumps([things, rows], ensure_ascii=False).encode()  # raises for lone surrogates
        senses = {row["unique_id"]: row for row in rows}
        return things_world(things, senses, data, dataset.source.sha256, _reopen), dataset.source
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"{dataset.folder}: not in the format of this data set ({type(error).__name__}: {error})"
        ) from error


def _reopen(data: str) -> World:
    """Read the world from its files again; unpickling a ``World`` calls this function."""
    return official_world(data)[0]


def read_things(raw: bytes) -> list[dict[str, str]]:
    """Return the rows of ``things_objects.tsv``; raise ValueError if its columns or a row are incomplete."""
    rows = list(csv.DictReader(io.StringIO(raw.decode("utf-8")), delimiter="\t", quoting=csv.QUOTE_NONE))
    if rows and not {"unique_id", "word", "categories"} <= set(rows[0]):
        raise ValueError(f"the columns are {list(rows[0])}, expected unique_id, word, categories")
    for row in rows:
        if not row["word"] or row["categories"] is None:
            raise ValueError(f"row {row} is incomplete")
    return rows
