"""Refuses symbolic links in a folder that is about to be written to."""

import os
from pathlib import Path

from nlac_bench.harness.runs.lines import RunFolderError


def refuse_links(folder: Path) -> None:
    """Check that ``folder`` contains no symbolic link; ``folder`` may be one.

    Writing through a link that somebody else placed there would change or truncate a file elsewhere.

    Raises:
        RunFolderError: the folder contains a link; the message names the link and its target.
    """
    for where, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(where, name)
            if path.is_symlink():
                raise RunFolderError(
                    f"{path} is a link to {path.readlink()}; nlac-bench does not write through symbolic "
                    "links; replace the link with a copy, or remove it"
                )
