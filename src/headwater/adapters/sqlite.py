"""SQLite, straight through Python's own driver: transactions, and the connections they run on."""

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

Given = TypeVarTuple("Given")

BUSY_MILLISECONDS = 30_000
"""How long a writer waits for another process; inside one process writers queue up."""
JOURNAL_ATTEMPTS, JOURNAL_PAUSE_SECONDS = 200, 0.01

CACHED_KIBIBYTES = 8_192
"""Pages that a connection keeps. The system keeps the file in memory as well: with four times as
many here, visits took as long and a cold start of 1,000 feeds 20 MB more."""
T = TypeVar("T")


class SqliteConnection:
    """Opened with the first piece of work. A thread that nobody ends does not hold up the process:
    what it has not committed by then is taken back when the file is opened next."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._work: SimpleQueue[_WorkItem | None] = SimpleQueue()
        self._thread = Thread(target=self._serve, name="headwater-sqlite", daemon=True)
        self.is_lost = False
        self._thread.start()

    async def do(self, work: Callable[[sqlite3.Connection, *Given], T], *given: *Given) -> T:
        """What `work` makes of the connection. It is done even if its caller is cancelled."""
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._work.put((answer, work, given))
        try:
            return await answer
        finally:
            del answer  # an error in it knows this frame

    def roll_back(self) -> asyncio.Future[None]:
        """Behind all that was asked before, and before whatever is asked next, though nobody waits
        for it. If it fails the connection is lost: nobody knows what state it is in."""
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._work.put((answer, _roll_back, ()))
        return answer

    def end(self) -> None:
        """After all that was asked of it."""
        self._work.put(None)

    async def ended(self) -> None:
        await asyncio.to_thread(self._thread.join)

    def _serve(self) -> None:
        connection: sqlite3.Connection | None = None
        while (piece := self._work.get()) is not None:
            answer, work, given = piece
            result, trouble = None, None
            try:
                connection = connection or open_sqlite(self._path)
                result = work(connection, *given)
            except Exception as error:  # noqa: BLE001 -- it is not ours: whoever asked gets it
                trouble = error
                # Not opened, closed under our hands, or in a state that nobody knows.
                if connection is None or work is _roll_back or _is_closed(connection):
                    self.is_lost = True
            with suppress(RuntimeError):  # nobody waits any more, and the loop is gone
                answer.get_loop().call_soon_threadsafe(_set_answer, answer, result, trouble)
            del piece, answer, work, given, result, trouble
        if connection is not None:
            connection.close()


_WorkItem = tuple[asyncio.Future[Any], Callable[..., Any], tuple[Any, ...]]


def open_sqlite(path: str) -> sqlite3.Connection:
    """With our manners. We say BEGIN ourselves: the driver's own habit of it is too late for us."""
    connection = sqlite3.connect(path, timeout=BUSY_MILLISECONDS / 1000, isolation_level=None)
    try:
        _to_write_ahead(connection)
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


def _to_write_ahead(connection: sqlite3.Connection) -> None:
    """A new file takes up its journal once. Of several who try, SQLite turns some away at once,
    without the wait it grants everywhere else; by then another has done it, or soon will."""
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
"""What the driver says when somebody has closed it under our hands."""


class SqliteTransaction(OpenTransaction):
    """One open transaction on one connection: one way to its thread for each statement."""

    dialect: Literal["sqlite", "postgresql"] = "sqlite"

    def __init__(self, connection: SqliteConnection, begin: str | None = None) -> None:
        """`begin` goes along with the first statement, which is when SQLite begins to look."""
        super().__init__()
        self._connection = connection
        self._begin = begin
        self._put_off: DeferredWrites = []

    async def rows(self, sql: str, *values: SqlValue) -> Sequence[Row]:
        found, _ = await self._said(sql, values)
        return found

    async def row(self, sql: str, *values: SqlValue) -> Row | None:
        found, _ = await self._said(sql, values)
        return found[0] if found else None

    async def run(self, sql: str, *values: SqlValue) -> int:
        _, touched = await self._said(sql, values)
        return touched

    async def run_many(self, sql: str, rows: Sequence[Sequence[SqlValue]]) -> None:
        """Nobody waits for an answer: it goes to the thread with whatever comes next, the commit
        at the latest. If the database refuses it, that is when it is told."""
        if rows:
            self._put_off.append((sql, rows))

    async def _said(self, sql: str, values: Sequence[SqlValue]) -> tuple[list[Row], int]:
        before, self._put_off = self._put_off, []
        return await self._connection.do(_execute, self._begin, before, sql, values)


def _execute(
    connection: sqlite3.Connection,
    begin: str | None,
    before: DeferredWrites,
    sql: str,
    values: Sequence[SqlValue],
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
    return list(map(_row_type(tuple(c[0] for c in cursor.description)), found)), cursor.rowcount


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
            connection.roll_back().add_done_callback(_ignore_result)
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
            rolled_back.add_done_callback(_ignore_result)
            with suppress(sqlite3.Error):  # then it is lost, and known as such
                await asyncio.shield(rolled_back)
            raise
        finally:
            self._put_back(connection)

    async def on_connection(self, action: Callable[[Any], T]) -> T:
        """On a connection as Alembic wants it, beside the loop."""
        room = await asyncio.to_thread(import_module, "headwater.adapters.alembic_runner")
        under_way: asyncio.Task[T] = asyncio.create_task(
            asyncio.to_thread(room.on_file, partial(open_sqlite, self._path), action)
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
            return DatabaseRefused(f"The database refused: {trouble}")
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


def _ignore_result(answer: asyncio.Future[None]) -> None:
    """A failed way back was noticed by the connection itself; nobody need hear of it twice."""
    if not answer.cancelled():
        answer.exception()


@lru_cache(maxsize=2_000)
def _row_type(columns: tuple[str, ...]) -> type[tuple[Any, ...]]:
    """Tuples that know their columns' names. To make a namedtuple takes ten times as long."""
    fields = {name: property(itemgetter(place)) for place, name in enumerate(columns)}
    return type("Row", (tuple,), {"__slots__": (), **fields})
