"""Databases that stand in front of a real one: for tests in which it fails, waits or is counted."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from headwater.core.ports import Clock, Database, Sleeper, Transaction, View


class PassingDatabase:
    """Passes everything on to the real database."""

    def __init__(self, real: Database) -> None:
        self.real = real

    @property
    def clock(self) -> Clock:
        return self.real.clock

    @clock.setter
    def clock(self, clock: Clock) -> None:
        self.real.clock = clock

    def woken(self, who: Sleeper) -> asyncio.Event:
        return self.real.woken(who)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[View]:
        async with self.real.read() as view:
            yield view

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Transaction]:
        async with self.real.write() as tx:
            yield tx
