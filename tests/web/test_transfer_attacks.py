"""Hosts that speak HTTP badly on purpose get a typed answer within the limits."""

import asyncio
import gc
import time
import tracemalloc

import pytest

from headwater.core.values.response import Validators
from headwater.feeds.fetch.outcome import Failed, Fetched, Outcome, Throttled, Unchanged
from headwater.feeds.fetch.request_feed import FetchPolicy, FetchRequest, fetch_url
from headwater.web.limits import WebLimits
from tests.support.clock import VirtualClock
from tests.support.site import LOOPBACK, Answer, Site, Talk, a_web, response

POLICY = FetchPolicy("t", address=LOOPBACK)
KNOWN = Validators('"v1"', "Sun, 15 Nov 2026 10:00:00 GMT")
HELLO = response(body=b"hello")


async def asked(
    answer: Answer,
    validators: Validators | None = None,
    *,
    deadline: float = 5.0,
    limits: WebLimits | None = None,
) -> Outcome:
    """The outcome of a hostile answer; the next, healthy one must come through as usual."""
    policy = FetchPolicy("t", address=LOOPBACK, deadline=deadline)
    async with Site(answer, HELLO) as site, a_web(limits) as web:
        started = time.monotonic()
        outcome = await fetch_url(
            FetchRequest(site.url(), validators or Validators()), policy, web, VirtualClock()
        )
        assert time.monotonic() - started < deadline + 2
        after = await fetch_url(FetchRequest(site.url()), POLICY, web, VirtualClock())
    assert isinstance(after, Fetched)
    assert after.exchange.answer.body == b"hello"
    return outcome


def failure(outcome: Outcome) -> tuple[str, bool]:
    assert isinstance(outcome, Failed), outcome
    return outcome.code, outcome.truncated


async def test_a_dripping_body_ends_with_the_deadline() -> None:  # 46
    async def drip(talk: Talk) -> None:
        await talk.say(b"HTTP/1.1 200 OK\r\n\r\n")
        await talk.say_for_ever(b"x", every=0.02)

    outcome = await asked(drip, deadline=0.4)
    assert failure(outcome) == ("timeout", True)
    assert set(outcome.exchange.answer.body) == {ord("x")}


async def test_dripping_headers_end_with_the_deadline() -> None:  # 47
    async def drip(talk: Talk) -> None:
        await talk.say(b"HTTP/1.1 200 OK\r\n")
        await talk.say_for_ever(b"X: y\r\n", every=0.02)

    outcome = await asked(drip, deadline=0.4)
    assert failure(outcome) == ("timeout", False)
    assert outcome.exchange.answer.status is None


@pytest.mark.parametrize(
    "flood",
    [
        b"X: y\r\n" * 129,
        (b"X: " + b"y" * 1000 + b"\r\n") * 70,
        b"X: " + b"y" * 9000 + b"\r\n",
        b"ETag: " + b"y" * 1_000_000 + b"\r\n",  # 57
        b"".join(b"ETag: %d\r\n" % number for number in range(10_000)),
        b"Set-Cookie: a=b; Domain=com\r\n" * 10_000,  # 65
    ],
)
async def test_too_many_headers_are_refused(flood: bytes) -> None:  # 47
    outcome = await asked(b"HTTP/1.1 200 OK\r\n" + flood + b"\r\nhello")
    assert failure(outcome) == ("headers_too_large", False)


async def test_headers_without_end_are_refused() -> None:  # 47
    async def flood(talk: Talk) -> None:
        await talk.say(b"HTTP/1.1 200 OK\r\n")
        await talk.say_for_ever(b"X: y\r\n" * 100)

    assert failure(await asked(flood)) == ("headers_too_large", False)


async def test_as_many_headers_as_allowed_are_read() -> None:
    many = b"".join(b"X-%d: %s\r\n" % (n, b"y" * 400) for n in range(127))
    outcome = await asked(b"HTTP/1.1 200 OK\r\n" + many + b"Content-Length: 2\r\n\r\nhi")
    assert isinstance(outcome, Fetched)
    assert len(outcome.exchange.answer.response_headers) == 128


@pytest.mark.parametrize("status", [b"100 Continue", b"103 Early Hints"])
async def test_interim_answers_are_counted(status: bytes) -> None:  # 49
    interim = b"HTTP/1.1 " + status + b"\r\nLink: </a>\r\n\r\n"

    async def for_ever(talk: Talk) -> None:
        await talk.say_for_ever(interim)

    assert failure(await asked(for_ever)) == ("too_many_interim", False)
    eight = await asked(interim * 8 + HELLO)
    assert isinstance(eight, Fetched)
    assert eight.exchange.answer.response_headers == (("Content-Length", "5"),)


@pytest.mark.parametrize(
    "served",
    [
        response(body=b"<rss><item>", length=1000),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n<rss><item>\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n<rss><item>\r\nzz\r\n",
    ],
)
async def test_a_body_that_breaks_off_is_not_a_document(served: bytes) -> None:  # 50
    outcome = await asked(served, KNOWN)
    assert failure(outcome) == ("incomplete_body", True)
    assert outcome.exchange.answer.body == b"<rss><item>"


async def test_a_body_longer_than_announced_is_cut_at_its_length() -> None:  # 51
    outcome = await asked(response(body=b"hello and much more", length=5))
    assert isinstance(outcome, Fetched)
    assert outcome.exchange.answer.body == b"hello"


@pytest.mark.parametrize(
    "length",
    ["-1", "18446744073709551616", "5\r\nContent-Length: 7", "abc", "5, 7", "0x5"],
)
async def test_an_impossible_length_is_refused_or_bounded(length: str) -> None:  # 51
    served = f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nhello".encode()
    async with Site(served, keep_alive=True) as site, a_web(WebLimits(idle=0.3)) as web:
        first = await fetch_url(FetchRequest(site.url()), POLICY, web, VirtualClock())
        await fetch_url(FetchRequest(site.url()), POLICY, web, VirtualClock())
    assert len(first.exchange.answer.body) <= 7
    assert isinstance(first, Fetched | Failed)
    assert not isinstance(first, Failed) or first.code in {
        "bad_http",
        "incomplete_body",
        "body_too_large",
        "timeout",
    }
    assert site.connections == 2, "a connection with broken framing was used again"


async def test_chunks_win_over_a_length() -> None:  # 51
    served = (
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"5\r\nhello\r\n0\r\n\r\n"
    )
    outcome = await asked(served)
    assert outcome.exchange.answer.body in {b"hello", b""}
    assert isinstance(outcome, Fetched) or failure(outcome)[0] == "bad_http"


async def test_an_enormous_announcement_allocates_nothing() -> None:  # 52
    async def announce(talk: Talk) -> None:
        await talk.say(response(length=10**12))
        await talk.stay_silent()

    outcome = await asked(announce, limits=WebLimits(idle=0.2))
    assert failure(outcome) == ("timeout", True)
    assert outcome.exchange.answer.body == b""


async def test_an_enormous_announcement_with_a_body_is_refused_at_once() -> None:  # 52
    async def announce(talk: Talk) -> None:
        await talk.say(response(length=10**12))
        await talk.say_for_ever(b"x" * 65536, every=0.001)

    outcome = await asked(announce)
    assert failure(outcome) == ("body_too_large", True)
    assert len(outcome.exchange.answer.body) == 0


async def test_a_body_without_end_is_cut_at_the_limit() -> None:
    async def flood(talk: Talk) -> None:
        await talk.say(b"HTTP/1.1 200 OK\r\n\r\n")
        await talk.say_for_ever(b"x" * 65536)

    outcome = await asked(flood, limits=WebLimits(body_bytes=1_000_000))
    assert failure(outcome) == ("body_too_large", True)
    assert len(outcome.exchange.answer.body) == 1_000_000


@pytest.mark.parametrize("size", [1, 2])
async def test_a_body_in_tiny_chunks_takes_no_more_room_than_it_has(size: int) -> None:  # SAFE (b)
    chunk = b"%x\r\n%s\r\n" % (size, b"x" * size)

    async def crumble(talk: Talk) -> None:
        await talk.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        await talk.say_for_ever(chunk * 2000)

    async with Site(crumble) as site, a_web(WebLimits(body_bytes=1_000_000)) as web:
        tracemalloc.start()
        try:
            answer = await web.get(site.url(), (), deadline=30)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert (answer.error, len(answer.body)) == ("body_too_large", 1_000_000)
    assert peak < 4_000_000


async def test_no_body_is_kept_when_its_request_is_over() -> None:  # SAFE (b)
    async with Site(response(body=b"x" * 4_000_000)) as site, a_web() as web:
        tracemalloc.start()
        try:
            asked = [asyncio.create_task(web.get(site.url(), (), deadline=30)) for _ in range(10)]
            assert {len((await each).body) for each in asked} == {4_000_000}
            asked.clear()
            await site.hang_up()
            gc.collect()
            kept, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert kept < 5_000_000


@pytest.mark.parametrize(
    ("served", "code"),
    [
        (b"<rss>I am HTTP/0.9</rss>", "bad_http"),
        (b"ICY 200 OK\r\nicy-name: radio\r\n\r\n\xff\xfb", "bad_http"),
        (b"HTTP/1.1 999 Go Away\r\nContent-Length: 2\r\n\r\nno", "unexpected_status"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "empty_body"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "empty_body"),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", "empty_body"),
        (b"HTTP/1.1 205 Reset Content\r\nContent-Length: 5\r\n\r\nhello", "empty_body"),
        (
            b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/9\r\n"
            b"Content-Length: 5\r\n\r\nhello",
            "unexpected_status",
        ),
        (b"\x16\x03\x01\x02\x00\x01\x00", "bad_http"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "bad_http"),
    ],
)
async def test_strange_answers_have_codes(served: bytes, code: str) -> None:  # 54
    assert failure(await asked(served))[0] == code


async def test_a_status_of_zeroes_is_no_success() -> None:  # 54
    code, _ = failure(await asked(b"HTTP/1.1 000 Hm\r\nContent-Length: 2\r\n\r\nno"))
    assert code in {"bad_http", "unexpected_status"}


async def test_a_304_nobody_asked_for_is_a_failure() -> None:  # 55
    assert failure(await asked(response("304 Not Modified"))) == ("unexpected_304", False)


@pytest.mark.parametrize(
    "served",
    [
        response("304 Not Modified", 'ETag: "new"'),
        response("304 Not Modified", body=b"surprise"),
        response("304 Not Modified", length=99_000_000),
    ],
)
async def test_a_304_brings_nothing_but_itself(served: bytes) -> None:  # 55
    outcome = await asked(served, KNOWN)
    assert isinstance(outcome, Unchanged)
    assert outcome.exchange.answer.body == b""


@pytest.mark.parametrize(
    "field", ['ETag: "a\x01b\xff"', "ETag: " + "x" * 5000, 'ETag: "a"\r\nETag: "b"']
)
async def test_a_bad_validator_is_dropped_and_the_next_request_works(field: str) -> None:  # 57
    outcome = await asked(response("200 OK", field, body=b"hello"))
    assert isinstance(outcome, Fetched)
    assert outcome.validators == Validators()
    again = await asked(response(body=b"x"), outcome.validators)
    assert isinstance(again, Fetched)


@pytest.mark.parametrize(
    "moment",
    ["Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0000 00:00:00 GMT", "garbage", "gestern"],
)
async def test_any_last_modified_is_sent_back_as_it_came(moment: str) -> None:  # 59
    served = response("200 OK", f"Last-Modified: {moment}", body=b"hello")
    async with Site(served, response("304 Not Modified")) as site, a_web() as web:
        first = await fetch_url(FetchRequest(site.url()), POLICY, web, VirtualClock())
        assert isinstance(first, Fetched)
        await fetch_url(FetchRequest(site.url(), first.validators), POLICY, web, VirtualClock())
    assert site.header("If-Modified-Since") == moment


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("-1", None),
        ("0", None),
        ("1000000000", 86_400.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400.0),
        ("9" * 5000, 86_400.0),
        ("NaN", None),
        ("Mon, 01 Jan 2001 00:00:00 GMT", None),
    ],
)
async def test_retry_after_is_clamped(value: str, seconds: float | None) -> None:  # 60
    outcome = await asked(response("429 Slow Down", f"Retry-After: {value}"))
    assert isinstance(outcome, Throttled)
    assert outcome.retry_after == seconds


async def test_headers_that_look_like_code_are_plain_text() -> None:  # 64
    value = "${jndi:ldap://x} {{7*7}} os.system; %s"
    outcome = await asked(response("200 OK", f"X-Code: {value}", body=b"hello"))
    assert ("X-Code", value) in outcome.exchange.answer.response_headers


async def test_no_cookie_ever_comes_back() -> None:  # 65
    served = response("200 OK", "Set-Cookie: id=1; Path=/", body=b"hello")
    async with Site(served, keep_alive=True) as site, a_web() as web:
        for _ in range(3):
            await fetch_url(FetchRequest(site.url()), POLICY, web, VirtualClock())
    assert [site.header("Cookie", n) for n in range(3)] == [None, None, None]


async def test_a_healthy_feed_is_fetched_while_others_attack() -> None:  # SAFE (a)
    async def drip(talk: Talk) -> None:
        await talk.say(b"HTTP/1.1 200 OK\r\n\r\n")
        await talk.say_for_ever(b"x" * 100, every=0.005)

    async with Site(drip) as hostile, Site(HELLO) as healthy, a_web() as web:
        attacks = [asyncio.create_task(web.get(hostile.url(), (), deadline=1.0)) for _ in range(50)]
        await hostile.asked(50)
        started = time.monotonic()
        answer = await web.get(healthy.url(), (), deadline=5)
        assert (answer.body, time.monotonic() - started < 0.5) == (b"hello", True)
        await asyncio.gather(*attacks)
