"""Programs outside that are told of events while the service is killed again and again.

A webhook's receiver with moods, a bare reader of the stream that knows SSE and nothing of
Headwater's code, and the client that Headwater ships.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path

import orjson

from headwater.client import AsyncClient, Event, FileCursor, Patience

COMES_BACK_AFTER = 0.2
SILENCE = 0.2


@dataclass(frozen=True, slots=True)
class Got:
    """One event as it arrived. Within one `track` events come in order."""

    event_id: str
    body: bytes
    track: str = ""


@dataclass(slots=True)
class Heard:
    """What one receiver has, in the order it came."""

    got: list[Got] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)
    """Where half an event stands at the end: that may be so until somebody goes on there."""
    damaged: list[str] = field(default_factory=list)
    """What nobody may ever find."""


class Hook:
    """A webhook's receiver: mostly quick, now and then slow, refusing, or gone in mid-answer."""

    def __init__(self, luck: random.Random) -> None:
        self._luck = luck
        self._heard = Heard()
        self._talks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._last = 0.0
        self._burst = asyncio.Event()
        self.is_calm = False

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/events"

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._meet, "127.0.0.1", 0)

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        for talk in list(self._talks):
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    async def heard(self) -> Heard:
        return self._heard

    async def burst(self) -> None:
        """Returns when somebody comes after a silence: then all sinks are being delivered to."""
        self._burst.clear()
        await self._burst.wait()

    def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.create_task(self._talk(reader, writer))
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._serve_one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the other side was killed
        finally:
            writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        headers = _headers(head)
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self._note_burst()
        mood = "calm" if self.is_calm else self._mood()
        if mood == "slow":
            await asyncio.sleep(self._luck.uniform(0.05, 0.3))
        if mood != "sorry":
            self._heard.got.append(Got(headers["webhook-id"], body))
        if mood == "gone":
            return False
        status = b"500 Sorry" if mood == "sorry" else b"204 No Content"
        writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        return True

    def _note_burst(self) -> None:
        before, self._last = self._last, time.monotonic()
        if self._last - before > SILENCE:
            self._burst.set()

    def _mood(self) -> str:
        """`gone`: it has the event, and hangs up before it says so."""
        moods = {"calm": 975, "slow": 20, "gone": 3, "sorry": 2}
        (mood,) = self._luck.choices(list(moods), list(moods.values()))
        return mood


class Reader:
    """Somebody who reads the stream for as long as it takes."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._heard = Heard()
        self._reading: asyncio.Task[None] | None = None
        self.connections = 0

    async def open(self) -> None:
        self._reading = asyncio.create_task(self._read())

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def heard(self) -> Heard:
        if self._reading is not None and self._reading.done():
            self._heard.damaged[:] = [f"the reader gave up: {self._reading.exception()!r}"]
        return self._heard

    async def _read(self) -> None:
        raise NotImplementedError


class SseReader(Reader):
    """Lines, as the standard describes them; it comes back with `Last-Event-ID`."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._last = "0"

    async def _read(self) -> None:
        host, _, port = self.url.removeprefix("http://").partition(":")
        while True:
            with suppress(OSError, asyncio.IncompleteReadError):
                reader, writer = await asyncio.open_connection(host, int(port))
                try:
                    await self._follow(reader, writer)
                finally:
                    writer.transport.abort()
            await asyncio.sleep(COMES_BACK_AFTER)

    async def _follow(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        said = {"Host": self.url.removeprefix("http://"), "Last-Event-ID": self._last}
        lines = [f"{name}: {value}\r\n" for name, value in said.items()]
        writer.write(f"GET /events/stream HTTP/1.1\r\n{''.join(lines)}\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        assert b"transfer-encoding: chunked" in head.lower(), head
        self.connections += 1
        came = b""
        while size := int(await reader.readuntil(b"\r\n"), 16):
            came += (await reader.readexactly(size + 2))[:-2]
            *frames, came = came.split(b"\n\n")
            for frame in map(_fields, frames):
                if b"data" in frame:
                    self._take(frame)

    def _take(self, frame: dict[bytes, bytes]) -> None:
        """Whole ones only: half a frame is none."""
        if frame[b"event"] == b"log_reset":
            self._heard.damaged.append(f"the log was said to be reset after {self._last}")
            return
        self._heard.got.append(Got(orjson.loads(frame[b"data"])["id"], frame[b"data"]))
        self._last = frame[b"id"].decode()


class ClientReader(Reader):
    """`headwater.client`, with a cursor in a file; now and then its program starts anew."""

    def __init__(self, url: str, folder: Path, luck: random.Random) -> None:
        super().__init__(url)
        self._cursor, self._luck = FileCursor(folder / "cursor"), luck
        self._client = AsyncClient(url, patience=Patience(longest_rest=COMES_BACK_AFTER))

    async def _read(self) -> None:
        while True:
            self.connections += 1
            lasts = self._luck.uniform(2.0, 20.0)
            with suppress(TimeoutError):
                async with asyncio.timeout(lasts), aclosing(self._events()) as events:
                    async for event in events:
                        self._heard.got.append(event)

    async def _events(self) -> AsyncGenerator[Got, None]:
        async with aclosing(self._client.events("beginning", cursor=self._cursor)) as events:
            async for event in events:
                yield Got(event.id, _body(event))


def _fields(frame: bytes) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for line in frame.split(b"\n"):
        name, _, value = line.partition(b":")
        found[name] = value.removeprefix(b" ")
    return found


def _body(event: Event) -> bytes:
    """As it was sent: the client hands out its parts."""
    at = event.at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    parts = {"seq": event.seq, "id": event.id, "type": event.type, "at": at}
    return orjson.dumps({**parts, "feed_id": event.feed_id, "payload": event.payload})


def _headers(head: bytes) -> dict[str, str]:
    _, *lines = head.decode("latin-1").split("\r\n")[:-2]
    pairs = (line.partition(":") for line in lines)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}
