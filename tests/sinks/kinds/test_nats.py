"""A JetStream stream as a sink: on a real server, in order whatever the server refuses."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import nats
import pytest
from nats.aio.client import Client
from nats.js.api import RawStreamMsg, StreamConfig, StreamInfo

from headwater.core.errors import BadInput
from headwater.events.event_json import WireEvent
from headwater.sinks.kinds.nats import check_nats_options, open_nats_sink
from headwater.sinks.ports import DeliveryResult, SinkConfig, SinkConnection
from tests.support.brokers import OwnServer, Server, own_nats
from tests.support.parcels import parcel, parcels


@pytest.fixture
def stream() -> str:
    return f"test-{uuid4()}"


@pytest.fixture
async def closing() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


async def opened(
    closing: AsyncExitStack,
    url: str,
    stream: str,
    secrets: Mapping[str, str] | None = None,
    **options: Any,
) -> SinkConnection:
    """The subject is the stream's name, so tests do not meet on one server."""
    given = {"url": url, "stream": stream, "subject": stream, **options}
    said, kept = check_nats_options(given, secrets or {})
    outlet = await open_nats_sink(SinkConfig("out", "nats", said, kept))
    closing.push_async_callback(outlet.close)
    return outlet


@asynccontextmanager
async def asking(url: str) -> AsyncIterator[Client]:
    client = await nats.connect(url)
    try:
        yield client
    finally:
        await client.close()


async def described(url: str, stream: str) -> StreamInfo:
    async with asking(url) as client:
        return await client.jsm().stream_info(stream)


async def kept(url: str, stream: str) -> list[RawStreamMsg]:
    async with asking(url) as client:
        manager = client.jsm()
        state = (await manager.stream_info(stream)).state
        return [
            await manager.get_msg(stream, place)
            for place in range(max(1, state.first_seq), state.last_seq + 1)
        ]


async def numbers(url: str, stream: str) -> list[int]:
    return [
        int(message.headers["Headwater-Seq"])
        for message in await kept(url, stream)
        if message.headers and "Headwater-Seq" in message.headers
    ]


async def made(url: str, stream: str, **limits: Any) -> None:
    """A stream as an operator might make it."""
    async with asking(url) as client:
        await client.jsm().add_stream(
            StreamConfig(name=stream, subjects=[f"{stream}.>"], **limits),
        )


def test_what_is_secret_in_the_url_becomes_a_secret() -> None:
    options, secrets = check_nats_options({"url": "nats://anna:s%40fe@one,tls://two:4333"}, {})
    assert options == {
        "url": "nats://one:4222,tls://two:4333",
        "subject": "headwater.events",
        "stream": "HEADWATER",
        "duplicate_window_sec": 86_400.0,
        "timeout_sec": 10.0,
    }
    assert secrets == {"user": "anna", "password": "s@fe"}


def test_a_lone_name_in_the_url_is_a_token_and_wins_over_what_is_kept() -> None:
    given = {"url": "nats://t0ken@broker"}
    _, secrets = check_nats_options(given, {"user": "anna", "password": "old"})
    assert secrets == {"token": "t0ken"}


def test_what_was_checked_is_not_changed_by_a_second_check() -> None:
    first = check_nats_options({"url": "nats://anna:x@[::1]", "subject": "a.b", "stream": "S"}, {})
    assert check_nats_options(*first) == first


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("url", {}),
        ("url", {"url": "redis://broker"}),
        ("url", {"url": "nats://one,"}),
        ("url", {"url": "nats://one/path"}),
        ("url", {"url": ",".join(["nats://one"] * 17)}),
        ("subject", {"url": "nats://one", "subject": "a.>"}),
        ("subject", {"url": "nats://one", "subject": "a..b"}),
        ("subject", {"url": "nats://one", "subject": "$SYS.x"}),
        ("stream", {"url": "nats://one", "stream": "a.b"}),
        ("stream", {"url": "nats://one", "stream": ""}),
        ("duplicate_window_sec", {"url": "nats://one", "duplicate_window_sec": 0}),
        ("max_length", {"url": "nats://one", "max_length": 5}),
    ],
)
def test_a_refused_option_is_named(field: str, options: dict[str, Any]) -> None:
    with pytest.raises(BadInput) as refused:
        check_nats_options(options, {})
    assert refused.value.facts["field"] == field


@pytest.mark.parametrize(
    ("field", "secrets"),
    [
        ("password", {"user": "anna"}),
        ("user", {"password": "x"}),
        ("token", {"token": "t", "user": "anna", "password": "x"}),
        ("secret", {"secret": "x"}),
    ],
)
def test_a_refused_secret_is_named(field: str, secrets: dict[str, str]) -> None:
    with pytest.raises(BadInput) as refused:
        check_nats_options({"url": "nats://one"}, secrets)
    assert refused.value.facts["field"] == field


async def test_a_message_has_the_events_own_bytes_its_id_and_its_number(
    nats_server: Server, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, nats_server.url, stream)
    sent = parcel(7)
    assert await outlet.deliver([sent], replay=0) == DeliveryResult(1)
    (message,) = await kept(nats_server.url, stream)
    assert message.subject == f"{stream}.new_entry"
    assert message.data == sent.body
    assert message.headers is not None
    assert message.headers["Nats-Msg-Id"] == "event-a-000007"
    assert message.headers["Headwater-Seq"] == "7"


async def test_a_stream_that_is_missing_is_made_to_last(
    nats_server: Server, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, nats_server.url, stream)
    await outlet.deliver(parcels(1, 1), replay=0)
    config = (await described(nats_server.url, stream)).config
    assert config.subjects == [f"{stream}.>"]
    assert config.storage == "file"
    assert config.duplicate_window == 86_400.0
    assert (config.max_msgs, config.max_bytes, config.max_age) == (-1, -1, 0.0)


async def test_a_stream_that_is_there_stays_as_its_owner_made_it(
    nats_server: Server, stream: str, closing: AsyncExitStack
) -> None:
    await made(nats_server.url, stream, max_msgs=5, duplicate_window=60)
    outlet = await opened(closing, nats_server.url, stream)
    assert await outlet.deliver(parcels(1, 9), replay=0) == DeliveryResult(9)
    config = (await described(nats_server.url, stream)).config
    assert (config.max_msgs, config.duplicate_window) == (5, 60.0)
    assert await numbers(nats_server.url, stream) == [5, 6, 7, 8, 9]


async def test_what_is_there_already_is_not_added_twice(
    nats_server: Server, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, nats_server.url, stream)
    await outlet.deliver(parcels(1, 600), replay=0)
    assert await outlet.deliver(parcels(300, 610), replay=0) == DeliveryResult(311)
    assert await numbers(nats_server.url, stream) == list(range(1, 611))


async def test_a_replay_is_added_again_and_once(
    nats_server: Server, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, nats_server.url, stream)
    await outlet.deliver(parcels(1, 3), replay=0)
    for _ in range(2):
        assert await outlet.deliver(parcels(2, 3), replay=1) == DeliveryResult(2)
    names = [(each.headers or {})["Nats-Msg-Id"] for each in await kept(nats_server.url, stream)]
    assert names[2:] == ["event-a-000003", "event-a-000002:r1", "event-a-000003:r1"]


async def test_a_stream_that_was_deleted_is_told_and_made_again(
    nats_server: Server, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, nats_server.url, stream)
    await outlet.deliver(parcels(1, 3), replay=0)
    async with asking(nats_server.url) as client:
        await client.jsm().delete_stream(stream)
    receipt = await outlet.deliver(parcels(4, 6), replay=0)
    assert (receipt.taken, receipt.trouble, receipt.about) == (0, "no_stream", "sink")
    assert await outlet.deliver(parcels(4, 6), replay=0) == DeliveryResult(3)
    assert await numbers(nats_server.url, stream) == [4, 5, 6]


async def test_a_subject_of_another_stream_is_told(
    nats_server: Server, stream: str, closing: AsyncExitStack
) -> None:
    await made(nats_server.url, stream)
    async with asking(nats_server.url) as client:
        await client.jsm().add_stream(StreamConfig(name=f"{stream}-2", subjects=[f"{stream}-2.>"]))
    outlet = await opened(closing, nats_server.url, f"{stream}-2", subject=stream)
    receipt = await outlet.deliver(parcels(1, 3), replay=0)
    assert (receipt.taken, receipt.trouble) == (0, "wrong_stream")
    assert await numbers(nats_server.url, stream) == []


async def test_a_full_stream_takes_a_prefix_and_goes_on_in_order_when_there_is_room(
    nats_server: Server, stream: str, closing: AsyncExitStack
) -> None:
    await made(nats_server.url, stream, max_msgs=3, discard="new")
    outlet = await opened(closing, nats_server.url, stream)
    receipt = await outlet.deliver(parcels(1, 9), replay=0)
    assert (receipt.taken, receipt.trouble, receipt.about) == (3, "stream_full", "sink")
    async with asking(nats_server.url) as client:
        config = (await client.jsm().stream_info(stream)).config
        await client.jsm().update_stream(config, max_msgs=100)
    assert await outlet.deliver(parcels(4, 9), replay=0) == DeliveryResult(6)
    assert await numbers(nats_server.url, stream) == list(range(1, 10))


async def test_a_small_event_does_not_slip_in_before_a_large_one_that_found_no_room(
    nats_server: Server, stream: str, closing: AsyncExitStack
) -> None:
    await made(nats_server.url, stream, max_bytes=30_000, discard="new")
    outlet = await opened(closing, nats_server.url, stream)
    sent = [parcel(1), parcel(2, size=40_000), parcel(3), parcel(4)]
    receipt = await outlet.deliver(sent, replay=0)
    assert (receipt.taken, receipt.trouble) == (1, "stream_full")
    assert await numbers(nats_server.url, stream) == [1]


async def test_events_stay_in_order_when_somebody_else_writes_to_the_stream(
    nats_server: Server, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, nats_server.url, stream)
    await outlet.deliver(parcels(1, 2), replay=0)
    over = asyncio.Event()

    async def others() -> None:
        async with asking(nats_server.url) as client:
            for count in range(10_000):
                if over.is_set():
                    return
                await client.jetstream().publish(
                    f"{stream}.other", b"x", headers={"Nats-Msg-Id": f"other-{count}"}
                )

    async with asyncio.TaskGroup() as together:
        together.create_task(others())
        receipt = await outlet.deliver(parcels(2, 400), replay=0)
        over.set()
    assert receipt == DeliveryResult(399)
    assert await numbers(nats_server.url, stream) == list(range(1, 401))


async def test_an_event_above_the_servers_limit_is_about_the_event(
    nats_server: Server, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, nats_server.url, stream)
    sent = [parcel(1), parcel(2, size=1024 * 1024), parcel(3)]
    receipt = await outlet.deliver(sent, replay=0)
    assert (receipt.taken, receipt.trouble, receipt.about) == (1, "event_too_large", "event")
    assert await outlet.deliver(sent[2:], replay=0) == DeliveryResult(1)
    assert await numbers(nats_server.url, stream) == [1, 3]


async def test_an_event_just_below_the_servers_limit_is_taken(
    nats_server: Server, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, nats_server.url, stream)
    room = 1024 * 1024 - 512
    sent = [parcel(seq, size=room - len(parcel(1, size=0).body)) for seq in (1, 2, 3)]
    assert len(sent[0].body) == room
    assert await outlet.deliver(sent, replay=3) == DeliveryResult(3)


async def test_an_event_above_the_streams_limit_is_about_the_event(
    nats_server: Server, stream: str, closing: AsyncExitStack
) -> None:
    await made(nats_server.url, stream, max_msg_size=2_000)
    outlet = await opened(closing, nats_server.url, stream)
    sent = [parcel(1), parcel(2, size=3_000), parcel(3)]
    receipt = await outlet.deliver(sent, replay=0)
    assert (receipt.taken, receipt.trouble, receipt.about) == (1, "event_too_large", "event")
    assert await numbers(nats_server.url, stream) == [1]
    assert await outlet.deliver(sent[2:], replay=0) == DeliveryResult(1)


@pytest.mark.parametrize("secrets", [{}, {"token": "wrong"}])
async def test_a_token_that_is_missing_or_wrong_is_told(
    secrets: dict[str, str], stream: str, closing: AsyncExitStack
) -> None:
    with own_nats("--auth", "sesame") as server:
        outlet = await opened(closing, server.url, stream, secrets)
        receipt = await outlet.deliver(parcels(1, 2), replay=0)
        assert (receipt.taken, receipt.trouble) == (0, "auth_failed")
        right = await opened(closing, server.url, stream, {"token": "sesame"})
        assert await right.deliver(parcels(1, 2), replay=0) == DeliveryResult(2)
        await right.close()


async def test_a_user_and_password_let_us_in(stream: str, closing: AsyncExitStack) -> None:
    with own_nats("--user", "anna", "--pass", "pw") as server:
        outlet = await opened(closing, server.url.replace("://", "://anna:pw@"), stream)
        assert await outlet.deliver(parcels(1, 2), replay=0) == DeliveryResult(2)
        await outlet.close()


async def test_a_user_who_may_not_publish_is_told_at_once(
    stream: str, closing: AsyncExitStack, tmp_path: Path
) -> None:
    rules = {"publish": {"allow": ["$JS.API.>"]}, "subscribe": "_INBOX.>"}
    users = [{"user": "anna", "password": "pw", "permissions": rules}]
    config = tmp_path / "nats.conf"
    config.write_text(json.dumps({"authorization": {"users": users}}))
    with own_nats("-c", str(config)) as server:
        outlet = await opened(closing, server.url.replace("://", "://anna:pw@"), stream)
        began = time.monotonic()
        receipt = await outlet.deliver(parcels(1, 2), replay=0)
        assert (receipt.taken, receipt.trouble) == (0, "no_permission")
        assert time.monotonic() - began < 5.0
        await outlet.close()


async def test_a_server_without_jetstream_is_told(stream: str, closing: AsyncExitStack) -> None:
    with own_nats(streams=False) as server:
        outlet = await opened(closing, server.url, stream)
        receipt = await outlet.deliver(parcels(1, 2), replay=0)
        assert (receipt.taken, receipt.trouble) == (0, "jetstream_unavailable")
        await outlet.close()


async def test_a_server_that_hangs_is_told_in_time_and_gets_nothing_twice(
    mortal_nats: OwnServer, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, mortal_nats.url, stream, timeout_sec=0.3)
    await outlet.deliver(parcels(1, 2), replay=0)
    mortal_nats.pause()
    began = time.monotonic()
    receipt = await outlet.deliver(parcels(3, 4), replay=0)
    took = time.monotonic() - began
    mortal_nats.go_on()
    assert (receipt.taken, receipt.trouble) == (0, "timeout")
    assert took < 3.0
    assert await outlet.deliver(parcels(3, 5), replay=0) == DeliveryResult(3)
    assert await numbers(mortal_nats.url, stream) == [1, 2, 3, 4, 5]


async def test_a_kill_of_the_server_loses_nothing_that_was_taken(
    mortal_nats: OwnServer, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, mortal_nats.url, stream)
    assert await outlet.deliver(parcels(1, 1_200), replay=0) == DeliveryResult(1_200)
    mortal_nats.kill()
    receipt = await outlet.deliver(parcels(1_201, 1_202), replay=0)
    assert (receipt.taken, receipt.trouble) == (0, "connect_error")
    mortal_nats.start()
    assert await outlet.deliver(parcels(1_100, 1_300), replay=0) == DeliveryResult(201)
    assert await numbers(mortal_nats.url, stream) == list(range(1, 1_301))


async def test_a_server_killed_in_the_middle_of_a_burst_leaves_a_prefix(
    mortal_nats: OwnServer, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, mortal_nats.url, stream)
    await outlet.deliver(parcels(1, 1), replay=0)
    delivering = asyncio.create_task(outlet.deliver(parcels(2, 5_000, size=2_000), replay=0))
    while (await described(mortal_nats.url, stream)).state.messages < 100:
        pass
    mortal_nats.kill()
    receipt = await delivering
    mortal_nats.start()
    there = await numbers(mortal_nats.url, stream)
    assert there == list(range(1, len(there) + 1))
    assert receipt.taken + 1 <= len(there)
    rest = parcels(receipt.taken + 2, 5_000, size=2_000)
    assert await outlet.deliver(rest, replay=0) == DeliveryResult(len(rest))
    assert (await described(mortal_nats.url, stream)).state.messages == 5_000


async def test_a_server_that_was_restarted_in_between_is_no_trouble(
    mortal_nats: OwnServer, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, mortal_nats.url, stream)
    await outlet.deliver(parcels(1, 2), replay=0)
    mortal_nats.kill()
    mortal_nats.start()
    assert await outlet.deliver(parcels(2, 4), replay=0) == DeliveryResult(3)
    assert await numbers(mortal_nats.url, stream) == [1, 2, 3, 4]


async def test_the_next_server_of_the_list_is_asked_when_the_first_is_away(
    nats_server: Server, mortal_nats: OwnServer, stream: str, closing: AsyncExitStack
) -> None:
    mortal_nats.kill()
    outlet = await opened(closing, f"{mortal_nats.url},{nats_server.url}", stream)
    assert await outlet.deliver(parcels(1, 2), replay=0) == DeliveryResult(2)


async def test_no_password_is_sent_in_plain_text_where_tls_was_asked_for(
    stream: str, closing: AsyncExitStack
) -> None:
    heard = bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(
            b'INFO {"server_id":"x","version":"2.12.0","headers":true,"max_payload":9}\r\n'
        )
        while part := await reader.read(1000):
            heard.extend(part)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        outlet = await opened(closing, f"tls://anna:sesame@127.0.0.1:{port}", stream)
        receipt = await outlet.deliver(parcels(1, 2), replay=0)
        await outlet.close()
    assert (receipt.taken, receipt.trouble) == (0, "tls_error")
    assert heard == b""


async def test_nothing_to_deliver_asks_for_nothing(closing: AsyncExitStack) -> None:
    outlet = await opened(closing, "nats://nowhere.invalid", "events")
    nothing: list[WireEvent] = []
    assert await outlet.deliver(nothing, replay=0) == DeliveryResult(0)
