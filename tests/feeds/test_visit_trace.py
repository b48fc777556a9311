"""One trace per visit: what its spans are, what they say, and what they never say."""

import asyncio
from pathlib import Path

import pytest

from headwater.adapters.clock import SystemClock
from headwater.adapters.database import SqlDatabase
from headwater.core.errors import NotAFeed, StorageError
from headwater.core.telemetry.trace import Span, Tracer, VisitTrace
from headwater.core.values.instant import from_micros, rfc3339, to_micros
from headwater.core.values.response import Exchange, HttpAnswer
from headwater.feeds.commit_visits import CommitResult
from headwater.feeds.feed import FeedOptions
from headwater.feeds.fetch.outcome import Failed
from headwater.feeds.schedule.due import DueFeed
from headwater.feeds.visit import record_visit, visit_feed
from headwater.feeds.visit_report import report_visit
from headwater.feeds.visit_trace import start_visit_trace
from headwater.subscriptions.add_feed import add_feed_later
from headwater.subscriptions.fetchers.fetcher_reports import ReportedFailure
from tests.support.clock import VirtualClock
from tests.support.engine import opened_engine
from tests.support.origin import Origin, Post, Reply, rss
from tests.support.remote_fetcher import Remote, document
from tests.support.visits import River
from tests.support.worker import FullDisk, until, working

ONE, TWO = Post("1", "One"), Post("2", "Two")
WHOLE = ["visit", "schedule", "request", "archive", "parse", "merge", "events"]
ALL_SCHEDULED = sorted(WHOLE)


@pytest.fixture
def trails(river: River) -> list[VisitTrace]:
    """What the visits of the river leave, in the river's own time."""
    taken: list[VisitTrace] = []
    clock = river.clock
    river.engine.tracer = Tracer(taken.append, now=lambda: to_micros(clock.now()) * 1_000)
    return taken


async def visited(river: River, seconds: float = 3_600) -> CommitResult:
    """As a worker does it."""
    await river.clock.advance(seconds)
    due = await river.claim()
    with start_visit_trace(river.engine.tracer, due):
        remembered = await visit_feed(due, river.engine.feeds)
        report_visit(due, remembered)
    return remembered


def named(trail: VisitTrace, name: str) -> Span:
    (found,) = [each for each in trail.spans if each.name == name]
    return found


def names(trail: VisitTrace) -> list[str]:
    return [each.name for each in trail.spans]


async def test_a_visit_is_one_trace_from_the_decision_to_the_next_one(
    river: River, trails: list[VisitTrace]
) -> None:
    feed = river.origin.feed("/feed.xml", [ONE])
    feed_id = await river.add(feed.url)
    (before,) = await river.rows("SELECT reason, last_decision_at FROM feeds")
    feed.publish(TWO)
    await visited(river)
    trail = trails[-1]
    assert names(trail) == WHOLE
    assert {each.parent_id for each in trail.spans[1:]} == {trail.root.span_id}
    assert [each.error for each in trail.spans] == [None] * 7
    schedule = named(trail, "schedule").facts
    assert schedule["headwater.decision.reason"] == before.reason
    assert schedule["headwater.decision.at"] == rfc3339(from_micros(before.last_decision_at))
    assert schedule["headwater.late_seconds"] == 0.0
    request = named(trail, "request").facts
    assert request["url.full"] == feed.url
    assert request["http.response.status_code"] == 200
    assert request["network.peer.address"] == "127.0.0.1"
    assert request["headwater.conditional"] is True
    (raw, *_) = await river.rows("SELECT * FROM raw_fetches ORDER BY fetch_id DESC")
    assert named(trail, "archive").facts["headwater.fetch_id"] == raw.fetch_id
    assert named(trail, "parse").facts["headwater.document.entries"] == 2
    assert named(trail, "merge").facts["headwater.entries.new"] == 1
    events = named(trail, "events").facts
    assert (events["headwater.events.count"], events["headwater.events.types"]) == (
        1,
        ["new_entry"],
    )
    (after,) = await river.rows("SELECT reason, next_visit_at FROM feeds")
    assert events["headwater.next.reason"] == after.reason
    assert events["headwater.next.at"] == rfc3339(from_micros(after.next_visit_at))
    root = trail.root.facts
    assert root["headwater.feed.id"] == feed_id
    assert (root["headwater.visit.kind"], root["headwater.outcome"]) == ("scheduled", "fetched")


async def test_a_first_visit_is_a_trace_too(river: River, trails: list[VisitTrace]) -> None:
    feed_id = await river.add(river.origin.feed("/feed.xml", [ONE, TWO]).url)
    (trail,) = trails
    assert names(trail) == ["visit", "request", "parse", "schedule", "archive", "merge", "events"]
    assert trail.root.facts["headwater.visit.kind"] == "first"
    assert trail.root.facts["headwater.feed.id"] == feed_id
    assert named(trail, "schedule").facts["headwater.decision.reason"] == "not visited yet"
    assert named(trail, "events").facts["headwater.events.count"] == 2


async def test_a_page_that_is_no_feed_is_an_error_of_its_trace(
    river: River, trails: list[VisitTrace]
) -> None:
    page = river.origin.feed("/")
    page.stand_in = Reply(200, b"meow", {"Content-Type": "text/plain"})
    with pytest.raises(NotAFeed):
        await river.add(page.url)
    (trail,) = trails
    assert names(trail) == ["visit", "request", "parse"]
    assert named(trail, "parse").error is not None
    assert trail.root.error is not None
    assert trail.root.error[0] == "not_a_feed"


async def test_nothing_new_has_no_archive_and_no_parse(
    river: River, trails: list[VisitTrace]
) -> None:
    await river.add(river.origin.feed("/feed.xml", [ONE]).url)
    await visited(river)
    assert names(trails[-1]) == ["visit", "schedule", "request", "merge", "events"]
    assert named(trails[-1], "request").facts["http.response.status_code"] == 304
    assert trails[-1].root.facts["headwater.outcome"] == "unchanged"
    assert trails[-1].root.error is None


async def test_what_the_server_did_wrong_is_the_status_of_request_and_visit(
    river: River, trails: list[VisitTrace]
) -> None:
    feed = river.origin.feed("/feed.xml", [ONE])
    await river.add(feed.url)
    feed.answer_next(Reply(500, b"oops"))
    await visited(river)
    feed.answer_next(Reply(429, headers={"Retry-After": "60"}))
    await visited(river)
    failed, throttled = trails[-2:]
    assert named(failed, "request").error == failed.root.error
    assert failed.root.error is not None
    assert failed.root.error[0] == "http_500"
    assert named(failed, "archive").error is None
    assert named(throttled, "request").facts["headwater.retry_after_seconds"] == 60.0
    assert throttled.root.error is not None
    assert throttled.root.error[0] == "http_429"


async def test_a_claim_that_was_lost_is_told(river: River, trails: list[VisitTrace]) -> None:
    await river.add(river.origin.feed("/feed.xml", [ONE]).url)
    await river.clock.advance(3_600)
    due = await river.claim()
    stale = due._replace(fence=due.fence - 1)
    with start_visit_trace(river.engine.tracer, stale):
        report_visit(stale, await visit_feed(stale, river.engine.feeds))
    assert trails[-1].root.error == (
        "lost_claim",
        "the claim was no longer ours: nothing was written",
    )
    assert "events" not in names(trails[-1])


async def test_the_wait_for_a_turn_is_in_the_schedule_span(
    river: River, trails: list[VisitTrace]
) -> None:
    """From the claim to the visit; how late it is counts from when it was to be made."""
    await river.add(river.origin.feed("/feed.xml", [ONE]).url)
    await river.clock.advance(3_600)
    due = await river.claim()
    await river.clock.advance(4)
    with start_visit_trace(river.engine.tracer, due):
        report_visit(due, await visit_feed(due, river.engine.feeds))
    trail = trails[-1]
    schedule = named(trail, "schedule")
    assert trail.root.began == schedule.began == due.scheduled_at * 1_000
    assert schedule.ended - schedule.began == 4_000_000_000
    assert schedule.facts["headwater.late_seconds"] == 4.0


async def test_visits_that_share_their_commit_have_its_times_and_say_how_many_they_were(
    river: River, trails: list[VisitTrace]
) -> None:
    services, dues = river.engine.feeds, []
    for number in range(3):
        await add_feed_later(f"https://{number}.example/feed", FeedOptions(), river.engine.registry)
        dues.append(await river.claim())

    async def conclude(due: DueFeed) -> None:
        answer = HttpAnswer(due.url, None, (), (), b"", 0.0, error="timeout")
        failed = Failed(Exchange(due.url, river.clock.now(), answer), "timeout", "no answer")
        with start_visit_trace(river.engine.tracer, due):
            report_visit(due, await record_visit(due, failed, services, conditional=False))

    await asyncio.gather(*(conclude(due) for due in dues))
    shared = [named(trail, name) for trail in trails for name in ("merge", "events")]
    assert [each.facts["headwater.group.size"] for each in shared] == [3] * 6
    assert len({(each.name, each.began, each.ended) for each in shared}) == 2


async def test_no_secret_of_a_url_is_in_a_trail(river: River, trails: list[VisitTrace]) -> None:
    feed = river.origin.feed("/feed.xml", [ONE])
    short = river.origin.feed("/short?token=planted-secret")
    short.stand_in = Reply(302, headers={"Location": "/feed.xml?api_key=planted-secret"})
    river.origin.feed("/feed.xml?api_key=planted-secret", [ONE])
    host = feed.url.removeprefix("http://").partition("/")[0]
    await river.add(f"http://{host}/short?token=planted-secret")
    await visited(river)
    assert len(trails) == 2
    said = str([(each.name, each.facts, each.error) for trail in trails for each in trail.spans])
    assert "planted-secret" not in said
    assert "/short" in said


async def test_a_report_of_a_registered_fetcher_is_a_trace_of_the_same_shape(
    river: River, virtual_clock: VirtualClock, trails: list[VisitTrace]
) -> None:
    remote = Remote(river.engine, virtual_clock)
    fetcher = await remote.fetcher()
    await remote.subscribe(fetcher, "https://sources.example/list?token=planted-secret")
    await remote.visit(fetcher, document(rss([ONE])))
    await remote.due_again()
    await remote.visit(fetcher, ReportedFailure("timeout", "no answer"))
    good, bad = trails
    assert sorted(names(good)) == ALL_SCHEDULED
    assert good.root.facts["headwater.visit.kind"] == "reported"
    request = named(good, "request")
    assert request.ended - request.began == 250_000_000
    assert request.began == good.root.began
    assert named(good, "schedule").facts["headwater.worker"].startswith("fetcher")
    assert named(bad, "request").error == ("timeout", "no answer")
    assert "planted-secret" not in str([each.facts for each in good.spans])


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_the_worker_traces_what_it_visits_and_what_it_could_not_keep(
    database: SqlDatabase, tmp_path: Path
) -> None:
    taken: list[VisitTrace] = []
    async with (
        Origin() as origin,
        opened_engine(database, SystemClock(), tmp_path / "blobs") as engine,
    ):
        engine.tracer = Tracer(taken.append)
        await add_feed_later(origin.feed("/feed.xml", [ONE]).url, FeedOptions(), engine.registry)
        async with working(engine):
            await until(lambda: bool(taken))
        await origin.listen("127.0.6.1")
        await add_feed_later(
            origin.feed("/other.xml", [TWO], address="127.0.6.1").url,
            FeedOptions(),
            engine.registry,
        )
        engine.blobs = FullDisk()
        async with working(engine):
            await until(lambda: len(taken) == 2)
    kept, lost = taken
    assert names(kept) == WHOLE
    assert kept.root.began == named(kept, "schedule").began
    assert [each.ended >= each.began > 0 for each in kept.spans] == [True] * 7
    assert names(lost) == ["visit", "schedule", "request", "archive"]
    assert named(lost, "archive").error == lost.root.error
    assert lost.root.error == (StorageError.code, "No space left on device")
