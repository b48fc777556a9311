"""The parts of a service that tell others: events to sinks, news to fetchers."""

import asyncio
from typing import Protocol

from headwater.delivering import SinkDeliveries, SinkPolicy
from headwater.engine import Engine
from headwater.errors import DatabaseError
from headwater.news import Deliveries as NewsDeliveries
from headwater.news import NewsPolicy, first_of
from headwater.ports import Clock
from headwater.settings import Settings
from headwater.telemetry.log import logger

_AFTER_TROUBLE_SECONDS = 10.0


class Deliveries(Protocol):
    """What is to be told to others: sinks, or fetchers that want news."""

    async def look(self) -> None: ...

    async def end(self, seconds: float) -> None: ...


class Deliverer:
    """One per process. `run` delivers until `stop`; several processes take turns by themselves."""

    def __init__(
        self, deliveries: Deliveries, clock: Clock, *, every: float, patience: float, name: str
    ) -> None:
        """`patience`: how long what is on its way may take when the service stops."""
        self._deliveries, self._clock = deliveries, clock
        self._every, self._patience = every, patience
        self._name = name
        self._stop = asyncio.Event()

    async def run(self) -> None:
        log = logger(self._name)
        try:
            while not self._stop.is_set():
                pause = self._every
                try:
                    await self._deliveries.look()
                except DatabaseError as trouble:
                    log.error("delivery_waits", error=trouble.code, detail=trouble.message)
                    pause = _AFTER_TROUBLE_SECONDS
                except Exception as trouble:  # a damaged row must not end the visits
                    log.error("delivery_crashed", exc_info=trouble)
                    pause = _AFTER_TROUBLE_SECONDS
                await first_of(self._stop.wait(), self._clock.sleep(pause))
        finally:
            await self._deliveries.end(self._patience)

    def stop(self) -> None:
        self._stop.set()


def delivering(engine: Engine, settings: Settings) -> Deliverer:
    """Events to sinks."""
    policy = sink_policy(settings)
    return _deliverer(SinkDeliveries(engine, policy), engine, settings, policy.look_every, "sinks")


def telling(engine: Engine, settings: Settings) -> Deliverer:
    """News to fetchers that asked for it."""
    policy = news_policy(settings)
    return _deliverer(NewsDeliveries(engine, policy), engine, settings, policy.look_every, "news")


def _deliverer(
    deliveries: Deliveries, engine: Engine, settings: Settings, every: float, name: str
) -> Deliverer:
    patience = settings.stop_seconds * 0.6
    return Deliverer(deliveries, engine.clock, every=every, patience=patience, name=name)


def news_policy(settings: Settings) -> NewsPolicy:
    deadline = settings.news_timeout_ms / 1000
    return NewsPolicy(
        deadline=deadline, lease=deadline + 30.0, pause_cap=settings.news_pause_cap_sec
    )


def sink_policy(settings: Settings) -> SinkPolicy:
    return SinkPolicy(
        lease=settings.sink_lease_seconds,
        at_once=settings.sinks_at_once,
        pause_cap=settings.sink_pause_cap_sec,
        retry_after_cap=settings.retry_after_cap_sec,
        refused_attempts=settings.sink_refused_attempts,
        give_up_days=settings.sink_give_up_days,
    )
