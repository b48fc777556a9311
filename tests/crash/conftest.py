"""How many kills, and where the figures go: `make test-crash KILLS=20`, two without a wish."""

import os
import secrets
from collections.abc import Iterator

import pytest

from tests.crash.sinks import Brokers
from tests.support.brokers import OwnServer

KILLS = "HEADWATER_TEST_KILLS"
SEED = "HEADWATER_TEST_SEED"
_FEW = 2

_figures = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def kills() -> int:
    return int(os.environ.get(KILLS, _FEW))


@pytest.fixture(scope="session")
def seed() -> int:
    """Shown with the figures; give it back to get the same luck again."""
    return int(os.environ.get(SEED) or secrets.randbelow(10**6))


@pytest.fixture
def long_run() -> None:
    if KILLS not in os.environ:
        pytest.skip("part of `make test-crash` only")


@pytest.fixture
def brokers(mortal_redis: OwnServer, mortal_nats: OwnServer) -> Brokers:
    return Brokers(mortal_redis, mortal_nats)


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """Lines for the end of the run."""
    lines: list[str] = []
    yield lines
    said = request.config.stash.setdefault(_figures, [])
    said += [f"{request.node.name}: {line}" for line in lines]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    lines = config.stash.get(_figures, [])
    if lines:
        terminalreporter.section("what the kills hit")
    for line in lines:
        terminalreporter.write_line(line)
