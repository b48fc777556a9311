"""Events as an iterator, over real sockets: each number once, whatever happens on the way."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from headwater.adapters.clock import SystemClock
from headwater.adapters.database import SqlDatabase
from headwater.auth import token_rows
from headwater.auth.tokens import token_hash
from headwater.client import AsyncClient, Client, Event, FileCursor, LogReset, Refusal, Unreachable
from headwater.entrypoints.api.events import events as stream
from headwater.settings import Settings
from tests.support.api_server import Served, served
from tests.support.both_clients import KINDS, Kind, events
from tests.support.engine_parts import EngineParts
from tests.support.scripted_engine import ScriptedWeb, an_engine

ADMIN = "an-admin-token-of-the-tests"

pytestmark = [
    pytest.mark.parametrize("dialect", ["sqlite"], indirect=True),
    pytest.mark.parametrize("kind", KINDS),
]


@pytest.fixture
def engine(database: SqlDatabase, tmp_path: Path) -> EngineParts:
    return an_engine(database, SystemClock(), ScriptedWeb(), tmp_path)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path, port=0, stop_seconds=5)


@pytest.fixture
async def service(engine: EngineParts, settings: Settings) -> AsyncIterator[Served]:
    async with served(engine, settings) as running:
        yield running


async def connected(service: Served, count: int = 1) -> None:
    while service.desk.live.watch.waiting < count:  # noqa: ASYNC110 -- it tells nobody
        await asyncio.sleep(0.01)


def seqs(told: list[Event]) -> list[int]:
    return [event.seq for event in told]


async def test_all_of_the_log_then_what_comes(kind: Kind, service: Served) -> None:
    before = datetime.now(UTC)
    await service.tell(1_500)
    reading = asyncio.create_task(events(kind, service.url, 1_503, after="beginning"))
    await connected(service)
    await service.tell(3, "feed_gone", why="é\n")
    told = await reading
    assert seqs(told) == list(range(1, 1_504))
    last = told[-1]
    assert (last.type, last.feed_id, last.payload) == (
        "feed_gone",
        None,
        {"number": 2, "why": "é\n"},
    )
    assert before <= last.at <= datetime.now(UTC)
    assert len({event.id for event in told}) == 1_503


async def test_from_now_on(kind: Kind, service: Served) -> None:
    await service.tell(2)
    reading = asyncio.create_task(events(kind, service.url, 1))
    await connected(service)
    await service.tell(1)
    assert seqs(await reading) == [3]


async def test_only_what_is_wanted(kind: Kind, service: Served) -> None:
    await service.tell(3)
    await service.tell(2, "feed_gone")
    told = await events(kind, service.url, 2, after=0, types=["feed_gone"])
    assert seqs(told) == [4, 5]


async def test_a_connection_that_breaks_again_and_again_loses_and_repeats_nothing(
    kind: Kind, service: Served
) -> None:
    await service.tell(400, text="x" * 50)
    async with cutting(service.place, pieces=[90, 700, 3_000, 17_001, 40_000]) as url:
        told = await events(kind, url, 400, after=0)
    assert seqs(told) == list(range(1, 401))


async def test_a_service_that_is_started_again_is_found_again(
    kind: Kind, engine: EngineParts, tmp_path: Path
) -> None:
    settings = Settings(data_dir=tmp_path, port=0, stop_seconds=5)
    async with served(engine, settings) as service:
        _, port = service.place
        reading = asyncio.create_task(events(kind, service.url, 5))
        await connected(service)
        await service.tell(2)
    await service.tell(1)  # while nobody serves
    again = Settings(data_dir=tmp_path, port=port, stop_seconds=5)
    async with served(engine, again) as service:
        await connected(service)
        await service.tell(2)
        assert seqs(await reading) == [1, 2, 3, 4, 5]


async def test_a_cursor_tells_again_what_was_not_finished(
    kind: Kind, service: Served, tmp_path: Path
) -> None:
    await service.tell(6)
    cursor = FileCursor(tmp_path / "cursor")
    first = await events(kind, service.url, 3, after="beginning", cursor=cursor)
    assert seqs(first) == [1, 2, 3]
    assert cursor.load() == 2, "the loop was left in the middle of the third"
    rest = await events(kind, service.url, 4, after="beginning", cursor=cursor)
    assert seqs(rest) == [3, 4, 5, 6]


async def test_done_by_hand(kind: Kind, service: Served, tmp_path: Path) -> None:
    await service.tell(3)
    cursor = FileCursor(tmp_path / "cursor")

    def in_a_thread() -> None:
        for event in Client(service.url).events(0, cursor=cursor, by_hand=True):
            event.done()
            if event.seq == 2:
                break

    async def on_the_loop() -> None:
        told = AsyncClient(service.url).events(0, cursor=cursor, by_hand=True)
        async with aclosing(told):
            async for event in told:
                event.done()
                if event.seq == 2:
                    break

    await (asyncio.to_thread(in_a_thread) if kind == "threads" else on_the_loop())
    assert cursor.load() == 2


async def test_without_reconnecting_it_ends_with_the_stream(
    kind: Kind, engine: EngineParts, settings: Settings
) -> None:
    async with served(engine, settings) as service:
        await service.tell(2)
        reading = asyncio.create_task(events(kind, service.url, 9, after=0, reconnect=False))
        await connected(service)
    assert seqs(await reading) == [1, 2]
    with pytest.raises(Unreachable):
        await events(kind, service.url, 1, reconnect=False)


async def test_a_log_that_was_set_back_is_raised(kind: Kind, service: Served) -> None:
    await service.tell(2)
    with pytest.raises(LogReset) as reset:
        await events(kind, service.url, 1, after=9)
    assert reset.value.last_seq == 2


async def test_a_refusal_that_will_not_pass_is_raised(
    kind: Kind, engine: EngineParts, tmp_path: Path
) -> None:
    settings = Settings(data_dir=tmp_path, port=0, admin_token=ADMIN)
    async with engine.database.write() as tx:
        await token_rows.insert_token(tx, "r", "read", token_hash("hw_r"), engine.clock.now())
    async with served(engine, settings) as service:
        await service.tell(1)
        assert seqs(await events(kind, service.url, 1, token="hw_r", after=0)) == [1]
        with pytest.raises(Refusal) as refused:
            await events(kind, service.url, 1, token="hw_wrong", after=0)
        assert (refused.value.status, refused.value.code) == (401, "unauthorized")
        with pytest.raises(Refusal) as refused:
            await events(kind, service.url, 1, token="hw_r", types=["nonsense"])
        assert refused.value.status == 422


async def test_a_refusal_that_passes_is_waited_for(
    kind: Kind,
    service: Served,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream, "RETRY_SECONDS", 0.01)
    service.desk.live.open = 5_000
    reading = asyncio.create_task(events(kind, service.url, 1, after=0))
    while "too many streams" not in caplog.text:  # noqa: ASYNC110 -- it tells nobody
        await asyncio.sleep(0.01)
    service.desk.live.open = 0
    await service.tell(1)
    assert seqs(await reading) == [1]


@asynccontextmanager
async def cutting(place: tuple[str, int], pieces: list[int]) -> AsyncIterator[str]:
    """A way to the service that breaks after so many bytes, another number each time."""
    left = list(pieces)

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inside, outside = await asyncio.open_connection(*place)
        outside.write(await reader.readuntil(b"\r\n\r\n"))
        most = left.pop(0) if left else 10**9
        try:
            while most > 0 and (came := await inside.read(min(most, 5_000))):
                writer.write(came)
                await writer.drain()
                most -= len(came)
        except ConnectionError:
            pass  # the reader left: the test is over
        finally:
            outside.close()
            writer.transport.abort()

    server = await asyncio.start_server(meet, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    try:
        yield f"http://{host}:{port}"
    finally:
        server.close()
