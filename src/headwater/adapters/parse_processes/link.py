"""Our end of a parse process: documents go out by one socket, answers come back by another."""

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
    """A document on its way. Its first answer counts: it may have been given to two processes,

    and its caller may have been cancelled meanwhile.
    """

    __slots__ = ("answer", "body", "given_twice", "job")

    def __init__(self, job: bytes, body: bytes, answer: asyncio.Future[ParserReply]) -> None:
        self.job = job
        self.body = body
        self.answer = answer
        self.given_twice = False

    def answered(self, reading: ParserReply) -> None:
        if not self.answer.done():
            self.answer.set_result(reading)


class ParseProcess(asyncio.Protocol):
    """One process. The first document `at_work` is the one it is reading now.

    `heard` is called with each answer, and with None when the process is ready. Answers have a
    socket of their own, which is read to its end: were it shared, writing to a process that has
    just died would throw away the answers it gave before, and blame the wrong document.
    """

    def __init__(
        self, heard: Callable[["ParseProcess", ParserReply | None], None], most_reply_bytes: int
    ) -> None:
        self._heard = heard
        self._most_reply_bytes = most_reply_bytes
        self._received = bytearray()
        self._documents: asyncio.WriteTransport | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.at_work: deque[PendingDocument] = deque()
        self.first_since = 0.0
        self.sent = 0
        self.takes_more = False
        self.was_ready = False
        self.is_overdue = False
        self.is_spent = False
        self.trouble = ""

    def send(self, document: PendingDocument, now: float) -> None:
        if not self.at_work:
            self.first_since = now
        self.at_work.append(document)
        self.sent += 1
        if self._documents is not None and not self._documents.is_closing():
            lengths = JOB.pack(len(document.job), len(document.body))
            self._documents.writelines((lengths, document.job, document.body))

    def is_slow(self, now: float, patience: float) -> bool:
        return bool(self.at_work) and now - self.first_since > patience

    def stuck_behind_the_first(self) -> list[PendingDocument]:
        """Documents not yet given to another process too; each is told only once."""
        stuck = [each for each in islice(self.at_work, 1, None) if not each.given_twice]
        for document in stuck:
            document.given_twice = True
        return stuck

    def take_no_more(self) -> None:
        """It finishes what it has, sees that no more will come, and ends."""
        self.takes_more = False
        if self._documents is not None:
            self._documents.close()

    def kill(self) -> None:
        self.takes_more = False
        if self.process is not None:
            self.process.kill()

    async def connect(self, documents: socket.socket, answers: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_unix_connection(asyncio.Protocol, sock=documents)
        self._documents = transport
        await loop.create_unix_connection(lambda: self, sock=answers)

    def connection_lost(self, error: Exception | None) -> None:
        """The end of its answers is the end of the process."""
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
            self._told(kind, payload)

    def _told(self, kind: int, payload: bytes) -> None:
        if kind == READY:
            self.takes_more = self.was_ready = True
            self._heard(self, None)
        elif kind == CANNOT_START:
            self.trouble = payload.decode("utf-8", "replace")
        elif not self.at_work:
            self._refuse("an answer nobody asked for")
        else:
            reading = self._reading(kind, payload)
            self.first_since = asyncio.get_running_loop().time()
            self.at_work.popleft().answered(reading)
            self._heard(self, reading)

    def _reading(self, kind: int, payload: bytes) -> ParserReply:
        if kind == READ:
            return ParserReply(payload)
        if kind == OUT_OF_MEMORY:
            self.takes_more, self.is_spent = False, True
            return ParserReply(error="parser_memory", detail="needed more memory than allowed")
        return ParserReply(error="parser_crashed", detail=payload.decode("utf-8", "replace"))

    def _refuse(self, trouble: str) -> None:
        """It does not speak as our own code does: something has taken it over."""
        self.trouble = trouble
        self._received.clear()
        self.kill()
