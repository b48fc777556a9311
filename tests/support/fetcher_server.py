"""A fetcher's own HTTP server for tests: remembers what it was told, answers as it is told."""

import asyncio
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import orjson


@dataclass(frozen=True, slots=True)
class Heard:
    """One request; header names in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


@dataclass
class Receiver:
    """Real HTTP on loopback. `script` holds the statuses of the next answers; then `status`."""

    status: int = 204
    script: list[int] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)
    gate: asyncio.Event | None = None
    """While it is there and not set, nobody is answered."""
    _came: asyncio.Event = field(default_factory=asyncio.Event)
    _talks: set[asyncio.Task[None]] = field(default_factory=set)
    _server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._meet, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        trouble: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for talk in list(self._talks):
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    @property
    def base_url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def numbers(self) -> list[int]:
        """Of the events it was told, in order."""
        return [each.json["seq"] for each in self.heard]

    async def until(self, count: int) -> None:
        """So many requests have come."""
        while len(self.heard) < count:
            self._came.clear()
            await self._came.wait()

    def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.create_task(self._talk(reader, writer))
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await self._serve_one(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the other side has said all it wanted
        finally:
            writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = (line.partition(":") for line in head[1:] if line)
        headers = {name.lower(): value.strip() for name, _, value in fields}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.heard.append(Heard(head[0].split(" ")[1], headers, body))
        self._came.set()
        if self.gate is not None:
            await self.gate.wait()
        status = self.script.pop(0) if self.script else self.status
        writer.write(f"HTTP/1.1 {status} So\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()
