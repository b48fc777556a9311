"""Trace a visit: its spans have facts under OpenTelemetry's names, and URLs without secrets."""

from headwater.core.errors import DatabaseRefused
from headwater.core.telemetry.trace import NoTrace, SharedWork, Span, SpanFacts, Tracer, VisitTrace
from headwater.core.values.instant import rfc3339, rfc3339_at, to_micros
from headwater.feeds.commit_visits import ClaimLost, CommitResult
from headwater.feeds.fetch.outcome import Outcome, Unchanged
from headwater.feeds.fetch.request_feed import FetchRequest
from headwater.feeds.fetch.request_trace import describe_request, url_facts
from headwater.feeds.judge_visit import JudgedVisit
from headwater.feeds.raw.raw_fetch import RawFetch
from headwater.feeds.read_document import ReadFeed, ReadResult, SameDocument, UnreadableDocument
from headwater.feeds.schedule.due import DueFeed

NANOS = 1_000
"""In a microsecond."""

LOST = ("lost_claim", "the claim was no longer ours: nothing was written")


def start_visit_trace(tracer: Tracer, due: DueFeed) -> VisitTrace | NoTrace:
    """Start a trace at the moment of the claim; enter it around everything done for this visit."""
    if not tracer:
        return tracer.trail("visit")
    began = None if due.claimed_at is None else due.claimed_at * NANOS
    trail = tracer.trail("visit", began)
    if trail:
        trail.note(**_feed_facts(due), **{"headwater.visit.kind": "scheduled"})
    return trail


def start_first_visit_trace(tracer: Tracer, url: str) -> VisitTrace | NoTrace:
    """Start a trace for a URL that somebody wants to follow; it may turn out not to be a feed."""
    trail = tracer.trail("visit")
    if trail:
        trail.note(**url_facts(url), **{"headwater.visit.kind": "first"})
    return trail


def describe_report(root: Span, due: DueFeed, outcome: Outcome, by: str) -> None:
    """Trace a visit whose request a registered fetcher made before its report reached us."""
    root.note(**{"headwater.visit.kind": "reported"})
    with root.trail.span("schedule") as scheduled:
        describe_schedule(scheduled, due, by)
    exchange = outcome.exchange
    request = root.trail.span("request", to_micros(exchange.started_at) * NANOS)
    request.ended = request.began + round(exchange.answer.elapsed * 1_000_000_000)
    root.began = min(root.began, request.began)
    describe_request(request, FetchRequest(due.url), outcome)
    # Only the fetcher knows whether its request was conditional.
    request.note(**{"headwater.conditional": None})


def describe_schedule(span: Span, due: DueFeed, worker: str) -> None:
    """When this visit was planned, why, and the decision that led to it."""
    if due.claimed_at is not None:
        span.began = min(span.began, due.claimed_at * NANOS)
    late = span.trail.now() // NANOS - due.scheduled_at
    span.note(
        **{
            "headwater.scheduled_at": rfc3339_at(due.scheduled_at),
            "headwater.late_seconds": round(max(0, late) / 1_000_000, 6),
            "headwater.worker": worker,
            "headwater.fence": due.fence,
            "headwater.decision.reason": due.reason or "not visited yet",
            "headwater.decision.at": None if due.decided_at is None else rfc3339_at(due.decided_at),
            "headwater.decision.interval_seconds": due.state.interval,
            "headwater.failures": due.state.failures,
        }
    )
    span.trail.note(**_feed_facts(due))


def describe_archive(span: Span, raw: RawFetch) -> None:
    _share(span)
    span.note(
        **{
            "headwater.fetch_id": raw.fetch_id,
            "headwater.body.sha256": raw.body_sha256,
            "headwater.body.size": len(raw.body),
            "headwater.body.truncated": raw.truncated or None,
        }
    )


def describe_reading(span: Span, read: ReadResult, size: int) -> None:
    span.note(**{"headwater.body.size": size})
    match read:
        case ReadFeed():
            span.note(
                **{
                    "headwater.document.format": read.format,
                    "headwater.document.entries": len(read.entries),
                    "headwater.document.partial": read.partial or None,
                    "headwater.document.problems": [code for code, _ in read.problems],
                }
            )
        case SameDocument():
            span.note(**{"headwater.document.same": True})
        case UnreadableDocument():
            span.fail(read.code, read.detail)


def describe_merge(span: Span, result: CommitResult) -> None:
    """The second commit as two spans: the merge, then the events, with the times of the group."""
    group = _share(span)
    if isinstance(result, DatabaseRefused):
        span.fail(result.code, result.message)
    elif isinstance(result, ClaimLost):
        span.fail(*LOST)
    if not isinstance(result, JudgedVisit):
        return
    changes = result.changes
    span.note(
        **{
            "headwater.entries.new": len(changes.new),
            "headwater.entries.updated": len(changes.edited),
            "headwater.entries.cut": changes.cut or None,
        }
    )
    # Beside the merge, not inside it: when it is added, the merge is over.
    events = span.trail.span("events", span.ended)
    events.parent_id = span.parent_id
    if group is not None:
        span.ended = events.began = min(group.laps.get("events", group.ended), group.ended)
        events.note(**{"headwater.group.size": group.size})
    events.ended = span.trail.now() if group is None else group.ended
    events.note(
        **{
            "headwater.events.count": len(result.events),
            "headwater.events.types": sorted({event.type for event in result.events}),
        },
        **_decision_facts(result),
    )


def describe_end(root: Span, result: CommitResult) -> None:
    """The result of the whole visit."""
    if isinstance(result, ClaimLost):
        root.fail(*LOST)
        return
    if isinstance(result, DatabaseRefused):
        root.fail(result.code, result.message)
        return
    finished = result.finished
    root.note(
        **_feed_facts(finished.due),
        **{
            "headwater.outcome": result.name,
            "http.response.status_code": finished.outcome.exchange.answer.status,
            "headwater.not_modified": isinstance(finished.outcome, Unchanged) or None,
            "headwater.fetch_id": finished.archived.fetch_id if finished.archived else None,
            "headwater.entries.new": len(result.changes.new),
        },
        **_decision_facts(result),
    )
    if result.error is not None:
        root.fail(result.error, result.detail or "")


def _share(span: Span) -> SharedWork | None:
    """A span of shared work has the times of its group, and says how many visits shared it."""
    group = span.trail.group
    span.trail.group = None
    if group is not None:
        span.began, span.ended = group.began, group.ended
        span.note(**{"headwater.group.size": group.size})
    return group


def _feed_facts(due: DueFeed) -> SpanFacts:
    return {"headwater.feed.id": due.feed_id, **url_facts(due.url)}


def _decision_facts(judged: JudgedVisit) -> SpanFacts:
    decision = judged.decision
    return {
        "headwater.next.at": rfc3339(decision.next) if decision.next else None,
        "headwater.next.interval_seconds": round(decision.interval, 3),
        "headwater.next.code": decision.code,
        "headwater.next.reason": decision.reason,
    }
