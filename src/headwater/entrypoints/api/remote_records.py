"""What registered fetchers get: work to do, what became of their claims, and of their reports."""

from pydantic import Field

from headwater.entrypoints.api.records import Moment, Record, ValidatorsRecord
from headwater.remote_work import Claimed, Renewed, Work
from headwater.schedule.queries import Visit


class WorkRecord(Record):
    """One visit to make. Report it with its `scheduled_at` and `fence`."""

    subscription_id: int
    feed_id: str
    source_url: str = Field(description="All of it: the secrets in it are yours to use.")
    source_type: str
    name: str | None
    config: str | None
    scheduled_at: Moment
    fence: int
    lease_until: Moment
    not_before: Moment | None = Field(description="The host asked you to rest until then.")
    validators: ValidatorsRecord = Field(description="Of the document we have; null: bring it all.")
    headers: list[tuple[str, str]] = Field(
        description="What this source wants to be shown, at its own origin and nowhere else."
    )
    interval_sec: int

    @classmethod
    def of(cls, work: Work, claimed: Claimed) -> "WorkRecord":
        due = work.assigned.due
        return cls(
            subscription_id=work.claim.subscription_id,
            feed_id=due.feed_id,
            source_url=due.url,
            source_type=work.assigned.source_type,
            name=due.overrides.get("title"),
            config=work.assigned.config,
            scheduled_at=work.claim.scheduled_at,
            fence=work.claim.fence,
            lease_until=claimed.lease_until,
            not_before=work.not_before,
            validators=ValidatorsRecord(
                etag=work.validators.etag, last_modified=work.validators.last_modified
            ),
            headers=list(work.headers),
            interval_sec=round(due.state.interval),
        )


class ClaimedPage(Record):
    """`next_due_at`: when there will be more; null when nothing is assigned."""

    claims: list[WorkRecord]
    next_due_at: Moment | None

    @classmethod
    def of(cls, claimed: Claimed) -> "ClaimedPage":
        works = [WorkRecord.of(work, claimed) for work in claimed.works]
        return cls(claims=works, next_due_at=claimed.next_due_at)


class RenewedRecord(Record):
    """Subscriptions by number: whose claim is kept, and whose was lost already."""

    renewed: list[int]
    lost: list[int]
    lease_until: Moment

    @classmethod
    def of(cls, renewed: Renewed) -> "RenewedRecord":
        return cls(
            renewed=list(renewed.kept), lost=list(renewed.lost), lease_until=renewed.lease_until
        )


class ResultRecord(Record):
    """What a report led to; `outcome` and `error` as they stand in the history of visits."""

    subscription_id: int
    scheduled_at: Moment
    outcome: str
    error: str | None
    error_detail: str | None
    fetch_id: str | None
    entries_in_document: int | None
    new_entries: int
    updated_entries: int
    next_visit_at: Moment | None
    reason: str

    @classmethod
    def of(cls, subscription_id: int, visit: Visit) -> "ResultRecord":
        return cls(
            subscription_id=subscription_id,
            scheduled_at=visit.scheduled_at,
            outcome=visit.outcome,
            error=visit.error,
            error_detail=visit.error_detail,
            fetch_id=visit.fetch_id,
            entries_in_document=visit.entries_in_document,
            new_entries=visit.new_entries,
            updated_entries=visit.updated_entries,
            next_visit_at=visit.next_at,
            reason=visit.reason,
        )
