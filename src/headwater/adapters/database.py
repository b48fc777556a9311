"""SQLite and PostgreSQL behind one port: plain SQL with `?` marks, straight to the driver."""

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import lru_cache, partial
from typing import Any, Literal, TypeVar

from sqlalchemy import Connection, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.util import await_only

from headwater.adapters.sqlite import SqliteTransaction, roll_back
from headwater.adapters.sqlite import begun as sqlite_begun
from headwater.errors import BadSettings, ConnectionLost, DatabaseError, Refused
from headwater.ports import Row, Value

T = TypeVar("T")
Dialect = Literal["sqlite", "postgresql"]

BUSY_MILLISECONDS = 30_000
"""How long a SQLite writer waits for another process; inside one process writers queue up."""
JOURNAL_ATTEMPTS, JOURNAL_PAUSE_SECONDS = 200, 0.01
STANDS_STILL_SECONDS = 30.0
"""After so long in the middle of a transaction whoever opened it counts as gone."""
CLOSING_SECONDS = 5.0
"""How long a database that is closed waits for those who still use it."""


class PostgresTransaction:
    """One open transaction on one connection."""

    dialect: Dialect = "postgresql"

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def rows(self, sql: str, *values: Value) -> Sequence[Row]:
        result = await self._connection.exec_driver_sql(_numbered(sql), values or None)
        return result.all()

    async def row(self, sql: str, *values: Value) -> Row | None:
        result = await self._connection.exec_driver_sql(_numbered(sql), values or None)
        return result.first()

    async def run(self, sql: str, *values: Value) -> int:
        result = await self._connection.exec_driver_sql(_numbered(sql), values or None)
        return result.rowcount

    async def run_many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        if rows:
            await self._connection.exec_driver_sql(_numbered(sql), [tuple(row) for row in rows])

    async def commit(self) -> None:
        await self._connection.commit()


SqlTransaction = SqliteTransaction | PostgresTransaction


class SqlDatabase:
    """A pool of connections that hands out read views and write transactions."""

    def __init__(self, engine: AsyncEngine, dialect: Dialect) -> None:
        self._engine = engine
        self.dialect: Dialect = dialect
        # SQLite has one writer at a time. Queueing here is fair and costs no busy polling.
        self._writers = asyncio.Semaphore(1 if dialect == "sqlite" else 10_000)
        self._in_use = 0
        self._unused = asyncio.Event()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[SqlTransaction]:
        with _ToldPlainly():
            async with self._connection() as connection:
                yield await self._begun(connection, "BEGIN")

    @asynccontextmanager
    async def write(self) -> AsyncIterator[SqlTransaction]:
        with _ToldPlainly():
            async with self._writers, self._connection() as connection:
                # Taking the write lock first means a transaction never fails half-way
                # because somebody else wrote since it began to read.
                transaction = await self._begun(connection, "BEGIN IMMEDIATE")
                yield transaction
                await transaction.commit()

    async def on_connection(self, action: Callable[[Connection], T]) -> T:
        """For Alembic, which wants a plain connection."""
        with _ToldPlainly():
            async with self._writers, self._connection() as connection:
                if self.dialect == "sqlite":
                    await connection.exec_driver_sql("BEGIN IMMEDIATE")
                answer = await connection.run_sync(action)
                await connection.commit()
                return answer

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
        await self._engine.dispose()

    async def _begun(self, connection: AsyncConnection, how: str) -> SqlTransaction:
        if self.dialect == "sqlite":
            return await sqlite_begun(connection, how)
        return PostgresTransaction(connection)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AsyncConnection]:
        self._in_use += 1
        try:
            async with self._engine.connect() as connection:
                yield connection
        finally:
            self._in_use -= 1
            if not self._in_use:
                self._unused.set()


def open_database(
    url: str, *, pool_size: int = 5, stands_still: float = STANDS_STILL_SECONDS
) -> SqlDatabase:
    """`sqlite:///path` or `postgresql://…`; nothing is connected yet."""
    try:
        parsed = make_url(url)
    except ArgumentError as trouble:
        raise BadSettings(f"DATABASE_URL is not a database URL: {trouble}") from trouble
    kind = parsed.get_backend_name()
    if kind == "sqlite":
        engine = create_async_engine(
            parsed.set(drivername="sqlite+aiosqlite"),
            pool_size=pool_size,
            max_overflow=0,
            # The same one again and again: whoever else writes makes a connection's pages stale.
            pool_use_lifo=True,
            pool_reset_on_return=None,  # `roll_back` does it, where there is something to take back
            # We say BEGIN ourselves: the driver's own habit of doing so is too late for us.
            connect_args={"timeout": BUSY_MILLISECONDS / 1000, "isolation_level": None},
        )
        event.listen(engine.sync_engine, "connect", _sqlite_manners)
        event.listen(engine.sync_engine, "reset", roll_back)
        return SqlDatabase(engine, "sqlite")
    if kind in {"postgresql", "postgres"}:
        engine = create_async_engine(
            parsed.set(drivername="postgresql+asyncpg"),
            pool_size=pool_size,
            max_overflow=0,
            pool_pre_ping=True,
            isolation_level="READ COMMITTED",
        )
        event.listen(engine.sync_engine, "connect", partial(_postgres_manners, stands_still))
        return SqlDatabase(engine, "postgresql")
    raise BadSettings(f"DATABASE_URL names {kind!r}; Headwater knows sqlite and postgresql.")


def _sqlite_manners(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    _to_write_ahead(cursor)
    for pragma in (
        "synchronous = FULL",  # a 2xx survives a power cut, and groups make it cheap
        "foreign_keys = ON",
        f"busy_timeout = {BUSY_MILLISECONDS}",
        "cache_size = -32768",
        "temp_store = MEMORY",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _postgres_manners(stands_still: float, connection: Any, _record: object) -> None:
    """A machine that freezes or vanishes in the middle of a commit holds its locks, that of the
    event log too, and everybody else would wait for it: the server ends its transaction."""
    cursor = connection.cursor()
    cursor.execute(f"SET idle_in_transaction_session_timeout = {round(stands_still * 1000)}")
    cursor.close()
    connection.commit()


def _to_write_ahead(cursor: Any) -> None:
    """A new file takes up its journal once. Of several who try, SQLite turns some away at once,
    without the wait it grants everywhere else; by then another has done it, or soon will."""
    for attempt in range(JOURNAL_ATTEMPTS):
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as trouble:
            if "locked" not in str(trouble) or attempt == JOURNAL_ATTEMPTS - 1:
                raise
            await_only(asyncio.sleep(JOURNAL_PAUSE_SECONDS))
        else:
            return


@lru_cache(maxsize=2_000)
def _numbered(sql: str) -> str:
    """`?` → `$1`, `$2`, …: our SQL keeps question marks for values alone."""
    count = 0

    def number(_: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"${count}"

    return re.sub(r"\?", number, sql)


class _ToldPlainly:
    """Driver errors become ours: unreachable, or answered with an error."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, trouble: BaseException | None, where: object) -> None:
        if isinstance(trouble, OSError):
            raise ConnectionLost(f"The database cannot be reached: {trouble}") from trouble
        if isinstance(trouble, DBAPIError | sqlite3.Error):
            raise _in_our_words(trouble) from trouble
        if isinstance(trouble, SQLAlchemyError):  # the pool's own: every connection is busy
            raise ConnectionLost(f"The database cannot be reached: {trouble}") from trouble


def _in_our_words(trouble: DBAPIError | sqlite3.Error) -> DatabaseError:
    """Only what is wrong with the rows themselves is a refusal; all else may pass by itself."""
    said = str(trouble if isinstance(trouble, sqlite3.Error) else trouble.orig)
    if _is_about_the_rows(trouble):
        return Refused(f"The database refused: {said}")
    if isinstance(trouble, InterfaceError | sqlite3.InterfaceError) or _is_cut_off(trouble):
        return ConnectionLost(f"The database cannot be reached: {said}")
    if "unable to open" in said and isinstance(
        trouble, OperationalError | sqlite3.OperationalError
    ):
        return ConnectionLost(f"The database cannot be opened: {said}")
    return DatabaseError(f"The database failed: {said}")


def _is_cut_off(trouble: DBAPIError | sqlite3.Error) -> bool:
    return isinstance(trouble, DBAPIError) and trouble.connection_invalidated


def _is_about_the_rows(trouble: DBAPIError | sqlite3.Error) -> bool:
    """A broken constraint or a value that does not fit (SQLSTATE classes 23 and 22)."""
    if isinstance(trouble, sqlite3.Error):
        return isinstance(trouble, sqlite3.IntegrityError | sqlite3.DataError)
    if isinstance(trouble, IntegrityError | DataError):
        return True
    state = str(getattr(trouble.orig, "sqlstate", None) or "")
    # asyncpg finds some misfits by itself, before the server does, and calls them its interface's.
    cause = type(getattr(trouble.orig, "__cause__", None)).__name__
    return state.startswith(("22", "23")) or cause == "DataError"
