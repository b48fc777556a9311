"""Somebody else answers where Headwater should: nothing hangs, grows or is believed."""

import asyncio
import ssl
from dataclasses import replace
from pathlib import Path

import pytest

from headwater.client import AsyncClient, Client, Garbled, Patience, Unexpected, Unreachable
from headwater.core.errors import BadSettings
from tests.support.both_clients import KINDS, QUICK, Kind, events
from tests.support.site import Answer, Site, Talk, certificate, redirect, response

pytestmark = pytest.mark.parametrize("kind", KINDS)

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
START = b": Headwater\nretry: 1\nid: 0\n\n"
ONCE = Patience(connect=2.0, ask=2.0, stream=0.3, longest_event=100_000, most_bytes=100_000)


def frame(seq: int) -> bytes:
    said = b'{"seq":%d,"id":"e%d","type":"feed_gone","at":"2026-01-05T12:00:00Z"' % (seq, seq)
    return b"id: %d\nevent: feed_gone\ndata: %b,%b}\n\n" % (
        seq,
        said,
        b'"feed_id":null,"payload":{}',
    )


async def met(kind: Kind, answer: Answer, patience: Patience = ONCE) -> None:
    """One connection; what ended it is raised."""
    async with Site(answer) as site:
        await events(kind, site.url(""), 99, after=0, patience=patience, reconnect=False)


async def test_a_line_without_an_end(kind: Kind) -> None:
    async def endless(talk: Talk) -> None:
        await talk.say(HEAD, START, b"data: ")
        await talk.say_for_ever(b"x" * 10_000)

    with pytest.raises(Garbled, match="no end"):
        await met(kind, endless)


async def test_a_head_without_an_end(kind: Kind) -> None:
    async def endless(talk: Talk) -> None:
        await talk.say(b"HTTP/1.1 200 OK\r\n")
        await talk.say_for_ever(b"X-A: " + b"x" * 1_000 + b"\r\n")

    with pytest.raises(Garbled, match="no end"):
        await met(kind, endless)


async def test_a_refusal_without_an_end(kind: Kind) -> None:
    async def endless(talk: Talk) -> None:
        await talk.say(b"HTTP/1.1 500 Oh\r\n\r\n")
        await talk.say_for_ever(b"x" * 10_000)

    with pytest.raises(Unexpected, match="larger than 100000 bytes"):
        await met(kind, endless)


@pytest.mark.parametrize("said", ["text/html", "application/json", "text/event-streams", ""])
async def test_another_content_type(kind: Kind, said: str) -> None:
    with pytest.raises(Unexpected, match="not text/event-stream"):
        await met(kind, response("200 OK", f"Content-Type: {said}", body=START + frame(1)))


async def test_a_redirect_is_not_followed_and_the_token_stays(kind: Kind) -> None:
    async with Site(response()) as elsewhere, Site(redirect(elsewhere.url("/"))) as site:
        with pytest.raises(Unexpected, match="302; redirects are not followed"):
            await events(kind, site.url(""), 1, token="hw_secret", patience=ONCE)
        assert site.header("authorization") == "Bearer hw_secret"
        assert elsewhere.requests == []


async def test_somebody_else_says_no(kind: Kind) -> None:
    """Not in Headwater's words: no refusal of Headwater's, and asking again will not help."""
    with pytest.raises(Unexpected, match="404, and not in Headwater's words"):
        await met(kind, response("404 Not Found", "Content-Type: text/plain", body=b"Not Found"))


async def test_not_even_http(kind: Kind) -> None:
    with pytest.raises(Unexpected, match="not an HTTP answer"):
        await met(kind, b"220 mail.example ESMTP\r\n\r\n")


@pytest.mark.parametrize(
    "garbage",
    [
        b"id: one\ndata: {}\n\n",
        b"data: {}\n\n",
        b"id: 1\ndata: {\n\n",
        frame(1).replace(b"id: 1", b"id: 2"),
        b"id: 99999999999999999999\n\n",
        b"id: 5\n\n",
        b"id: 1\nevent: log_reset\ndata: soon\n\n",
        b"\x00\xff\xfe\ndata\n\n",
    ],
)
async def test_garbage_in_the_stream(kind: Kind, garbage: bytes) -> None:
    with pytest.raises(Garbled):
        await met(kind, HEAD + START + garbage)


async def test_half_a_frame_at_the_end_is_not_told(kind: Kind) -> None:
    half = frame(2)[:-1]
    async with Site(HEAD + START + frame(1) + half) as site:
        told = await events(kind, site.url(""), 9, after=0, patience=ONCE, reconnect=False)
        assert [event.seq for event in told] == [1]


async def test_after_garbage_it_asks_again_from_the_last_good_number(kind: Kind) -> None:
    bad = HEAD + START + frame(1) + b"id: x\ndata: {}\n\n"
    jump = HEAD + b"id: 1\n\n" + frame(2) + frame(4)
    good = HEAD + b"id: 2\n\n" + frame(1) + frame(2) + frame(3) + frame(4)
    async with Site(bad, jump, good) as site:
        told = await events(kind, site.url(""), 4, after=0, patience=QUICK)
        assert [event.seq for event in told] == [1, 2, 3, 4]
        assert [site.header("last-event-id", n) for n in range(3)] == ["0", "1", "2"]


async def test_a_drip_is_no_sign_of_life(kind: Kind) -> None:
    async def drips(talk: Talk) -> None:
        await talk.say(HEAD, START)
        await talk.say_for_ever(b":", every=0.02)

    with pytest.raises(Unreachable, match="too slow"):
        await asyncio.wait_for(met(kind, drips), 10)


async def test_a_head_that_drips(kind: Kind) -> None:
    async def drips(talk: Talk) -> None:
        await talk.say(b"HTTP/1.1 200 OK\r\nX: ")
        await talk.say_for_ever(b"x", every=0.02)

    with pytest.raises(Unreachable, match="too slow"):
        await asyncio.wait_for(met(kind, drips), 10)


async def test_chunk_sizes_that_drip(kind: Kind) -> None:
    async def drips(talk: Talk) -> None:
        await talk.say(HEAD[:-2], b"Transfer-Encoding: chunked\r\n\r\n")
        await talk.say_for_ever(b"0", every=0.02)

    with pytest.raises(Unreachable, match="too slow"):
        await asyncio.wait_for(met(kind, drips), 10)


async def test_silence(kind: Kind) -> None:
    with pytest.raises(Unreachable, match="too slow"):
        await met(kind, Talk.stay_silent)


async def test_pings_are_a_sign_of_life(kind: Kind) -> None:
    async def pings(talk: Talk) -> None:
        await talk.say(HEAD, START)
        for _ in range(5):
            await asyncio.sleep(0.15)
            await talk.say(b": ping\nid: 0\n\n")
        await talk.say(frame(1))

    async with Site(pings) as site:
        told = await events(kind, site.url(""), 1, after=0, patience=ONCE, reconnect=False)
    assert [event.seq for event in told] == [1]


async def test_an_answer_larger_than_any_is_given_up(kind: Kind) -> None:
    async def endless(talk: Talk) -> None:
        await talk.say(b"HTTP/1.1 200 OK\r\n\r\n")
        await talk.say_for_ever(b"x" * 10_000)

    async with Site(endless) as site:
        with pytest.raises(Unexpected, match="larger than 100000 bytes"):
            await _raw(kind, site.url(""))


async def test_an_answer_that_is_no_record(kind: Kind) -> None:
    for body in (b"[]", b"{}", b"null", b"<html>", b'{"id": 1}'):
        async with Site(response(body=body)) as site:
            with pytest.raises(Unexpected):
                await _feed(kind, site.url(""))


async def test_tls_is_checked_and_works(kind: Kind, tmp_path: Path) -> None:
    context, trusted = certificate(tmp_path, "127.0.0.1")
    private = ssl.create_default_context(cafile=trusted)
    async with Site(HEAD + START + frame(1), tls=context) as site:
        told = await events(kind, site.url(""), 1, after=0, patience=QUICK, tls=private)
        assert [event.seq for event in told] == [1]
        with pytest.raises(Unreachable, match="certificate"):
            await events(kind, site.url(""), 1, after=0, patience=ONCE, reconnect=False)


async def test_plain_text_where_tls_should_be(kind: Kind) -> None:
    async with Site(response()) as site:
        url = site.url("").replace("http:", "https:")
        with pytest.raises(Unreachable):
            await events(kind, url, 1, patience=replace(ONCE, connect=0.5), reconnect=False)


@pytest.mark.parametrize(
    ("url", "token"),
    [
        ("ftp://a.example", None),
        ("http://", None),
        ("http://user:word@a.example", None),
        ("http://a.example/?x=1", None),
        ("http://a.example:port", None),
        ("http://a.example/ b", None),
        ("http://a..example", None),
        ("http://a.example", "hw_\r\nHost: b"),
        ("http://a.example", "hw é"),
    ],
)
async def test_what_cannot_be_an_address_or_a_token(
    kind: Kind, url: str, token: str | None
) -> None:
    with pytest.raises(BadSettings):
        (Client if kind == "threads" else AsyncClient)(url, token)


async def _raw(kind: Kind, url: str) -> bytes:
    if kind == "threads":
        return await asyncio.to_thread(Client(url, patience=ONCE).raw, "x")
    return await AsyncClient(url, patience=ONCE).raw("x")


async def _feed(kind: Kind, url: str) -> object:
    if kind == "threads":
        return await asyncio.to_thread(Client(url, patience=ONCE).feed, "x")
    return await AsyncClient(url, patience=ONCE).feed("x")
