"""A first document that could not be read at its visit, made good by a re-parse."""

import pytest

from headwater.feeds.feed import FeedOptions
from headwater.feeds.judge_visit import JudgedVisit
from headwater.feeds.raw.reparse import reparse
from headwater.feeds.read_document import UnreadableDocument
from headwater.feeds.visit import visit_feed
from headwater.subscriptions.add_feed import add_feed_later
from tests.support.origin import Post
from tests.support.visits import River

ONE, TWO = Post("1", "One"), Post("2", "Two")


async def test_a_feed_goes_on_after_its_unread_first_document_was_parsed_again(
    river: River, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = river.origin.feed("/a", [ONE])
    feed.validators = "none"
    feed_id = await add_feed_later(feed.url, FeedOptions(), river.engine.registry)
    services = river.engine.feeds

    async def no_parser(*_: object, **__: object) -> UnreadableDocument:
        return UnreadableDocument("parser_unavailable", "no process could be had")

    with monkeypatch.context() as broken:
        broken.setattr("headwater.feeds.visit.read_document", no_parser)
        await river.clock.advance(10)
        first = await visit_feed(await river.claim(), services)
    assert isinstance(first, JudgedVisit)
    assert first.error == "parser_unavailable"
    again = await reparse(river.engine.feeds, feed_id, after=None, limit=10, dry_run=False)
    assert [difference.kind for _, difference in again.differences] == ["added"]
    feed.publish(TWO)
    settled = await river.visit()
    assert isinstance(settled, JudgedVisit)
    assert (settled.name, settled.error) == ("fetched", None)
    rows = await river.rows("SELECT entry_uid FROM entries ORDER BY entry_uid")
    assert [row.entry_uid for row in rows] == ["1", "2"]
