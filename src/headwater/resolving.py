"""Conflicts: opened by somebody outside, and decided once, in one transaction with what follows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from headwater.access.store import remember_resource
from headwater.announce import store as log
from headwater.announce.event import (
    Event,
    conflict_opened,
    conflict_resolved,
    subscription_assigned,
)
from headwater.engine import Engine
from headwater.errors import BadConfig, BadInput, InvalidFetcher, NotFound
from headwater.errors import Conflict as Refusal
from headwater.ports import Reader, Transaction
from headwater.subscribe.config_schema import checked_config
from headwater.subscribe.conflict import Conflict, checked_choice
from headwater.subscribe.conflicts import store
from headwater.subscribe.fetcher import Fetcher, FetcherId
from headwater.subscribe.fetchers import store as fetchers
from headwater.subscribe.history import store as history
from headwater.subscribe.subscription import AssignmentStatus, Subscription, as_assigned
from headwater.subscribe.subscriptions import queries
from headwater.subscribe.subscriptions import store as subscriptions
from headwater.telemetry.log import logger
from headwater.values.url import redacted

_lines = logger("resolving")


@dataclass(frozen=True, slots=True)
class Detected:
    """What a detector outside says: several fetchers fit this subscription equally well."""

    subscription_id: int | None
    source_url: str | None
    type: str
    candidates: tuple[FetcherId, ...]
    reason: str


async def open_conflict(
    said: Detected, engine: Engine, who: str, *, idempotency: bytes | None = None
) -> tuple[Conflict, bool]:
    """A new one and True, or the one that is open already and False."""
    now = engine.clock.now()
    async with engine.database.write() as tx:
        subscription = await _meant(tx, said)
        await _refuse_unknown(tx, said.candidates)
        conflict, is_new = await store.open(
            tx, subscription.id, said.type, said.candidates, said.reason, now
        )
        if idempotency is not None:
            await remember_resource(tx, idempotency, str(conflict.id))
        if is_new:
            await _write_opening(tx, conflict, subscription, who, now)
            await log.append(tx, [conflict_opened(conflict, subscription)], now)
    if is_new:
        _lines.info("conflict_opened", conflict=conflict.id, subscription=subscription.id, by=who)
    else:
        _lines.warning("conflict_open_already", conflict=conflict.id, subscription=subscription.id)
    return conflict, is_new


async def resolve_conflict(
    conflict_id: int,
    fetcher_id: FetcherId,
    engine: Engine,
    who: str,
    *,
    reason: str | None = None,
    automatic: bool = False,
    idempotency: bytes | None = None,
) -> Conflict:
    """The subscription goes to one of the candidates. The same choice again changes nothing.

    `automatic` marks a choice that no person made.
    """
    now = engine.clock.now()
    async with engine.database.write() as tx:
        conflict = await store.conflict(tx, conflict_id, lock=True)
        is_news = checked_choice(conflict, fetcher_id)
        events: Sequence[Event] = ()
        if is_news:
            chosen = await _choosable(tx, conflict, fetcher_id)
            conflict, events = await _decide(tx, conflict, chosen, reason, who, automatic, now)
        if idempotency is not None:
            await remember_resource(tx, idempotency, str(conflict.id))
        await log.append(tx, events, now)
    if is_news:
        engine.woken.set()
        _lines.info("conflict_resolved", conflict=conflict.id, fetcher=fetcher_id, by=who)
    return conflict


async def _meant(tx: Transaction, said: Detected) -> Subscription:
    found: Subscription | None = None
    if said.subscription_id is not None:
        found = await queries.subscription(tx, said.subscription_id, lock=True)
    if said.source_url is not None:
        named = await queries.by_url(tx, said.source_url, lock=found is None)
        if named is None:
            shown = redacted(said.source_url)
            raise NotFound(f"Subscription not found for URL: {shown}", what="subscription")
        if found is not None and found.id != named.id:
            raise BadInput("subscription_id and source_url name two different subscriptions.")
        found = named
    assert found is not None, "one of both was said"
    if not found.is_active:
        raise Refusal("This subscription is not active.", subscription_id=found.id)
    return found


async def _refuse_unknown(view: Reader, candidates: tuple[FetcherId, ...]) -> None:
    known = {each.id for each in await fetchers.fetchers(view)}
    unknown = [each for each in candidates if each not in known]
    if unknown:
        raise InvalidFetcher(
            f"Fetcher {unknown[0]} does not exist",
            candidates=[each for each in candidates if each in known],
        )


async def _choosable(view: Reader, conflict: Conflict, fetcher_id: FetcherId) -> Fetcher:
    found = [each for each in await fetchers.fetchers(view) if each.id == fetcher_id]
    if found and found[0].is_enabled:
        return found[0]
    missing = "is not enabled" if found else "does not exist any more"
    raise InvalidFetcher(
        f"Fetcher {fetcher_id} {missing}",
        conflict_id=conflict.id,
        candidates=list(conflict.candidates),
    )


async def _decide(
    tx: Transaction,
    conflict: Conflict,
    chosen: Fetcher,
    reason: str | None,
    who: str,
    automatic: bool,
    now: datetime,
) -> tuple[Conflict, list[Event]]:
    """The subscription's new fetcher, the end of the conflict, the history: together or not."""
    before = await queries.subscription(tx, conflict.subscription_id)
    status: AssignmentStatus = "auto_assigned" if automatic else "assigned"
    after = await subscriptions.assign(
        tx, before, chosen, auto_selected=automatic, status=status, now=now
    )
    resolved = await store.resolve(tx, conflict, chosen.id, reason, who, now)
    await history.write(
        tx,
        before.id,
        at=now,
        who=who,
        what="conflict_resolved",
        why=reason,
        before=as_assigned(before),
        after=as_assigned(after),
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
        checked_config(subscription.config, chosen.config_schema)
    except BadConfig as trouble:
        _lines.warning(
            "config_does_not_fit",
            subscription=subscription.id,
            fetcher=chosen.id,
            problem=trouble.message,
        )


async def _write_opening(
    tx: Transaction, conflict: Conflict, subscription: Subscription, who: str, now: datetime
) -> None:
    standing = as_assigned(subscription)
    await history.write(
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
