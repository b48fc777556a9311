"""Subscribe: a source URL becomes a subscription with a fetcher, in one transaction."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from uuid_utils import uuid7

from headwater.core.errors import BroadcastFailed, DuplicateUrl
from headwater.core.idempotency_rows import set_key_resource
from headwater.core.ports import Database, Transaction
from headwater.core.telemetry.log import get_logger
from headwater.core.values.ids import FeedId, FetcherId
from headwater.core.values.url import check_source_url, redacted
from headwater.events import event_rows
from headwater.events.event import Event
from headwater.feeds import feed_rows
from headwater.feeds.feed_rows import FollowedFeed
from headwater.feeds.schedule.policy import SchedulePolicy
from headwater.subscriptions import history_rows, subscription_rows
from headwater.subscriptions.conflicts import conflict_rows
from headwater.subscriptions.conflicts.conflict import MULTI_FETCHER_MATCH
from headwater.subscriptions.fetchers import fetcher_rows
from headwater.subscriptions.fetchers.ask_fetchers import ChosenFetcher, choose_fetcher
from headwater.subscriptions.fetchers.config_schema import check_config
from headwater.subscriptions.fetchers.fetcher import Fetcher
from headwater.subscriptions.groups import group_rows
from headwater.subscriptions.groups.apply_group_values import apply_group_values
from headwater.subscriptions.registry_events import conflict_opened, subscription_created
from headwater.subscriptions.seal_credentials import save_credentials
from headwater.subscriptions.services import RegistryServices
from headwater.subscriptions.subscription import NewSubscription, Subscription, assignment_facts
from headwater.web.address_gate import check_url

logger = get_logger("registry")


async def enabled_fetcher(tx: Transaction, fetcher_id: FetcherId) -> Fetcher:
    """It was asked before this transaction, and somebody may have switched it off since."""
    chosen = await fetcher_rows.get_fetcher(tx, fetcher_id)
    if not chosen.is_enabled:
        raise BroadcastFailed(
            f"Fetcher {fetcher_id} was disabled in this very moment", fetcher_id=fetcher_id
        )
    return chosen


async def create_subscription(
    new: NewSubscription, services: RegistryServices, who: str, *, idempotency: bytes | None = None
) -> Subscription:
    """Ask who can, assign the best, and let the first visit be due now. Nothing is fetched here."""
    source = check_source_url(new.source_url)
    check_url(source, services.feeds.fetcher.policy.address)
    await _check_not_duplicate(services.database, source)
    choice = await choose_fetcher(services, source, new.source_type, target=new.fetcher_id)
    new = replace(new, source_url=source)
    now = services.clock.now()
    try:
        async with services.database.write() as tx:
            made, events = await _insert_subscription(tx, services, new, choice, who, now)
            if idempotency is not None:
                await set_key_resource(tx, idempotency, str(made.id))
            await event_rows.append_events(tx, events, now)
    except DuplicateUrl as trouble:
        raise _duplicate(source, **trouble.facts) from trouble
    logger.info(
        "subscription_created",
        subscription=made.id,
        source_url=redacted(source),
        fetcher=made.fetcher_id,
        assignment=made.assignment_status,
        tied=list(choice.tied),
        by=who,
    )
    return made


async def _check_not_duplicate(database: Database, source: str) -> None:
    async with database.read() as view:
        there = await subscription_rows.find_subscription_by_url(view, source)
    if there is not None and there.is_active:
        raise _duplicate(source, subscription_id=there.id, feed_id=there.feed_id)


def _duplicate(source: str, **facts: Any) -> DuplicateUrl:
    shown = redacted(source)
    logger.warning("duplicate_url", source_url=shown, subscription=facts.get("subscription_id"))
    return DuplicateUrl(
        f"Subscription already exists for this URL: {shown}", **facts | {"url": source}
    )


async def _insert_subscription(
    tx: Transaction,
    services: RegistryServices,
    new: NewSubscription,
    choice: ChosenFetcher,
    who: str,
    now: datetime,
) -> tuple[Subscription, list[Event]]:
    """The feed, the subscription, the conflict and the history: together or not at all."""
    if new.group_id is not None:
        await group_rows.get_group(tx, new.group_id)
    winner = await enabled_fetcher(tx, choice.winner)
    checked = replace(new, config=check_config(new.config, winner.config_schema))
    followed = await _insert_feed(tx, services.feeds.schedule, new, now)
    former = (
        await subscription_rows.get_subscription_of_feed(tx, followed.id)
        if followed.revived
        else None
    )
    auto = new.fetcher_id is None
    made = await subscription_rows.insert_subscription(
        tx, checked, followed, winner.id, auto_selected=auto, now=now
    )
    made = await apply_group_values(tx, services.feeds.schedule, made, now)
    await save_credentials(tx, services.vault, made.id, new.source_url, new.credentials)
    await history_rows.insert_history(
        tx,
        made.id,
        at=now,
        who=who,
        what="revived" if followed.revived else "created",
        why=_why(new, choice),
        before=None if former is None else assignment_facts(former),
        after=assignment_facts(made),
    )
    events = [subscription_created(made, revived=followed.revived)]
    if choice.tied:
        events += await _open_tie(tx, made, choice, who, now)
    return made, events


async def _insert_feed(
    tx: Transaction, schedule: SchedulePolicy, new: NewSubscription, now: datetime
) -> FollowedFeed:
    """Its feed, due now."""
    return await feed_rows.insert_or_restore_feed(
        tx,
        new.source_url,
        new.wish,
        feed_id=FeedId(str(uuid7())),
        interval_sec=schedule.initial_interval,
        now=now,
        visit_at=now,
    )


async def _open_tie(
    tx: Transaction, made: Subscription, choice: ChosenFetcher, who: str, now: datetime
) -> list[Event]:
    reason = _why_tied(choice)
    conflict, is_new = await conflict_rows.insert_conflict(
        tx, made.id, MULTI_FETCHER_MATCH, choice.tied, reason, now
    )
    if not is_new:
        return []
    standing = assignment_facts(made)
    await history_rows.insert_history(
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


def _why(new: NewSubscription, choice: ChosenFetcher) -> str:
    if new.fetcher_id is not None:
        return "asked for by its number, and it can"
    return _why_tied(choice) if choice.tied else "the best of those who can"


def _why_tied(choice: ChosenFetcher) -> str:
    return (
        f"{len(choice.tied)} fetchers of the priority {choice.able[0].priority} can handle this;"
        " the oldest takes it until somebody decides"
    )
