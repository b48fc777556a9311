"""The second of a visit's two commits: everything learned, for many visits in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import orjson

from headwater.announce import store as log
from headwater.announce.event import Event, feed_moved
from headwater.engine import Engine
from headwater.errors import Refused
from headwater.fetch import store as raws
from headwater.merge import store as entries
from headwater.merge.compare import NO_CHANGES
from headwater.merge.reading import ReadFeed, Unreadable
from headwater.merge.steps import killed_its_parser
from headwater.merge.store import NO_MEMORY, Memory, Merged
from headwater.ports import Transaction
from headwater.schedule import store as calendar
from headwater.schedule.due import NOTHING
from headwater.schedule.lessons import store as lessons
from headwater.schedule.store import Holding
from headwater.settle import Finished, Settled, settle
from headwater.telemetry import metrics
from headwater.telemetry.trace import lap
from headwater.together import in_halves
from headwater.values.ids import FeedPk, key_of
from headwater.values.instant import to_micros
from headwater.values.url import canonical, host_of, shard_of
from headwater.visit_rows import Rows, rows_of


@dataclass(frozen=True, slots=True)
class Lost:
    """The claim was no longer ours: nothing was written (J6)."""


Remembered = Settled | Lost | Refused

_FOLLOWED = ("active", "paused")


class Foreseen(NamedTuple):
    """A finished visit on its way to the commit; `rows` where its meaning is known by then."""

    finished: Finished
    luck: float
    rows: Rows | None


def foreseen(engine: Engine, finished: Finished) -> Foreseen:
    """What a visit means is worked out while others are being committed, where it can be: without
    a document, nothing that the database knows changes it but what its feed's owner says meanwhile.

    Inside the commit everybody waits for it, as SQLite has one writer at a time.
    """
    luck, due = engine.clock.luck(), finished.due
    if isinstance(finished.read, ReadFeed):
        return Foreseen(finished, luck, None)
    settled = settle(finished, NO_MEMORY, due.overrides, engine.schedule, engine.rules, luck)
    return Foreseen(finished, luck, rows_of(settled, engine.worker))


async def remember_group(engine: Engine, group: list[Foreseen]) -> list[Remembered]:
    """One transaction for all; a visit that the database refuses is refused alone."""
    metrics.committed("remember", len(group))
    return await in_halves(partial(_remember, engine), group, Refused)


async def _remember(engine: Engine, group: list[Foreseen]) -> list[Settled | Lost]:
    async with engine.database.write() as tx:
        now = to_micros(engine.clock.now())
        held = await calendar.holdings(tx, [each.finished.due.feed for each in group], now)
        memories = await _memories(tx, [each.finished for each in group if each.rows is None])
        found = [_rows(engine, each, held.get(each.finished.due.feed), memories) for each in group]
        rows = [each for each in found if each is not None]
        settled = [each.settled for each in rows if not each.is_quiet]
        await entries.save(tx, [_merged(each) for each in settled if _shows_entries(each)])
        await raws.keep_for_ever(tx, [_fetch_id(each) for each in settled if _is_worth(each)])
        await _note_deaths(tx, settled)
        await lessons.learn(tx, [each.learned for each in rows])
        await lessons.record_visits(tx, [each.record for each in rows])
        moves = [fact for each in settled for fact in await _carry_out_move(tx, each)]
        facts = [fact for each in settled for fact in each.events]
        lap("events")
        await log.append(tx, [*facts, *moves], engine.clock.now())
    return [Lost() if each is None else each.settled for each in found]


async def _memories(tx: Transaction, visits: Sequence[Finished]) -> dict[FeedPk, Memory]:
    """A feed on its first document has nothing to remember, unless its archive was read again."""
    first = [each.due.feed for each in visits if not each.due.documents_seen]
    bare = set(first) - await entries.with_entries(tx, first)
    shown = [
        (each.due.feed, each.read.entries)
        for each in visits
        if isinstance(each.read, ReadFeed) and each.due.feed not in bare
    ]
    return await entries.recall(tx, shown) if shown else {}


def _rows(
    engine: Engine, visit: Foreseen, holding: Holding | None, memories: dict[FeedPk, Memory]
) -> Rows | None:
    """As foreseen, unless a person has changed their mind since the visit began. None for a visit
    whose claim is no longer ours."""
    finished, due = visit.finished, visit.finished.due
    if holding is None or holding.fence != due.fence:
        return None
    overrides = {} if holding.overrides == NOTHING else orjson.loads(holding.overrides)
    if visit.rows is not None and overrides == due.overrides:
        return visit.rows
    memory = memories.get(due.feed) or NO_MEMORY
    settled = settle(finished, memory, overrides, engine.schedule, engine.rules, visit.luck)
    return rows_of(settled, engine.worker)


def _shows_entries(settled: Settled) -> bool:
    return settled.changes is not NO_CHANGES and settled.changes != NO_CHANGES


def _is_worth(settled: Settled) -> bool:
    return settled.changes.touches_entries


def _fetch_id(settled: Settled) -> str:
    assert settled.finished.archived is not None, "entries come from an archived body only"
    return settled.finished.archived.fetch_id


def _merged(settled: Settled) -> Merged:
    due = settled.finished.due
    return Merged(
        feed=due.feed,
        changes=settled.changes,
        fetch_id=_fetch_id(settled),
        now=settled.now,
        before=due.documents_seen,
        seen_before_at=due.document_seen_at,
    )


async def _note_deaths(tx: Transaction, settled: Sequence[Settled]) -> None:
    for each in settled:
        read, archived = each.finished.read, each.finished.archived
        if archived and isinstance(read, Unreadable) and killed_its_parser(read):
            await raws.note_parser_death(
                tx, archived.body_sha256, read.code, each.finished.finished_at
            )


async def _carry_out_move(tx: Transaction, settled: Settled) -> list[Event]:
    """A move that proved stable; where another feed is followed already, this one stops instead.

    Where a feed lives that nobody visits, the address is taken but nothing is followed there: we go
    on by the redirect, and look again at every visit whether the address has become free.
    """
    due, target = settled.finished.due, settled.believed_move
    key = canonical(target) if target else None
    if target is None or key is None:
        return []
    other = await calendar.feed_at(tx, key_of(key))
    if other is not None and other.feed_id != due.feed_id:
        if other.state not in _FOLLOWED:
            return []
        await calendar.stop_as_duplicate(tx, due.feed, target)
        return [feed_moved(due.feed_id, due.url, target, duplicate_of=other.feed_id)]
    host = host_of(target)
    await calendar.move_feed(tx, due.feed, target, key_of(key), host, shard_of(host))
    return [feed_moved(due.feed_id, due.url, target)]
