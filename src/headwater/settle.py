"""What one finished visit means: changes, the next visit, the facts to tell. Pure, no I/O."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson

from headwater.announce import event
from headwater.announce.event import Event
from headwater.archive import Archived
from headwater.engine import Rules
from headwater.fetch.moves import is_believed, observed
from headwater.fetch.outcome import Failed, Fetched, Gone, Outcome, Throttled, Unchanged
from headwater.merge.compare import NO_CHANGES, Changes, compare
from headwater.merge.reading import Read, ReadFeed, SameDocument, Unreadable
from headwater.merge.store import Memory
from headwater.merge.trust import newly_distrusted
from headwater.schedule.cadence import begun_anew
from headwater.schedule.decision import Decision, decide
from headwater.schedule.due import Due, Move, own_policy
from headwater.schedule.policy import Policy
from headwater.schedule.state import (
    NotModified,
    ReadDocument,
    SaidGone,
    ToldToWait,
    Trouble,
    Visited,
)
from headwater.values.ids import WorkerId
from headwater.values.instant import rfc3339, to_micros
from headwater.values.making import quickly_made

_DAY_MICROS = 86_400_000_000


@quickly_made
@dataclass(frozen=True, slots=True)
class Finished:
    """A visit before its second commit. `by` is who asked, where that was not this process."""

    due: Due
    outcome: Outcome
    archived: Archived | None
    read: Read | None
    conditional: bool
    finished_at: datetime
    by: WorkerId | None = None


@quickly_made
@dataclass(frozen=True, slots=True)
class Settled:
    """The meaning of a finished visit; `remember` writes it down."""

    finished: Finished
    changes: Changes
    decision: Decision
    events: tuple[Event, ...]
    name: str
    error: str | None
    detail: str | None
    move: Move
    believed_move: str | None
    failing_told: bool
    new_today: int
    today: int
    now: int

    @property
    def succeeded(self) -> bool:
        return self.error is None and self.name in {"fetched", "unchanged"}


def settle(
    finished: Finished, memory: Memory, overrides: dict[str, Any], policy: Policy, rules: Rules,
    luck: float,
) -> Settled:  # fmt: skip
    own, now = own_policy(policy, overrides), to_micros(finished.finished_at)
    due = replace_overrides(finished.due, overrides, own)
    today = now // _DAY_MICROS
    already = due.new_today if due.today == today else 0
    changes = _changes(finished, memory, rules.max_new_entries_per_day - already)
    name, error, detail = _in_short(finished)
    lesson = _lesson(finished, changes, error)
    decision = decide(due.state, lesson, own, finished.finished_at, luck)
    move = _move(finished, error, now)
    believed = is_believed(
        move,
        now,
        after_count=rules.moved_after_count,
        after_hours=rules.moved_after_hours,
    )
    events, failing_told = _feed_events(finished, decision, error, detail, rules)
    return Settled(
        finished if due is finished.due else replace(finished, due=due),
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


def replace_overrides(due: Due, overrides: dict[str, Any], own: Policy) -> Due:
    """A person may have changed their mind while we were away."""
    if overrides == due.overrides:
        return due
    state = replace(
        due.state,
        asked_interval=overrides.get("interval_sec"),
        push_only=bool(overrides.get("push_only", False)),
        ceiling=overrides.get("ceiling_sec"),
    )
    if due.state.is_ordered and not state.is_ordered:
        # The interval was the order's own and says nothing about the feed.
        state = replace(state, interval=begun_anew(state.ewma, own))
    return replace(due, overrides=overrides, state=state)


def _changes(finished: Finished, memory: Memory, room: int) -> Changes:
    due, read = finished.due, finished.read
    if not isinstance(read, ReadFeed):
        return NO_CHANGES
    return compare(
        memory.known,
        memory.aliases,
        read.entries,
        room_for_new=max(0, room),
        ends_early_as=due.documents_seen + 1 if read.partial else None,
        distrusted=newly_distrusted(memory.known, due.identity, read.identity),
    )


def _in_short(finished: Finished) -> tuple[str, str | None, str | None]:
    """The outcome's name, and what went wrong if something did."""
    match finished.outcome:
        case Unchanged():
            return "unchanged", None, None
        case Fetched():
            if isinstance(finished.read, Unreadable):
                return "unreadable", finished.read.code, finished.read.detail
            return "fetched", None, None
        case Throttled(exchange=exchange):
            status = exchange.answer.status
            return "throttled", f"http_{status}", f"the server asked us to wait ({status})"
        case Gone():
            return "gone", "http_410", "the server says the feed is gone for good (410)"
        case Failed(code=code, detail=detail):
            return "failed", code, detail


def _lesson(finished: Finished, changes: Changes, error: str | None) -> Visited:
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


def _move(finished: Finished, error: str | None, now: int) -> Move:
    due, outcome = finished.due, finished.outcome
    if error is not None or not isinstance(outcome, Fetched | Unchanged):
        return due.move
    return observed(due.move, outcome.moved_to, now)


def _entry_events(finished: Finished, changes: Changes) -> list[Event]:
    if not changes.new and not changes.edited:
        return []
    assert finished.archived is not None, "entries come from an archived body only"
    return entry_events(
        finished.due.feed_id, finished.archived.fetch_id, changes, finished.finished_at
    )


def entry_events(feed_id: str, fetch_id: str, changes: Changes, moment: datetime) -> list[Event]:
    """One for each entry that is new or says something else now."""
    now = rfc3339(moment)
    told = [
        event.new_entry(feed_id, e.uid, e.link, e.published, fetch_id, now) for e in changes.new
    ]
    told += [
        event.updated_entry(
            feed_id, known.uid, entry.link, entry.published, fetch_id, now, known.version + 1
        )
        for entry, known in changes.edited
    ]
    return told


def _feed_events(
    finished: Finished, decision: Decision, error: str | None, detail: str | None, rules: Rules
) -> tuple[list[Event], bool]:
    """Told once when it begins and once when it ends."""
    due, failures = finished.due, decision.state.failures
    if decision.next is None:
        return [event.feed_gone(due.feed_id, due.url)], due.failing_told
    if error is None and due.failing_told:
        return [event.feed_recovered(due.feed_id, due.url, due.state.failures)], False
    if failures >= rules.failing_after and not due.failing_told:
        code = error or "internal_error"
        return [event.feed_failing(due.feed_id, due.url, failures, code, detail or "")], True
    return [], due.failing_told


def json_or_none(value: Any) -> str | None:
    return orjson.dumps(value).decode() if value else None
