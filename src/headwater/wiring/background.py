"""Build the background work of the service: the worker, deliveries, downloads, upkeep."""

from collections.abc import Awaitable
from functools import partial
from typing import Protocol

from headwater.anime.downloads.download_services import DownloadServices
from headwater.anime.downloads.run_downloads import DownloadRunner
from headwater.anime.upkeep import ReleaseUpkeep
from headwater.core.loop import Loop, LoopLog
from headwater.core.ports import Clock
from headwater.core.telemetry.log import get_logger
from headwater.feeds.worker.worker import Chore, Worker
from headwater.personal_feeds.upkeep import keep_up_personal_feeds
from headwater.settings import Settings
from headwater.sinks.dispatch import SinkDeliveries
from headwater.subscriptions.conflicts.resolve_by_evidence import resolve_open_conflicts
from headwater.subscriptions.fetchers.send_news import NewsDeliveries
from headwater.subscriptions.groups.apply_group_values import finish_spreading
from headwater.wiring.housekeeping import count_visits, housekeeping_once
from headwater.wiring.policies import news_policy, sink_policy, worker_policy
from headwater.wiring.services import Services

_CATCH_UP_SECONDS = 60.0
"""How old statistics, and decisions that follow from them, may be."""

_DOWNLOAD_LOOK_SECONDS = 1.0
"""How long an intent may stay unnoticed. The client is asked less often."""

_RELEASE_UPKEEP_SECONDS = 10.0
_AFTER_TROUBLE_SECONDS = 10.0

_PERSONAL_LOG = LoopLog(
    get_logger("personal"), waits="personal_upkeep_waits", failed="personal_upkeep_crashed"
)
_RELEASE_LOG = LoopLog(
    get_logger("releases"), waits="release_upkeep_waits", failed="release_upkeep_crashed"
)


def build_worker(services: Services, settings: Settings) -> Worker:
    async def catch_up() -> None:
        """Use the evidence of visits, and finish work that a crash interrupted."""
        await count_visits(services.database)
        await resolve_open_conflicts(services.registry)
        await finish_spreading(services.registry)

    chores = (
        Chore(_CATCH_UP_SECONDS, catch_up),
        Chore(settings.housekeeping_minutes * 60, partial(housekeeping_once, services, settings)),
    )
    return Worker(services.feeds, worker_policy(settings), chores)


class Deliveries(Protocol):
    """Deliveries to others: events to sinks, news to fetchers, torrents to a client."""

    async def look(self) -> None: ...

    def end(self, seconds: float) -> Awaitable[None]:
        """End. Deliveries under way may take so long when the service stops."""


def sink_loop(services: Services, settings: Settings) -> Loop:
    """Deliver events to sinks."""
    policy = sink_policy(settings)
    deliveries = SinkDeliveries(services.sinks, policy)
    return _delivery_loop("sinks", deliveries, policy.look_every, services.clock, settings)


def news_loop(services: Services, settings: Settings) -> Loop:
    """Deliver news to fetchers that asked for it."""
    policy = news_policy(settings)
    deliveries = NewsDeliveries(services.registry, policy)
    return _delivery_loop("news", deliveries, policy.look_every, services.clock, settings)


def download_loop(services: Services, media: DownloadServices, settings: Settings) -> Loop:
    every = min(_DOWNLOAD_LOOK_SECONDS, media.policy.look)
    runner = DownloadRunner(services.releases, media)
    return _delivery_loop("downloads", runner, every, services.clock, settings)


def _delivery_loop(
    name: str, deliveries: Deliveries, every: float, clock: Clock, settings: Settings
) -> Loop:
    return Loop(
        deliveries.look,
        clock,
        every,
        LoopLog(get_logger(name), waits="delivery_waits", failed="delivery_crashed"),
        after_trouble=_AFTER_TROUBLE_SECONDS,
        at_the_end=partial(deliveries.end, settings.stop_seconds * 0.6),
    )


def personal_loop(services: Services, settings: Settings) -> Loop:
    """Keep up personal feeds. Notes since the last round are written when the process closes."""
    action = partial(keep_up_personal_feeds, services.personal)
    return Loop(action, services.clock, settings.personal_pickup_sec, _PERSONAL_LOG)


def release_loop(services: Services) -> Loop:
    """Keep up releases. A stop lets a tracking finish, as a restart would begin it again."""
    upkeep = ReleaseUpkeep(services.releases)
    return Loop(
        upkeep.once, services.clock, _RELEASE_UPKEEP_SECONDS, _RELEASE_LOG, on_stop=upkeep.stop
    )
