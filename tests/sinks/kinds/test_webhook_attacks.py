"""Receivers of webhooks that mean us ill, and messages that others meddle with."""

import gzip
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import BadSignature
from headwater.core.values.signature import key_of_secret, secret_of, verify
from headwater.events import event_rows
from headwater.events.event import Event
from headwater.sinks.ports import DeliveryResult, SinkConfig
from headwater.web.address_gate import build_address_policy
from tests.sinks.kinds.test_webhook import SECRET, opened
from tests.support.clock import START, VirtualClock
from tests.support.parcels import parcel, parcels
from tests.support.sinks_world import FEED, SinkWorld, opened_world
from tests.support.webhook_receiver import NotVerified, Receiver, Reply, answer, verified

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
PIECE = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)


@pytest.fixture
async def receiver(dialect: str) -> AsyncIterator[Receiver]:
    async with Receiver() as listening:
        yield listening


@pytest.fixture
async def world(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> AsyncIterator[SinkWorld]:
    async with opened_world(database, virtual_clock, tmp_path) as world:
        yield world


def hook(receiver: Receiver, name: str = "hook", secret: str = SECRET) -> SinkConfig:
    return SinkConfig(name, "webhook", {"url": receiver.url}, {"secret": secret})


# Answers


async def test_a_head_that_drips_is_given_up_in_time(receiver: Receiver) -> None:
    async def drip(reply: Reply) -> None:
        await reply.say(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        await reply.say_for_ever(b"z", 0.02)

    receiver.answers = [drip]
    began = time.monotonic()
    async with opened(receiver, seconds=0.5) as outlet:
        receipt = await outlet.deliver(parcels(1, 3), replay=0)
    assert (receipt.taken, receipt.trouble, receipt.about) == (0, "timeout", "sink")
    assert 0.4 < time.monotonic() - began < 3
    assert len(receiver.messages) == 1


async def test_a_body_that_drips_ends_in_time_and_a_2xx_before_it_counts(
    receiver: Receiver,
) -> None:
    async def drip(reply: Reply) -> None:
        await reply.say(CHUNKED)
        await reply.say_for_ever(b"1\r\nx\r\n", 0.02)

    receiver.answers = [drip, answer(204)]
    began = time.monotonic()
    async with opened(receiver, seconds=0.5) as outlet:
        assert await outlet.deliver(parcels(1, 2), replay=0) == DeliveryResult(2)
    assert 0.4 < time.monotonic() - began < 3
    assert [message.connection for message in receiver.messages] == [1, 2]


async def test_a_receiver_that_never_answers_costs_its_time_and_no_more(
    receiver: Receiver,
) -> None:
    async def silence(reply: Reply) -> None:
        await reply.say_for_ever(b"", 0.05)

    receiver.answers = [silence]
    async with opened(receiver, seconds=0.3) as outlet:
        receipt = await outlet.deliver([parcel(1)], replay=0)
    assert (receipt.taken, receipt.trouble) == (0, "timeout")


@pytest.mark.parametrize("status", [200, 500])
async def test_an_endless_body_is_read_for_64_kib(receiver: Receiver, status: int) -> None:
    async def endless(reply: Reply) -> None:
        await reply.say(CHUNKED.replace(b"200 OK", b"%d Said" % status))
        await reply.say_for_ever(PIECE)

    receiver.answers = [endless]
    async with opened(receiver) as outlet:
        receipt = await outlet.deliver([parcel(1)], replay=0)
        # We hung up; what was sent beyond is what buffers on the way hold.
        assert receiver.replies[0].sent < 16 * 1024 * 1024
    assert receipt == (
        DeliveryResult(1) if status == 200 else DeliveryResult(0, "http_500", "x" * 200)
    )


async def test_ten_announced_gigabytes_are_not_waited_for(receiver: Receiver) -> None:
    async def large(reply: Reply) -> None:
        await reply.say(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n" + b"x" * 100)
        await reply.say_for_ever(b"", 0.05)

    receiver.answers = [large]
    began = time.monotonic()
    async with opened(receiver, seconds=20) as outlet:
        assert await outlet.deliver([parcel(1)], replay=0) == DeliveryResult(1)
    assert time.monotonic() - began < 5


async def test_a_gzip_bomb_stays_what_it_is(receiver: Receiver) -> None:
    bomb = gzip.compress(b"A" * 50_000_000, 9)
    assert len(bomb) < 64 * 1024
    receiver.answers = [answer(500, bomb, Content_Encoding="gzip")]
    async with opened(receiver) as outlet:
        receipt = await outlet.deliver([parcel(1)], replay=0)
    assert receipt.trouble == "http_500"
    assert "AAAA" not in receipt.detail
    assert len(receipt.detail) <= 200


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_a_failure_and_nobody_is_asked_there(
    receiver: Receiver, status: int
) -> None:
    async with Receiver() as inside:
        receiver.answers = [answer(status, b"go there", Location=inside.url)]
        async with opened(receiver) as outlet:
            receipt = await outlet.deliver(parcels(1, 2), replay=0)
        assert (receipt.taken, receipt.trouble, receipt.about) == (0, f"http_{status}", "sink")
        assert (inside.connections, len(receiver.messages)) == (0, 1)


async def test_a_flood_of_100_continue_is_cut_short(receiver: Receiver) -> None:
    async def flood(reply: Reply) -> None:
        await reply.say_for_ever(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)

    receiver.answers = [flood]
    async with opened(receiver, seconds=20) as outlet:
        receipt = await outlet.deliver([parcel(1)], replay=0)
    assert (receipt.taken, receipt.trouble) == (0, "too_many_interim")


async def test_endless_headers_are_cut_short(receiver: Receiver) -> None:
    async def flood(reply: Reply) -> None:
        await reply.say(b"HTTP/1.1 200 OK\r\n")
        await reply.say_for_ever(b"X-More: " + b"y" * 1_000 + b"\r\n")

    receiver.answers = [flood]
    async with opened(receiver, seconds=20) as outlet:
        receipt = await outlet.deliver([parcel(1)], replay=0)
    assert (receipt.taken, receipt.trouble) == (0, "headers_too_large")


@pytest.mark.parametrize("said", [b"", b"\x00\xff\x16\x03", b"SSH-2.0-x\r\n", b"HTTP/1.1 2"])
async def test_what_is_no_http_takes_nothing(receiver: Receiver, said: bytes) -> None:
    async def nonsense(reply: Reply) -> None:
        await reply.say(said)
        raise ConnectionResetError

    receiver.answers = [nonsense]
    async with opened(receiver) as outlet:
        receipt = await outlet.deliver([parcel(1)], replay=0)
    assert (receipt.taken, receipt.about) == (0, "sink")
    assert receipt.trouble in {"bad_http", "connection_lost", "network_error"}


async def test_the_gate_stands_before_the_socket(receiver: Receiver) -> None:
    """The URL was let through when the sink was made; the address is looked at each time."""
    async with opened(receiver, policy=build_address_policy(ports=[receiver.port])) as outlet:
        receipt = await outlet.deliver([parcel(1)], replay=0)
    assert (receipt.taken, receipt.trouble) == (0, "blocked_address")
    assert receiver.connections == 0


# Long days, on a clock of our own


async def test_a_receiver_that_fails_for_ever_is_asked_less_and_less(
    world: SinkWorld, receiver: Receiver
) -> None:
    receiver.answers = [answer(500, b"out of order")]
    await world.add(hook(receiver), max_attempts=4)
    await world.tell(2)
    world.clock.script_luck(0.0, 1.0, -1.0, 0.0, 0.0)
    pauses = []
    for _ in range(4):
        await world.deliver()
        pauses.append(await world.after_the_pause("hook"))
    assert pauses == [5.0, 12.0, 16.0, 40.0]  # 5 s, doubled, with up to a fifth of luck
    told = await world.told()
    (letter,) = await world.dead("hook")
    assert (letter.seq, letter.event_id, letter.attempts) == (1, told[0][0], 4)
    assert (letter.error, letter.detail) == ("http_500", "out of order")
    assert receiver.received == [told[0]] * 4
    await world.deliver()
    assert receiver.received[4:] == [told[1]]  # the queue goes on with the next one


async def test_a_dead_letter_is_delivered_when_somebody_asks_for_it(
    world: SinkWorld, receiver: Receiver
) -> None:
    receiver.answers = [answer(500)]
    await world.add(hook(receiver), max_attempts=1)
    await world.tell(1)
    await world.deliver()
    await world.after_the_pause("hook")
    receiver.answers = [answer(200)]
    assert await world.retry("hook") == 1
    await world.deliver()
    told = await world.told()
    assert receiver.received == [told[0], told[0]]
    assert await world.dead("hook") == []


async def test_a_receiver_that_is_down_for_a_day_gets_everything_in_order(
    world: SinkWorld, receiver: Receiver
) -> None:
    await world.add(hook(receiver), max_attempts=36)
    await receiver.go_away()
    tries, began = 0, world.clock.now()
    while (world.clock.now() - began).total_seconds() < 86_400:
        await world.tell(1)
        await world.deliver()
        tries += 1
        await world.after_the_pause("hook")
    assert tries < 40  # by the hour once the pauses are long
    assert (await world.sink("hook")).last_error == "connect_error"
    await receiver.listen()
    await world.deliver()
    assert receiver.received == await world.told()
    assert await world.dead("hook") == []
    assert (await world.sink("hook")).state == "active"


async def test_410_switches_the_sink_off(world: SinkWorld, receiver: Receiver) -> None:
    receiver.answers = [answer(410)]
    await world.add(hook(receiver))
    await world.tell(3)
    await world.deliver()
    sink = await world.sink("hook")
    assert (sink.state, sink.stopped, sink.cursor) == ("stopped", "gone", 0)
    await world.clock.advance(86_400)
    await world.deliver()
    assert len(receiver.messages) == 1


async def test_a_flapping_receiver_gets_each_event_and_is_forgiven_each_time(
    world: SinkWorld, receiver: Receiver
) -> None:
    receiver.answers = [*[answer(500), answer(200)] * 5, answer(200)]
    await world.add(hook(receiver), max_attempts=3)
    await world.tell(5)
    pauses = []
    for _ in range(5):
        await world.deliver()
        pauses.append(await world.after_the_pause("hook"))
    await world.deliver()
    assert list(dict.fromkeys(receiver.received)) == await world.told()
    assert len(receiver.messages) == 10
    assert pauses == [5.0] * 5  # a success wipes the slate clean
    assert await world.dead("hook") == []


async def test_one_that_is_down_does_not_delay_another(
    world: SinkWorld, receiver: Receiver
) -> None:
    async with Receiver() as slow:

        async def silence(reply: Reply) -> None:
            await reply.say_for_ever(b"", 0.05)

        slow.answers = [silence]
        plan = hook(slow, "slow")
        await world.add(replace(plan, options={**plan.options, "timeout_sec": 1}))
        await world.add(hook(receiver, "quick"))
        await world.tell(20)
        deliveries = world.deliveries()
        await deliveries.look()
        await receiver.asked(20)  # while the slow one still waits for its first answer
        await slow.asked(1)  # it may be the last to be asked
        assert (slow.open, len(slow.messages)) == (1, 1)
        await deliveries.all_done()
        await deliveries.end(5)
    assert receiver.received == await world.told()


async def test_a_poisoned_event_is_set_aside_alone(world: SinkWorld, receiver: Receiver) -> None:
    await world.add(hook(receiver))
    await world.tell(3)
    await world.poison(2, "{broken")
    await world.deliver()
    assert [message.body[:8] for message in receiver.messages] == [b'{"seq":1', b'{"seq":3']
    (letter,) = await world.dead("hook")
    assert (letter.seq, letter.error) == (2, "bad_payload")


async def test_an_event_that_the_receiver_cannot_stand_blocks_nobody(
    world: SinkWorld, receiver: Receiver
) -> None:
    async def choosy(reply: Reply) -> None:
        refused = b'"seq":2,' in reply.message.body
        await reply.say(answer(422, b"cannot read this") if refused else answer(200))

    receiver.answers = [choosy]
    await world.add(hook(receiver))
    await world.tell(3)
    for _ in range(2):
        await world.deliver()
        await world.after_the_pause("hook")
    await world.deliver()
    told = await world.told()
    assert list(dict.fromkeys(receiver.received)) == told
    (letter,) = await world.dead("hook")
    assert (letter.seq, letter.attempts, letter.error) == (2, 3, "http_422")


# Messages


async def test_the_same_event_after_a_crash_has_the_same_id_and_bytes(
    world: SinkWorld, receiver: Receiver
) -> None:
    await world.add(hook(receiver))
    await world.tell(2)
    await world.deliver()
    await world.forget_progress("hook", 0)
    await world.clock.advance(60)
    await world.deliver()
    told = await world.told()
    assert receiver.received == [*told, *told]
    first, again = receiver.messages[0], receiver.messages[2]
    stamps = [int(each.headers["webhook-timestamp"]) for each in (first, again)]
    assert stamps[1] - stamps[0] == 60


async def test_a_message_that_was_tampered_with_is_noticed(receiver: Receiver) -> None:
    async with opened(receiver) as outlet:
        await outlet.deliver([parcel(1)], replay=0)
    (message,), now = receiver.messages, START.timestamp()
    assert verified(SECRET, message, now) == parcel(1).event_id
    headers = dict(message.headers)
    for changed in (
        replace(message, body=message.body.replace(b'"seq":1', b'"seq":2')),
        replace(message, body=message.body + b" "),
        replace(message, headers=headers | {"webhook-id": "another"}),
        replace(message, headers=headers | {"webhook-timestamp": "1767614401"}),
        replace(message, headers=headers | {"webhook-signature": "v1,AAAA"}),
        replace(message, headers=headers | {"webhook-signature": ""}),
        replace(
            message,
            headers=headers
            | {"webhook-signature": headers["webhook-signature"].replace("v1,", "v1a,")},
        ),
    ):
        with pytest.raises(NotVerified):
            verified(SECRET, changed, now)
        with pytest.raises(BadSignature):
            verify(key_of_secret(SECRET), changed.headers, changed.body, START)


async def test_a_recorded_message_is_known_by_its_id_and_dies_with_its_window(
    receiver: Receiver,
) -> None:
    async with opened(receiver) as outlet:
        await outlet.deliver([parcel(1)], replay=0)
    (message,), now = receiver.messages, START.timestamp()
    # Within the window a third party may play it again: the id is the same, so it is dropped.
    assert verified(SECRET, message, now + 299) == message.id == parcel(1).event_id
    with pytest.raises(NotVerified):
        verified(SECRET, message, now + 301)


async def test_each_target_has_a_secret_of_its_own(world: SinkWorld, receiver: Receiver) -> None:
    secrets = [secret_of(b"a" * 32), secret_of(b"b" * 32)]
    async with Receiver() as other:
        await world.add(hook(receiver, "one", secrets[0]))
        await world.add(hook(other, "two", secrets[1]))
        await world.tell(1)
        await world.deliver()
        now = world.clock.now().timestamp()
        assert verified(secrets[0], receiver.messages[0], now) == other.messages[0].id
        with pytest.raises(NotVerified):
            verified(secrets[0], other.messages[0], now)


async def test_text_that_looks_like_a_template_stays_text(
    world: SinkWorld, receiver: Receiver
) -> None:
    evil = (
        "{{ 7*7 }} {% for x in ().__class__.__mro__ %} {0.__class__} %(secret)s %n ${jndi:x}"
        " <%= 7*7 %> #{7*7} {{secret}} \r\nX-Injected: 1 \u2028\u2029 </script>\0"
    )
    payload = {evil: evil, "canonical_link": evil, "nested": [evil, {"a": evil}]}
    await world.add(hook(receiver))
    async with world.engine.database.write() as tx:
        await event_rows.append_events(tx, [Event("new_entry", FEED, payload)], world.clock.now())
    await world.deliver()
    told = await world.told()
    assert receiver.received == told
    assert b"{{ 7*7 }}" in receiver.messages[0].body
    assert b"49" not in receiver.messages[0].body.replace(told[0][0].encode(), b"")
    assert "x-injected" not in receiver.messages[0].headers
    assert b"\n" not in receiver.messages[0].body
