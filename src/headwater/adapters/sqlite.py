"""SQLite, straight through Python's own driver: transactions, and the connections they run on."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import lru_cache, partial
from importlib import import_module
from operator import itemgetter
from typing import Any, Literal, TypeVar

from headwater.adapters.sqlite_thread import SqliteConnection, opened
from headwater.errors import ConnectionLost, DatabaseError, Refused
from headwater.ports import Row, Value

T = TypeVar("T")
PutOff = list[tuple[str, Sequence[Sequence[Value]]]]

_CLOSED = "closed database"
"""What the driver says when somebody has closed it under our hands."""


class SqliteTransaction:
    """One open transaction on one connection: one way to its thread for each statement."""

    dialect: Literal["sqlite", "postgresql"] = "sqlite"

    def __init__(self, connection: SqliteConnection, begin: str | None = None) -> None:
        """`begin` goes along with the first statement, which is when SQLite begins to look."""
        self._connection = connection
        self._begin = begin
        self._put_off: PutOff = []

    async def rows(self, sql: str, *values: Value) -> Sequence[Row]:
        found, _ = await self._said(sql, values)
        return found

    async def row(self, sql: str, *values: Value) -> Row | None:
        found, _ = await self._said(sql, values)
        return found[0] if found else None

    async def run(self, sql: str, *values: Value) -> int:
        _, touched = await self._said(sql, values)
        return touched

    async def run_many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Nobody waits for an answer: it goes to the thread with whatever comes next, the commit
        at the latest. If the database refuses it, that is when it is told."""
        if rows:
            self._put_off.append((sql, rows))

    async def _said(self, sql: str, values: Sequence[Value]) -> tuple[list[Row], int]:
        before, self._put_off = self._put_off, []
        return await self._connection.do(_execute, self._begin, before, sql, values)


class SqliteConnections:
    """Few connections to one file, the same one again and again: whoever else writes makes a
    connection's pages stale."""

    dialect: Literal["sqlite", "postgresql"] = "sqlite"

    def __init__(self, path: str, most: int, patience: float) -> None:
        self._path = path
        self._patience = patience
        self._places = asyncio.Semaphore(most)
        self._idle: list[SqliteConnection] = []
        self._in_use: set[SqliteConnection] = set()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[SqliteTransaction]:
        connection = await self._taken()
        try:
            yield SqliteTransaction(connection, "BEGIN")
        finally:
            connection.roll_back().add_done_callback(_heard)
            self._put_back(connection)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[SqliteTransaction]:
        connection = await self._taken()
        try:
            transaction = SqliteTransaction(connection)
            # Taking the write lock first means a transaction never fails half-way
            # because somebody else wrote since it began to read.
            await transaction.run("BEGIN IMMEDIATE")
            yield transaction
            # Not the driver's own `commit`, which is content when there is no transaction any more.
            await transaction.run("COMMIT")
        except BaseException:
            # Behind what a caller that was cancelled left in the thread, perhaps not begun yet. It
            # is waited for, because until then nobody else can write.
            rolled_back = connection.roll_back()
            rolled_back.add_done_callback(_heard)
            with suppress(sqlite3.Error):  # then it is lost, and known as such
                await asyncio.shield(rolled_back)
            raise
        finally:
            self._put_back(connection)

    async def on_connection(self, action: Callable[[Any], T]) -> T:
        """On a connection as Alembic wants it, beside the loop."""
        room = await asyncio.to_thread(import_module, "headwater.adapters.migrating")
        under_way: asyncio.Task[T] = asyncio.create_task(
            asyncio.to_thread(room.on_file, partial(opened, self._path), action)
        )
        try:
            return await asyncio.shield(under_way)
        except asyncio.CancelledError:
            await asyncio.wait({under_way})  # nobody else may write meanwhile
            raise

    async def close(self) -> None:
        """What is still in use ends when it comes back."""
        idle, self._idle = self._idle, []
        for each in self._in_use:
            each.is_lost = True
        for each in idle:
            each.end()
        for each in idle:
            await each.ended()

    def told(self, trouble: BaseException) -> DatabaseError | None:
        """Only what is wrong with the rows themselves is a refusal; all else may pass by itself."""
        if not isinstance(trouble, sqlite3.Error):
            return None
        if isinstance(trouble, sqlite3.IntegrityError | sqlite3.DataError):
            return Refused(f"The database refused: {trouble}")
        if isinstance(trouble, sqlite3.InterfaceError) or _CLOSED in str(trouble):
            return ConnectionLost(f"The database cannot be reached: {trouble}")
        if isinstance(trouble, sqlite3.OperationalError) and "unable to open" in str(trouble):
            return ConnectionLost(f"The database cannot be opened: {trouble}")
        return DatabaseError(f"The database failed: {trouble}")

    async def _taken(self) -> SqliteConnection:
        try:
            if self._places.locked():
                async with asyncio.timeout(self._patience):
                    await self._places.acquire()
            else:
                await self._places.acquire()
        except TimeoutError as late:
            raise ConnectionLost(
                f"The database cannot be reached: every connection was busy for {self._patience:g}"
                " seconds."
            ) from late
        try:
            connection = self._found_or_made()
        except BaseException:
            self._places.release()
            raise
        self._in_use.add(connection)
        return connection

    def _found_or_made(self) -> SqliteConnection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_lost:
                return connection
            connection.end()
        try:
            return SqliteConnection(self._path)
        except RuntimeError as trouble:  # no more threads are to be had
            raise ConnectionLost(f"The database cannot be reached: {trouble}") from trouble

    def _put_back(self, connection: SqliteConnection) -> None:
        """What was lost makes room for a fresh one."""
        self._in_use.discard(connection)
        if connection.is_lost:
            connection.end()
        else:
            self._idle.append(connection)
        self._places.release()


def _heard(answer: asyncio.Future[None]) -> None:
    """A failed way back was noticed by the connection itself; nobody need hear of it twice."""
    if not answer.cancelled():
        answer.exception()


def _execute(
    connection: sqlite3.Connection,
    begin: str | None,
    before: PutOff,
    sql: str,
    values: Sequence[Value],
) -> tuple[list[Row], int]:
    """In the connection's thread: the rows, and how many were touched."""
    if begin is not None and not connection.in_transaction:
        connection.execute(begin)
    for each, rows in before:
        connection.executemany(each, rows)
    cursor = connection.execute(sql, values)
    found = cursor.fetchall()
    if not found:
        return found, cursor.rowcount
    return list(map(_named(tuple(c[0] for c in cursor.description)), found)), cursor.rowcount


@lru_cache(maxsize=2_000)
def _named(columns: tuple[str, ...]) -> type[tuple[Any, ...]]:
    """Tuples that know their columns' names. To make a namedtuple takes ten times as long."""
    fields = {name: property(itemgetter(place)) for place, name in enumerate(columns)}
    return type("Row", (tuple,), {"__slots__": (), **fields})
