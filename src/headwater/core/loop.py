"""A loop of background work: it runs an action again and again, until it is stopped."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from headwater.core.concurrency import wait_for_first
from headwater.core.errors import DatabaseError
from headwater.core.ports import Clock

Action = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class LoopLog:
    """The log lines of a loop: `waits` while the database is away, `failed` for other errors."""

    logger: Any
    waits: str
    failed: str


class Loop:
    """Runs an action until it is stopped. Errors are logged: a damaged row must not end it."""

    def __init__(
        self,
        action: Action,
        clock: Clock,
        every: float,
        log: LoopLog,
        *,
        after_trouble: float | None = None,
        pause_first: bool = False,
        on_stop: Callable[[], None] | None = None,
        at_the_end: Action | None = None,
    ) -> None:
        """`every` and `after_trouble` are seconds from the end of one action to the next."""
        self._action, self._clock, self._every, self._log = action, clock, every, log
        self._after_trouble = every if after_trouble is None else after_trouble
        self._pause_first = pause_first
        self._on_stop, self._at_the_end = on_stop, at_the_end
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        try:
            if self._pause_first:
                await self._pause(self._every)
            while not self._stopping.is_set():
                succeeded = await self._once()
                await self._pause(self._every if succeeded else self._after_trouble)
        finally:
            if self._at_the_end is not None:
                await self._at_the_end()

    def stop(self) -> None:
        """Stop after the action that is running now."""
        self._stopping.set()
        if self._on_stop is not None:
            self._on_stop()

    async def _once(self) -> bool:
        try:
            await self._action()
        except DatabaseError as trouble:  # the database comes back: try again later
            self._log.logger.error(self._log.waits, error=trouble.code, detail=trouble.message)
            return False
        except Exception as trouble:
            self._log.logger.error(self._log.failed, exc_info=trouble)
            return False
        return True

    async def _pause(self, seconds: float) -> None:
        await wait_for_first(self._stopping.wait(), self._clock.sleep(seconds))
