"""The part of a worker that keeps trackings up to date: what they missed, and what is missing."""

import asyncio

from headwater.catching_up import catch_up
from headwater.collect.decisions.queries import behind
from headwater.engine import Engine
from headwater.errors import DatabaseError, NotFound
from headwater.gap_alerts import tell_gaps
from headwater.news import first_of
from headwater.release_sink import keep_release_sink
from headwater.telemetry.log import logger

EVERY_SECONDS = 10.0
GAPS_EVERY_SECONDS = 600.0

log = logger("releases")


class ReleaseUpkeep:
    """One per process; several of them do not get in each other's way. Two small questions to the
    database every few seconds, where nothing is tracked."""

    def __init__(
        self,
        engine: Engine,
        *,
        every: float = EVERY_SECONDS,
        gaps_every: float = GAPS_EVERY_SECONDS,
    ) -> None:
        self._engine, self._every, self._gaps_every = engine, every, gaps_every
        self._gaps_at = -gaps_every
        self._stop = asyncio.Event()

    async def run(self) -> None:
        while not self._stop.is_set():
            try:
                await self.once()
            except DatabaseError as trouble:
                log.error("release_upkeep_waits", error=trouble.code, detail=trouble.message)
            except Exception as trouble:  # a damaged row must not end the service
                log.error("release_upkeep_crashed", exc_info=trouble)
            await first_of(self._stop.wait(), self._engine.clock.sleep(self._every))

    async def once(self) -> None:
        await keep_release_sink(self._engine)
        async with self._engine.database.read() as view:
            waiting = await behind(view)
        for tracking_id in waiting:
            if self._stop.is_set():
                return
            try:
                await catch_up(self._engine, tracking_id)
            except NotFound:  # somebody has just let it go
                continue
        now = self._engine.clock.monotonic()
        if now - self._gaps_at >= self._gaps_every:
            self._gaps_at = now
            await tell_gaps(self._engine)

    def stop(self) -> None:
        """A tracking that was begun is finished; it would be begun anew after a restart."""
        self._stop.set()
