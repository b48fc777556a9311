"""Commands of conflicts: open one for a detector outside, and resolve one once and for all."""

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.core.errors import BadConfig, BadInput, ConflictError, InvalidFetcher, NotFound
from headwater.core.idempotency_rows import set_key_resource
from headwater.core.ports import Database, Transaction, View
from headwater.core.telemetry.log import get_logger
from headwater.core.values.ids import FetcherId
from headwater.core.values.url import redacted
from headwater.events import event_rows
from headwater.events.event import Event
from headwater.subscriptions import history_rows, subscription_rows
from headwater.subscriptions.conflicts import conflict_rows
from headwater.subscriptions.conflicts.conflict import Conflict, is_new_choice
from headwater.subscriptions.fetchers import fetcher_rows
from headwater.subscriptions.fetchers.config_schema import check_config
from headwater.subscriptions.fetchers.fetcher import Fetcher
from headwater.subscriptions.registry_events import (
    conflict_opened,
    conflict_resolved,
    subscription_assigned,
)
from headwater.subscriptions.subscription import AssignmentStatus, Subscription, assignment_facts

logger = get_logger("resolving")


@dataclass(frozen=True, slots=True)
class DetectedConflict:
    """A conflict as a detector outside reports it: several fetchers fit a subscription equally
    well."""

    subscription_id: int | None
    source_url: str | None
    type: str
    candidates: tuple[FetcherId, ...]
    reason: str


async def open_conflict(
    detected: DetectedConflict, database: Database, who: str, *, idempotency: bytes | None = None
) -> tuple[Conflict, bool]:
    """A new one and True, or the one that is open already and False."""
    async with database.write() as tx:
        subscription = await _find_subscription(tx, detected)
        await _check_candidates(tx, detected.candidates)
        conflict, is_new = await conflict_rows.insert_conflict(
            tx, subscription.id, detected.type, detected.candidates, detected.reason, tx.now
        )
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(conflict.id))
        if is_new:
            await _insert_opening(tx, conflict, subscription, who)
            await event_rows.append_events(tx, [conflict_opened(conflict, subscription)], tx.now)
    if is_new:
        logger.info("conflict_opened", conflict=conflict.id, subscription=subscription.id, by=who)
    else:
        logger.warning("conflict_open_already", conflict=conflict.id, subscription=subscription.id)
    return conflict, is_new


async def resolve_conflict(
    conflict_id: int,
    fetcher_id: FetcherId,
    database: Database,
    who: str,
    *,
    reason: str | None = None,
    automatic: bool = False,
    idempotency: bytes | None = None,
) -> Conflict:
    """The subscription goes to one of the candidates. The same choice again changes nothing.

    `automatic` marks a choice that no person made.
    """
    async with database.write() as tx:
        conflict = await conflict_rows.get_conflict(tx, conflict_id, lock=True)
        events: Sequence[Event] = ()
        if is_new_choice(conflict, fetcher_id):
            chosen = await _get_candidate(tx, conflict, fetcher_id)
            conflict, events = await _assign_chosen(tx, conflict, chosen, reason, who, automatic)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(conflict.id))
        await event_rows.append_events(tx, events, tx.now)
        logger.info("conflict_resolved", conflict=conflict.id, fetcher=fetcher_id, by=who)
    return conflict


async def _find_subscription(tx: Transaction, detected: DetectedConflict) -> Subscription:
    subscription: Subscription | None = None
    if detected.subscription_id is not None:
        subscription = await subscription_rows.get_subscription(
            tx, detected.subscription_id, lock=True
        )
    if detected.source_url is not None:
        named = await subscription_rows.find_subscription_by_url(
            tx, detected.source_url, lock=subscription is None
        )
        if named is None:
            shown = redacted(detected.source_url)
            raise NotFound(f"Subscription not found for URL: {shown}", what="subscription")
        if subscription is not None and subscription.id != named.id:
            raise BadInput("subscription_id and source_url name two different subscriptions.")
        subscription = named
    assert subscription is not None, "one of both is named"
    if not subscription.is_active:
        raise ConflictError("This subscription is not active.", subscription_id=subscription.id)
    return subscription


async def _check_candidates(view: View, candidates: tuple[FetcherId, ...]) -> None:
    fetcher_ids = {fetcher.id for fetcher in await fetcher_rows.list_fetchers(view)}
    unknown = [each for each in candidates if each not in fetcher_ids]
    if unknown:
        raise InvalidFetcher(
            f"Fetcher {unknown[0]} does not exist",
            candidates=[each for each in candidates if each in fetcher_ids],
        )


async def _get_candidate(view: View, conflict: Conflict, fetcher_id: FetcherId) -> Fetcher:
    fetchers = {fetcher.id: fetcher for fetcher in await fetcher_rows.list_fetchers(view)}
    candidate = fetchers.get(fetcher_id)
    if candidate is not None and candidate.is_enabled:
        return candidate
    missing = "does not exist any more" if candidate is None else "is not enabled"
    raise InvalidFetcher(
        f"Fetcher {fetcher_id} {missing}",
        conflict_id=conflict.id,
        candidates=list(conflict.candidates),
    )


async def _assign_chosen(
    tx: Transaction,
    conflict: Conflict,
    chosen: Fetcher,
    reason: str | None,
    who: str,
    automatic: bool,
) -> tuple[Conflict, list[Event]]:
    """Assign the fetcher, resolve the conflict and write the history."""
    before = await subscription_rows.get_subscription(tx, conflict.subscription_id)
    status: AssignmentStatus = "auto_assigned" if automatic else "assigned"
    after = await subscription_rows.assign(
        tx, before, chosen, auto_selected=automatic, status=status, now=tx.now
    )
    resolved = await conflict_rows.set_resolved(tx, conflict, chosen.id, reason, who, tx.now)
    await history_rows.insert_history(
        tx,
        before.id,
        at=tx.now,
        who=who,
        what="conflict_resolved",
        why=reason,
        before=assignment_facts(before),
        after=assignment_facts(after),
        conflict_id=conflict.id,
    )
    _warn_of_misfit(after, chosen)
    events = [conflict_resolved(resolved, after)]
    if after.fetcher_id != before.fetcher_id:
        events.insert(0, subscription_assigned(after, before, reason))
    return resolved, events


def _warn_of_misfit(subscription: Subscription, chosen: Fetcher) -> None:
    """Warn, and let the choice stand: a config is checked against the schema of the present
    fetcher, so a fetcher with another schema could never be chosen if this were an error."""
    try:
        check_config(subscription.config, chosen.config_schema)
    except BadConfig as trouble:
        logger.warning(
            "config_does_not_fit",
            subscription=subscription.id,
            fetcher=chosen.id,
            problem=trouble.message,
        )


async def _insert_opening(
    tx: Transaction, conflict: Conflict, subscription: Subscription, who: str
) -> None:
    facts = assignment_facts(subscription)
    await history_rows.insert_history(
        tx,
        subscription.id,
        at=tx.now,
        who=who,
        what="conflict_opened",
        why=conflict.reason,
        before=facts,
        after=facts | {"candidates": list(conflict.candidates)},
        conflict_id=conflict.id,
    )
