"""The link to a parse process: documents go out by one socket, replies come back by another."""

import asyncio
import socket
import subprocess
from collections import deque
from collections.abc import Callable
from itertools import islice

from headwater.adapters.parse_processes.child import (
    CANNOT_START,
    JOB,
    OUT_OF_MEMORY,
    READ,
    READY,
    REPLY,
)
from headwater.feeds.ports import ParserReply


class PendingDocument:
    """A document that waits for its reply. The first reply counts: two processes may have the
    document, and its caller may have been cancelled meanwhile.
    """

    __slots__ = ("body", "job", "reply", "sent_twice")

    def __init__(self, job: bytes, body: bytes, reply: asyncio.Future[ParserReply]) -> None:
        self.job = job
        self.body = body
        self.reply = reply
        self.sent_twice = False

    def set_reply(self, reply: ParserReply) -> None:
        if not self.reply.done():
            self.reply.set_result(reply)


class ParseProcess(asyncio.Protocol):
    """One parse process. The first of its `documents` is the one that it reads now.

    `on_reply` is called with each reply, and with None when the process is ready. Replies have a
    socket of their own, which is read to its end: were it shared, writing to a process that has
    just died would throw away the replies that it sent before, and blame the wrong document.
    """

    def __init__(
        self, on_reply: Callable[["ParseProcess", ParserReply | None], None], most_reply_bytes: int
    ) -> None:
        self._on_reply = on_reply
        self._most_reply_bytes = most_reply_bytes
        self._received = bytearray()
        self._transport: asyncio.WriteTransport | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.documents: deque[PendingDocument] = deque()
        self.first_since = 0.0
        self.sent = 0
        self.takes_more = False
        self.was_ready = False
        self.is_overdue = False
        self.is_spent = False
        self.trouble = ""

    def send(self, document: PendingDocument, now: float) -> None:
        if not self.documents:
            self.first_since = now
        self.documents.append(document)
        self.sent += 1
        if self._transport is not None and not self._transport.is_closing():
            lengths = JOB.pack(len(document.job), len(document.body))
            self._transport.writelines((lengths, document.job, document.body))

    def is_slow(self, now: float, patience: float) -> bool:
        return bool(self.documents) and now - self.first_since > patience

    def take_stuck_documents(self) -> list[PendingDocument]:
        """Take the documents behind the first, for another process as well, each only once."""
        behind_first = islice(self.documents, 1, None)
        stuck = [document for document in behind_first if not document.sent_twice]
        for document in stuck:
            document.sent_twice = True
        return stuck

    def take_no_more(self) -> None:
        """Send no more documents. The process finishes those it has, and ends."""
        self.takes_more = False
        if self._transport is not None:
            self._transport.close()

    def kill(self) -> None:
        self.takes_more = False
        if self.process is not None:
            self.process.kill()

    async def connect(self, documents: socket.socket, replies: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_unix_connection(asyncio.Protocol, sock=documents)
        self._transport = transport
        await loop.create_unix_connection(lambda: self, sock=replies)

    def connection_lost(self, error: Exception | None) -> None:
        """When the socket of replies ends, the process ends too."""
        self.take_no_more()
        if not self.lost.done():
            self.lost.set_result(None)

    def data_received(self, chunk: bytes) -> None:
        received = self._received
        received += chunk
        while len(received) >= REPLY.size:
            kind, length = REPLY.unpack_from(received)
            end = REPLY.size + length
            if length > self._most_reply_bytes:
                self._refuse("an answer beyond all bounds")
                return
            if len(received) < end:
                return
            with memoryview(received) as view:
                payload = bytes(view[REPLY.size : end])
            del received[:end]
            self._on_message(kind, payload)

    def _on_message(self, kind: int, payload: bytes) -> None:
        if kind == READY:
            self.takes_more = self.was_ready = True
            self._on_reply(self, None)
        elif kind == CANNOT_START:
            self.trouble = payload.decode("utf-8", "replace")
        elif not self.documents:
            self._refuse("an answer nobody asked for")
        else:
            reply = self._reply(kind, payload)
            self.first_since = asyncio.get_running_loop().time()
            self.documents.popleft().set_reply(reply)
            self._on_reply(self, reply)

    def _reply(self, kind: int, payload: bytes) -> ParserReply:
        if kind == READ:
            return ParserReply(payload)
        if kind == OUT_OF_MEMORY:
            self.takes_more, self.is_spent = False, True
            return ParserReply(error="parser_memory", detail="needed more memory than allowed")
        return ParserReply(error="parser_crashed", detail=payload.decode("utf-8", "replace"))

    def _refuse(self, trouble: str) -> None:
        """Kill a process that does not keep to our protocol: something has taken it over."""
        self.trouble = trouble
        self._received.clear()
        self.kill()
