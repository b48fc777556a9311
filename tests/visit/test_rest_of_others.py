"""`headwater serve` and `headwater work` are two processes: they are one visitor all the same."""

from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.errors import TooSoon
from headwater.first_visit import add_feed, follow_later
from headwater.subscribe.feed import Wish
from tests.engines import opened_engine
from tests.origin import Post, Reply
from tests.visit.conftest import River

ONE = Post("1", "One")


async def test_a_host_that_told_the_worker_to_rest_is_not_asked_by_the_server(
    river: River, database: SqlDatabase, tmp_path: Path
) -> None:
    throttled, other = river.origin.feed("/a", [ONE]), river.origin.feed("/b", [ONE])
    throttled.stand_in = Reply(429, headers={"Retry-After": "3600"})
    await follow_later(throttled.url, Wish(), river.engine)
    await river.visit(10)
    await river.clock.advance(60)
    blobs = tmp_path / "b"
    async with opened_engine(database, river.clock, blobs, worker="tester/serve") as server:
        with pytest.raises(TooSoon):
            await add_feed(other.url, Wish(), server)
    assert other.requests == []
