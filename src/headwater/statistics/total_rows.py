"""Total rows: read sums over all feeds, broken promises, and the feeds that stand out."""

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.core.ports import SqlValue, View, placeholders
from headwater.core.values.ids import FeedId, FeedPk
from headwater.statistics.days import DAY_MICROS


@dataclass(frozen=True, slots=True)
class DayFailures:
    """One day's visits of all subscriptions, and how many failed with the codes of a filter."""

    day: int
    visits: int
    never: int
    sometimes: int


@dataclass(frozen=True, slots=True)
class FeedDayFailures:
    """One feed on one day: how many visits are judged, and how many of these failed."""

    feed_id: FeedId
    url: str
    day: int
    visits: int
    failures: int

    @property
    def share(self) -> float:
        return self.failures / self.visits


@dataclass(frozen=True, slots=True)
class SlowFeed:
    """A feed with the mean latency of its successful visits."""

    feed_id: FeedId
    url: str
    visits: int
    mean_ms: float


@dataclass(frozen=True, slots=True)
class TopFeed:
    """A feed that stands out, with its chosen interval and the gap between its posts."""

    feed_id: FeedId
    count: int
    interval_sec: float
    ewma_sec: float | None


async def latencies(view: View, first_day: int, *, small_only: bool = True) -> dict[int, int]:
    """Count fetches by bucket of latency. `small_only`: only those of a megabyte at most."""
    column = "small" if small_only else "fetches"
    rows = await view.rows(
        f"SELECT bucket, sum({column}) AS many FROM latency_days WHERE day >= ? GROUP BY bucket",
        first_day,
    )
    return {row.bucket: int(row.many) for row in rows}


async def p99_of_feed(view: View, feed: FeedPk, first_day: int) -> float | None:
    """The exact 99th percentile in milliseconds, of the visits that are stored one by one."""
    since = first_day * DAY_MICROS
    row = await view.row(
        "SELECT count(*) AS visits FROM visits WHERE feed_id = ? AND finished_at >= ?", feed, since
    )
    if row is None or not row.visits:
        return None
    slow = await view.row(
        "SELECT latency_ms FROM visits WHERE feed_id = ? AND finished_at >= ?"
        " ORDER BY latency_ms DESC LIMIT 1 OFFSET ?",
        feed,
        since,
        int(row.visits) // 100,
    )
    return None if slow is None else float(slow.latency_ms)


@dataclass(frozen=True, slots=True)
class FailureFilter:
    """A filter of failures: those with a code of `never` are not judged, and those with a code of
    `sometimes` only on certain `days`. Visits that failed with a code that is not judged are left
    out altogether."""

    never: Sequence[str]
    sometimes: Sequence[str]
    days: Sequence[int] = ()

    def condition(self) -> tuple[str, list[SqlValue]]:
        """SQL that is true for a row `d` of failures that are judged, and its values."""
        days = placeholders(len(self.days)) or "-1"
        sql = (
            f"(d.error <> '' AND d.error NOT IN ({placeholders(len(self.never))})"
            f" AND (d.error NOT IN ({placeholders(len(self.sometimes))}) OR d.day IN ({days})))"
        )
        return sql, [*self.never, *self.sometimes, *self.days]


async def list_day_failures(view: View, first_day: int, blame: FailureFilter) -> list[DayFailures]:
    """Each day with the failures that `blame` never judges, and those it judges sometimes."""
    never, sometimes = placeholders(len(blame.never)), placeholders(len(blame.sometimes))
    rows = await view.rows(
        "SELECT day, sum(visits) AS visits,"
        f" sum(CASE WHEN error IN ({never}) THEN visits ELSE 0 END) AS never,"
        f" sum(CASE WHEN error IN ({sometimes}) THEN visits ELSE 0 END) AS sometimes"
        " FROM subscription_days WHERE day >= ? GROUP BY day ORDER BY day",
        *blame.never,
        *blame.sometimes,
        first_day,
    )
    return [
        DayFailures(row.day, int(row.visits), int(row.never), int(row.sometimes)) for row in rows
    ]


def _judged_sql(blame: FailureFilter, first_day: int) -> tuple[str, list[SqlValue]]:
    """SQL for each subscription and day with a failure that is judged, and its values."""
    condition, values = blame.condition()
    sql = (
        "WITH judged AS (SELECT failed.subscription_id, failed.day, failed.failures,"
        " (SELECT sum(d.visits) FROM subscription_days d"
        " WHERE d.subscription_id = failed.subscription_id AND d.day = failed.day"
        f" AND (d.error = '' OR {condition})) AS visits FROM (SELECT d.subscription_id, d.day,"
        f" sum(d.visits) AS failures FROM subscription_days d WHERE d.day >= ? AND {condition}"
        " GROUP BY d.subscription_id, d.day) failed)"
    )
    return sql, [*values, first_day, *values]


async def list_most_failed_days(
    view: View, first_day: int, blame: FailureFilter, limit: int
) -> list[FeedDayFailures]:
    """Feeds and days with failures, the largest share of failures first."""
    judged, values = _judged_sql(blame, first_day)
    rows = await view.rows(
        f"{judged} SELECT f.feed_id, f.url, j.day, j.visits, j.failures FROM judged j"
        " JOIN rss_subscriptions s ON s.subscription_id = j.subscription_id"
        " JOIN feeds f ON f.id = s.feed_id"
        " ORDER BY j.failures * 1.0 / j.visits DESC, j.failures DESC, f.feed_id, j.day DESC"
        " LIMIT ?",
        *values,
        limit,
    )
    return [
        FeedDayFailures(FeedId(row.feed_id), row.url, row.day, int(row.visits), int(row.failures))
        for row in rows
    ]


async def count_over_budget(view: View, first_day: int, blame: FailureFilter, share: float) -> int:
    """Count subscriptions that failed at least this share of their visits on at least one day."""
    judged, values = _judged_sql(blame, first_day)
    row = await view.row(
        f"{judged} SELECT count(DISTINCT subscription_id) AS many FROM judged"
        " WHERE failures >= visits * CAST(? AS DOUBLE PRECISION)",
        *values,
        share,
    )
    return int(row.many) if row else 0


async def list_slowest_feeds(view: View, first_day: int, limit: int) -> list[SlowFeed]:
    """The slowest feeds by the mean latency of their successful visits."""
    rows = await view.rows(
        "SELECT f.feed_id, f.url, slow.visits, slow.mean_ms FROM (SELECT subscription_id,"
        " sum(visits) AS visits, sum(latency_ms) / sum(visits) AS mean_ms FROM subscription_days"
        " WHERE day >= ? AND error = '' GROUP BY subscription_id"
        " ORDER BY mean_ms DESC, subscription_id LIMIT ?) slow"
        " JOIN rss_subscriptions s ON s.subscription_id = slow.subscription_id"
        " JOIN feeds f ON f.id = s.feed_id ORDER BY slow.mean_ms DESC, f.feed_id",
        first_day,
        limit,
    )
    return [
        SlowFeed(FeedId(row.feed_id), row.url, int(row.visits), float(row.mean_ms)) for row in rows
    ]


async def list_busiest_feeds(view: View, first_day: int, limit: int) -> list[TopFeed]:
    """Feeds with the most new entries since that day."""
    return await _list_top_feeds(view, "new_entries", "new_entries > 0", first_day, limit)


async def list_most_failing_feeds(view: View, first_day: int, limit: int) -> list[TopFeed]:
    """Feeds with the most failed visits since that day."""
    return await _list_top_feeds(view, "visits", "error <> ''", first_day, limit)


async def _list_top_feeds(
    view: View, column: str, condition: str, first_day: int, limit: int
) -> list[TopFeed]:
    rows = await view.rows(
        "SELECT f.feed_id, top.many, f.interval_sec, f.ewma_sec FROM (SELECT subscription_id,"
        f" sum({column}) AS many FROM subscription_days WHERE day >= ? AND {condition}"
        " GROUP BY subscription_id ORDER BY many DESC, subscription_id LIMIT ?) top"
        " JOIN rss_subscriptions s ON s.subscription_id = top.subscription_id"
        " JOIN feeds f ON f.id = s.feed_id ORDER BY top.many DESC, top.subscription_id",
        first_day,
        limit,
    )
    return [
        TopFeed(FeedId(row.feed_id), int(row.many), row.interval_sec, row.ewma_sec) for row in rows
    ]


async def list_failing_hosts(view: View, first_day: int, limit: int) -> list[tuple[str, int]]:
    """Hosts with the most failed visits since that day."""
    rows = await view.rows(
        "SELECT host, sum(visits) AS many FROM fetcher_days WHERE day >= ? AND error <> ''"
        " GROUP BY host ORDER BY many DESC, host LIMIT ?",
        first_day,
        limit,
    )
    return [(row.host, int(row.many)) for row in rows]


async def saved_bytes(view: View) -> int:
    """Bytes that 304s ever spared us, of all feeds."""
    row = await view.row("SELECT coalesce(sum(saved_bytes), 0) AS saved FROM day_totals")
    return int(row.saved) if row else 0


async def count_uncounted_visits(view: View, most: int) -> int:
    """Count visits that are in no sum yet, up to `most`."""
    row = await view.row(
        "SELECT count(*) AS many FROM (SELECT 1 AS one FROM visits WHERE NOT counted LIMIT ?) few",
        most,
    )
    return int(row.many) if row else 0
