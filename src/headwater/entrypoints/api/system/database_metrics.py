"""Metrics that are read from the database: how much, how late, how well."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from headwater.anime.decide import decision_rows
from headwater.anime.downloads import download_rows
from headwater.anime.downloads.download import DOWNLOAD_STATES
from headwater.core.engine import Engine
from headwater.core.errors import ConnectionLost
from headwater.core.ports import View
from headwater.core.telemetry.log import get_logger
from headwater.events import event_rows
from headwater.feeds.feed import STATES
from headwater.feeds.schedule import schedule_rows
from headwater.settings import Settings
from headwater.sinks import sink_rows
from headwater.statistics import total_rows
from headwater.statistics.service_levels import TIMES, ServiceTargets, service_levels
from headwater.statistics.subscriptions import Window
from headwater.statistics.total_rows import TopFeed

logger = get_logger("headwater.api")

Figure = tuple[str, tuple[str, ...], float]
"""A metric's name, the values of its labels, and its own value."""

DATABASE_METRICS: dict[str, tuple[str, tuple[str, ...]]] = {
    "headwater_database_up": ("1 when the database could be read for this answer.", ()),
    "headwater_feeds": ("Feeds by state.", ("state",)),
    "headwater_feeds_due": ("Feeds whose time has come and that no worker holds yet.", ()),
    "headwater_feeds_claimed": ("Feeds that somebody is visiting now.", ()),
    "headwater_feeds_failing": ("Active feeds whose last visit failed.", ()),
    "headwater_feeds_late": ("Active feeds that waited twice their chosen interval, or more.", ()),
    "headwater_fresh_share": ("Share of active feeds that are not late.", ()),
    "headwater_oldest_due_seconds": ("How long the longest-waiting feed is overdue.", ()),
    "headwater_events_last_seq": ("The number of the newest event.", ()),
    "headwater_visits_uncounted": ("Visits not in the sums yet (counted up to 100,000).", ()),
    "headwater_saved_bytes_total": ("What 304s spared us: documents not sent again.", ()),
    "headwater_sink_cursor": ("The last event that a sink is done with.", ("sink",)),
    "headwater_sink_lag_events": ("Events after a sink's cursor.", ("sink",)),
    "headwater_sink_dead_letters": ("Events that a sink never took.", ("sink",)),
    "headwater_sink_failures": ("Failures of a sink since its last success.", ("sink",)),
    "headwater_sink_stopped": ("1 when a sink was given up, or said that it is gone.", ("sink",)),
    "headwater_feed_new_entries": ("New entries in two days, of the top feeds.", ("feed_id",)),
    "headwater_feed_failures": ("Failed visits in two days, of the top feeds.", ("feed_id",)),
    "headwater_feed_interval_seconds": ("The interval chosen, of the top feeds.", ("feed_id",)),
    "headwater_feed_ewma_seconds": ("The usual gap between posts, of the top feeds.", ("feed_id",)),
    "headwater_host_failures": ("Failed visits in two days, of the top hosts.", ("host",)),
    "headwater_slo_value": ("How it stands with a promise.", ("slo",)),
    "headwater_slo_target": ("What is promised.", ("slo",)),
    "headwater_slo_met": ("1 when a promise is kept.", ("slo",)),
    "headwater_downloads": ("Downloads by state.", ("state",)),
    "headwater_releases_held": ("Releases that wait for a person.", ()),
    "headwater_readers": ("Readers who have a feed of their own.", ()),
}  # fmt: skip
"""Every metric of this room: its help text and its labels."""

UNCOUNTED_MOST = 100_000
SINKS_MOST = 200


def promises(settings: Settings) -> ServiceTargets:
    return ServiceTargets(
        p99_ms=settings.slo_p99_ms,
        failed_share=settings.slo_failed_share,
        fresh_share=settings.slo_fresh_share,
    )


async def current_figures(engine: Engine) -> list[Figure]:
    """What changes from minute to minute."""
    now = engine.clock.now()
    async with engine.database.read() as view:
        return [
            ("headwater_database_up", (), 1),
            *[figure async for figure in _feed_figures(view, now)],
            ("headwater_events_last_seq", (), await event_rows.get_last_seq(view)),
            (
                "headwater_visits_uncounted",
                (),
                await total_rows.count_uncounted_visits(view, UNCOUNTED_MOST),
            ),
            ("headwater_saved_bytes_total", (), await total_rows.saved_bytes(view)),
            *[figure async for figure in _sink_figures(view)],
            *[figure async for figure in _download_figures(view)],
            ("headwater_releases_held", (), await decision_rows.count_held_decisions(view)),
        ]


async def _feed_figures(view: View, now: datetime) -> AsyncIterator[Figure]:
    load = await schedule_rows.get_schedule_load(view, now)
    feeds, late = await schedule_rows.count_active_and_overdue(view, now, TIMES)
    for state in STATES:
        yield "headwater_feeds", (state,), load.by_state.get(state, 0)
    yield "headwater_feeds_due", (), load.due
    yield "headwater_feeds_claimed", (), load.claimed
    yield "headwater_feeds_failing", (), load.failing
    yield "headwater_feeds_late", (), late
    yield "headwater_fresh_share", (), (feeds - late) / feeds if feeds else 1
    overdue = (now - load.oldest_due_at).total_seconds() if load.oldest_due_at else 0
    yield "headwater_oldest_due_seconds", (), max(0, overdue)


async def _sink_figures(view: View) -> AsyncIterator[Figure]:
    for each in (await sink_rows.list_sink_statuses(view))[:SINKS_MOST]:
        name = (each.sink.name,)
        yield "headwater_sink_cursor", name, each.sink.cursor
        yield "headwater_sink_lag_events", name, each.lag
        yield "headwater_sink_dead_letters", name, each.dead_letters
        yield "headwater_sink_failures", name, each.sink.failures
        yield "headwater_sink_stopped", name, each.sink.stopped is not None


async def _download_figures(view: View) -> AsyncIterator[Figure]:
    found = await download_rows.count_downloads_by_state(view)
    for state in DOWNLOAD_STATES:
        yield "headwater_downloads", (state,), found.get(state, 0)


async def daily_figures(engine: Engine, settings: Settings) -> list[Figure]:
    """What is made of whole days: promises, and the few feeds and hosts that stand out. And who
    reads, which seldom changes either."""
    figures = [figure async for figure in _service_level_figures(engine, settings)]
    figures += [figure async for figure in _reader_figures(engine)]
    most = settings.metrics_top_feeds
    if most:
        first = Window(2).first_day(engine.clock.now())
        async with engine.database.read() as view:
            newsy = await total_rows.list_busiest_feeds(view, first, most)
            failing = await total_rows.list_most_failing_feeds(view, first, most)
            hosts = await total_rows.list_failing_hosts(view, first, most)
        figures += _top_figures(newsy, failing)
        figures += [("headwater_host_failures", (host,), many) for host, many in hosts]
    return figures


def _top_figures(newsy: Sequence[TopFeed], failing: Sequence[TopFeed]) -> list[Figure]:
    both = {each.feed_id: each for each in (*newsy, *failing)}.values()
    return [
        *[("headwater_feed_new_entries", (each.feed_id,), each.count) for each in newsy],
        *[("headwater_feed_failures", (each.feed_id,), each.count) for each in failing],
        *[("headwater_feed_interval_seconds", (each.feed_id,), each.interval_sec) for each in both],
        *[
            ("headwater_feed_ewma_seconds", (each.feed_id,), each.ewma_sec)
            for each in both
            if each.ewma_sec is not None
        ],
    ]


async def _reader_figures(engine: Engine) -> AsyncIterator[Figure]:
    """They may be kept elsewhere: that this place is away says nothing of the database."""
    try:
        yield "headwater_readers", (), len(await engine.personal.readers())
    except ConnectionLost as trouble:
        logger.warning("readers_not_counted", detail=trouble.message)


async def _service_level_figures(engine: Engine, settings: Settings) -> AsyncIterator[Figure]:
    for level in await service_levels(engine, promises(settings), Window(1), worst=0):
        name = (level.name,)
        yield "headwater_slo_target", name, level.target
        if level.value is not None and level.met is not None:
            yield "headwater_slo_value", name, level.value
            yield "headwater_slo_met", name, level.met
