"""A bridge whose package is missing names the extra that installs it."""

import pytest

from nlac_bench.bridges import require
from nlac_bench.errors import MissingError


def test_a_missing_package_names_its_extra() -> None:
    with pytest.raises(
        MissingError, match=r"no_such_package is not installed: pip install 'nlac-bench\[openenv\]'"
    ):
        require("no_such_package.client", "openenv")


def test_an_installed_package_is_returned() -> None:
    assert require("json.decoder", "openenv").__name__ == "json.decoder"


def test_an_installed_package_without_a_part_of_its_own_raises_that_error() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_part"):
        require("json.no_such_part", "openenv")
