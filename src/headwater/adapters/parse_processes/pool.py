"""A pool of parse processes: a document that kills one process harms no other document."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from dataclasses import dataclass

from headwater.adapters.parse_processes.link import ParseProcess, PendingDocument
from headwater.feeds.ports import ParserReply

_KEPT_ENVIRONMENT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TZ")
"""A process that reads hostile bytes gets nothing else, so it holds no secret."""

_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "4194304", "MALLOC_TRIM_THRESHOLD_": "8388608"}
"""A process keeps so much memory between two documents: returning large blocks and asking for
them anew took a thirtieth of its time. Only glibc knows these names."""


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """The limits of one parse process. Beyond them it is killed, and its document gets an error."""

    cpu_seconds: int = 5
    wall_seconds: float = 30.0
    start_seconds: float = 60.0
    memory_bytes: int = 512 * 1024 * 1024
    reply_bytes: int = 128 * 1024 * 1024
    documents: int = 20_000
    """After so many documents a fresh process takes over, before leaks could matter."""


class ProcessParsers:
    """The `Parsers` port. Processes start with the first document, or with `start()`.

    Each has a few documents under way at once, so that it never waits for us. When a process dies,
    its first document without a reply is to blame; the others go to another process. Documents
    behind one that takes longer than `patience` are sent to another process as well: reading
    changes nothing, so the first reply may win.
    """

    def __init__(
        self,
        count: int = 2,
        limits: ProcessLimits | None = None,
        *,
        under_way: int = 4,
        patience: float = 0.25,
        niceness: int = 5,
        reader: str = "headwater.feeds.read_document:read_job",
        most_failed_starts: int = 3,
    ) -> None:
        self._count = count
        self._limits = limits or ProcessLimits()
        self._under_way = under_way
        self._patience = patience
        self._niceness = niceness
        self._reader = reader
        self._most_failed_starts = most_failed_starts
        self._failed_starts = 0
        self._children: list[ParseProcess] = []
        self._waiting: deque[PendingDocument] = deque()
        self._slots: set[asyncio.Task[None]] = set()
        self._watch: asyncio.TimerHandle | None = None
        self._closed = False

    async def start(self) -> None:
        """Start all processes. Documents are taken at once."""
        if not self._slots:
            self._failed_starts = 0
        while len(self._slots) < self._count:
            slot = asyncio.create_task(self._keep_one_running())
            self._slots.add(slot)
            slot.add_done_callback(self._slots.discard)
        self._keep_watching()

    async def read(self, job: bytes, body: bytes) -> ParserReply:
        if self._closed:
            raise RuntimeError("the parse processes have been closed")
        if not self._slots:
            await self.start()
        reply: asyncio.Future[ParserReply] = asyncio.get_running_loop().create_future()
        self._waiting.append(PendingDocument(job, body, reply))
        self._send_waiting()
        return await reply

    async def close(self, grace: float = 2.0) -> None:
        """End every process, and kill one that does not end in time. No caller is left waiting."""
        self._closed = True
        if self._watch is not None:
            self._watch.cancel()
        for child in self._children:
            child.take_no_more()
        if self._slots:
            await asyncio.wait(self._slots, timeout=grace)
        for child in self._children:
            child.kill()
        if self._slots:
            await asyncio.wait(self._slots)
        for document in self._waiting:
            document.reply.cancel()
        self._waiting.clear()

    async def _keep_one_running(self) -> None:
        """Fill one slot: run a process, and the next one when it has ended."""
        trouble = ""
        while not self._closed and self._failed_starts < self._most_failed_starts:
            child = ParseProcess(self._on_reply, self._limits.reply_bytes)
            try:
                await self._start_child(child)
            except OSError as error:
                trouble = str(error)
                self._failed_starts += 1
                continue
            await child.lost
            trouble = child.trouble
            self._handle_end(child, await asyncio.to_thread(_exit_code, child))
        if self._failed_starts >= self._most_failed_starts:
            self._give_up(trouble)

    async def _start_child(self, child: ParseProcess) -> None:
        documents, childs_documents = _wide_pair()
        replies, childs_replies = _wide_pair()
        with childs_documents, childs_replies:
            ends = (childs_documents.fileno(), childs_replies.fileno())
            try:
                child.process = await asyncio.to_thread(self._spawn, ends)
                child.first_since = asyncio.get_running_loop().time()
                await child.connect(documents, replies)
            except BaseException:
                documents.close()
                replies.close()
                child.kill()
                raise
        self._children.append(child)
        if self._closed:  # the pool was closed while the process started
            child.take_no_more()

    def _spawn(self, ends: tuple[int, int]) -> subprocess.Popen[bytes]:
        limits = self._limits
        numbers = (*ends, limits.cpu_seconds, limits.memory_bytes, self._niceness)
        program = (sys.executable, "-P", "-m", "headwater.adapters.parse_processes.child")
        environment = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
        return subprocess.Popen(  # noqa: S603 -- our own interpreter, our own module
            [*program, self._reader, *map(str, numbers)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=ends,
            env=environment | _MEMORY,
        )

    def _on_reply(self, child: ParseProcess, reply: ParserReply | None) -> None:
        """The child is ready, or it has replied to its first document."""
        if reply is None:
            self._failed_starts = 0
        elif child.sent >= self._limits.documents and not child.documents:
            child.take_no_more()
        self._send_waiting()

    def _send_waiting(self) -> None:
        """Send each waiting document to the least busy process that has room."""
        now = asyncio.get_running_loop().time()
        while self._waiting:
            free = [child for child in self._children if self._has_room(child, now)]
            if not free:
                return
            document = self._waiting.popleft()
            if not document.reply.done():  # else its caller was cancelled meanwhile
                min(free, key=lambda child: len(child.documents)).send(document, now)

    def _has_room(self, child: ParseProcess, now: float) -> bool:
        return (
            child.takes_more
            and len(child.documents) < self._under_way
            and child.sent < self._limits.documents
            and not child.is_slow(now, self._patience)
        )

    def _handle_end(self, child: ParseProcess, exit_code: int) -> None:
        """Blame the first document without a reply; the others go back to the front."""
        self._children.remove(child)
        if not child.was_ready:
            self._failed_starts += 1
        unanswered = list(child.documents)
        child.documents.clear()
        if self._closed:
            for document in unanswered:
                document.reply.cancel()
            return
        if unanswered and not child.is_spent:
            unanswered.pop(0).set_reply(self._blame(child, exit_code))
        self._put_back(unanswered)

    def _put_back(self, documents: list[PendingDocument]) -> None:
        self._waiting.extendleft(reversed(documents))
        self._send_waiting()

    def _blame(self, child: ParseProcess, exit_code: int) -> ParserReply:
        if child.is_overdue:
            detail = f"no answer within {self._limits.wall_seconds:g} s"
            return ParserReply(error="parser_timeout", detail=detail)
        if exit_code == -signal.SIGXCPU:
            detail = f"used more than {self._limits.cpu_seconds} s of CPU"
            return ParserReply(error="parser_timeout", detail=detail)
        detail = child.trouble or _ending_in_words(exit_code)
        return ParserReply(error="parser_crashed", detail=detail)

    def _give_up(self, trouble: str) -> None:
        """Answer all waiting documents with an error, as no process starts. The next read retries.

        No document is to blame but the machine (memory, descriptors, installation).
        """
        if any(child.takes_more for child in self._children):
            return
        detail = f"no parse process can be started: {trouble or 'it does not get ready'}"
        while self._waiting:
            self._waiting.popleft().set_reply(
                ParserReply(error="parser_unavailable", detail=detail)
            )

    def _does_not_start(self, child: ParseProcess, now: float) -> bool:
        return not child.was_ready and now - child.first_since > self._limits.start_seconds

    def _keep_watching(self) -> None:
        """Look a few times per limit for children that are slow, or do not reply at all."""
        loop = asyncio.get_running_loop()
        now, longest = loop.time(), self._limits.wall_seconds
        for child in list(self._children):
            if child.is_slow(now, longest) or self._does_not_start(child, now):
                child.is_overdue = True
                child.kill()
            elif child.is_slow(now, self._patience):
                self._put_back(child.take_stuck_documents())
        pause = min(longest / 4, self._patience)
        self._watch = loop.call_later(pause, self._keep_watching) if self._slots else None


def _wide_pair() -> tuple[socket.socket, socket.socket]:
    """Sockets with room for whole documents, so that no side waits in the middle of one."""
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    return ours, theirs


def _exit_code(child: ParseProcess) -> int:
    """Wait for its end, as its socket is closed. A process that closed it and stays is killed."""
    process = child.process
    if process is None:
        raise RuntimeError("the child was never started")
    try:
        return process.wait(timeout=1.0)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _ending_in_words(exit_code: int) -> str:
    if exit_code >= 0:
        return f"the parse process ended with code {exit_code}"
    return f"the parse process was ended by {signal.Signals(-exit_code).name}"
