"""Webhooks: what is sent, what an answer means, and which set-ups are refused."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from headwater.core.errors import BadInput
from headwater.core.ports import Clock
from headwater.core.values.signature import key_of_secret, secret_of
from headwater.sinks.kinds.webhook import WebhookSink, check_webhook_options
from headwater.sinks.ports import DeliveryResult, SinkConfig
from headwater.web.address_gate import AddressPolicy, build_address_policy
from headwater.web.limits import WebLimits
from tests.support.clock import START, VirtualClock
from tests.support.parcels import parcel, parcels
from tests.support.sink_contract import SinkCase, SinkContract
from tests.support.site import LOOPBACK
from tests.support.webhook_receiver import NotVerified, Receiver, answer, verified

SECRET, OLD_SECRET = secret_of(b"k" * 32), secret_of(b"o" * 24)
PUBLIC = build_address_policy()


@asynccontextmanager
async def opened(
    receiver: Receiver,
    clock: Clock | None = None,
    *,
    secrets: tuple[str, ...] = (SECRET,),
    seconds: float = 5.0,
    turn: float = 60.0,
    policy: AddressPolicy = LOOPBACK,
) -> AsyncIterator[WebhookSink]:
    outlet = WebhookSink(
        receiver.url,
        [key_of_secret(secret) for secret in secrets],
        timeout=seconds,
        limits=WebLimits(),
        address=policy,
        clock=clock or VirtualClock(),
        user_agent="Headwater/test",
        turn=turn,
    )
    try:
        yield outlet
    finally:
        await outlet.close()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with Receiver() as listening:
        yield listening


class WebhookCase:
    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver

    async def plan(self) -> SinkConfig:
        return SinkConfig("case", "webhook", {"url": self.receiver.url}, {"secret": SECRET})

    async def received(self) -> list[tuple[str, bytes]]:
        return self.receiver.received

    async def break_it(self) -> None:
        await self.receiver.go_away()

    async def mend_it(self) -> None:
        await self.receiver.listen()


class TestWebhook(SinkContract):
    @pytest.fixture
    def case(self, receiver: Receiver) -> SinkCase:
        return WebhookCase(receiver)


async def test_a_message_is_a_signed_post_of_the_events_own_bytes(receiver: Receiver) -> None:
    sent = parcel(7)
    async with opened(receiver) as outlet:
        assert await outlet.deliver([sent], replay=0) == DeliveryResult(1)
    (message,) = receiver.messages
    assert message.line == "POST /in HTTP/1.1"
    assert message.body == sent.body
    assert message.headers["content-type"] == "application/json"
    assert message.headers["user-agent"] == "Headwater/test"
    assert message.headers["webhook-id"] == sent.event_id
    assert message.headers["webhook-timestamp"] == "1767614400"  # 2026-01-05T12:00:00Z
    assert "accept-encoding" not in message.headers
    assert "expect" not in message.headers
    assert verified(SECRET, message, START.timestamp()) == sent.event_id


async def test_while_a_secret_is_changed_both_sign(receiver: Receiver) -> None:
    async with opened(receiver, secrets=(SECRET, OLD_SECRET)) as outlet:
        await outlet.deliver([parcel(1)], replay=0)
    (message,) = receiver.messages
    first, second = message.headers["webhook-signature"].split(" ")
    assert (first[:3], second[:3]) == ("v1,", "v1,")
    new = replace(message, headers={**message.headers, "webhook-signature": first})
    old = replace(message, headers={**message.headers, "webhook-signature": second})
    assert verified(SECRET, new, START.timestamp()) == verified(OLD_SECRET, old, START.timestamp())
    with pytest.raises(NotVerified):
        verified(OLD_SECRET, new, START.timestamp())


async def test_every_try_has_its_own_time_and_the_same_id_and_body(receiver: Receiver) -> None:
    receiver.answers = [answer(500), answer(204)]
    clock = VirtualClock()
    async with opened(receiver, clock) as outlet:
        assert (await outlet.deliver([parcel(1)], replay=0)).trouble == "http_500"
        clock.step(3_600)
        assert await outlet.deliver([parcel(1)], replay=0) == DeliveryResult(1)
    first, second = receiver.messages
    assert (first.id, first.body) == (second.id, second.body)
    assert second.headers["webhook-timestamp"] == "1767618000"
    assert first.headers["webhook-signature"] != second.headers["webhook-signature"]
    assert verified(SECRET, second, clock.now().timestamp()) == parcel(1).event_id


async def test_messages_come_one_at_a_time_in_order_over_one_connection(
    receiver: Receiver,
) -> None:
    async with opened(receiver) as outlet:
        assert await outlet.deliver(parcels(1, 30), replay=0) == DeliveryResult(30)
        assert await outlet.deliver(parcels(31, 60), replay=0) == DeliveryResult(30)
    assert [message.id for message in receiver.messages] == [p.event_id for p in parcels(1, 60)]
    assert (receiver.connections, receiver.most_open) == (1, 1)


async def test_what_comes_after_a_refused_event_is_not_sent(receiver: Receiver) -> None:
    receiver.answers = [answer(200), answer(202), answer(422, b"no such field"), answer(200)]
    async with opened(receiver) as outlet:
        receipt = await outlet.deliver(parcels(1, 5), replay=0)
    assert receipt == DeliveryResult(2, "http_422", "no such field", about="event")
    assert len(receiver.messages) == 3


async def test_a_turn_that_lasts_too_long_ends_between_two_messages(receiver: Receiver) -> None:
    async with opened(receiver, turn=0.0) as outlet:
        assert await outlet.deliver(parcels(1, 5), replay=0) == DeliveryResult(1)
    assert len(receiver.messages) == 1


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
async def test_any_2xx_takes_the_event(receiver: Receiver, status: int) -> None:
    receiver.answers = [answer(status)]
    async with opened(receiver) as outlet:
        assert await outlet.deliver([parcel(1)], replay=0) == DeliveryResult(1)


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_these_are_about_the_event(receiver: Receiver, status: int) -> None:
    receiver.answers = [answer(status)]
    async with opened(receiver) as outlet:
        receipt = await outlet.deliver([parcel(1)], replay=0)
    assert receipt == DeliveryResult(0, f"http_{status}", "", about="event")


@pytest.mark.parametrize("status", [301, 302, 304, 307, 401, 403, 404, 405, 500, 502, 599])
async def test_everything_else_is_about_the_sink(receiver: Receiver, status: int) -> None:
    receiver.answers = [answer(status)]
    async with opened(receiver) as outlet:
        receipt = await outlet.deliver([parcel(1)], replay=0)
    assert (receipt.taken, receipt.trouble) == (0, f"http_{status}")
    assert (receipt.about, receipt.gone, receipt.retry_after) == ("sink", False, None)


async def test_410_says_that_nothing_is_wanted_any_more(receiver: Receiver) -> None:
    receiver.answers = [answer(410, b"moved out")]
    async with opened(receiver) as outlet:
        receipt = await outlet.deliver([parcel(1)], replay=0)
    assert receipt == DeliveryResult(0, "http_410", "moved out", gone=True)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("120", 120.0),
        ("Mon, 05 Jan 2026 12:10:00 GMT", 600.0),
        ("604800", 604_800.0),
        ("999999999", 366 * 86_400.0),
        ("-5", None),
        ("soon", None),
    ],
)
async def test_a_receiver_may_ask_for_rest(
    receiver: Receiver, status: int, said: str, seconds: float | None
) -> None:
    receiver.answers = [answer(status, Retry_After=said)]
    async with opened(receiver) as outlet:
        receipt = await outlet.deliver([parcel(1)], replay=0)
    assert (receipt.trouble, receipt.retry_after) == (f"http_{status}", seconds)


async def test_what_a_receiver_says_is_shown_in_one_printable_line(receiver: Receiver) -> None:
    receiver.answers = [answer(500, "Nö\x1b[31m\r\n\0\u202e\xff".encode() + b"\xfe" + b"x" * 5_000)]
    async with opened(receiver) as outlet:
        receipt = await outlet.deliver([parcel(1)], replay=0)
    assert receipt.detail.startswith("Nö [31m    ÿ\ufffdxxx")
    assert receipt.detail.isprintable()
    assert len(receipt.detail) == 200


async def test_an_id_that_no_header_can_carry_is_about_the_event(receiver: Receiver) -> None:
    async with opened(receiver) as outlet:
        receipt = await outlet.deliver([parcel(1, event_id="a\r\nb: c")], replay=0)
    assert (receipt.taken, receipt.trouble, receipt.about) == (0, "bad_input", "event")
    assert receiver.messages == []


def test_a_webhook_needs_a_url_and_gets_a_secret() -> None:
    options, secrets = check_webhook_options({"url": "https://a.example/in"}, {}, PUBLIC)
    assert options == {"url": "https://a.example/in", "timeout_sec": 10.0}
    assert secrets.keys() == {"secret"}
    assert len(key_of_secret(secrets["secret"])) == 32
    _, others = check_webhook_options({"url": "https://a.example/in"}, {}, PUBLIC)
    assert secrets != others


def test_what_was_checked_is_not_changed_by_a_second_check() -> None:
    secrets = {"secret": SECRET, "previous_secret": OLD_SECRET}
    first = check_webhook_options(
        {"url": "https://a.example/in?x=1", "timeout_sec": 3}, secrets, PUBLIC
    )
    assert check_webhook_options(*first, PUBLIC) == first
    assert first[1] == secrets


@pytest.mark.parametrize(
    ("options", "secrets", "field"),
    [
        ({}, {}, "url"),
        ({"url": ""}, {}, "url"),
        ({"url": 7}, {}, "url"),
        ({"url": "ftp://a.example/"}, {}, "url"),
        ({"url": "https://anna:pw@a.example/"}, {}, "url"),
        ({"url": "http://127.0.0.1/"}, {}, "url"),
        ({"url": "http://[::ffff:169.254.169.254]/latest"}, {}, "url"),
        ({"url": "http://localhost/"}, {}, "url"),
        ({"url": "https://a.example:22/"}, {}, "url"),
        ({"url": "https://a.example/\r\nx: y"}, {}, "url"),
        ({"url": "https://a.example/", "timeout_sec": 0}, {}, "timeout_sec"),
        ({"url": "https://a.example/", "timeout_sec": 31}, {}, "timeout_sec"),
        ({"url": "https://a.example/", "timeout_sec": float("nan")}, {}, "timeout_sec"),
        ({"url": "https://a.example/", "timeout_sec": True}, {}, "timeout_sec"),
        ({"url": "https://a.example/", "timeout": 5}, {}, "timeout"),
        ({"url": "https://a.example/"}, {"secret": "whsec_short"}, "secret"),
        ({"url": "https://a.example/"}, {"secret": "whsec_AAAA"}, "secret"),
        ({"url": "https://a.example/"}, {"previous_secret": "x"}, "previous_secret"),
        ({"url": "https://a.example/"}, {"password": "x"}, "password"),
    ],
)
def test_what_cannot_work_is_refused_by_name(
    options: Mapping[str, Any], secrets: Mapping[str, str], field: str
) -> None:
    with pytest.raises(BadInput) as refusal:
        check_webhook_options(options, secrets, PUBLIC)
    assert refusal.value.facts["field"] == field


def test_a_refused_secret_is_not_repeated() -> None:
    with pytest.raises(BadInput) as refusal:
        check_webhook_options({"url": "https://a.example/"}, {"secret": "whsec_oops"}, PUBLIC)
    assert "oops" not in f"{refusal.value.message} {refusal.value.facts}"


def test_the_clock_of_these_tests_is_what_the_literals_say() -> None:
    assert datetime.fromtimestamp(1_767_614_400, UTC) == START
