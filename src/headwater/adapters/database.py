"""SQLite and PostgreSQL behind one port: plain SQL with `?` marks, straight to the driver."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from importlib import import_module
from typing import Any, Literal, Protocol, TypeVar
from urllib.parse import unquote

from headwater.adapters.clock import SystemClock
from headwater.adapters.sqlite import SqliteConnections
from headwater.core.errors import BadSettings, ConnectionLost, DatabaseError
from headwater.core.ports import Clock, Sleeper, Transaction

T = TypeVar("T")
Dialect = Literal["sqlite", "postgresql"]

IDLE_TRANSACTION_SECONDS = 30.0
"""After so long in the middle of a transaction whoever opened it counts as gone."""
CONNECTION_WAIT_SECONDS = 30.0
"""How long somebody waits for a connection while all are in use."""
CLOSING_SECONDS = 5.0
"""How long a database that is closed waits for those who still use it."""

_SQLITE_FILE = re.compile(r"sqlite(?:\+\w+)?:///([^?]+)")


class OpenConnectionTransaction(Transaction, Protocol):
    """A transaction as a kind of database hands it out."""

    sleepers: set[Sleeper]


class Connections(Protocol):
    """What differs from one kind of database to the other."""

    @property
    def dialect(self) -> Dialect: ...

    def reading(self) -> AbstractAsyncContextManager[OpenConnectionTransaction]: ...

    def writing(self) -> AbstractAsyncContextManager[OpenConnectionTransaction]:
        """Committed at its end, taken back when it fails or is cancelled."""

    async def on_connection(self, action: Callable[[Any], T]) -> T:
        """On a connection of SQLAlchemy's, committed at the end."""

    async def close(self) -> None: ...

    def told(self, trouble: BaseException) -> DatabaseError | None:
        """An error of the driver's in our words; None where it is none of the driver's."""


class SqlDatabase:
    """Hands out read views and write transactions."""

    def __init__(self, connections: Connections, clock: Clock | None = None) -> None:
        self.clock: Clock = clock or SystemClock()
        self._connections = connections
        self._woken: dict[Sleeper, asyncio.Event] = {}
        self.dialect: Dialect = connections.dialect
        # SQLite has one writer at a time. Queueing here is fair and costs no busy polling.
        self._writers = asyncio.Semaphore(1 if self.dialect == "sqlite" else 10_000)
        self._in_use = 0
        self._unused = asyncio.Event()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Transaction]:
        with self._told_plainly(), self._noticed():
            async with self._connections.reading() as view:
                view.now = self.clock.now()
                yield view

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Transaction]:
        with self._told_plainly():
            async with self._writers:
                with self._noticed():
                    async with self._connections.writing() as transaction:
                        transaction.now = self.clock.now()
                        yield transaction
        for who in transaction.sleepers:
            self.woken(who).set()

    def woken(self, who: Sleeper) -> asyncio.Event:
        return self._woken.setdefault(who, asyncio.Event())

    async def on_connection(self, action: Callable[[Any], T]) -> T:
        """For Alembic, which wants a plain connection."""
        with self._told_plainly():
            async with self._writers:
                with self._noticed():
                    return await self._connections.on_connection(action)

    async def version(self) -> str:
        """The server's own words on what it is."""
        ask = (
            "SELECT sqlite_version() AS v" if self.dialect == "sqlite" else "SELECT version() AS v"
        )
        async with self.read() as view:
            row = await view.row(ask)
            assert row is not None
            return str(row.v)

    async def close(self) -> None:
        """After whoever uses it now, even if they were cancelled: they still say goodbye to it."""
        if self._in_use:
            self._unused.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._unused.wait(), CLOSING_SECONDS)
        await self._connections.close()

    @contextmanager
    def _noticed(self) -> Iterator[None]:
        self._in_use += 1
        try:
            yield
        finally:
            self._in_use -= 1
            if not self._in_use:
                self._unused.set()

    @contextmanager
    def _told_plainly(self) -> Iterator[None]:
        """Driver errors become ours: unreachable, or answered with an error."""
        try:
            yield
        except OSError as trouble:
            raise ConnectionLost(f"The database cannot be reached: {trouble}") from trouble
        except Exception as trouble:
            told = self._connections.told(trouble)
            if told is None:
                raise
            raise told from trouble


def open_database(
    url: str,
    *,
    pool_size: int = 5,
    patience: float = CONNECTION_WAIT_SECONDS,
    stands_still: float = IDLE_TRANSACTION_SECONDS,
) -> SqlDatabase:
    """`sqlite:///path` or `postgresql://…`; nothing is connected yet."""
    scheme, found, _ = url.partition("://")
    kind = scheme.partition("+")[0]
    if not found:
        raise BadSettings("DATABASE_URL is not a database URL: it has no ://")
    if kind == "sqlite":
        file = _SQLITE_FILE.fullmatch(url)
        if file is None or file[1] == ":memory:":
            raise BadSettings(
                "DATABASE_URL must name a file, without options: sqlite:////path/to/headwater.db"
            )
        return SqlDatabase(SqliteConnections(unquote(file[1]), pool_size, patience))
    if kind in {"postgresql", "postgres"}:
        room = import_module("headwater.adapters.postgres")
        return SqlDatabase(room.PostgresConnections(url, pool_size, patience, stands_still))
    raise BadSettings(f"DATABASE_URL names {kind!r}; Headwater knows sqlite and postgresql.")
