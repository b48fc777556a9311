"""What people ask of a feed they follow: change it, visit it soon, take it off."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from headwater.access import store as access
from headwater.announce import store as log
from headwater.announce.event import Event, conflict_resolved, subscription_deleted
from headwater.engine import Engine
from headwater.errors import Conflict, NotFound, TooSoon
from headwater.merge import store as entries
from headwater.ports import Transaction
from headwater.schedule import queries
from headwater.schedule.replan import earliest_visit, policy_of
from headwater.schedule.shards import store as shards
from headwater.schedule.steps import plan_anew
from headwater.subscribe import store
from headwater.subscribe.conflict import SUBSCRIPTION_DELETED
from headwater.subscribe.conflicts import store as conflicts
from headwater.subscribe.feed import Feed, FeedPatch, Overrides, patched
from headwater.subscribe.history import store as decisions
from headwater.subscribe.subscription import HEADWATER, Subscription, as_assigned
from headwater.subscribe.subscriptions import store as subscriptions
from headwater.subscribe.subscriptions.queries import of_feed
from headwater.values.ids import FeedId
from headwater.values.instant import from_micros, rfc3339

_PACE = ("min_interval_sec", "max_interval_sec", "interval_sec", "push_only", "ceiling_sec")


@dataclass(frozen=True, slots=True)
class Refetch:
    """What became of the wish for a visit. `in_progress`: a worker is there already."""

    next_visit_at: datetime
    in_progress: bool


async def change_feed(feed_id: str, patch: FeedPatch, engine: Engine, gap: timedelta) -> Feed:
    """`gap` is the shortest time between two visits that a person may ask for."""
    async with engine.database.write() as tx:
        changed = await change_in(tx, feed_id, patch, engine, gap)
    engine.woken.set()
    return changed


async def change_in(
    tx: Transaction, feed_id: str, patch: FeedPatch, engine: Engine, gap: timedelta
) -> Feed:
    """The same inside a transaction that changes more than this."""
    now = engine.clock.now()
    before = await queries.feed(tx, feed_id, lock=True)
    after = patched(before, patch)
    policy_of(after.overrides, engine.schedule)
    await store.save_wish(tx, after, now)
    if after.state != before.state:
        await _change_state(tx, after, gap, now)
    if _pace(after.overrides) != _pace(before.overrides):
        await plan_anew(tx, before, after, engine.schedule, now)
    return await queries.feed(tx, feed_id)


async def refetch(
    feed_id: str, engine: Engine, *, whole: bool, gap: timedelta, idempotency: bytes | None = None
) -> Refetch:
    """Due now, unless that would be impolite; the host's turn is still waited for."""
    now = engine.clock.now()
    async with engine.database.write() as tx:
        feed = await queries.feed(tx, feed_id, lock=True)
        _refuse_unless_active(feed)
        if feed.schedule.claimed and not whole:
            await _remember(tx, idempotency, feed.id)
            return Refetch(now, in_progress=True)
        await _refuse_too_soon(tx, feed, engine, gap, now)
        if not await store.make_due(tx, feed, whole=whole, now=now):
            raise _too_soon(
                "A visit is under way; the whole document can be asked for after it.", gap
            )
        await _remember(tx, idempotency, feed.id)
        planned = (await queries.feed(tx, feed_id)).schedule.next_visit_at or now
    engine.woken.set()
    return Refetch(planned, in_progress=False)


async def remove_feed(feed_id: str, engine: Engine, *, hard: bool, who: str = HEADWATER) -> Feed:
    """Soft: no more visits, history stays. Hard: everything goes, one event tells of it."""
    now = engine.clock.now()
    async with engine.database.write() as tx:
        feed = await queries.feed(tx, feed_id, lock=True)
        facts = await take_off(tx, feed, hard=hard, who=who, now=now)
        await log.append(tx, facts, now)
    return feed


async def take_off(
    tx: Transaction, feed: Feed, *, hard: bool, who: str, now: datetime
) -> list[Event]:
    """A feed goes together with its subscription. The facts are for the caller to append last."""
    there = await of_feed(tx, feed.id)
    told = subscription_deleted(there, feed.url, rfc3339(now), hard=hard)
    if hard:
        await subscriptions.delete_for_good(tx, there.id)
        return [told]
    if feed.state == "removed":
        return []
    gone = await subscriptions.deactivate(tx, there.id, now)
    closed = await conflicts.resolve_all_of(tx, there.id, SUBSCRIPTION_DELETED, who, now)
    await _write_down(tx, there, gone, who, now)
    return [*(conflict_resolved(each, gone) for each in closed), told]


async def _write_down(
    tx: Transaction, before: Subscription, after: Subscription, who: str, now: datetime
) -> None:
    await decisions.write(
        tx,
        after.id,
        at=now,
        who=who,
        what="deleted",
        why=None,
        before=as_assigned(before),
        after=as_assigned(after),
    )


async def undo_alias(feed_id: str, alias_uid: str, engine: Engine) -> None:
    """The drifted uid stands for an entry of its own again. Undoing twice is undoing once."""
    now = engine.clock.now()
    async with engine.database.write() as tx:
        feed = await queries.feed(tx, feed_id)
        undone = await entries.undo_alias(tx, feed.pk, alias_uid, now)
    if not undone:
        raise NotFound("This feed has no such alias.", what="alias")


async def _change_state(tx: Transaction, feed: Feed, gap: timedelta, now: datetime) -> None:
    if feed.state == "paused":
        await store.pause(tx, feed, now)
    else:
        await store.resume(tx, feed, at=earliest_visit(feed, gap, now), now=now)


async def _remember(tx: Transaction, idempotency: bytes | None, feed_id: FeedId) -> None:
    if idempotency is not None:
        await access.remember_resource(tx, idempotency, feed_id)


def _pace(overrides: Overrides) -> tuple[object, ...]:
    return tuple(getattr(overrides, name) for name in _PACE)


def _refuse_unless_active(feed: Feed) -> None:
    if feed.state == "active":
        return
    raise Conflict(
        f"This feed is {feed.state}: it is not visited. Set its state to active first.",
        feed_id=feed.id,
        state=feed.state,
    )


async def _refuse_too_soon(
    tx: Transaction, feed: Feed, engine: Engine, gap: timedelta, now: datetime
) -> None:
    rests_until = await shards.end_of_rest(tx, feed.pk, engine.schedule.initial_interval)
    host_ready = now if rests_until is None else from_micros(rests_until)
    wait = max(earliest_visit(feed, gap, now), host_ready) - now
    if wait > timedelta():
        raise _too_soon("This host was asked a moment ago, or asked for a rest.", wait)


def _too_soon(message: str, wait: timedelta) -> TooSoon:
    return TooSoon(message, retry_after_sec=round(wait.total_seconds(), 3))
