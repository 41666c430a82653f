"""Entry points of installed packages. Reading those of a hundred packages takes tens of milliseconds."""

import functools
import sys
from importlib import metadata
from pathlib import Path


def entry_points(group: str) -> metadata.EntryPoints:
    """Return the entry points of ``group`` by name, as of the last change of a folder of ``sys.path``."""
    return _read(group, tuple((folder, _changed(folder)) for folder in sys.path))


@functools.lru_cache(maxsize=16)
def _read(group: str, folders: tuple[tuple[str, int], ...]) -> metadata.EntryPoints:
    points = metadata.entry_points(group=group)
    return metadata.EntryPoints(sorted(points, key=lambda point: point.name))


def _changed(folder: str) -> int:
    try:
        return Path(folder).stat().st_mtime_ns
    except OSError:
        return 0
