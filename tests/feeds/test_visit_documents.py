"""Counting, identity and moves over several documents of one feed."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson

from headwater.core.values.ids import FeedId
from headwater.core.values.instant import to_micros
from headwater.feeds.change_feed import change_feed
from headwater.feeds.entries.entry_search_rows import KeptEntry, get_entry
from headwater.feeds.feed import FeedPatch
from headwater.feeds.fetch.outcome import Throttled
from headwater.feeds.judge_visit import JudgedVisit
from headwater.feeds.visit import visit_feed
from headwater.feeds.worker import claim_rows
from headwater.subscriptions.unsubscribe import remove_feed
from tests.support.origin import Post, Reply, rss
from tests.support.visits import River

ONE, TWO, THREE = Post("1", "One"), Post("2", "Two"), Post("3", "Three")
XML = {"Content-Type": "application/rss+xml"}


async def kept(river: River, uid: str, feed_id: FeedId | None = None) -> KeptEntry:
    async with river.engine.database.read() as view:
        return await get_entry(view, uid, feed_id)


async def events(river: River) -> list[tuple[str, Any]]:
    rows = await river.rows("SELECT type, payload FROM events ORDER BY seq")
    return [(row.type, orjson.loads(row.payload)) for row in rows]


async def test_counts_are_exact_over_absence_return_and_edit(river: River) -> None:
    feed = river.origin.feed("/a", [ONE, TWO])
    await river.add(feed.url)  # document 1: both
    await river.visit()  # 304: document 2 is document 1
    feed.remove("2")
    await river.visit()  # 3: only one
    left_at = (await kept(river, "2")).last_seen
    feed.publish(Post("2", "Two", text="edited while away"))
    await river.visit()  # 4: both, two edited and returned
    one, two = await kept(river, "1"), await kept(river, "2")
    assert (one.seen_count, two.seen_count) == (4, 3)
    assert (two.version, two.is_present) == (2, True)
    second = timedelta(seconds=1)  # the host's rest after adding
    assert left_at == two.first_seen + timedelta(hours=1) + second
    assert two.last_seen == one.last_seen == two.first_seen + timedelta(hours=3) + second
    told = ["subscription_created", "new_entry", "new_entry", "updated_entry"]
    assert [kind for kind, _ in await events(river)] == told


async def test_an_alias_and_an_edit_in_one_document_are_one_entry(river: River) -> None:
    feed = river.origin.feed("/a", [Post("old", "Post", link="https://posts.example/1"), TWO])
    await river.add(feed.url)
    feed.posts = [Post("new", "Post", link="https://posts.example/1"), TWO]
    feed.publish()
    await river.visit()
    feed.edit("new", text="other words")
    await river.visit()
    rows = await river.rows("SELECT entry_uid, version, seen_before FROM entries ORDER BY 1")
    assert [(row.entry_uid, row.version) for row in rows] == [("2", 1), ("old", 2)]
    assert (await kept(river, "old")).seen_count == 3


async def test_a_drifted_guid_and_the_old_one_side_by_side_are_two_entries(river: River) -> None:
    """E1: what the document shows as two is two, whatever was guessed before."""
    feed = river.origin.feed("/a", [Post("a", "Post", link="https://posts.example/1")])
    await river.add(feed.url)
    feed.posts = [Post("b", "Post", link="https://posts.example/1")]
    feed.publish()
    await river.visit()
    feed.posts = [
        Post("b", "Another post", link="https://posts.example/2"),
        Post("a", "Post", link="https://posts.example/1"),
    ]
    feed.publish()
    await river.visit()
    titles = sorted(row.title for row in await river.rows("SELECT title FROM entries"))
    assert titles == ["Another post", "Post"]


async def test_guids_that_become_distrusted_do_not_double_what_we_have(river: River) -> None:
    feed = river.origin.feed("/a", [Post("x", "One", link="https://posts.example/1")])
    await river.add(feed.url)
    feed.posts = [
        Post("x", f"Post {n}", link=f"https://posts.example/{n}") for n in (4, 3, 2)
    ] + feed.posts
    feed.publish()
    await river.visit()
    feed.publish(Post("x", "Post 5", link="https://posts.example/5"))
    await river.visit()
    titles = sorted(row.title for row in await river.rows("SELECT title FROM entries"))
    assert titles == ["One", "Post 2", "Post 3", "Post 4", "Post 5"]
    told = ["subscription_created", *["new_entry"] * 5]
    assert [kind for kind, _ in await events(river)] == told


async def test_distrusted_guids_without_links_do_not_double_either(river: River) -> None:
    def plain(*titles: str) -> bytes:
        items = "".join(f"<item><guid>x</guid><title>{t}</title></item>" for t in titles)
        return f"<rss version='2.0'><channel><title>F</title>{items}</channel></rss>".encode()

    feed = river.origin.feed("/a")
    feed.stand_in = Reply(200, plain("One"), XML)
    await river.add(feed.url)
    feed.stand_in = Reply(200, plain("Two", "One"), XML)
    await river.visit()
    titles = sorted(row.title for row in await river.rows("SELECT title FROM entries"))
    assert titles == ["One", "Two"]


async def test_a_document_that_was_cut_and_then_taken_back_is_compared_again(river: River) -> None:
    """Our daily limit cut the second document; the third is the first again, word for word."""
    river.engine.rules = replace(river.engine.rules, max_new_entries_per_day=2)
    feed = river.origin.feed("/a", [ONE])
    feed.validators = "none"
    await river.add(feed.url)
    feed.posts = [THREE, TWO, Post("4", "Four")]
    feed.publish()
    await river.visit(seconds=60)  # "1" left; one new entry taken in, two cut
    feed.posts = [ONE]
    feed.publish()
    await river.visit(seconds=60)
    one, three = await kept(river, "1"), await kept(river, "3")
    assert (one.is_present, three.is_present) == (True, False)
    assert (one.seen_count, three.seen_count) == (2, 1)


async def test_a_document_that_ends_early_makes_no_entry_disappear(river: River) -> None:
    """What was cut away by the damage is not known to be gone."""
    feed = river.origin.feed("/a", [TWO, ONE])
    await river.add(feed.url)
    whole = rss([THREE, TWO, ONE])
    feed.answer_next(Reply(200, whole[: whole.index(b'<item><guid isPermaLink="false">1<') + 30]))
    settled = await river.visit()
    assert isinstance(settled, JudgedVisit)
    assert settled.succeeded
    assert (await kept(river, "1")).is_present


async def test_a_document_that_ends_early_is_asked_for_again_as_a_whole(river: River) -> None:
    """Its validators would make the server say 304 to the damage for ever."""
    feed = river.origin.feed("/a", [TWO, ONE])
    await river.add(feed.url)
    before = (await river.rows("SELECT etag FROM feeds"))[0].etag
    whole = rss([THREE, TWO, ONE])
    cut = whole[: whole.index(b'<item><guid isPermaLink="false">1<') + 30]
    feed.answer_next(Reply(200, cut, {"ETag": '"half"'}))
    await river.visit()
    assert (await river.rows("SELECT etag FROM feeds"))[0].etag in (before, None)


async def _moved(river: River, times: int = 3) -> None:
    for _ in range(times):
        await river.visit(seconds=86_400)


async def test_a_move_to_where_a_removed_feed_was_does_not_end_the_feed(river: River) -> None:
    """Nobody visits a removed feed: the one that moved there must go on."""
    there, moving = river.origin.feed("/there", [ONE]), river.origin.feed("/moving", [ONE])
    other = await river.add(there.url)
    await remove_feed(other, river.engine.database, hard=False)
    moving_id = await river.add(moving.url)
    moving.stand_in = Reply(301, headers={"Location": "/there"})
    await _moved(river)
    (row,) = await river.rows(f"SELECT state, next_visit_at FROM feeds WHERE feed_id='{moving_id}'")
    assert row.state == "active"
    assert row.next_visit_at is not None


async def test_a_site_that_moves_there_and_back_is_still_followed(river: River) -> None:
    old, new = river.origin.feed("/old", [ONE]), river.origin.feed("/new", [ONE])
    first = await river.add(new.url)
    async with river.engine.database.write() as tx:
        await tx.run("UPDATE feeds SET state = 'paused', next_visit_at = NULL")
    await river.add(old.url)
    old.stand_in = Reply(301, headers={"Location": "/new"})
    await _moved(river)  # old is a duplicate of new
    await change_feed(
        first, FeedPatch(state="active"), river.engine.feeds, gap=timedelta(seconds=60)
    )
    old.stand_in, new.stand_in = None, Reply(301, headers={"Location": "/old"})
    await _moved(river)
    states = sorted(row.state for row in await river.rows("SELECT state FROM feeds"))
    assert "active" in states, states


async def test_secrets_in_urls_do_not_reach_events(river: River) -> None:
    """SAFE (e): events go to other programs; a private feed's key is not theirs."""
    feed = river.origin.feed("/a?token=hunter2", [ONE])
    await river.add(feed.url)
    feed.stand_in = Reply(410)
    await river.visit()
    await river.visit()
    told = [payload for kind, payload in await events(river) if kind == "feed_gone"]
    assert told
    assert "hunter2" not in str(told)


async def test_secrets_of_a_redirect_do_not_reach_the_record_of_a_visit(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    river.origin.feed("/signed?X-Amz-Signature=hunter2", [ONE])
    await river.add(feed.url)
    feed.stand_in = Reply(302, headers={"Location": "/signed?X-Amz-Signature=hunter2"})
    await river.visit()
    visits = await river.rows("SELECT * FROM visits")
    raws = await river.rows("SELECT * FROM raw_fetches")
    kept = str([tuple(row) for row in (*visits, *raws)])
    assert "/signed?X-Amz-Signature=REDACTED" in kept
    assert "hunter2" not in kept


async def test_text_no_database_takes_never_reaches_one(river: River) -> None:
    body = orjson.dumps(
        {
            "version": "https://jsonfeed.org/version/1.1",
            "title": "a\x00b",
            "items": [
                {
                    "id": "x\x00y",
                    "title": "t\x00u",
                    "content_text": "c\x00",
                    "url": "https://e.example/\x00",
                }
            ],
        }
    ).replace(b'"t\\u0000u"', b'"t\\u0000u\\ud800"')
    feed = river.origin.feed("/a")
    feed.stand_in = Reply(200, body, {"Content-Type": "application/feed+json; x=\x01\x7f"})
    await river.add(feed.url)
    assert await river.count("entries") == 1


async def test_a_throttled_feed_keeps_validators_and_count(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    feed.answer_next(Reply(429, b"<html>slow down</html>", {"Retry-After": "60", "ETag": '"no"'}))
    settled = await river.visit()
    assert isinstance(settled, JudgedVisit)
    assert isinstance(settled.finished.outcome, Throttled)
    await river.visit()
    assert [each.status for each in feed.requests] == [200, 429, 304]
    assert (await kept(river, "1")).seen_count == 2


async def test_two_feeds_that_move_to_one_place_in_one_group_stay_one(river: River) -> None:
    target = river.origin.feed("/target", [ONE])
    feeds = [river.origin.feed(path, [ONE]) for path in ("/a", "/b")]
    for feed in feeds:
        await river.add(feed.url)
        feed.stand_in = Reply(301, headers={"Location": "/target"})
    async with river.engine.database.write() as tx:
        await tx.run("UPDATE feeds SET moved_to = ?, moved_count = 5, moved_since = 1", target.url)
    await river.clock.advance(3_600)
    now = to_micros(river.clock.now())
    async with river.engine.database.write() as tx:
        await tx.run("UPDATE feeds SET next_visit_at = ?, scheduled_at = ?", now, now)
        dues = await claim_rows.claim_feeds(tx, river.engine.worker, now, now + 120_000_000, 10)
    services = river.engine.feeds
    await asyncio.gather(*(visit_feed(due, services) for due in dues))
    rows = await river.rows("SELECT state, url FROM feeds ORDER BY state")
    assert [row.state for row in rows] == ["active", "duplicate"]
    assert rows[0].url == target.url


async def test_a_freshness_that_is_no_longer_said_no_longer_holds(river: River) -> None:
    """A day's max-age was a mistake of the publisher's; the next whole answer has none."""
    feed = river.origin.feed("/a", [ONE])
    feed.headers["Cache-Control"] = "max-age=86400"
    await river.add(feed.url)
    del feed.headers["Cache-Control"]
    feed.publish(TWO)
    settled = await river.visit(seconds=90_000)
    assert isinstance(settled, JudgedVisit)
    assert settled.decision.interval < 86_400


async def test_an_update_period_that_nobody_knows_does_not_mean_a_day(river: River) -> None:
    """`minutely` and a frequency: the frequency alone would be counted by the usual day."""
    feed = river.origin.feed("/a", [ONE])
    period = "<sy:updatePeriod>minutely</sy:updatePeriod><sy:updateFrequency>1</sy:updateFrequency>"
    feed.render = lambda posts: rss(posts, channel=period).replace(
        b"<rss ", b'<rss xmlns:sy="http://purl.org/rss/1.0/modules/syndication/" '
    )
    await river.add(feed.url)
    (row,) = await river.rows("SELECT hints, interval_sec FROM feeds")
    assert (row.hints, row.interval_sec) == ("{}", 675)


async def test_a_damaged_payload_is_made_whole_when_the_same_bytes_come_again(
    river: River, tmp_path: Path
) -> None:
    """R1: the new raw fetch's bytes were in our hands; it must not point at the damage."""
    feed = river.origin.feed("/a", [ONE])
    feed.validators = "none"
    await river.add(feed.url)
    (file,) = (path for path in (tmp_path / "blobs").rglob("*") if path.is_file())
    good = file.read_bytes()
    file.write_bytes(bytes([good[0] ^ 1]) + good[1:])
    await river.visit()
    assert file.read_bytes() == good
