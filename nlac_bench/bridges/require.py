"""Imports the other package of a bridge, or says which extra installs it."""

import importlib
from types import ModuleType

from nlac_bench.errors import MissingError


def require(module: str, extra: str) -> ModuleType:
    """Import ``module``, which the extra ``extra`` of this package installs.

    Raises:
        MissingError: the module's package is not installed.
    """
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise  # the package is installed, and misses something of its own
        raise MissingError(
            f"the package {package} is not installed", f"pip install 'nlac-bench[{extra}]'"
        ) from error
