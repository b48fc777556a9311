"""Many names lead to one machine: it is not asked by all of them at once, not even at first."""

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest

from headwater.adapters.clock import SystemClock
from headwater.adapters.database import SqlDatabase
from headwater.feeds.feed import FeedOptions
from headwater.feeds.fetch.host_turns import HostPacing, PacingPolicy
from headwater.subscriptions.add_feed import add_feed, add_feed_later
from headwater.web.address_gate import build_address_policy
from headwater.web.http_client import CurlWeb
from headwater.web.limits import WebLimits
from tests.support.engine import opened_engine
from tests.support.engine_parts import EngineParts
from tests.support.origin import Origin, Post
from tests.support.worker import until, working

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)

NAMES = ("ash.test", "beech.test", "cedar.test", "elm.test")
PATH = "/feed"
APART = 0.25


@pytest.fixture
async def engine(
    database: SqlDatabase, tmp_path: Path, origin: Origin
) -> AsyncIterator[EngineParts]:
    """All names lead to the origin; that address is asked four times a second at most."""
    origin.feed(PATH, [Post("1", "One")])
    async with opened_engine(database, SystemClock(), tmp_path / "blobs") as opened:
        await opened.web.close()
        opened.web = CurlWeb(
            WebLimits(),
            build_address_policy(["127.0.0.0/8"]),
            resolve=[f"{name}:{origin.port}:127.0.0.1" for name in NAMES],
        )
        opened.turns = HostPacing(PacingPolicy(address_requests_per_second=1 / APART))
        yield opened
        await opened.web.close()


def urls(origin: Origin) -> list[str]:
    return [f"http://{name}:{origin.port}{PATH}" for name in NAMES]


def least_apart(origin: Origin) -> float:
    moments = [request.started for request in origin.requests]
    return min(later - earlier for earlier, later in pairwise(moments))


async def test_first_visits_to_many_names_of_one_address_are_spaced(
    engine: EngineParts, origin: Origin
) -> None:
    for url in urls(origin):
        await add_feed_later(url, FeedOptions(), engine.registry)
    async with working(engine):
        await until(lambda: len(origin.requests) == len(NAMES))
    assert least_apart(origin) > 0.8 * APART


async def test_feeds_of_one_address_added_at_once_are_spaced(
    engine: EngineParts, origin: Origin
) -> None:
    await asyncio.gather(*(add_feed(url, FeedOptions(), engine.registry) for url in urls(origin)))
    assert least_apart(origin) > 0.8 * APART


async def test_a_name_that_leads_nowhere_is_visited_and_fails(
    engine: EngineParts, origin: Origin
) -> None:
    await add_feed_later("http://nowhere.invalid/feed", FeedOptions(), engine.registry)
    async with working(engine):
        await until(lambda: _failed(engine))


async def _failed(engine: EngineParts) -> bool:
    async with engine.database.read() as view:
        row = await view.row("SELECT failures FROM feeds")
    return row is not None and row.failures == 1


async def test_what_waits_for_a_lookup_is_given_back_at_the_end(
    engine: EngineParts, origin: Origin
) -> None:
    """A name server that never answers holds up neither the end nor the feed."""
    slow = Hanging()
    engine.web, web = slow, engine.web
    await add_feed_later(urls(origin)[0], FeedOptions(), engine.registry)
    async with working(engine):
        await slow.asked.wait()
    engine.web = web
    await slow.close()
    async with engine.database.read() as view:
        row = await view.row("SELECT claimed_by, next_visit_at FROM feeds")
    assert row is not None
    assert row.claimed_by is None
    assert row.next_visit_at is not None
    assert origin.requests == []


class Hanging(CurlWeb):
    def __init__(self) -> None:
        super().__init__(WebLimits(), build_address_policy())
        self.asked = asyncio.Event()

    async def address_of(self, host: str) -> str | None:
        self.asked.set()
        await asyncio.Event().wait()
        return None
