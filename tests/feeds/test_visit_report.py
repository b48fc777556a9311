"""What a real visit leaves behind for the sums and for the process's own counters."""

import gzip
from types import SimpleNamespace

import pytest

from headwater.core.telemetry.metrics import UNKNOWN
from headwater.feeds.commit_visits import ClaimLost
from headwater.feeds.judge_visit import JudgedVisit
from headwater.feeds.visit import visit_feed
from headwater.feeds.visit_report import report_visit
from headwater.statistics import total_rows
from headwater.wiring.housekeeping import count_visits
from tests.support.origin import Post, Reply, rss
from tests.support.scraped_metrics import own_figures
from tests.support.visits import River

ONE = Post("1", "One", text="words " * 200)


async def test_a_compressed_document_is_known_by_both_its_sizes(river: River) -> None:
    plain = rss([ONE])
    packed = gzip.compress(plain)
    feed = river.origin.feed("/a", [ONE])
    feed.stand_in = Reply(200, packed, {"Content-Encoding": "gzip"})
    await river.add(feed.url)
    (visit,) = await river.rows("SELECT bytes_in, decoded_bytes, retry FROM visits")
    assert (visit.bytes_in, visit.decoded_bytes) == (len(packed), len(plain))
    assert not visit.retry


async def test_the_same_document_again_and_what_is_no_feed_were_unpacked_too(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    feed.stand_in = Reply(200, feed.document())
    await river.add(feed.url)
    await river.visit()
    feed.stand_in = Reply(200, b"<html>hello</html>")
    await river.visit()
    rows = await river.rows("SELECT outcome, decoded_bytes FROM visits ORDER BY scheduled_at")
    whole = len(feed.document())
    assert [(row.outcome, row.decoded_bytes) for row in rows] == [
        ("fetched", whole),
        ("fetched", whole),
        ("unreadable", 18),
    ]


async def test_what_was_not_unpacked_has_no_size(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    await river.visit()
    feed.answer_next(Reply(404, b"gone fishing"))
    await river.visit()
    feed.answer_next(Reply(200, b"not gzip at all", {"Content-Encoding": "gzip"}))
    await river.visit()
    rows = await river.rows("SELECT outcome, decoded_bytes FROM visits ORDER BY scheduled_at")
    assert [(row.outcome, row.decoded_bytes) for row in rows[1:]] == [
        ("unchanged", None),
        ("failed", None),
        ("unreadable", None),
    ]


async def test_a_visit_after_one_that_failed_is_a_retry(river: River) -> None:
    """Also when the server said how long to wait: that one brought nothing either."""
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    feed.answer_next(Reply(429, headers={"Retry-After": "600"}), Reply(500), Reply(410))
    for _ in range(5):
        await river.visit(100_000)
    rows = await river.rows("SELECT outcome, retry FROM visits ORDER BY scheduled_at")
    assert [(row.outcome, bool(row.retry)) for row in rows] == [
        ("fetched", False),
        ("throttled", False),
        ("failed", True),
        ("gone", True),
        ("unchanged", True),
        ("unchanged", False),
    ]


async def test_304s_of_real_visits_save_what_was_served(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    await river.visit()
    await river.visit()
    assert await count_visits(river.engine.database) == 3
    async with river.engine.database.read() as view:
        assert await total_rows.saved_bytes(view) == 2 * len(feed.requests[0].sent)


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_visit_is_counted_by_the_process_that_tells_it(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    before = own_figures()
    await river.add(feed.url)
    body = len(feed.requests[0].sent)
    grown = own_figures().since(before)
    assert grown["headwater_visits_total", "outcome=fetched"] == 1
    assert grown["headwater_new_entries_total",] == 1
    assert grown["headwater_received_bytes_total",] == body
    assert grown["headwater_encoded_bytes_total",] == body
    assert grown["headwater_decoded_bytes_total",] == len(feed.document())
    assert grown["headwater_fetch_duration_seconds_count",] == 1
    assert grown["headwater_interval_seconds_count",] == 1
    assert grown["headwater_commit_group_size_count", "commit=archive"] == 1
    assert grown["headwater_commit_group_size_count", "commit=remember"] == 1


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_failed_visit_is_counted_by_its_code_and_whose_fault_it_is(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    feed.answer_next(Reply(404))
    await river.clock.advance(3_600)
    due = await river.claim()
    before = own_figures()
    report_visit(due, await visit_feed(due, river.engine.feeds))
    report_visit(due, ClaimLost())
    grown = own_figures().since(before)
    assert grown["headwater_visits_total", "outcome=failed"] == 1
    assert grown["headwater_visit_errors_total", "code=http_404", "fault=theirs"] == 1
    assert grown["headwater_visits_dropped_total", "why=lost"] == 1
    assert ("headwater_fetch_duration_seconds_count",) not in grown


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_error_texts_nobody_knows_make_one_series(
    river: River, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Codes of a stranger's making, a hundred thousand of them, are all `other`."""
    monkeypatch.setattr(
        "headwater.feeds.visit_report.logger", SimpleNamespace(info=lambda *_, **__: None)
    )
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    await river.clock.advance(3_600)
    due = await river.claim()
    settled = await visit_feed(due, river.engine.feeds)
    assert isinstance(settled, JudgedVisit)
    report_visit(due, settled._replace(name="failed", error="the first"))
    before = own_figures()
    for number in range(100_000):
        report_visit(due, settled._replace(name="failed", error=f"made up {number}"))
    after = own_figures()
    assert after.series == before.series
    grown = after.since(before)
    assert grown["headwater_visit_errors_total", f"code={UNKNOWN}", "fault=ours"] == 100_000
