"""Real download clients: `make test-media` asks for them, elsewhere these tests are skipped."""

import os
from collections.abc import Iterator

import pytest

from tests.media.daemons import KINDS, Client, missing, own_client

ASKED = "HEADWATER_TEST_MEDIA"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/media" in item.nodeid:
            item.add_marker(pytest.mark.media)


@pytest.fixture(autouse=True)
def _asked_for() -> None:
    if ASKED not in os.environ:
        pytest.skip("part of `make test-media` only")


@pytest.fixture(params=KINDS)
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    if (why := missing(request.param)) is not None:
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    with own_client(request.param) as running:
        yield running
