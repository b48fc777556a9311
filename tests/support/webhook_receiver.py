"""A webhook's receiver on loopback that answers whatever a test likes, however wrong it is.

    async with Receiver() as receiver:
        receiver.url                                    # http://127.0.0.1:PORT/in
        receiver.answers = [answer(500), answer(204)]   # the last one is repeated for ever
        receiver.messages                               # every message that came, whole

An answer may also be an async function that gets the `Reply` and does what it likes. `verified` is
a consumer's side of Standard Webhooks, written from its text and not from our code.
"""

import asyncio
import base64
import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self


@dataclass(frozen=True, slots=True)
class Message:
    """One request as it came; names of headers in lower case."""

    line: str
    headers: Mapping[str, str]
    body: bytes
    connection: int

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


@dataclass(slots=True)
class Reply:
    """The way back. `sent` counts bytes that were handed to the network."""

    message: Message
    writer: asyncio.StreamWriter
    sent: int = 0

    async def say(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()
            self.sent += len(piece)

    async def say_for_ever(self, piece: bytes, every: float = 0.0) -> None:
        while True:
            await self.say(piece)
            await asyncio.sleep(every)


Answer = bytes | Callable[[Reply], Awaitable[None]]


def answer(status: int, body: bytes = b"", **headers: str) -> bytes:
    """Well-formed. `Retry_After=…` becomes `Retry-After: …`."""
    fields = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    lines = [f"HTTP/1.1 {status} Said", *fields, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


@dataclass
class Receiver:
    answers: list[Answer] = field(default_factory=lambda: [answer(204)])
    messages: list[Message] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    connections: int = 0
    open: int = 0
    most_open: int = 0
    """Messages being answered, and how many at once there ever were."""
    port: int = 0
    _server: asyncio.Server | None = None
    _talks: set[asyncio.Task[None]] = field(default_factory=set)
    _came: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/in"

    @property
    def received(self) -> list[tuple[str, bytes]]:
        return [(message.id, message.body) for message in self.messages]

    async def asked(self, times: int) -> None:
        while len(self.messages) < times:
            self._came.clear()
            await self._came.wait()

    async def listen(self) -> None:
        """On the port it had before, if it had one."""
        self._server = await asyncio.start_server(self._meet, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def go_away(self) -> None:
        """Nobody is there any more: connections end, new ones are refused."""
        assert self._server is not None
        self._server.close()
        for talk in tuple(self._talks):
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    async def __aenter__(self) -> Self:
        await self.listen()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        trouble: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        await self.go_away()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._talks.add(task)
        self.connections += 1
        try:
            while True:
                await self._answer(await self._message(reader, self.connections), writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the sender left, or the test is over
        finally:
            self._talks.discard(task)
            writer.close()

    async def _message(self, reader: asyncio.StreamReader, connection: int) -> Message:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *fields = head.split("\r\n")
        pairs = (field.partition(": ") for field in fields if field)
        headers = {name.lower(): value for name, _, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        return Message(line, headers, body, connection)

    async def _answer(self, message: Message, writer: asyncio.StreamWriter) -> None:
        self.messages.append(message)
        self._came.set()
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        said = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        reply = Reply(message, writer)
        self.replies.append(reply)
        try:
            await (reply.say(said) if isinstance(said, bytes) else said(reply))
        finally:
            self.open -= 1


class NotVerified(Exception):
    """A consumer would throw this message away."""


def verified(secret: str, message: Message, now: float, *, tolerance: float = 300.0) -> str:
    """The message's id, by the letter of Standard Webhooks: HMAC-SHA256 with the decoded secret
    over `id.timestamp.payload`, base64, any of the `v1` signatures in the list."""
    name, stamp = message.headers["webhook-id"], message.headers["webhook-timestamp"]
    if abs(now - int(stamp)) > tolerance:
        raise NotVerified("too old, or from the future")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = b".".join([name.encode(), stamp.encode(), message.body])
    expected = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    for each in message.headers["webhook-signature"].split(" "):
        version, _, signature = each.partition(",")
        if version == "v1" and hmac.compare_digest(signature, expected):
            return name
    raise NotVerified("no signature fits")
