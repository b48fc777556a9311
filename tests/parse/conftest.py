"""Every test of the parser holds for both ways: compiled, and in plain Python."""

from collections.abc import Iterator

import pytest

from headwater.parse import accelerator
from tests.fuzz.ways import compiled, taking


@pytest.fixture(scope="module", autouse=True, params=["compiled", "plain"])
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    with taking(compiled() if request.param == "compiled" else accelerator.PLAIN):
        yield
