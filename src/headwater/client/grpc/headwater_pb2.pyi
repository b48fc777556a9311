import datetime

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListFeedsRequest(_message.Message):
    __slots__ = ("limit", "cursor", "state", "url")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    state: str
    url: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., state: _Optional[str] = ..., url: _Optional[str] = ...) -> None: ...

class ListFeedsResponse(_message.Message):
    __slots__ = ("feeds", "next_cursor")
    FEEDS_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    feeds: _containers.RepeatedCompositeFieldContainer[Feed]
    next_cursor: str
    def __init__(self, feeds: _Optional[_Iterable[_Union[Feed, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class GetFeedRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class ListEntriesRequest(_message.Message):
    __slots__ = ("limit", "cursor", "feed_id", "since", "until", "category", "q")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    Q_FIELD_NUMBER: _ClassVar[int]
    limit: int
    cursor: str
    feed_id: str
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    category: str
    q: str
    def __init__(self, limit: _Optional[int] = ..., cursor: _Optional[str] = ..., feed_id: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., category: _Optional[str] = ..., q: _Optional[str] = ...) -> None: ...

class ListEntriesResponse(_message.Message):
    __slots__ = ("entries", "next_cursor")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_CURSOR_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[Entry]
    next_cursor: str
    def __init__(self, entries: _Optional[_Iterable[_Union[Entry, _Mapping]]] = ..., next_cursor: _Optional[str] = ...) -> None: ...

class GetEntryRequest(_message.Message):
    __slots__ = ("entry_uid", "feed_id", "versions")
    ENTRY_UID_FIELD_NUMBER: _ClassVar[int]
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    entry_uid: str
    feed_id: str
    versions: bool
    def __init__(self, entry_uid: _Optional[str] = ..., feed_id: _Optional[str] = ..., versions: _Optional[bool] = ...) -> None: ...

class GetRawRequest(_message.Message):
    __slots__ = ("fetch_id", "meta_only")
    FETCH_ID_FIELD_NUMBER: _ClassVar[int]
    META_ONLY_FIELD_NUMBER: _ClassVar[int]
    fetch_id: str
    meta_only: bool
    def __init__(self, fetch_id: _Optional[str] = ..., meta_only: _Optional[bool] = ...) -> None: ...

class GetRawResponse(_message.Message):
    __slots__ = ("record", "chunk")
    RECORD_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    record: RawFetch
    chunk: bytes
    def __init__(self, record: _Optional[_Union[RawFetch, _Mapping]] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class ListEventsRequest(_message.Message):
    __slots__ = ("after", "limit", "type", "feed_id")
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    after: int
    limit: int
    type: str
    feed_id: str
    def __init__(self, after: _Optional[int] = ..., limit: _Optional[int] = ..., type: _Optional[str] = ..., feed_id: _Optional[str] = ...) -> None: ...

class ListEventsResponse(_message.Message):
    __slots__ = ("events", "last_seq", "next")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[Event]
    last_seq: int
    next: int
    def __init__(self, events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ..., last_seq: _Optional[int] = ..., next: _Optional[int] = ...) -> None: ...

class StreamEventsRequest(_message.Message):
    __slots__ = ("after", "types", "feed_ids", "categories")
    AFTER_FIELD_NUMBER: _ClassVar[int]
    TYPES_FIELD_NUMBER: _ClassVar[int]
    FEED_IDS_FIELD_NUMBER: _ClassVar[int]
    CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    after: int
    types: _containers.RepeatedScalarFieldContainer[str]
    feed_ids: _containers.RepeatedScalarFieldContainer[str]
    categories: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, after: _Optional[int] = ..., types: _Optional[_Iterable[str]] = ..., feed_ids: _Optional[_Iterable[str]] = ..., categories: _Optional[_Iterable[str]] = ...) -> None: ...

class StreamEventsResponse(_message.Message):
    __slots__ = ("event", "position", "log_reset", "unreadable")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    LOG_RESET_FIELD_NUMBER: _ClassVar[int]
    UNREADABLE_FIELD_NUMBER: _ClassVar[int]
    event: Event
    position: Position
    log_reset: LogReset
    unreadable: UnreadableEvent
    def __init__(self, event: _Optional[_Union[Event, _Mapping]] = ..., position: _Optional[_Union[Position, _Mapping]] = ..., log_reset: _Optional[_Union[LogReset, _Mapping]] = ..., unreadable: _Optional[_Union[UnreadableEvent, _Mapping]] = ...) -> None: ...

class Position(_message.Message):
    __slots__ = ("seq",)
    SEQ_FIELD_NUMBER: _ClassVar[int]
    seq: int
    def __init__(self, seq: _Optional[int] = ...) -> None: ...

class LogReset(_message.Message):
    __slots__ = ("last_seq",)
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    last_seq: int
    def __init__(self, last_seq: _Optional[int] = ...) -> None: ...

class UnreadableEvent(_message.Message):
    __slots__ = ("seq", "id", "type", "error")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    seq: int
    id: str
    type: str
    error: str
    def __init__(self, seq: _Optional[int] = ..., id: _Optional[str] = ..., type: _Optional[str] = ..., error: _Optional[str] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("seq", "id", "type", "at", "feed_id", "body")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    seq: int
    id: str
    type: str
    at: _timestamp_pb2.Timestamp
    feed_id: str
    body: bytes
    def __init__(self, seq: _Optional[int] = ..., id: _Optional[str] = ..., type: _Optional[str] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., feed_id: _Optional[str] = ..., body: _Optional[bytes] = ...) -> None: ...

class Feed(_message.Message):
    __slots__ = ("id", "url", "type", "title", "home_link", "state", "priority", "categories", "overrides", "validators", "schedule", "publisher_hints", "stats", "next_visit_at", "last_error", "moved_to", "original_url", "created_at", "updated_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    HOME_LINK_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    OVERRIDES_FIELD_NUMBER: _ClassVar[int]
    VALIDATORS_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    PUBLISHER_HINTS_FIELD_NUMBER: _ClassVar[int]
    STATS_FIELD_NUMBER: _ClassVar[int]
    NEXT_VISIT_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    MOVED_TO_FIELD_NUMBER: _ClassVar[int]
    ORIGINAL_URL_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    url: str
    type: str
    title: str
    home_link: str
    state: str
    priority: int
    categories: _containers.RepeatedScalarFieldContainer[str]
    overrides: Overrides
    validators: Validators
    schedule: Schedule
    publisher_hints: Hints
    stats: Stats
    next_visit_at: _timestamp_pb2.Timestamp
    last_error: str
    moved_to: str
    original_url: str
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., url: _Optional[str] = ..., type: _Optional[str] = ..., title: _Optional[str] = ..., home_link: _Optional[str] = ..., state: _Optional[str] = ..., priority: _Optional[int] = ..., categories: _Optional[_Iterable[str]] = ..., overrides: _Optional[_Union[Overrides, _Mapping]] = ..., validators: _Optional[_Union[Validators, _Mapping]] = ..., schedule: _Optional[_Union[Schedule, _Mapping]] = ..., publisher_hints: _Optional[_Union[Hints, _Mapping]] = ..., stats: _Optional[_Union[Stats, _Mapping]] = ..., next_visit_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_error: _Optional[str] = ..., moved_to: _Optional[str] = ..., original_url: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Overrides(_message.Message):
    __slots__ = ("title", "min_interval_sec", "max_interval_sec", "interval_sec", "disable_autodiscovery", "push_only", "archive_backfill", "verify_tls")
    TITLE_FIELD_NUMBER: _ClassVar[int]
    MIN_INTERVAL_SEC_FIELD_NUMBER: _ClassVar[int]
    MAX_INTERVAL_SEC_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_SEC_FIELD_NUMBER: _ClassVar[int]
    DISABLE_AUTODISCOVERY_FIELD_NUMBER: _ClassVar[int]
    PUSH_ONLY_FIELD_NUMBER: _ClassVar[int]
    ARCHIVE_BACKFILL_FIELD_NUMBER: _ClassVar[int]
    VERIFY_TLS_FIELD_NUMBER: _ClassVar[int]
    title: str
    min_interval_sec: int
    max_interval_sec: int
    interval_sec: int
    disable_autodiscovery: bool
    push_only: bool
    archive_backfill: bool
    verify_tls: bool
    def __init__(self, title: _Optional[str] = ..., min_interval_sec: _Optional[int] = ..., max_interval_sec: _Optional[int] = ..., interval_sec: _Optional[int] = ..., disable_autodiscovery: _Optional[bool] = ..., push_only: _Optional[bool] = ..., archive_backfill: _Optional[bool] = ..., verify_tls: _Optional[bool] = ...) -> None: ...

class Validators(_message.Message):
    __slots__ = ("etag", "last_modified")
    ETAG_FIELD_NUMBER: _ClassVar[int]
    LAST_MODIFIED_FIELD_NUMBER: _ClassVar[int]
    etag: str
    last_modified: str
    def __init__(self, etag: _Optional[str] = ..., last_modified: _Optional[str] = ...) -> None: ...

class Schedule(_message.Message):
    __slots__ = ("interval_sec", "min_interval_sec", "max_interval_sec", "last_decision_at", "reason", "retry_after_sec", "next_visit_at", "being_visited")
    INTERVAL_SEC_FIELD_NUMBER: _ClassVar[int]
    MIN_INTERVAL_SEC_FIELD_NUMBER: _ClassVar[int]
    MAX_INTERVAL_SEC_FIELD_NUMBER: _ClassVar[int]
    LAST_DECISION_AT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_SEC_FIELD_NUMBER: _ClassVar[int]
    NEXT_VISIT_AT_FIELD_NUMBER: _ClassVar[int]
    BEING_VISITED_FIELD_NUMBER: _ClassVar[int]
    interval_sec: int
    min_interval_sec: int
    max_interval_sec: int
    last_decision_at: _timestamp_pb2.Timestamp
    reason: str
    retry_after_sec: int
    next_visit_at: _timestamp_pb2.Timestamp
    being_visited: bool
    def __init__(self, interval_sec: _Optional[int] = ..., min_interval_sec: _Optional[int] = ..., max_interval_sec: _Optional[int] = ..., last_decision_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ..., retry_after_sec: _Optional[int] = ..., next_visit_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., being_visited: _Optional[bool] = ...) -> None: ...

class Hints(_message.Message):
    __slots__ = ("ttl_minutes", "skip_hours", "skip_days", "update_sec", "fresh_for_sec")
    TTL_MINUTES_FIELD_NUMBER: _ClassVar[int]
    SKIP_HOURS_FIELD_NUMBER: _ClassVar[int]
    SKIP_DAYS_FIELD_NUMBER: _ClassVar[int]
    UPDATE_SEC_FIELD_NUMBER: _ClassVar[int]
    FRESH_FOR_SEC_FIELD_NUMBER: _ClassVar[int]
    ttl_minutes: int
    skip_hours: _containers.RepeatedScalarFieldContainer[int]
    skip_days: _containers.RepeatedScalarFieldContainer[str]
    update_sec: int
    fresh_for_sec: int
    def __init__(self, ttl_minutes: _Optional[int] = ..., skip_hours: _Optional[_Iterable[int]] = ..., skip_days: _Optional[_Iterable[str]] = ..., update_sec: _Optional[int] = ..., fresh_for_sec: _Optional[int] = ...) -> None: ...

class Stats(_message.Message):
    __slots__ = ("last_fetch_at", "last_success_at", "consecutive_failures", "ewma_interarrival_sec", "new_entries_last_fetch", "documents_seen", "last_document_at", "last_outcome", "last_status")
    LAST_FETCH_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_SUCCESS_AT_FIELD_NUMBER: _ClassVar[int]
    CONSECUTIVE_FAILURES_FIELD_NUMBER: _ClassVar[int]
    EWMA_INTERARRIVAL_SEC_FIELD_NUMBER: _ClassVar[int]
    NEW_ENTRIES_LAST_FETCH_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_SEEN_FIELD_NUMBER: _ClassVar[int]
    LAST_DOCUMENT_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_OUTCOME_FIELD_NUMBER: _ClassVar[int]
    LAST_STATUS_FIELD_NUMBER: _ClassVar[int]
    last_fetch_at: _timestamp_pb2.Timestamp
    last_success_at: _timestamp_pb2.Timestamp
    consecutive_failures: int
    ewma_interarrival_sec: int
    new_entries_last_fetch: int
    documents_seen: int
    last_document_at: _timestamp_pb2.Timestamp
    last_outcome: str
    last_status: int
    def __init__(self, last_fetch_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_success_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., consecutive_failures: _Optional[int] = ..., ewma_interarrival_sec: _Optional[int] = ..., new_entries_last_fetch: _Optional[int] = ..., documents_seen: _Optional[int] = ..., last_document_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_outcome: _Optional[str] = ..., last_status: _Optional[int] = ...) -> None: ...

class Entry(_message.Message):
    __slots__ = ("entry_uid", "feed_id", "canonical_link", "title", "summary", "content", "authors", "categories", "enclosures", "published", "updated", "first_seen", "last_seen", "seen_count", "raw_refs", "content_hash", "version", "is_present", "details", "versions")
    ENTRY_UID_FIELD_NUMBER: _ClassVar[int]
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    CANONICAL_LINK_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    AUTHORS_FIELD_NUMBER: _ClassVar[int]
    CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    ENCLOSURES_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    UPDATED_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEEN_FIELD_NUMBER: _ClassVar[int]
    LAST_SEEN_FIELD_NUMBER: _ClassVar[int]
    SEEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    RAW_REFS_FIELD_NUMBER: _ClassVar[int]
    CONTENT_HASH_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    IS_PRESENT_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    entry_uid: str
    feed_id: str
    canonical_link: str
    title: str
    summary: str
    content: str
    authors: _containers.RepeatedCompositeFieldContainer[Person]
    categories: _containers.RepeatedScalarFieldContainer[str]
    enclosures: _containers.RepeatedCompositeFieldContainer[Enclosure]
    published: _timestamp_pb2.Timestamp
    updated: _timestamp_pb2.Timestamp
    first_seen: _timestamp_pb2.Timestamp
    last_seen: _timestamp_pb2.Timestamp
    seen_count: int
    raw_refs: _containers.RepeatedCompositeFieldContainer[RawRef]
    content_hash: str
    version: int
    is_present: bool
    details: _struct_pb2.Struct
    versions: _containers.RepeatedCompositeFieldContainer[Version]
    def __init__(self, entry_uid: _Optional[str] = ..., feed_id: _Optional[str] = ..., canonical_link: _Optional[str] = ..., title: _Optional[str] = ..., summary: _Optional[str] = ..., content: _Optional[str] = ..., authors: _Optional[_Iterable[_Union[Person, _Mapping]]] = ..., categories: _Optional[_Iterable[str]] = ..., enclosures: _Optional[_Iterable[_Union[Enclosure, _Mapping]]] = ..., published: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., first_seen: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_seen: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., seen_count: _Optional[int] = ..., raw_refs: _Optional[_Iterable[_Union[RawRef, _Mapping]]] = ..., content_hash: _Optional[str] = ..., version: _Optional[int] = ..., is_present: _Optional[bool] = ..., details: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., versions: _Optional[_Iterable[_Union[Version, _Mapping]]] = ...) -> None: ...

class Person(_message.Message):
    __slots__ = ("name", "email", "uri")
    NAME_FIELD_NUMBER: _ClassVar[int]
    EMAIL_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    name: str
    email: str
    uri: str
    def __init__(self, name: _Optional[str] = ..., email: _Optional[str] = ..., uri: _Optional[str] = ...) -> None: ...

class Enclosure(_message.Message):
    __slots__ = ("url", "type", "length", "duration", "title", "medium")
    URL_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    DURATION_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    MEDIUM_FIELD_NUMBER: _ClassVar[int]
    url: str
    type: str
    length: int
    duration: int
    title: str
    medium: str
    def __init__(self, url: _Optional[str] = ..., type: _Optional[str] = ..., length: _Optional[int] = ..., duration: _Optional[int] = ..., title: _Optional[str] = ..., medium: _Optional[str] = ...) -> None: ...

class RawRef(_message.Message):
    __slots__ = ("fetch_id", "offset", "length", "note")
    FETCH_ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    fetch_id: str
    offset: int
    length: int
    note: str
    def __init__(self, fetch_id: _Optional[str] = ..., offset: _Optional[int] = ..., length: _Optional[int] = ..., note: _Optional[str] = ...) -> None: ...

class Version(_message.Message):
    __slots__ = ("version", "replaced_at", "content_hash", "raw_ref", "entry")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REPLACED_AT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_HASH_FIELD_NUMBER: _ClassVar[int]
    RAW_REF_FIELD_NUMBER: _ClassVar[int]
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    version: int
    replaced_at: _timestamp_pb2.Timestamp
    content_hash: str
    raw_ref: RawRef
    entry: _struct_pb2.Struct
    def __init__(self, version: _Optional[int] = ..., replaced_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., content_hash: _Optional[str] = ..., raw_ref: _Optional[_Union[RawRef, _Mapping]] = ..., entry: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class RawFetch(_message.Message):
    __slots__ = ("fetch_id", "feed_id", "fetched_at", "url", "http_status", "request_headers", "response_headers", "body_ref", "body_sha256", "content_type", "content_length", "truncated", "error", "expired_at")
    class RequestHeadersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class ResponseHeadersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    FETCH_ID_FIELD_NUMBER: _ClassVar[int]
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    FETCHED_AT_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    HTTP_STATUS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_HEADERS_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_HEADERS_FIELD_NUMBER: _ClassVar[int]
    BODY_REF_FIELD_NUMBER: _ClassVar[int]
    BODY_SHA256_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_LENGTH_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_AT_FIELD_NUMBER: _ClassVar[int]
    fetch_id: str
    feed_id: str
    fetched_at: _timestamp_pb2.Timestamp
    url: str
    http_status: int
    request_headers: _containers.ScalarMap[str, str]
    response_headers: _containers.ScalarMap[str, str]
    body_ref: BlobRef
    body_sha256: str
    content_type: str
    content_length: int
    truncated: bool
    error: str
    expired_at: _timestamp_pb2.Timestamp
    def __init__(self, fetch_id: _Optional[str] = ..., feed_id: _Optional[str] = ..., fetched_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., url: _Optional[str] = ..., http_status: _Optional[int] = ..., request_headers: _Optional[_Mapping[str, str]] = ..., response_headers: _Optional[_Mapping[str, str]] = ..., body_ref: _Optional[_Union[BlobRef, _Mapping]] = ..., body_sha256: _Optional[str] = ..., content_type: _Optional[str] = ..., content_length: _Optional[int] = ..., truncated: _Optional[bool] = ..., error: _Optional[str] = ..., expired_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class BlobRef(_message.Message):
    __slots__ = ("storage", "key")
    STORAGE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    storage: str
    key: str
    def __init__(self, storage: _Optional[str] = ..., key: _Optional[str] = ...) -> None: ...
