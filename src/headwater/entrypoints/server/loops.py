"""Background loops of the service: deliveries, downloads, personal feeds, releases."""

import asyncio
from typing import Protocol

from headwater.anime.decide.decide_again import catch_up
from headwater.anime.decide.decision_rows import list_trackings_behind
from headwater.anime.decide.release_sink import sync_release_sink
from headwater.anime.downloads.download_services import DownloadServices
from headwater.anime.downloads.run_downloads import DownloadRunner
from headwater.anime.episodes.missing_alerts import announce_missing_episodes
from headwater.core.concurrency import wait_for_first
from headwater.core.engine import Engine
from headwater.core.errors import DatabaseError, NotFound
from headwater.core.ports import Clock
from headwater.core.telemetry.log import get_logger
from headwater.core.values.instant import to_micros
from headwater.settings import Settings
from headwater.sinks.dispatch import SinkDeliveries
from headwater.subscriptions.fetchers.send_news import NewsDeliveries
from headwater.wiring.policies import news_policy, sink_policy

personal_logger = get_logger("personal")
release_logger = get_logger("releases")
_AFTER_TROUBLE_SECONDS = 10.0


class BackgroundWork(Protocol):
    """What is to be told to others: sinks, or fetchers that want news."""

    async def look(self) -> None: ...

    async def end(self, seconds: float) -> None: ...


class BackgroundLoop:
    """One per process. `run` delivers until `stop`; several processes take turns by themselves."""

    def __init__(
        self, deliveries: BackgroundWork, clock: Clock, *, every: float, patience: float, name: str
    ) -> None:
        """`patience`: how long what is on its way may take when the service stops."""
        self._deliveries, self._clock = deliveries, clock
        self._every, self._patience = every, patience
        self._name = name
        self._stop = asyncio.Event()

    async def run(self) -> None:
        log = get_logger(self._name)
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
                await wait_for_first(self._stop.wait(), self._clock.sleep(pause))
        finally:
            await self._deliveries.end(self._patience)

    def stop(self) -> None:
        self._stop.set()


def sink_delivery_loop(engine: Engine, settings: Settings) -> BackgroundLoop:
    """Events to sinks."""
    policy = sink_policy(settings)
    return _delivery_loop(
        SinkDeliveries(engine, policy), engine, settings, policy.look_every, "sinks"
    )


def news_delivery_loop(engine: Engine, settings: Settings) -> BackgroundLoop:
    """News to fetchers that asked for it."""
    policy = news_policy(settings)
    return _delivery_loop(
        NewsDeliveries(engine, policy), engine, settings, policy.look_every, "news"
    )


def _delivery_loop(
    deliveries: BackgroundWork, engine: Engine, settings: Settings, every: float, name: str
) -> BackgroundLoop:
    patience = settings.stop_seconds * 0.6
    return BackgroundLoop(deliveries, engine.clock, every=every, patience=patience, name=name)


_LOOK_SECONDS = 1.0
"""How long an intent may go unnoticed. The client is asked less often."""


def download_loop(engine: Engine, media: DownloadServices, settings: Settings) -> BackgroundLoop:
    return BackgroundLoop(
        DownloadRunner(engine, media),
        engine.clock,
        every=min(_LOOK_SECONDS, media.policy.look),
        patience=settings.stop_seconds * 0.6,
        name="downloads",
    )


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
                personal_logger.error(
                    "personal_upkeep_waits", error=trouble.code, detail=trouble.message
                )
            except Exception as trouble:  # a damaged row must not end the service
                personal_logger.error("personal_upkeep_crashed", exc_info=trouble)
            await wait_for_first(self._stop.wait(), self._engine.clock.sleep(self._every))

    async def once(self) -> None:
        await self._engine.personal_feeds.flush()
        await self._engine.personal.upkeep(to_micros(self._engine.clock.now()))

    def stop(self) -> None:
        """What was noted since is written when the engine closes."""
        self._stop.set()


RELEASE_UPKEEP_SECONDS = 10.0
GAPS_EVERY_SECONDS = 600.0


class ReleaseUpkeep:
    """One per process; several of them do not get in each other's way. Two small questions to the
    database every few seconds, where nothing is tracked."""

    def __init__(
        self,
        engine: Engine,
        *,
        every: float = RELEASE_UPKEEP_SECONDS,
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
                release_logger.error(
                    "release_upkeep_waits", error=trouble.code, detail=trouble.message
                )
            except Exception as trouble:  # a damaged row must not end the service
                release_logger.error("release_upkeep_crashed", exc_info=trouble)
            await wait_for_first(self._stop.wait(), self._engine.clock.sleep(self._every))

    async def once(self) -> None:
        await sync_release_sink(self._engine)
        async with self._engine.database.read() as view:
            waiting = await list_trackings_behind(view)
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
            await announce_missing_episodes(self._engine)

    def stop(self) -> None:
        """A tracking that was begun is finished; it would be begun anew after a restart."""
        self._stop.set()
