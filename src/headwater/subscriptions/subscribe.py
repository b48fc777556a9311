"""Subscribe: a source URL becomes a subscription with a fetcher, in one transaction."""

from dataclasses import replace

from headwater.core.errors import BroadcastFailed, DuplicateUrl
from headwater.core.idempotency_rows import set_key_resource
from headwater.core.ports import Transaction
from headwater.core.telemetry.log import get_logger
from headwater.core.values.ids import FetcherId
from headwater.core.values.url import check_source_url, redacted
from headwater.events import event_rows
from headwater.events.event import Event
from headwater.subscriptions import history_rows
from headwater.subscriptions.conflicts import conflict_rows
from headwater.subscriptions.conflicts.conflict import MULTI_FETCHER_MATCH
from headwater.subscriptions.conflicts.resolve_by_evidence import resolve_new_conflict
from headwater.subscriptions.fetchers import fetcher_rows
from headwater.subscriptions.fetchers.ask_fetchers import ChosenFetcher, choose_fetcher
from headwater.subscriptions.fetchers.fetcher import Fetcher
from headwater.subscriptions.insert_subscription import (
    find_former_subscription,
    insert_subscription_with_feed,
)
from headwater.subscriptions.registry_events import conflict_opened
from headwater.subscriptions.services import RegistryServices
from headwater.subscriptions.subscription import NewSubscription, Subscription, assignment_facts
from headwater.web.address_gate import check_url

logger = get_logger("registry")


async def enabled_fetcher(tx: Transaction, fetcher_id: FetcherId) -> Fetcher:
    """The fetcher. It was asked before this transaction, and may have been disabled since."""
    fetcher = await fetcher_rows.get_fetcher(tx, fetcher_id)
    if not fetcher.is_enabled:
        raise BroadcastFailed(
            f"Fetcher {fetcher_id} was disabled in this very moment", fetcher_id=fetcher_id
        )
    return fetcher


async def create_subscription(
    new: NewSubscription, services: RegistryServices, who: str, *, idempotency: bytes | None = None
) -> Subscription:
    """Ask the fetchers, assign the best, and let the first visit be due now. Nothing is fetched
    here.

    A conflict that was opened with it is resolved by evidence, where an operator allows that. The
    answer is the subscription as it was made: read it again to see the fetcher it has now.
    """
    source = check_source_url(new.source_url)
    check_url(source, services.feeds.fetcher.policy.address)
    new = replace(new, source_url=source)
    try:
        async with services.database.read() as view:
            await find_former_subscription(view, source)
        choice = await choose_fetcher(services, source, new.source_type, target=new.fetcher_id)
        async with services.database.write() as tx:
            subscription, events = await _insert_subscription(tx, services, new, choice, who)
            if idempotency is not None:
                await set_key_resource(tx, idempotency, str(subscription.id))
            await event_rows.append_events(tx, events, tx.now)
    except DuplicateUrl as trouble:
        raise _duplicate_error(source, trouble) from trouble
    logger.info(
        "subscription_created",
        subscription=subscription.id,
        source_url=redacted(source),
        fetcher=subscription.fetcher_id,
        assignment=subscription.assignment_status,
        tied=list(choice.tied),
        by=who,
    )
    await resolve_new_conflict(subscription.id, services)
    return subscription


def _duplicate_error(source: str, trouble: DuplicateUrl) -> DuplicateUrl:
    """The same error in the registry's words, with the URL as far as it is no secret."""
    shown = redacted(source)
    logger.warning(
        "duplicate_url", source_url=shown, subscription=trouble.facts.get("subscription_id")
    )
    return DuplicateUrl(
        f"Subscription already exists for this URL: {shown}", **trouble.facts | {"url": source}
    )


async def _insert_subscription(
    tx: Transaction,
    services: RegistryServices,
    new: NewSubscription,
    choice: ChosenFetcher,
    who: str,
) -> tuple[Subscription, list[Event]]:
    """Insert the subscription, and a conflict where several fetchers are equally fit.

    A request to subscribe has all values: of a subscription that comes back, nothing stays but
    its number and its history.
    """
    subscription, created = await insert_subscription_with_feed(
        tx,
        services,
        new,
        new.feed_options,
        await enabled_fetcher(tx, choice.winner),
        who=who,
        why=_reason_for(new, choice),
        now=tx.now,
        auto_selected=new.fetcher_id is None,
    )
    if not choice.tied:
        return subscription, [created]
    return subscription, [created, *await _open_tie(tx, subscription, choice, who)]


async def _open_tie(
    tx: Transaction, subscription: Subscription, choice: ChosenFetcher, who: str
) -> list[Event]:
    reason = _reason_for_tie(choice)
    conflict, is_new = await conflict_rows.insert_conflict(
        tx, subscription.id, MULTI_FETCHER_MATCH, choice.tied, reason, tx.now
    )
    if not is_new:
        return []
    facts = assignment_facts(subscription)
    await history_rows.insert_history(
        tx,
        subscription.id,
        at=tx.now,
        who=who,
        what="conflict_opened",
        why=reason,
        before=facts,
        after=facts | {"candidates": list(choice.tied)},
        conflict_id=conflict.id,
    )
    return [conflict_opened(conflict, subscription)]


def _reason_for(new: NewSubscription, choice: ChosenFetcher) -> str:
    if new.fetcher_id is not None:
        return "asked for by its number, and it can"
    return _reason_for_tie(choice) if choice.tied else "the best of those who can"


def _reason_for_tie(choice: ChosenFetcher) -> str:
    return (
        f"{len(choice.tied)} fetchers of the priority {choice.able[0].priority} can handle this;"
        " the oldest takes it until somebody decides"
    )
