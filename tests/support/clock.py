"""A clock that tests own: time moves only when told, luck comes from a script."""

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from itertools import count

START = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
"""A Monday, at noon."""

TURNS = 20
"""How often the event loop goes round after each waking, so that what was woken can run."""


class VirtualClock:
    """`ports.Clock`. Sleepers wake in the order of their hour, each at exactly that time."""

    def __init__(self, start: datetime = START, luck: Iterable[float] = ()) -> None:
        self._start = start
        self._passed = timedelta()
        self._stepped = timedelta()
        self._luck = list(luck)
        self._sleepers: list[tuple[timedelta, int, asyncio.Future[None]]] = []
        self._numbers = count()
        self._fell_asleep = asyncio.Event()

    def now(self) -> datetime:
        return self._start + self._passed + self._stepped

    def monotonic(self) -> float:
        return self._passed.total_seconds()

    def luck(self) -> float:
        """The next scripted draw; 0.0 when the script is over."""
        return self._luck.pop(0) if self._luck else 0.0

    def script_luck(self, *draws: float) -> None:
        self._luck.extend(draws)

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        heappush(
            self._sleepers,
            (self._passed + timedelta(seconds=seconds), next(self._numbers), woken),
        )
        self._fell_asleep.set()
        await woken

    async def advance(self, seconds: float) -> None:
        """Let that much time pass; whoever should wake meanwhile does, and may sleep again."""
        end = self._passed + timedelta(seconds=seconds)
        await self._settle()
        while (wakes_at := self._next_waking()) is not None and wakes_at <= end:
            self._passed = wakes_at
            heappop(self._sleepers)[2].set_result(None)
            await self._settle()
        self._passed = end

    async def advance_to_next(self) -> float:
        """Wake the next sleeper; the seconds that took. Waits until somebody sleeps."""
        await self.asleep()
        wakes_at = self._next_waking()
        assert wakes_at is not None
        waited = (wakes_at - self._passed).total_seconds()
        await self.advance(waited)
        return waited

    async def asleep(self, at_least: int = 1) -> None:
        """Returns once that many sleep: work that meets the real world takes real time."""
        while self.sleepers < at_least:
            self._fell_asleep.clear()
            await self._fell_asleep.wait()

    def step(self, seconds: float) -> None:
        """The wall clock is corrected; no time passes and nobody wakes."""
        self._stepped += timedelta(seconds=seconds)

    @property
    def sleepers(self) -> int:
        return sum(not woken.done() for _, _, woken in self._sleepers)

    def _next_waking(self) -> timedelta | None:
        while self._sleepers and self._sleepers[0][2].done():  # cancelled meanwhile
            heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    async def _settle(self) -> None:
        for _ in range(TURNS):
            await asyncio.sleep(0)
