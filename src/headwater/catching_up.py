"""Entries that are kept already: a tracking looks at those it has not seen, or again on request."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from headwater.access.store import remember_resource
from headwater.collect.decisions import queries as decisions
from headwater.collect.decisions import store as decided
from headwater.collect.decisions.decided import Decided, Deciding
from headwater.collect.decisions.store import Anew
from headwater.collect.offer import Offer
from headwater.collect.offers.queries import offers_in, release_in, words_undecided
from headwater.collect.priority import Preferences
from headwater.collect.shows import queries as shows
from headwater.collect.tracking import Tracking
from headwater.collect.trackings import queries as trackings
from headwater.collect.trackings import store as trackings_store
from headwater.collecting import Judgement, Outcome, acted_on, count, decide, is_news, judged
from headwater.engine import Engine
from headwater.errors import Conflict
from headwater.ports import Transaction
from headwater.telemetry.log import logger

_TOGETHER = 5_000
"""So many are planned as one: the best of each episode is chosen among them."""
_PAGE = 500
_UNDECIDED = ("hold", "skip", "removed")
"""What nobody has said the last word about."""

lines = logger("releases")


async def catch_up(engine: Engine, tracking_id: int) -> Outcome:
    """Every entry that is kept was looked at afterwards; what lay before the watermark is looked at
    again, should that have moved. A disabled tracking decides nothing."""
    async with engine.database.read() as view:
        tracking = await trackings.tracking(view, tracking_id)
    if not tracking.enabled:
        return Outcome()
    outcome = Outcome()
    async for offers in _unseen(engine, tracking):
        outcome += await decide(engine.database, engine.clock, engine.collect, tracking_id, offers)
    outcome += await _again(engine, tracking_id, actions=("removed",), rule="before_watermark")
    assert tracking.updated_at is not None, "it was read from the database"
    async with engine.database.write() as tx:
        await decided.caught_up(tx, tracking_id, tracking.updated_at)
    return outcome


async def backfill(
    engine: Engine, tracking_id: int, since: datetime | None, *, idempotency: bytes | None = None
) -> Outcome:
    """Earlier releases are collected too: those since that moment, or all that are kept."""
    async with engine.database.write() as tx:
        tracking = await _enabled(tx, tracking_id)
        if tracking.since is not None and (since is None or since < tracking.since):
            begun = replace(tracking, since=since)
            await trackings_store.change(tx, begun, engine.clock.now())
        if idempotency is not None:
            await remember_resource(tx, idempotency, str(tracking_id))
    return await catch_up(engine, tracking_id)


async def decide_again(
    engine: Engine, tracking_id: int, *, idempotency: bytes | None = None
) -> Outcome:
    """What was held, skipped or removed, by what the tracking wants now; and what was not looked at
    yet. What a person said stays."""
    async with engine.database.write() as tx:
        await _enabled(tx, tracking_id)
        if idempotency is not None:
            await remember_resource(tx, idempotency, str(tracking_id))
    caught = await catch_up(engine, tracking_id)
    return caught + await _again(engine, tracking_id, actions=_UNDECIDED)


async def _enabled(tx: Transaction, tracking_id: int) -> Tracking:
    tracking = await trackings.current(tx, tracking_id, lock=True)
    if not tracking.enabled:
        raise Conflict(
            "This tracking is disabled: it decides nothing until it is enabled.",
            tracking_id=tracking_id,
        )
    return tracking


async def _unseen(engine: Engine, tracking: Tracking) -> AsyncIterator[list[Offer]]:
    after: bytes | None = None
    found: list[Offer] = []
    while True:
        async with engine.database.read() as view:
            words = await words_undecided(view, tracking.feed_id, tracking.id, after, _PAGE)
        read = await asyncio.to_thread(
            offers_in, words.rows, tracking.preferences, tracking.feed_id
        )
        if read.unreadable:
            lines.error("entries_unreadable", tracking=tracking.id, entries=len(read.unreadable))
        found += read.offers
        after = words.after
        if after is None or len(found) >= _TOGETHER:
            yield found
            found = []
        if after is None:
            return


async def _again(
    engine: Engine, tracking_id: int, *, actions: Sequence[str], rule: str | None = None
) -> Outcome:
    outcome, before = Outcome(), None
    while True:
        async with engine.database.read() as view:
            rows = await decisions.decisions(
                view,
                tracking_id=tracking_id,
                actions=actions,
                rule=rule,
                before=before,
                limit=_TOGETHER,
            )
        if rows:
            outcome += await _decided_again(engine, tracking_id, rows)
        if len(rows) < _TOGETHER:
            return outcome
        before = rows[-1].id


@dataclass(frozen=True, slots=True)
class Changed:
    """Rows whose decision is another one now: those to act on, and the others."""

    loud: tuple[Anew, ...]
    quiet: tuple[Anew, ...]


async def _decided_again(engine: Engine, tracking_id: int, rows: Sequence[Decided]) -> Outcome:
    """As `decide`, for rows that are there."""
    now = engine.clock.now()
    async with engine.database.write() as tx:
        tracking = await trackings.tracking(tx, tracking_id)
        if not tracking.enabled:
            return Outcome()
        show = await shows.show(tx, tracking.show_id, lock=True)
        offers = await asyncio.to_thread(read_again, rows, tracking.preferences)
        judgement = await judged(tx, show, tracking, offers, engine.collect, now)
        changed = changed_by(rows, judgement)
        made = [await decided.change(tx, each, now) for each in changed.loud]
        kept = [row for row in made if row is not None]
        await acted_on(tx, show, tracking, kept, judgement, now)
    for at in range(0, len(changed.quiet), _PAGE):
        async with engine.database.write() as tx:
            await decided.change_many(tx, changed.quiet[at : at + _PAGE], now)
    actions = [row.action for row in kept]
    actions += [each.deciding.action for each in changed.quiet if _is_another(each)]
    outcome = Outcome(Counter[str](actions), tuple(kept))
    count(outcome, tracking=tracking_id)
    return outcome


def read_again(rows: Sequence[Decided], preferences: Preferences) -> list[Offer]:
    """Groups may have other names by now."""
    return [Offer(row.candidate, release_in(row.candidate.title, preferences)) for row in rows]


def changed_by(rows: Sequence[Decided], judgement: Judgement) -> Changed:
    """`judgement` is of these rows, in their order."""
    loud, quiet = list[Anew](), list[Anew]()
    for was, deciding in zip(rows, judgement.deciding, strict=True):
        if _is_same(was, deciding):
            continue
        (loud if is_news(was, deciding) else quiet).append(Anew(was, deciding))
    return Changed(tuple(loud), tuple(quiet))


def _is_another(anew: Anew) -> bool:
    """Not only in its words."""
    was, deciding = anew.was, anew.deciding
    return (was.action, was.rule) != (deciding.action, deciding.rule)


def _is_same(was: Decided, deciding: Deciding) -> bool:
    before = (was.action, was.rule, was.reason, was.slots, was.release)
    offer = deciding.offer
    return before == (
        deciding.action,
        deciding.rule,
        deciding.reason,
        deciding.slots,
        offer.release,
    )
