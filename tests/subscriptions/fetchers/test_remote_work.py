"""Registered fetchers at work: claims, leases, fences, and reports that count like our visits."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import ConflictError, DatabaseRefused, Forbidden, NotFound, StaleClaim
from headwater.core.values.instant import to_micros
from headwater.core.values.response import Validators
from headwater.feeds.visit import visit_feed
from headwater.feeds.worker import claim_rows, clock_step_rows, worker_rows
from headwater.subscriptions import subscription_rows
from headwater.subscriptions.fetchers import fetcher_rows, remote_work
from headwater.subscriptions.fetchers.fetcher import FetcherPatch
from headwater.subscriptions.fetchers.fetcher_reports import (
    ReportedDocument,
    ReportedEntries,
    ReportedFailure,
    ReportedGone,
    ReportedResponse,
    ReportedThrottled,
    ReportedUnchanged,
)
from headwater.subscriptions.fetchers.remote_work import Claim
from tests.support.clock import START, VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.origin import Post, atom, rss
from tests.support.remote_fetcher import Remote, document
from tests.support.scripted_engine import ScriptedWeb, an_engine

URL = "https://sources.example/list?token=a-secret"


@pytest.fixture
def web() -> ScriptedWeb:
    return ScriptedWeb()


@pytest.fixture
def engine(
    database: SqlDatabase, virtual_clock: VirtualClock, web: ScriptedWeb, tmp_path: Path
) -> EngineParts:
    return an_engine(database, virtual_clock, web, tmp_path)


async def test_due_work_is_claimed_with_all_it_takes_to_do_it(remote: Remote) -> None:
    fetcher = await remote.fetcher()
    made = await remote.subscribe(fetcher, URL, config='{"city":"Ghent"}')
    claimed = await remote.claim(fetcher)
    (work,) = claimed.works
    assert work.claim == Claim(made.id, START, 1)
    assert work.assigned.due.url == URL
    assert (work.assigned.source_type, work.assigned.config) == ("rss", '{"city":"Ghent"}')
    assert work.validators == Validators()
    assert work.not_before is None
    assert claimed.lease_until == START + timedelta(seconds=120)
    (row,) = await remote.rows("SELECT claimed_by, fence FROM feeds")
    assert (row.claimed_by, row.fence) == (f"fetcher:{fetcher.id}", 1)


async def test_claimed_work_is_nobody_elses_until_its_lease_ends(
    remote: Remote, virtual_clock: VirtualClock
) -> None:
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    first = await remote.one(fetcher)
    again = await remote.claim(fetcher)
    assert again.works == ()
    assert again.next_due_at == START + timedelta(seconds=120)
    await virtual_clock.advance(121)
    second = await remote.one(fetcher)
    assert second.claim == replace(first.claim, fence=2)


async def test_the_most_important_and_longest_overdue_come_first(
    remote: Remote, virtual_clock: VirtualClock
) -> None:
    fetcher = await remote.fetcher()
    for name, priority in (("usual", 50), ("late", 50), ("urgent", 90), ("idle", 10)):
        await remote.subscribe(fetcher, f"https://{name}.example/", priority=priority)
        await virtual_clock.advance(1)
    first = await remote.claim(fetcher, limit=3)
    assert [work.assigned.due.host for work in first.works] == [
        "urgent.example",
        "usual.example",
        "late.example",
    ]
    rest = await remote.claim(fetcher)
    assert [work.assigned.due.host for work in rest.works] == ["idle.example"]


async def test_many_claimants_at_once_never_share_a_piece_of_work(remote: Remote) -> None:
    fetcher = await remote.fetcher()
    for number in range(12):
        await remote.subscribe(fetcher, f"https://source{number}.example/")
    claimed = await asyncio.gather(*(remote.claim(fetcher, limit=3) for _ in range(8)))
    got = [work.claim.subscription_id for each in claimed for work in each.works]
    assert len(got) == len(set(got))
    rest = await remote.claim(fetcher, limit=12)
    assert len(got) + len(rest.works) == 12


async def test_our_own_worker_never_claims_what_a_fetcher_visits(
    remote: Remote, engine: EngineParts
) -> None:
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    async with engine.database.write() as tx:
        await worker_rows.claim_shards(tx, engine.worker, 0, 2**62, 1024)
        now = to_micros(engine.clock.now())
        assert await claim_rows.claim_feeds(tx, engine.worker, now, now + 1, 10) == []
        assert await claim_rows.find_next_due(tx, engine.worker) is None


async def test_a_worker_that_starts_leaves_a_fetchers_long_lease_alone(
    remote: Remote, engine: EngineParts, virtual_clock: VirtualClock
) -> None:
    """Unless the clock was set back so far that no lease could be so long."""
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    claimed = await remote.claim(fetcher, lease_seconds=900)
    lease = 120_000_000

    async def lease_after_start() -> int:
        async with engine.database.write() as tx:
            await clock_step_rows.cut_long_leases(tx, to_micros(virtual_clock.now()), lease)
        (row,) = await remote.rows("SELECT next_visit_at FROM feeds")
        return int(row.next_visit_at)

    assert await lease_after_start() == to_micros(claimed.lease_until)
    virtual_clock.step(-3 * 86_400)
    assert await lease_after_start() == to_micros(virtual_clock.now()) + lease


async def test_another_fetchers_work_is_not_to_be_had(remote: Remote) -> None:
    owner, other = await remote.fetcher("owner"), await remote.fetcher("other")
    await remote.subscribe(owner, URL)
    assert (await remote.claim(other)).works == ()
    work = await remote.one(owner)
    with pytest.raises(NotFound):
        await remote.report(other, work.claim, ReportedUnchanged())
    with pytest.raises(NotFound):
        await remote_work.claim_early(
            remote.engine.database, other, work.claim.subscription_id, lease_seconds=60
        )
    renewed = await remote_work.renew_claims(
        remote.engine.database, other, [work.claim], lease_seconds=60
    )
    assert (renewed.kept, renewed.lost) == ((), (work.claim.subscription_id,))
    assert await remote.rows("SELECT * FROM visits") == []


async def test_a_disabled_fetcher_neither_claims_nor_reports(
    remote: Remote, engine: EngineParts
) -> None:
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    work = await remote.one(fetcher)
    async with engine.database.write() as tx:
        disabled = await fetcher_rows.update_fetcher(
            tx, fetcher.id, FetcherPatch(is_enabled=False), engine.clock.now()
        )
    with pytest.raises(Forbidden):
        await remote.claim(disabled)
    with pytest.raises(Forbidden):
        await remote.report(disabled, work.claim, ReportedUnchanged())


async def test_a_reported_document_becomes_entries_events_and_a_plan(remote: Remote) -> None:
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    visit = await remote.visit(fetcher, document(rss([Post("g1", "First"), Post("g2", "Second")])))
    assert (visit.outcome, visit.error) == ("fetched", None)
    assert (visit.entries_in_document, visit.new_entries) == (2, 2)
    assert visit.worker == f"fetcher:{fetcher.id}#1"
    assert visit.url == "https://sources.example/list?token=REDACTED"
    assert visit.latency_ms == 250.0
    titles = await remote.rows("SELECT title FROM entries ORDER BY title")
    assert [row.title for row in titles] == ["First", "Second"]
    told = await remote.rows("SELECT type FROM events ORDER BY seq")
    assert [row.type for row in told] == ["new_entry", "new_entry"]
    (raw,) = await remote.rows("SELECT http_status AS status, url FROM raw_fetches")
    assert (raw.status, raw.url) == (200, "https://sources.example/list?token=REDACTED")
    (feed,) = await remote.rows("SELECT claimed_by, next_visit_at, scheduled_at FROM feeds")
    assert feed.claimed_by is None
    assert feed.next_visit_at == feed.scheduled_at > to_micros(START)


async def test_a_report_said_twice_has_one_effect_and_one_answer(
    remote: Remote, virtual_clock: VirtualClock
) -> None:
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    work = await remote.one(fetcher)
    said = document(rss([Post("g1", "First")]))
    first = await remote.report(fetcher, work.claim, said)
    await virtual_clock.advance(5)
    assert await remote.report(fetcher, work.claim, said) == first
    both = await asyncio.gather(*(remote.report(fetcher, work.claim, said) for _ in range(3)))
    assert both == [first] * 3
    assert len(await remote.rows("SELECT * FROM visits")) == 1
    assert len(await remote.rows("SELECT * FROM events")) == 1


async def test_two_reports_of_one_claim_at_the_same_moment_are_one_visit(remote: Remote) -> None:
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    work = await remote.one(fetcher)
    said = document(rss([Post("g1", "First")]))
    answers = await asyncio.gather(
        *(
            remote_work.accept_report(remote.engine.registry, fetcher, work.claim, said)
            for _ in range(5)
        )
    )
    assert len({each.fetch_id for each in answers}) == 1
    assert len(await remote.rows("SELECT * FROM visits")) == 1
    assert len(await remote.rows("SELECT * FROM events")) == 1


async def test_whoever_lost_the_lease_changes_nothing(
    remote: Remote, virtual_clock: VirtualClock
) -> None:
    """Also when the work was done by somebody else in the meantime, under the same moment."""
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    lost = await remote.one(fetcher)
    await virtual_clock.advance(121)
    with pytest.raises(StaleClaim):
        await remote.report(fetcher, lost.claim, document(rss([Post("old", "Old")])))
    taken_over = await remote.one(fetcher)
    with pytest.raises(StaleClaim):
        await remote.report(fetcher, lost.claim, document(rss([Post("old", "Old")])))
    await remote.report(fetcher, taken_over.claim, document(rss([Post("new", "New")])))
    with pytest.raises(StaleClaim):
        await remote.report(fetcher, lost.claim, document(rss([Post("old", "Old")])))
    assert [row.title for row in await remote.rows("SELECT title FROM entries")] == ["New"]


async def test_a_reassigned_source_takes_no_report_of_its_former_fetcher(
    remote: Remote, engine: EngineParts
) -> None:
    first, second = await remote.fetcher("first"), await remote.fetcher("second")
    made = await remote.subscribe(first, URL)
    work = await remote.one(first)
    async with engine.database.write() as tx:
        await subscription_rows.assign(
            tx, made, second, auto_selected=False, status="assigned", now=engine.clock.now()
        )
    with pytest.raises(NotFound):
        await remote.report(first, work.claim, ReportedUnchanged())
    assert (await remote.one(second)).claim.fence > work.claim.fence


async def test_a_renewed_claim_is_kept_and_an_unrenewed_one_is_not(
    remote: Remote, virtual_clock: VirtualClock
) -> None:
    fetcher = await remote.fetcher()
    for name in ("kept", "left"):
        await remote.subscribe(fetcher, f"https://{name}.example/")
    kept, left = (await remote.claim(fetcher)).works
    await virtual_clock.advance(100)
    renewed = await remote_work.renew_claims(
        remote.engine.database, fetcher, [kept.claim], lease_seconds=120
    )
    assert (renewed.kept, renewed.lost) == ((kept.claim.subscription_id,), ())
    await virtual_clock.advance(30)
    late = await remote_work.renew_claims(
        remote.engine.database, fetcher, [kept.claim, left.claim], lease_seconds=120
    )
    assert late.kept == (kept.claim.subscription_id,)
    assert late.lost == (left.claim.subscription_id,)
    assert (await remote.one(fetcher)).claim.subscription_id == left.claim.subscription_id


async def test_a_claim_of_another_moment_is_none(remote: Remote) -> None:
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    work = await remote.one(fetcher)
    other = replace(work.claim, scheduled_at=START + timedelta(seconds=1))
    with pytest.raises(StaleClaim):
        await remote.report(fetcher, other, document(rss([Post("g1", "First")])))
    assert await remote.rows("SELECT * FROM visits") == []


async def test_a_renewal_makes_no_lease_shorter(
    remote: Remote, virtual_clock: VirtualClock
) -> None:
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    work = await remote.one(fetcher)
    await remote_work.renew_claims(remote.engine.database, fetcher, [work.claim], lease_seconds=10)
    await virtual_clock.advance(119)
    assert (await remote.claim(fetcher)).works == ()
    visit = await remote.report(fetcher, work.claim, document(rss([Post("g1", "First")])))
    assert visit.outcome == "fetched"


async def test_work_given_back_is_due_at_once_as_the_same_visit(remote: Remote) -> None:
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    work = await remote.one(fetcher)
    await remote_work.renew_claims(remote.engine.database, fetcher, [work.claim], lease_seconds=0)
    assert (await remote.one(fetcher)).claim == replace(work.claim, fence=2)


async def test_a_report_without_a_claim_is_a_visit_of_this_moment(
    remote: Remote, virtual_clock: VirtualClock
) -> None:
    fetcher = await remote.fetcher()
    made = await remote.subscribe(fetcher, URL)
    moments = []
    for number in range(2):
        claim = await remote_work.claim_early(
            remote.engine.database, fetcher, made.id, lease_seconds=60
        )
        posts = [Post(f"g{each}", "A post") for each in range(number + 1)]
        visit = await remote.report(fetcher, claim, document(rss(posts)))
        assert visit.new_entries == 1
        moments.append(visit.scheduled_at)
    assert moments == [START, START + timedelta(microseconds=1)]
    assert (await remote.claim(fetcher)).works == ()


async def test_a_report_without_a_claim_is_refused_while_somebody_has_it(remote: Remote) -> None:
    fetcher = await remote.fetcher()
    made = await remote.subscribe(fetcher, URL)
    await remote.one(fetcher)
    with pytest.raises(ConflictError):
        await remote_work.claim_early(remote.engine.database, fetcher, made.id, lease_seconds=60)


async def test_nothing_new_is_believed_only_after_a_document(remote: Remote) -> None:
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    too_early = await remote.visit(fetcher, ReportedUnchanged())
    assert (too_early.outcome, too_early.error) == ("failed", "unexpected_304")
    await remote.due_again()
    await remote.visit(
        fetcher, ReportedDocument(rss([Post("g", "A")]).decode(), "text/xml", etag='"one"')
    )
    await remote.due_again()
    work = await remote.one(fetcher)
    assert work.validators == Validators('"one"', None)
    visit = await remote.report(fetcher, work.claim, ReportedUnchanged())
    assert (visit.outcome, visit.status, visit.conditional) == ("unchanged", 304, True)


async def test_now_and_then_the_whole_document_is_wanted(
    remote: Remote, virtual_clock: VirtualClock
) -> None:
    """A source that says "nothing new" for ever is found out."""
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    said = ReportedDocument(rss([Post("g", "A")]).decode(), "text/xml", etag='"one"')
    await remote.visit(fetcher, said)
    await virtual_clock.advance(28 * 86_400 - 60)
    await remote.due_again()
    assert (await remote.one(fetcher)).validators == Validators('"one"', None)
    await virtual_clock.advance(121)  # its lease is over
    assert (await remote.one(fetcher)).validators == Validators()


async def test_whoever_has_nothing_left_to_do_learns_when_to_come_back(
    remote: Remote, virtual_clock: VirtualClock
) -> None:
    fetcher = await remote.fetcher()
    for name in ("one", "two"):
        await remote.subscribe(fetcher, f"https://{name}.example/")
    assert (await remote.claim(fetcher, limit=1)).next_due_at == START
    await virtual_clock.advance(10)
    last = await remote.claim(fetcher, limit=1)
    assert (len(last.works), last.next_due_at) == (1, START + timedelta(seconds=120))
    none = await remote.claim(fetcher)
    assert (none.works, none.next_due_at) == ((), START + timedelta(seconds=120))


async def test_failures_rests_and_ends_are_planned_like_our_own(
    remote: Remote, virtual_clock: VirtualClock
) -> None:
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    failed = await remote.visit(fetcher, ReportedFailure("timeout", "nothing came for 30 s"))
    assert (failed.outcome, failed.error) == ("failed", "timeout")
    assert failed.error_detail == "nothing came for 30 s"
    await virtual_clock.advance(7_200)
    by_status = await remote.visit(fetcher, ReportedFailure(status=404))
    assert (by_status.error, by_status.status) == ("http_404", 404)
    await virtual_clock.advance(7_200)
    throttled = await remote.visit(fetcher, ReportedThrottled(3_000.0))
    assert (throttled.outcome, throttled.error) == ("throttled", "http_429")
    assert throttled.next_at is not None
    assert throttled.next_at - throttled.finished_at >= timedelta(seconds=3_000)
    await virtual_clock.advance(90_000)
    gone = await remote.visit(fetcher, ReportedGone())
    assert (gone.outcome, gone.error) == ("gone", "http_410")


async def test_what_the_database_does_not_take_is_not_asked_for_again_at_once(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a fetcher would bring the same document again and again, without a pause."""
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    work = await remote.one(fetcher)

    async def refusing(*_: Any, **__: Any) -> DatabaseRefused:
        return DatabaseRefused("A number is too large.")

    monkeypatch.setattr(remote_work, "record_visit", refusing)
    with pytest.raises(DatabaseRefused):
        await remote.report(fetcher, work.claim, document(rss([Post("g1", "First")])))
    (feed,) = await remote.rows("SELECT claimed_by, next_visit_at FROM feeds")
    assert (feed.claimed_by, feed.next_visit_at) == (None, to_micros(START + timedelta(days=1)))
    monkeypatch.undo()
    with pytest.raises(StaleClaim):
        await remote.report(fetcher, work.claim, document(rss([Post("g1", "First")])))
    assert await remote.rows("SELECT * FROM visits") == []


async def test_a_host_that_asked_for_rest_is_named_with_every_claim_of_it(
    remote: Remote,
) -> None:
    fetcher = await remote.fetcher()
    for path in ("a", "b"):
        await remote.subscribe(fetcher, f"https://busy.example/{path}")
    first, second = (await remote.claim(fetcher)).works
    await remote.report(fetcher, first.claim, ReportedThrottled(600.0))
    await remote_work.renew_claims(remote.engine.database, fetcher, [second.claim], lease_seconds=0)
    assert (await remote.one(fetcher)).not_before == START + timedelta(seconds=600)


async def test_a_host_that_did_not_say_how_long_rests_as_a_whole_too(remote: Remote) -> None:
    """As with our own visits: as long as the first interval of a feed, 15 minutes."""
    fetcher = await remote.fetcher()
    for path in ("a", "b"):
        await remote.subscribe(fetcher, f"https://busy.example/{path}")
    first, second = (await remote.claim(fetcher)).works
    await remote.report(fetcher, first.claim, ReportedResponse(b"slow down", 429, ()))
    await remote_work.renew_claims(remote.engine.database, fetcher, [second.claim], lease_seconds=0)
    assert (await remote.one(fetcher)).not_before == START + timedelta(seconds=900)


async def test_raw_bytes_are_judged_by_their_status(remote: Remote) -> None:
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    page = ReportedResponse(b"<html>away for lunch</html>", 503, (("Retry-After", "1200"),))
    visit = await remote.visit(fetcher, page)
    assert (visit.outcome, visit.status) == ("throttled", 503)
    assert visit.fetch_id is not None
    assert visit.next_at is not None
    assert visit.next_at - visit.finished_at >= timedelta(seconds=1_200)


async def test_what_is_no_feed_is_unreadable_and_kept(remote: Remote) -> None:
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    visit = await remote.visit(fetcher, document("<html><p>hello</p></html>", "text/html"))
    assert (visit.outcome, visit.error) == ("unreadable", "not_a_feed")
    assert len(await remote.rows("SELECT * FROM raw_fetches")) == 1


ENTRY_COLUMNS = (
    "entry_uid, canonical_link, title, summary, content, authors, categories, enclosures,"
    " published, updated, details, content_hash, version"
)
ITEM = {
    "id": "n-1",
    "url": "https://sources.example/n/1",
    "title": "Rain until evening",
    "content_html": '<p>Bring a <a href="/coat">coat</a>.</p>',
    "date_published": "2026-01-04T08:30:00+01:00",
    "authors": [{"name": "Ada", "url": "https://ada.example/"}],
    "tags": ["weather", "rain"],
    "attachments": [
        {"url": "https://sources.example/1.mp3", "mime_type": "audio/mpeg", "size_in_bytes": 12}
    ],
}


async def learnt(remote: Remote) -> dict[str, Any]:
    """Everything a document led to, ids and times aside."""
    entries = await remote.rows(f"SELECT {ENTRY_COLUMNS} FROM entries ORDER BY entry_uid")
    events = await remote.rows(
        "SELECT type, payload FROM events WHERE type LIKE '%entry' ORDER BY seq"
    )
    payloads = [orjson.loads(row.payload) for row in events]
    own = {"feed_id", "raw_refs", "ingested_at"}
    feeds = await remote.rows(
        "SELECT type, title, home_link, hints, etag, last_modified, documents_seen, document_hash"
        " FROM feeds"
    )
    return {
        "entries": [tuple(row) for row in entries],
        "events": [
            (row.type, payload.keys()) for row, payload in zip(events, payloads, strict=True)
        ],
        "facts": [
            {name: value for name, value in payload.items() if name not in own}
            for payload in payloads
        ],
        "feed": [tuple(row) for row in feeds],
        "raw": [
            tuple(row)
            for row in await remote.rows("SELECT body_sha256, http_status FROM raw_fetches")
        ],
    }


async def forgotten(remote: Remote) -> None:
    """The same database, empty again."""
    async with remote.engine.database.write() as tx:
        for table in ("rss_subscriptions", "feeds", "events", "fetcher_modules"):
            await tx.run(f"DELETE FROM {table}")


PUBLISHED = datetime(2026, 1, 4, 9, 0, tzinfo=UTC)
DOCUMENTS = {
    "rss": (
        [
            rss([Post("g1", "Erste", "Größe & <b>mehr</b>", published=PUBLISHED)], title="Über"),
            rss([Post("g2", "Neu", "y"), Post("g1", "Erste", "edited", published=PUBLISHED)]),
        ],
        "application/rss+xml",
    ),
    "atom": ([atom([Post("u:1", "A"), Post("u:2", "B", "text")])], "application/atom+xml"),
    "json": (
        [orjson.dumps({"version": "https://jsonfeed.org/version/1.1", "title": "Sources",
                       "items": [ITEM]})],
        "application/feed+json",
    ),
    "no feed": ([b"<html><title>x</title></html>"], "text/html"),
}  # fmt: skip


@pytest.mark.parametrize("kind", DOCUMENTS)
async def test_a_reported_document_and_our_own_visit_lead_to_the_same(
    kind: str, remote: Remote, engine: EngineParts, web: ScriptedWeb
) -> None:
    bodies, content_type = DOCUMENTS[kind]
    ways: dict[str, dict[str, Any]] = {}

    fetcher = await remote.fetcher()
    made = await remote.subscribe(fetcher, URL)
    services = engine.feeds
    for body in bodies:
        web.serve(URL, body, kind=content_type)
        async with engine.database.write() as tx:
            due = await claim_rows.claim_feed(
                tx, made.feed_pk, engine.worker, to_micros(START) + 10**9
            )
        await visit_feed(due, services)
        await remote.due_again()
    ways["visited"] = await learnt(remote)

    for way in ("raw", "document"):
        await forgotten(remote)
        fetcher = await remote.fetcher()
        await remote.subscribe(fetcher, URL)
        for body in bodies:
            headers = (("Content-Type", content_type),)
            said = (
                ReportedResponse(body, 200, headers)
                if way == "raw"
                else document(body, content_type)
            )
            await remote.visit(fetcher, said)
            await remote.due_again()
        ways[way] = await learnt(remote)

    assert ways["raw"] == ways["visited"]
    assert ways["document"] == ways["visited"]
    assert len(ways["visited"]["entries"]) == {"rss": 2, "atom": 2, "json": 1, "no feed": 0}[kind]


async def test_reported_entries_are_the_json_feed_they_spell(remote: Remote) -> None:
    feed = {"title": "Sources", "home_page_url": "https://sources.example/"}
    plain = orjson.dumps(
        {"version": "https://jsonfeed.org/version/1.1", **feed, "items": [ITEM]}
    ).decode()
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    await remote.visit(fetcher, document(plain, "application/feed+json"))
    as_document = await learnt(remote)
    await forgotten(remote)
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    await remote.visit(fetcher, ReportedEntries((ITEM,), feed))
    assert await learnt(remote) == as_document
    (entry,) = as_document["entries"]
    assert entry[0] == "n-1"
    assert entry[2] == "Rain until evening"


async def test_text_is_utf_8_whatever_its_prolog_claims(remote: Remote) -> None:
    """A fetcher decoded it already: the declaration speaks of bytes that are gone."""
    text = rss([Post("g", "Größe")]).decode().replace("utf-8", "iso-8859-1")
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    await remote.visit(fetcher, document(text))
    (row,) = await remote.rows("SELECT title FROM entries")
    assert row.title == "Größe"


async def test_asking_for_work_is_a_sign_of_life(
    remote: Remote, engine: EngineParts, virtual_clock: VirtualClock
) -> None:
    fetcher = await remote.fetcher()
    await virtual_clock.advance(90)
    await remote.claim(fetcher)
    async with engine.database.read() as view:
        seen = (await fetcher_rows.get_fetcher(view, fetcher.id)).last_seen_at
    assert seen == START + timedelta(seconds=90)


async def test_a_sign_of_life_is_written_once_a_minute(
    remote: Remote, engine: EngineParts, virtual_clock: VirtualClock
) -> None:
    fetcher = await remote.fetcher()
    await virtual_clock.advance(59)
    await remote.claim(fetcher)
    async with engine.database.read() as view:
        assert (await fetcher_rows.get_fetcher(view, fetcher.id)).last_seen_at == START


async def test_a_sign_of_life_counts_after_the_clock_was_set_back(
    remote: Remote, engine: EngineParts, virtual_clock: VirtualClock
) -> None:
    """Else a fetcher that died would look alive until the clock is there again."""
    fetcher = await remote.fetcher()
    virtual_clock.step(-30 * 86_400)
    await remote_work.claim_work(engine.registry, fetcher, limit=1, lease_seconds=60)
    async with engine.database.read() as view:
        assert (
            await fetcher_rows.get_fetcher(view, fetcher.id)
        ).last_seen_at == virtual_clock.now()


async def test_what_a_fetcher_says_of_a_failure_tells_nobody_the_secrets_of_the_url(
    remote: Remote, engine: EngineParts, virtual_clock: VirtualClock
) -> None:
    """As Python's own libraries put it: `500 for url: …`, with all that is in it."""
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, URL)
    said = f"HTTPError: 500 for url: {URL} (https://ada:hush@a.example/), /list?token=a-secret"
    for _ in range(12):
        await remote.visit(fetcher, ReportedFailure("http_500", said, 500))
        await virtual_clock.advance(2 * 86_400)
    told = await remote.rows("SELECT payload FROM events WHERE type = 'feed_failing'")
    kept = await remote.rows("SELECT error_detail FROM visits")
    assert (len(told), len(kept)) == (1, 12)
    assert "https://sources.example/list?token=REDACTED" in kept[0].error_detail
    for each in (*told, *kept):
        assert "a-secret" not in each[0]
        assert "hush" not in each[0]
