"""CurlWeb over real sockets: what is sent, what comes back, what is left behind."""

import asyncio
import os
import socket
import time
from pathlib import Path

import pytest
import uvloop

from headwater.core.errors import BadInput, BadSettings
from headwater.core.values.response import Headers
from headwater.web.address_gate import AddressPolicy
from headwater.web.http_client import CurlWeb
from headwater.web.limits import WebLimits, trusted_store
from headwater.web.sockets import LoopSockets
from tests.support.site import LOOPBACK, Site, Talk, a_web, certificate, redirect, response

HELLO = response("200 OK", 'ETag: "x"', body=b"hello")
HEADERS: Headers = (
    ("User-Agent", "Headwater/1 (+https://example.org)"),
    ("Accept", "application/rss+xml, */*;q=0.1"),
    ("Accept-Encoding", "gzip, deflate, br, zstd"),
    ("If-None-Match", 'W/"x y"'),
)


def open_descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else set()


async def test_a_request_is_recorded_exactly_as_it_was_sent() -> None:
    async with Site(HELLO) as site, a_web() as web:
        answer = await web.get(site.url("/a?b='c'&d=%7e"), HEADERS, deadline=5)
    lines = [f"{name}: {value}" for name, value in answer.request_headers]
    assert site.requests == ["\r\n".join(["GET /a?b='c'&d=%7e HTTP/1.1", *lines, "", ""]).encode()]
    assert answer.request_headers == (("Host", f"127.0.0.1:{site.port}"), *HEADERS)


async def test_nothing_is_added_to_what_we_say() -> None:
    async with Site(HELLO) as site, a_web() as web:
        await web.get(site.url(), (("X-Empty", ""),), deadline=5)
    assert site.requests == [
        f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nX-Empty:\r\n\r\n".encode()
    ]


async def test_a_handle_that_posted_asks_plainly_again() -> None:
    async with Site(HELLO, keep_alive=True) as site, a_web(WebLimits(kept_handles=1)) as web:
        posted = await web.post(site.url("/in"), (("Content-Type", "text/x"),), b"", deadline=5)
        await web.get(site.url("/out"), (), deadline=5)
    host = f"Host: 127.0.0.1:{site.port}\r\n"
    assert [head.decode() for head in site.requests] == [
        f"POST /in HTTP/1.1\r\n{host}Content-Type: text/x\r\nContent-Length: 0\r\n\r\n",
        f"GET /out HTTP/1.1\r\n{host}\r\n",
    ]
    assert (posted.status, site.connections) == (200, 1)


async def test_no_line_can_be_smuggled_into_a_request() -> None:
    async with Site(HELLO) as site, a_web() as web:
        with pytest.raises(BadInput, match="line break"):
            await web.get(site.url(), (("X", "y\r\nHost: evil"),), deadline=5)
        assert (await web.get(site.url(), HEADERS, deadline=5)).status == 200
    assert len(site.requests) == 1


async def test_libcurl_gets_the_url_as_our_parser_read_it() -> None:
    async with Site(HELLO) as site, a_web() as web:
        odd = f"http://127.1:{site.port}\\@10.0.0.1/a?q='b'#c"
        answer = await web.get(odd, HEADERS, deadline=5)
    assert (answer.address, site.paths) == ("127.0.0.1", ["/@10.0.0.1/a?q='b'"])


async def test_an_answer_comes_back_as_served() -> None:
    served = response("200 OK", 'ETag: "x"', "X-Twice: 1", "x-twice:  2 ", body=b"\x1f\x8bhello")
    async with Site(served) as site, a_web() as web:
        answer = await web.get(site.url(), HEADERS, deadline=5)
    assert (answer.status, answer.body, answer.error) == (200, b"\x1f\x8bhello", None)
    assert answer.response_headers == (
        ("ETag", '"x"'),
        ("X-Twice", "1"),
        ("x-twice", "2"),
        ("Content-Length", "7"),
    )
    assert answer.address == "127.0.0.1"
    assert 0 < answer.elapsed < 5


async def test_chunks_and_trailers_are_put_together() -> None:
    served = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"5\r\nhello\r\n6\r\n world\r\n0\r\nETag: late\r\n\r\n"
    )
    async with Site(served) as site, a_web() as web:
        answer = await web.get(site.url(), HEADERS, deadline=5)
    assert (answer.body, answer.error) == (b"hello world", None)
    assert answer.response_headers == (("Transfer-Encoding", "chunked"),)


async def test_a_connection_is_used_again() -> None:
    async with Site(HELLO, keep_alive=True) as site, a_web() as web:
        for _ in range(5):
            answer = await web.get(site.url(), HEADERS, deadline=5)
            assert (answer.body, answer.address) == (b"hello", "127.0.0.1")
    assert site.connections == 1


async def test_one_request_leaves_nothing_to_the_next() -> None:
    async with Site(HELLO, response("404 Not Found"), keep_alive=True) as site, a_web() as web:
        await web.get(site.url(), HEADERS, deadline=5)
        second = await web.get(site.url(), (("Accept", "*/*"),), deadline=5)
    assert (second.status, second.body) == (404, b"")
    assert second.response_headers == (("Content-Length", "0"),)
    assert site.header("If-None-Match") is None


async def test_hundreds_of_requests_run_side_by_side() -> None:
    everybody = asyncio.Event()

    async def wait_for_all(talk: Talk) -> None:
        if len(site.requests) == 300:
            everybody.set()
        await everybody.wait()
        await talk.say(response(body=talk.head.split(b" ")[1]))

    async with Site(wait_for_all) as site, a_web() as web:
        answers = await asyncio.gather(
            *(web.get(site.url(f"/{number}"), HEADERS, deadline=20) for number in range(300))
        )
    assert [answer.body for answer in answers] == [b"/%d" % number for number in range(300)]


def test_it_runs_on_uvloop_too() -> None:
    async def visit() -> list[int | None]:
        async with Site(HELLO) as site, a_web() as web:
            answers = await asyncio.gather(
                *(web.get(site.url(), HEADERS, deadline=5) for _ in range(50))
            )
            return [answer.status for answer in answers]

    assert uvloop.run(visit()) == [200] * 50


async def test_it_runs_without_epoll_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("select.epoll", raising=False)
    async with Site(HELLO, keep_alive=True) as site, a_web() as web:
        answers = await asyncio.gather(
            *(web.get(site.url(), HEADERS, deadline=5) for _ in range(50))
        )
        assert isinstance(web._sockets, LoopSockets)
    assert [answer.status for answer in answers] == [200] * 50


async def test_a_cancelled_request_lets_go_and_the_others_go_on() -> None:
    async def silent_for_some(talk: Talk) -> None:
        if b"/silent" in talk.head:
            await talk.stay_silent()
        await talk.say(HELLO)

    async with Site(silent_for_some) as site, a_web() as web:
        stuck = asyncio.create_task(web.get(site.url("/silent"), HEADERS, deadline=20))
        await site.asked()
        stuck.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stuck
        answers = await asyncio.gather(
            *(web.get(site.url(), HEADERS, deadline=5) for _ in range(20))
        )
    assert [answer.body for answer in answers] == [b"hello"] * 20


async def test_closing_ends_what_is_under_way_and_leaves_nothing() -> None:
    async def silent(talk: Talk) -> None:
        await talk.stay_silent()

    async with Site(silent) as site:
        before = open_descriptors()
        web = CurlWeb(WebLimits(), LOOPBACK)
        stuck = [asyncio.create_task(web.get(site.url(), HEADERS, deadline=20)) for _ in range(5)]
        await site.asked(5)
        await web.close()
        await web.close()
        answers = await asyncio.gather(*stuck)
        assert [answer.error for answer in answers] == ["network_error"] * 5
        await site.hang_up()
        await asyncio.sleep(0)
        assert open_descriptors() <= before
        with pytest.raises(RuntimeError, match="closed"):
            await web.get(site.url(), HEADERS, deadline=1)


async def test_no_time_left_means_no_request() -> None:
    async with Site(HELLO) as site, a_web() as web:
        answer = await web.get(site.url(), HEADERS, deadline=0)
    assert (answer.error, site.connections) == ("timeout", 0)


async def test_the_deadline_ends_everything() -> None:
    async def trickle(talk: Talk) -> None:
        await talk.say(response(length=1000))
        await talk.say_for_ever(b"x", every=0.01)

    async with Site(trickle) as site, a_web() as web:
        started = time.monotonic()
        answer = await web.get(site.url(), HEADERS, deadline=0.3)
    assert time.monotonic() - started < 1.5
    assert (answer.error, answer.status) == ("timeout", 200)
    assert set(answer.body) == {ord("x")}


@pytest.mark.parametrize(
    ("limits", "first", "why"),
    [
        (WebLimits(first_byte=0.1), b"", "no first byte within 0.1 s"),
        (WebLimits(idle=0.1), b"HTTP/1.1 200 OK\r\nX: y\r\n", "nothing more came within 0.1 s"),
        (WebLimits(idle=0.1), response(body=b"x", length=2), "nothing more came within 0.1 s"),
    ],
)
async def test_a_host_that_falls_silent_is_given_up(
    limits: WebLimits, first: bytes, why: str
) -> None:
    async def fall_silent(talk: Talk) -> None:
        await talk.say(first)
        await talk.stay_silent()

    async with Site(fall_silent) as site, a_web(limits) as web:
        answer = await web.get(site.url(), HEADERS, deadline=20)
    assert (answer.error, answer.error_detail) == ("timeout", why)


@pytest.mark.parametrize("how", ["cancelled", "given up"])
async def test_whoever_waits_for_the_place_of_a_request_that_ends_goes_on_at_once(how: str) -> None:
    """One connection for each host: libcurl starts the second when the first is gone."""

    async def silent(talk: Talk) -> None:
        await talk.stay_silent()

    limits = WebLimits(host_connections=1, first_byte=20.0 if how == "cancelled" else 0.2)
    async with Site(silent, HELLO) as site, a_web(limits) as web:
        first = asyncio.create_task(web.get(site.url("/first"), HEADERS, deadline=20))
        await site.asked()
        second = asyncio.create_task(web.get(site.url("/second"), HEADERS, deadline=20))
        for _ in range(5):  # turns of the loop, after which libcurl has put it in its queue
            await asyncio.sleep(0)
        if how == "cancelled":
            first.cancel()
        async with asyncio.timeout(3):
            answer = await second
        assert (answer.status, answer.error) == (200, None)
        await asyncio.wait({first})
    assert site.paths == ["/first", "/second"]


async def test_too_many_fields_are_refused_before_the_last_one_has_come() -> None:
    async def many(talk: Talk) -> None:
        await talk.say(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200)
        await talk.stay_silent()

    async with Site(many) as site, a_web(WebLimits(idle=20.0)) as web:
        answer = await web.get(site.url(), HEADERS, deadline=3)
    assert (answer.error, answer.error_detail) == ("headers_too_large", "more than 128 fields")


async def test_a_tls_handshake_that_stalls_is_given_up() -> None:
    greeted = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await greeted.wait()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with a_web(WebLimits(tls=0.1)) as web:
        answer = await web.get(f"https://127.0.0.1:{port}/", HEADERS, deadline=20)
    greeted.set()
    server.close()
    assert (answer.error, answer.error_detail) == ("timeout", "no TLS handshake within 0.1 s")


async def test_a_host_that_never_accepts_is_given_up() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        crowd = [socket.socket() for _ in range(4)]
        for visitor in crowd:
            visitor.setblocking(False)
            visitor.connect_ex(("127.0.0.1", port))
        async with a_web(WebLimits(connect=0.1)) as web:
            answer = await web.get(f"http://127.0.0.1:{port}/", HEADERS, deadline=20)
        for visitor in crowd:
            visitor.close()
    assert (answer.error, answer.error_detail) == ("timeout", "no connection within 0.1 s")


async def test_a_slow_answer_on_a_kept_connection_is_waited_for() -> None:
    async def slow(talk: Talk) -> None:
        await asyncio.sleep(0.3)
        await talk.say(HELLO)

    async with Site(HELLO, slow, keep_alive=True) as site, a_web(WebLimits(connect=0.1)) as web:
        first = await web.get(site.url(), HEADERS, deadline=5)
        second = await web.get(site.url(), HEADERS, deadline=5)
    assert (first.error, second.error, site.connections) == (None, None, 1)


async def test_a_closed_port_is_a_connect_error() -> None:
    async with Site(HELLO) as site:
        pass
    async with a_web() as web:
        answer = await web.get(site.url(), HEADERS, deadline=5)
    assert answer.error == "connect_error"


async def test_a_host_that_hangs_up_is_a_lost_connection() -> None:
    async with Site(b"") as site, a_web() as web:
        answer = await web.get(site.url(), HEADERS, deadline=5)
    assert (answer.error, answer.status) == ("connection_lost", None)


async def test_tls_is_verified_by_name_even_when_the_address_is_pinned(
    tmp_path: Path,
) -> None:
    context, trusted = certificate(tmp_path, "feeds.example")
    async with Site(HELLO, tls=context) as site:
        pin = f"feeds.example:{site.port}:127.0.0.1"
        async with a_web(WebLimits(ca_file=trusted), resolve=(pin,)) as web:
            url = site.url(host="feeds.example")
            answer = await web.get(url, HEADERS, deadline=5)
            assert (answer.status, answer.error) == (200, None)
            assert site.header("Host") == f"feeds.example:{site.port}"
            by_address = await web.get(site.url(), HEADERS, deadline=5)
            assert by_address.error == "tls_error"


@pytest.mark.parametrize(
    ("names", "days", "trust"),
    [
        (("127.0.0.1",), 2, False),  # self-signed
        (("127.0.0.1",), -1, True),  # expired
        (("other.example",), 2, True),  # wrong name
    ],
)
async def test_a_bad_certificate_is_refused_unless_the_feed_opts_out(
    tmp_path: Path, names: tuple[str, ...], days: int, trust: bool
) -> None:
    context, trusted = certificate(tmp_path, *names, days=days)
    limits = WebLimits(ca_file=trusted if trust else None)
    async with Site(HELLO, tls=context) as site, a_web(limits) as web:
        refused = await web.get(site.url(), HEADERS, deadline=5)
        opted_out = await web.get(site.url(), HEADERS, deadline=5, verify_tls=False)
        again = await web.get(site.url(), HEADERS, deadline=5)
    assert (refused.error, opted_out.error, again.error) == ("tls_error", None, "tls_error")
    assert opted_out.body == b"hello"
    assert len(site.requests) == 1


async def test_old_tls_is_refused(tmp_path: Path) -> None:
    context, trusted = certificate(tmp_path, "127.0.0.1")
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        context.minimum_version = context.maximum_version = 769  # type: ignore[assignment]
    async with Site(HELLO, tls=context) as site, a_web(WebLimits(ca_file=trusted)) as web:
        answer = await web.get(site.url(), HEADERS, deadline=5)
    assert answer.error == "tls_error"


async def test_the_body_of_a_redirect_is_not_waited_for() -> None:
    async def endless(talk: Talk) -> None:
        await talk.say(b"HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 999999\r\n\r\n")
        await talk.say_for_ever(b"x" * 1000, every=0.001)

    async with Site(endless) as site, a_web() as web:
        answer = await web.get(site.url(), HEADERS, deadline=5)
    assert (answer.status, answer.body, answer.error) == (302, b"", None)
    assert ("Location", "/b") in answer.response_headers
    assert answer.elapsed < 2


async def test_a_redirect_without_a_body_keeps_its_connection() -> None:
    async with Site(redirect("/b"), HELLO, keep_alive=True) as site, a_web() as web:
        await web.get(site.url(), HEADERS, deadline=5)
        await web.get(site.url("/b"), HEADERS, deadline=5)
    assert site.connections == 1


def test_trusted_certificates_come_from_a_file_that_exists(tmp_path: Path) -> None:
    mine = tmp_path / "mine.pem"
    mine.write_text("x")
    assert trusted_store(str(mine)) == str(mine)
    assert Path(trusted_store(None)).is_file()
    with pytest.raises(BadSettings, match="no file of trusted certificates"):
        CurlWeb(WebLimits(ca_file=str(tmp_path / "none.pem")), AddressPolicy())


async def test_the_body_of_a_redirect_is_not_read_whatever_length_it_announces() -> None:
    chunks = b"10000\r\n" + b"a" * 65_536 + b"\r\n"
    head = (
        b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
    )
    async with Site(head + chunks * 200) as site, a_web() as web:
        answer = await web.get(site.url(), (), deadline=5)
    assert (answer.status, answer.error, answer.body) == (302, None, b"")
