"""A worker that slept past its lease: its hosts are another worker's, and are asked by that one."""

from pathlib import Path

from headwater.adapters.database import SqlDatabase
from headwater.feeds.feed import FeedOptions
from headwater.feeds.worker.claims import Claims
from headwater.settings import Settings
from headwater.subscriptions.add_feed import add_feed_later
from headwater.wiring.policies import worker_policy
from tests.support.clock import VirtualClock
from tests.support.engine import opened_engine
from tests.support.origin import Origin, Post
from tests.support.worker import time_passes_until, working_in_virtual_time

LEASE = Settings().lease_seconds


async def test_feeds_that_waited_for_their_turn_are_not_asked_for_after_a_long_sleep(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> None:
    async with (
        Origin(virtual_clock) as origin,
        opened_engine(database, virtual_clock, tmp_path, worker="anna") as one,
        opened_engine(database, virtual_clock, tmp_path, worker="bert") as two,
    ):
        for number in range(6):
            feed = origin.feed(f"/{number}", [Post("1", "One")])
            await add_feed_later(feed.url, FeedOptions(), one.registry)
        async with working_in_virtual_time(one) as pass_seconds:
            await time_passes_until(pass_seconds, lambda: len(origin.requests) == 2)
            # It falls asleep as a whole: a keeper that was on its way to the database would say
            # that it is alive before anybody else could look.
            await virtual_clock.asleep(at_least=5)
            virtual_clock.step(LEASE + 1)
            bert = Claims(two.feeds, worker_policy(Settings()))
            await bert.begin()
            taken_over = await bert.claim(10)
            await pass_seconds(10, step=1)
    assert len(taken_over) >= 4  # those that waited, and perhaps one that was being visited
    assert len(origin.requests) == 2
