"""The event stream over real sockets: slow readers, many readers, readers that leave."""

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headwater.adapters.clock import SystemClock
from headwater.adapters.database import SqlDatabase
from headwater.settings import Settings
from tests.support.api_server import Served, served
from tests.support.engine_parts import EngineParts
from tests.support.scripted_engine import ScriptedWeb, an_engine

LARGE = "x" * 20_000


@pytest.fixture
def engine(database: SqlDatabase, tmp_path: Path) -> EngineParts:
    return an_engine(database, SystemClock(), ScriptedWeb(), tmp_path)


@pytest.fixture
async def service(engine: EngineParts, tmp_path: Path) -> AsyncIterator[Served]:
    settings = Settings(data_dir=tmp_path, port=0, stream_slow_seconds=1, stop_seconds=5)
    async with served(engine, settings) as running:
        yield running


async def opened(
    service: Served, after: int = 0, **how: int
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = service.place
    reader, writer = await asyncio.open_connection(host, port, **how)
    writer.write(
        b"GET /events/stream HTTP/1.1\r\nHost: %b\r\nLast-Event-ID: %d\r\n\r\n"
        % (host.encode(), after)
    )
    await reader.readuntil(b"retry: 3000\n")
    return reader, writer


async def until_no_stream_is_open(service: Served) -> None:
    while service.desk.live.open:  # noqa: ASYNC110 -- it tells nobody
        await asyncio.sleep(0.01)


async def test_a_reader_that_does_not_read_is_dropped_and_goes_on_without_a_gap(
    service: Served,
) -> None:
    await service.tell(500, text=LARGE)
    host, port = service.place
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8_192)
        slow.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(slow, (host, port))
        ask = b"GET /events/stream?after=0 HTTP/1.1\r\nHost: %b\r\n\r\n" % host.encode()
        await loop.sock_sendall(slow, ask)
        came = await loop.sock_recv(slow, 100_000)
        await asyncio.wait_for(until_no_stream_is_open(service), 20)
        try:
            while more := await loop.sock_recv(slow, 100_000):
                came += more
        except ConnectionError:
            pass  # the rest is lost, as with any connection that breaks
    ids = [int(line[4:]) for line in came.split(b"\n")[:-1] if line.startswith(b"id: ")]
    got = ids[-2]  # the frame of the last one may be torn
    assert got < 500
    reader, writer = await opened(service, after=got)
    rest = b""
    while b"id: 500\n" not in rest:
        rest += await reader.read(1_000_000)
    seen = [int(line[4:]) for line in rest.split(b"\n") if line.startswith(b"id: ")]
    assert seen[-1] == 500
    assert sorted(set(seen) - {got}) == list(range(got + 1, 501))
    writer.close()


async def test_a_slow_reader_delays_no_other(service: Served) -> None:
    stuck, stuck_writer = await opened(service, limit=1_024)
    quick, writer = await opened(service)
    await service.tell(500, text=LARGE)
    rest = b""
    while b"id: 500\n" not in rest:
        rest += await asyncio.wait_for(quick.read(1_000_000), 20)
    assert stuck is not quick
    stuck_writer.close()
    writer.close()


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_more_readers_than_ordinary_connections_are_welcome(service: Served) -> None:
    crowd = [await opened(service) for _ in range(600)]
    assert service.desk.live.open == 600
    await service.tell(1)
    told = await asyncio.gather(*(reader.readuntil(b'"number":0}}\n\n') for reader, _ in crowd))
    assert len(told) == 600
    for _, writer in crowd:
        writer.close()
    await asyncio.wait_for(until_no_stream_is_open(service), 20)


async def test_a_reader_that_leaves_is_not_counted_any_more(service: Served) -> None:
    _, writer = await opened(service)
    assert service.desk.live.open == 1
    writer.transport.abort()
    await asyncio.wait_for(until_no_stream_is_open(service), 20)


async def test_a_stopping_service_ends_every_stream_with_an_end(
    engine: EngineParts, tmp_path: Path
) -> None:
    settings = Settings(data_dir=tmp_path, port=0, stop_seconds=5)
    async with served(engine, settings) as service:
        readers = [await opened(service) for _ in range(3)]
    for reader, writer in readers:
        assert (await reader.read()).endswith(b"0\r\n\r\n")
        writer.close()
