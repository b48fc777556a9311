"""What may be asked of subscriptions: one by its number, its URL or its feed, and many in order."""

import orjson

from headwater.errors import BadUrl, NotFound
from headwater.ports import Reader, Row, Value
from headwater.subscribe.fetcher import FetcherId
from headwater.subscribe.store import url_key
from headwater.subscribe.subscription import Subscription, shown_interval
from headwater.values.ids import FeedId, FeedPk
from headwater.values.instant import from_micros, maybe_moment
from headwater.values.url import checked_source

# While somebody visits, `next_visit_at` is the end of their lease; the visit itself is the one
# that was scheduled.
_SELECT = (
    "SELECT s.subscription_id, s.fetcher_id, m.name AS fetcher_name, s.source_url, s.source_type,"
    " s.description, s.is_active, s.config, s.assignment_status, s.auto_selected, s.assigned_at,"
    " s.group_id, s.created_at, s.updated_at, f.id AS feed_pk, f.feed_id, f.overrides,"
    " f.interval_sec, f.last_success_at, s.credentials IS NOT NULL AS has_credentials,"
    " CASE WHEN f.claimed_by IS NULL THEN f.next_visit_at ELSE f.scheduled_at END AS next_fetch_at"
    " FROM rss_subscriptions s JOIN feeds f ON f.id = s.feed_id"
    " JOIN fetcher_modules m ON m.fetcher_id = s.fetcher_id"
)


async def subscription(view: Reader, subscription_id: int, *, lock: bool = False) -> Subscription:
    """`lock` keeps others from changing it, its feed and its conflicts until the end."""
    if lock:
        await lock_feed_of(view, "s.subscription_id = ?", subscription_id)
    found = await _one(view, "s.subscription_id = ?", subscription_id)
    if found is None:
        raise NotFound("There is no such subscription.", what="subscription")
    return found


async def by_url(view: Reader, url: str, *, lock: bool = False) -> Subscription | None:
    """Of this source URL, however it is spelt; failing that, of the feed that lives there now."""
    key = url_key(_as_source(url))
    for where in ("s.source_key = ?", "f.url_key = ?"):
        if lock:
            await lock_feed_of(view, where, key)
        found = await _one(view, where, key)
        if found is not None:
            return found
    return None


def _as_source(url: str) -> str:
    """As it would be subscribed to; what could not be is looked for as it is."""
    try:
        return checked_source(url)
    except BadUrl:
        return url


async def of_feed(view: Reader, feed_id: str) -> Subscription:
    found = await _one(view, "f.feed_id = ?", feed_id)
    if found is None:
        raise NotFound("There is no such feed.", what="feed")
    return found


async def subscriptions(
    view: Reader,
    *,
    after: int = 0,
    limit: int,
    include_inactive: bool = False,
    fetcher_id: int | None = None,
    group_id: int | None = None,
) -> list[Subscription]:
    """In the order they were made, from the one after `after`."""
    where, values = "s.subscription_id > ?", list[Value]((after,))
    if not include_inactive:
        where += " AND s.is_active"
    for column, wanted in (("fetcher_id", fetcher_id), ("group_id", group_id)):
        if wanted is not None:
            where += f" AND s.{column} = ?"
            values.append(wanted)
    rows = await view.rows(
        f"{_SELECT} WHERE {where} ORDER BY s.subscription_id LIMIT ?", *values, limit
    )
    return [_subscription_of(row) for row in rows]


async def lock_feed_of(view: Reader, where: str, value: Value) -> None:
    """A feed's row is the lock of all that belongs to it: taken first by everybody, so that nobody
    waits for somebody who waits. On SQLite the whole transaction is that lock."""
    if view.dialect == "postgresql":
        await view.rows(
            "SELECT f.id FROM rss_subscriptions s JOIN feeds f ON f.id = s.feed_id"
            f" WHERE {where} FOR UPDATE OF f",
            value,
        )


async def _one(view: Reader, where: str, value: Value) -> Subscription | None:
    row = await view.row(f"{_SELECT} WHERE {where}", value)
    return None if row is None else _subscription_of(row)


def _subscription_of(row: Row) -> Subscription:
    overrides = orjson.loads(row.overrides)
    return Subscription(
        id=row.subscription_id,
        fetcher_id=FetcherId(row.fetcher_id),
        fetcher_name=row.fetcher_name,
        feed_id=FeedId(row.feed_id),
        feed_pk=FeedPk(row.feed_pk),
        source_url=row.source_url,
        source_type=row.source_type,
        name=overrides.get("title"),
        description=row.description,
        last_fetched_at=maybe_moment(row.last_success_at),
        next_fetch_at=maybe_moment(row.next_fetch_at),
        fetch_interval_minutes=shown_interval(overrides.get("interval_sec"), row.interval_sec),
        is_active=bool(row.is_active),
        config=row.config,
        assignment_status=row.assignment_status,
        auto_selected=bool(row.auto_selected),
        assigned_at=maybe_moment(row.assigned_at),
        group_id=row.group_id,
        created_at=from_micros(row.created_at),
        updated_at=from_micros(row.updated_at),
        has_credentials=bool(row.has_credentials),
    )
