"""Statistics rows: read statistics of a subscription, of the worst, and of fetchers at a host."""

from collections.abc import Sequence
from datetime import datetime

from headwater.core.ports import Row, View, placeholders
from headwater.core.values.ids import FeedId, FeedPk, FetcherId
from headwater.core.values.instant import maybe_moment
from headwater.feeds.overrides import decode_overrides
from headwater.statistics.day_rows import SAVED_BYTES
from headwater.statistics.days import DAY_MICROS, SubscriptionDay
from headwater.statistics.fetcher_counts import FetcherCounts
from headwater.statistics.subscriptions import Statistics, Window, WorstSubscription, statistics_of


async def get_statistics(
    view: View, subscription_id: int, feed: FeedPk, window: Window, now: datetime
) -> Statistics:
    """Statistics up to the last visit: visits that are not counted yet are added here.

    It is one statement, so that no visit is in both parts, or in neither.
    """
    first = window.first_day(now)
    rows = await view.rows(
        f"SELECT {', '.join(SubscriptionDay._fields)} FROM subscription_days"
        " WHERE subscription_id = ? AND day >= ?"
        f" UNION ALL SELECT CAST(? AS BIGINT), finished_at / {DAY_MICROS}, coalesce(error, ''), 1,"
        " CASE WHEN outcome = 'unchanged' THEN 1 ELSE 0 END, new_entries, updated_entries,"
        " bytes_in, latency_ms, dated_entries, late_sec, CASE WHEN retry THEN 1 ELSE 0 END,"
        f" {SAVED_BYTES}, coalesce(decoded_bytes, 0),"
        " CASE WHEN decoded_bytes IS NULL THEN 0 ELSE bytes_in END, finished_at FROM visits v"
        " WHERE feed_id = ? AND NOT counted AND finished_at >= ?",
        subscription_id,
        first,
        subscription_id,
        feed,
        first * DAY_MICROS,
    )
    return statistics_of([SubscriptionDay(*row) for row in rows])


async def list_worst_subscriptions(
    view: View, window: Window, now: datetime, *, min_visits: int, limit: int
) -> list[WorstSubscription]:
    """Active subscriptions whose visits fail: by the share that fails, then by those in a row."""
    first = window.first_day(now)
    rows = await view.rows(
        "SELECT * FROM (SELECT s.subscription_id, f.feed_id, s.source_url, f.overrides,"
        " s.fetcher_id, m.name AS fetcher_name, failed.visits AS failures,"
        " (SELECT sum(d.visits) FROM subscription_days d WHERE d.day >= ?"
        " AND d.subscription_id = s.subscription_id) AS visits, f.failures AS in_a_row,"
        " (SELECT d.error FROM subscription_days d WHERE d.subscription_id = s.subscription_id"
        " AND d.day >= ? AND d.error <> '' ORDER BY d.last_at DESC, d.error LIMIT 1) AS last_error,"
        " f.last_success_at,"
        " CASE WHEN f.claimed_by IS NULL THEN f.next_visit_at ELSE f.scheduled_at END AS next_at"
        " FROM (SELECT subscription_id, sum(visits) AS visits FROM subscription_days"
        " WHERE day >= ? AND error <> '' GROUP BY subscription_id) failed"
        " JOIN rss_subscriptions s ON s.subscription_id = failed.subscription_id AND s.is_active"
        " JOIN feeds f ON f.id = s.feed_id"
        " JOIN fetcher_modules m ON m.fetcher_id = s.fetcher_id) ranked WHERE visits >= ?"
        " ORDER BY failures * 1.0 / visits DESC, in_a_row DESC, failures DESC, subscription_id"
        " LIMIT ?",
        *(first,) * 3,
        min_visits,
        limit,
    )
    return [_worst_of(row) for row in rows]


def _worst_of(row: Row) -> WorstSubscription:
    return WorstSubscription(
        subscription_id=row.subscription_id,
        feed_id=FeedId(row.feed_id),
        source_url=row.source_url,
        name=decode_overrides(row.overrides).title,
        fetcher_id=FetcherId(row.fetcher_id),
        fetcher_name=row.fetcher_name,
        visits=int(row.visits),
        failures=int(row.failures),
        in_a_row=row.in_a_row,
        last_error=row.last_error,
        last_success_at=maybe_moment(row.last_success_at),
        next_visit_at=maybe_moment(row.next_at),
    )


async def list_fetcher_counts(
    view: View, host: str, fetchers: Sequence[FetcherId], first_day: int
) -> list[FetcherCounts]:
    """Counts of each of these fetchers that is enabled, even if it never visited this host."""
    if not fetchers:
        return []
    rows = await view.rows(
        "SELECT m.fetcher_id, m.name, d.error, sum(d.visits) AS visits,"
        " sum(d.new_entries) AS new_entries, sum(d.dated_entries) AS dated_entries,"
        " sum(d.late_sec) AS late_sec, sum(d.late_squares) AS late_squares"
        " FROM fetcher_modules m LEFT JOIN fetcher_days d"
        " ON d.fetcher_id = m.fetcher_id AND d.host = ? AND d.day >= ?"
        f" WHERE m.is_enabled AND m.fetcher_id IN ({placeholders(len(fetchers))})"
        " GROUP BY m.fetcher_id, m.name, d.error ORDER BY m.fetcher_id, d.error",
        host,
        first_day,
        *fetchers,
    )
    by_fetcher: dict[int, list[Row]] = {}
    for row in rows:
        by_fetcher.setdefault(row.fetcher_id, []).append(row)
    return [_fetcher_counts_of(fetcher_rows) for fetcher_rows in by_fetcher.values()]


def _fetcher_counts_of(rows: Sequence[Row]) -> FetcherCounts:
    visited = [row for row in rows if row.error is not None]
    return FetcherCounts(
        fetcher_id=FetcherId(rows[0].fetcher_id),
        name=rows[0].name,
        visits=sum(int(row.visits) for row in visited),
        successes=sum(int(row.visits) for row in visited if not row.error),
        errors={row.error: int(row.visits) for row in visited if row.error},
        new_entries=sum(int(row.new_entries) for row in visited),
        dated_entries=sum(int(row.dated_entries) for row in visited),
        late_sec=sum(row.late_sec for row in visited),
        late_squares=sum(row.late_squares for row in visited),
    )
