"""Judge a finished visit: the changes it brings, the next visit, the events. Pure, no I/O."""

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
    """A visit before its second commit. `by` names the fetcher that made the request, if any."""

    due: DueFeed
    outcome: Outcome
    archived: ArchivedBody | None
    read: ReadResult | None
    conditional: bool
    finished_at: datetime
    by: WorkerId | None = None


class OutcomeSummary(NamedTuple):
    """An outcome and its document, matched once: in words for people, and for the schedule.

    `name` is the outcome as it is stored; `error` is a stable code, None when all is well;
    `detail` explains it. `for_schedule` is what the next visit is decided from, and is stored.
    """

    name: str
    error: str | None
    detail: str | None
    for_schedule: VisitOutcome


class JudgedVisit(NamedTuple):
    """Everything that follows from a finished visit; the second commit writes it.

    `name`, `error` and `detail` are those of its `OutcomeSummary`. `failing_told`: an event has
    told that the feed is failing. `new_today` counts the feed's new entries on the day `today`.
    """

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
    finished: FinishedVisit, known_entries: KnownEntries, overrides: Overrides,
    policy: SchedulePolicy, rules: VisitRules, luck: float,
) -> JudgedVisit:  # fmt: skip
    """Judge a visit by the entries that are known and by the feed's `overrides` as they are now.

    A person may have changed the overrides since the visit began.
    """
    own, now, due = overrides.policy_from(policy), to_micros(finished.finished_at), finished.due
    if overrides != due.overrides:
        due = due._replace(state=due.state.with_overrides(overrides, own))
    today = now // _DAY_MICROS
    already = due.new_today if due.today == today else 0
    changes = _changes(finished, known_entries, rules.max_new_entries_per_day - already)
    name, error, detail, for_schedule = _summarise_outcome(finished, len(changes.new))
    decision = decide_next_visit(due.state, for_schedule, own, finished.finished_at, luck)
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


def _changes(finished: FinishedVisit, known_entries: KnownEntries, room: int) -> MergeChanges:
    due, read = finished.due, finished.read
    if not isinstance(read, ReadFeed):
        return NO_CHANGES
    return decide_changes(
        known_entries.known,
        known_entries.aliases,
        read.entries,
        room_for_new=max(0, room),
        ends_early_as=due.documents_seen + 1 if read.partial else None,
        distrusted=newly_distrusted(known_entries.known, due.identity, read.identity),
    )


def _summarise_outcome(finished: FinishedVisit, new_entries: int) -> OutcomeSummary:
    match finished.outcome:
        case Unchanged(fresh_for=fresh_for):
            return OutcomeSummary("unchanged", None, None, NotModified(fresh_for))
        case Fetched(fresh_for=fresh_for):
            return _summarise_document(finished.read, new_entries, fresh_for)
        case Throttled(exchange=exchange, retry_after=seconds):
            status = exchange.answer.status
            detail = f"the server asked us to wait ({status})"
            return OutcomeSummary("throttled", f"http_{status}", detail, ToldToWait(seconds))
        case Gone():
            detail = "the server says the feed is gone for good (410)"
            return OutcomeSummary("gone", "http_410", detail, SaidGone())
        case Failed(code=code, detail=detail, retry_after=seconds):
            return OutcomeSummary("failed", code, detail, Trouble(code, seconds))


def _summarise_document(
    read: ReadResult | None, new_entries: int, fresh_for: float | None
) -> OutcomeSummary:
    match read:
        case ReadFeed(hints=hints, published=published):
            document = ReadDocument(new_entries, hints, published, fresh_for)
            return OutcomeSummary("fetched", None, None, document)
        case SameDocument():
            return OutcomeSummary("fetched", None, None, ReadDocument(0, fresh_for=fresh_for))
        case UnreadableDocument(code=code, detail=detail):
            return OutcomeSummary("unreadable", code, detail, Trouble(code))
        case None:
            return OutcomeSummary("fetched", None, None, Trouble("internal_error"))


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
    """One event for each entry that is new, and one for each whose content was edited."""
    now = rfc3339(moment)
    events = [
        feed_events.new_entry_event(feed_id, entry.uid, entry.link, entry.published, fetch_id, now)
        for entry in changes.new
    ]
    events += [
        feed_events.updated_entry_event(
            feed_id, known.uid, entry.link, entry.published, fetch_id, now, known.version + 1
        )
        for entry, known in changes.edited
    ]
    return events


def _feed_events(
    finished: FinishedVisit,
    decision: Decision,
    error: str | None,
    detail: str | None,
    rules: VisitRules,
) -> tuple[list[Event], bool]:
    """A run of failures has one event when it begins and one when it ends.

    The flag that is returned says whether the first of the two has been sent.
    """
    due, failures = finished.due, decision.state.failures
    if decision.next is None:
        return [feed_events.feed_gone(due.feed_id, due.url)], due.failing_told
    if error is None and due.failing_told:
        return [feed_events.feed_recovered(due.feed_id, due.url, due.state.failures)], False
    if failures >= rules.failing_after and not due.failing_told:
        code = error or "internal_error"
        return [feed_events.feed_failing(due.feed_id, due.url, failures, code, detail or "")], True
    return [], due.failing_told
