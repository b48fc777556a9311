"""A Redis for personal feeds, and a pen to write in it as another tool would."""

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from redis.asyncio import Redis

from headwater.personal_feeds.redis.store import PersonalRedis
from tests.conftest import had
from tests.support.brokers import OwnServer, own_redis
from tests.support.clock import VirtualClock


@pytest.fixture(scope="module")
def own_server() -> Iterator[OwnServer]:
    """One for a file of tests: the names of keys are what they are, so nobody else may use it."""
    with ExitStack() as end:
        yield had(end, own_redis())


@pytest.fixture
async def pen(own_server: OwnServer) -> AsyncIterator[Any]:
    """Another tool, on a server with nothing in it."""
    async with Redis.from_url(own_server.url, protocol=2, decode_responses=True) as client:
        await client.flushall()
        yield client


@pytest.fixture
async def store(
    own_server: OwnServer, pen: Any, virtual_clock: VirtualClock
) -> AsyncIterator[PersonalRedis]:
    opened = PersonalRedis(own_server.url, virtual_clock)
    yield opened
    await opened.close()


@pytest.fixture
async def elsewhere(
    own_server: OwnServer, pen: Any, virtual_clock: VirtualClock
) -> AsyncIterator[PersonalRedis]:
    opened = PersonalRedis(own_server.url, virtual_clock)
    yield opened
    await opened.close()
