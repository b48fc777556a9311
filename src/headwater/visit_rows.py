"""What a settled visit leaves in the database: its feed's row, a line of its history. Pure."""

from typing import NamedTuple

import orjson

from headwater.fetch.outcome import Fetched
from headwater.fetch.redact import redacted_headers
from headwater.fetch.store import headers_json
from headwater.merge.lateness import lateness
from headwater.merge.reading import ReadFeed, SameDocument
from headwater.schedule.lessons.store import Confirmed, Learned, QuietVisit, VisitRecord
from headwater.settle import Settled, json_or_none
from headwater.values.ids import WorkerId
from headwater.values.instant import maybe_micros, to_micros
from headwater.values.response import Exchange, Validators
from headwater.values.url import redacted

_PRECONDITION_FAILED = 412


class Rows(NamedTuple):
    """A visit and what it leaves. A quiet one touches nothing else."""

    settled: Settled
    learned: Learned | Confirmed
    record: VisitRecord | QuietVisit
    is_quiet: bool


def rows_of(settled: Settled, worker: WorkerId) -> Rows:
    next_at = maybe_micros(settled.decision.next)
    if next_at is not None and _is_quiet(settled):
        quiet = _quiet_record(settled, next_at, worker)
        return Rows(settled, _confirmed(settled, next_at), quiet, is_quiet=True)
    record = _record(settled, next_at, worker)
    return Rows(settled, _learned(settled, next_at), record, is_quiet=False)


def _is_quiet(settled: Settled) -> bool:
    """Not modified, and nothing to put right: as it was before this visit, but for its times."""
    due, state = settled.finished.due, settled.decision.state
    before = due.state
    return (
        settled.name == "unchanged"
        and not settled.events
        and not due.after_failure
        and settled.move is due.move
        and state.hints is before.hints
        and state.recent_published is before.recent_published
        and state.failures == before.failures
        and state.gone == before.gone
        and settled.failing_told == due.failing_told
    )


def _confirmed(settled: Settled, next_at: int) -> Confirmed:
    due, now, answer = settled.finished.due, settled.now, settled.finished.outcome.exchange.answer
    return Confirmed(
        settled.decision.state.interval, now, settled.decision.reason,
        due.documents_seen + 1, now,
        now, settled.name, answer.status, 0,
        settled.new_today, settled.today,
        settled.finished.outcome.exchange.own_address or due.last_address,
        now, next_at, next_at, now, due.feed,
    )  # fmt: skip


def _quiet_record(settled: Settled, next_at: int, worker: WorkerId) -> QuietVisit:
    finished, due, decision = settled.finished, settled.finished.due, settled.decision
    exchange = finished.outcome.exchange
    answer = exchange.answer
    return QuietVisit(
        due.feed, due.scheduled_at, to_micros(exchange.started_at), settled.now,
        finished.by or worker, redacted(exchange.asked_url), settled.name, answer.status,
        finished.conditional, _hops(exchange) if exchange.hops else None,
        answer.address, len(answer.body), answer.elapsed * 1000, 0, 0,
        due.state.interval, decision.interval, next_at,
        decision.code, decision.reason, orjson.dumps(decision.inputs).decode(),
    )  # fmt: skip


def _learned(settled: Settled, next_at: int | None) -> Learned:
    finished, due, now = settled.finished, settled.finished.due, settled.now
    state, move, has_succeeded = settled.decision.state, settled.move, settled.succeeded
    new = finished.read if isinstance(finished.read, ReadFeed) else None
    exchange = finished.outcome.exchange
    validators, document_hash = _known_by(settled)
    return Learned(
        state.interval, now, settled.decision.reason,
        getattr(finished.outcome, "retry_after", None), state.failures, state.gone, state.ewma,
        orjson.dumps(state.hints.as_json()).decode(), orjson.dumps(state.recent_published).decode(),
        validators.etag, validators.last_modified,
        asked_whole_at=_asked_whole_at(settled),
        documents_seen=due.documents_seen + has_succeeded,
        document_seen_at=now if has_succeeded else due.document_seen_at,
        document_hash=document_hash,
        identity=json_or_none(new.identity if new else due.identity),
        moved_to=move.to, moved_count=move.count, moved_since=move.since,
        failing_told=settled.failing_told,
        last_fetch_at=now,
        last_outcome=settled.name, last_status=exchange.answer.status, last_error=settled.error,
        new_entries_last_fetch=len(settled.changes.new),
        new_today=settled.new_today, today=settled.today,
        last_address=exchange.own_address or due.last_address,
        updated_at=now,
        state="gone" if next_at is None else "active",
        scheduled_at=next_at, next_visit_at=next_at,
        last_success_at=now if has_succeeded else None,
        type=new.format if new else None,
        title=new.title if new else None,
        home_link=new.home_link if new else None,
        feed=due.feed,
    )  # fmt: skip


def _asked_whole_at(settled: Settled) -> int | None:
    """None has the whole document asked for next: a server that refuses the condition itself would
    refuse it every time, though what it guards can be had."""
    if settled.succeeded and settled.name == "fetched":
        return settled.now
    refused = settled.finished.outcome.exchange.answer.status == _PRECONDITION_FAILED
    return None if refused else settled.finished.due.asked_whole_at


def _known_by(settled: Settled) -> tuple[Validators, bytes | None]:
    """By what the next answer is seen to bring the same document again.

    By nothing, when we did not take in all of this one: neither it nor the one before it is what
    we have, so the next one must come as a whole and be compared. Two that end early, one after the
    other, are how this feed is: then its validators count, or it would be fetched whole for ever.
    """
    due, outcome, read = settled.finished.due, settled.finished.outcome, settled.finished.read
    if not isinstance(outcome, Fetched) or not isinstance(read, ReadFeed | SameDocument):
        return due.validators, due.document_hash
    if settled.changes.cut:
        return Validators(), None
    was_whole = due.document_hash is not None or not due.documents_seen
    if isinstance(read, ReadFeed) and read.partial and was_whole:
        return Validators(), None
    return outcome.validators, read.document_hash


def _record(settled: Settled, next_at: int | None, worker: WorkerId) -> VisitRecord:
    finished, due, decision = settled.finished, settled.finished.due, settled.decision
    exchange, read, changes = finished.outcome.exchange, finished.read, settled.changes
    answer, (asked, answered) = exchange.answer, _headers(settled)
    late = lateness(changes.new, due.document_seen_at, settled.now)
    return VisitRecord(
        feed_id=due.feed,
        scheduled_at=due.scheduled_at,
        started_at=to_micros(exchange.started_at),
        finished_at=settled.now,
        worker=finished.by or worker,
        url=redacted(exchange.asked_url),
        outcome=settled.name,
        status=answer.status,
        error=settled.error,
        error_detail=settled.detail,
        fetch_id=finished.archived.fetch_id if finished.archived else None,
        conditional=finished.conditional,
        hops=_hops(exchange) if exchange.hops else None,
        request_headers=asked,
        response_headers=answered,
        address=answer.address,
        bytes_in=len(answer.body),
        latency_ms=answer.elapsed * 1000,
        entries_in_document=len(read.entries) if isinstance(read, ReadFeed) else None,
        new_entries=len(changes.new), updated_entries=len(changes.edited),
        limits=_limits(settled) if changes.cut or changes.repeated else None,
        problems=json_or_none(_problems(read)) if isinstance(read, ReadFeed) else None,
        interval_before=due.state.interval, interval_after=decision.interval,
        next_at=next_at,
        reason_code=decision.code,
        reason=decision.reason,
        inputs=orjson.dumps(decision.inputs).decode(),
        dated_entries=late.entries, late_sec=late.seconds, late_squares=late.squares,
        decoded_bytes=None if read is None else read.decoded_bytes,
        retry=due.after_failure,
    )  # fmt: skip


def _headers(settled: Settled) -> tuple[str | None, str | None]:
    """Asked and answered. Those of a body stand with its raw fetch; a 304 has nothing to tell."""
    if settled.finished.archived is not None or settled.name == "unchanged":
        return None, None
    answer = settled.finished.outcome.exchange.answer
    return (
        headers_json(redacted_headers(answer.request_headers)),
        headers_json(redacted_headers(answer.response_headers)),
    )


def _hops(exchange: Exchange) -> str | None:
    return json_or_none(
        [(redacted(hop.url), hop.status, redacted(hop.location)) for hop in exchange.hops]
    )


def _limits(settled: Settled) -> str | None:
    """What our own limits cut: told, never silent."""
    changes = settled.changes
    cut = {"new_entries_cut": changes.cut, "repeated_in_document": changes.repeated}
    return json_or_none({name: count for name, count in cut.items() if count})


def _problems(read: ReadFeed) -> list[tuple[str, str]]:
    partial = [("partial", "the document ends early")] if read.partial else []
    return [*partial, *read.problems]
