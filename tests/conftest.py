"""What any test may ask for: a migrated database of either kind, and time under its own control."""

import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Literal, TypeVar

import pytest
import structlog
from structlog.dev import ConsoleRenderer, plain_traceback

from headwater.adapters.database import SqlDatabase, open_database
from headwater.adapters.schema import upgrade_schema
from tests.support.brokers import (
    OwnServer,
    Server,
    own_nats,
    own_redis,
    running_nats,
    running_redis,
)
from tests.support.clock import VirtualClock
from tests.support.servers import Postgres, ServerMissing, Shelf, outside_the_loop, running_postgres

Dialect = Literal["sqlite", "postgresql"]
T = TypeVar("T")

# Where a test sets up no log, exceptions are written as Python writes them, as our own log does:
# the frames that structlog draws around them take it seconds each.
for _step in structlog.get_config()["processors"]:
    if isinstance(_step, ConsoleRenderer):
        _step.exception_formatter = plain_traceback


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A real PostgreSQL server for the whole run."""
    with ExitStack() as end:
        yield had(end, running_postgres())


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Server]:
    """A real Redis or Valkey for the whole run; tests use streams of their own."""
    with ExitStack() as end:
        yield had(end, running_redis())


@pytest.fixture(scope="session")
def nats_server() -> Iterator[Server]:
    """A real NATS with JetStream for the whole run; tests use streams of their own."""
    with ExitStack() as end:
        yield had(end, running_nats())


@pytest.fixture
def mortal_redis() -> Iterator[OwnServer]:
    """A Redis for one test, which may kill it and start it again."""
    with ExitStack() as end:
        yield had(end, own_redis())


@pytest.fixture
def mortal_nats() -> Iterator[OwnServer]:
    with ExitStack() as end:
        yield had(end, own_nats())


def had(end: ExitStack, server: AbstractContextManager[T]) -> T:
    """Where such a server cannot be had, the test is skipped; not where nothing may be missing."""
    try:
        return end.enter_context(server)
    except ServerMissing as reason:
        if os.environ.get("CI") == "true":
            pytest.fail(str(reason))
        pytest.skip(str(reason))


@pytest.fixture(params=["sqlite", "postgresql"])
def dialect(request: pytest.FixtureRequest) -> Dialect:
    """Both kinds; a test of one kind says `parametrize("dialect", ["sqlite"], indirect=True)`."""
    kind: Dialect = request.param
    return kind


@pytest.fixture
async def empty_database_url(
    dialect: Dialect, request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[str]:
    """A database with nothing in it, not even a schema."""
    if dialect == "sqlite":
        yield f"sqlite:///{tmp_path / 'headwater.sqlite'}"
        return
    server: Postgres = request.getfixturevalue("postgres")
    name = await server.create()
    yield server.url_of(name)
    await server.drop(name)


@pytest.fixture
async def database_url(
    dialect: Dialect, request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[str]:
    """A fresh database at the newest schema: a copy of one that was migrated once."""
    if dialect == "sqlite":
        path = tmp_path / "headwater.sqlite"
        shutil.copyfile(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite:///{path}"
        return
    server: Postgres = request.getfixturevalue("postgres")
    shelf: Shelf = request.getfixturevalue("postgres_shelf")
    name = await shelf.take()
    yield server.url_of(name)
    shelf.put_away(name)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[SqlDatabase]:
    """That database, open."""
    opened = open_database(database_url)
    yield opened
    await opened.close()


@pytest.fixture
async def open_another(database_url: str) -> AsyncIterator[Callable[[], SqlDatabase]]:
    """Further pools on the same database, as other processes would have them."""
    opened: list[SqlDatabase] = []

    def another() -> SqlDatabase:
        opened.append(open_database(database_url))
        return opened[-1]

    yield another
    for pool in opened:
        await pool.close()


@pytest.fixture
async def virtual_clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "headwater.sqlite"
    outside_the_loop(_migrated(f"sqlite:///{path}"))
    return path


@pytest.fixture(scope="session")
def postgres_template(postgres: Postgres) -> Iterator[str]:
    name = outside_the_loop(postgres.create())
    outside_the_loop(_migrated(postgres.url_of(name)))
    yield name
    outside_the_loop(postgres.drop(name))


@pytest.fixture(scope="session")
def postgres_shelf(postgres: Postgres, postgres_template: str) -> Iterator[Shelf]:
    shelf = Shelf(postgres, postgres_template)
    yield shelf
    shelf.close()


async def _migrated(url: str) -> None:
    database = open_database(url)
    await upgrade_schema(database)
    await database.close()
