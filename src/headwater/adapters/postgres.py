"""PostgreSQL through SQLAlchemy's pool. Only installations with one load it, as it takes 30 MB."""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
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
    SQLAlchemyError,
)
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from headwater.adapters.transaction import OpenTransaction
from headwater.core.errors import BadSettings, ConnectionLost, DatabaseError, DatabaseRefused
from headwater.core.ports import Row, SqlValue

T = TypeVar("T")


class PostgresTransaction(OpenTransaction):
    """One open transaction on one connection."""

    dialect: Literal["sqlite", "postgresql"] = "postgresql"

    def __init__(self, connection: AsyncConnection) -> None:
        super().__init__()
        self._connection = connection

    async def rows(self, sql: str, *values: SqlValue) -> Sequence[Row]:
        result = await self._connection.exec_driver_sql(_with_numbered_marks(sql), values or None)
        return result.all()

    async def row(self, sql: str, *values: SqlValue) -> Row | None:
        result = await self._connection.exec_driver_sql(_with_numbered_marks(sql), values or None)
        return result.first()

    async def run(self, sql: str, *values: SqlValue) -> int:
        result = await self._connection.exec_driver_sql(_with_numbered_marks(sql), values or None)
        return result.rowcount

    async def run_many(self, sql: str, rows: Sequence[Sequence[SqlValue]]) -> None:
        if rows:
            await self._connection.exec_driver_sql(
                _with_numbered_marks(sql), [tuple(row) for row in rows]
            )


class PostgresConnections:
    """Connections to a `postgresql://` address. Nothing is connected at first."""

    dialect: Literal["sqlite", "postgresql"] = "postgresql"

    def __init__(
        self, url: str, most: int, patience: float, idle_transaction_seconds: float
    ) -> None:
        try:
            parsed = make_url(url)
        except ArgumentError as trouble:
            raise BadSettings(f"DATABASE_URL is not a database URL: {trouble}") from trouble
        except ValueError as trouble:
            raise BadSettings(
                "DATABASE_URL is no database URL: its port is no number."
            ) from trouble
        self._engine = create_async_engine(
            parsed.set(drivername="postgresql+asyncpg"),
            pool_size=most,
            max_overflow=0,
            pool_timeout=patience,
            pool_pre_ping=True,
            isolation_level="READ COMMITTED",
        )
        event.listen(
            self._engine.sync_engine,
            "connect",
            partial(_set_session_settings, idle_transaction_seconds),
        )

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[PostgresTransaction]:
        async with self._engine.connect() as connection:
            yield PostgresTransaction(connection)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[PostgresTransaction]:
        async with self._engine.connect() as connection:
            yield PostgresTransaction(connection)
            await connection.commit()

    async def on_connection(self, action: Callable[[Connection], T]) -> T:
        """Run the action on a plain connection, as Alembic needs it."""
        async with self._engine.connect() as connection:
            result = await connection.run_sync(action)
            await connection.commit()
            return result

    async def close(self) -> None:
        await self._engine.dispose()

    def translate_error(self, trouble: BaseException) -> DatabaseError | None:
        """Only errors of the rows themselves are refusals; all others may pass by themselves."""
        if not isinstance(trouble, DBAPIError):
            if isinstance(trouble, SQLAlchemyError):  # of the pool: every connection is busy
                return ConnectionLost(f"The database cannot be reached: {trouble}")
            return None
        if _is_about_the_rows(trouble):
            return DatabaseRefused(f"The database refused: {trouble.orig}")
        if isinstance(trouble, InterfaceError) or trouble.connection_invalidated:
            return ConnectionLost(f"The database cannot be reached: {trouble.orig}")
        return DatabaseError(f"The database failed: {trouble.orig}")


def _set_session_settings(
    idle_transaction_seconds: float, connection: Any, _record: object
) -> None:
    """Let the server end a transaction that stands still. A machine that freezes or vanishes in the
    middle of a commit holds its locks, that of the event log too, and all others would wait."""
    timeout = round(idle_transaction_seconds * 1000)
    cursor = connection.cursor()
    cursor.execute(f"SET idle_in_transaction_session_timeout = {timeout}")
    cursor.close()
    connection.commit()


@lru_cache(maxsize=2_000)
def _with_numbered_marks(sql: str) -> str:
    """Turn `?` into `$1`, `$2`, …: in our SQL question marks stand for values alone."""
    count = 0

    def number(_: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"${count}"

    return re.sub(r"\?", number, sql)


def _is_about_the_rows(trouble: DBAPIError) -> bool:
    """True for a broken constraint or a value that does not fit (SQLSTATE classes 23 and 22)."""
    if isinstance(trouble, IntegrityError | DataError):
        return True
    state = str(getattr(trouble.orig, "sqlstate", None) or "")
    # asyncpg itself finds some values that do not fit, and raises them as errors of its interface.
    cause = type(getattr(trouble.orig, "__cause__", None)).__name__
    return state.startswith(("22", "23")) or cause == "DataError"
