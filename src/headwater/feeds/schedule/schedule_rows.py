"""The schedule in the database: how many feeds are due, claimed, failing and overdue."""

from dataclasses import dataclass
from datetime import datetime

from headwater.core.ports import View
from headwater.core.values.ids import FeedId
from headwater.core.values.instant import maybe_moment, to_micros


@dataclass(frozen=True, slots=True)
class ScheduleLoad:
    """How much there is to do. `oldest_due_at`: when the longest-waiting feed was planned.

    Feeds of a registered fetcher are not due for us.
    """

    by_state: dict[str, int]
    due: int
    claimed: int
    failing: int
    oldest_due_at: datetime | None


async def get_schedule_load(view: View, now: datetime) -> ScheduleLoad:
    states = await view.rows("SELECT state, count(*) AS feeds FROM feeds GROUP BY state")
    waiting = await view.row(
        "SELECT count(*) AS due, min(next_visit_at) AS oldest FROM feeds"
        " WHERE next_visit_at IS NOT NULL AND next_visit_at <= ? AND shard >= 0",
        to_micros(now),
    )
    claimed = await view.row("SELECT count(*) AS feeds FROM feeds WHERE claimed_by IS NOT NULL")
    failing = await view.row(
        "SELECT count(*) AS feeds FROM feeds WHERE failures > 0 AND state = 'active'"
    )
    assert waiting and claimed and failing
    return ScheduleLoad(
        by_state={row.state: row.feeds for row in states},
        due=waiting.due,
        claimed=claimed.feeds,
        failing=failing.feeds,
        oldest_due_at=maybe_moment(waiting.oldest),
    )


@dataclass(frozen=True, slots=True)
class OverdueFeed:
    """A feed that has waited too long: `times` the interval that was chosen for it."""

    feed_id: FeedId
    url: str
    times: float
    chosen_sec: float


_CHOSEN = (
    "(SELECT feed_id, url, began, CASE WHEN planned > remembered THEN planned ELSE remembered END"
    " AS chosen FROM (SELECT feed_id, url, coalesce(last_decision_at, created_at) AS began,"
    " scheduled_at - coalesce(last_decision_at, created_at) AS planned,"
    " interval_sec * 1000000 AS remembered FROM feeds WHERE state = 'active'"
    " AND scheduled_at IS NOT NULL) plans) waiting"
)
"""Active feeds with the wait that their last decision chose: the time to the next visit, with
hints, pauses and luck in it, and never less than the stored interval."""


async def count_active_and_overdue(view: View, now: datetime, times: float) -> tuple[int, int]:
    """The number of active feeds, and of those that waited longer than `times` the interval."""
    row = await view.row(
        "SELECT count(*) AS feeds, coalesce(sum(CASE WHEN CAST(? AS BIGINT) - began"
        f" > chosen * CAST(? AS DOUBLE PRECISION) THEN 1 ELSE 0 END), 0) AS late FROM {_CHOSEN}",
        to_micros(now),
        times,
    )
    assert row is not None
    return int(row.feeds), int(row.late)


async def list_overdue_feeds(
    view: View, now: datetime, times: float, limit: int
) -> list[OverdueFeed]:
    """Feeds that have waited longer than `times` their chosen interval, the longest first."""
    moment = to_micros(now)
    rows = await view.rows(
        "SELECT feed_id, url, chosen, (CAST(? AS BIGINT) - began) * 1.0 / chosen AS times"
        f" FROM {_CHOSEN} WHERE CAST(? AS BIGINT) - began > chosen * CAST(? AS DOUBLE PRECISION)"
        " ORDER BY times DESC, feed_id LIMIT ?",
        moment,
        moment,
        times,
        limit,
    )
    return [
        OverdueFeed(FeedId(row.feed_id), row.url, float(row.times), float(row.chosen) / 1_000_000)
        for row in rows
    ]
