"""Entries that are kept already: a tracking looks at those it has not seen, or again on request."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from headwater.anime.candidate import Offer
from headwater.anime.decide import decision_rows
from headwater.anime.decide.decision import NewReleaseDecision, ReleaseDecision
from headwater.anime.decide.decision_rows import ChangedDecision
from headwater.anime.decide.record_decisions import (
    DecisionSummary,
    Judgement,
    act_on_decisions,
    count_decisions,
    decide_offers,
    judge_offers,
    needs_action,
)
from headwater.anime.services import ReleaseServices
from headwater.anime.shows import show_rows, tracking_rows
from headwater.anime.shows.preferences import Preferences
from headwater.anime.shows.show import TrackedShow
from headwater.anime.shows.slot import Slot
from headwater.anime.shows.tracking import Tracking
from headwater.anime.torrents.entry_rows import (
    list_undecided_entries,
    read_offers,
    release_from_title,
)
from headwater.core.errors import ConflictError
from headwater.core.idempotency_rows import set_key_resource
from headwater.core.ports import Database, Transaction
from headwater.core.telemetry.log import get_logger

logger = get_logger("releases")

_TOGETHER = 5_000
"""So many are planned as one: the best of each episode is chosen among them."""
_PAGE = 500

_UNDECIDED = ("hold", "skip", "removed")
"""What nobody has said the last word about."""


async def catch_up(services: ReleaseServices, tracking_id: int) -> DecisionSummary:
    """Every entry that is kept was looked at afterwards; what lay before the watermark is looked at
    again, should that have moved. A disabled tracking decides nothing."""
    async with services.database.read() as view:
        tracking = await tracking_rows.get_tracking(view, tracking_id)
    if not tracking.enabled:
        return DecisionSummary()
    outcome = DecisionSummary()
    async for offers in _unseen(services.database, tracking):
        outcome += await decide_offers(
            services.database, services.clock, services.policy, tracking_id, offers
        )
    outcome += await _decide_rows_again(
        services, tracking_id, actions=("removed",), rule="before_watermark"
    )
    assert tracking.updated_at is not None, "it was read from the database"
    async with services.database.write() as tx:
        await decision_rows.set_caught_up(tx, tracking_id, tracking.updated_at)
    return outcome


async def backfill(
    services: ReleaseServices,
    tracking_id: int,
    since: datetime | None,
    *,
    idempotency: bytes | None = None,
) -> DecisionSummary:
    """Earlier releases are collected too: those since that moment, or all that are kept."""
    async with services.database.write() as tx:
        tracking = await _lock_enabled_tracking(tx, tracking_id)
        if tracking.since is not None and (since is None or since < tracking.since):
            begun = replace(tracking, since=since)
            await tracking_rows.update_tracking(tx, begun, tx.now)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(tracking_id))
    return await catch_up(services, tracking_id)


async def decide_again(
    services: ReleaseServices, tracking_id: int, *, idempotency: bytes | None = None
) -> DecisionSummary:
    """What was held, skipped or removed, by what the tracking wants now; and what was not looked at
    yet. What a person said stays."""
    async with services.database.write() as tx:
        await _lock_enabled_tracking(tx, tracking_id)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(tracking_id))
    caught = await catch_up(services, tracking_id)
    return caught + await _decide_rows_again(services, tracking_id, actions=_UNDECIDED)


async def _lock_enabled_tracking(tx: Transaction, tracking_id: int) -> Tracking:
    tracking = await tracking_rows.get_current_tracking(tx, tracking_id, lock=True)
    if not tracking.enabled:
        raise ConflictError(
            "This tracking is disabled: it decides nothing until it is enabled.",
            tracking_id=tracking_id,
        )
    return tracking


async def _unseen(database: Database, tracking: Tracking) -> AsyncIterator[list[Offer]]:
    after: bytes | None = None
    found: list[Offer] = []
    while True:
        async with database.read() as view:
            words = await list_undecided_entries(view, tracking.feed_id, tracking.id, after, _PAGE)
        read = await asyncio.to_thread(
            read_offers, words.rows, tracking.preferences, tracking.feed_id
        )
        if read.unreadable:
            logger.error("entries_unreadable", tracking=tracking.id, entries=len(read.unreadable))
        found += read.offers
        after = words.after
        if after is None or len(found) >= _TOGETHER:
            yield found
            found = []
        if after is None:
            return


async def _decide_rows_again(
    services: ReleaseServices, tracking_id: int, *, actions: Sequence[str], rule: str | None = None
) -> DecisionSummary:
    outcome, before = DecisionSummary(), None
    while True:
        async with services.database.read() as view:
            rows = await decision_rows.list_decisions(
                view,
                tracking_id=tracking_id,
                actions=actions,
                rule=rule,
                before=before,
                limit=_TOGETHER,
            )
        if rows:
            outcome += await _decide_page_again(services, tracking_id, rows)
        if len(rows) < _TOGETHER:
            return outcome
        before = rows[-1].id


@dataclass(frozen=True, slots=True)
class ChangedDecisions:
    """Rows whose decision is another one now: those to act on, and the others."""

    loud: tuple[ChangedDecision, ...]
    quiet: tuple[ChangedDecision, ...]


async def _decide_page_again(
    services: ReleaseServices, tracking_id: int, rows: Sequence[ReleaseDecision]
) -> DecisionSummary:
    """As `decide_offers`, for rows that are there."""
    now = services.clock.now()
    async with services.database.write() as tx:
        tracking = await tracking_rows.get_tracking(tx, tracking_id)
        if not tracking.enabled:
            return DecisionSummary()
        show = await show_rows.get_show(tx, tracking.show_id, lock=True)
        offers = await asyncio.to_thread(reread_titles, rows, tracking.preferences)
        judgement = await judge_offers(tx, show, tracking, offers, services.policy, now)
        changed = changed_decisions(rows, judgement)
        made = [await decision_rows.update_decision(tx, each, now) for each in changed.loud]
        kept = [row for row in made if row is not None]
        await act_on_decisions(tx, show, tracking, kept, judgement, now)
    for at in range(0, len(changed.quiet), _PAGE):
        async with services.database.write() as tx:
            await decision_rows.update_decisions(tx, changed.quiet[at : at + _PAGE], now)
    actions = [row.action for row in kept]
    actions += [each.deciding.action for each in changed.quiet if _is_another(each)]
    outcome = DecisionSummary(Counter[str](actions), tuple(kept))
    count_decisions(outcome, tracking=tracking_id)
    return outcome


def reread_titles(rows: Sequence[ReleaseDecision], preferences: Preferences) -> list[Offer]:
    """Groups may have other names by now."""
    return [
        Offer(row.candidate, release_from_title(row.candidate.title, preferences)) for row in rows
    ]


def changed_decisions(rows: Sequence[ReleaseDecision], judgement: Judgement) -> ChangedDecisions:
    """`judgement` is of these rows, in their order."""
    loud, quiet = list[ChangedDecision](), list[ChangedDecision]()
    for was, deciding in zip(rows, judgement.deciding, strict=True):
        if _is_same(was, deciding):
            continue
        (loud if needs_action(was, deciding) else quiet).append(ChangedDecision(was, deciding))
    return ChangedDecisions(tuple(loud), tuple(quiet))


def _is_another(anew: ChangedDecision) -> bool:
    """Not only in its words."""
    was, deciding = anew.was, anew.deciding
    return (was.action, was.rule) != (deciding.action, deciding.rule)


def _is_same(was: ReleaseDecision, deciding: NewReleaseDecision) -> bool:
    before = (was.action, was.rule, was.reason, was.slots, was.release)
    offer = deciding.offer
    return before == (
        deciding.action,
        deciding.rule,
        deciding.reason,
        deciding.slots,
        offer.release,
    )


async def decide_next_best(
    tx: Transaction, services: ReleaseServices, show_id: int, slots: Collection[Slot], now: datetime
) -> DecisionSummary:
    """In the transaction in which these slots become free: what was skipped for them is looked at
    again, by every tracking of the show. What had its turn does not come again, so this ends."""
    show = await show_rows.get_show(tx, show_id, lock=True)
    outcome = DecisionSummary()
    for tracking in await tracking_rows.list_trackings(tx, show_id=show_id):
        if tracking.enabled:
            rows = await decision_rows.list_skipped_decisions(tx, tracking.id, slots)
            outcome += await _decide_passed_over(tx, services, show, tracking, rows, now)
    return outcome


async def _decide_passed_over(
    tx: Transaction,
    services: ReleaseServices,
    show: TrackedShow,
    tracking: Tracking,
    rows: Sequence[ReleaseDecision],
    now: datetime,
) -> DecisionSummary:
    """Only what is wanted or held by now is written: the others stay as they were."""
    if not rows:
        return DecisionSummary()
    offers = await asyncio.to_thread(reread_titles, rows, tracking.preferences)
    judgement = await judge_offers(tx, show, tracking, offers, services.policy, now)
    made = [
        await decision_rows.update_decision(tx, each, now)
        for each in changed_decisions(rows, judgement).loud
    ]
    kept = tuple(row for row in made if row is not None)
    await act_on_decisions(tx, show, tracking, kept, judgement, now)
    return DecisionSummary(Counter[str](row.action for row in kept), kept)
