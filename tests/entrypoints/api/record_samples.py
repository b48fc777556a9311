"""Samples of records that are made from a noun by attribute, for `test_records`."""

from typing import Any

from headwater.core.values.ids import FeedId, FeedPk, FetchId
from headwater.entrypoints.api.events.event_records import EventPage, EventRecord
from headwater.entrypoints.api.feeds.entry_records import (
    AliasRecord,
    EntryRecord,
    RawRefRecord,
    VersionRecord,
)
from headwater.entrypoints.api.feeds.export_records import ExportedRawRecord
from headwater.entrypoints.api.feeds.feed_records import (
    OverridesRecord,
    StatsRecord,
    ValidatorsRecord,
)
from headwater.entrypoints.api.feeds.feed_stats_records import FeedDayRecord, FeedStatisticsRecord
from headwater.entrypoints.api.feeds.raw_records import (
    BlobRefRecord,
    DifferenceRecord,
    FieldChangeRecord,
    PayloadRecord,
    RawFetchRecord,
    UnreadPayloadRecord,
)
from headwater.entrypoints.api.feeds.visit_records import DecisionRecord, VisitRecord
from headwater.entrypoints.api.records import NounRecord
from headwater.entrypoints.api.sink_records import (
    DeadLetterRecord,
    EventFilterRecord,
    RemovedSinkRecord,
    SecretSinkRecord,
    SinkRecord,
)
from headwater.entrypoints.api.system.slo_records import OffenderRecord, ServiceLevelRecord
from headwater.entrypoints.api.system.status_records import WorkerRecord
from headwater.events.event_filter import EventFilter
from headwater.events.event_rows import LoggedEvent, LoggedEvents
from headwater.feeds.entries.diff_entries import Difference, FieldChange
from headwater.feeds.entries.entry_search_rows import EntryAlias, EntryVersion, KeptEntry, RawRef
from headwater.feeds.feed import FeedStats, FeedValidators
from headwater.feeds.overrides import Overrides
from headwater.feeds.raw.raw_rows import ArchivedFetch
from headwater.feeds.raw.reparse import UnreadPayload
from headwater.feeds.visit_rows import Visit
from headwater.feeds.worker.worker_rows import RegisteredWorker
from headwater.publish.export_rows import ExportedFetch
from headwater.sinks.sink import DeadLetter, Sink
from headwater.statistics.service_levels import Offender, ServiceLevel
from headwater.statistics.subscriptions import FailureCount, Statistics, StatisticsDay
from tests.support.clock import START

RecordSample = tuple[type[NounRecord], object, dict[str, Any], dict[str, Any]]
"""Record, its noun, the fields that the noun does not have; what is in the record then."""

FEED_ID, FETCH_ID = FeedId("f-1"), FetchId("r-1")
RAW_REF = RawRef(FETCH_ID, 10, 20, None)
RAW_REF_FIELDS = {"fetch_id": "r-1", "offset": 10, "length": 20, "note": None}
ENTRY = KeptEntry(
    feed=FeedPk(1),
    uid_key=b"k",
    feed_id=FEED_ID,
    uid="urn:1",
    canonical_link=None,
    title="One",
    summary=None,
    content=None,
    authors='[{"name":"Ada","email":null,"uri":null}]',
    categories='["news"]',
    enclosures='[{"url":"https://a.example/1.mp3","type":null,"length":5,"duration":"60"}]',
    details='{"rights":"none"}',
    published=START,
    updated=None,
    first_seen=START,
    last_seen=START,
    seen_count=2,
    is_present=True,
    version=3,
    content_hash="c",
    raw_refs=(RAW_REF,),
    place=(1, 2, 3, b"k"),
)
VERSION = EntryVersion(2, START, "c", '{"title":"Old","authors":"[]"}', RAW_REF)
VERSION_FIELDS = {"version": 2, "raw_ref": RAW_REF_FIELDS, "entry": {"title": "Old", "authors": []}}
ARCHIVED = ArchivedFetch(
    fetch_id=FETCH_ID,
    feed_id=FEED_ID,
    fetched_at=START,
    url="https://a.example/feed",
    http_status=200,
    request_headers={"accept": "*/*"},
    response_headers={},
    storage="disk",
    blob_key="ab/cd",
    body_sha256="abcd",
    content_type="text/xml",
    content_length=7,
    truncated=False,
    error=None,
    expired_at=None,
)
EXPORTED = ExportedFetch(
    fetch_id="r-1",
    feed_id="f-1",
    fetched_at=START,
    url="https://a.example/feed",
    http_status=200,
    request_headers=(("accept", "*/*"),),
    response_headers=(),
    body_sha256="abcd",
    content_length=7,
    truncated=False,
    error=None,
    expired_at=None,
)
CHANGE = FieldChange("title", "Old", "New")
VISIT = Visit(
    scheduled_at=START,
    started_at=START,
    finished_at=START,
    worker="w",
    url="https://a.example/feed",
    outcome="fetched",
    status=200,
    error=None,
    error_detail=None,
    fetch_id="r-1",
    conditional=True,
    hops=[["https://a.example/", 301, "/feed"]],
    request_headers=None,
    response_headers=[["etag", "x"]],
    address="192.0.2.1",
    bytes_in=7,
    latency_ms=12.34567,
    entries_in_document=2,
    new_entries=1,
    updated_entries=0,
    limits=None,
    problems=None,
    interval_before=3_600.0,
    interval_after=1_800.6,
    next_at=None,
    reason_code="adaptive",
    reason="It posts often.",
    inputs={"new_entries": 1},
)
DAY = StatisticsDay(
    on=START.date(), visits=4, failures=1, new_entries=2, bytes_in=9, unchanged=1, saved_bytes=5
)
STATISTICS = Statistics(
    visits=4,
    failures=1,
    unchanged=1,
    new_entries=2,
    updated_entries=0,
    bytes_in=9,
    mean_latency_ms=3.5,
    dated_entries=0,
    mean_late_sec=None,
    errors=(FailureCount("timeout", 1, START),),
    days=(DAY,),
    retries=1,
    saved_bytes=5,
    decoded_bytes=8,
    encoded_bytes=4,
)
EVENT = LoggedEvent(9, "e-9", "entry.new", START, "f-1", {"title": "One"})
SINK = Sink(
    id=3,
    name="hook",
    kind="webhook",
    origin="api",
    options={"url": "https://user:secret@a.example/", "timeout": 5},
    secrets=b"sealed",
    wanted=EventFilter(types=("entry.new",)),
    enabled=True,
    stopped=None,
    max_attempts=None,
    cursor=8,
    replays=0,
    attempts=1,
    failures=2,
    failing_since=START,
    next_try_at=START,
    delivered=7,
    last_delivered_at=None,
    last_error="timeout",
    last_detail=None,
    created_at=START,
    updated_at=START,
)
SINK_MORE = {"has_secrets": True, "lag": 4, "dead_letters": 1, "next_try_at": None}
OFFENDER = Offender(FEED_ID, "https://user:secret@a.example/feed", 0.5, "3 of 6 failed")

SAMPLES: list[RecordSample] = [
    (EventRecord, EVENT, {}, {"seq": 9, "id": "e-9", "payload": {"title": "One"}}),
    (EventPage, LoggedEvents((EVENT,), 12, 9), {}, {"last_seq": 12, "next": 9}),
    (
        EventFilterRecord,
        SINK.wanted,
        {},
        {"types": ["entry.new"], "feeds": [], "categories": []},
    ),
    (
        SinkRecord,
        SINK,
        SINK_MORE,
        {
            "state": "waiting",
            "options": {"url": "https://a.example/", "timeout": 5},
            "lag": 4,
            "next_try_at": None,
        },
    ),
    (SecretSinkRecord, SINK, SINK_MORE | {"secret": "whsec_x"}, {"secret": "whsec_x"}),
    (RemovedSinkRecord, SINK, {}, {"name": "hook", "kind": "webhook", "cursor": 8}),
    (
        DeadLetterRecord,
        DeadLetter(3, 9, "e-9", "entry.new", 5, "timeout", "", START, False),
        {},
        {"seq": 9, "attempts": 5, "retry_asked": False},
    ),
    (OffenderRecord, OFFENDER, {}, {"url": "https://a.example/feed", "value": 0.5}),
    (
        ServiceLevelRecord,
        ServiceLevel(
            name="failed_fetches",
            promise="Few fetches fail.",
            unit="share",
            target=0.02,
            value=0.5,
            met=False,
            window="1d",
            measured=6,
            beyond=3,
            worst=(OFFENDER,),
        ),
        {},
        {"met": False, "beyond": 3},
    ),
    (
        WorkerRecord,
        RegisteredWorker("w-1", "host", 7, START, START),
        {"heartbeat_age_sec": 2.0},
        {"worker_id": "w-1", "pid": 7, "heartbeat_age_sec": 2.0},
    ),
    (RawRefRecord, RAW_REF, {}, RAW_REF_FIELDS),
    (VersionRecord, VERSION, {}, VERSION_FIELDS),
    (
        EntryRecord,
        ENTRY,
        {"versions": [VERSION]},
        {
            "entry_uid": "urn:1",
            "authors": [{"name": "Ada", "email": None, "uri": None}],
            "categories": ["news"],
            "enclosures": [
                {
                    "url": "https://a.example/1.mp3",
                    "type": None,
                    "length": 5,
                    "duration": "60",
                }
            ],
            "details": {"rights": "none"},
            "raw_refs": [RAW_REF_FIELDS],
        },
    ),
    (
        AliasRecord,
        EntryAlias("urn:2", "urn:1", "r-1", START, None),
        {},
        {"alias_uid": "urn:2", "entry_uid": "urn:1", "undone_at": None},
    ),
    (
        ExportedRawRecord,
        EXPORTED,
        {},
        {"fetch_id": "r-1", "request_headers": [["accept", "*/*"]], "response_headers": []},
    ),
    (BlobRefRecord, ARCHIVED, {}, {"storage": "disk", "key": "ab/cd"}),
    (
        RawFetchRecord,
        ARCHIVED,
        {"body_ref": BlobRefRecord(storage="disk", key="ab/cd")},
        {"body_ref": {"storage": "disk", "key": "ab/cd"}, "request_headers": {"accept": "*/*"}},
    ),
    (PayloadRecord, ARCHIVED, {}, {"fetch_id": "r-1", "content_length": 7}),
    (FieldChangeRecord, CHANGE, {}, {"name": "title", "before": "Old", "after": "New"}),
    (
        DifferenceRecord,
        Difference("urn:1", "changed", "One", (CHANGE,)),
        {"fetch_id": "r-1"},
        {
            "entry_uid": "urn:1",
            "fields": [{"name": "title", "before": "Old", "after": "New"}],
            "fetch_id": "r-1",
        },
    ),
    (
        UnreadPayloadRecord,
        UnreadPayload("r-1", "raw_expired", "It was let go."),
        {},
        {"fetch_id": "r-1", "error": "raw_expired", "detail": "It was let go."},
    ),
    (ValidatorsRecord, FeedValidators("e", None), {}, {"etag": "e", "last_modified": None}),
    (
        StatsRecord,
        FeedStats(
            last_fetch_at=START,
            last_success_at=None,
            failures=3,
            ewma_sec=59.6,
            new_entries_last_fetch=0,
            last_outcome="failed",
            last_status=None,
            last_error="timeout",
            documents_seen=1,
            document_seen_at=None,
        ),
        {},
        {"consecutive_failures": 3, "ewma_interarrival_sec": 60, "last_document_at": None},
    ),
    (
        OverridesRecord,
        Overrides(title="Mine", interval_sec=90.4),
        {},
        {"title": "Mine", "interval_sec": 90, "min_interval_sec": None, "verify_tls": True},
    ),
    (
        VisitRecord,
        VISIT,
        {},
        {
            "hops": [{"url": "https://a.example/", "status": 301, "location": "/feed"}],
            "latency_ms": 12.346,
            "interval_after_sec": 1801,
        },
    ),
    (
        DecisionRecord,
        VISIT,
        {},
        {"decided_at": "2026-01-05T12:00:00Z", "interval_after": 1800.6, "reason_code": "adaptive"},
    ),
    (
        FeedDayRecord,
        DAY,
        {},
        {"fetch_count": 4, "not_modified": 1, "retry_count": 0, "bytes_saved": 5},
    ),
    (
        FeedStatisticsRecord,
        STATISTICS,
        {
            "feed_id": "f-1",
            "window": "7d",
            "since": None,
            "until": START,
            "p99_latency_ms": 8.0,
            "interval_chosen_sec": 60.0,
            "ewma_interval_sec": None,
        },
        {
            "fetch_count": 4,
            "success_rate": 0.75,
            "error_code_counts": {"timeout": 1},
            "compression_ratio": 2.0,
            "average_latency_ms": 3.5,
            "new_entries_per_fetch": 0.5,
        },
    ),
]
