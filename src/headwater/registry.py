"""Subscriptions from wish to assignment: made, changed and let go, each in one transaction."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from uuid_utils import uuid7

from headwater.access.store import remember_resource
from headwater.announce import store as log
from headwater.announce.event import (
    Event,
    conflict_opened,
    subscription_created,
)
from headwater.assigning import Choice, chosen_fetcher
from headwater.changing import Change, Changes, enabled_fetcher
from headwater.engine import Engine
from headwater.errors import BadUrl, DuplicateUrl, NotFound
from headwater.fetch.address import check_url
from headwater.membership import welcome
from headwater.ports import Transaction
from headwater.schedule import queries as feed_queries
from headwater.subscribe import store as feeds
from headwater.subscribe.config_schema import checked_config
from headwater.subscribe.conflict import MULTI_FETCHER_MATCH
from headwater.subscribe.conflicts import store as conflicts
from headwater.subscribe.feed import KEEP
from headwater.subscribe.groups import store as groups
from headwater.subscribe.history import store as history
from headwater.subscribe.store import Followed
from headwater.subscribe.subscription import NewSubscription, Subscription, as_assigned
from headwater.subscribe.subscriptions import queries
from headwater.subscribe.subscriptions import store as subscriptions
from headwater.telemetry.log import logger
from headwater.unlock import keep_credentials
from headwater.values.ids import FeedId
from headwater.values.url import checked_source, redacted
from headwater.wishes import take_off

_lines = logger("registry")


async def create_subscription(
    new: NewSubscription, engine: Engine, who: str, *, idempotency: bytes | None = None
) -> Subscription:
    """Ask who can, assign the best, and let the first visit be due now. Nothing is fetched here."""
    source = checked_source(new.source_url)
    check_url(source, engine.fetch.address)
    await _refuse_duplicate(engine, source)
    choice = await chosen_fetcher(engine, source, new.source_type, target=new.fetcher_id)
    new = replace(new, source_url=source)
    now = engine.clock.now()
    try:
        async with engine.database.write() as tx:
            made, events = await _make(tx, engine, new, choice, who, now)
            if idempotency is not None:
                await remember_resource(tx, idempotency, str(made.id))
            await log.append(tx, events, now)
    except DuplicateUrl as trouble:
        raise _duplicate(source, **trouble.facts) from trouble
    engine.woken.set()
    _lines.info(
        "subscription_created",
        subscription=made.id,
        source_url=redacted(source),
        fetcher=made.fetcher_id,
        assignment=made.assignment_status,
        tied=list(choice.tied),
        by=who,
    )
    return made


async def change_subscription(
    subscription_id: int, changes: Changes, engine: Engine, who: str, *, gap: timedelta
) -> Subscription:
    """Another fetcher is asked first. `gap`: the shortest time between visits a person may ask."""
    if changes.fetcher_id is not KEEP:
        async with engine.database.read() as view:
            there = await queries.subscription(view, subscription_id)
        await chosen_fetcher(engine, there.source_url, there.source_type, target=changes.fetcher_id)
    now = engine.clock.now()
    async with engine.database.write() as tx:
        before = await queries.subscription(tx, subscription_id, lock=True)
        change = Change(tx, engine, who, now, gap)
        after = await change.apply(before, changes)
        await log.append(tx, change.facts, now)
    engine.woken.set()
    told = [event.type for event in change.facts]
    _lines.info("subscription_changed", subscription=after.id, told=told, by=who)
    return after


async def delete_subscription(
    subscription_id: int, engine: Engine, who: str, *, hard: bool
) -> Subscription:
    """As it was before. Soft: no more visits. Hard: everything goes, one event tells of it."""
    now = engine.clock.now()
    async with engine.database.write() as tx:
        there = await queries.subscription(tx, subscription_id, lock=True)
        await _let_go(tx, there, hard=hard, who=who, now=now)
    _lines.info("subscription_deleted", subscription=there.id, hard=hard, by=who)
    return there


async def delete_by_url(url: str, engine: Engine, who: str, *, hard: bool) -> Subscription:
    """Softly deleted ones cannot be found by their URL, except to delete them for good."""
    now = engine.clock.now()
    async with engine.database.write() as tx:
        source = _source(url)
        there = await queries.by_url(tx, source, lock=True) if source else None
        if there is None or not (there.is_active or hard):
            shown = redacted(source) if source else "this is none"
            raise NotFound(f"Subscription not found for URL: {shown}", what="subscription")
        await _let_go(tx, there, hard=hard, who=who, now=now)
    _lines.info("subscription_deleted", subscription=there.id, hard=hard, by=who)
    return there


def _source(url: str) -> str | None:
    try:
        return checked_source(url)
    except BadUrl:
        return None


async def _let_go(
    tx: Transaction, there: Subscription, *, hard: bool, who: str, now: datetime
) -> None:
    feed = await feed_queries.feed(tx, there.feed_id, lock=True)
    events = await take_off(tx, feed, hard=hard, who=who, now=now)
    await log.append(tx, events, now)


async def _refuse_duplicate(engine: Engine, source: str) -> None:
    async with engine.database.read() as view:
        there = await queries.by_url(view, source)
    if there is not None and there.is_active:
        raise _duplicate(source, subscription_id=there.id, feed_id=there.feed_id)


def _duplicate(source: str, **facts: Any) -> DuplicateUrl:
    shown = redacted(source)
    _lines.warning("duplicate_url", source_url=shown, subscription=facts.get("subscription_id"))
    return DuplicateUrl(
        f"Subscription already exists for this URL: {shown}", **facts | {"url": source}
    )


async def _make(
    tx: Transaction,
    engine: Engine,
    new: NewSubscription,
    choice: Choice,
    who: str,
    now: datetime,
) -> tuple[Subscription, list[Event]]:
    """The feed, the subscription, the conflict and the history: together or not at all."""
    if new.group_id is not None:
        await groups.group(tx, new.group_id)
    winner = await enabled_fetcher(tx, choice.winner)
    checked = replace(new, config=checked_config(new.config, winner.config_schema))
    followed = await _follow(tx, engine, new, now)
    former = await queries.of_feed(tx, followed.id) if followed.revived else None
    auto = new.fetcher_id is None
    made = await subscriptions.add(tx, checked, followed, winner.id, auto_selected=auto, now=now)
    made = await welcome(tx, engine, made, now)
    await keep_credentials(tx, engine, made.id, new.source_url, new.credentials)
    await history.write(
        tx,
        made.id,
        at=now,
        who=who,
        what="revived" if followed.revived else "created",
        why=_why(new, choice),
        before=None if former is None else as_assigned(former),
        after=as_assigned(made),
    )
    events = [subscription_created(made, revived=followed.revived)]
    if choice.tied:
        events += await _open_tie(tx, made, choice, who, now)
    return made, events


async def _follow(tx: Transaction, engine: Engine, new: NewSubscription, now: datetime) -> Followed:
    """Its feed, due now."""
    return await feeds.follow(
        tx,
        new.source_url,
        new.wish,
        feed_id=FeedId(str(uuid7())),
        interval_sec=engine.schedule.initial_interval,
        now=now,
        visit_at=now,
    )


async def _open_tie(
    tx: Transaction, made: Subscription, choice: Choice, who: str, now: datetime
) -> list[Event]:
    reason = _why_tied(choice)
    conflict, is_new = await conflicts.open(
        tx, made.id, MULTI_FETCHER_MATCH, choice.tied, reason, now
    )
    if not is_new:
        return []
    standing = as_assigned(made)
    await history.write(
        tx,
        made.id,
        at=now,
        who=who,
        what="conflict_opened",
        why=reason,
        before=standing,
        after=standing | {"candidates": list(choice.tied)},
        conflict_id=conflict.id,
    )
    return [conflict_opened(conflict, made)]


def _why(new: NewSubscription, choice: Choice) -> str:
    if new.fetcher_id is not None:
        return "asked for by its number, and it can"
    return _why_tied(choice) if choice.tied else "the best of those who can"


def _why_tied(choice: Choice) -> str:
    return (
        f"{len(choice.tied)} fetchers of the priority {choice.able[0].priority} can handle this;"
        " the oldest takes it until somebody decides"
    )
