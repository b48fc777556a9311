"""A few parse processes: a document that kills one takes nothing else with it."""

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
"""Nothing else reaches a process that reads hostile bytes: there is no secret to find in it."""

_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "4194304", "MALLOC_TRIM_THRESHOLD_": "8388608"}
"""So much memory stays with a process between two documents: to give large blocks back and ask
for them anew took a thirtieth of its time. Only glibc knows these names."""


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Of one parse process. Beyond them it is killed and its document answered with an error."""

    cpu_seconds: int = 5
    wall_seconds: float = 30.0
    start_seconds: float = 60.0
    memory_bytes: int = 512 * 1024 * 1024
    reply_bytes: int = 128 * 1024 * 1024
    documents: int = 20_000
    """After so many a process makes room for a fresh one, before leaks could matter."""


class ProcessParsers:
    """`ports.Parsers`. Processes start with the first document, or with `start()`.

    Each has a few documents under way at once, so that it never waits for us. When one dies the
    first unanswered document was the culprit; the others go to another process. Documents stuck
    behind one that takes longer than `patience` are given to another process as well: reading
    changes nothing, so whoever answers first may win.
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
        self._places: set[asyncio.Task[None]] = set()
        self._watch: asyncio.TimerHandle | None = None
        self._closed = False

    async def start(self) -> None:
        """Sets all processes on their way; documents may be handed in at once."""
        if not self._places:
            self._failed_starts = 0
        while len(self._places) < self._count:
            place = asyncio.create_task(self._keep_one_running())
            self._places.add(place)
            place.add_done_callback(self._places.discard)
        self._keep_watching()

    async def read(self, job: bytes, body: bytes) -> ParserReply:
        if self._closed:
            raise RuntimeError("the parse processes have been closed")
        if not self._places:
            await self.start()
        answer: asyncio.Future[ParserReply] = asyncio.get_running_loop().create_future()
        self._waiting.append(PendingDocument(job, body, answer))
        self._hand_out()
        return await answer

    async def close(self, grace: float = 2.0) -> None:
        """Ends every process; one that does not end in time is killed. Nobody is left waiting."""
        self._closed = True
        if self._watch is not None:
            self._watch.cancel()
        for child in self._children:
            child.take_no_more()
        if self._places:
            await asyncio.wait(self._places, timeout=grace)
        for child in self._children:
            child.kill()
        if self._places:
            await asyncio.wait(self._places)
        for document in self._waiting:
            document.answer.cancel()
        self._waiting.clear()

    async def _keep_one_running(self) -> None:
        """One place: a process, and the next one when it has ended."""
        trouble = ""
        while not self._closed and self._failed_starts < self._most_failed_starts:
            child = ParseProcess(self._heard, self._limits.reply_bytes)
            try:
                await self._begin(child)
            except OSError as error:
                trouble = str(error)
                self._failed_starts += 1
                continue
            await child.lost
            trouble = child.trouble
            self._bury(child, await asyncio.to_thread(_exit_code, child))
        if self._failed_starts >= self._most_failed_starts:
            self._give_up(trouble)

    async def _begin(self, child: ParseProcess) -> None:
        documents, theirs_to_read = _wide_pair()
        answers, theirs_to_write = _wide_pair()
        with theirs_to_read, theirs_to_write:
            ends = (theirs_to_read.fileno(), theirs_to_write.fileno())
            try:
                child.process = await asyncio.to_thread(self._spawn, ends)
                child.first_since = asyncio.get_running_loop().time()
                await child.connect(documents, answers)
            except BaseException:
                documents.close()
                answers.close()
                child.kill()
                raise
        self._children.append(child)
        if self._closed:  # while it was starting
            child.take_no_more()

    def _spawn(self, ends: tuple[int, int]) -> subprocess.Popen[bytes]:
        limits = self._limits
        numbers = (*ends, limits.cpu_seconds, limits.memory_bytes, self._niceness)
        program = (sys.executable, "-P", "-m", "headwater.adapters.parse_processes.child")
        kept = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
        return subprocess.Popen(  # noqa: S603 -- our own interpreter, our own module
            [*program, self._reader, *map(str, numbers)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=ends,
            env=kept | _MEMORY,
        )

    def _heard(self, child: ParseProcess, reading: ParserReply | None) -> None:
        """A child is ready, or has answered its first document."""
        if reading is None:
            self._failed_starts = 0
        elif child.sent >= self._limits.documents and not child.at_work:
            child.take_no_more()
        self._hand_out()

    def _hand_out(self) -> None:
        """Each waiting document to the least busy process that has room."""
        now = asyncio.get_running_loop().time()
        while self._waiting:
            free = [child for child in self._children if self._has_room(child, now)]
            if not free:
                return
            document = self._waiting.popleft()
            if not document.answer.done():  # else its caller was cancelled meanwhile
                min(free, key=lambda child: len(child.at_work)).send(document, now)

    def _has_room(self, child: ParseProcess, now: float) -> bool:
        return (
            child.takes_more
            and len(child.at_work) < self._under_way
            and child.sent < self._limits.documents
            and not child.is_slow(now, self._patience)
        )

    def _bury(self, child: ParseProcess, exit_code: int) -> None:
        """Blames the first unanswered document; the innocent ones go back to the front."""
        self._children.remove(child)
        if not child.was_ready:
            self._failed_starts += 1
        unanswered = list(child.at_work)
        child.at_work.clear()
        if self._closed:
            for document in unanswered:
                document.answer.cancel()
            return
        if unanswered and not child.is_spent:
            unanswered.pop(0).answered(self._blame(child, exit_code))
        self._put_back(unanswered)

    def _put_back(self, documents: list[PendingDocument]) -> None:
        self._waiting.extendleft(reversed(documents))
        self._hand_out()

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
        """No process starts: better a plain answer than waiting for ever. The next read retries.

        No document is to blame: it is the machine's trouble (memory, descriptors, installation).
        """
        if any(child.takes_more for child in self._children):
            return
        detail = f"no parse process can be started: {trouble or 'it does not get ready'}"
        while self._waiting:
            self._waiting.popleft().answered(ParserReply(error="parser_unavailable", detail=detail))

    def _does_not_start(self, child: ParseProcess, now: float) -> bool:
        return not child.was_ready and now - child.first_since > self._limits.start_seconds

    def _keep_watching(self) -> None:
        """Looks a few times per limit for children that are slow, or do not answer at all."""
        loop = asyncio.get_running_loop()
        now, longest = loop.time(), self._limits.wall_seconds
        for child in list(self._children):
            if child.is_slow(now, longest) or self._does_not_start(child, now):
                child.is_overdue = True
                child.kill()
            elif child.is_slow(now, self._patience):
                self._put_back(child.stuck_behind_the_first())
        pause = min(longest / 4, self._patience)
        self._watch = loop.call_later(pause, self._keep_watching) if self._places else None


def _wide_pair() -> tuple[socket.socket, socket.socket]:
    """Room for whole documents, so that neither side waits for the other in the middle of one."""
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    return ours, theirs


def _exit_code(child: ParseProcess) -> int:
    """Its socket is closed, so it is ending; what closed its socket and stays is killed."""
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
