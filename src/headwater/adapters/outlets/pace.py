"""Work in bursts with rests between them, so that a backlog does not crowd out everything else."""

import asyncio
import time
from collections.abc import Awaitable, Callable

REST = 1.0
"""Seconds of rest for each second of work: at most half of the time is work."""

LONGEST_REST = 1.0


class Pace:
    """Whoever has not worked for a while does not wait at all."""

    def __init__(
        self,
        rest: float = REST,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._rest, self._now, self._sleep = rest, now, sleep
        self._began = now()
        self._rested_at = self._began

    async def begin(self) -> None:
        """Returns when the rest of the last burst is over."""
        left = self._rested_at - self._now()
        if left > 0:
            await self._sleep(left)
        self._began = self._now()

    def end(self) -> None:
        now = self._now()
        self._rested_at = now + min(self._rest * (now - self._began), LONGEST_REST)
