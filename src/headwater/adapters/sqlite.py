"""Transactions on SQLite, straight to the driver: one way to its thread for each statement.

Through SQLAlchemy a statement goes there three or four times (for a cursor, to execute, for the
rows, to close), and each way back waits until a busy loop has time for it.
"""

import sqlite3
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, Literal, TypeVar

from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection, PoolResetState

from headwater.ports import Row, Value

T = TypeVar("T")
V = TypeVar("V")

_COMMITTED = "committed"
_CLOSED = ("no active connection", "connection closed")
"""What the driver says when somebody has closed it under our hands."""


class SqliteTransaction:
    """One open transaction on one connection."""

    dialect: Literal["sqlite", "postgresql"] = "sqlite"

    def __init__(self, pooled: PoolProxiedConnection) -> None:
        self._pooled = pooled
        self._driver: Any = pooled.driver_connection
        self._put_off: list[tuple[str, Sequence[Sequence[Value]]]] = []

    async def rows(self, sql: str, *values: Value) -> Sequence[Row]:
        found, _ = await self._in_its_thread(_execute, sql, values)
        return found

    async def row(self, sql: str, *values: Value) -> Row | None:
        found, _ = await self._in_its_thread(_execute, sql, values)
        return found[0] if found else None

    async def run(self, sql: str, *values: Value) -> int:
        _, touched = await self._in_its_thread(_execute, sql, values)
        return touched

    async def run_many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Nobody waits for an answer: it goes to the thread with whatever comes next, the commit
        at the latest. If the database refuses it, that is when it is told."""
        if rows:
            self._put_off.append((sql, rows))

    async def commit(self) -> None:
        # Not the driver's own `commit`, which is content when there is no transaction any more.
        await self.run("COMMIT")
        self._pooled.info[_COMMITTED] = True

    async def _in_its_thread(
        self, work: Callable[[sqlite3.Connection, str, V], T], sql: str, values: V
    ) -> T:
        # The driver's public methods would fetch the rows on a second way.
        before, self._put_off = self._put_off, []
        try:
            answer: T = await self._driver._execute(
                _execute_after, self._driver._conn, before, work, sql, values
            )
        except ValueError as trouble:
            if str(trouble).lower() not in _CLOSED:
                raise
            self._pooled.invalidate(trouble, soft=True)  # whoever comes next gets another one
            raise sqlite3.InterfaceError(str(trouble)) from trouble
        return answer


async def begun(connection: AsyncConnection, how: str) -> SqliteTransaction:
    """`how` is `BEGIN` or one of its kinds."""
    transaction = SqliteTransaction(await connection.get_raw_connection())
    await transaction.run(how)
    return transaction


def roll_back(
    connection: DBAPIConnection, entry: ConnectionPoolEntry, state: PoolResetState
) -> None:
    """For the pool, when a connection comes back: what was committed has nothing to take back.

    Whoever was cancelled left a statement in the driver's thread, perhaps not begun yet, so
    the driver's own word on whether there is a transaction would come too early.
    """
    if not entry.info.pop(_COMMITTED, False) and state.asyncio_safe:
        connection.rollback()


def _execute(
    connection: sqlite3.Connection, sql: str, values: Sequence[Value]
) -> tuple[list[Row], int]:
    """In the driver's thread: the rows, and how many were touched."""
    cursor = connection.execute(sql, values)
    found = cursor.fetchall()
    if not found:
        return found, cursor.rowcount
    return list(map(_named(tuple(c[0] for c in cursor.description)), found)), cursor.rowcount


def _execute_after(
    connection: sqlite3.Connection,
    before: Sequence[tuple[str, Sequence[Sequence[Value]]]],
    work: Callable[[sqlite3.Connection, str, V], T],
    sql: str,
    values: V,
) -> T:
    for each, rows in before:
        connection.executemany(each, rows)
    return work(connection, sql, values)


@lru_cache(maxsize=2_000)
def _named(columns: tuple[str, ...]) -> type[tuple[Any, ...]]:
    """Tuples that know their columns' names. To make a namedtuple takes ten times as long."""
    fields = {name: property(itemgetter(place)) for place, name in enumerate(columns)}
    return type("Row", (tuple,), {"__slots__": (), **fields})
