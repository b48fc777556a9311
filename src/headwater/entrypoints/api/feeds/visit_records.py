"""Records of visits, and of the decisions when to visit next."""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from headwater.entrypoints.api.feeds.feed_records import ScheduleRecord
from headwater.entrypoints.api.records import Moment, NounRecord, Record


class HopRecord(Record):
    url: str
    status: int
    location: str


def _hop_records(hops: Iterable[tuple[str, int, str]] | None) -> list[HopRecord]:
    return [
        HopRecord(url=url, status=status, location=location) for url, status, location in hops or ()
    ]


def _to_microseconds(milliseconds: float) -> float:
    return round(milliseconds, 3)


class VisitRecord(NounRecord):
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
    hops: Annotated[list[HopRecord], BeforeValidator(_hop_records)]
    request_headers: list[list[str]] | None
    response_headers: list[list[str]] | None
    address: str | None
    bytes_in: int
    latency_ms: Annotated[float, BeforeValidator(_to_microseconds)]
    entries_in_document: int | None
    new_entries: int
    updated_entries: int
    limits: Any = Field(description="Parts that our limits cut, by name; null when none was.")
    problems: Any = Field(description="Faults that the parser repaired; null when there was none.")
    interval_after_sec: Annotated[int, BeforeValidator(round)] = Field(
        validation_alias="interval_after"
    )
    next_at: Moment | None
    reason: str


class DecisionRecord(NounRecord):
    """`inputs` is all the decision was made from: the same inputs give it again."""

    decided_at: Moment = Field(validation_alias="finished_at")
    scheduled_at: Moment
    outcome: str
    interval_before: float
    interval_after: float
    next_at: Moment | None
    reason_code: str
    reason: str
    inputs: dict[str, Any]


class VisitPage(Record):
    visits: list[VisitRecord]
    next_cursor: str | None


class DecisionPage(Record):
    """The schedule as it stands, and the decisions that led to it, newest first."""

    feed_id: str
    schedule: ScheduleRecord
    decisions: list[DecisionRecord]
    next_cursor: str | None
