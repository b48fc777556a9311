"""What callers get: the records, field by field."""

from datetime import datetime
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema

from headwater.fetch.queries import ArchivedFetch
from headwater.merge.queries import Alias, EntryVersion, KeptEntry, RawRef
from headwater.schedule.hints import Hints
from headwater.schedule.policy import Policy
from headwater.schedule.replan import policy_of
from headwater.subscribe.feed import Feed, State
from headwater.values.instant import rfc3339

Moment = Annotated[
    datetime,
    PlainSerializer(rfc3339, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


class Record(BaseModel):
    model_config = ConfigDict(frozen=True)


class ValidatorsRecord(Record):
    etag: str | None
    last_modified: str | None


class ScheduleRecord(Record):
    """`reason` is a sentence for people; `being_visited` while a worker is there."""

    interval_sec: int
    min_interval_sec: int
    max_interval_sec: int
    last_decision_at: Moment | None
    reason: str
    retry_after_sec: int | None
    next_visit_at: Moment | None
    being_visited: bool


class HintsRecord(Record):
    ttl_minutes: int | None
    skip_hours: list[int] | None
    skip_days: list[str] | None
    update_sec: int | None
    fresh_for_sec: int | None


class StatsRecord(Record):
    last_fetch_at: Moment | None
    last_success_at: Moment | None
    consecutive_failures: int
    ewma_interarrival_sec: int | None
    new_entries_last_fetch: int
    documents_seen: int
    last_document_at: Moment | None
    last_outcome: str | None
    last_status: int | None


class OverridesRecord(Record):
    title: str | None
    min_interval_sec: int | None
    max_interval_sec: int | None
    interval_sec: int | None
    disable_autodiscovery: bool
    push_only: bool
    archive_backfill: bool
    verify_tls: bool


class FeedRecord(Record):
    id: str
    url: str
    type: Literal["rss", "atom", "json", "unknown"]
    title: str | None
    home_link: str | None
    state: State
    priority: int
    categories: list[str]
    overrides: OverridesRecord
    validators: ValidatorsRecord
    schedule: ScheduleRecord
    publisher_hints: HintsRecord
    stats: StatsRecord
    next_visit_at: Moment | None
    last_error: str | None
    moved_to: str | None
    original_url: str
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, feed: Feed, policy: Policy) -> "FeedRecord":
        own = feed.overrides
        return cls(
            id=feed.id,
            url=feed.url,
            type=_known_type(feed.type),
            title=feed.title,
            home_link=feed.home_link,
            state=feed.state,
            priority=feed.priority,
            categories=list(feed.categories),
            overrides=OverridesRecord(
                title=own.title,
                min_interval_sec=_whole(own.min_interval_sec),
                max_interval_sec=_whole(own.max_interval_sec),
                interval_sec=_whole(own.interval_sec),
                disable_autodiscovery=own.disable_autodiscovery,
                push_only=own.push_only,
                archive_backfill=own.archive_backfill,
                verify_tls=own.verify_tls,
            ),
            validators=ValidatorsRecord(
                etag=feed.validators.etag, last_modified=feed.validators.last_modified
            ),
            schedule=schedule_record(feed, policy),
            publisher_hints=_hints_record(feed),
            stats=_stats_record(feed),
            next_visit_at=feed.schedule.next_visit_at,
            last_error=feed.stats.last_error,
            moved_to=feed.moved_to,
            original_url=feed.original_url,
            created_at=feed.created_at,
            updated_at=feed.updated_at,
        )


def schedule_record(feed: Feed, policy: Policy) -> ScheduleRecord:
    own, plan = policy_of(feed.overrides, policy), feed.schedule
    return ScheduleRecord(
        interval_sec=round(plan.interval_sec),
        min_interval_sec=round(own.min_interval),
        max_interval_sec=round(own.max_interval),
        last_decision_at=plan.last_decision_at,
        reason=plan.reason or "not visited yet",
        retry_after_sec=_whole(plan.retry_after_sec),
        next_visit_at=plan.next_visit_at,
        being_visited=plan.claimed,
    )


def _hints_record(feed: Feed) -> HintsRecord:
    hints = Hints.from_json(feed.hints)
    return HintsRecord(
        ttl_minutes=hints.ttl_minutes,
        skip_hours=list(hints.skip_hours) or None,
        skip_days=list(hints.skip_days) or None,
        update_sec=_whole(hints.update_seconds),
        fresh_for_sec=_whole(hints.fresh_for),
    )


def _stats_record(feed: Feed) -> StatsRecord:
    stats = feed.stats
    return StatsRecord(
        last_fetch_at=stats.last_fetch_at,
        last_success_at=stats.last_success_at,
        consecutive_failures=stats.failures,
        ewma_interarrival_sec=_whole(stats.ewma_sec),
        new_entries_last_fetch=stats.new_entries_last_fetch,
        documents_seen=stats.documents_seen,
        last_document_at=stats.document_seen_at,
        last_outcome=stats.last_outcome,
        last_status=stats.last_status,
    )


class RawRefRecord(Record):
    fetch_id: str
    offset: int | None
    length: int | None
    note: str | None

    @classmethod
    def of(cls, ref: RawRef) -> "RawRefRecord":
        return cls(fetch_id=ref.fetch_id, offset=ref.offset, length=ref.length, note=ref.note)


class PersonRecord(Record):
    name: str | None
    email: str | None
    uri: str | None


class EnclosureRecord(Record):
    """Beside the three fields, `duration`, `title` and `medium` where the publisher gave them."""

    model_config = ConfigDict(extra="allow", frozen=True)

    url: str
    type: str | None
    length: int | None


class VersionRecord(Record):
    """What an entry said before an edit."""

    version: int
    replaced_at: Moment
    content_hash: str
    raw_ref: RawRefRecord
    entry: dict[str, Any] = Field(description="The replaced fields, as they were stored.")

    @classmethod
    def of(cls, version: EntryVersion) -> "VersionRecord":
        return cls(
            version=version.version,
            replaced_at=version.replaced_at,
            content_hash=version.content_hash,
            raw_ref=RawRefRecord.of(version.raw_ref),
            entry=_opened(version.snapshot),
        )


class EntryRecord(Record):
    entry_uid: str
    feed_id: str
    canonical_link: str | None
    title: str | None
    summary: str | None
    content: str | None
    authors: list[PersonRecord]
    categories: list[str]
    enclosures: list[EnclosureRecord]
    published: Moment | None
    updated: Moment | None
    first_seen: Moment
    last_seen: Moment
    seen_count: int
    raw_refs: list[RawRefRecord]
    content_hash: str
    version: int
    is_present: bool = Field(description="It is in the newest document of its feed.")
    details: dict[str, Any] = Field(description="What has no field of its own.")
    versions: list[VersionRecord] | None = Field(None, description="Only with ?versions=1.")

    @classmethod
    def of(cls, entry: KeptEntry, versions: list[EntryVersion] | None = None) -> "EntryRecord":
        return cls(
            entry_uid=entry.uid,
            feed_id=entry.feed_id,
            canonical_link=entry.canonical_link,
            title=entry.title,
            summary=entry.summary,
            content=entry.content,
            authors=orjson.loads(entry.authors),
            categories=orjson.loads(entry.categories),
            enclosures=orjson.loads(entry.enclosures),
            published=entry.published,
            updated=entry.updated,
            first_seen=entry.first_seen,
            last_seen=entry.last_seen,
            seen_count=entry.seen_count,
            raw_refs=[RawRefRecord.of(ref) for ref in entry.raw_refs],
            content_hash=entry.content_hash,
            version=entry.version,
            is_present=entry.is_present,
            details=orjson.loads(entry.details),
            versions=None if versions is None else [VersionRecord.of(each) for each in versions],
        )


class BlobRefRecord(Record):
    storage: str
    key: str


class RawFetchRecord(Record):
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

    @classmethod
    def of(cls, raw: ArchivedFetch) -> "RawFetchRecord":
        return cls(
            fetch_id=raw.fetch_id,
            feed_id=raw.feed_id,
            fetched_at=raw.fetched_at,
            url=raw.url,
            http_status=raw.http_status,
            request_headers=dict(raw.request_headers),
            response_headers=dict(raw.response_headers),
            body_ref=BlobRefRecord(storage=raw.storage, key=raw.blob_key),
            body_sha256=raw.body_sha256,
            content_type=raw.content_type,
            content_length=raw.content_length,
            truncated=raw.truncated,
            error=raw.error,
            expired_at=raw.expired_at,
        )


class AliasRecord(Record):
    alias_uid: str
    entry_uid: str
    fetch_id: str
    made_at: Moment
    undone_at: Moment | None

    @classmethod
    def of(cls, alias: Alias) -> "AliasRecord":
        return cls(
            alias_uid=alias.alias_uid,
            entry_uid=alias.entry_uid,
            fetch_id=alias.fetch_id,
            made_at=alias.made_at,
            undone_at=alias.undone_at,
        )


def _whole(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds)


def _known_type(text: str) -> Any:
    return text if text in ("rss", "atom", "json") else "unknown"


def _opened(snapshot: str) -> dict[str, Any]:
    """Stored lists are JSON text inside the snapshot's JSON; moments are microseconds."""
    said: dict[str, Any] = orjson.loads(snapshot)
    lists = ("authors", "categories", "enclosures", "details")
    opened = {name: orjson.loads(said[name]) for name in lists if isinstance(said.get(name), str)}
    return said | opened
