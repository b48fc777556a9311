"""Metrics that are read from the database: counts, delays, and how promises are kept."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from headwater.anime.decide import decision_rows
from headwater.anime.downloads import download_rows
from headwater.anime.downloads.download import DOWNLOAD_STATES
from headwater.core.errors import ConnectionLost
from headwater.core.ports import Database, View
from headwater.core.telemetry.log import get_logger
from headwater.events import event_rows
from headwater.feeds.feed import STATES
from headwater.feeds.schedule import schedule_rows
from headwater.personal_feeds.ports import PersonalStore
from headwater.settings import Settings
from headwater.sinks import sink_rows
from headwater.statistics import total_rows
from headwater.statistics.service_levels import TIMES, ServiceTargets, service_levels
from headwater.statistics.subscriptions import Window
from headwater.wiring.services import Services

logger = get_logger("headwater.api")

Figure = tuple[str, tuple[str, ...], float]
"""A metric's name, the values of its labels, and its own value."""

DATABASE_METRICS: dict[str, tuple[str, Sequence[str]]] = {}
"""Every metric of this module with its help text and labels, in the order of declaration."""


def _metric(name: str, about: str, *labels: str) -> str:
    DATABASE_METRICS[name] = (about, labels)
    return name


DATABASE_UP = _metric("headwater_database_up", "1 when the database could be read for this answer.")

FEEDS = _metric("headwater_feeds", "Feeds by state.", "state")
FEEDS_DUE = _metric(
    "headwater_feeds_due", "Feeds whose time has come and that no worker holds yet."
)
FEEDS_CLAIMED = _metric("headwater_feeds_claimed", "Feeds that somebody is visiting now.")
FEEDS_FAILING = _metric("headwater_feeds_failing", "Active feeds whose last visit failed.")
FEEDS_LATE = _metric(
    "headwater_feeds_late", "Active feeds that waited twice their chosen interval, or more."
)
FRESH_SHARE = _metric("headwater_fresh_share", "Share of active feeds that are not late.")
OLDEST_DUE = _metric(
    "headwater_oldest_due_seconds", "How long the longest-waiting feed is overdue."
)


async def _feed_figures(view: View, now: datetime) -> AsyncIterator[Figure]:
    load = await schedule_rows.get_schedule_load(view, now)
    feeds, late = await schedule_rows.count_active_and_overdue(view, now, TIMES)
    for state in STATES:
        yield FEEDS, (state,), load.by_state.get(state, 0)
    yield FEEDS_DUE, (), load.due
    yield FEEDS_CLAIMED, (), load.claimed
    yield FEEDS_FAILING, (), load.failing
    yield FEEDS_LATE, (), late
    yield FRESH_SHARE, (), (feeds - late) / feeds if feeds else 1
    overdue = (now - load.oldest_due_at).total_seconds() if load.oldest_due_at else 0
    yield OLDEST_DUE, (), max(0, overdue)


UNCOUNTED_MOST = 100_000
EVENTS_LAST_SEQ = _metric("headwater_events_last_seq", "The number of the newest event.")
VISITS_UNCOUNTED = _metric(
    "headwater_visits_uncounted", "Visits not in the sums yet (counted up to 100,000)."
)
SAVED_BYTES = _metric(
    "headwater_saved_bytes_total", "What 304s spared us: documents not sent again."
)


async def _log_figures(view: View) -> AsyncIterator[Figure]:
    yield EVENTS_LAST_SEQ, (), await event_rows.get_last_seq(view)
    yield VISITS_UNCOUNTED, (), await total_rows.count_uncounted_visits(view, UNCOUNTED_MOST)
    yield SAVED_BYTES, (), await total_rows.saved_bytes(view)


SINKS_MOST = 200
SINK_CURSOR = _metric("headwater_sink_cursor", "The last event that a sink is done with.", "sink")
SINK_LAG = _metric("headwater_sink_lag_events", "Events after a sink's cursor.", "sink")
SINK_DEAD_LETTERS = _metric("headwater_sink_dead_letters", "Events that a sink never took.", "sink")
SINK_FAILURES = _metric(
    "headwater_sink_failures", "Failures of a sink since its last success.", "sink"
)
SINK_STOPPED = _metric(
    "headwater_sink_stopped", "1 when a sink was given up, or said that it is gone.", "sink"
)


async def _sink_figures(view: View) -> AsyncIterator[Figure]:
    for status in (await sink_rows.list_sink_statuses(view))[:SINKS_MOST]:
        name = (status.sink.name,)
        yield SINK_CURSOR, name, status.sink.cursor
        yield SINK_LAG, name, status.lag
        yield SINK_DEAD_LETTERS, name, status.dead_letters
        yield SINK_FAILURES, name, status.sink.failures
        yield SINK_STOPPED, name, status.sink.stopped is not None


TOP_NEW_ENTRIES = _metric(
    "headwater_feed_new_entries", "New entries in two days, of the top feeds.", "feed_id"
)
TOP_FAILURES = _metric(
    "headwater_feed_failures", "Failed visits in two days, of the top feeds.", "feed_id"
)
TOP_INTERVAL = _metric(
    "headwater_feed_interval_seconds", "The interval chosen, of the top feeds.", "feed_id"
)
TOP_GAP = _metric(
    "headwater_feed_ewma_seconds", "The usual gap between posts, of the top feeds.", "feed_id"
)
HOST_FAILURES = _metric(
    "headwater_host_failures", "Failed visits in two days, of the top hosts.", "host"
)


async def _top_figures(view: View, now: datetime, most: int) -> AsyncIterator[Figure]:
    first = Window(2).first_day(now)
    busiest = await total_rows.list_busiest_feeds(view, first, most)
    failing = await total_rows.list_most_failing_feeds(view, first, most)
    for feed in busiest:
        yield TOP_NEW_ENTRIES, (feed.feed_id,), feed.count
    for feed in failing:
        yield TOP_FAILURES, (feed.feed_id,), feed.count
    for feed in {feed.feed_id: feed for feed in (*busiest, *failing)}.values():
        yield TOP_INTERVAL, (feed.feed_id,), feed.interval_sec
        if feed.ewma_sec is not None:
            yield TOP_GAP, (feed.feed_id,), feed.ewma_sec
    for host, count in await total_rows.list_failing_hosts(view, first, most):
        yield HOST_FAILURES, (host,), count


SLO_VALUE = _metric("headwater_slo_value", "How it stands with a promise.", "slo")
SLO_TARGET = _metric("headwater_slo_target", "What is promised.", "slo")
SLO_MET = _metric("headwater_slo_met", "1 when a promise is kept.", "slo")


def service_targets(settings: Settings) -> ServiceTargets:
    return ServiceTargets(
        p99_ms=settings.slo_p99_ms,
        failed_share=settings.slo_failed_share,
        fresh_share=settings.slo_fresh_share,
    )


async def _service_level_figures(database: Database, settings: Settings) -> AsyncIterator[Figure]:
    for level in await service_levels(database, service_targets(settings), Window(1), worst=0):
        name = (level.name,)
        yield SLO_TARGET, name, level.target
        if level.value is not None and level.met is not None:
            yield SLO_VALUE, name, level.value
            yield SLO_MET, name, level.met


DOWNLOADS = _metric("headwater_downloads", "Downloads by state.", "state")
RELEASES_HELD = _metric("headwater_releases_held", "Releases that wait for a person.")


async def _release_figures(view: View) -> AsyncIterator[Figure]:
    by_state = await download_rows.count_downloads_by_state(view)
    for state in DOWNLOAD_STATES:
        yield DOWNLOADS, (state,), by_state.get(state, 0)
    yield RELEASES_HELD, (), await decision_rows.count_held_decisions(view)


READERS = _metric("headwater_readers", "Readers who have a feed of their own.")


async def _reader_figures(store: PersonalStore) -> AsyncIterator[Figure]:
    """The store of readers may be elsewhere: when it is away, the database may still be there."""
    try:
        yield READERS, (), len(await store.readers())
    except ConnectionLost as trouble:
        logger.warning("readers_not_counted", detail=trouble.message)


async def current_figures(database: Database) -> list[Figure]:
    """Figures that change from minute to minute."""
    now = database.clock.now()
    async with database.read() as view:
        return [
            (DATABASE_UP, (), 1),
            *[figure async for figure in _feed_figures(view, now)],
            *[figure async for figure in _log_figures(view)],
            *[figure async for figure in _sink_figures(view)],
            *[figure async for figure in _release_figures(view)],
        ]


async def daily_figures(services: Services, settings: Settings) -> list[Figure]:
    """Figures of whole days: promises, and the few feeds and hosts that stand out. Also the number
    of readers, which seldom changes."""
    figures = [figure async for figure in _service_level_figures(services.database, settings)]
    figures += [figure async for figure in _reader_figures(services.personal.store)]
    if most := settings.metrics_top_feeds:
        async with services.database.read() as view:
            now = view.now
            figures += [figure async for figure in _top_figures(view, now, most)]
    return figures
