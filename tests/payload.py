"""An object whose unpickling has an effect that a test can see."""

import os
from pathlib import Path
from typing import Any


class Payload:
    """Unpickling it creates the folder ``marker``."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.marker),)
