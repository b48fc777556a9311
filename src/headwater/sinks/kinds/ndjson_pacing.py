"""Pacing of NDJSON files: bursts with rests between them while others need the processor."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

MOST_REST = 4.0
"""Seconds of rest for each second of work when it is crowded: a fifth of the time is work."""

LONGEST_REST = 1.0
"""The longest rest, however long the burst was: a slow disk must not become slower still."""

CROWDED = 0.3
"""Work that takes this much longer than its processor time had to wait: it is crowded."""

_MEMORY = 0.7


class BurstPacing:
    """Rests between bursts, so that a backlog does not crowd out visits. It begins as crowded.

    Work that only computes shows how crowded the processor is: alone, it takes no longer than its
    processor time.
    """

    def __init__(
        self,
        *,
        now: Callable[[], float] = time.monotonic,
        spent: Callable[[], float] = time.thread_time,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._now, self._spent, self._sleep = now, spent, sleep
        self._crowd = CROWDED
        self._began = now()
        self._rested_at = self._began

    async def begin(self) -> None:
        """Wait until the rest after the last burst is over."""
        left = self._rested_at - self._now()
        if left > 0:
            await self._sleep(left)
        self._began = self._now()

    def end(self) -> None:
        now = self._now()
        rest = MOST_REST * self._crowd / CROWDED
        self._rested_at = now + min(rest * (now - self._began), LONGEST_REST)

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Measure work that waits for nothing, in the thread that does it."""
        began, spent = self._now(), self._spent()
        yield
        took, used = self._now() - began, self._spent() - spent
        if used > 0:
            seen = min(max(took / used - 1.0, 0.0), CROWDED)
            self._crowd = _MEMORY * self._crowd + (1 - _MEMORY) * seen
