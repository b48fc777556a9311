"""A first document that could not be read at its visit, made good by a re-parse."""

import pytest

from headwater.first_visit import follow_later
from headwater.merge.reading import Job, Unreadable
from headwater.reparsing import reparse
from headwater.settle import Settled
from headwater.subscribe.feed import Wish
from headwater.visit import Visits
from tests.origin import Post
from tests.visit.conftest import River

ONE, TWO = Post("1", "One"), Post("2", "Two")


async def test_a_feed_goes_on_after_its_unread_first_document_was_parsed_again(
    river: River, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = river.origin.feed("/a", [ONE])
    feed.validators = "none"
    feed_id = await follow_later(feed.url, Wish(), river.engine)
    visits = Visits(river.engine)

    async def no_parser(job: Job, body: bytes) -> Unreadable:
        return Unreadable("parser_unavailable", "no process could be had")

    with monkeypatch.context() as broken:
        broken.setattr(visits, "parse", no_parser)
        await river.clock.advance(10)
        first = await visits.visit(await river.claim())
    assert isinstance(first, Settled)
    assert first.error == "parser_unavailable"
    again = await reparse(river.engine, feed_id, after=None, limit=10, dry_run=False)
    assert [difference.kind for _, difference in again.differences] == ["added"]
    feed.publish(TWO)
    settled = await river.visit()
    assert isinstance(settled, Settled)
    assert (settled.name, settled.error) == ("fetched", None)
    rows = await river.rows("SELECT entry_uid FROM entries ORDER BY entry_uid")
    assert [row.entry_uid for row in rows] == ["1", "2"]
