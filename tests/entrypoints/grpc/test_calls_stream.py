"""The event log over gRPC: resumable, without a gap, and it ends when it should."""

import asyncio
from typing import Any

import grpc
import orjson
import pytest

from headwater.auth import token_rows
from headwater.auth.tokens import token_hash
from headwater.client.grpc import headwater_pb2
from headwater.events.event import Event
from headwater.feeds.feed import FeedOptions
from tests.entrypoints.grpc.conftest import ADMIN, SECONDS, Serve, Served, refused, tell
from tests.support.scripted_engine import River
from tests.support.worker import until

OTHER = "01900000-0000-7000-8000-999999999999"


async def events(call: Any, count: int) -> list[Any]:
    """The next so many events of a stream, positions left out."""
    found: list[Any] = []
    async with asyncio.timeout(SECONDS):
        while len(found) < count:
            said = await call.read()
            assert said is not grpc.aio.EOF
            if said.WhichOneof("told") == "event":
                found.append(said.event)
    return found


async def end_of(call: Any) -> tuple[grpc.StatusCode, str | None]:
    async with asyncio.timeout(SECONDS):
        try:
            while await call.read() is not grpc.aio.EOF:
                pass
        except grpc.aio.AioRpcError as trouble:
            return refused(trouble)
        return await call.code(), None


async def test_a_stream_is_taken_up_again_without_a_gap_while_events_are_appended(
    river: River, served: Served
) -> None:
    """A writer goes on all the time; the reader leaves after each seventh and comes back."""

    async def write() -> None:
        for start in range(0, 200, 4):
            await tell(
                river.engine, *(Event("feed_gone", None, {"n": start + n}) for n in range(4))
            )

    writing = asyncio.create_task(write())
    seen: list[Any] = []
    while len(seen) < 200:
        after = seen[-1].seq if seen else 0
        call = served.stub.StreamEvents(headwater_pb2.StreamEventsRequest(after=after))
        seen += await events(call, min(7, 200 - len(seen)))
        call.cancel()
    await writing
    assert [event.seq for event in seen] == list(range(1, 201))
    bodies = [orjson.loads(event.body) for event in seen]
    assert [body["payload"]["n"] for body in bodies] == list(range(200))
    assert len({body["id"] for body in bodies}) == 200


async def test_each_event_has_the_bytes_that_everybody_gets(river: River, served: Served) -> None:
    feed_id = await river.feed("a")
    await tell(river.engine, Event("feed_failing", feed_id, {"why": "ünïcode"}))
    call = served.stub.StreamEvents(headwater_pb2.StreamEventsRequest(after=0))
    (event,) = await events(call, 1)
    (listed,) = (await served.stub.ListEvents(headwater_pb2.ListEventsRequest())).events
    assert event == listed
    call.cancel()


async def test_without_a_number_it_begins_now_and_says_where_that_is(
    river: River, served: Served
) -> None:
    await tell(river.engine, *(Event("feed_gone", None, {}) for _ in range(3)))
    call = served.stub.StreamEvents(headwater_pb2.StreamEventsRequest())
    first = await call.read()
    assert first.position.seq == 3
    await tell(river.engine, Event("feed_gone", None, {}))
    (event,) = await events(call, 1)
    assert event.seq == 4
    call.cancel()


async def test_types_feeds_and_categories_are_filtered(river: River, served: Served) -> None:
    one = await river.feed("a", FeedOptions(categories=("news",)))
    two = await river.feed("b")
    await tell(
        river.engine,
        Event("feed_gone", one, {}),
        Event("feed_failing", one, {}),
        Event("feed_failing", two, {}),
        Event("feed_gone", None, {}),
        Event("feed_gone", two, {}),
    )
    for asked, seqs in (
        (headwater_pb2.StreamEventsRequest(after=0, types=["feed_gone"]), [1, 4, 5]),
        (headwater_pb2.StreamEventsRequest(after=0, feed_ids=[two]), [3, 5]),
        (headwater_pb2.StreamEventsRequest(after=0, categories=["news"]), [1, 2]),
        (
            headwater_pb2.StreamEventsRequest(after=0, types=["feed_gone"], feed_ids=[one, two]),
            [1, 5],
        ),
    ):
        call = served.stub.StreamEvents(asked)
        assert [event.seq for event in await events(call, len(seqs))] == seqs
        call.cancel()


async def test_a_reader_ahead_of_the_log_is_told_and_led_back(river: River, served: Served) -> None:
    await tell(river.engine, Event("feed_gone", None, {}))
    call = served.stub.StreamEvents(headwater_pb2.StreamEventsRequest(after=500))
    assert (await call.read()).position.seq == 500
    assert (await call.read()).log_reset.last_seq == 1
    await tell(river.engine, Event("feed_gone", None, {}))
    (event,) = await events(call, 1)
    assert event.seq == 2
    call.cancel()


async def test_a_damaged_event_is_told_as_such_and_holds_up_nobody(
    river: River, served: Served
) -> None:
    await tell(river.engine, *(Event("feed_gone", None, {}) for _ in range(3)))
    async with river.engine.database.write() as tx:
        await tx.run("UPDATE events SET payload = '[1]' WHERE seq = 2")
    call = served.stub.StreamEvents(headwater_pb2.StreamEventsRequest(after=0))
    told = [await call.read() for _ in range(4)]
    assert [each.WhichOneof("told") for each in told] == [
        "position",
        "event",
        "unreadable",
        "event",
    ]
    assert (told[2].unreadable.seq, told[2].unreadable.error) == (2, "bad_payload")
    call.cancel()


async def test_a_reader_learns_how_far_it_is_while_nothing_is_for_it(
    river: River, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking through a long log for what is not in it takes longer than a ping may be away."""
    await tell(river.engine, *(Event("feed_gone", None, {}) for _ in range(6)))
    monkeypatch.setattr("headwater.entrypoints.grpc.calls.PING_SECONDS", 0.0)
    monkeypatch.setattr("headwater.events.event_rows.MAX_SCAN", 2)
    call = served.stub.StreamEvents(headwater_pb2.StreamEventsRequest(after=0, types=["new_entry"]))
    assert [(await call.read()).position.seq for _ in range(4)] == [0, 2, 4, 6]
    call.cancel()


async def test_a_reader_that_leaves_frees_its_stream(served: Served) -> None:
    call = served.stub.StreamEvents(headwater_pb2.StreamEventsRequest())
    await call.read()
    assert served.part.calls.streams.open == 1
    call.cancel()
    await until(lambda: served.part.calls.streams.open == 0)


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_more_streams_than_allowed_are_refused(serve: Serve) -> None:
    async with serve(grpc_streams_max=2) as served:
        calls = [served.stub.StreamEvents(headwater_pb2.StreamEventsRequest()) for _ in range(2)]
        for call in calls:
            await call.read()
        third = served.stub.StreamEvents(headwater_pb2.StreamEventsRequest())
        assert await end_of(third) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "rate_limited")
        calls[0].cancel()
        await until(lambda: served.part.calls.streams.open == 1)
        fourth = served.stub.StreamEvents(headwater_pb2.StreamEventsRequest())
        assert (await fourth.read()).position.seq == 0
        for call in (calls[1], fourth):
            call.cancel()


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_more_calls_than_allowed_are_refused(serve: Serve) -> None:
    async with serve(grpc_calls_max=1) as served:
        call = served.stub.StreamEvents(headwater_pb2.StreamEventsRequest())
        await call.read()
        with pytest.raises(grpc.aio.AioRpcError) as told:
            await served.stub.ListFeeds(headwater_pb2.ListFeedsRequest())
        assert told.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        call.cancel()


async def test_a_stop_ends_streams_and_says_where_to_go_on(river: River, served: Served) -> None:
    await tell(river.engine, *(Event("feed_gone", None, {}) for _ in range(3)))
    call = served.stub.StreamEvents(headwater_pb2.StreamEventsRequest(after=0))
    await events(call, 3)
    async with asyncio.timeout(SECONDS):
        await served.end()
    assert await end_of(call) == (grpc.StatusCode.UNAVAILABLE, "stopping")
    assert dict(await call.trailing_metadata())["headwater-next"] == "3"
    assert served.part.calls.streams.open == 0


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_stream_comes_to_its_own_end_after_its_time(river: River, serve: Serve) -> None:
    """And says where to go on, also past what its reader did not want."""
    await tell(river.engine, *(Event("feed_gone", None, {}) for _ in range(3)))
    async with serve(grpc_stream_seconds=0.3) as served:
        call = served.stub.StreamEvents(
            headwater_pb2.StreamEventsRequest(after=0, types=["new_entry"])
        )
        assert await end_of(call) == (grpc.StatusCode.OK, None)
        assert dict(await call.trailing_metadata()) == {"headwater-next": "3"}


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_reader_that_does_not_read_is_dropped_and_can_go_on(
    river: River, serve: Serve
) -> None:
    """Events of 60 kB fill every buffer on the way; the stream ends with the number told last."""
    heavy = {"text": "x" * 60_000}
    await tell(river.engine, *(Event("feed_gone", None, heavy) for _ in range(120)))
    async with serve(stream_slow_seconds=1) as served:
        options = [("grpc.http2.lookahead_bytes", 65_536), ("grpc.http2.bdp_probe", 0)]
        async with grpc.aio.insecure_channel(served.address, options=options) as channel:
            call = channel.unary_stream(
                "/headwater.v1.Headwater/StreamEvents",
                request_serializer=headwater_pb2.StreamEventsRequest.SerializeToString,
                response_deserializer=headwater_pb2.StreamEventsResponse.FromString,
            )(headwater_pb2.StreamEventsRequest(after=0))
            await call.read()
            await until(lambda: served.part.calls.streams.open == 0, SECONDS)
            assert await end_of(call) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "too_slow")
            seen = int(dict(await call.trailing_metadata())["headwater-next"])
        assert 0 < seen < 120
        again = served.stub.StreamEvents(headwater_pb2.StreamEventsRequest(after=seen))
        assert [event.seq for event in await events(again, 120 - seen)] == list(
            range(seen + 1, 121)
        )
        again.cancel()


async def test_a_token_that_is_revoked_reads_no_further(
    river: River, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.entrypoints.api.events.stream.TOKEN_SECONDS", 0.1)
    monkeypatch.setattr("headwater.entrypoints.grpc.calls.TOKEN_SECONDS", 0.1)
    now = river.engine.clock.now()
    async with river.engine.database.write() as tx:
        token = await token_rows.insert_token(tx, "reader", "read", token_hash("hw_reader"), now)
    async with serve(admin_token=ADMIN) as served:
        call = served.stub.StreamEvents(
            headwater_pb2.StreamEventsRequest(), metadata=[("authorization", "Bearer hw_reader")]
        )
        await call.read()
        async with river.engine.database.write() as tx:
            await token_rows.revoke_token(tx, token.id, now)
        assert await end_of(call) == (grpc.StatusCode.UNAUTHENTICATED, "unauthorized")
        trailing = dict(await call.trailing_metadata())
        assert trailing["headwater-next"] == "0"
        assert orjson.loads(trailing["headwater-envelope-bin"])["error"] == "unauthorized"


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_stream_of_what_does_not_exist_is_refused_at_once(served: Served) -> None:
    for asked in (
        headwater_pb2.StreamEventsRequest(types=["gossip"]),
        headwater_pb2.StreamEventsRequest(feed_ids=["x"]),
        headwater_pb2.StreamEventsRequest(categories=["a\x00b"]),
        headwater_pb2.StreamEventsRequest(after=-1),
    ):
        call = served.stub.StreamEvents(asked)
        assert await end_of(call) == (grpc.StatusCode.INVALID_ARGUMENT, "bad_input")
    assert served.part.calls.streams.open == 0
