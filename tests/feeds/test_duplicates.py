"""A feed that moved to where another one lives, and what becomes of it when that one goes."""

from datetime import timedelta
from pathlib import Path

import pytest

from headwater.core.values.ids import FeedId
from headwater.core.values.instant import to_micros
from headwater.settings import Settings
from headwater.subscriptions.unsubscribe import remove_feed
from headwater.wiring.housekeeping import housekeeping_once
from tests.support.origin import OriginFeed, Post, Reply
from tests.support.visits import River

ONE, TWO = Post("1", "One"), Post("2", "Two")


async def duplicate_of(river: River, there: OriginFeed) -> tuple[FeedId, FeedId]:
    """A feed that stopped, and the one for which it did."""
    here = river.origin.feed("/here", [ONE])
    stopped = await river.add(here.url)
    here.stand_in = Reply(301, headers={"Location": there.path})
    for _ in range(2):
        await river.visit(seconds=86_400)
    followed = await river.add(there.url)
    await visit(river, stopped)
    assert await state(river, stopped) == "duplicate"
    return stopped, followed


async def visit(river: River, only: FeedId) -> None:
    """The others are in somebody else's hands."""
    async with river.engine.database.write() as tx:
        await tx.run(
            "UPDATE feeds SET claimed_by = 'another', next_visit_at = ?"
            " WHERE feed_id <> ? AND state = 'active'",
            to_micros(river.clock.now() + timedelta(days=30)),
            only,
        )
    await river.visit(seconds=86_400)
    async with river.engine.database.write() as tx:
        await tx.run("UPDATE feeds SET claimed_by = NULL")


async def state(river: River, feed_id: FeedId) -> str:
    (row,) = await river.rows(f"SELECT state FROM feeds WHERE feed_id = '{feed_id}'")
    return str(row.state)


async def tidy(river: River) -> None:
    await housekeeping_once(river.engine.services, Settings(data_dir=Path("unused")))


@pytest.mark.parametrize("hard", [False, True])
async def test_it_goes_on_when_the_other_is_removed(river: River, hard: bool) -> None:
    there = river.origin.feed("/there", [ONE])
    stopped, followed = await duplicate_of(river, there)
    await remove_feed(followed, river.engine.database, hard=hard)
    await tidy(river)
    there.publish(TWO)
    await visit(river, stopped)
    rows = await river.rows(
        "SELECT entry_uid FROM entries WHERE feed_id ="
        f" (SELECT id FROM feeds WHERE feed_id = '{stopped}') ORDER BY entry_uid"
    )
    assert [row.entry_uid for row in rows] == ["1", "2"]
    assert await state(river, stopped) == "active"


async def test_it_stays_where_it_is_while_the_other_is_followed(river: River) -> None:
    there = river.origin.feed("/there", [ONE])
    stopped, _ = await duplicate_of(river, there)
    await tidy(river)
    assert await state(river, stopped) == "duplicate"
