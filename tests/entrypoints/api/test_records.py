"""Every record that is made from a noun by attribute can be made from that noun."""

from decimal import Decimal
from typing import Any

import pytest

from headwater.anime.candidate import TorrentCandidate
from headwater.anime.decide.decision import ReleaseDecision
from headwater.anime.downloads.download import Download, LostSlots
from headwater.anime.downloads.download_rows import LibraryFile
from headwater.anime.episodes.calendar import Airing
from headwater.anime.episodes.episodes import Episode
from headwater.anime.release import Release, ReleaseKind, Subtitle
from headwater.anime.shows.preferences import Preferences, StopLine
from headwater.anime.shows.propose import Proposal
from headwater.anime.shows.show import Show
from headwater.anime.shows.slot import FILM, Slot
from headwater.anime.shows.tracking import Tracking
from headwater.auth.tokens import ApiToken
from headwater.core.values.ids import FeedId, FeedPk, FetcherId
from headwater.entrypoints.api.anime.download_records import (
    DownloadRecord,
    LibraryFileRecord,
    ReplacedDownloadRecord,
    WholeDownloadRecord,
)
from headwater.entrypoints.api.anime.preview_records import AiringRecord, ProposalRecord
from headwater.entrypoints.api.anime.release_records import (
    ReleaseDownloadRecord,
    ReleaseRecord,
    SlotRecord,
)
from headwater.entrypoints.api.anime.show_records import (
    EpisodeRecord,
    ProposedShowRecord,
    ShowRecord,
)
from headwater.entrypoints.api.anime.tracking_records import (
    NewTrackingRecord,
    PreferencesRecord,
    StopLineRecord,
    TrackingRecord,
    WholeTrackingRecord,
)
from headwater.entrypoints.api.app import ROUTES
from headwater.entrypoints.api.personal_feeds.reader_records import RemovedReaderRecord
from headwater.entrypoints.api.records import NounRecord
from headwater.entrypoints.api.subscriptions.conflict_records import (
    AdvisedConflict,
    ConflictDataRecord,
    ConflictRecord,
    FetcherCountsRecord,
)
from headwater.entrypoints.api.subscriptions.fetcher_records import (
    FetcherRecord,
    JoinedFetcherRecord,
)
from headwater.entrypoints.api.subscriptions.group_records import (
    ActionResultRecord,
    ChangedGroupRecord,
    DissolvedRecord,
    GroupRecord,
    RefusedMemberRecord,
)
from headwater.entrypoints.api.subscriptions.stats_records import (
    DayRecord,
    ErrorCountRecord,
    StatisticsRecord,
    WorstSubscriptionRecord,
)
from headwater.entrypoints.api.subscriptions.subscription_records import (
    SubscriptionHistoryRecord,
    SubscriptionRecord,
    UnsubscribedRecord,
)
from headwater.entrypoints.api.subscriptions.work_records import RenewedRecord, ResultRecord
from headwater.entrypoints.api.system.token_records import NewTokenRecord, TokenRecord
from headwater.feeds.visit_rows import Visit
from headwater.personal_feeds.ports import FeedReader
from headwater.statistics.fetcher_counts import FetcherCounts
from headwater.statistics.subscriptions import (
    FailureCount,
    Statistics,
    StatisticsDay,
    WorstSubscription,
)
from headwater.subscriptions.conflicts.conflict import Conflict
from headwater.subscriptions.fetchers.fetcher import Fetcher
from headwater.subscriptions.fetchers.remote_work import RenewedClaims
from headwater.subscriptions.groups.apply_group_values import RefusedMember
from headwater.subscriptions.groups.group import Group, GroupValues
from headwater.subscriptions.groups.group_commands import MemberResult
from headwater.subscriptions.history_rows import HistoryEntry
from headwater.subscriptions.subscription import Subscription
from tests.entrypoints.api import record_samples
from tests.support.clock import START

GROUP = Group(
    id=7,
    name="News",
    description=None,
    shared=GroupValues(fetch_interval_minutes=60, categories=("news",)),
    spreading=None,
    has_credentials=True,
    members=3,
    created_at=START,
    updated_at=START,
)
TOKEN = ApiToken(4, "phone", "read", START, None, None)
FETCHER = Fetcher(
    id=FetcherId(3),
    name="mirror",
    version="1.0.0",
    description=None,
    base_url="http://mirror.example",
    priority=50,
    is_enabled=True,
    config_schema=None,
    wants_news=False,
    last_seen_at=None,
    created_at=START,
    updated_at=START,
)
SUBSCRIPTION = Subscription(
    id=12,
    fetcher_id=FetcherId(3),
    fetcher_name="mirror",
    feed_id=FeedId("a-feed"),
    feed_pk=FeedPk(5),
    source_url="https://blog.example/feed",
    source_type="rss",
    name=None,
    description=None,
    last_fetched_at=None,
    next_fetch_at=START,
    fetch_interval_minutes=60,
    is_active=True,
    config=None,
    assignment_status="assigned",
    auto_selected=False,
    assigned_at=START,
    group_id=None,
    created_at=START,
    updated_at=START,
)
CONFLICT = Conflict(
    id=9,
    subscription_id=12,
    source_url="https://blog.example/feed",
    type="multi_fetcher_match",
    candidates=(FetcherId(3), FetcherId(4)),
    reason="both can",
    status="resolved",
    resolution={"resolved_fetcher_id": 3},
    resolved_at=START,
    created_at=START,
    updated_at=START,
    candidate_names={FetcherId(3): "mirror"},
)
FAILURES = FailureCount("http_500", 2, START)
DAY = StatisticsDay(None, 4, 2, 1, 900)
STATISTICS = Statistics(
    visits=4,
    failures=2,
    unchanged=1,
    new_entries=1,
    updated_entries=0,
    bytes_in=900,
    mean_latency_ms=20.0,
    dated_entries=0,
    mean_late_sec=None,
    errors=(FAILURES,),
    days=(DAY,),
)
WORST = WorstSubscription(
    subscription_id=12,
    feed_id=FeedId("a-feed"),
    source_url="https://blog.example/feed",
    name=None,
    fetcher_id=FetcherId(3),
    fetcher_name="mirror",
    visits=4,
    failures=2,
    in_a_row=2,
    last_error="http_500",
    last_success_at=None,
    next_visit_at=START,
)
VISIT = Visit(
    scheduled_at=START,
    started_at=START,
    finished_at=START,
    worker="fetcher 3",
    url="https://blog.example/feed",
    outcome="failed",
    status=500,
    error="http_500",
    error_detail="HTTP 500",
    fetch_id=None,
    conditional=False,
    hops=None,
    request_headers=None,
    response_headers=None,
    address=None,
    bytes_in=0,
    latency_ms=20.0,
    entries_in_document=None,
    new_entries=0,
    updated_entries=0,
    limits=None,
    problems=None,
    interval_before=60.0,
    interval_after=60.0,
    next_at=START,
    reason_code="failure",
    reason="It failed.",
    inputs=None,
)
SLOT = Slot(2, Decimal("12.5"))
SLOT_FIELDS = {"season": 2, "episode": 12.5, "name": "S02E12.5"}
LOST = LostSlots(6, (SLOT,), is_whole=True)
DOWNLOAD = Download(
    id=8,
    show_id=2,
    release_id=5,
    state="added",
    infohash=None,
    magnet=None,
    save_path="",
    slots=(SLOT,),
    replaces=(LOST,),
    attempts=1,
    error=None,
    detail=None,
    progress=250,
    fence=1,
    next_step_at=None,
    intended_at=START,
)
LIBRARY_FILE = LibraryFile(
    id=1,
    download_id=8,
    source="tides.mkv",
    path="Tides/tides.mkv",
    length=9,
    mark="a-mark",
    slots=(SLOT,),
    state="placed",
    recycled_to=None,
    gone_at=None,
)
SHOW = Show("Tides", titles=("Shio",), main_kind=ReleaseKind.MOVIE, specials={"OVA1": 2})
SHOW_FIELDS = {"title": "Tides", "titles": ["Shio"], "kind": "Movie", "specials": {"OVA1": 2}}
STOP = StopLine("LoliHouse", frozenset({Subtitle.KOREAN}))
PREFERENCES = Preferences(
    groups=("LoliHouse",), subtitles=(frozenset({Subtitle.KOREAN}),), stop=STOP
)
TRACKING = Tracking(4, 2, "a-feed", PREFERENCES, include=("1080p",))
TRACKING_MORE = {
    "show": ShowRecord.of(SHOW, id=2, air_weekday=None, created_at=START, updated_at=START),
    "feed_title": "Tides",
    "feed_state": "active",
}
CANDIDATE = TorrentCandidate(uid="uid", title="[Group] Tides", first_seen=START, feed="a-feed")
DECISION = ReleaseDecision(
    id=5,
    tracking_id=4,
    candidate=CANDIDATE,
    release=Release(title="Tides"),
    slots=(SLOT,),
    action="fetch",
    rule="wanted",
    reason="It is wanted.",
    found_at=START,
    decided_at=START,
)
REFUSED = RefusedMember(12, "a is not known")

SAMPLES: list[record_samples.RecordSample] = [
    *record_samples.SAMPLES,
    (
        RemovedReaderRecord,
        FeedReader("a-reader", "Ada", (), 0, 0),
        {"removed": True},
        {"id": "a-reader", "name": "Ada", "removed": True},
    ),
    (SlotRecord, SLOT, {}, SLOT_FIELDS),
    (SlotRecord, FILM, {}, {"season": None, "episode": None, "name": "the film"}),
    (ReleaseDownloadRecord, DOWNLOAD, {}, {"id": 8, "state": "added"}),
    (
        ReleaseRecord,
        DECISION,
        {
            "feed_id": "a-feed",
            "entry_uid": "uid",
            "title": "[Group] Tides",
            "release": {"title": "Tides"},
            "infohash": None,
            "size": None,
            "seeders": None,
            "doubts": ("size",),
            "published": None,
            "first_seen": START,
            "download": DOWNLOAD,
        },
        {
            "id": 5,
            "slots": [SLOT_FIELDS],
            "doubts": ["size"],
            "download": {"id": 8, "state": "added"},
        },
    ),
    (
        ReplacedDownloadRecord,
        LOST,
        {},
        {"download_id": 6, "slots": [SLOT_FIELDS], "whole": True},
    ),
    (
        LibraryFileRecord,
        LIBRARY_FILE,
        {},
        {"path": "Tides/tides.mkv", "length": 9, "slots": [SLOT_FIELDS], "state": "placed"},
    ),
    (
        DownloadRecord,
        DOWNLOAD,
        {"title": "[Group] Tides"},
        {
            "id": 8,
            "title": "[Group] Tides",
            "progress": 0.25,
            "replaces": [{"download_id": 6, "slots": [SLOT_FIELDS], "whole": True}],
        },
    ),
    (
        WholeDownloadRecord,
        DOWNLOAD,
        {"title": "[Group] Tides", "files": [LIBRARY_FILE]},
        {
            "id": 8,
            "files": [
                {
                    "path": "Tides/tides.mkv",
                    "length": 9,
                    "slots": [SLOT_FIELDS],
                    "state": "placed",
                    "recycled_to": None,
                }
            ],
        },
    ),
    (ProposedShowRecord, SHOW, {}, SHOW_FIELDS),
    (
        ShowRecord,
        SHOW,
        {"id": 2, "air_weekday": 0, "created_at": START, "updated_at": START},
        {"id": 2, "air_weekday": 0, **SHOW_FIELDS},
    ),
    (
        EpisodeRecord,
        Episode(SLOT, "missing", None, None, None, None),
        {},
        {"slot": SLOT_FIELDS, "state": "missing", "came_out": None},
    ),
    (StopLineRecord, STOP, {}, {"group": "LoliHouse", "subtitles": "KOR"}),
    (
        PreferencesRecord,
        PREFERENCES,
        {},
        {
            "groups": ["LoliHouse"],
            "subtitles": ["KOR"],
            "stop": {"group": "LoliHouse", "subtitles": "KOR"},
        },
    ),
    (
        TrackingRecord,
        TRACKING,
        TRACKING_MORE,
        {"id": 4, "include": ["1080p"], "exclude": [], "since": None, "feed_title": "Tides"},
    ),
    (
        WholeTrackingRecord,
        TRACKING,
        TRACKING_MORE | {"counts": {"removed:pack": 1}},
        {"id": 4, "counts": {"removed:pack": 1}},
    ),
    (
        NewTrackingRecord,
        TRACKING,
        TRACKING_MORE | {"earlier_releases": 3},
        {"id": 4, "earlier_releases": 3},
    ),
    (
        ProposalRecord,
        Proposal(None, {"title": "It was given."}, {"LoliHouse": 2}, {}, 2, (SHOW,), 1),
        {"feed_id": "a-feed", "groups": [], "titles": []},
        {"feed_id": "a-feed", "show": None, "because": {"title": "It was given."}, "of_show": 1},
    ),
    (
        AiringRecord,
        Airing(2, "Tides", SLOT, "came", START.date(), START, START),
        {},
        {"show_id": 2, "slot": SLOT_FIELDS, "day": "2026-01-05"},
    ),
    (FetcherRecord, FETCHER, {}, {"fetcher_id": 3, "name": "mirror", "is_builtin": False}),
    (
        JoinedFetcherRecord,
        FETCHER,
        {"token": "hw_x", "signing_key": None},
        {"fetcher_id": 3, "token": "hw_x", "signing_key": None},
    ),
    (
        SubscriptionRecord,
        SUBSCRIPTION,
        {},
        {
            "subscription_id": 12,
            "source_url": "https://blog.example/feed",
            "rss_url": "https://blog.example/feed",
            "has_credentials": False,
        },
    ),
    (
        UnsubscribedRecord,
        SUBSCRIPTION,
        {"message": "gone", "rows_deleted": 1, "hard": False},
        {"message": "gone", "subscription_id": 12, "rss_url": "https://blog.example/feed"},
    ),
    (
        SubscriptionHistoryRecord,
        HistoryEntry(1, 12, START, "ada", "created", None, None, {"fetcher_id": 3}, None),
        {},
        {"id": 1, "who": "ada", "before": None, "after": {"fetcher_id": 3}},
    ),
    (
        ConflictDataRecord,
        CONFLICT,
        {},
        {"candidate_fetcher_ids": [3, 4], "conflict_reason": "both can"},
    ),
    (
        ConflictRecord,
        CONFLICT,
        {"conflict_data": CONFLICT, "candidate_fetchers": []},
        {
            "conflict_id": 9,
            "rss_url": "https://blog.example/feed",
            "conflict_type": "multi_fetcher_match",
            "conflict_data": {"candidate_fetcher_ids": [3, 4], "conflict_reason": "both can"},
            "resolution_status": "resolved",
            "resolution_data": {"resolved_fetcher_id": 3},
        },
    ),
    (
        AdvisedConflict,
        CONFLICT,
        {"conflict_data": CONFLICT, "candidate_fetchers": [], "suggestion": None},
        {"conflict_id": 9, "suggestion": None},
    ),
    (
        FetcherCountsRecord,
        FetcherCounts(FetcherId(3), "mirror", visits=4, successes=2, errors={"http_500": 2}),
        {"success_rate_low": 0.1, "success_rate_high": 0.9},
        {"fetcher_id": 3, "judged_visits": 4, "failures": 2, "errors": {"http_500": 2}},
    ),
    (
        ErrorCountRecord,
        FAILURES,
        {},
        {"error": "http_500", "visits": 2, "last_at": "2026-01-05T12:00:00Z"},
    ),
    (DayRecord, DAY, {}, {"day": None, "visits": 4, "bytes_in": 900}),
    (
        StatisticsRecord,
        STATISTICS,
        {
            "subscription_id": 12,
            "feed_id": "a-feed",
            "fetcher_id": 3,
            "window": "7d",
            "since": None,
            "until": START,
            "consecutive_failures": 2,
            "last_success_at": None,
            "last_error": "http_500",
            "last_error_at": START,
        },
        {"visits": 4, "successes": 2, "success_rate": 0.5, "last_error": "http_500"},
    ),
    (
        WorstSubscriptionRecord,
        WORST,
        {},
        {"fetcher": "mirror", "failure_rate": 0.5, "consecutive_failures": 2},
    ),
    (RenewedRecord, RenewedClaims((12,), (13,), START), {}, {"renewed": [12], "lost": [13]}),
    (
        ResultRecord,
        VISIT,
        {"subscription_id": 12},
        {"subscription_id": 12, "error": "http_500", "reason": "It failed."},
    ),
    (
        GroupRecord,
        GROUP,
        {},
        {"group_id": 7, "fetch_interval_minutes": 60, "priority": None, "categories": ["news"]},
    ),
    (
        ChangedGroupRecord,
        GROUP,
        {"members_changed": 1, "members_unchanged": 2, "refused": [REFUSED]},
        {
            "group_id": 7,
            "members_changed": 1,
            "refused": [{"subscription_id": 12, "message": "a is not known"}],
        },
    ),
    (TokenRecord, TOKEN, {}, {"id": 4, "scope": "read", "revoked_at": None}),
    (NewTokenRecord, TOKEN, {"token": "hw_x"}, {"id": 4, "name": "phone", "token": "hw_x"}),
    (RefusedMemberRecord, REFUSED, {}, {"subscription_id": 12, "message": "a is not known"}),
    (DissolvedRecord, GROUP, {}, {"group_id": 7, "name": "News", "subscriptions_kept": 3}),
    (
        ActionResultRecord,
        MemberResult(12, error="too_soon", retry_after_sec=4.0),
        {},
        {"subscription_id": 12, "done": False, "error": "too_soon", "retry_after_sec": 4.0},
    ),
]


@pytest.mark.parametrize(
    ("record", "noun", "more", "shown"), SAMPLES, ids=[sample[0].__name__ for sample in SAMPLES]
)
def test_a_record_is_made_from_its_noun(
    record: type[NounRecord], noun: object, more: dict[str, Any], shown: dict[str, Any]
) -> None:
    fields = record.of(noun, **more).model_dump(mode="json")
    assert fields.keys() == record.model_fields.keys()
    assert {name: fields[name] for name in shown} == shown


def subclasses(base: type[NounRecord]) -> set[type[NounRecord]]:
    direct = set(base.__subclasses__())
    return direct.union(*(subclasses(each) for each in direct))


def test_every_such_record_has_a_sample() -> None:
    assert ROUTES, "importing the app imports every record"
    assert {sample[0] for sample in SAMPLES} == subclasses(NounRecord)
