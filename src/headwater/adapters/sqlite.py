"""SQLite through Python's own driver: connections, and the transactions on them."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import lru_cache, partial
from importlib import import_module
from operator import itemgetter
from queue import SimpleQueue
from threading import Thread
from time import sleep
from typing import Any, Literal, TypeVar, TypeVarTuple

from headwater.adapters.transaction import OpenTransaction
from headwater.core.errors import ConnectionLost, DatabaseError, DatabaseRefused
from headwater.core.ports import Row, SqlValue

Arguments = TypeVarTuple("Arguments")

BUSY_MILLISECONDS = 30_000
"""How long a writer waits for another process; inside one process writers form a queue."""
JOURNAL_ATTEMPTS, JOURNAL_PAUSE_SECONDS = 200, 0.01

CACHED_KIBIBYTES = 8_192
"""The page cache of a connection. The system caches the file as well: with four times as many
pages here, visits took as long, and a cold start of 1,000 feeds took 20 MB more."""
T = TypeVar("T")


class SqliteConnection:
    """A connection in a thread of its own, opened with the first piece of work.

    A thread that nobody ends does not hold up the process: SQLite rolls back what it has not
    committed when the file is opened next.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._work: SimpleQueue[_WorkItem | None] = SimpleQueue()
        self._thread = Thread(target=self._serve, name="headwater-sqlite", daemon=True)
        self.is_lost = False
        self._thread.start()

    async def do(
        self, work: Callable[[sqlite3.Connection, *Arguments], T], *arguments: *Arguments
    ) -> T:
        """Run `work` on the connection. It is done even if its caller is cancelled."""
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._work.put((answer, work, arguments))
        try:
            return await answer
        finally:
            del answer  # an error in it refers to this frame

    def roll_back(self) -> asyncio.Future[None]:
        """Roll back after all work that is queued, and before all that comes next, even if nobody
        waits for it. If it fails the connection is lost, as its state is unknown."""
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._work.put((answer, _roll_back, ()))
        return answer

    def end(self) -> None:
        """End the thread after all work that is queued."""
        self._work.put(None)

    async def ended(self) -> None:
        await asyncio.to_thread(self._thread.join)

    def _serve(self) -> None:
        connection: sqlite3.Connection | None = None
        while (item := self._work.get()) is not None:
            answer, work, arguments = item
            result, trouble = None, None
            try:
                connection = connection or open_sqlite(self._path)
                result = work(connection, *arguments)
            except Exception as error:  # noqa: BLE001 -- not handled here: the caller gets it
                trouble = error
                # It was not opened, somebody else closed it, or its state is unknown.
                if connection is None or work is _roll_back or _is_closed(connection):
                    self.is_lost = True
            with suppress(RuntimeError):  # the caller is gone, and its loop too
                answer.get_loop().call_soon_threadsafe(_set_answer, answer, result, trouble)
            del item, answer, work, arguments, result, trouble
        if connection is not None:
            connection.close()


_WorkItem = tuple[asyncio.Future[Any], Callable[..., Any], tuple[Any, ...]]


def open_sqlite(path: str) -> sqlite3.Connection:
    """Open a connection with our pragmas. We send BEGIN ourselves: the driver sends it too late."""
    connection = sqlite3.connect(path, timeout=BUSY_MILLISECONDS / 1000, isolation_level=None)
    try:
        _enable_write_ahead_log(connection)
        for pragma in (
            "synchronous = FULL",  # a 2xx survives a power cut, and groups make it cheap
            "foreign_keys = ON",
            f"cache_size = -{CACHED_KIBIBYTES}",
            "temp_store = MEMORY",
        ):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def _enable_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Change the journal of a new file, once. When several processes try, SQLite refuses some at
    once, without its usual wait; by then another process has done it, or soon will."""
    for attempt in range(JOURNAL_ATTEMPTS):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as trouble:
            if "locked" not in str(trouble) or attempt == JOURNAL_ATTEMPTS - 1:
                raise
            sleep(JOURNAL_PAUSE_SECONDS)
        else:
            return


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.rollback()


def _is_closed(connection: sqlite3.Connection) -> bool:
    try:
        return connection.total_changes < 0
    except sqlite3.ProgrammingError:
        return True


def _set_answer(answer: asyncio.Future[Any], result: Any, trouble: Exception | None) -> None:
    if answer.done():  # its caller was cancelled meanwhile
        return
    if trouble is None:
        answer.set_result(result)
    else:
        answer.set_exception(trouble)


DeferredWrites = list[tuple[str, Sequence[Sequence[SqlValue]]]]

_CLOSED = "closed database"
"""Part of the message of the driver when somebody else has closed the connection."""


class SqliteTransaction(OpenTransaction):
    """One open transaction on one connection: one trip to its thread for each statement."""

    dialect: Literal["sqlite", "postgresql"] = "sqlite"

    def __init__(self, connection: SqliteConnection, begin: str | None = None) -> None:
        """`begin` goes along with the first statement, which is when SQLite takes its view."""
        super().__init__()
        self._connection = connection
        self._begin = begin
        self._deferred: DeferredWrites = []

    async def rows(self, sql: str, *values: SqlValue) -> Sequence[Row]:
        rows, _ = await self._execute(sql, values)
        return rows

    async def row(self, sql: str, *values: SqlValue) -> Row | None:
        rows, _ = await self._execute(sql, values)
        return rows[0] if rows else None

    async def run(self, sql: str, *values: SqlValue) -> int:
        _, touched = await self._execute(sql, values)
        return touched

    async def run_many(self, sql: str, rows: Sequence[Sequence[SqlValue]]) -> None:
        """Defer the statement: it goes to the thread with the next one, the commit at the latest.
        If the database refuses it, the error is raised only then."""
        if rows:
            self._deferred.append((sql, rows))

    async def _execute(self, sql: str, values: Sequence[SqlValue]) -> tuple[list[Row], int]:
        deferred, self._deferred = self._deferred, []
        return await self._connection.do(_execute, self._begin, deferred, sql, values)


def _execute(
    connection: sqlite3.Connection,
    begin: str | None,
    deferred: DeferredWrites,
    sql: str,
    values: Sequence[SqlValue],
) -> tuple[list[Row], int]:
    """Run in the thread of the connection. Return the rows, and how many were touched."""
    if begin is not None and not connection.in_transaction:
        connection.execute(begin)
    for statement, rows in deferred:
        connection.executemany(statement, rows)
    cursor = connection.execute(sql, values)
    tuples = cursor.fetchall()
    if not tuples:
        return tuples, cursor.rowcount
    columns = tuple(column[0] for column in cursor.description)
    return list(map(_row_type(columns), tuples)), cursor.rowcount


class SqliteConnections:
    """A few connections to one file. The one used last is used next: every write of another
    connection makes the cached pages of a connection stale."""

    dialect: Literal["sqlite", "postgresql"] = "sqlite"

    def __init__(self, path: str, most: int, patience: float) -> None:
        self._path = path
        self._patience = patience
        self._places = asyncio.Semaphore(most)
        self._idle: list[SqliteConnection] = []
        self._in_use: set[SqliteConnection] = set()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[SqliteTransaction]:
        connection = await self._take()
        try:
            yield SqliteTransaction(connection, "BEGIN")
        finally:
            connection.roll_back().add_done_callback(_ignore_result)
            self._put_back(connection)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[SqliteTransaction]:
        connection = await self._take()
        try:
            transaction = SqliteTransaction(connection)
            # With the write lock first, a transaction never fails half-way because another one
            # wrote since it began to read.
            await transaction.run("BEGIN IMMEDIATE")
            yield transaction
            # Not the driver's own `commit`, which does not complain when there is no transaction.
            await transaction.run("COMMIT")
        except BaseException:
            # It comes after the work that a cancelled caller left in the thread. We wait for it,
            # because nobody else can write until then.
            rolled_back = connection.roll_back()
            rolled_back.add_done_callback(_ignore_result)
            with suppress(sqlite3.Error):  # then the connection is lost, and marked so
                await asyncio.shield(rolled_back)
            raise
        finally:
            self._put_back(connection)

    async def on_connection(self, action: Callable[[Any], T]) -> T:
        """Run the action in a thread, on a connection as Alembic needs it."""
        alembic_runner = await asyncio.to_thread(import_module, "headwater.adapters.alembic_runner")
        task: asyncio.Task[T] = asyncio.create_task(
            asyncio.to_thread(alembic_runner.on_file, partial(open_sqlite, self._path), action)
        )
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait({task})  # nobody else may write meanwhile
            raise

    async def close(self) -> None:
        """Close idle connections. Those in use end when they are put back."""
        idle, self._idle = self._idle, []
        for connection in self._in_use:
            connection.is_lost = True
        for connection in idle:
            connection.end()
        for connection in idle:
            await connection.ended()

    def translate_error(self, trouble: BaseException) -> DatabaseError | None:
        """Only errors of the rows themselves are refusals; all others may pass by themselves."""
        if not isinstance(trouble, sqlite3.Error):
            return None
        if isinstance(trouble, sqlite3.IntegrityError | sqlite3.DataError):
            return DatabaseRefused(f"The database refused: {trouble}")
        if isinstance(trouble, sqlite3.InterfaceError) or _CLOSED in str(trouble):
            return ConnectionLost(f"The database cannot be reached: {trouble}")
        if isinstance(trouble, sqlite3.OperationalError) and "unable to open" in str(trouble):
            return ConnectionLost(f"The database cannot be opened: {trouble}")
        return DatabaseError(f"The database failed: {trouble}")

    async def _take(self) -> SqliteConnection:
        try:
            if self._places.locked():
                async with asyncio.timeout(self._patience):
                    await self._places.acquire()
            else:
                await self._places.acquire()
        except TimeoutError as trouble:
            raise ConnectionLost(
                f"The database cannot be reached: every connection was busy for {self._patience:g}"
                " seconds."
            ) from trouble
        try:
            connection = self._idle_or_new()
        except BaseException:
            self._places.release()
            raise
        self._in_use.add(connection)
        return connection

    def _idle_or_new(self) -> SqliteConnection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_lost:
                return connection
            connection.end()
        try:
            return SqliteConnection(self._path)
        except RuntimeError as trouble:  # no thread can be started
            raise ConnectionLost(f"The database cannot be reached: {trouble}") from trouble

    def _put_back(self, connection: SqliteConnection) -> None:
        """A lost connection makes room for a fresh one."""
        self._in_use.discard(connection)
        if connection.is_lost:
            connection.end()
        else:
            self._idle.append(connection)
        self._places.release()


def _ignore_result(answer: asyncio.Future[None]) -> None:
    """Read the error of a failed roll back: the connection itself has noticed it already."""
    if not answer.cancelled():
        answer.exception()


@lru_cache(maxsize=2_000)
def _row_type(columns: tuple[str, ...]) -> type[tuple[Any, ...]]:
    """Make a type of tuples with columns as attributes, ten times as fast as a namedtuple."""
    fields = {name: property(itemgetter(index)) for index, name in enumerate(columns)}
    return type("Row", (tuple,), {"__slots__": (), **fields})
