"""The event stream: from any number on, without a gap, to many readers at little cost."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from headwater.adapters.database import SqlDatabase
from headwater.auth import token_rows
from headwater.auth.tokens import token_hash
from headwater.core.errors import ConnectionLost
from headwater.entrypoints.api.app import create_app
from headwater.entrypoints.api.events import stream
from headwater.entrypoints.server.in_process import Lifespan
from headwater.events import event_rows, log_watch
from headwater.events.event import Event
from headwater.events.event_filter import EVERYTHING
from headwater.events.event_rows import append_events
from headwater.feeds.feed import FeedOptions
from headwater.settings import Settings
from tests.support.api_caller import Api
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.event_stream import Reading, reading, while_time_passes
from tests.support.scripted_engine import River, ScriptedWeb, an_engine, an_entry

ADMIN = "an-admin-token-of-the-tests"
STREAM = "/events/stream"


@pytest.fixture
def engine(database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path) -> EngineParts:
    return an_engine(database, virtual_clock, ScriptedWeb(), tmp_path)


@pytest.fixture
def open_api(engine: EngineParts, tmp_path: Path) -> Callable[..., Api]:
    def app(token: str | None = None, **settings: Any) -> Api:
        return Api(create_app(engine.services, Settings(data_dir=tmp_path, **settings)), token)

    return app


@pytest.fixture
def api(open_api: Callable[..., Api]) -> Api:
    return open_api()


async def tell(
    engine: EngineParts, *names: str, feed_id: str | None = None, **payload: Any
) -> None:
    events = [Event(name, feed_id, {"number": n, **payload}) for n, name in enumerate(names)]
    async with engine.database.write() as tx:
        await append_events(tx, events, engine.clock.now())


async def test_a_frame_is_number_type_and_the_line_of_every_sink(
    engine: EngineParts, api: Api
) -> None:
    feed = "01900000-0000-7000-8000-000000000001"
    await tell(engine, "feed_gone", feed_id=feed, said="two\nlines é")
    async with engine.database.read() as view:
        (parcel,) = (await event_rows.read_wire_events(view, 0, limit=1)).parcels
    async with reading(api, STREAM, last_event_id="0") as reader:
        await reader.until(1)
        assert (
            reader.text == ": Headwater\nretry: 3000\nid: 0\n\n"
            f"id: 1\nevent: feed_gone\ndata: {parcel.body.decode()}\n\n"
        )
        assert orjson.loads(reader.events[0]["data"]) == {
            "seq": 1,
            "id": parcel.event_id,
            "type": "feed_gone",
            "at": "2026-01-05T12:00:00Z",
            "feed_id": feed,
            "payload": {"number": 0, "said": "two\nlines é"},
        }


async def test_it_begins_with_now_and_goes_on(
    engine: EngineParts, api: Api, virtual_clock: VirtualClock
) -> None:
    await tell(engine, "feed_gone", "feed_gone")
    async with reading(api, STREAM) as reader:
        assert reader.status == 200
        assert reader.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert reader.headers["cache-control"] == "no-store"
        assert "etag" not in reader.headers
        assert "content-length" not in reader.headers
        assert reader.text == ": Headwater\nretry: 3000\nid: 2\n\n"
        await virtual_clock.asleep()
        await tell(engine, "feed_failing")
        assert await virtual_clock.advance_to_next() == 0.2
        await reader.until(1)
        assert reader.numbers == [3]


@pytest.mark.parametrize(("last", "expected"), [("0", [1, 2, 3]), ("2", [3])])
async def test_it_goes_on_exactly_after_the_last_id(
    last: str, expected: list[int], engine: EngineParts, api: Api
) -> None:
    await tell(engine, "feed_gone", "feed_failing", "new_entry")
    async with reading(api, f"{STREAM}?after={last}") as reader:
        await reader.until(len(expected))
        assert reader.numbers == expected
    async with reading(api, f"{STREAM}?after=3", last_event_id=last) as reader:
        await reader.until(len(expected))
        assert reader.numbers == expected


async def test_a_long_log_comes_whole_and_in_order(engine: EngineParts, api: Api) -> None:
    for _ in range(5):
        await tell(engine, *["new_entry"] * 500)
    async with reading(api, STREAM, last_event_id="0") as reader:
        await reader.until(2_500)
        assert reader.numbers == list(range(1, 2_501))


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_large_page_goes_out_in_pieces(
    engine: EngineParts, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "PIECE_BYTES", 1_000)
    await tell(engine, "feed_gone", "feed_gone", text="x" * 2_500)
    async with reading(api, STREAM, last_event_id="0") as reader:
        await reader.until(2)
        assert {len(piece) for piece in reader.pieces[2:-1]} == {1_000}
        assert [orjson.loads(event["data"])["seq"] for event in reader.events] == [1, 2]


async def test_only_what_is_wanted_is_told(engine: EngineParts, api: Api) -> None:
    river = River(engine, ScriptedWeb())
    news = await river.feed("news", FeedOptions(categories=("news",)))
    blog = await river.feed("blog")
    await river.entries(blog, an_entry("tagged", categories=("river",)), an_entry("plain"))
    await tell(engine, "feed_gone", feed_id=news)
    await tell(engine, "new_entry", feed_id=blog, entry_uid="tagged")
    await tell(engine, "new_entry", feed_id=blog, entry_uid="plain")
    await tell(engine, "feed_failing")
    wanted = {
        "type=new_entry": [2, 3],
        "type=new_entry&type=feed_failing": [2, 3, 4],
        f"feed_id={blog}": [2, 3],
        f"feed_id={blog}&feed_id={news.upper()}": [1, 2, 3],
        "category=news": [1],
        "category=news&category=river": [1, 2],
        f"category=river&feed_id={blog}&type=new_entry": [2],
    }
    for query, numbers in wanted.items():
        async with reading(api, f"{STREAM}?{query}", last_event_id="0") as reader:
            await reader.until(len(numbers))
            assert reader.numbers == numbers, query


async def test_a_ping_tells_how_far_a_filter_has_looked(
    engine: EngineParts, api: Api, virtual_clock: VirtualClock
) -> None:
    await tell(engine, "feed_gone", "new_entry", "new_entry")
    async with reading(api, f"{STREAM}?type=feed_gone", last_event_id="0") as reader:
        await reader.until(1)
        await virtual_clock.asleep()
        await virtual_clock.advance(15)
        await while_time_passes(virtual_clock, reader.says(": ping\nid: 3\n\n"))
        assert 15 <= virtual_clock.monotonic() < 16
        await virtual_clock.asleep()
        await virtual_clock.advance(13)
        assert reader.text.count(": ping") == 1
        await virtual_clock.advance(2)
        twice = ": ping\nid: 3\n\n: ping\nid: 3\n\n"
        await while_time_passes(virtual_clock, reader.says(twice))


async def test_a_filter_that_hides_a_long_log_still_pings(
    engine: EngineParts, api: Api, virtual_clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await tell(engine, "new_entry", "new_entry")
    monkeypatch.setattr(event_rows, "MAX_SCAN", 1)
    plain = event_rows.read_wire_events

    async def slow(*asked: Any, **how: Any) -> event_rows.LogPage:
        await virtual_clock.advance(15)
        return await plain(*asked, **how)

    monkeypatch.setattr(event_rows, "read_wire_events", slow)
    async with reading(api, f"{STREAM}?type=feed_gone", last_event_id="0") as reader:
        await reader.says(": ping\nid: 1\n\n: ping\nid: 2\n\n")


async def test_a_reader_ahead_of_the_log_is_told_so(
    engine: EngineParts, api: Api, virtual_clock: VirtualClock
) -> None:
    """The log was restored from a backup: its numbers are given again."""
    await tell(engine, "feed_gone", "feed_gone")
    async with reading(api, STREAM, last_event_id="9") as reader:
        await reader.until(1)
        (reset,) = reader.events
        assert reset == {"id": "2", "event": "log_reset", "data": '{"last_seq":2}'}
        await virtual_clock.asleep()
        await tell(engine, "feed_failing")
        await virtual_clock.advance_to_next()
        await reader.until(2)
        assert reader.numbers == [2, 3]


async def test_a_log_that_is_set_back_under_a_reader_is_told_too(
    engine: EngineParts, api: Api, virtual_clock: VirtualClock
) -> None:
    await tell(engine, "feed_gone", "feed_gone", "feed_gone")
    async with reading(api, STREAM, last_event_id="2") as reader:
        await reader.until(1)
        await virtual_clock.asleep()
        async with engine.database.write() as tx:
            await tx.run("DELETE FROM events WHERE seq > 1")
            await tx.run("UPDATE counters SET value = 1 WHERE name = 'events'")
        await virtual_clock.advance_to_next()
        await reader.until(2)
        assert reader.events[1] == {"id": "1", "event": "log_reset", "data": '{"last_seq":1}'}


async def test_an_event_that_cannot_be_read_is_told_as_such(engine: EngineParts, api: Api) -> None:
    await tell(engine, "feed_gone", "feed_failing", "feed_gone")
    async with engine.database.write() as tx:
        await tx.run("UPDATE events SET payload = '[]' WHERE seq = 2")
    async with reading(api, STREAM, last_event_id="0") as reader:
        await reader.until(3)
        assert reader.numbers == [1, 2, 3]
        assert [event["event"] for event in reader.events] == [
            "feed_gone",
            "unreadable",
            "feed_gone",
        ]
        said = orjson.loads(reader.events[1]["data"])
        assert (said["seq"], said["type"], said["error"]) == (2, "feed_failing", "bad_payload")


async def test_it_ends_when_the_service_stops(api: Api, virtual_clock: VirtualClock) -> None:
    live = api.app.state.context.live
    async with reading(api, STREAM) as waits, reading(api, STREAM) as waits_too:
        await virtual_clock.asleep()
        assert live.open == 2
        live.closing.set()
        await waits.over()
        await waits_too.over()
    assert live.open == 0


@pytest.mark.parametrize("query", ["get_last_seq", "read_wire_events"])
async def test_nothing_is_read_any_more_when_the_app_has_ended(
    query: str, engine: EngineParts, api: Api, virtual_clock: VirtualClock, monkeypatch: Any
) -> None:
    asked, answer = asyncio.Event(), asyncio.Event()
    real, answered = getattr(event_rows, query), []

    async def slowly(*given: Any, **named: Any) -> Any:
        asked.set()
        await answer.wait()
        answered.append(await real(*given, **named))
        return answered[-1]

    running = Lifespan(api.app)
    await running.__aenter__()
    with suppress(asyncio.CancelledError):  # the reader is hung up on
        async with reading(api, STREAM) as reader:
            await virtual_clock.asleep()
            monkeypatch.setattr(event_rows, query, slowly)
            await tell(engine, "feed_gone")
            await virtual_clock.advance_to_next()
            await asked.wait()
            assert reader.task is not None
            reader.task.cancel()
    # What it asked for is still under way.
    ending = asyncio.create_task(running.__aexit__())
    async with asyncio.timeout(20):
        await api.app.state.context.closing.wait()
    assert (ending.done(), answered) == (False, [])
    answer.set()
    await ending
    assert len(answered) == 1


async def test_it_ends_after_an_hour(api: Api, virtual_clock: VirtualClock) -> None:
    async with reading(api, STREAM) as reader:
        await virtual_clock.asleep()
        await virtual_clock.advance(3_590)
        assert not reader.ended
        await virtual_clock.advance(10)
        await while_time_passes(virtual_clock, reader.over())


async def test_it_ends_when_its_token_is_revoked(
    engine: EngineParts, open_api: Callable[..., Api], virtual_clock: VirtualClock
) -> None:
    async with engine.database.write() as tx:
        gone = await token_rows.insert_token(
            tx, "gone", "read", token_hash("hw_1"), engine.clock.now()
        )
        await token_rows.insert_token(tx, "stays", "read", token_hash("hw_2"), engine.clock.now())
    api = open_api("hw_1", admin_token=ADMIN)
    other = Api(api.app, "hw_2")
    async with reading(api, STREAM) as reader, reading(other, STREAM) as stays:
        await virtual_clock.asleep()
        async with engine.database.write() as tx:
            await token_rows.revoke_token(tx, gone.id, engine.clock.now())
        await virtual_clock.advance(5)
        await while_time_passes(virtual_clock, reader.over())
        assert virtual_clock.monotonic() < 60  # time passes while the database is asked
        await tell(engine, "feed_gone")
        await while_time_passes(virtual_clock, stays.until(1))
    assert (await api.get(STREAM)).status == 401


async def test_a_database_that_fails_ends_it_with_an_end(
    engine: EngineParts, api: Api, virtual_clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: Any, **__: Any) -> None:
        raise ConnectionLost("the database is away")

    async with reading(api, STREAM) as reader:
        await virtual_clock.asleep()
        with monkeypatch.context() as patched:
            patched.setattr(event_rows, "get_last_seq", fails)
            await virtual_clock.advance_to_next()
            await virtual_clock.asleep()  # the look failed, and will be made again
        monkeypatch.setattr(event_rows, "read_wire_events", fails)
        await tell(engine, "feed_gone")
        await virtual_clock.advance_to_next()
        await reader.over()
        assert reader.numbers == []


async def test_no_more_than_so_many_streams(
    open_api: Callable[..., Api], virtual_clock: VirtualClock
) -> None:
    api = open_api(streams_max=2)
    async with reading(api, STREAM), reading(api, STREAM):
        refused = await api.get(STREAM)
        assert (refused.status, refused.error) == (429, "rate_limited")
        assert refused.headers["retry-after"] == "10"
        assert (await api.ask("HEAD", STREAM)).status == 200
    async with reading(api, STREAM) as reader:
        assert reader.status == 200


async def test_a_head_of_it_has_an_end(api: Api) -> None:
    answer = await api.ask("HEAD", STREAM)
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["content-type"].startswith("text/event-stream")


@pytest.mark.parametrize("last", ["-1", "x", "9" * 30, "", "1 ", "١"])
async def test_a_last_event_id_that_is_no_number_is_refused(last: str, api: Api) -> None:
    scope = api._scope("GET", STREAM, [], has_body=False)
    scope["headers"].append((b"last-event-id", last.encode()))
    reader = Reading()
    await api.app(scope, reader.receive, reader.send)
    assert (reader.status, orjson.loads(reader.text)["error"]) == (400, "bad_request")


@pytest.mark.parametrize(
    "query",
    ["type=nonsense", "feed_id=nonsense", "category=", "after=-1", "after=x", f"after={2**63}"],
)
async def test_questions_that_make_no_sense_are_422(query: str, api: Api) -> None:
    assert (await api.get(f"{STREAM}?{query}")).status == 422


async def test_whoever_may_not_read_gets_no_stream(
    engine: EngineParts, open_api: Callable[..., Api]
) -> None:
    async with engine.database.write() as tx:
        await token_rows.insert_token(tx, "p", "publish", token_hash("hw_p"), engine.clock.now())
    assert (await open_api(None, admin_token=ADMIN).get(STREAM)).status == 401
    assert (await open_api("hw_p", admin_token=ADMIN).get(STREAM)).status == 403


async def test_idle_readers_cost_no_queries_of_their_own(
    engine: EngineParts, api: Api, virtual_clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    plain = event_rows.get_last_seq

    async def counted(view: Any) -> int:
        looks.append(1)
        return await plain(view)

    async with many(api, 50) as readers:
        await all_wait(api, 50)
        monkeypatch.setattr(event_rows, "get_last_seq", counted)
        for _ in range(10):
            await virtual_clock.advance_to_next()
            await virtual_clock.asleep()
        assert len(looks) == 10
        await virtual_clock.advance(15)
        for reader in readers:
            await while_time_passes(virtual_clock, reader.says(": ping"))
        assert len(looks) < 100
    await virtual_clock.advance(60)
    assert virtual_clock.sleepers == 0, "nobody looks when nobody listens"


async def test_a_page_is_made_once_for_all_who_wait_for_it(
    engine: EngineParts, api: Api, virtual_clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    plain = event_rows.read_wire_events

    async def counted(view: Any, after: int, **how: Any) -> event_rows.LogPage:
        made.append(after)
        return await plain(view, after, **how)

    async with many(api, 50) as readers:
        await all_wait(api, 50)
        monkeypatch.setattr(event_rows, "read_wire_events", counted)
        await tell(engine, "feed_gone", "feed_failing")
        await virtual_clock.advance_to_next()
        for reader in readers:
            await reader.until(2)
            assert reader.numbers == [1, 2]
        assert made == [0]


async def test_old_pages_are_shared_too_and_not_for_ever(
    engine: EngineParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_watch, "PAGE_EVENTS", 2)
    await tell(engine, *["feed_gone"] * 7)
    pages = log_watch.LogPageCache(engine.database, stream.encode_frames, kept_bytes=1_000)
    first = await pages.after(0, EVERYTHING)
    assert (first.events, first.next, first.last_seq) == (2, 2, 7)
    assert await pages.after(0, EVERYTHING) is first
    for after in (2, 4, 6):
        await pages.after(after, EVERYTHING)
    assert sum(len(kept.sent) for kept in pages._pages.values()) <= 1_000
    again = await pages.after(0, EVERYTHING)
    assert again == first
    assert again is not first
    async with engine.database.write() as tx:
        await tx.run("DELETE FROM events WHERE seq = 7")
        await tx.run("UPDATE counters SET value = 6 WHERE name = 'events'")
    await pages.after(7, EVERYTHING)
    assert not pages._pages, "the log was restored: nothing of the other one is told"
    await tell(engine, "feed_gone")
    end = await pages.after(6, EVERYTHING)
    await tell(engine, "feed_gone")
    grown = await pages.after(6, EVERYTHING)
    assert (end.events, grown.events) == (1, 2)


async def test_a_page_ends_after_so_many_bytes(
    engine: EngineParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not after the last event that fits: what cannot be read behind it comes with the next."""
    monkeypatch.setattr(log_watch, "PAGE_BYTES", 2_500)
    await tell(engine, *["feed_gone"] * 6, text="x" * 1_000)
    async with engine.database.write() as tx:
        await tx.run("UPDATE events SET payload = '[]' WHERE seq IN (2, 5)")
    pages, after, sent = (
        log_watch.LogPageCache(engine.database, stream.encode_frames),
        0,
        list[bytes](),
    )
    while after < 6:
        told = await pages.after(after, EVERYTHING)
        after = told.next
        sent.append(told.sent)
    numbers = [
        [int(line[4:]) for line in page.split(b"\n") if line[:4] == b"id: "] for page in sent
    ]
    assert numbers == [[1, 2, 3, 4], [5, 6]]


async def test_whoever_reads_while_others_write_misses_nothing(
    engine: EngineParts, api: Api, virtual_clock: VirtualClock
) -> None:
    async def write(kind: str) -> None:
        for _ in range(20):
            await tell(engine, *[kind] * 10)

    async def turn() -> None:
        while True:
            await virtual_clock.advance_to_next()

    async with reading(api, STREAM, last_event_id="0") as reader:
        turning = asyncio.create_task(turn())
        await asyncio.gather(*(write(kind) for kind in ("new_entry", "feed_gone", "feed_failing")))
        await reader.until(600)
        turning.cancel()
        assert reader.numbers == list(range(1, 601))


async def all_wait(api: Api, count: int) -> None:
    while api.app.state.context.live.watch.waiting < count:  # noqa: ASYNC110 -- it tells nobody
        await asyncio.sleep(0)


@asynccontextmanager
async def many(api: Api, count: int) -> AsyncIterator[list[Reading]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(reading(api, STREAM)) for _ in range(count)]
