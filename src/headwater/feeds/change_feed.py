"""Change a feed: its options and its state; refetch it soon; undo one of its aliases."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from headwater.core import idempotency_rows
from headwater.core.errors import ConflictError, NotFound, TooSoon
from headwater.core.ports import Database, Transaction
from headwater.core.values.ids import FeedId
from headwater.core.values.instant import from_micros
from headwater.feeds import feed_rows
from headwater.feeds.entries import entry_rows
from headwater.feeds.feed import Feed, FeedPatch, patched_feed
from headwater.feeds.schedule.policy import SchedulePolicy
from headwater.feeds.schedule.replan import earliest_visit, replan_feed
from headwater.feeds.services import FeedServices
from headwater.feeds.worker import host_rows


@dataclass(frozen=True, slots=True)
class RefetchResult:
    """The answer to a refetch. `in_progress`: a worker is visiting the feed already."""

    next_visit_at: datetime
    in_progress: bool


async def change_feed(
    feed_id: str, patch: FeedPatch, services: FeedServices, gap: timedelta
) -> Feed:
    """Change a feed. `gap` is the shortest time between two visits that a person may ask for."""
    async with services.database.write() as tx:
        changed = await change_feed_within(tx, feed_id, patch, services.schedule, gap)
    return changed


async def change_feed_within(
    tx: Transaction, feed_id: str, patch: FeedPatch, schedule: SchedulePolicy, gap: timedelta
) -> Feed:
    """Change a feed inside a transaction that changes more than this."""
    now = tx.now
    before = await feed_rows.get_feed(tx, feed_id, lock=True)
    after = patched_feed(before, patch)
    after.overrides.policy_from(schedule)  # refuses limits that contradict each other
    await feed_rows.update_feed_options(tx, after, now)
    if after.state != before.state:
        await _change_state(tx, after, gap, now)
    if not after.overrides.has_pace_of(before.overrides):
        await replan_feed(tx, before, after, schedule, now)
    return await feed_rows.get_feed(tx, feed_id)


async def refetch(
    feed_id: str,
    services: FeedServices,
    *,
    whole: bool,
    gap: timedelta,
    idempotency: bytes | None = None,
) -> RefetchResult:
    """Make a feed due now, unless that is impolite. The host's turn is still waited for."""
    now = services.clock.now()
    async with services.database.write() as tx:
        feed = await feed_rows.get_feed(tx, feed_id, lock=True)
        _check_active(feed)
        if feed.schedule.claimed and not whole:
            await _record_resource(tx, idempotency, feed.id)
            return RefetchResult(now, in_progress=True)
        await _check_not_too_soon(tx, feed, services.schedule, gap, now)
        if not await feed_rows.set_due_now(tx, feed, whole=whole, now=now):
            raise _too_soon(
                "A visit is under way; the whole document can be asked for after it.", gap
            )
        await _record_resource(tx, idempotency, feed.id)
        planned = (await feed_rows.get_feed(tx, feed_id)).schedule.next_visit_at or now
    return RefetchResult(planned, in_progress=False)


async def undo_alias(feed_id: str, alias_uid: str, database: Database) -> None:
    """The drifted uid names an entry of its own again. To undo twice is to undo once."""
    now = database.clock.now()
    async with database.write() as tx:
        feed = await feed_rows.get_feed(tx, feed_id)
        undone = await entry_rows.undo_alias(tx, feed.pk, alias_uid, now)
    if not undone:
        raise NotFound("This feed has no such alias.", what="alias")


async def _change_state(tx: Transaction, feed: Feed, gap: timedelta, now: datetime) -> None:
    if feed.state == "paused":
        await feed_rows.set_paused(tx, feed, now)
    else:
        await feed_rows.set_active(tx, feed, at=earliest_visit(feed, gap, now), now=now)


async def _record_resource(tx: Transaction, idempotency: bytes | None, feed_id: FeedId) -> None:
    if idempotency is not None:
        await idempotency_rows.set_key_resource(tx, idempotency, feed_id)


def _check_active(feed: Feed) -> None:
    if feed.state == "active":
        return
    raise ConflictError(
        f"This feed is {feed.state}: it is not visited. Set its state to active first.",
        feed_id=feed.id,
        state=feed.state,
    )


async def _check_not_too_soon(
    tx: Transaction, feed: Feed, schedule: SchedulePolicy, gap: timedelta, now: datetime
) -> None:
    rests_until = await host_rows.find_end_of_rest(tx, feed.pk, schedule.initial_interval)
    host_ready = now if rests_until is None else from_micros(rests_until)
    wait = max(earliest_visit(feed, gap, now), host_ready) - now
    if wait > timedelta():
        raise _too_soon("This host was asked a moment ago, or asked for a rest.", wait)


def _too_soon(message: str, wait: timedelta) -> TooSoon:
    return TooSoon(message, retry_after_sec=round(wait.total_seconds(), 3))
