"""Readers of event streams without a server: every message of the answer as it comes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

from tests.support.api_caller import Api
from tests.support.clock import VirtualClock


class Reading:
    """A reader of the stream, without a server: every message of the answer as it comes."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.text = ""
        self.pieces: list[bytes] = []
        self.ended = False
        self.grew = asyncio.Event()
        self.gone = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    async def receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {k.decode(): v.decode() for k, v in message["headers"]}
        body = message.get("body", b"")
        self.pieces.append(body)
        self.text += body.decode()
        self.ended = message["type"] == "http.response.body" and not message.get("more_body", False)
        self.grew.set()

    @property
    def events(self) -> list[dict[str, str]]:
        blocks = [block for block in self.text.split("\n\n")[:-1] if "data:" in block]
        return [
            {name: value.strip() for name, _, value in map(_partition, block.split("\n"))}
            for block in blocks
        ]

    @property
    def numbers(self) -> list[int]:
        return [int(event["id"]) for event in self.events]

    async def begun(self) -> None:
        await self.says("")

    async def says(self, words: str) -> None:
        """Until these words came, or anything at all."""
        while not self.text or words not in self.text:
            self.grew.clear()
            await self.grew.wait()

    async def over(self) -> None:
        """Until the other side ended it, with an end."""
        assert self.task is not None
        await asyncio.wait_for(asyncio.shield(self.task), 20)
        assert self.ended

    async def until(self, count: int) -> None:
        while len(self.events) < count:
            self.grew.clear()
            await self.grew.wait()


async def while_time_passes(clock: VirtualClock, happening: Awaitable[None]) -> None:
    """Until it has happened: whoever fell asleep once more, just before the hour, is woken too."""
    waiting = asyncio.ensure_future(happening)
    while not waiting.done():
        asleep = asyncio.ensure_future(clock.asleep())
        await asyncio.wait({waiting, asleep}, return_when=asyncio.FIRST_COMPLETED)
        asleep.cancel()
        if not waiting.done():
            await clock.advance_to_next()
    await waiting


def _partition(line: str) -> tuple[str, str, str]:
    return line.partition(":")


@asynccontextmanager
async def reading(api: Api, target: str, **headers: str) -> AsyncIterator[Reading]:
    """Leaves at the end of the block, if the stream has not ended before."""
    named = [(name.replace("_", "-"), value) for name, value in headers.items()]
    reader = Reading()
    scope = api._scope("GET", target, named, has_body=False)
    reader.task = asyncio.create_task(api.app(scope, reader.receive, reader.send))
    try:
        await reader.begun()
        yield reader
    finally:
        reader.gone.set()
        await reader.task
