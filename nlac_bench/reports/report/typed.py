"""Names folders as a user types them in the folder that contains them all."""

import os
from collections.abc import Sequence
from pathlib import Path


def as_typed(folders: Sequence[Path]) -> dict[Path, str]:
    """Return a relative path for each of ``folders``, without the places of this machine.

    It starts at the deepest folder that contains all of them, and is the name of the folder if there is only
    one. A path that begins with a hyphen gets a leading ``./``.
    """
    # Not resolved: a user types the name of a link, not that of the folder that it leads to.
    absolute = {folder: Path(os.path.normpath(folder.absolute())) for folder in folders}
    parent = os.path.commonpath([path.parent for path in absolute.values()])
    relative = {folder: path.relative_to(parent).as_posix() for folder, path in absolute.items()}
    return {folder: f"./{path}" if path.startswith("-") else path for folder, path in relative.items()}
