"""Making room for a second worker while a claim is on its way."""

import asyncio
from pathlib import Path

from headwater.adapters.database import SqlDatabase
from headwater.feeds.feed import FeedOptions
from headwater.feeds.schedule.due import DueFeed
from headwater.feeds.worker.claims import Claims
from headwater.settings import Settings
from headwater.subscriptions.add_feed import add_feed_later
from headwater.wiring.policies import worker_policy
from tests.support.clock import VirtualClock
from tests.support.engine import opened_engine


async def test_a_host_that_was_claimed_a_moment_ago_is_not_given_to_another_worker(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> None:
    async with (
        opened_engine(database, virtual_clock, tmp_path, worker="anna") as one,
        opened_engine(database, virtual_clock, tmp_path, worker="bert") as two,
    ):
        for number in range(200):
            await add_feed_later(f"http://127.0.9.{number + 1}/feed", FeedOptions(), one.registry)
        anna, bert = (
            Claims(one.feeds, worker_policy(Settings())),
            Claims(two.feeds, worker_policy(Settings())),
        )
        await anna.begin()
        await bert.begin()  # there are two now; anna will let go of a half with her next sign
        held: list[
            DueFeed
        ] = []  # as `Worker._held()` is looked at before `show_up` waits for its turn
        claiming = asyncio.create_task(anna.claim(500))
        showing = asyncio.create_task(anna.show_up(held))
        await asyncio.gather(claiming, showing)
        await bert.show_up([])
        async with database.read() as view:
            row = await view.row(
                "SELECT count(*) AS n FROM feeds f JOIN shards s ON s.shard = f.shard"
                " WHERE f.claimed_by = 'anna' AND s.worker_id = 'bert'"
            )
    assert row is not None
    assert row.n == 0
