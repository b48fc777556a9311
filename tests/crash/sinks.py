"""All kinds of sinks beside the service that is killed: made over its API, read from outside."""

import asyncio
import random
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.crash.receivers import ClientReader, Heard, Hook, Reader, SseReader
from tests.crash.running import Service
from tests.crash.shelves import Lines, NatsShelf, RedisShelf
from tests.crash.sink_audit import OWN_KINDS, Terms
from tests.support.brokers import OwnServer

LEASE = 2.0
CATCHES_UP_WITHIN = 90.0
STREAM = "ORDEAL"
SECRET_KEY = b64encode(b"all workers open what one sealed").decode()


class Receiver(Protocol):
    async def heard(self) -> Heard: ...


class Shelf(Receiver, Protocol):
    def begin_again(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Brokers:
    redis: OwnServer
    nats: OwnServer


TERMS = {
    "hook": Terms(),
    "files": Terms(once=True, with_more=True),
    "packed": Terms(once=True),
    "redis": Terms(once=True),
    "nats": Terms(once=True),
    "sse": Terms(has_cursor=False),
    "client": Terms(has_cursor=False),
}


class Sinks:
    """Everybody who is told of events."""

    def __init__(self, folder: Path, brokers: Brokers, hook: Hook, luck: random.Random) -> None:
        self._out, self._folder = folder / "out", folder
        self._brokers, self._hook, self._luck = brokers, hook, luck
        self._shelves: dict[str, Shelf] = {
            "files": Lines(self._out / "files"),
            "packed": Lines(self._out / "packed", packed=True),
            "redis": RedisShelf(brokers.redis.url, STREAM),
            "nats": NatsShelf(brokers.nats.url, STREAM),
        }
        self._readers: dict[str, Reader] = {}
        self.broker_kills = 0

    @property
    def redis_url(self) -> str:
        return self._brokers.redis.url

    @property
    def settings(self) -> dict[str, str]:
        """The lease is short, and so are pauses: what a kill leaves behind is found soon."""
        return {
            "HEADWATER_OUT_DIR": str(self._out),
            "HEADWATER_SECRET_KEY": SECRET_KEY,
            "HEADWATER_SINK_LEASE_SECONDS": str(LEASE),
            "HEADWATER_SINK_PAUSE_CAP_SEC": "1",
        }

    async def begin(self, service: Service) -> None:
        """Every sink is made over the API, before there is any event."""
        where = {"stream": STREAM, "timeout_sec": 5}
        nats = {"url": self._brokers.nats.url, "subject": "ordeal", **where}
        made: dict[str, tuple[str, Mapping[str, object]]] = {
            "hook": ("webhook", {"url": self._hook.url}),
            "files": ("ndjson", {"path": "files", "entries": "full", "raw": True}),
            "packed": (
                "ndjson",
                {"path": "packed", "entries": "compact", "raw": False, "compress": "zstd"},
            ),
            "redis": ("redis", {"url": self._brokers.redis.url, **where}),
            "nats": ("nats", nats),
        }
        for name, (kind, options) in made.items():
            wish = {"name": name, "kind": kind, "options": options, "from": "beginning"}
            await service.post("/sinks", wish)
        self._readers = {
            "sse": SseReader(service.url),
            "client": ClientReader(service.url, self._folder, self._luck),
        }
        for reader in self._readers.values():
            await reader.open()

    async def heard(self) -> dict[str, Heard]:
        everybody: dict[str, Receiver] = {"hook": self._hook, **self._shelves, **self._readers}
        return {name: await receiver.heard() for name, receiver in everybody.items()}

    async def heard_from_the_beginning(self) -> dict[str, Heard]:
        for shelf in self._shelves.values():
            shelf.begin_again()
        return await self.heard()

    async def burst(self, seconds: float) -> None:
        """The next moment at which sinks are being delivered to, if it comes in time."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._hook.burst(), seconds)

    async def kill_a_broker(self) -> None:
        """kill -9, and on it goes: what it acknowledged it still has."""
        broker = self._luck.choice([self._brokers.redis, self._brokers.nats])
        await asyncio.to_thread(broker.kill)
        await asyncio.to_thread(broker.start)
        self.broker_kills += 1

    async def catch_up(self, service: Service) -> bool:
        """Once nothing new is told: whether everybody has come to the end of the log in time."""
        self._hook.is_calm = True
        deadline = time.monotonic() + CATCHES_UP_WITHIN
        while time.monotonic() < deadline:
            told = await service.get("/sinks")
            last = (await service.get("/events?limit=1"))["last_seq"]
            reading = [await reader.heard() for reader in self._readers.values()]
            read = {len({got.event_id for got in heard.got}) for heard in reading}
            if all(_is_done(sink, last) for sink in told["sinks"]) and read == {last}:
                return True
            if any(heard.damaged for heard in reading):
                return False
            await asyncio.sleep(0.2)
        return False

    async def close(self) -> None:
        for reader in self._readers.values():
            await reader.close()
        await self._hook.close()


def _is_done(sink: dict[str, Any], last: int) -> bool:
    """What the engine's own sinks pass over they write down within a minute: too long to wait."""
    if sink["kind"] in OWN_KINDS:
        return bool(sink["state"] == "active")
    return bool(sink["cursor"] == last)


@asynccontextmanager
async def all_sinks(folder: Path, brokers: Brokers, seed: int) -> AsyncIterator[Sinks]:
    luck = random.Random(seed)
    hook = Hook(luck)
    await hook.open()
    sinks = Sinks(folder, brokers, hook, luck)
    try:
        yield sinks
    finally:
        await sinks.close()
