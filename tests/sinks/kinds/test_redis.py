"""A Redis stream as a sink: on a real server, with everything a server may say instead of yes."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest
from redis.asyncio import Redis

from headwater.core.errors import BadInput
from headwater.events.event_json import WireEvent
from headwater.sinks.kinds.redis import check_redis_options, open_redis_sink
from headwater.sinks.ports import DeliveryResult, SinkConfig, SinkConnection
from tests.support.brokers import OwnServer, Server, own_redis
from tests.support.parcels import parcel, parcels

Seen = dict[bytes, bytes]


@pytest.fixture
def stream() -> str:
    return f"test:{uuid4()}"


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
    said, kept = check_redis_options({"url": url, "stream": stream, **options}, secrets or {})
    outlet = await open_redis_sink(SinkConfig("out", "redis", said, kept))
    closing.push_async_callback(outlet.close)
    return outlet


@asynccontextmanager
async def asking(url: str) -> AsyncIterator[Any]:
    async with Redis.from_url(url) as client:
        yield client


async def kept(url: str, stream: str) -> list[Seen]:
    async with asking(url) as client:
        return [fields for _, fields in await client.xrange(stream)]


def numbers(seen: list[Seen]) -> list[int]:
    return [int(each[b"seq"]) for each in seen]


def test_a_password_in_the_url_becomes_a_secret() -> None:
    options, secrets = check_redis_options({"url": "redis://anna:s%40fe@broker:6380/2"}, {})
    assert options == {
        "url": "redis://anna@broker:6380/2",
        "stream": "headwater:events",
        "max_length": None,
        "timeout_sec": 10.0,
    }
    assert secrets == {"password": "s@fe"}


def test_a_new_password_in_the_url_wins_over_the_one_that_is_kept() -> None:
    _, secrets = check_redis_options({"url": "redis://:new@broker"}, {"password": "old"})
    assert secrets == {"password": "new"}


def test_what_was_checked_is_not_changed_by_a_second_check() -> None:
    first = check_redis_options({"url": "rediss://anna:x@[::1]/3", "max_length": 5}, {})
    assert check_redis_options(*first) == first
    assert first[0]["url"] == "rediss://anna@[::1]:6379/3"


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("url", {}),
        ("url", {"url": 7}),
        ("url", {"url": "http://broker"}),
        ("url", {"url": "redis://"}),
        ("url", {"url": "redis://broker:0"}),
        ("url", {"url": "redis://broker:99999"}),
        ("url", {"url": "redis://broker/events"}),
        ("url", {"url": "redis://broker?password=hidden"}),
        ("url", {"url": "redis://bro ker"}),
        ("stream", {"url": "redis://broker", "stream": ""}),
        ("stream", {"url": "redis://broker", "stream": 7}),
        ("max_length", {"url": "redis://broker", "max_length": 0}),
        ("max_length", {"url": "redis://broker", "max_length": True}),
        ("timeout_sec", {"url": "redis://broker", "timeout_sec": 0}),
        ("strem", {"url": "redis://broker", "strem": "x"}),
    ],
)
def test_a_refused_option_is_named(field: str, options: dict[str, Any]) -> None:
    with pytest.raises(BadInput) as refused:
        check_redis_options(options, {})
    assert refused.value.facts["field"] == field


def test_an_unknown_secret_is_named() -> None:
    with pytest.raises(BadInput) as refused:
        check_redis_options({"url": "redis://broker"}, {"token": "x"})
    assert refused.value.facts["field"] == "token"


async def test_an_entry_has_the_events_own_bytes_and_what_a_reader_filters_by(
    redis_server: Server, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, redis_server.url, stream)
    sent = parcel(1)
    assert await outlet.deliver([sent], replay=0) == DeliveryResult(1)
    assert await kept(redis_server.url, stream) == [
        {
            b"seq": b"1",
            b"id": b"event-a-000001",
            b"type": b"new_entry",
            b"at": b"2026-01-01T00:00:01Z",
            b"feed_id": b"feed-1",
            b"body": sent.body,
            b"replay": b"0",
        }
    ]


async def test_what_is_there_already_is_not_added_twice(
    redis_server: Server, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, redis_server.url, stream)
    await outlet.deliver(parcels(1, 700), replay=0)
    assert await outlet.deliver(parcels(250, 710), replay=0) == DeliveryResult(461)
    assert numbers(await kept(redis_server.url, stream)) == list(range(1, 711))


async def test_a_replay_is_added_again_and_once(
    redis_server: Server, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, redis_server.url, stream)
    await outlet.deliver(parcels(1, 3), replay=0)
    for _ in range(2):
        assert await outlet.deliver(parcels(2, 3), replay=1) == DeliveryResult(2)
    seen = await kept(redis_server.url, stream)
    assert [(int(each[b"seq"]), each[b"replay"]) for each in seen] == [
        *((1, b"0"), (2, b"0"), (3, b"0")),
        *((2, b"1"), (3, b"1")),
    ]


async def test_other_events_under_the_same_numbers_are_added(
    redis_server: Server, stream: str, closing: AsyncExitStack
) -> None:
    """A log that was restored from a backup gives its numbers once more."""
    outlet = await opened(closing, redis_server.url, stream)
    await outlet.deliver(parcels(1, 300), replay=0)
    assert await outlet.deliver(parcels(201, 210, log="b"), replay=0) == DeliveryResult(10)
    seen = await kept(redis_server.url, stream)
    assert numbers(seen) == [*range(1, 301), *range(201, 211)]
    assert seen[-1][b"id"] == b"event-b-000210"


async def test_what_others_write_to_the_stream_does_no_harm(
    redis_server: Server, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, redis_server.url, stream)
    await outlet.deliver(parcels(1, 3), replay=0)
    async with asking(redis_server.url) as client:
        for _ in range(250):
            await client.xadd(stream, {"somebody": "else"})
    assert await outlet.deliver(parcels(2, 4), replay=0) == DeliveryResult(3)
    ours = [each for each in await kept(redis_server.url, stream) if b"seq" in each]
    assert numbers(ours) == [1, 2, 3, 4]


async def test_the_stream_is_trimmed_to_about_its_longest(
    redis_server: Server, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, redis_server.url, stream, max_length=100)
    assert await outlet.deliver(parcels(1, 2_000), replay=0) == DeliveryResult(2_000)
    left = numbers(await kept(redis_server.url, stream))
    assert 100 <= len(left) < 400
    assert left[-1] == 2_000


async def test_what_was_trimmed_does_not_come_again_in_place_of_the_newest(
    redis_server: Server, stream: str, closing: AsyncExitStack
) -> None:
    """A crash before the cursor moved: the same batch once more, most of it trimmed since."""
    outlet = await opened(closing, redis_server.url, stream, max_length=100)
    await outlet.deliver(parcels(1, 400), replay=0)
    before = numbers(await kept(redis_server.url, stream))
    assert (before[0] > 100, before[-1]) == (True, 400)
    assert await outlet.deliver(parcels(1, 410), replay=0) == DeliveryResult(410)
    after = numbers(await kept(redis_server.url, stream))
    assert after == list(range(after[0], 411)), "the newest ones, in order, each once"
    await outlet.deliver(parcels(301, 410), replay=1)
    assert numbers(await kept(redis_server.url, stream))[-110:] == list(range(301, 411))


async def test_a_page_of_many_megabytes_goes_in_several_calls(
    redis_server: Server, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, redis_server.url, stream)
    sent = [*parcels(1, 9, size=300_000), parcel(10, size=3_000_000), parcel(11)]
    assert await outlet.deliver(sent, replay=0) == DeliveryResult(11)
    assert [each[b"body"] for each in await kept(redis_server.url, stream)] == [
        each.body for each in sent
    ]


async def test_a_key_that_is_no_stream_is_told(
    redis_server: Server, stream: str, closing: AsyncExitStack
) -> None:
    async with asking(redis_server.url) as client:
        await client.set(stream, "text")
        outlet = await opened(closing, redis_server.url, stream)
        receipt = await outlet.deliver(parcels(1, 2), replay=0)
        await client.delete(stream)
    assert (receipt.taken, receipt.trouble, receipt.about) == (0, "wrong_type", "sink")


@pytest.mark.parametrize("password", [None, "wrong"])
async def test_a_password_that_is_missing_or_wrong_is_told(
    password: str | None, stream: str, closing: AsyncExitStack
) -> None:
    with own_redis("--requirepass", "sesame") as server:
        secrets = {} if password is None else {"password": password}
        outlet = await opened(closing, server.url, stream, secrets)
        receipt = await outlet.deliver(parcels(1, 2), replay=0)
        assert (receipt.taken, receipt.trouble) == (0, "auth_failed")
        assert "wrong" not in receipt.detail
        right = await opened(closing, server.url, stream, {"password": "sesame"})
        assert await right.deliver(parcels(1, 2), replay=0) == DeliveryResult(2)


async def test_a_user_who_may_not_write_is_told(
    mortal_redis: OwnServer, stream: str, closing: AsyncExitStack
) -> None:
    async with asking(mortal_redis.url) as client:
        await client.execute_command("ACL", "SETUSER", "anna", "on", ">pw", "~*", "+@read")
    url = mortal_redis.url.replace("://", "://anna:pw@")
    outlet = await opened(closing, url, stream)
    receipt = await outlet.deliver(parcels(1, 2), replay=0)
    assert (receipt.taken, receipt.trouble) == (0, "no_permission")


async def test_a_full_server_is_told_and_gets_everything_when_there_is_room(
    mortal_redis: OwnServer, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, mortal_redis.url, stream)
    async with asking(mortal_redis.url) as client:
        await outlet.deliver(parcels(1, 2), replay=0)
        await client.config_set("maxmemory", 1)
        receipt = await outlet.deliver(parcels(3, 4), replay=0)
        await client.config_set("maxmemory", 0)
    assert (receipt.taken, receipt.trouble) == (0, "out_of_memory")
    assert await outlet.deliver(parcels(3, 4), replay=0) == DeliveryResult(2)
    assert numbers(await kept(mortal_redis.url, stream)) == [1, 2, 3, 4]


async def test_a_server_that_became_a_replica_is_told(
    mortal_redis: OwnServer, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, mortal_redis.url, stream)
    async with asking(mortal_redis.url) as client:
        await client.replicaof("127.0.0.1", 1)
        receipt = await outlet.deliver(parcels(1, 2), replay=0)
        await client.replicaof("NO", "ONE")
    assert (receipt.taken, receipt.trouble) == (0, "read_only")
    assert await outlet.deliver(parcels(1, 2), replay=0) == DeliveryResult(2)


async def test_a_server_that_hangs_is_told_in_time_and_gets_nothing_twice(
    mortal_redis: OwnServer, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, mortal_redis.url, stream, timeout_sec=0.3)
    await outlet.deliver(parcels(1, 2), replay=0)
    mortal_redis.pause()
    began = time.monotonic()
    receipt = await outlet.deliver(parcels(3, 4), replay=0)
    took = time.monotonic() - began
    mortal_redis.go_on()
    assert (receipt.taken, receipt.trouble) == (0, "timeout")
    assert took < 3.0
    # It reads what lay in its socket when it wakes: the same two events come a second time now.
    assert await outlet.deliver(parcels(3, 5), replay=0) == DeliveryResult(3)
    assert numbers(await kept(mortal_redis.url, stream)) == [1, 2, 3, 4, 5]


async def test_a_kill_of_the_server_loses_nothing_that_was_taken(
    mortal_redis: OwnServer, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, mortal_redis.url, stream)
    assert await outlet.deliver(parcels(1, 1_200), replay=0) == DeliveryResult(1_200)
    mortal_redis.kill()
    receipt = await outlet.deliver(parcels(1_201, 1_202), replay=0)
    assert (receipt.taken, receipt.trouble) == (0, "connect_error")
    mortal_redis.start()
    assert await outlet.deliver(parcels(1_100, 1_300), replay=0) == DeliveryResult(201)
    assert numbers(await kept(mortal_redis.url, stream)) == list(range(1, 1_301))


async def test_a_server_that_was_restarted_in_between_is_no_trouble(
    mortal_redis: OwnServer, stream: str, closing: AsyncExitStack
) -> None:
    """The script is forgotten with the server; it is sent along each time."""
    outlet = await opened(closing, mortal_redis.url, stream)
    await outlet.deliver(parcels(1, 2), replay=0)
    mortal_redis.kill()
    mortal_redis.start()
    assert await outlet.deliver(parcels(3, 4), replay=0) == DeliveryResult(2)


async def test_an_event_larger_than_the_server_takes_is_about_the_event(
    mortal_redis: OwnServer, stream: str, closing: AsyncExitStack
) -> None:
    async with asking(mortal_redis.url) as client:
        await client.config_set("proto-max-bulk-len", 1024 * 1024)
    outlet = await opened(closing, mortal_redis.url, stream)
    sent = [parcel(1), parcel(2, size=9_000_000), parcel(3)]
    receipt = await outlet.deliver(sent, replay=0)
    assert (receipt.taken, receipt.trouble, receipt.about) == (1, "event_too_large", "event")
    assert await outlet.deliver(sent[2:], replay=0) == DeliveryResult(1)
    assert numbers(await kept(mortal_redis.url, stream)) == [1, 3]


async def test_a_large_event_is_not_blamed_for_a_server_that_is_away(
    mortal_redis: OwnServer, stream: str, closing: AsyncExitStack
) -> None:
    outlet = await opened(closing, mortal_redis.url, stream)
    mortal_redis.kill()
    receipt = await outlet.deliver([parcel(1, size=2_000_000)], replay=0)
    assert (receipt.taken, receipt.trouble, receipt.about) == (0, "connect_error", "sink")


@asynccontextmanager
async def saying(words: bytes) -> AsyncIterator[str]:
    """A server that agrees to everything but a script, to which it says this."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readline():
            command = b""
            for place in range(int(head[1:])):
                size = int((await reader.readline())[1:])
                value = (await reader.readexactly(size + 2))[:-2]
                command = value if place == 0 else command
            writer.write((words if command.upper() == b"EVAL" else b"+OK") + b"\r\n")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (b"-LOADING Redis is loading the dataset in memory", "loading"),
        (b"-READONLY You can't write against a read only replica.", "read_only"),
        (b"-MASTERDOWN Link with MASTER is down", "cluster_down"),
        (b"-CLUSTERDOWN The cluster is down", "cluster_down"),
        (b"-MOVED 3999 127.0.0.1:6381", "cluster_moved"),
        (b"-MISCONF Redis is configured to save RDB snapshots, but it cannot", "cannot_persist"),
        (b"-NOREPLICAS Not enough good replicas to write.", "too_few_replicas"),
        (b"-BUSY Redis is busy running a script.", "busy"),
        (b"-NOSCRIPT No matching script.", "redis_error"),
        (b"-ERR something else", "redis_error"),
    ],
)
async def test_what_a_server_says_instead_of_yes_is_told(
    words: bytes, code: str, closing: AsyncExitStack
) -> None:
    async with saying(words) as url:
        outlet = await opened(closing, url, "events")
        receipt = await outlet.deliver(parcels(1, 3), replay=0)
        await outlet.close()
    assert (receipt.taken, receipt.trouble, receipt.about) == (0, code, "sink")


async def test_a_name_that_leads_nowhere_is_told(stream: str, closing: AsyncExitStack) -> None:
    outlet = await opened(closing, "redis://nowhere.invalid", stream)
    receipt = await outlet.deliver(parcels(1, 1), replay=0)
    assert (receipt.taken, receipt.trouble) == (0, "connect_error")


async def test_nothing_to_deliver_asks_for_nothing(closing: AsyncExitStack) -> None:
    outlet = await opened(closing, "redis://nowhere.invalid", "events")
    nothing: list[WireEvent] = []
    assert await outlet.deliver(nothing, replay=0) == DeliveryResult(0)
