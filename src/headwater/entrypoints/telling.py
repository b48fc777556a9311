"""News on its way to fetchers that asked for it: a part of the service, beside the worker."""

import asyncio

from headwater.engine import Engine
from headwater.errors import DatabaseError
from headwater.news import Deliveries, NewsPolicy, first_of
from headwater.settings import Settings
from headwater.telemetry.log import logger

log = logger("news")

_AFTER_TROUBLE_SECONDS = 10.0


class Telling:
    """One per process. `run` delivers until `stop`; several processes take turns by themselves."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._engine = engine
        self._policy = news_policy(settings)
        self._patience = settings.stop_seconds * 0.6
        self._stop = asyncio.Event()

    async def run(self) -> None:
        deliveries = Deliveries(self._engine, self._policy)
        try:
            while not self._stop.is_set():
                pause = self._policy.look_every
                try:
                    await deliveries.look()
                except DatabaseError as trouble:
                    log.error("news_waits", error=trouble.code, detail=trouble.message)
                    pause = _AFTER_TROUBLE_SECONDS
                await first_of(self._stop.wait(), self._engine.clock.sleep(pause))
        finally:
            await deliveries.end(self._patience)

    def stop(self) -> None:
        self._stop.set()


def news_policy(settings: Settings) -> NewsPolicy:
    deadline = settings.news_timeout_ms / 1000
    return NewsPolicy(
        deadline=deadline, lease=deadline + 30.0, pause_cap=settings.news_pause_cap_sec
    )
