"""The database port for SQLite and PostgreSQL: plain SQL with `?` marks, straight to the driver."""

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
"""A transaction that is idle for so long is ended: its owner counts as gone."""
CONNECTION_WAIT_SECONDS = 30.0
"""How long a caller waits for a connection while all are in use."""
CLOSING_SECONDS = 5.0
"""How long closing the database waits for those who still use it."""

_SQLITE_FILE = re.compile(r"sqlite(?:\+\w+)?:///([^?]+)")


class OpenConnectionTransaction(Transaction, Protocol):
    """An open transaction of either kind of database."""

    sleepers: set[Sleeper]


class Connections(Protocol):
    """Connections to one kind of database: this part differs between the two kinds."""

    @property
    def dialect(self) -> Dialect: ...

    def reading(self) -> AbstractAsyncContextManager[OpenConnectionTransaction]: ...

    def writing(self) -> AbstractAsyncContextManager[OpenConnectionTransaction]:
        """Committed at its end, rolled back when it fails or is cancelled."""

    async def on_connection(self, action: Callable[[Any], T]) -> T:
        """Run the action on a connection of SQLAlchemy, and commit at the end."""

    async def close(self) -> None: ...

    def translate_error(self, trouble: BaseException) -> DatabaseError | None:
        """Turn an error of the driver into ours; None when it is no error of the driver."""


class SqlDatabase:
    """Hands out read views and write transactions."""

    def __init__(self, connections: Connections, clock: Clock | None = None) -> None:
        self.clock: Clock = clock or SystemClock()
        self._connections = connections
        self._woken: dict[Sleeper, asyncio.Event] = {}
        self.dialect: Dialect = connections.dialect
        # SQLite has one writer at a time. A queue here is fair and costs no busy polling.
        self._writers = asyncio.Semaphore(1 if self.dialect == "sqlite" else 10_000)
        self._in_use = 0
        self._unused = asyncio.Event()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Transaction]:
        with self._with_our_errors(), self._counted_in_use():
            async with self._connections.reading() as view:
                view.now = self.clock.now()
                yield view

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Transaction]:
        with self._with_our_errors():
            async with self._writers:
                with self._counted_in_use():
                    async with self._connections.writing() as transaction:
                        transaction.now = self.clock.now()
                        yield transaction
        for sleeper in transaction.sleepers:
            self.woken(sleeper).set()

    def woken(self, sleeper: Sleeper) -> asyncio.Event:
        return self._woken.setdefault(sleeper, asyncio.Event())

    async def on_connection(self, action: Callable[[Any], T]) -> T:
        """Run the action on a plain connection, as Alembic needs it."""
        with self._with_our_errors():
            async with self._writers:
                with self._counted_in_use():
                    return await self._connections.on_connection(action)

    async def version(self) -> str:
        """Return the version as the server writes it."""
        function = "sqlite_version()" if self.dialect == "sqlite" else "version()"
        async with self.read() as view:
            row = await view.row(f"SELECT {function} AS v")
            assert row is not None
            return str(row.v)

    async def close(self) -> None:
        """Close it after those who use it now: those who were cancelled still roll back."""
        if self._in_use:
            self._unused.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._unused.wait(), CLOSING_SECONDS)
        await self._connections.close()

    @contextmanager
    def _counted_in_use(self) -> Iterator[None]:
        self._in_use += 1
        try:
            yield
        finally:
            self._in_use -= 1
            if not self._in_use:
                self._unused.set()

    @contextmanager
    def _with_our_errors(self) -> Iterator[None]:
        """Turn driver errors into ours: the database is unreachable, or answered with an error."""
        try:
            yield
        except OSError as trouble:
            raise ConnectionLost(f"The database cannot be reached: {trouble}") from trouble
        except Exception as trouble:
            error = self._connections.translate_error(trouble)
            if error is None:
                raise
            raise error from trouble


def open_database(
    url: str,
    *,
    pool_size: int = 5,
    patience: float = CONNECTION_WAIT_SECONDS,
    idle_transaction_seconds: float = IDLE_TRANSACTION_SECONDS,
) -> SqlDatabase:
    """Open `sqlite:///path` or `postgresql://…`. Nothing is connected yet."""
    scheme, separator, _ = url.partition("://")
    kind = scheme.partition("+")[0]
    if not separator:
        raise BadSettings("DATABASE_URL is not a database URL: it has no ://")
    if kind == "sqlite":
        file = _SQLITE_FILE.fullmatch(url)
        if file is None or file[1] == ":memory:":
            raise BadSettings(
                "DATABASE_URL must name a file, without options: sqlite:////path/to/headwater.db"
            )
        return SqlDatabase(SqliteConnections(unquote(file[1]), pool_size, patience))
    if kind in {"postgresql", "postgres"}:
        postgres = import_module("headwater.adapters.postgres")
        return SqlDatabase(
            postgres.PostgresConnections(url, pool_size, patience, idle_transaction_seconds)
        )
    raise BadSettings(f"DATABASE_URL names {kind!r}; Headwater knows sqlite and postgresql.")
