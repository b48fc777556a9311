"""Judge a finished visit: the changes, the next visit, the events. Pure, no I/O."""

from datetime import datetime
from typing import NamedTuple

from headwater.core.values.ids import WorkerId
from headwater.core.values.instant import rfc3339, to_micros
from headwater.events.event import Event
from headwater.feeds import feed_events
from headwater.feeds.entries.entry_changes import NO_CHANGES, MergeChanges
from headwater.feeds.entries.entry_rows import KnownEntries
from headwater.feeds.fetch.outcome import Failed, Fetched, Gone, Outcome, Throttled, Unchanged
from headwater.feeds.fetch.redirects import is_move_believed, observe_move
from headwater.feeds.merge.decide_changes import decide_changes, newly_distrusted
from headwater.feeds.overrides import Overrides
from headwater.feeds.raw.archive import ArchivedBody
from headwater.feeds.read_document import ReadFeed, ReadResult, SameDocument, UnreadableDocument
from headwater.feeds.schedule.decide_next_visit import Decision, decide_next_visit
from headwater.feeds.schedule.due import DueFeed, ObservedMove
from headwater.feeds.schedule.policy import SchedulePolicy
from headwater.feeds.schedule.state import (
    NotModified,
    ReadDocument,
    SaidGone,
    ToldToWait,
    Trouble,
    VisitOutcome,
)
from headwater.feeds.visit_rules import VisitRules

_DAY_MICROS = 86_400_000_000


class FinishedVisit(NamedTuple):
    """A visit before its second commit. `by` is who asked, where that was not this process."""

    due: DueFeed
    outcome: Outcome
    archived: ArchivedBody | None
    read: ReadResult | None
    conditional: bool
    finished_at: datetime
    by: WorkerId | None = None


class JudgedVisit(NamedTuple):
    """The meaning of a finished visit; `remember` writes it down."""

    finished: FinishedVisit
    changes: MergeChanges
    decision: Decision
    events: tuple[Event, ...]
    name: str
    error: str | None
    detail: str | None
    move: ObservedMove
    believed_move: str | None
    failing_told: bool
    new_today: int
    today: int
    now: int

    @property
    def succeeded(self) -> bool:
        return self.error is None and self.name in {"fetched", "unchanged"}


def judge_visit(
    finished: FinishedVisit, memory: KnownEntries, overrides: Overrides,
    policy: SchedulePolicy, rules: VisitRules, luck: float,
) -> JudgedVisit:  # fmt: skip
    """`overrides` are the feed's as they are now: a person may have changed them meanwhile."""
    own, now, due = overrides.policy_from(policy), to_micros(finished.finished_at), finished.due
    if overrides != due.overrides:
        due = due._replace(state=due.state.with_overrides(overrides, own))
    today = now // _DAY_MICROS
    already = due.new_today if due.today == today else 0
    changes = _changes(finished, memory, rules.max_new_entries_per_day - already)
    name, error, detail = _name_and_error(finished)
    lesson = _visit_outcome(finished, changes, error)
    decision = decide_next_visit(due.state, lesson, own, finished.finished_at, luck)
    move = _move(finished, error, now)
    believed = is_move_believed(
        move,
        now,
        after_count=rules.moved_after_count,
        after_hours=rules.moved_after_hours,
    )
    events, failing_told = _feed_events(finished, decision, error, detail, rules)
    return JudgedVisit(
        finished if due is finished.due else finished._replace(due=due),
        changes,
        decision,
        (*_entry_events(finished, changes), *events),
        name,
        error,
        detail,
        move,
        move.to if believed else None,
        failing_told,
        already + len(changes.new),
        today,
        now,
    )


def _changes(finished: FinishedVisit, memory: KnownEntries, room: int) -> MergeChanges:
    due, read = finished.due, finished.read
    if not isinstance(read, ReadFeed):
        return NO_CHANGES
    return decide_changes(
        memory.known,
        memory.aliases,
        read.entries,
        room_for_new=max(0, room),
        ends_early_as=due.documents_seen + 1 if read.partial else None,
        distrusted=newly_distrusted(memory.known, due.identity, read.identity),
    )


def _name_and_error(finished: FinishedVisit) -> tuple[str, str | None, str | None]:
    """The outcome's name, and what went wrong if something did."""
    match finished.outcome:
        case Unchanged():
            return "unchanged", None, None
        case Fetched():
            if isinstance(finished.read, UnreadableDocument):
                return "unreadable", finished.read.code, finished.read.detail
            return "fetched", None, None
        case Throttled(exchange=exchange):
            status = exchange.answer.status
            return "throttled", f"http_{status}", f"the server asked us to wait ({status})"
        case Gone():
            return "gone", "http_410", "the server says the feed is gone for good (410)"
        case Failed(code=code, detail=detail):
            return "failed", code, detail


def _visit_outcome(
    finished: FinishedVisit, changes: MergeChanges, error: str | None
) -> VisitOutcome:
    match finished.outcome, finished.read:
        case Unchanged(fresh_for=fresh), _:
            return NotModified(fresh)
        case Fetched(fresh_for=fresh), ReadFeed(hints=hints, published=published):
            return ReadDocument(len(changes.new), hints, published, fresh)
        case Fetched(fresh_for=fresh), SameDocument():
            return ReadDocument(0, fresh_for=fresh)
        case Throttled(retry_after=seconds), _:
            return ToldToWait(seconds)
        case Gone(), _:
            return SaidGone()
        case Failed(code=code, retry_after=seconds), _:
            return Trouble(code, seconds)
        case _:
            return Trouble(error or "internal_error")


def _move(finished: FinishedVisit, error: str | None, now: int) -> ObservedMove:
    due, outcome = finished.due, finished.outcome
    if error is not None or not isinstance(outcome, Fetched | Unchanged):
        return due.move
    return observe_move(due.move, outcome.moved_to, now)


def _entry_events(finished: FinishedVisit, changes: MergeChanges) -> list[Event]:
    if not changes.new and not changes.edited:
        return []
    assert finished.archived is not None, "entries come from an archived body only"
    return entry_events(
        finished.due.feed_id, finished.archived.fetch_id, changes, finished.finished_at
    )


def entry_events(
    feed_id: str, fetch_id: str, changes: MergeChanges, moment: datetime
) -> list[Event]:
    """One for each entry that is new or says something else now."""
    now = rfc3339(moment)
    told = [
        feed_events.new_entry_event(feed_id, e.uid, e.link, e.published, fetch_id, now)
        for e in changes.new
    ]
    told += [
        feed_events.updated_entry_event(
            feed_id, known.uid, entry.link, entry.published, fetch_id, now, known.version + 1
        )
        for entry, known in changes.edited
    ]
    return told


def _feed_events(
    finished: FinishedVisit,
    decision: Decision,
    error: str | None,
    detail: str | None,
    rules: VisitRules,
) -> tuple[list[Event], bool]:
    """Told once when it begins and once when it ends."""
    due, failures = finished.due, decision.state.failures
    if decision.next is None:
        return [feed_events.feed_gone(due.feed_id, due.url)], due.failing_told
    if error is None and due.failing_told:
        return [feed_events.feed_recovered(due.feed_id, due.url, due.state.failures)], False
    if failures >= rules.failing_after and not due.failing_told:
        code = error or "internal_error"
        return [feed_events.feed_failing(due.feed_id, due.url, failures, code, detail or "")], True
    return [], due.failing_told
