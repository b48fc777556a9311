"""The real clock and real luck."""

import asyncio
import random
import time
from datetime import UTC, datetime


class SystemClock:
    """`ports.Clock` of the machine we run on."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def luck(self) -> float:
        return random.uniform(-1.0, 1.0)  # noqa: S311 -- spreads visits, no secret hangs on it

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
