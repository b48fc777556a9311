"""Redis and NATS keep the promises of every sink, on real servers that are killed and come back."""

from dataclasses import dataclass
from typing import Any, cast
from uuid import uuid4

import nats
import pytest
from redis.asyncio import Redis

from headwater.sinks.ports import SinkConfig
from tests.support.brokers import OwnServer
from tests.support.sink_contract import SinkCase, SinkContract


@dataclass(slots=True)
class RedisCase:
    server: OwnServer
    stream: str

    async def plan(self) -> SinkConfig:
        options = {"url": self.server.url, "stream": self.stream, "timeout_sec": 5}
        return SinkConfig("case", "redis", options, {})

    async def received(self) -> list[tuple[str, bytes]]:
        async with Redis.from_url(self.server.url) as client:
            rows = cast(Any, await client.xrange(self.stream))
        return [(fields[b"id"].decode(), fields[b"body"]) for _, fields in rows]

    async def break_it(self) -> None:
        self.server.kill()

    async def mend_it(self) -> None:
        self.server.start()


@dataclass(slots=True)
class NatsCase:
    server: OwnServer
    stream: str

    async def plan(self) -> SinkConfig:
        options = {"url": self.server.url, "stream": self.stream, "subject": self.stream}
        return SinkConfig("case", "nats", {**options, "timeout_sec": 5}, {})

    async def received(self) -> list[tuple[str, bytes]]:
        """The replay's number is taken off the ids again."""
        client = await nats.connect(self.server.url)
        try:
            manager = client.jsm()
            state = (await manager.stream_info(self.stream)).state
            found = [await manager.get_msg(self.stream, n + 1) for n in range(state.last_seq)]
        finally:
            await client.close()
        ids = [(message.headers or {})["Nats-Msg-Id"].partition(":r")[0] for message in found]
        return [(name, message.data or b"") for name, message in zip(ids, found, strict=True)]

    async def break_it(self) -> None:
        self.server.kill()

    async def mend_it(self) -> None:
        self.server.start()


class TestRedis(SinkContract):
    @pytest.fixture
    def case(self, mortal_redis: OwnServer) -> SinkCase:
        return RedisCase(mortal_redis, f"test:{uuid4()}")


class TestNats(SinkContract):
    @pytest.fixture
    def case(self, mortal_nats: OwnServer) -> SinkCase:
        return NatsCase(mortal_nats, f"test-{uuid4()}")
