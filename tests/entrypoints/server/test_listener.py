"""The listening end hangs up on whoever dawdles, floods or smuggles."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from headwater.core.errors import BadSettings
from headwater.entrypoints.server import listener
from headwater.entrypoints.server.in_process import Message, Receive, Send
from headwater.entrypoints.server.listener import (
    PortTaken,
    build_server,
    is_loopback,
    listening_socket,
    url_of_socket,
)
from headwater.settings import load_settings


async def app(scope: Message, receive: Receive, send: Send) -> None:
    """Answers with the length of the body."""
    if scope["type"] == "lifespan":
        for phase in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{phase}.complete"})
        return
    length, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        length += len(message["body"])
        more = message["more_body"]
    body = str(length).encode()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def running() -> AsyncIterator[int]:
    with listening_socket(load_settings(port=0)) as bound:
        server = build_server(app, stop_seconds=1)
        task = asyncio.create_task(server.serve(sockets=[bound]))
        yield bound.getsockname()[1]
        server.should_exit = True
        await task


async def told(port: int, *pieces: bytes, wait: float = 0.0) -> bytes:
    """All that comes back until the other end closes (or resets)."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = b""
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(wait)
        async with asyncio.timeout(5):
            while got := await reader.read(65_536):
                answer += got
    except ConnectionError:
        answer += b"<reset>"
    finally:
        writer.close()
    return answer


async def test_an_ordinary_request_is_answered_without_a_word_about_the_server() -> None:
    async with running() as port:
        answer = await told(port, b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"uvicorn" not in answer.lower()


async def test_a_large_body_in_one_piece_with_its_head_is_read() -> None:
    body = b"x" * 200_000
    head = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 200000\r\n\r\n"
    async with running() as port:
        answer = await told(port, head + body)
    assert answer.endswith(b"200000")


async def test_silence_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "HEAD_SECONDS", 0.05)
    async with running() as port:
        assert await told(port) in {b"", b"<reset>"}


async def test_a_head_that_drips_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "HEAD_SECONDS", 0.05)
    async with running() as port:
        drops = [b"GET / HTTP/1.1\r\n", *(b"X-%d: y\r\n" % n for n in range(20))]
        assert await told(port, *drops, wait=0.02) in {b"", b"<reset>"}


async def test_blank_lines_after_an_answer_do_not_keep_a_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listener, "HEAD_SECONDS", 0.1)
    async with running() as port:
        answer = await told(port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\r\n", wait=0.05)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")


async def test_a_body_that_never_comes_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "BODY_SECONDS", 0.05)
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"
    async with running() as port:
        assert await told(port, head, b"x") in {b"", b"<reset>"}


async def test_an_endless_head_is_hung_up_on() -> None:
    async with running() as port:
        answer = await told(port, b"GET / HTTP/1.1\r\nX: " + b"a" * 100_000)
    assert answer in {b"", b"<reset>"}


async def test_two_lengths_at_once_are_refused() -> None:
    head = (
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
    )
    async with running() as port:
        answer = await told(port, head)
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert answer.count(b"HTTP/1.1 ") == 1


async def test_a_crowd_is_turned_away_and_then_let_in_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listener, "MOST_CONNECTIONS", 4)
    ask = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    async with running() as port:
        crowd = [await asyncio.open_connection("127.0.0.1", port) for _ in range(6)]
        busy = await told(port, ask)
        for _, writer in crowd:
            writer.close()
            await writer.wait_closed()
        calm = await told(port, ask)
    assert busy.startswith(b"HTTP/1.1 503 ")
    assert calm.startswith(b"HTTP/1.1 200 ")


def test_without_a_token_only_loopback_is_listened_on() -> None:
    with pytest.raises(BadSettings, match=r"loopback only, not on 0\.0\.0\.0"):
        listening_socket(load_settings(host="0.0.0.0", port=0))


def test_with_a_token_every_address_may_be_listened_on() -> None:
    with listening_socket(load_settings(host="0.0.0.0", port=0, admin_token="x" * 32)) as bound:
        assert url_of_socket(bound) == f"http://127.0.0.1:{bound.getsockname()[1]}"


def test_a_port_that_is_taken_says_what_to_do() -> None:
    with (
        listening_socket(load_settings(port=0)) as bound,
        pytest.raises(PortTaken, match="Choose another port with --port"),
    ):
        listening_socket(load_settings(port=bound.getsockname()[1]))


def test_an_unknown_host_is_a_bad_setting() -> None:
    with pytest.raises(BadSettings, match="is not known"):
        listening_socket(load_settings(host="no-such-host.invalid", port=0, admin_token="x" * 32))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost"])
def test_these_are_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", "localhost.example"])
def test_these_are_not_loopback(host: str) -> None:
    assert not is_loopback(host)


async def endless(scope: Message, receive: Receive, send: Send) -> None:
    """Sends for as long as somebody is there."""
    if scope["type"] == "lifespan":
        await app(scope, receive, send)
        return
    gone = asyncio.create_task(_gone(receive))
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while not gone.done():
        await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})
    scope["state"]["ended"].set()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def test_whoever_does_not_read_an_answer_is_hung_up_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listener, "UNREAD_SECONDS", 0.2)
    ended = asyncio.Event()

    async def noted(scope: Message, receive: Receive, send: Send) -> None:
        await endless({**scope, "state": {"ended": ended}}, receive, send)

    with listening_socket(load_settings(port=0)) as bound:
        server = build_server(noted, stop_seconds=1)
        task = asyncio.create_task(server.serve(sockets=[bound]))
        port = bound.getsockname()[1]
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        await asyncio.wait_for(ended.wait(), 30)
        writer.close()
        server.should_exit = True
        await task
