"""Day rows: count each visit once, in the transaction that also marks it as counted."""

from collections.abc import Sequence
from typing import NamedTuple

from headwater.core.ports import Row, Transaction, placeholders
from headwater.statistics.days import (
    OLDER,
    CountedVisit,
    DayTotal,
    FetcherDay,
    LatencyDay,
    SubscriptionDay,
    by_day,
    by_fetcher,
    by_latency,
    by_subscription,
    older,
)

SAVED_BYTES = (
    "CASE WHEN v.outcome = 'unchanged' THEN coalesce((SELECT r.content_length FROM raw_fetches r"
    " WHERE r.feed_id = v.feed_id AND r.fetched_at <= v.started_at AND r.error IS NULL"
    " AND r.http_status BETWEEN 200 AND 299 ORDER BY r.fetched_at DESC LIMIT 1), 0) ELSE 0 END"
)
"""Bytes that the visit `v` did not have to fetch: the feed's last document, as it was served."""

_COUNTED_COLUMNS = (
    "v.feed_id, v.scheduled_at, v.finished_at, v.fetcher_id, f.host, v.outcome, v.error,"
    " v.new_entries, v.updated_entries, v.bytes_in, v.latency_ms, v.dated_entries, v.late_sec,"
    f" v.late_squares, v.retry, v.decoded_bytes, {SAVED_BYTES} AS saved_bytes"
)

ANSWERED_OUTCOMES = frozenset({"fetched", "unchanged", "unreadable"})
"""Outcomes of visits that were answered with a document, or with "it has not changed"."""


async def count_visits(tx: Transaction, most: int) -> int:
    """Count the oldest visits that are not counted yet. Returns how many were counted.

    Rows that another process counts or deletes are left to it, so that no process waits.
    """
    skip = " FOR UPDATE OF v SKIP LOCKED" if tx.dialect == "postgresql" else ""
    rows = await tx.rows(
        f"SELECT {_COUNTED_COLUMNS} FROM visits v JOIN feeds f ON f.id = v.feed_id"
        f" WHERE NOT v.counted ORDER BY v.finished_at LIMIT ?{skip}",
        most,
    )
    if not rows:
        return 0
    owners = await _hold_owners(tx, sorted({row.feed_id for row in rows}))
    ours = [row for row in rows if row.feed_id not in owners.being_deleted]
    visits = [_counted_visit_of(row, owners.of.get(row.feed_id)) for row in ours]
    await tx.run_many(_ADD_SUBSCRIPTION_DAY, by_subscription(visits))
    await tx.run_many(_ADD_FETCHER_DAY, by_fetcher(visits))
    await tx.run_many(_ADD_LATENCY_DAY, by_latency(visits))
    await tx.run_many(_ADD_DAY_TOTAL, by_day(visits))
    await tx.run_many(
        "UPDATE visits SET counted = true WHERE feed_id = ? AND scheduled_at = ?",
        sorted((row.feed_id, row.scheduled_at) for row in ours),
    )
    return len(ours)


class _Owners(NamedTuple):
    """The subscription of each feed, held against deletion until the transaction ends."""

    of: dict[int, int]
    being_deleted: set[int]


async def _hold_owners(tx: Transaction, feeds: Sequence[int]) -> _Owners:
    sql = (
        "SELECT feed_id, subscription_id FROM rss_subscriptions"
        f" WHERE feed_id IN ({placeholders(len(feeds))})"
    )
    hold = " FOR KEY SHARE SKIP LOCKED" if tx.dialect == "postgresql" else ""
    of = {row.feed_id: row.subscription_id for row in await tx.rows(sql + hold, *feeds)}
    if len(of) == len(feeds):
        return _Owners(of, set())
    subscribed = {row.feed_id for row in await tx.rows(sql, *feeds)}
    return _Owners(of, subscribed - of.keys())


def _counted_visit_of(row: Row, subscription_id: int | None) -> CountedVisit:
    return CountedVisit(
        subscription_id=subscription_id,
        fetcher_id=row.fetcher_id,
        host=row.host,
        finished_at=row.finished_at,
        error=row.error or "",
        unchanged=row.outcome == "unchanged",
        new_entries=row.new_entries,
        updated_entries=row.updated_entries,
        bytes_in=row.bytes_in,
        latency_ms=row.latency_ms,
        dated_entries=row.dated_entries,
        late_sec=row.late_sec,
        late_squares=row.late_squares,
        retry=bool(row.retry),
        saved_bytes=row.saved_bytes,
        decoded_bytes=row.decoded_bytes,
        brought=row.outcome in ANSWERED_OUTCOMES,
    )


def _upsert_sql(table: str, fields: tuple[str, ...], keys: int) -> str:
    """Add to the sums of a row, and keep the later `last_at`."""
    later = f"CASE WHEN excluded.last_at > {table}.last_at THEN excluded.last_at"
    sums = [
        f"last_at = {later} ELSE {table}.last_at END"
        if name == "last_at"
        else f"{name} = {table}.{name} + excluded.{name}"
        for name in fields[keys:]
    ]
    return (
        f"INSERT INTO {table} ({', '.join(fields)}) VALUES ({placeholders(len(fields))})"
        f" ON CONFLICT ({', '.join(fields[:keys])}) DO UPDATE SET {', '.join(sums)}"
    )


_ADD_SUBSCRIPTION_DAY = _upsert_sql("subscription_days", SubscriptionDay._fields, 3)
_ADD_FETCHER_DAY = _upsert_sql("fetcher_days", FetcherDay._fields, 4)
_ADD_LATENCY_DAY = _upsert_sql("latency_days", LatencyDay._fields, 2)
_ADD_DAY_TOTAL = _upsert_sql("day_totals", DayTotal._fields, 1)


async def delete_fetcher_days(tx: Transaction, before: int) -> int:
    """Delete days before that one: visits so long ago say nothing about a fetcher any more."""
    return await tx.run("DELETE FROM fetcher_days WHERE day < ?", before)


async def delete_latency_days(tx: Transaction, before: int) -> int:
    return await tx.run("DELETE FROM latency_days WHERE day < ?", before)


async def gather_old_days(tx: Transaction, before: int, most: int) -> int:
    """Merge a subscription's days before that one into its one sum of all older days."""
    skip = ""
    if tx.dialect == "postgresql":
        skip = " FOR UPDATE OF d SKIP LOCKED FOR KEY SHARE OF s SKIP LOCKED"
    rows = await tx.rows(
        "DELETE FROM subscription_days WHERE (subscription_id, day, error) IN"
        " (SELECT d.subscription_id, d.day, d.error FROM subscription_days d"
        " JOIN rss_subscriptions s ON s.subscription_id = d.subscription_id"
        f" WHERE d.day > ? AND d.day < ? ORDER BY d.day LIMIT ?{skip})"
        f" RETURNING {', '.join(SubscriptionDay._fields)}",
        OLDER,
        before,
        most,
    )
    days = [SubscriptionDay(*row) for row in rows]
    await tx.run_many(_ADD_SUBSCRIPTION_DAY, older(days))
    return len(rows)
