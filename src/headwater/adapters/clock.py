"""The real clock, with real chance."""

import asyncio
import random
import time
from datetime import UTC, datetime


class SystemClock:
    """The `Clock` port: the clock of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def luck(self) -> float:
        return random.uniform(-1.0, 1.0)  # noqa: S311 -- it spreads visits, no secret depends on it

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
