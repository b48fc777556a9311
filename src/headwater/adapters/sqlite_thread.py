"""A connection to an SQLite file with a thread of its own: whatever is asked of it is done there,
one after the other, while the loop goes on."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from time import sleep
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Given = TypeVarTuple("Given")

BUSY_MILLISECONDS = 30_000
"""How long a writer waits for another process; inside one process writers queue up."""
JOURNAL_ATTEMPTS, JOURNAL_PAUSE_SECONDS = 200, 0.01
CACHED_KIBIBYTES = 8_192
"""Pages that a connection keeps. The system keeps the file in memory as well: with four times as
many here, visits took as long and a cold start of 1,000 feeds 20 MB more."""


class SqliteConnection:
    """Opened with the first piece of work. A thread that nobody ends does not hold up the process:
    what it has not committed by then is taken back when the file is opened next."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._work: SimpleQueue[_Piece | None] = SimpleQueue()
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
                connection = connection or opened(self._path)
                result = work(connection, *given)
            except Exception as error:  # noqa: BLE001 -- it is not ours: whoever asked gets it
                trouble = error
                # Not opened, closed under our hands, or in a state that nobody knows.
                if connection is None or work is _roll_back or _is_closed(connection):
                    self.is_lost = True
            with suppress(RuntimeError):  # nobody waits any more, and the loop is gone
                answer.get_loop().call_soon_threadsafe(_tell, answer, result, trouble)
            del piece, answer, work, given, result, trouble
        if connection is not None:
            connection.close()


_Piece = tuple[asyncio.Future[Any], Callable[..., Any], tuple[Any, ...]]


def opened(path: str) -> sqlite3.Connection:
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


def _tell(answer: asyncio.Future[Any], result: Any, trouble: Exception | None) -> None:
    if answer.done():  # its caller was cancelled meanwhile
        return
    if trouble is None:
        answer.set_result(result)
    else:
        answer.set_exception(trouble)
