"""Single flight: many callers share one query, and none of them waits for its answer for ever."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from headwater.core.errors import ConnectionLost
from headwater.core.ports import Database

T = TypeVar("T")

ANSWERS_WITHIN = 8.0
"""Seconds. Prometheus and most health checks wait ten seconds for an answer."""


class SingleFlight(Generic[T]):
    """Runs one query at a time. A caller that comes while it runs waits for the same answer.

    A database that hangs, or is behind a broken line, does not answer at all. Then the query is
    left open and not sent again, so that open queries do not take all connections. It is not
    cancelled either, as that would wait for the same server.
    """

    def __init__(self, database: Database, query: Callable[[], Awaitable[T]]) -> None:
        self._database = database
        self._query = query
        self._running: asyncio.Task[T] | None = None

    async def answer(self) -> T:
        """ConnectionLost when none comes in time."""
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(_result_of(self._query()))
            self._running.add_done_callback(_consume_exception)
        running = self._running
        patience = asyncio.create_task(self._database.clock.sleep(ANSWERS_WITHIN))
        try:
            await asyncio.wait({running, patience}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            patience.cancel()
        if not running.done():
            raise ConnectionLost(f"The database has not answered for {ANSWERS_WITHIN:g} s.")
        return running.result()


async def _result_of(query: Awaitable[T]) -> T:
    return await query


def _consume_exception(task: "asyncio.Task[T]") -> None:
    """Read the exception also when no caller waits any more, so that asyncio does not report it."""
    if not task.cancelled():
        task.exception()
