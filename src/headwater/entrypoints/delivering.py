"""The part of a service that delivers events to sinks."""

import asyncio

from headwater.delivering import SinkDeliveries, SinkPolicy
from headwater.engine import Engine
from headwater.errors import DatabaseError
from headwater.news import first_of
from headwater.settings import Settings
from headwater.telemetry.log import logger

log = logger("sinks")

_AFTER_TROUBLE_SECONDS = 10.0


class Delivering:
    """One per process. `run` delivers until `stop`; several processes take turns by themselves."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._engine = engine
        self._policy = sink_policy(settings)
        self._patience = settings.stop_seconds * 0.6
        self._stop = asyncio.Event()

    async def run(self) -> None:
        deliveries = SinkDeliveries(self._engine, self._policy)
        try:
            while not self._stop.is_set():
                pause = self._policy.look_every
                try:
                    await deliveries.look()
                except DatabaseError as trouble:
                    log.error("sinks_wait", error=trouble.code, detail=trouble.message)
                    pause = _AFTER_TROUBLE_SECONDS
                except Exception as trouble:  # a sink's damaged row must not end the visits
                    log.error("sinks_crashed", exc_info=trouble)
                    pause = _AFTER_TROUBLE_SECONDS
                await first_of(self._stop.wait(), self._engine.clock.sleep(pause))
        finally:
            await deliveries.end(self._patience)

    def stop(self) -> None:
        self._stop.set()


def sink_policy(settings: Settings) -> SinkPolicy:
    return SinkPolicy(
        lease=settings.sink_lease_seconds,
        at_once=settings.sinks_at_once,
        pause_cap=settings.sink_pause_cap_sec,
        retry_after_cap=settings.retry_after_cap_sec,
        refused_attempts=settings.sink_refused_attempts,
        give_up_days=settings.sink_give_up_days,
    )
