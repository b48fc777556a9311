"""Commit visits: the second of their two commits, many visits in one transaction."""

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
    """The claim was no longer ours, so nothing was written (J6)."""


CommitResult = JudgedVisit | ClaimLost | DatabaseRefused

_FOLLOWED_STATES = ("active", "paused")


@dataclass(frozen=True, slots=True)
class CommitServices:
    """The services of the second commit. `worker` is recorded as the maker of each visit."""

    database: Database
    schedule: SchedulePolicy
    rules: VisitRules
    worker: WorkerId


class PreparedVisit(NamedTuple):
    """A finished visit on its way to the commit, with its `writes` if it was judged early."""

    finished: FinishedVisit
    luck: float
    writes: VisitWrites | None


def prepare_visit(services: CommitServices, finished: FinishedVisit) -> PreparedVisit:
    """A visit without a new document is judged here, while others are being committed.

    Such a judgement depends on nothing in the database but the feed's overrides, which a person may
    change meanwhile. Inside the commit all others would wait for it: SQLite has one writer at a
    time.
    """
    luck, due = services.database.clock.luck(), finished.due
    if isinstance(finished.read, ReadFeed):
        return PreparedVisit(finished, luck, None)
    judged = judge_visit(
        finished, NOTHING_KNOWN, due.overrides, services.schedule, services.rules, luck
    )
    return PreparedVisit(finished, luck, visit_writes_of(judged, services.worker))


async def commit_visits(services: CommitServices, group: list[PreparedVisit]) -> list[CommitResult]:
    """Commit all in one transaction; a visit that the database refuses is refused alone."""
    observe_commit("remember", len(group))
    return await split_on_refusal(partial(_commit_once, services), group, DatabaseRefused)


async def _commit_once(
    services: CommitServices, group: list[PreparedVisit]
) -> list[JudgedVisit | ClaimLost]:
    async with services.database.write() as tx:
        feeds = [visit.finished.due.feed for visit in group]
        claims = await claim_rows.lock_claimed_feeds(tx, feeds, to_micros(tx.now))
        known_entries = await _load_known_entries(
            tx, [visit.finished for visit in group if visit.writes is None]
        )
        results = [
            _visit_writes(services, visit, claims.get(visit.finished.due.feed), known_entries)
            for visit in group
        ]
        writes = [result for result in results if result is not None]
        judged = [write.judged for write in writes if not write.is_quiet]
        await entry_rows.save_entries(
            tx, [_entries_to_save(visit) for visit in judged if visit.changes != NO_CHANGES]
        )
        await raw_rows.set_kept(
            tx, [_fetch_id(visit) for visit in judged if visit.changes.touches_entries]
        )
        await _record_parser_deaths(tx, judged)
        await visit_rows.update_feeds(tx, [write.update for write in writes])
        await visit_rows.insert_visits(tx, [write.row for write in writes])
        moves = [event for visit in judged for event in await _carry_out_move(tx, visit)]
        events = [event for visit in judged for event in visit.events]
        mark_moment("events")
        await event_rows.append_events(tx, [*events, *moves], tx.now)
    return [ClaimLost() if result is None else result.judged for result in results]


async def _load_known_entries(
    tx: Transaction, visits: Sequence[FinishedVisit]
) -> dict[FeedPk, KnownEntries]:
    """A feed on its first document has no entries, unless its archive was read again."""
    first = [visit.due.feed for visit in visits if not visit.due.documents_seen]
    without_entries = set(first) - await entry_rows.list_feeds_with_entries(tx, first)
    shown = [
        (visit.due.feed, visit.read.entries)
        for visit in visits
        if isinstance(visit.read, ReadFeed) and visit.due.feed not in without_entries
    ]
    return await entry_rows.list_known_entries(tx, shown) if shown else {}


def _visit_writes(
    services: CommitServices,
    visit: PreparedVisit,
    claim: ClaimState | None,
    known_entries: dict[FeedPk, KnownEntries],
) -> VisitWrites | None:
    """The writes prepared before, unless a person has changed the feed's overrides since the visit
    began. None for a visit whose claim is no longer ours."""
    finished, due = visit.finished, visit.finished.due
    if claim is None or claim.fence != due.fence:
        return None
    if visit.writes is not None and claim.overrides == due.overrides:
        return visit.writes
    known = known_entries.get(due.feed) or NOTHING_KNOWN
    judged = judge_visit(
        finished, known, claim.overrides, services.schedule, services.rules, visit.luck
    )
    return visit_writes_of(judged, services.worker)


def _fetch_id(judged: JudgedVisit) -> str:
    assert judged.finished.archived is not None, "entries come from an archived body only"
    return judged.finished.archived.fetch_id


def _entries_to_save(judged: JudgedVisit) -> EntriesToSave:
    due = judged.finished.due
    return EntriesToSave(
        feed=due.feed,
        changes=judged.changes,
        fetch_id=_fetch_id(judged),
        now=judged.now,
        before=due.documents_seen,
        seen_before_at=due.document_seen_at,
    )


async def _record_parser_deaths(tx: Transaction, visits: Sequence[JudgedVisit]) -> None:
    for visit in visits:
        read, archived = visit.finished.read, visit.finished.archived
        if archived and isinstance(read, UnreadableDocument) and killed_its_parser(read):
            await raw_rows.upsert_parser_death(
                tx, archived.body_sha256, read.code, visit.finished.finished_at
            )


async def _carry_out_move(tx: Transaction, judged: JudgedVisit) -> list[Event]:
    """A feed whose move has proved stable gets its new URL.

    If another feed is followed at that URL, this one stops instead. If a feed that nobody visits
    has it, the URL is taken but nothing is followed there: we go on by the redirect, and check at
    every visit whether the URL has become free.
    """
    due, target = judged.finished.due, judged.believed_move
    key = canonical(target) if target else None
    if target is None or key is None:
        return []
    other = await feed_rows.find_feed_at_url(tx, index_key(key))
    if other is not None and other.feed_id != due.feed_id:
        if other.state not in _FOLLOWED_STATES:
            return []
        await feed_rows.set_duplicate(tx, due.feed, target)
        return [feed_moved(due.feed_id, due.url, target, duplicate_of=other.feed_id)]
    host = host_of(target)
    await feed_rows.set_feed_url(tx, due.feed, target, index_key(key), host, shard_of(host))
    return [feed_moved(due.feed_id, due.url, target)]
