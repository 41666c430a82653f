"""A server for the tests of both directions of the bridge to OpenEnv."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def fragile() -> Iterator[str]:
    """The URL of a server whose environment can fail."""
    from tests.bridges.fragile import registered
    from tests.bridges.openenv_servers import served

    with registered() as name, served(name) as url:
        yield url
