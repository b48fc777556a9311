"""Records of one feed's statistics."""

from collections.abc import Sequence
from datetime import date
from typing import Annotated

from pydantic import BeforeValidator, Field

from headwater.entrypoints.api.records import Moment, NounRecord
from headwater.statistics.subscriptions import FailureCount


def _visits_by_error(failures: Sequence[FailureCount]) -> dict[str, int]:
    return {failure.error: failure.visits for failure in failures}


class FeedDayRecord(NounRecord):
    day: date | None = Field(
        validation_alias="on", description="UTC. Null: everything older than the days kept."
    )
    fetch_count: int = Field(validation_alias="visits")
    failures: int
    not_modified: int = Field(validation_alias="unchanged")
    retry_count: int = Field(validation_alias="retries")
    new_entries: int
    updated_entries: int
    bytes_in: int
    bytes_saved: int = Field(validation_alias="saved_bytes")
    average_latency_ms: float = Field(validation_alias="mean_latency_ms")


class FeedStatisticsRecord(NounRecord):
    """`bytes_saved`: documents that a 304 spared us. `compression_ratio`: how many times smaller
    documents came than they were. `p99_latency_ms` is of the visits remembered one by one."""

    feed_id: str
    window: str
    since: date | None
    until: Moment
    fetch_count: int = Field(validation_alias="visits")
    success_rate: float | None
    not_modified_rate: float | None
    error_code_counts: Annotated[dict[str, int], BeforeValidator(_visits_by_error)] = Field(
        validation_alias="errors"
    )
    retry_count: int = Field(validation_alias="retries")
    bytes_in: int
    bytes_saved: int = Field(validation_alias="saved_bytes")
    decoded_bytes: int
    compression_ratio: float | None
    average_latency_ms: float | None = Field(validation_alias="mean_latency_ms")
    p99_latency_ms: float | None
    new_entries: int
    updated_entries: int
    new_entries_per_fetch: float | None = Field(validation_alias="new_entries_per_visit")
    interval_chosen_sec: float
    ewma_interval_sec: float | None
    days: list[FeedDayRecord]
