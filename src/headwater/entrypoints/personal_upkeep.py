"""The part of a service that looks after personal feeds: what expired goes, last uses are noted."""

import asyncio

from headwater.engine import Engine
from headwater.errors import DatabaseError
from headwater.news import first_of
from headwater.settings import Settings
from headwater.telemetry.log import logger
from headwater.values.instant import to_micros

log = logger("personal")


class PersonalUpkeep:
    """One per process; several of them do not get in each other's way."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._engine, self._every = engine, settings.personal_pickup_sec
        self._stop = asyncio.Event()

    async def run(self) -> None:
        while not self._stop.is_set():
            try:
                await self.once()
            except DatabaseError as trouble:
                log.error("personal_upkeep_waits", error=trouble.code, detail=trouble.message)
            except Exception as trouble:  # a damaged row must not end the service
                log.error("personal_upkeep_crashed", exc_info=trouble)
            await first_of(self._stop.wait(), self._engine.clock.sleep(self._every))

    async def once(self) -> None:
        await self._engine.personal_feeds.flush()
        await self._engine.personal.upkeep(to_micros(self._engine.clock.now()))

    def stop(self) -> None:
        """What was noted since is written when the engine closes."""
        self._stop.set()
