"""A question to the database that many may put, and for whose answer nobody waits for ever."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from headwater.core.errors import ConnectionLost
from headwater.core.ports import Database

T = TypeVar("T")

ANSWERS_WITHIN = 8.0
"""Less than the ten seconds that Prometheus, and most who look after health, wait for us."""


class SingleFlight(Generic[T]):
    """Put once at a time: who comes while it is under way waits for the same answer.

    A database that stands still, or is behind a broken line, says nothing at all. The question is
    left open then, and not put again, lest all connections go on questions without an answer; it
    is not cancelled either, for that would wait for the same server.
    """

    def __init__(self, database: Database, put: Callable[[], Awaitable[T]]) -> None:
        self._database = database
        self._put = put
        self._open: asyncio.Task[T] | None = None

    async def answer(self) -> T:
        """ConnectionLost when none comes in time."""
        if self._open is None or self._open.done():
            self._open = asyncio.create_task(self._asked())
            self._open.add_done_callback(_consume_exception)
        question = self._open
        patience = asyncio.create_task(self._database.clock.sleep(ANSWERS_WITHIN))
        try:
            await asyncio.wait({question, patience}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            patience.cancel()
        if not question.done():
            raise ConnectionLost(f"The database has not answered for {ANSWERS_WITHIN:g} s.")
        return question.result()

    async def _asked(self) -> T:
        return await self._put()


def _consume_exception(question: "asyncio.Task[T]") -> None:
    """Also when nobody waits any more: what went wrong was told to those who did."""
    if not question.cancelled():
        question.exception()
