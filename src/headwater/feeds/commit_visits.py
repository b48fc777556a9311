"""Commit visits: the second of two commits, everything learned, many visits in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from headwater.core.concurrency import split_on_refusal
from headwater.core.errors import DatabaseRefused
from headwater.core.ports import Database, Transaction
from headwater.core.telemetry.trace import mark_moment
from headwater.core.values.ids import FeedPk, WorkerId, index_key
from headwater.core.values.instant import to_micros
from headwater.core.values.url import canonical, host_of, shard_of
from headwater.events import event_rows
from headwater.events.event import Event
from headwater.feeds import feed_rows, visit_rows
from headwater.feeds.entries import entry_rows
from headwater.feeds.entries.entry_changes import NO_CHANGES
from headwater.feeds.entries.entry_rows import NOTHING_KNOWN, EntriesToSave, KnownEntries
from headwater.feeds.feed_events import feed_moved
from headwater.feeds.judge_visit import FinishedVisit, JudgedVisit, judge_visit
from headwater.feeds.metrics import observe_commit
from headwater.feeds.raw import raw_rows
from headwater.feeds.read_document import ReadFeed, UnreadableDocument, killed_its_parser
from headwater.feeds.schedule.policy import SchedulePolicy
from headwater.feeds.visit_rows import VisitWrites, visit_writes_of
from headwater.feeds.visit_rules import VisitRules
from headwater.feeds.worker import claim_rows
from headwater.feeds.worker.claim_rows import ClaimState


@dataclass(frozen=True, slots=True)
class ClaimLost:
    """The claim was no longer ours: nothing was written (J6)."""


CommitResult = JudgedVisit | ClaimLost | DatabaseRefused

_FOLLOWED = ("active", "paused")


@dataclass(frozen=True, slots=True)
class CommitServices:
    """What the second commit works with. `worker` is named as the maker of each visit."""

    database: Database
    schedule: SchedulePolicy
    rules: VisitRules
    worker: WorkerId


class PreparedVisit(NamedTuple):
    """A finished visit on its way to the commit; `rows` where its meaning is known by then."""

    finished: FinishedVisit
    luck: float
    rows: VisitWrites | None


def prepare_visit(services: CommitServices, finished: FinishedVisit) -> PreparedVisit:
    """What a visit means is worked out while others are being committed, where it can be: without
    a document, nothing that the database knows changes it but what its feed's owner says meanwhile.

    Inside the commit everybody waits for it, as SQLite has one writer at a time.
    """
    luck, due = services.database.clock.luck(), finished.due
    if isinstance(finished.read, ReadFeed):
        return PreparedVisit(finished, luck, None)
    settled = judge_visit(
        finished, NOTHING_KNOWN, due.overrides, services.schedule, services.rules, luck
    )
    return PreparedVisit(finished, luck, visit_writes_of(settled, services.worker))


async def commit_visits(services: CommitServices, group: list[PreparedVisit]) -> list[CommitResult]:
    """One transaction for all; a visit that the database refuses is refused alone."""
    observe_commit("remember", len(group))
    return await split_on_refusal(partial(_commit_once, services), group, DatabaseRefused)


async def _commit_once(
    services: CommitServices, group: list[PreparedVisit]
) -> list[JudgedVisit | ClaimLost]:
    async with services.database.write() as tx:
        held = await claim_rows.lock_claimed_feeds(
            tx, [each.finished.due.feed for each in group], to_micros(tx.now)
        )
        memories = await _load_known_entries(
            tx, [each.finished for each in group if each.rows is None]
        )
        found = [
            _visit_writes(services, each, held.get(each.finished.due.feed), memories)
            for each in group
        ]
        rows = [each for each in found if each is not None]
        settled = [each.settled for each in rows if not each.is_quiet]
        await entry_rows.save_entries(
            tx, [_merged(each) for each in settled if _shows_entries(each)]
        )
        await raw_rows.set_kept(
            tx, [_fetch_id(each) for each in settled if _is_worth_keeping(each)]
        )
        await _note_deaths(tx, settled)
        await visit_rows.update_feeds(tx, [each.learned for each in rows])
        await visit_rows.insert_visits(tx, [each.record for each in rows])
        moves = [fact for each in settled for fact in await _carry_out_move(tx, each)]
        facts = [fact for each in settled for fact in each.events]
        mark_moment("events")
        await event_rows.append_events(tx, [*facts, *moves], tx.now)
    return [ClaimLost() if each is None else each.settled for each in found]


async def _load_known_entries(
    tx: Transaction, visits: Sequence[FinishedVisit]
) -> dict[FeedPk, KnownEntries]:
    """A feed on its first document has nothing to remember, unless its archive was read again."""
    first = [each.due.feed for each in visits if not each.due.documents_seen]
    bare = set(first) - await entry_rows.list_feeds_with_entries(tx, first)
    shown = [
        (each.due.feed, each.read.entries)
        for each in visits
        if isinstance(each.read, ReadFeed) and each.due.feed not in bare
    ]
    return await entry_rows.list_known_entries(tx, shown) if shown else {}


def _visit_writes(
    services: CommitServices,
    visit: PreparedVisit,
    holding: ClaimState | None,
    memories: dict[FeedPk, KnownEntries],
) -> VisitWrites | None:
    """As foreseen, unless a person has changed their mind since the visit began. None for a visit
    whose claim is no longer ours."""
    finished, due = visit.finished, visit.finished.due
    if holding is None or holding.fence != due.fence:
        return None
    if visit.rows is not None and holding.overrides == due.overrides:
        return visit.rows
    memory = memories.get(due.feed) or NOTHING_KNOWN
    settled = judge_visit(
        finished, memory, holding.overrides, services.schedule, services.rules, visit.luck
    )
    return visit_writes_of(settled, services.worker)


def _shows_entries(settled: JudgedVisit) -> bool:
    return settled.changes is not NO_CHANGES and settled.changes != NO_CHANGES


def _is_worth_keeping(settled: JudgedVisit) -> bool:
    return settled.changes.touches_entries


def _fetch_id(settled: JudgedVisit) -> str:
    assert settled.finished.archived is not None, "entries come from an archived body only"
    return settled.finished.archived.fetch_id


def _merged(settled: JudgedVisit) -> EntriesToSave:
    due = settled.finished.due
    return EntriesToSave(
        feed=due.feed,
        changes=settled.changes,
        fetch_id=_fetch_id(settled),
        now=settled.now,
        before=due.documents_seen,
        seen_before_at=due.document_seen_at,
    )


async def _note_deaths(tx: Transaction, settled: Sequence[JudgedVisit]) -> None:
    for each in settled:
        read, archived = each.finished.read, each.finished.archived
        if archived and isinstance(read, UnreadableDocument) and killed_its_parser(read):
            await raw_rows.upsert_parser_death(
                tx, archived.body_sha256, read.code, each.finished.finished_at
            )


async def _carry_out_move(tx: Transaction, settled: JudgedVisit) -> list[Event]:
    """A move that proved stable; where another feed is followed already, this one stops instead.

    Where a feed lives that nobody visits, the address is taken but nothing is followed there: we go
    on by the redirect, and look again at every visit whether the address has become free.
    """
    due, target = settled.finished.due, settled.believed_move
    key = canonical(target) if target else None
    if target is None or key is None:
        return []
    other = await feed_rows.find_feed_at_url(tx, index_key(key))
    if other is not None and other.feed_id != due.feed_id:
        if other.state not in _FOLLOWED:
            return []
        await feed_rows.set_duplicate(tx, due.feed, target)
        return [feed_moved(due.feed_id, due.url, target, duplicate_of=other.feed_id)]
    host = host_of(target)
    await feed_rows.set_feed_url(tx, due.feed, target, index_key(key), host, shard_of(host))
    return [feed_moved(due.feed_id, due.url, target)]
