"""Parse processes: fast in peace, expendable in trouble."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from headwater.adapters.parse_processes.pool import ProcessLimits, ProcessParsers
from headwater.feeds.ports import ParserReply

ROOT = str(Path(__file__).parents[3])


@pytest.fixture(autouse=True)
def _odd_readers_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ROOT)


@asynccontextmanager
async def parsers(
    limits: ProcessLimits | None = None,
    reader: str = "tests.support.odd_readers:read_oddly",
    **how: Any,
) -> AsyncIterator[ProcessParsers]:
    made = ProcessParsers(limits=limits, reader=reader, **how)
    try:
        yield made
    finally:
        await made.close()


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_every_document_gets_its_own_answer() -> None:
    async with parsers() as pool:
        readings = await asyncio.gather(
            *(pool.read(b"job %d" % n, b"body %d" % n * n) for n in range(300))
        )
    assert readings == [ParserReply(b"job %d|" % n + b"body %d" % n * n) for n in range(300)]


async def test_documents_of_any_size_pass() -> None:
    huge = os.urandom(9_000_000)
    async with parsers() as pool:
        readings = await asyncio.gather(*(pool.read(b"", body) for body in (huge, b"", huge)))
    assert [reading.payload for reading in readings] == [b"|" + huge, b"|", b"|" + huge]


async def test_work_is_spread_over_all_processes() -> None:
    async with parsers(count=3) as pool:
        await pool.start()
        pids = {(await pool.read(b"who", b"")).payload for _ in range(1)}
        while len(pids) < 3:
            readings = await asyncio.gather(*(pool.read(b"who", b"") for _ in range(12)))
            pids |= {reading.payload for reading in readings}
    assert len(pids) == 3
    assert str(os.getpid()).encode() not in pids


@pytest.mark.parametrize(
    ("trouble", "error", "detail"),
    [
        (b"segfault", "parser_crashed", "the parse process was ended by SIGSEGV"),
        (b"exit", "parser_crashed", "the parse process ended with code 7"),
        (b"raise", "parser_crashed", "ValueError: what a strange document"),
        (b"eat", "parser_memory", "needed more memory than allowed"),
    ],
)
async def test_a_document_that_kills_its_process_harms_no_other(
    trouble: bytes, error: str, detail: str
) -> None:
    """Eight innocent documents are queued behind and before the culprit, on the same process."""
    async with parsers(count=1) as pool:
        jobs = [b"a", b"b", trouble, b"c", b"d", trouble, b"e", b"f", b"g"]
        readings = await asyncio.gather(*(pool.read(job, b"") for job in jobs))
        assert [reading.payload for reading in readings if reading.error is None] == [
            b"a|",
            b"b|",
            b"c|",
            b"d|",
            b"e|",
            b"f|",
            b"g|",
        ]
        assert [readings[2], readings[5]] == [ParserReply(error=error, detail=detail)] * 2
        assert await pool.read(b"still", b"here") == ParserReply(b"still|here")


async def test_a_document_that_hangs_is_ended_by_the_wall_clock() -> None:
    async with parsers(ProcessLimits(wall_seconds=1.0), count=1) as pool:
        await pool.read(b"warm", b"")
        hung, after = await asyncio.gather(pool.read(b"hang", b""), pool.read(b"next", b""))
    assert hung == ParserReply(error="parser_timeout", detail="no answer within 1 s")
    assert after == ParserReply(b"next|")


async def test_a_document_that_spins_is_ended_by_its_cpu_limit() -> None:
    async with parsers(ProcessLimits(cpu_seconds=1, wall_seconds=300), count=1, niceness=0) as pool:
        spun, after = await asyncio.gather(pool.read(b"spin", b""), pool.read(b"next", b""))
    assert spun == ParserReply(error="parser_timeout", detail="used more than 1 s of CPU")
    assert after == ParserReply(b"next|")


async def test_documents_stuck_behind_a_slow_one_are_read_elsewhere() -> None:
    """Each process has the slow document first, or could have, and three others behind it."""
    async with parsers(count=2, patience=0.02) as pool:
        hung = asyncio.create_task(pool.read(b"hang", b""))
        readings = await asyncio.gather(*(pool.read(b"%d" % n, b"") for n in range(6)))
        assert [reading.payload for reading in readings] == [b"%d|" % n for n in range(6)]
        assert not hung.done()
        await pool.close(grace=0)
        with pytest.raises(asyncio.CancelledError):
            await hung


async def test_no_document_is_lost_when_every_process_hangs_and_is_ended() -> None:
    jobs = [b"hang", b"hang", *(b"%d" % n for n in range(6))]
    async with parsers(ProcessLimits(wall_seconds=0.6), count=2, patience=0.02) as pool:
        await asyncio.gather(pool.read(b"warm", b""), pool.read(b"warm", b""))
        readings = await asyncio.gather(*(pool.read(job, b"") for job in jobs))
    assert [reading.error for reading in readings] == ["parser_timeout"] * 2 + [None] * 6
    assert [reading.payload for reading in readings[2:]] == [b"%d|" % n for n in range(6)]


async def test_closing_while_processes_start_leaves_none_behind() -> None:
    async with parsers(count=2) as pool:
        await pool.start()
        await asyncio.sleep(0)
        await pool.close(grace=5)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_process_killed_from_outside_is_replaced() -> None:
    async with parsers(count=1) as pool:
        first = int((await pool.read(b"who", b"")).payload)
        os.kill(first, signal.SIGKILL)
        second = await pool.read(b"who", b"")
        while second.error is not None:  # it may have been handed over just before the death
            second = await pool.read(b"who", b"")
    assert int(second.payload) != first


async def test_stop_signals_meant_for_the_service_do_not_end_a_process() -> None:
    async with parsers(count=1) as pool:
        pid = int((await pool.read(b"who", b"")).payload)
        os.kill(pid, signal.SIGINT)
        os.kill(pid, signal.SIGTERM)
        assert int((await pool.read(b"who", b"")).payload) == pid


async def test_a_process_makes_room_for_a_fresh_one_after_its_share() -> None:
    async with parsers(ProcessLimits(documents=5), count=1) as pool:
        readings = await asyncio.gather(*(pool.read(b"who", b"") for _ in range(20)))
    by_process = [reading.payload for reading in readings]
    assert [by_process.count(pid) for pid in dict.fromkeys(by_process)] == [5, 5, 5, 5]


async def test_close_ends_every_process_also_one_that_hangs() -> None:
    async with parsers(count=2) as pool:
        pids = {int((await pool.read(b"who", b"")).payload) for _ in range(4)}
        hung = asyncio.create_task(pool.read(b"hang", b""))
        await asyncio.sleep(0)
        await pool.close(grace=0.05)
        assert hung.cancelled() or hung.cancelling() or hung.done()
    assert not any(is_running(pid) for pid in pids)
    with pytest.raises(RuntimeError):
        await pool.read(b"late", b"")


async def test_close_lets_a_process_finish_what_it_has() -> None:
    async with parsers(count=1) as pool:
        await pool.read(b"warm", b"")
        last = asyncio.create_task(pool.read(b"last", b"words"))
        await asyncio.sleep(0)
        await pool.close()
        assert await last == ParserReply(b"last|words")


async def test_closing_what_never_started_is_fine() -> None:
    await ProcessParsers().close()


async def test_no_task_and_no_process_is_left_behind() -> None:
    async with parsers() as pool:
        pid = int((await pool.read(b"who", b"")).payload)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert not is_running(pid)


async def test_a_cancelled_caller_does_not_disturb_the_order() -> None:
    async with parsers(count=1) as pool:
        await pool.read(b"warm", b"")
        calls = [asyncio.create_task(pool.read(b"%d" % n, b"")) for n in range(12)]
        await asyncio.sleep(0)
        calls[1].cancel()
        calls[10].cancel()
        ended = await asyncio.gather(*calls, return_exceptions=True)
    kept = [outcome for outcome in ended if isinstance(outcome, ParserReply)]
    assert [reading.payload for reading in kept] == [
        b"%d|" % n for n in range(12) if n not in (1, 10)
    ]


@pytest.mark.parametrize(
    ("reader", "detail"),
    [
        ("tests.adapters.no_such_module:read", "ModuleNotFoundError"),
        ("tests.support.odd_readers:no_such_function", "AttributeError"),
    ],
)
async def test_a_process_that_cannot_start_is_told_and_nobody_waits(
    reader: str, detail: str
) -> None:
    async with parsers(reader=reader) as pool:
        readings = await asyncio.gather(*(pool.read(b"job", b"") for _ in range(3)))
        again = await pool.read(b"job", b"")
    assert {reading.error for reading in [*readings, again]} == {"parser_unavailable"}
    assert detail in again.detail


async def test_a_process_that_never_gets_ready_is_ended() -> None:
    async with parsers(
        ProcessLimits(start_seconds=0.05), reader="tests.support.endless_start:x"
    ) as pool:
        reading = await pool.read(b"job", b"")
    assert reading.error == "parser_unavailable"
    assert reading.detail == "no parse process can be started: it does not get ready"


async def test_hostile_bytes_meet_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://user:secret@db/headwater")
    async with parsers(count=1) as pool:
        names = (await pool.read(b"environment", b"")).payload.split(b",")
    assert b"DATABASE_URL" not in names


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="only Linux lists a process's files")
async def test_hostile_bytes_meet_no_open_file_of_ours() -> None:
    """Open are the three standard ones, the two sockets, and the listing itself."""
    reading_end, writing_end = os.pipe()
    os.set_inheritable(reading_end, True)
    async with parsers(count=1) as pool:
        files = (await pool.read(b"files", b"")).payload.split(b",")
    os.close(reading_end)
    os.close(writing_end)
    assert len(files) == 6


async def test_parse_processes_are_nicer_than_the_service() -> None:
    async with parsers(count=1, niceness=3) as pool:
        assert int((await pool.read(b"nice", b"")).payload) == os.nice(0) + 3
