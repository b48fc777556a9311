"""Records of conflicts: what callers send about them, and what they get."""

from typing import Annotated, Any, Literal, Self

import orjson
from pydantic import BeforeValidator, Field, model_validator

from headwater.core.values.ids import FetcherId
from headwater.entrypoints.api.errors import BadBody
from headwater.entrypoints.api.models import Id, Strict, each_once
from headwater.entrypoints.api.records import Moment, NounRecord, Record
from headwater.entrypoints.api.request_body import check_json
from headwater.entrypoints.api.subscriptions.subscription_records import SourceIn
from headwater.statistics.fetcher_counts import FetcherCounts
from headwater.subscriptions.conflicts.conflict import MULTI_FETCHER_MATCH, Conflict
from headwater.subscriptions.conflicts.conflict_commands import DetectedConflict
from headwater.subscriptions.conflicts.evidence import CLEAR, NoSuggestion, Suggestion, wilson

MOST_CANDIDATES = 100


def _parse_object(value: object) -> object:
    """Detectors that keep conflict data as text may send it as text. The checks of a body hold
    for it too: nobody before this has seen a NUL that is escaped in a text within a text."""
    if not isinstance(value, str):
        return value
    try:
        check_json(value.encode())
        return orjson.loads(value)
    except (BadBody, orjson.JSONDecodeError) as trouble:
        raise ValueError("must be an object, or a text that holds one as JSON") from trouble


class ConflictData(Strict):
    candidate_fetcher_ids: Annotated[
        list[Id], Field(min_length=2, max_length=MOST_CANDIDATES), each_once("one fetcher")
    ]
    conflict_reason: Annotated[str, Field(max_length=1_024)] = ""


class NewConflictIn(SourceIn):
    """A program outside says that several fetchers fit one subscription, which it names by its id
    or its URL."""

    subscription_id: Id | None = None
    conflict_type: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]{0,63}$")] = MULTI_FETCHER_MATCH
    conflict_data: Annotated[
        ConflictData,
        BeforeValidator(_parse_object, json_schema_input_type=ConflictData | str),
    ]

    @model_validator(mode="after")
    def _check_has_subscription(self) -> Self:
        if self.subscription_id is None and self.named_url is None:
            raise ValueError("subscription_id is needed, or source_url")
        return self

    def detected(self) -> DetectedConflict:
        return DetectedConflict(
            subscription_id=self.subscription_id,
            source_url=self.named_url,
            type=self.conflict_type,
            candidates=tuple(map(FetcherId, self.conflict_data.candidate_fetcher_ids)),
            reason=self.conflict_data.conflict_reason,
        )


class ResolveIn(Strict):
    fetcher_id: Id
    resolution_reason: Annotated[str, Field(max_length=1_024)] | None = None


class CandidateRecord(Record):
    fetcher_id: int
    name: str


class ConflictDataRecord(NounRecord):
    candidate_fetcher_ids: list[int] = Field(validation_alias="candidates")
    conflict_reason: str = Field(validation_alias="reason")


class ConflictRecord(NounRecord):
    conflict_id: int = Field(validation_alias="id")
    subscription_id: int
    source_url: str
    rss_url: str = Field(validation_alias="source_url")
    conflict_type: str = Field(validation_alias="type")
    conflict_data: ConflictDataRecord
    candidate_fetchers: list[CandidateRecord]
    resolution_status: Literal["unresolved", "resolved"] = Field(validation_alias="status")
    resolution_data: dict[str, Any] | None = Field(validation_alias="resolution")
    resolved_at: Moment | None
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of_conflict(cls, conflict: Conflict, **more: Any) -> Self:
        """A candidate that is no longer registered has no name, and is left out of the names."""
        candidates = [
            CandidateRecord(fetcher_id=candidate, name=conflict.candidate_names[candidate])
            for candidate in conflict.candidates
            if candidate in conflict.candidate_names
        ]
        data = ConflictDataRecord.of(conflict)
        return cls.of(conflict, conflict_data=data, candidate_fetchers=candidates, **more)


class ConflictPage(Record):
    conflicts: list[ConflictRecord]
    next_cursor: str | None


class ResolvedRecord(Record):
    message: str
    conflict_id: int
    subscription_id: int
    resolved_fetcher_id: int
    resolved_at: Moment


class FetcherCountsRecord(NounRecord):
    """One candidate's visits to the host. `judged_visits` leave out failures that say nothing
    about who asked; `success_rate` is of those, with its 95 % interval."""

    fetcher_id: int
    name: str
    visits: int
    judged_visits: int = Field(validation_alias="judged")
    successes: int
    failures: int
    success_rate: float | None
    success_rate_low: float
    success_rate_high: float
    errors: dict[str, int]
    new_entries: int
    dated_entries: int
    mean_late_sec: float | None

    @classmethod
    def of_counts(cls, counts: FetcherCounts) -> Self:
        low, high = wilson(counts.successes, counts.judged, CLEAR)
        return cls.of(counts, success_rate_low=round(low, 4), success_rate_high=round(high, 4))


class AdviceRecord(Record):
    """Who does better at this host, if the figures say so; otherwise `doubt` says why not."""

    fetcher_id: int | None
    confidence: Literal["strong", "clear", "slight"] | None
    doubt: Literal["too_few_candidates", "too_few_visits", "no_difference"] | None
    why: str
    host: str
    days: int
    min_visits: int
    evidence: list[FetcherCountsRecord]

    @classmethod
    def of(cls, advice: Suggestion | NoSuggestion) -> "AdviceRecord":
        suggestion = advice if isinstance(advice, Suggestion) else None
        return cls(
            fetcher_id=suggestion and suggestion.fetcher_id,
            confidence=suggestion and suggestion.confidence,
            doubt=advice.doubt if isinstance(advice, NoSuggestion) else None,
            why=advice.why,
            host=advice.host,
            days=advice.days,
            min_visits=advice.min_visits,
            evidence=[FetcherCountsRecord.of_counts(counts) for counts in advice.tallies],
        )


class AdvisedConflict(ConflictRecord):
    """A conflict with what the visits of its candidates suggest: null once it is resolved."""

    suggestion: AdviceRecord | None
