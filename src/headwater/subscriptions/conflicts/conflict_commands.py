"""Conflicts: opened by somebody outside, and decided once, in one transaction with what follows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

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
    """What a detector outside says: several fetchers fit this subscription equally well."""

    subscription_id: int | None
    source_url: str | None
    type: str
    candidates: tuple[FetcherId, ...]
    reason: str


async def open_conflict(
    said: DetectedConflict, database: Database, who: str, *, idempotency: bytes | None = None
) -> tuple[Conflict, bool]:
    """A new one and True, or the one that is open already and False."""
    now = database.clock.now()
    async with database.write() as tx:
        subscription = await _find_subscription(tx, said)
        await _check_known(tx, said.candidates)
        conflict, is_new = await conflict_rows.insert_conflict(
            tx, subscription.id, said.type, said.candidates, said.reason, now
        )
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(conflict.id))
        if is_new:
            await _write_opening(tx, conflict, subscription, who, now)
            await event_rows.append_events(tx, [conflict_opened(conflict, subscription)], now)
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
    now = database.clock.now()
    async with database.write() as tx:
        conflict = await conflict_rows.get_conflict(tx, conflict_id, lock=True)
        is_news = is_new_choice(conflict, fetcher_id)
        events: Sequence[Event] = ()
        if is_news:
            chosen = await _get_candidate(tx, conflict, fetcher_id)
            conflict, events = await _assign_chosen(
                tx, conflict, chosen, reason, who, automatic, now
            )
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(conflict.id))
        await event_rows.append_events(tx, events, now)
        logger.info("conflict_resolved", conflict=conflict.id, fetcher=fetcher_id, by=who)
    return conflict


async def _find_subscription(tx: Transaction, said: DetectedConflict) -> Subscription:
    found: Subscription | None = None
    if said.subscription_id is not None:
        found = await subscription_rows.get_subscription(tx, said.subscription_id, lock=True)
    if said.source_url is not None:
        named = await subscription_rows.find_subscription_by_url(
            tx, said.source_url, lock=found is None
        )
        if named is None:
            shown = redacted(said.source_url)
            raise NotFound(f"Subscription not found for URL: {shown}", what="subscription")
        if found is not None and found.id != named.id:
            raise BadInput("subscription_id and source_url name two different subscriptions.")
        found = named
    assert found is not None, "one of both was said"
    if not found.is_active:
        raise ConflictError("This subscription is not active.", subscription_id=found.id)
    return found


async def _check_known(view: View, candidates: tuple[FetcherId, ...]) -> None:
    known = {each.id for each in await fetcher_rows.list_fetchers(view)}
    unknown = [each for each in candidates if each not in known]
    if unknown:
        raise InvalidFetcher(
            f"Fetcher {unknown[0]} does not exist",
            candidates=[each for each in candidates if each in known],
        )


async def _get_candidate(view: View, conflict: Conflict, fetcher_id: FetcherId) -> Fetcher:
    found = [each for each in await fetcher_rows.list_fetchers(view) if each.id == fetcher_id]
    if found and found[0].is_enabled:
        return found[0]
    missing = "is not enabled" if found else "does not exist any more"
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
    now: datetime,
) -> tuple[Conflict, list[Event]]:
    """The subscription's new fetcher, the end of the conflict, the history: together or not."""
    before = await subscription_rows.get_subscription(tx, conflict.subscription_id)
    status: AssignmentStatus = "auto_assigned" if automatic else "assigned"
    after = await subscription_rows.assign(
        tx, before, chosen, auto_selected=automatic, status=status, now=now
    )
    resolved = await conflict_rows.set_resolved(tx, conflict, chosen.id, reason, who, now)
    await history_rows.insert_history(
        tx,
        before.id,
        at=now,
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
    """The choice stands: who refused it for its config could never be chosen, as the config is
    checked against the schema of the fetcher that has the subscription now."""
    try:
        check_config(subscription.config, chosen.config_schema)
    except BadConfig as trouble:
        logger.warning(
            "config_does_not_fit",
            subscription=subscription.id,
            fetcher=chosen.id,
            problem=trouble.message,
        )


async def _write_opening(
    tx: Transaction, conflict: Conflict, subscription: Subscription, who: str, now: datetime
) -> None:
    standing = assignment_facts(subscription)
    await history_rows.insert_history(
        tx,
        subscription.id,
        at=now,
        who=who,
        what="conflict_opened",
        why=conflict.reason,
        before=standing,
        after=standing | {"candidates": list(conflict.candidates)},
        conflict_id=conflict.id,
    )
