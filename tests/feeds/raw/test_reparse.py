"""Entries made anew from the archive: what a better parser finds, told once, without a request."""

from typing import Any

import orjson
import pytest

from headwater.core.errors import BadInput, NotFound
from headwater.feeds.raw.compare_payloads import compare_payloads
from headwater.feeds.raw.reparse import ReparseResult, reparse
from tests.support.origin import Post, Reply, rss
from tests.support.visits import River

ONE, TWO, THREE = Post("1", "One", "first"), Post("2", "Two", "second"), Post("3", "Three")


async def again(river: River, feed_id: str, *, dry_run: bool = False) -> ReparseResult:
    return await reparse(river.engine.feeds, feed_id, after=None, limit=100, dry_run=dry_run)


async def entries(river: River) -> list[Any]:
    return await river.rows("SELECT * FROM entries ORDER BY entry_uid")


async def test_what_is_right_stays_as_it_is_and_nobody_is_asked(river: River) -> None:
    feed = river.origin.feed("/a", [ONE, TWO])
    feed_id = await river.add(feed.url)
    feed.edit("2", text="better words")
    await river.visit()
    before, told = await entries(river), await river.told()
    asked = len(river.origin.requests)
    said = await again(river, feed_id)
    assert (said.payloads, said.same, said.differences, said.unread) == (2, 2, [], [])
    assert await entries(river) == before
    assert await river.told() == told
    assert len(river.origin.requests) == asked


async def test_a_text_that_was_read_wrongly_is_put_right_and_told(river: River) -> None:
    feed_id = await river.add(river.origin.feed("/a", [ONE, TWO]).url)
    async with river.engine.database.write() as tx:
        await tx.run("UPDATE entries SET title = 'Tow', content_hash = 'x' WHERE entry_uid = '2'")
    looked = await again(river, feed_id, dry_run=True)
    assert [(d.kind, d.uid) for _, d in looked.differences] == [("changed", "2")]
    assert (await entries(river))[1].title == "Tow"
    said = await again(river, feed_id)
    (fetch_id, difference), entry = said.differences[0], (await entries(river))[1]
    assert (difference.fields[0].before, difference.fields[0].after) == ("Tow", "Two")
    assert (entry.title, entry.version, entry.fetch_id) == ("Two", 2, fetch_id)
    assert (await river.told())[-1] == "updated_entry"
    (event,) = await river.rows("SELECT payload FROM events ORDER BY seq DESC LIMIT 1")
    assert orjson.loads(event.payload)["version"] == 2
    assert (await again(river, feed_id)).differences == []


async def test_an_entry_that_was_missed_is_found_once(river: River) -> None:
    """One from the newest document counts as present; one from an older one does not."""
    feed = river.origin.feed("/a", [ONE, TWO])
    feed_id = await river.add(feed.url)
    feed.remove("1")
    feed.publish(THREE)
    await river.visit()
    async with river.engine.database.write() as tx:
        await tx.run("DELETE FROM entries WHERE entry_uid IN ('1', '3')")
        await tx.run("DELETE FROM events WHERE seq > 1")
        await tx.run("UPDATE counters SET value = 1 WHERE name = 'events'")
    said = await again(river, feed_id)
    assert [(d.kind, d.uid) for _, d in said.differences] == [("added", "1"), ("added", "3")]
    one, two, three = await entries(river)
    assert (one.present_since, one.seen_before, one.version) == (None, 1, 1)
    assert (two.present_since, three.present_since, three.seen_before) == (1, 2, 0)
    assert (await river.told())[1:] == ["new_entry", "new_entry"]
    assert (await again(river, feed_id)).differences == []
    feed.remove("3")
    await river.visit()
    assert (await entries(river))[2].present_since is None


async def test_a_payload_that_could_not_be_read_then_can_be_now(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    feed_id = await river.add(feed.url)
    feed.answer_next(Reply(200, b"<html>maintenance</html>"))
    await river.visit()
    said = await again(river, feed_id)
    assert [unread.code for unread in said.unread] == ["not_a_feed"]
    async with river.engine.database.write() as tx:
        # As if the visit had failed on a document that is fine.
        await tx.run("DELETE FROM entries")
        await tx.run("UPDATE feeds SET documents_seen = 0, document_hash = NULL")
    assert [d.kind for _, d in (await again(river, feed_id)).differences] == ["added"]
    await river.visit()
    assert [(e.entry_uid, e.version) for e in await entries(river)] == [("1", 1)]


async def test_an_entry_that_is_not_found_any_more_is_told_and_kept(river: River) -> None:
    feed_id = await river.add(river.origin.feed("/a", [ONE]).url)
    async with river.engine.database.write() as tx:
        await tx.run(
            "UPDATE entries SET entry_uid = 'ghost', uid_key = ?, link_key = ?, frag_offset = NULL,"
            " title = 'Ghost'",
            b"g" * 16,
            b"h" * 16,
        )
    said = await again(river, feed_id)
    assert [(d.kind, d.uid) for _, d in said.differences] == [("added", "1"), ("removed", "ghost")]
    assert [e.entry_uid for e in await entries(river)] == ["1", "ghost"]


async def test_an_entry_is_known_by_its_place_in_the_document_whatever_it_is_called(
    river: River,
) -> None:
    """A uid that is made otherwise today must not double what is there."""
    feed_id = await river.add(river.origin.feed("/a", [ONE, TWO]).url)
    async with river.engine.database.write() as tx:
        await tx.run(
            "UPDATE entries SET entry_uid = 'old', uid_key = ?, title = 'Old'"
            " WHERE entry_uid = '1'",
            b"o" * 16,
        )
    said = await again(river, feed_id)
    assert [(d.kind, d.uid) for _, d in said.differences] == [("changed", "old")]
    assert [(e.entry_uid, e.title) for e in await entries(river)] == [("2", "Two"), ("old", "One")]
    assert [row.alias_uid for row in await river.rows("SELECT * FROM entry_aliases")] == ["1"]
    assert (await again(river, feed_id)).differences == []


async def test_an_older_payload_never_speaks_over_a_newer_one(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    feed_id = await river.add(feed.url)
    feed.edit("1", text="second words")
    await river.visit()
    feed.edit("1", text="third words")
    await river.visit()
    assert (await again(river, feed_id)).differences == []
    (entry,) = await entries(river)
    assert (entry.summary, entry.version) == ("third words", 3)


async def test_payloads_come_in_pages(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    feed_id = await river.add(feed.url)
    feed.publish(TWO)
    await river.visit()
    first = await reparse(river.engine.feeds, feed_id, after=None, limit=1, dry_run=False)
    assert first.next is not None
    second = await reparse(river.engine.feeds, feed_id, after=first.next, limit=1, dry_run=False)
    assert second.next is not None
    third = await reparse(river.engine.feeds, feed_id, after=second.next, limit=1, dry_run=False)
    assert ((first.same, second.same), third) == ((1, 1), ReparseResult())


async def test_bytes_that_are_gone_or_damaged_are_told_of(river: River) -> None:
    feed_id = await river.add(river.origin.feed("/a", [ONE]).url)
    (raw,) = await river.rows("SELECT blob_key FROM raw_fetches")
    await river.engine.blobs.delete([raw.blob_key])
    assert [u.code for u in (await again(river, feed_id)).unread] == ["blob_damaged"]
    async with river.engine.database.write() as tx:
        await tx.run("UPDATE raw_fetches SET expired_at = 1")
    assert [u.code for u in (await again(river, feed_id)).unread] == ["raw_expired"]
    assert await river.count("entries") == 1


async def test_a_feed_that_is_not_there_is_not_found(river: River) -> None:
    with pytest.raises(NotFound):
        await again(river, "0197c1f0-5b0e-7c4e-9d1b-3f6f2f0a9b11")


async def test_what_a_publisher_changed_between_two_payloads(river: River) -> None:
    feed = river.origin.feed("/a", [ONE, TWO])
    await river.add(feed.url)
    feed.edit("1", text="quietly rewritten")
    feed.remove("2")
    feed.publish(THREE)
    await river.visit()
    old, new = (r.fetch_id for r in await river.rows("SELECT fetch_id FROM raw_fetches ORDER BY 1"))
    said = await compare_payloads(river.engine.feeds, new, None)
    assert (said.before.fetch_id, said.after.fetch_id, said.same_bytes) == (old, new, False)
    assert [(d.kind, d.uid, d.silent) for d in said.entries] == [
        ("added", "3", False), ("changed", "1", True), ("removed", "2", False),
    ]  # fmt: skip
    assert [(f.name, f.before, f.after) for f in said.entries[1].fields] == [
        ("summary", "first", "quietly rewritten")
    ]
    assert await compare_payloads(river.engine.feeds, old, new) == said


async def test_a_comparison_says_what_it_cannot_do(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    (one,) = await river.rows("SELECT fetch_id FROM raw_fetches")
    with pytest.raises(NotFound, match="no payload before"):
        await compare_payloads(river.engine.feeds, one.fetch_id, None)
    await river.add(river.origin.feed("/b", [TWO]).url)
    other = (await river.rows("SELECT fetch_id FROM raw_fetches ORDER BY fetch_id DESC LIMIT 1"))[0]
    with pytest.raises(BadInput, match="two feeds"):
        await compare_payloads(river.engine.feeds, one.fetch_id, other.fetch_id)


async def test_the_same_document_served_again_does_not_differ(river: River) -> None:
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    feed.answer_next(Reply(200, rss([ONE]), {"ETag": '"other"'}))
    await river.visit()
    (_, new) = await river.rows("SELECT fetch_id FROM raw_fetches ORDER BY fetch_id")
    said = await compare_payloads(river.engine.feeds, new.fetch_id, None)
    assert (said.same_bytes, said.entries, said.feed) == (True, (), ())


FOOTNOTE = Post("1", "One", 'words <a href="#note">1</a>')


async def test_links_into_a_private_document_stay_as_they_were(river: River) -> None:
    """Its address is in the archive without its secret; the feed knows the whole of it."""
    feed_id = await river.add(river.origin.feed("/a?token=hidden", [FOOTNOTE]).url)
    before, told = await entries(river), await river.told()
    assert "token=hidden#note" in before[0].summary
    said = await again(river, feed_id)
    assert (said.payloads, said.same, said.differences, said.unread) == (1, 1, [], [])
    assert await entries(river) == before
    assert await river.told() == told


async def test_a_payload_whose_address_is_not_known_any_more_speaks_only_if_it_needs_none(
    river: River,
) -> None:
    """The feed redirects to an address with a secret, of which the archive has only the rest."""
    there = river.origin.feed("/there?token=hidden", [ONE, TWO])
    feed = river.origin.feed("/a")
    feed.stand_in = Reply(302, headers={"Location": "/there?token=hidden"})
    feed_id = await river.add(feed.url)
    assert (await again(river, feed_id)).same == 2
    there.edit("1", text=FOOTNOTE.text)
    await river.visit()
    before = await entries(river)
    assert "token=hidden#note" in before[0].summary
    said = await again(river, feed_id)
    assert (said.payloads, said.same, said.differences) == (2, 1, [])
    assert [each.code for each in said.unread] == ["address_hidden"]
    assert await entries(river) == before
