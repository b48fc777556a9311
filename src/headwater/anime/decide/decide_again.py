"""Decide again on kept entries: on those a tracking has not seen yet, and on request on others."""

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
    judge_offers,
    needs_action,
    record_decisions,
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
"""Entries that are planned together: the best of each episode is chosen among them."""
_PAGE = 500

_UNDECIDED = ("hold", "skip", "removed")
"""Actions of decisions that are not final."""


async def catch_up(services: ReleaseServices, tracking_id: int) -> DecisionSummary:
    """Decide on every kept entry that the tracking has not decided on. Those that came out before
    its watermark are decided again, in case it has moved. A disabled tracking decides nothing."""
    async with services.database.read() as view:
        tracking = await tracking_rows.get_tracking(view, tracking_id)
    if not tracking.enabled:
        return DecisionSummary()
    summary = DecisionSummary()
    async for offers in _undecided_offers(services.database, tracking):
        summary += await record_decisions(
            services.database, services.clock, services.policy, tracking_id, offers
        )
    summary += await _record_again(
        services, tracking_id, actions=("removed",), rule="before_watermark"
    )
    assert tracking.updated_at is not None, "it was read from the database"
    async with services.database.write() as tx:
        await decision_rows.set_caught_up(tx, tracking_id, tracking.updated_at)
    return summary


async def backfill(
    services: ReleaseServices,
    tracking_id: int,
    since: datetime | None,
    *,
    idempotency: bytes | None = None,
) -> DecisionSummary:
    """Collect earlier releases too: those since that moment, or all that are kept."""
    async with services.database.write() as tx:
        tracking = await _lock_enabled_tracking(tx, tracking_id)
        if tracking.since is not None and (since is None or since < tracking.since):
            await tracking_rows.update_tracking(tx, replace(tracking, since=since), tx.now)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(tracking_id))
    return await catch_up(services, tracking_id)


async def record_decisions_again(
    services: ReleaseServices, tracking_id: int, *, idempotency: bytes | None = None
) -> DecisionSummary:
    """Decide again on releases that were held, skipped or removed, by what the tracking wants now,
    and on entries that it has not decided on. Decisions of a person stay."""
    async with services.database.write() as tx:
        await _lock_enabled_tracking(tx, tracking_id)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(tracking_id))
    caught_up = await catch_up(services, tracking_id)
    return caught_up + await _record_again(services, tracking_id, actions=_UNDECIDED)


async def _lock_enabled_tracking(tx: Transaction, tracking_id: int) -> Tracking:
    tracking = await tracking_rows.get_current_tracking(tx, tracking_id, lock=True)
    if not tracking.enabled:
        raise ConflictError(
            "This tracking is disabled: it decides nothing until it is enabled.",
            tracking_id=tracking_id,
        )
    return tracking


async def _undecided_offers(database: Database, tracking: Tracking) -> AsyncIterator[list[Offer]]:
    after: bytes | None = None
    offers: list[Offer] = []
    while True:
        async with database.read() as view:
            page = await list_undecided_entries(view, tracking.feed_id, tracking.id, after, _PAGE)
        read = await asyncio.to_thread(
            read_offers, page.rows, tracking.preferences, tracking.feed_id
        )
        if read.unreadable:
            logger.error("entries_unreadable", tracking=tracking.id, entries=len(read.unreadable))
        offers += read.offers
        after = page.after
        if after is None or len(offers) >= _TOGETHER:
            yield offers
            offers = []
        if after is None:
            return


async def _record_again(
    services: ReleaseServices, tracking_id: int, *, actions: Sequence[str], rule: str | None = None
) -> DecisionSummary:
    summary, before = DecisionSummary(), None
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
            summary += await _record_page_again(services, tracking_id, rows)
        if len(rows) < _TOGETHER:
            return summary
        before = rows[-1].id


@dataclass(frozen=True, slots=True)
class ChangedDecisions:
    """Rows whose decision has changed: `loud` ones are acted on, `quiet` ones only written."""

    loud: tuple[ChangedDecision, ...]
    quiet: tuple[ChangedDecision, ...]


async def _record_page_again(
    services: ReleaseServices, tracking_id: int, rows: Sequence[ReleaseDecision]
) -> DecisionSummary:
    """As `record_decisions`, for decisions that have rows already."""
    now = services.clock.now()
    async with services.database.write() as tx:
        tracking = await tracking_rows.get_tracking(tx, tracking_id)
        if not tracking.enabled:
            return DecisionSummary()
        show = await show_rows.get_show(tx, tracking.show_id, lock=True)
        offers = await asyncio.to_thread(reread_titles, rows, tracking.preferences)
        judgement = await judge_offers(tx, show, tracking, offers, services.policy, now)
        changed = changed_decisions(rows, judgement)
        updated = [await decision_rows.update_decision(tx, each, now) for each in changed.loud]
        written = [row for row in updated if row is not None]
        await act_on_decisions(tx, show, tracking, written, judgement, now)
    for start in range(0, len(changed.quiet), _PAGE):
        async with services.database.write() as tx:
            await decision_rows.update_decisions(tx, changed.quiet[start : start + _PAGE], now)
    actions = [row.action for row in written]
    # A change of the reason's words alone does not count.
    actions += [
        each.new.action
        for each in changed.quiet
        if (each.was.action, each.was.rule) != (each.new.action, each.new.rule)
    ]
    summary = DecisionSummary(Counter[str](actions), tuple(written))
    count_decisions(summary, tracking=tracking_id)
    return summary


def reread_titles(rows: Sequence[ReleaseDecision], preferences: Preferences) -> list[Offer]:
    """Read the titles of rows again: groups may have other names by now."""
    return [
        Offer(row.candidate, release_from_title(row.candidate.title, preferences)) for row in rows
    ]


def changed_decisions(rows: Sequence[ReleaseDecision], judgement: Judgement) -> ChangedDecisions:
    """Rows whose decision differs from the judgement, which is of these rows, in their order."""
    loud, quiet = list[ChangedDecision](), list[ChangedDecision]()
    for was, new in zip(rows, judgement.deciding, strict=True):
        if _is_same(was, new):
            continue
        (loud if needs_action(was, new) else quiet).append(ChangedDecision(was, new))
    return ChangedDecisions(tuple(loud), tuple(quiet))


def _is_same(was: ReleaseDecision, new: NewReleaseDecision) -> bool:
    before = (was.action, was.rule, was.reason, was.slots, was.release)
    return before == (new.action, new.rule, new.reason, new.slots, new.offer.release)


async def record_next_best(
    tx: Transaction, services: ReleaseServices, show_id: int, slots: Collection[Slot], now: datetime
) -> DecisionSummary:
    """Decide again on releases that were skipped for these slots, for every tracking of the show,
    in the transaction in which the slots become free. A release that had its turn does not come
    again, so this ends."""
    show = await show_rows.get_show(tx, show_id, lock=True)
    summary = DecisionSummary()
    for tracking in await tracking_rows.list_trackings(tx, show_id=show_id):
        if tracking.enabled:
            rows = await decision_rows.list_skipped_decisions(tx, tracking.id, slots)
            summary += await _record_passed_over(tx, services, show, tracking, rows, now)
    return summary


async def _record_passed_over(
    tx: Transaction,
    services: ReleaseServices,
    show: TrackedShow,
    tracking: Tracking,
    rows: Sequence[ReleaseDecision],
    now: datetime,
) -> DecisionSummary:
    """Only decisions that are wanted or held by now are written: the others stay as they were."""
    if not rows:
        return DecisionSummary()
    offers = await asyncio.to_thread(reread_titles, rows, tracking.preferences)
    judgement = await judge_offers(tx, show, tracking, offers, services.policy, now)
    updated = [
        await decision_rows.update_decision(tx, each, now)
        for each in changed_decisions(rows, judgement).loud
    ]
    written = tuple(row for row in updated if row is not None)
    await act_on_decisions(tx, show, tracking, written, judgement, now)
    return DecisionSummary(Counter[str](row.action for row in written), written)
