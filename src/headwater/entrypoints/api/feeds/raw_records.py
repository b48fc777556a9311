"""Records of raw fetches: one answer, the differences of two, and the report of a reparse."""

from typing import Annotated

from pydantic import Field, StrictBool, StrictInt, StrictStr

from headwater.entrypoints.api.models import Strict
from headwater.entrypoints.api.records import Moment, NounRecord, Record
from headwater.feeds.raw.compare_payloads import Comparison
from headwater.feeds.raw.reparse import ReparseResult

MOST_PAYLOADS = 100
MOST_SHOWN = 1_000


class BlobRefRecord(NounRecord):
    storage: str
    key: str = Field(validation_alias="blob_key")


class RawFetchRecord(NounRecord):
    fetch_id: str
    feed_id: str
    fetched_at: Moment
    url: str
    http_status: int
    request_headers: dict[str, str]
    response_headers: dict[str, str]
    body_ref: BlobRefRecord
    body_sha256: str
    content_type: str | None
    content_length: int | None
    truncated: bool
    error: str | None
    expired_at: Moment | None


class FieldChangeRecord(NounRecord):
    name: str
    before: str | None
    after: str | None


class DifferenceRecord(NounRecord):
    entry_uid: str = Field(validation_alias="uid")
    kind: str = Field(description="`added`, `removed` or `changed`.")
    title: str | None
    silent: bool = Field(description="Changed, while its own dates stayed the same.")
    fields: list[FieldChangeRecord]
    fetch_id: str | None = Field(description="The payload that shows it, where there are several.")


class PayloadRecord(NounRecord):
    fetch_id: str
    fetched_at: Moment
    body_sha256: str
    content_length: int


class ComparisonRecord(Record):
    """The changes from the older payload to the newer one."""

    feed_id: str
    before: PayloadRecord
    after: PayloadRecord
    same_bytes: bool
    feed: list[FieldChangeRecord]
    entries: list[DifferenceRecord]
    cut: int = Field(description="How many more entries differ than are shown.")

    @classmethod
    def of(cls, comparison: Comparison) -> "ComparisonRecord":
        differences = comparison.entries
        return cls(
            feed_id=comparison.after.feed_id,
            before=PayloadRecord.of(comparison.before),
            after=PayloadRecord.of(comparison.after),
            same_bytes=comparison.same_bytes,
            feed=[FieldChangeRecord.of(change) for change in comparison.feed],
            entries=[
                DifferenceRecord.of(difference, fetch_id=None)
                for difference in differences[:MOST_SHOWN]
            ],
            cut=max(0, len(differences) - MOST_SHOWN),
        )


class UnreadPayloadRecord(NounRecord):
    fetch_id: str
    error: str = Field(validation_alias="code")
    detail: str


class ReparsedRecord(Record):
    """`removed` entries are counted, never deleted. Ask again with `after` = `next`."""

    feed_id: str
    dry_run: bool
    payloads: int
    same: int
    added: int
    changed: int
    removed: int
    differences: list[DifferenceRecord]
    cut: int = Field(description="How many more entries differ than are shown.")
    unread: list[UnreadPayloadRecord]
    next: str | None

    @classmethod
    def of(cls, feed_id: str, result: ReparseResult, *, dry_run: bool) -> "ReparsedRecord":
        kinds = [difference.kind for _, difference in result.differences]
        return cls(
            feed_id=feed_id,
            dry_run=dry_run,
            payloads=result.payloads,
            same=result.same,
            added=kinds.count("added"),
            changed=kinds.count("changed"),
            removed=kinds.count("removed"),
            differences=[
                DifferenceRecord.of(difference, fetch_id=fetch_id)
                for fetch_id, difference in result.differences[:MOST_SHOWN]
            ],
            cut=max(0, len(kinds) - MOST_SHOWN),
            unread=[UnreadPayloadRecord.of(payload) for payload in result.unread],
            next=result.next,
        )


class ReparseIn(Strict):
    dry_run: StrictBool = Field(False, description="Only say what would change.")
    after: StrictStr | None = Field(None, description="`next` of the answer before.")
    limit: Annotated[StrictInt, Field(ge=1, le=MOST_PAYLOADS)] = Field(
        MOST_PAYLOADS, description="How many payloads at most."
    )
