"""Records of visits, and of the decisions when to visit next."""

from typing import Any

from pydantic import Field

from headwater.entrypoints.api.feeds.feed_records import ScheduleRecord
from headwater.entrypoints.api.records import Moment, Record
from headwater.feeds.visit_rows import Visit


class HopRecord(Record):
    url: str
    status: int
    location: str


class VisitRecord(Record):
    """Headers are here only when no body was archived: else they are with the raw fetch."""

    scheduled_at: Moment
    started_at: Moment
    finished_at: Moment
    worker: str
    url: str
    outcome: str
    status: int | None
    error: str | None
    error_detail: str | None
    fetch_id: str | None
    conditional: bool
    hops: list[HopRecord]
    request_headers: list[list[str]] | None
    response_headers: list[list[str]] | None
    address: str | None
    bytes_in: int
    latency_ms: float
    entries_in_document: int | None
    new_entries: int
    updated_entries: int
    limits: Any = Field(description="What our own limits cut, by name; null when nothing was.")
    problems: Any = Field(description="What the parser repaired; null when nothing was.")
    interval_after_sec: int
    next_at: Moment | None
    reason: str

    @classmethod
    def of(cls, visit: Visit) -> "VisitRecord":
        return cls(
            scheduled_at=visit.scheduled_at,
            started_at=visit.started_at,
            finished_at=visit.finished_at,
            worker=visit.worker,
            url=visit.url,
            outcome=visit.outcome,
            status=visit.status,
            error=visit.error,
            error_detail=visit.error_detail,
            fetch_id=visit.fetch_id,
            conditional=visit.conditional,
            hops=[HopRecord(url=u, status=s, location=to) for u, s, to in visit.hops or ()],
            request_headers=visit.request_headers,
            response_headers=visit.response_headers,
            address=visit.address,
            bytes_in=visit.bytes_in,
            latency_ms=round(visit.latency_ms, 3),
            entries_in_document=visit.entries_in_document,
            new_entries=visit.new_entries,
            updated_entries=visit.updated_entries,
            limits=visit.limits,
            problems=visit.problems,
            interval_after_sec=round(visit.interval_after),
            next_at=visit.next_at,
            reason=visit.reason,
        )


class DecisionRecord(Record):
    """`inputs` is all the decision was made from: the same inputs give it again."""

    decided_at: Moment
    scheduled_at: Moment
    outcome: str
    interval_before: float
    interval_after: float
    next_at: Moment | None
    reason_code: str
    reason: str
    inputs: dict[str, Any]

    @classmethod
    def of(cls, visit: Visit) -> "DecisionRecord":
        return cls(
            decided_at=visit.finished_at,
            scheduled_at=visit.scheduled_at,
            outcome=visit.outcome,
            interval_before=visit.interval_before,
            interval_after=visit.interval_after,
            next_at=visit.next_at,
            reason_code=visit.reason_code,
            reason=visit.reason,
            inputs=visit.inputs,
        )


class VisitPage(Record):
    visits: list[VisitRecord]
    next_cursor: str | None


class DecisionPage(Record):
    """The schedule as it stands, and the decisions that led to it, newest first."""

    feed_id: str
    schedule: ScheduleRecord
    decisions: list[DecisionRecord]
    next_cursor: str | None
