"""Records of how things go: a subscription's figures, the worst ones, and advice on a conflict."""

from datetime import date, datetime
from typing import Literal

from pydantic import Field

from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.registry_records import ConflictRecord
from headwater.subscribe.conflict import Conflict
from headwater.subscribe.evidence import CLEAR, Abstains, Suggestion, Tally, wilson
from headwater.subscribe.feed import Feed
from headwater.subscribe.statistics import Day, Kind, Statistics, Worst
from headwater.subscribe.subscription import Subscription


class KindRecord(Record):
    """Failed visits of one kind."""

    error: str
    visits: int
    last_at: Moment

    @classmethod
    def of(cls, kind: Kind) -> "KindRecord":
        return cls(error=kind.error, visits=kind.visits, last_at=kind.last_at)


class DayRecord(Record):
    day: date | None = Field(description="UTC. Null: everything older than the days kept.")
    visits: int
    failures: int
    new_entries: int
    bytes_in: int

    @classmethod
    def of(cls, day: Day) -> "DayRecord":
        return cls(
            day=day.on,
            visits=day.visits,
            failures=day.failures,
            new_entries=day.new_entries,
            bytes_in=day.bytes_in,
        )


class StatisticsRecord(Record):
    """`dated_entries` are new entries whose moment of publication is known: they were published
    between two successful visits. `mean_late_sec` is how long after it they were seen."""

    subscription_id: int
    feed_id: str
    fetcher_id: int
    window: str
    since: date | None
    until: Moment
    visits: int
    successes: int
    failures: int
    unchanged: int
    success_rate: float | None
    new_entries: int
    updated_entries: int
    bytes_in: int
    mean_latency_ms: float | None
    dated_entries: int
    mean_late_sec: float | None
    consecutive_failures: int
    last_success_at: Moment | None
    last_error: str | None
    last_error_at: Moment | None
    errors: list[KindRecord]
    days: list[DayRecord]

    @classmethod
    def of(
        cls,
        subscription: Subscription,
        feed: Feed,
        figures: Statistics,
        window: str,
        since: date | None,
        now: datetime,
    ) -> "StatisticsRecord":
        last = figures.last_error
        return cls(
            subscription_id=subscription.id,
            feed_id=feed.id,
            fetcher_id=subscription.fetcher_id,
            window=window,
            since=since,
            until=now,
            visits=figures.visits,
            successes=figures.successes,
            failures=figures.failures,
            unchanged=figures.unchanged,
            success_rate=figures.success_rate,
            new_entries=figures.new_entries,
            updated_entries=figures.updated_entries,
            bytes_in=figures.bytes_in,
            mean_latency_ms=figures.mean_latency_ms,
            dated_entries=figures.dated_entries,
            mean_late_sec=figures.mean_late_sec,
            consecutive_failures=feed.stats.failures,
            last_success_at=feed.stats.last_success_at,
            last_error=last.error if last else None,
            last_error_at=last.last_at if last else None,
            errors=[KindRecord.of(each) for each in figures.errors],
            days=[DayRecord.of(each) for each in figures.days],
        )


class WorstRecord(Record):
    subscription_id: int
    feed_id: str
    source_url: str
    name: str | None
    fetcher_id: int
    fetcher: str
    visits: int
    failures: int
    failure_rate: float
    consecutive_failures: int
    last_error: str | None
    last_success_at: Moment | None
    next_fetch_at: Moment | None

    @classmethod
    def of(cls, worst: Worst) -> "WorstRecord":
        return cls(
            subscription_id=worst.subscription_id,
            feed_id=worst.feed_id,
            source_url=worst.source_url,
            name=worst.name,
            fetcher_id=worst.fetcher_id,
            fetcher=worst.fetcher_name,
            visits=worst.visits,
            failures=worst.failures,
            failure_rate=worst.failure_rate,
            consecutive_failures=worst.in_a_row,
            last_error=worst.last_error,
            last_success_at=worst.last_success_at,
            next_fetch_at=worst.next_visit_at,
        )


class WorstList(Record):
    window: str
    since: date | None
    min_visits: int
    subscriptions: list[WorstRecord]


class TallyRecord(Record):
    """One candidate's visits to the host. `judged_visits` leave out failures that say nothing
    about who asked; `success_rate` is of those, with its 95 % interval."""

    fetcher_id: int
    name: str
    visits: int
    judged_visits: int
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
    def of(cls, tally: Tally) -> "TallyRecord":
        low, high = wilson(tally.successes, tally.judged, CLEAR)
        return cls(
            fetcher_id=tally.fetcher_id,
            name=tally.name,
            visits=tally.visits,
            judged_visits=tally.judged,
            successes=tally.successes,
            failures=tally.failures,
            success_rate=tally.success_rate,
            success_rate_low=round(low, 4),
            success_rate_high=round(high, 4),
            errors=dict(tally.errors),
            new_entries=tally.new_entries,
            dated_entries=tally.dated_entries,
            mean_late_sec=tally.mean_late_sec,
        )


class AdviceRecord(Record):
    """Who does better at this host, if the figures say so; otherwise `doubt` says why not."""

    fetcher_id: int | None
    confidence: Literal["strong", "clear", "slight"] | None
    doubt: Literal["too_few_candidates", "too_few_visits", "no_difference"] | None
    why: str
    host: str
    days: int
    min_visits: int
    evidence: list[TallyRecord]

    @classmethod
    def of(cls, told: Suggestion | Abstains) -> "AdviceRecord":
        named = told if isinstance(told, Suggestion) else None
        return cls(
            fetcher_id=named.fetcher_id if named else None,
            confidence=named.confidence if named else None,
            doubt=told.doubt if isinstance(told, Abstains) else None,
            why=told.why,
            host=told.host,
            days=told.days,
            min_visits=told.min_visits,
            evidence=[TallyRecord.of(each) for each in told.tallies],
        )


class AdvisedConflict(ConflictRecord):
    """A conflict with what the candidates' visits say; null once it is resolved."""

    suggestion: AdviceRecord | None

    @classmethod
    def with_advice(
        cls, conflict: Conflict, told: Suggestion | Abstains | None
    ) -> "AdvisedConflict":
        plain = ConflictRecord.of(conflict)
        fields = {name: getattr(plain, name) for name in ConflictRecord.model_fields}
        return cls(**fields, suggestion=AdviceRecord.of(told) if told else None)
