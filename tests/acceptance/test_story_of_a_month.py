"""The story of one feed over a month, on the wire and in every table.

The numbers in STORY were worked out by hand from the rules of the schedule; the arithmetic stands
beside each. `wait` is the time to the next visit, so the moment of a visit is the sum of all waits
before it. No scheduler code had a part in them.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import orjson
import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.values.instant import to_micros
from headwater.feeds.feed import FeedOptions
from headwater.feeds.schedule.decide_next_visit import replay_decision
from headwater.feeds.visit import visit_feed
from headwater.feeds.worker import claim_rows, worker_rows
from headwater.subscriptions.add_feed import add_feed
from tests.support.clock import START, VirtualClock
from tests.support.engine import USER_AGENT, opened_engine
from tests.support.engine_parts import EngineParts
from tests.support.origin import Origin, OriginFeed, Post, Reply, rss

DAY = 86_400.0
MILLISECOND = 1_000
OLD, NEW = "/feed.xml", "/new.xml"
TO_NEW = Reply(301, headers={"Location": NEW})


def days(number: float) -> datetime:
    return START + timedelta(days=number)


A = Post("a", "Apples", published=days(-3))
B = Post("b", "Beets", published=days(-2))
C = Post("c", "Carrots", published=days(-1))
D = Post("d", "Dill", published=days(1))
D_RENAMED = Post("d#1", "Dill", published=days(1), link=D.where)
E = Post("e", "Endive", published=days(7))
F = Post("f", "Fennel", published=days(11))
H = Post("h", "Horseradish, from the future", published=days(365 * 70))
C_EDITED = Post("c", "Carrots, corrected", published=days(-1))

Sent = tuple[str, str | None]
"""A request on the wire: its path and its If-None-Match."""


@dataclass(frozen=True)
class Chapter:
    """One visit: what the publisher did before it, and everything that must follow."""

    before: Callable[["Publisher"], None]
    sent: tuple[Sent, ...]
    status: int
    outcome: str
    interval: float
    wait: float | None
    code: str
    reason: str
    new: int = 0
    edited: int = 0
    luck: float = 0.0
    error: str | None = None
    events: tuple[tuple[str, str | None], ...] = ()


class Publisher:
    """The other side: changes the feed, names each version with an ETag of its own."""

    def __init__(self, origin: Origin) -> None:
        self.old, self.new = origin.feed(OLD), origin.feed(NEW)
        self.ttl = ""
        for feed in (self.old, self.new):
            feed.validators = "none"
            feed.render = lambda posts: rss(posts, title="A garden", channel=self.ttl)

    def shows(self, etag: str, *posts: Post) -> None:
        for feed in (self.old, self.new):
            feed.posts = list(posts)
            feed.headers["ETag"] = f'"{etag}"'

    def answers(self, *replies: Reply) -> None:
        self.current.answer_next(*replies)

    @property
    def current(self) -> OriginFeed:
        return self.old if not self.new.requests else self.new


def nothing(_: Publisher) -> None:
    """The publisher is idle."""


def show(etag: str, *posts: Post, ttl: int | None = None) -> Callable[[Publisher], None]:
    def change(publisher: Publisher) -> None:
        if ttl is not None:
            publisher.ttl = f"<ttl>{ttl}</ttl>"
        publisher.shows(etag, *posts)

    return change


def answer(reply: Reply) -> Callable[[Publisher], None]:
    return lambda publisher: publisher.answers(reply)


def redirect(publisher: Publisher) -> None:
    publisher.old.answer_next(TO_NEW)


def answer_new(reply: Reply) -> Callable[[Publisher], None]:
    return lambda publisher: publisher.new.answer_next(reply)


LONGEST_WEEK = "posts about every 1 day 7 h, the longest interval allowed"
LONGEST_NOW = "posts about every 3 days 2 h, the longest interval allowed"
HELD_BACK = (
    "1 new entry (× 0.75), posts about every 3 days 2 h; the publisher's ttl of 23 h holds it back"
)


def quiet_day(rhythm: str = "posts about every 3 days 2 h") -> Chapter:
    """82,800 × 1.25 = 103,500 or 86,400 × 1.25 = 108,000; half of it and half a day: over a day."""
    return Chapter(
        nothing, ((NEW, '"v8"'),), 304, "unchanged", DAY, DAY, "not-modified",
        f"in 1 day: not modified (× 1.25), {rhythm}, the longest interval allowed",
    )  # fmt: skip


STORY = [
    # Gaps of one day: EWMA 86,400. 900 × 0.75 = 675; 0.5 × 86,400 + 0.5 × 675 = 43,537.5
    Chapter(
        show("v1", C, B, A), ((OLD, None),), 200, "fetched", 43_537.5, 43_537.5, "new-entries",
        "in 12 h 6 min: 3 new entries (× 0.75), posts about every 1 day", new=3,
        events=(
            ("subscription_created", None),
            ("new_entry", "c"),
            ("new_entry", "b"),
            ("new_entry", "a"),
        ),
    ),
    # 43,537.5 × 1.25 = 54,421.875; 43,200 + 27,210.9375 = 70,410.9375;
    # luck 0.5 of 15 % is 7.5 %: × 1.075 = 75,691.7578125
    Chapter(
        nothing, ((OLD, '"v1"'),), 304, "unchanged", 70_410.9375, 75_691.7578125, "not-modified",
        "in 21 h 2 min: not modified (× 1.25), posts about every 1 day", luck=0.5,
    ),
    # Gaps 1, 1, 2 days: 0.3 × 172,800 + 0.7 × 86,400 = 112,320, cut to the longest, 86,400.
    # 70,410.9375 × 0.75 = 52,808.203125; 43,200 + 26,404.1015625 = 69,604.1015625
    Chapter(
        show("v2", D, C, B, A), ((OLD, '"v1"'),), 200, "fetched", 69_604.1015625,
        69_604.1015625, "new-entries",
        "in 19 h 20 min: 1 new entry (× 0.75), posts about every 1 day 7 h", new=1,
        events=(("new_entry", "d"),),
    ),
    # 69,604.1015625 × 1.25 = 87,005.126953125; 43,200 + 43,502.56 = 86,702.56, cut to 86,400
    Chapter(
        show("v3", D, C_EDITED, B, A), ((OLD, '"v2"'),), 200, "fetched", DAY, DAY,
        "no-new-entries", f"in 1 day: nothing new (× 1.25), {LONGEST_WEEK}", edited=1,
        events=(("updated_entry", "c"),),
    ),
    # Retry-After, to the second; the interval itself stays
    Chapter(
        answer(Reply(429, headers={"Retry-After": "7200"})), ((OLD, '"v3"'),), 429, "throttled",
        DAY, 7_200.0, "retry-after", "in 2 h: asked to come back after 2 h", error="http_429",
    ),
    # The validators have survived the 429
    Chapter(
        nothing, ((OLD, '"v3"'),), 304, "unchanged", DAY, DAY, "not-modified",
        f"in 1 day: not modified (× 1.25), {LONGEST_WEEK}",
    ),
    # First failure: max(86,400, min(900 × 2, 3,600)) = 86,400
    Chapter(
        answer(Reply(503)), ((OLD, '"v3"'),), 503, "throttled", DAY, DAY, "error-backoff",
        "in 1 day: asked to slow down (no Retry-After), 1st failure in a row", error="http_503",
    ),
    # Malformed XML: kept as raw, not as validators
    Chapter(
        answer(Reply(200, b"<rss version='2.0'><chan", {"ETag": '"broken"'})),
        ((OLD, '"v3"'),), 200, "unreadable", DAY, DAY, "error-backoff",
        "in 1 day: failed (parse_error), 2nd failure in a row", error="parse_error",
    ),
    # The third failure in a row is told
    Chapter(
        answer(Reply(500, b"oops")), ((OLD, '"v3"'),), 500, "failed", DAY, DAY, "error-backoff",
        "in 1 day: failed (http_500), 3rd failure in a row", error="http_500",
        events=(("feed_failing", None),),
    ),
    # b has vanished. Gaps 1, 1, 2, 6 days: 0.3 × 518,400 + 0.7 × 112,320 = 234,144, cut.
    # 86,400 × 0.75 = 64,800; 43,200 + 32,400 = 75,600
    Chapter(
        show("v4", E, D, C_EDITED, A), ((OLD, '"v3"'),), 200, "fetched", 75_600.0, 75_600.0,
        "new-entries", "in 21 h: 1 new entry (× 0.75), posts about every 2 days 17 h", new=1,
        events=(("new_entry", "e"), ("feed_recovered", None)),
    ),
    # A permanent redirect, seen once. 75,600 × 1.25 = 94,500; 43,200 + 47,250 = 90,450, cut
    *(
        Chapter(
            redirect, ((OLD, '"v4"'), (NEW, '"v4"')), 304, "unchanged", DAY, DAY, "not-modified",
            "in 1 day: not modified (× 1.25), posts about every 2 days 17 h,"
            " the longest interval allowed",
            events=told,
        )
        # and believed when it has been seen three times over two days
        for told in ((), (), (("feed_moved", None),))
    ),
    # Asked at its new address. Gap of 4 days: 0.3 × 345,600 + 0.7 × 234,144 = 267,580.8, cut.
    # 64,800 and 43,200 make 75,600; the ttl of 1,380 min = 82,800 s is a floor
    Chapter(
        show("v5", F, E, D, C_EDITED, A, ttl=1_380), ((NEW, '"v4"'),), 200, "fetched", 82_800.0,
        82_800.0, "new-entries", f"in 23 h: {HELD_BACK}", new=1, events=(("new_entry", "f"),),
    ),
    # b is back: no news. 82,800 × 1.25 = 103,500; 43,200 + 51,750 = 94,950, cut
    Chapter(
        show("v6", F, E, D, C_EDITED, B, A), ((NEW, '"v5"'),), 200, "fetched", DAY, DAY,
        "no-new-entries", f"in 1 day: nothing new (× 1.25), {LONGEST_NOW}",
    ),
    # The same document under another ETag: no entry is touched, the validator is replaced
    Chapter(
        show("v7", F, E, D, C_EDITED, B, A), ((NEW, '"v6"'),), 200, "fetched", DAY, DAY,
        "no-new-entries", f"in 1 day: nothing new (× 1.25), {LONGEST_NOW}",
    ),
    # d's guid drifts, h is dated 70 years ahead: one new entry, no new rhythm
    Chapter(
        show("v8", H, F, E, D_RENAMED, C_EDITED, B, A), ((NEW, '"v7"'),), 200, "fetched",
        82_800.0, 82_800.0, "new-entries", f"in 23 h: {HELD_BACK}", new=1,
        events=(("new_entry", "h"),),
    ),
    *(quiet_day() for _ in range(3)),
    # f came on day 11, the visits come at 15.06, 16.06, …: from 18.06 on the silence has lasted
    # more than twice the usual gap of 3.097 days, and counts itself
    *(quiet_day(f"silent for {silence} days 1 h") for silence in range(7, 19)),
    # Retry-After as a date, three hours ahead in whole seconds: the fraction of ours is cut off
    Chapter(
        answer_new(Reply(503, headers={"Retry-After": "in three hours"})), ((NEW, '"v8"'),), 503,
        "throttled", DAY, 10_799.640625, "retry-after", "in 3 h: asked to come back after 3 h",
        error="http_503",
    ),
    # One 410 may be an accident
    Chapter(
        answer_new(Reply(410)), ((NEW, '"v8"'),), 410, "gone", DAY, DAY, "gone-unconfirmed",
        "in 1 day: said 410 Gone, asked once more to be sure", error="http_410",
    ),
    Chapter(
        answer_new(Reply(410)), ((NEW, '"v8"'),), 410, "gone", DAY, None, "gone",
        "no more visits: said 410 Gone again", error="http_410",
        events=(("feed_gone", None),),
    ),
]  # fmt: skip

MOMENTS = [0.0]
for chapter in STORY[:-1]:
    assert chapter.wait is not None
    MOMENTS.append(MOMENTS[-1] + chapter.wait)


def at(chapter: int) -> int:
    """The moment of the n-th visit (from 1), in microseconds."""
    return to_micros(START + timedelta(seconds=MOMENTS[chapter - 1]))


@pytest.fixture
async def engine(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> AsyncIterator[EngineParts]:
    async with opened_engine(database, virtual_clock, tmp_path / "blobs") as opened:
        yield opened


@pytest.fixture
async def origin(virtual_clock: VirtualClock) -> AsyncIterator[Origin]:
    async with Origin(virtual_clock) as opened:
        yield opened


async def live_through(engine: EngineParts, origin: Origin, clock: VirtualClock) -> Publisher:
    """Every chapter in its time; each request is checked as it happens."""
    publisher = Publisher(origin)
    async with engine.database.write() as tx:
        await worker_rows.upsert_heartbeat(tx, engine.worker, "here", 1, at(1))
        await worker_rows.claim_shards(tx, engine.worker, at(1), at(len(STORY)) * 2, 1024)
    for number, chapter in enumerate(STORY, start=1):
        chapter.before(publisher)
        _date_the_retry_after(publisher, clock)
        clock.script_luck(chapter.luck)
        already = len(origin.requests)
        if number == 1:
            await add_feed(publisher.old.url, FeedOptions(), engine.registry)
        else:
            await _visit_what_is_due(engine)
        sent = [(each.path, each.header("If-None-Match")) for each in origin.requests[already:]]
        assert sent == list(chapter.sent), f"chapter {number}"
        if chapter.wait is not None:
            planned = await _next_visit(engine)
            assert planned == pytest.approx(at(number + 1), abs=MILLISECOND), f"chapter {number}"
            await clock.advance((planned - to_micros(clock.now())) / 1_000_000)
    return publisher


def _date_the_retry_after(publisher: Publisher, clock: VirtualClock) -> None:
    """HTTP dates need the moment they are made in; whole seconds, so never early."""
    for reply in publisher.new._next:
        if reply.headers.get("Retry-After") == "in three hours":
            later = clock.now() + timedelta(hours=3)
            assert isinstance(reply.headers, dict)
            reply.headers["Retry-After"] = later.strftime("%a, %d %b %Y %H:%M:%S GMT")


async def _next_visit(engine: EngineParts) -> int:
    async with engine.database.read() as view:
        row = await view.row("SELECT next_visit_at FROM feeds")
    assert row is not None
    return int(row.next_visit_at)


async def _visit_what_is_due(engine: EngineParts) -> None:
    now = to_micros(engine.clock.now())
    async with engine.database.write() as tx:
        (due,) = await claim_rows.claim_feeds(tx, engine.worker, now, now + 120_000_000, 10)
    await visit_feed(due, engine.feeds)


async def test_a_month_in_the_life_of_a_feed(
    engine: EngineParts, origin: Origin, virtual_clock: VirtualClock
) -> None:
    publisher = await live_through(engine, origin, virtual_clock)
    _check_the_wire(origin)
    await _check_visits(engine)
    await _check_events(engine, publisher)
    await _check_entries(engine)
    await _check_versions_and_aliases(engine)
    await _check_raw(engine, origin)
    await _check_feed(engine, publisher)
    days_lived = MOMENTS[-1] / DAY
    assert 31 < days_lived < 32


def _check_the_wire(origin: Origin) -> None:
    """One request per visit and redirect, GET only, one honest name, nothing we did not mean."""
    assert len(origin.requests) == len(STORY) + 3
    for request in origin.requests:
        assert request.method == "GET"
        assert request.header("User-Agent") == USER_AGENT
        assert request.header("Accept-Encoding") == "gzip, deflate, br, zstd"
        assert request.header("If-Modified-Since") is None
        assert request.header("Cookie") is None
        assert request.header("Referer") is None


async def _check_visits(engine: EngineParts) -> None:
    async with engine.database.read() as view:
        rows = await view.rows("SELECT * FROM visits ORDER BY scheduled_at")
    assert len(rows) == len(STORY)
    interval = 900.0
    for number, (row, chapter) in enumerate(zip(rows, STORY, strict=True), start=1):
        where = f"chapter {number}"
        assert row.started_at == pytest.approx(at(number), abs=MILLISECOND), where
        assert row.scheduled_at == row.started_at, where
        assert (row.status, row.outcome, row.error) == (
            chapter.status,
            chapter.outcome,
            chapter.error,
        ), where
        assert (row.new_entries, row.updated_entries) == (chapter.new, chapter.edited), where
        assert row.interval_before == pytest.approx(interval), where
        assert row.interval_after == pytest.approx(chapter.interval), where
        assert (row.reason_code, row.reason) == (chapter.code, chapter.reason), where
        again = replay_decision(orjson.loads(row.inputs))
        assert (again.code, again.reason) == (chapter.code, chapter.reason), where
        interval = chapter.interval


async def _check_events(engine: EngineParts, publisher: Publisher) -> None:
    async with engine.database.read() as view:
        rows = await view.rows("SELECT seq, type, at, payload FROM events ORDER BY seq")
    told = [
        (kind, uid, at(number))
        for number, chapter in enumerate(STORY, start=1)
        for kind, uid in chapter.events
    ]
    assert [row.seq for row in rows] == list(range(1, len(told) + 1))
    for row, (kind, uid, moment) in zip(rows, told, strict=True):
        payload = orjson.loads(row.payload)
        assert (row.type, payload.get("entry_uid")) == (kind, uid)
        assert row.at == pytest.approx(moment, abs=MILLISECOND)
    payloads = {row.type: orjson.loads(row.payload) for row in rows}
    assert payloads["subscription_created"]["source_url"] == publisher.old.url
    assert payloads["subscription_created"]["fetcher"] == "feed"
    assert payloads["feed_moved"]["old_url"] == publisher.old.url
    assert payloads["feed_moved"]["new_url"] == publisher.new.url
    assert payloads["feed_failing"]["failures"] == 3
    assert payloads["feed_failing"]["error"] == "http_500"
    assert payloads["feed_recovered"]["failures"] == 3
    assert payloads["updated_entry"]["version"] == 2
    assert set(payloads["new_entry"]) == {
        "entry_uid", "feed_id", "published", "canonical_link", "raw_refs", "ingested_at",
    }  # fmt: skip


DOCUMENTS = 28
"""Visits that showed a document: of the first 17 four failed, so 13, and 15 quiet days."""


async def _check_entries(engine: EngineParts) -> None:
    """`first_seen` and the counts, worked out from the chapters each entry was in."""
    async with engine.database.read() as view:
        rows = await view.rows(
            "SELECT e.*, f.documents_seen, f.document_seen_at FROM entries e"
            " JOIN feeds f ON f.id = e.feed_id ORDER BY e.entry_uid"
        )
    seen = {
        row.entry_uid: (
            row.title,
            row.version,
            row.seen_before + row.documents_seen - row.present_since + 1,
        )
        for row in rows
    }
    assert seen == {
        "a": ("Apples", 1, DOCUMENTS),
        "b": ("Beets", 1, DOCUMENTS - 5),  # not in documents 6 to 10
        "c": ("Carrots, corrected", 2, DOCUMENTS),
        "d": ("Dill", 1, DOCUMENTS - 2),
        "e": ("Endive", 1, DOCUMENTS - 5),
        "f": ("Fennel", 1, DOCUMENTS - 9),
        "h": ("Horseradish, from the future", 1, DOCUMENTS - 12),
    }
    first = {row.entry_uid: row.first_seen for row in rows}
    expected = {"a": 1, "b": 1, "c": 1, "d": 3, "e": 10, "f": 14, "h": 17}
    for uid, number in expected.items():
        assert first[uid] == pytest.approx(at(number), abs=MILLISECOND), uid
    by_uid = {row.entry_uid: row for row in rows}
    assert by_uid["h"].sort_at == by_uid["h"].first_seen
    assert by_uid["a"].sort_at == by_uid["a"].published == to_micros(days(-3))
    assert {row.document_seen_at for row in rows} == {rows[0].document_seen_at}
    assert rows[0].document_seen_at == pytest.approx(at(32), abs=MILLISECOND)


async def _check_versions_and_aliases(engine: EngineParts) -> None:
    async with engine.database.read() as view:
        (version,) = await view.rows("SELECT * FROM entry_versions")
        (alias,) = await view.rows(
            "SELECT a.alias_uid, e.entry_uid FROM entry_aliases a"
            " JOIN entries e ON e.feed_id = a.feed_id AND e.uid_key = a.uid_key"
        )
        (raw,) = await view.rows("SELECT fetch_id FROM visits WHERE new_entries = 3")
    assert orjson.loads(version.snapshot)["title"] == "Carrots"
    assert (version.version, version.fetch_id) == (1, raw.fetch_id)
    assert version.replaced_at == pytest.approx(at(4), abs=MILLISECOND)
    assert tuple(alias) == ("d#1", "d")


async def _check_raw(engine: EngineParts, origin: Origin) -> None:
    """Every body that was served is kept, byte for byte; those with news for ever."""
    async with engine.database.read() as view:
        rows = await view.rows("SELECT * FROM raw_fetches ORDER BY fetched_at")
    served = [each for each in origin.requests if each.sent]
    assert [row.body_sha256 for row in rows] == [each.sha256 for each in served]
    for row, request in zip(rows, served, strict=True):
        assert await engine.blobs.get(row.blob_key) == request.sent
    moments = [1, 3, 4, 8, 9, 10, 14, 15, 16, 17]
    assert [row.fetched_at for row in rows] == pytest.approx(
        [at(number) for number in moments], abs=MILLISECOND
    )
    kept = [number for number, row in zip(moments, rows, strict=True) if row.keep]
    assert kept == [1, 3, 4, 10, 14, 17]
    assert [row.error for row in rows if row.error] == ["http_500"]


async def _check_feed(engine: EngineParts, publisher: Publisher) -> None:
    async with engine.database.read() as view:
        row = await view.row("SELECT * FROM feeds")
    assert row is not None
    assert (row.state, row.next_visit_at, row.claimed_by) == ("gone", None, None)
    assert (row.url, row.original_url) == (publisher.new.url, publisher.old.url)
    assert (row.title, row.type) == ("A garden", "rss")
    assert (row.etag, row.last_modified) == ('"v8"', None)
    assert orjson.loads(row.hints) == {"ttl_minutes": 1_380}
    assert row.documents_seen == DOCUMENTS
    assert row.last_success_at == pytest.approx(at(32), abs=MILLISECOND)
