"""What a visit may and may not write."""

import asyncio
from dataclasses import replace

import orjson
import pytest

from headwater.core.errors import DatabaseRefused
from headwater.core.values.ids import FeedId
from headwater.core.values.instant import to_micros
from headwater.feeds.change_feed import undo_alias
from headwater.feeds.commit_visits import ClaimLost
from headwater.feeds.feed import FeedPatch
from headwater.feeds.judge_visit import JudgedVisit
from headwater.feeds.ports import ParserReply
from headwater.feeds.visit import visit_feed
from headwater.feeds.worker import claim_rows
from headwater.subscriptions.unsubscribe import remove_feed
from tests.support.origin import Post, Reply, rss
from tests.support.visits import River

ONE, TWO = Post("1", "One"), Post("2", "Two")


async def test_an_unchanged_document_writes_no_entry(river: River) -> None:
    """304 and an identical 200 both cost the feed's row and the visit's record, nothing more."""
    feed = river.origin.feed("/a", [ONE, TWO])
    await river.add(feed.url)
    before = await river.rows("SELECT * FROM entries ORDER BY entry_uid")
    await river.visit()
    feed.answer_next(Reply(200, feed.document(), {"ETag": '"other"'}))
    await river.visit()
    assert [each.status for each in feed.requests] == [200, 304, 200]
    assert await river.rows("SELECT * FROM entries ORDER BY entry_uid") == before
    assert await river.told() == ["subscription_created", "new_entry", "new_entry"]
    assert await river.count("visits") == 3


async def test_a_quiet_visit_leaves_alone_what_somebody_changed_meanwhile(river: River) -> None:
    """Not modified: what the feed is stays as the database has it, not as it was at the claim."""
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    await river.clock.advance(3_600)
    due = await river.claim()
    async with river.engine.database.write() as tx:
        await tx.run("UPDATE feeds SET title = 'Renamed', etag = NULL")
    assert isinstance(await visit_feed(due, river.engine.feeds), JudgedVisit)
    (row,) = await river.rows(
        "SELECT title, etag, last_outcome, last_status, documents_seen, claimed_by FROM feeds"
    )
    assert tuple(row) == ("Renamed", None, "unchanged", 304, 2, None)


async def test_a_304_after_a_failure_puts_the_feed_in_order_again(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    feed.answer_next(Reply(500, b"", {}))
    await river.visit()
    await river.visit()
    assert [each.status for each in feed.requests] == [200, 500, 304]
    (row,) = await river.rows("SELECT failures, last_error, last_status FROM feeds")
    assert tuple(row) == (0, None, 304)
    retries = await river.rows("SELECT retry FROM visits ORDER BY scheduled_at")
    assert [bool(each.retry) for each in retries] == [False, False, True]


async def test_a_changed_document_writes_only_what_changed(river: River) -> None:
    feed = river.origin.feed("/a", [ONE, TWO])
    await river.add(feed.url)
    (untouched,) = await river.rows("SELECT * FROM entries WHERE entry_uid = '1'")
    feed.edit("2", text="new words")
    settled = await river.visit()
    assert isinstance(settled, JudgedVisit)
    assert (len(settled.changes.new), len(settled.changes.edited)) == (0, 1)
    assert await river.rows("SELECT * FROM entries WHERE entry_uid = '1'") == [untouched]


async def test_a_worker_that_lost_its_claim_commits_nothing(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    await river.clock.advance(3_600)
    stale = await river.claim()
    feed.publish(TWO)
    async with river.engine.database.write() as tx:
        await tx.run("UPDATE feeds SET fence = fence + 1")
    assert await visit_feed(stale, river.engine.feeds) == ClaimLost()
    assert await river.count("entries") == 1
    assert await river.count("visits") == 1
    assert await river.count("raw_fetches") == 2  # the bytes are kept all the same


async def test_one_visit_is_never_committed_twice(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    await river.clock.advance(3_600)
    due = await river.claim()
    services = river.engine.feeds
    assert isinstance(await visit_feed(due, services), JudgedVisit)
    assert await visit_feed(due, services) == ClaimLost()
    assert await river.count("visits") == 2


async def test_the_database_itself_refuses_a_second_commit_of_one_visit(river: River) -> None:
    """Even with a valid claim: the key (feed, scheduled_at) is the last line of defence."""
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    await river.clock.advance(3_600)
    due = await river.claim()
    services = river.engine.feeds
    await visit_feed(due, services)
    async with river.engine.database.write() as tx:
        await tx.run("UPDATE feeds SET claimed_by = 'tester'")
    assert isinstance(await visit_feed(due, services), DatabaseRefused)
    assert await river.count("visits") == 2


async def test_a_removed_feed_gets_nothing_more(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    await river.clock.advance(3_600)
    due = await river.claim()
    async with river.engine.database.write() as tx:
        await tx.run("DELETE FROM feeds")
    feed.publish(TWO)
    assert await visit_feed(due, river.engine.feeds) == ClaimLost()
    assert await river.count("raw_fetches") == 0


async def test_a_flood_of_new_entries_is_bounded_and_told(river: River) -> None:
    river.engine.rules = replace(river.engine.rules, max_new_entries_per_day=3)
    feed = river.origin.feed("/a", [Post(str(number), "x") for number in range(5)])
    await river.add(feed.url)
    (visit,) = await river.rows("SELECT new_entries, limits FROM visits")
    assert (visit.new_entries, orjson.loads(visit.limits)) == (3, {"new_entries_cut": 2})
    assert await river.told() == ["subscription_created", *["new_entry"] * 3]


async def test_entries_cut_today_come_in_tomorrow(river: River) -> None:
    """Nothing is remembered as seen that was not taken in: no validators, no document hash."""
    river.engine.rules = replace(river.engine.rules, max_new_entries_per_day=3)
    feed = river.origin.feed("/a", [Post(str(number), "x") for number in range(5)])
    await river.add(feed.url)
    await river.visit(seconds=86_400)
    assert await river.count("entries") == 5
    assert await river.told() == ["subscription_created", *["new_entry"] * 5]


async def test_a_document_that_kills_its_parser_twice_is_quarantined(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    deaths = DeadlyParsers()
    river.engine.parsers = deaths
    feed.publish(TWO)
    outcomes = [await river.visit() for _ in range(3)]
    assert [each.error for each in outcomes if isinstance(each, JudgedVisit)] == [
        "parser_crashed",
        "parser_crashed",
        "quarantined",
    ]
    assert deaths.asked == 2
    assert await river.count("raw_fetches") == 4


class DeadlyParsers:
    """Every document is the one that crashes it."""

    asked = 0

    async def read(self, job: bytes, body: bytes) -> ParserReply:
        self.asked += 1
        return ParserReply(error="parser_crashed", detail="signal 11")

    async def close(self) -> None:
        return None


async def test_a_parse_failure_keeps_the_raw_and_the_validators_of_the_last_good_answer(
    river: River,
) -> None:
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    good = feed.requests[0].reply
    assert good is not None
    feed.answer_next(Reply(200, b"<html><body>Maintenance</body></html>", {"ETag": '"oops"'}))
    settled = await river.visit()
    assert isinstance(settled, JudgedVisit)
    assert (settled.error, settled.succeeded) == ("not_a_feed", False)
    (row,) = await river.rows("SELECT etag, failures FROM feeds")
    assert (row.etag, row.failures) == (good.headers["ETag"], 1)
    assert await river.count("raw_fetches") == 2


async def test_a_cut_off_body_is_kept_and_flagged_and_not_read(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    feed.answer_next(Reply(200, rss([TWO, ONE]), cut_at=150))
    settled = await river.visit()
    assert isinstance(settled, JudgedVisit)
    assert settled.error == "incomplete_body"
    (raw,) = await river.rows(
        "SELECT truncated, error, content_length FROM raw_fetches WHERE error IS NOT NULL"
    )
    assert (bool(raw.truncated), raw.error, raw.content_length) == (True, "incomplete_body", 150)
    assert await river.count("entries") == 1


async def test_a_move_to_where_another_feed_lives_stops_and_links(river: River) -> None:
    there = river.origin.feed("/there", [ONE])
    moving = river.origin.feed("/moving", [ONE])
    other_id = await river.add(there.url)
    async with river.engine.database.write() as tx:
        await tx.run("UPDATE feeds SET state = 'paused', next_visit_at = NULL")
    moving_id = await river.add(moving.url)
    moving.stand_in = Reply(301, headers={"Location": "/there"})
    for _ in range(3):
        await river.visit(seconds=86_400)
    rows = await river.rows("SELECT feed_id, state, url FROM feeds ORDER BY id")
    assert [tuple(row) for row in rows] == [
        (other_id, "paused", there.url),
        (moving_id, "duplicate", moving.url),
    ]
    (event,) = await river.rows("SELECT payload FROM events WHERE type = 'feed_moved'")
    assert orjson.loads(event.payload)["duplicate_of"] == other_id
    (stopped,) = await river.rows("SELECT reason FROM feeds WHERE state = 'duplicate'")
    assert stopped.reason == "no more visits: it moved to an address that is followed already"
    assert await river.count("entries") == 2


async def test_a_move_to_a_removed_feeds_address_waits_until_it_is_free(river: River) -> None:
    there, moving = river.origin.feed("/there", [ONE]), river.origin.feed("/moving", [ONE])
    other_id = await river.add(there.url)
    await remove_feed(other_id, river.engine.database, hard=False)
    await river.add(moving.url)
    moving.stand_in = Reply(301, headers={"Location": "/there"})
    for _ in range(4):
        await river.visit(seconds=86_400)
    before = ["subscription_created", "new_entry"]
    before += ["subscription_deleted", "subscription_created", "new_entry"]
    assert await river.told() == before
    await remove_feed(other_id, river.engine.database, hard=True)
    for _ in range(2):
        await river.visit(seconds=86_400)
    assert await river.told() == [*before, "subscription_deleted", "feed_moved"]
    (row,) = await river.rows("SELECT url, state FROM feeds")
    assert tuple(row) == (there.url, "active")


async def test_one_single_permanent_redirect_steals_nothing(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    river.origin.feed("/evil", [Post("evil", "Evil")])
    await river.add(feed.url)
    feed.answer_next(Reply(301, headers={"Location": "/evil"}))
    await river.visit()
    await river.visit()
    (row,) = await river.rows("SELECT url, moved_to, moved_count FROM feeds")
    assert tuple(row) == (feed.url, None, 0)


async def test_one_feed_cannot_touch_anothers_entry(river: River) -> None:
    victim = river.origin.feed("/victim", [Post("guid-1", "The truth")])
    thief = river.origin.feed("/thief", [Post("guid-1", "A lie")])
    await river.add(victim.url)
    await river.add(thief.url)
    rows = await river.rows("SELECT title, entry_uid FROM entries ORDER BY feed_id")
    assert [tuple(row) for row in rows] == [("The truth", "guid-1"), ("A lie", "guid-1")]
    assert await river.told() == ["subscription_created", "new_entry"] * 2


async def test_a_poisoned_visit_does_not_hold_up_its_group(river: River) -> None:
    """Whoever the database refuses is found by halving and left alone; the others are committed."""
    urls = [river.origin.feed(f"/{name}", [ONE]).url for name in "abc"]
    for url in urls:
        await river.add(url)
    await river.clock.advance(3_600)
    now = to_micros(river.clock.now())
    async with river.engine.database.write() as tx:
        await tx.run("UPDATE feeds SET next_visit_at = ?, scheduled_at = ?", now, now)
        dues = await claim_rows.claim_feeds(tx, river.engine.worker, now, now + 120_000_000, 10)
    # The same visit has been committed before: the database will refuse it again.
    async with river.engine.database.write() as tx:
        await tx.run("UPDATE visits SET scheduled_at = ? WHERE feed_id = ?", now, dues[1].feed)
    services = river.engine.feeds
    results = await asyncio.gather(*(visit_feed(due, services) for due in dues))
    assert [type(each) for each in results] == [JudgedVisit, DatabaseRefused, JudgedVisit]


async def test_a_paused_feed_is_not_planned_again_by_a_visit_under_way(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    feed_id = await river.add(feed.url)
    await river.clock.advance(3_600)
    due = await river.claim()
    async with river.engine.database.write() as tx:
        await tx.run("UPDATE feeds SET state = 'paused' WHERE feed_id = ?", FeedId(feed_id))
    await visit_feed(due, river.engine.feeds)
    (row,) = await river.rows("SELECT state, next_visit_at FROM feeds")
    assert tuple(row) == ("paused", None)


async def test_an_alias_that_was_undone_is_not_made_again(river: River) -> None:
    """A person said that these are two entries: from then on they are."""
    feed = river.origin.feed("/a", [Post("old", "Post", link="https://posts.example/1")])
    feed_id = await river.add(feed.url)
    feed.posts = [Post("new", "Post", link="https://posts.example/1")]
    feed.publish()
    await river.visit()
    assert await river.count("entries") == 1
    await undo_alias(feed_id, "new", river.engine.database)
    feed.publish(TWO)
    await river.visit()
    rows = await river.rows("SELECT entry_uid FROM entries ORDER BY entry_uid")
    assert [row.entry_uid for row in rows] == ["2", "new", "old"]
    (alias,) = await river.rows("SELECT undone_at FROM entry_aliases")
    assert alias.undone_at is not None


async def test_a_cadence_that_is_taken_back_during_a_visit_leaves_nothing_behind(
    river: River,
) -> None:
    """A day's interval was the person's; the next one is the feed's own, not a day for long."""
    feed = river.origin.feed("/a", [ONE])
    feed_id = await river.add(feed.url)
    daily = FeedPatch(overrides={"interval_sec": 86_400.0})
    await river.change(feed_id, daily)
    await river.visit()
    await river.clock.advance(86_400)
    due = await river.claim()
    adaptive = FeedPatch(overrides={"interval_sec": None})
    await river.change(feed_id, adaptive)
    settled = await visit_feed(due, river.engine.feeds)
    assert isinstance(settled, JudgedVisit)
    assert settled.decision.interval == 900 * 1.25
    (row,) = await river.rows(
        "SELECT f.interval_sec, v.interval_after FROM feeds f JOIN visits v ON v.feed_id = f.id"
        " ORDER BY v.scheduled_at DESC LIMIT 1"
    )
    assert tuple(row) == (900 * 1.25, 900 * 1.25)


@pytest.mark.parametrize("together", [False, True])
async def test_a_cadence_that_is_taken_back_during_a_pause_leaves_nothing_behind(
    river: River, together: bool
) -> None:
    feed = river.origin.feed("/a", [ONE])
    feed_id = await river.add(feed.url)
    await river.change(feed_id, FeedPatch(overrides={"interval_sec": 86_400.0}))
    await river.visit()
    await river.change(feed_id, FeedPatch(state="paused"))
    if not together:
        await river.change(feed_id, FeedPatch(overrides={"interval_sec": None}))
    await river.change(feed_id, FeedPatch(state="active", overrides={"interval_sec": None}))
    (row,) = await river.rows("SELECT interval_sec FROM feeds")
    settled = await river.visit()
    assert isinstance(settled, JudgedVisit)
    assert (row.interval_sec, settled.decision.interval) == (900, 900 * 1.25)
