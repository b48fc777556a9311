"""The thousand publishers, in a process of their own: one listening socket for each address.

Started as `python -m bench.poll.origin`. Answers are made before the first question comes, so
that what is measured is whoever asks. On standard input: `counts` (answers what was asked since
the last `counts`), `digests` (the SHA-256 of every body on the wire), `publish` (every fifth feed
has news from now on), `withdraw` (none has). The end of input ends it.
"""

import argparse
import asyncio
import contextlib
import json
import resource
import socket
import sys
from collections.abc import Awaitable, Callable
from dataclasses import fields
from functools import partial
from typing import Any, cast

from bench.poll.documents import Shape, address_of, served
from bench.poll.feeds import Counts, Feed
from headwater.entrypoints.server.event_loop import new_event_loop

SHIPPED_PORTS = (8080, 8443)
"""Headwater's gate lets these through as shipped, so that no setting has to change for us."""
Answering = Callable[[list[Feed], list[socket.socket], Counts], Awaitable[None]]
"""Lets every feed answer on its socket, and counts what is asked."""


class Publisher(asyncio.Protocol):
    """One connection to one feed's server."""

    __slots__ = ("_counts", "_feed", "_heard", "_number", "_transport")

    def __init__(self, number: int, feed: Feed, counts: Counts) -> None:
        self._number, self._feed, self._counts = number, feed, counts
        self._heard = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._heard += data
        while (end := self._heard.find(b"\r\n\r\n")) >= 0:
            request, self._heard = self._heard[:end], self._heard[end + 4 :]
            self._answer(request)

    def _answer(self, request: bytes) -> None:
        assert self._transport is not None
        counts = self._counts
        counts.requests += 1
        if not request.startswith(b"GET /feed.xml "):
            counts.other += 1
            self._transport.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return
        counts.asked.add(self._number)
        answers = self._feed.now
        at = request.lower().find(b"\r\nif-none-match:")
        if at < 0:
            self._transport.write(answers.whole)
            return
        counts.conditional += 1
        if answers.etag in request[at:].split(b"\r\n", 2)[1]:
            counts.not_modified += 1
            self._transport.write(answers.unchanged)
        else:
            self._transport.write(answers.whole)


def listeners(feeds: int, ports: tuple[int, ...]) -> tuple[int, list[socket.socket]]:
    """A socket per feed, all on the first of these ports that is free; 0 is any."""
    for port in ports:
        opened: list[socket.socket] = []
        try:
            for number in range(feeds):
                opened.append(socket.create_server((address_of(number), port), backlog=64))
                port = port or opened[0].getsockname()[1]
        except OSError:
            for each in opened:
                each.close()
            continue
        return port, opened
    raise SystemExit(f"None of these ports is free on 127.1.0.1 and its neighbours: {ports}")


async def serve(shape: Shape, ports: tuple[int, ...], answer: Answering) -> None:
    documents = list(served(shape))
    port, sockets = listeners(shape.feeds, ports)
    feeds, counts = [Feed.of(*each) for each in documents], Counts()
    await answer(feeds, sockets, counts)
    digests = {
        "first": [first.sha256 for first, _ in documents],
        "later": [later.sha256 for _, later in documents if later is not None],
    }
    sizes = {
        "bytes": sum(len(first.body) for first, _ in documents),
        "coded": sum(len(first.coded) for first, _ in documents),
    }
    del documents
    tell({"port": port, **sizes})
    async for line in _lines():
        if line == "counts":
            tell(counts.as_json())
            for each in fields(Counts):
                setattr(counts, each.name, set() if each.name == "asked" else 0)
        elif line == "digests":
            tell(digests)
        elif line in {"publish", "withdraw"}:
            for feed in feeds:
                feed.now = feed.later if line == "publish" else feed.first
            tell(line)


async def _answer_readily(feeds: list[Feed], sockets: list[socket.socket], counts: Counts) -> None:
    loop = asyncio.get_running_loop()
    for number, (feed, listener) in enumerate(zip(feeds, sockets, strict=True)):
        await loop.create_server(partial(Publisher, number, feed, counts), sock=listener)


async def _lines() -> Any:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    while line := await reader.readline():
        yield line.decode().strip()


def tell(what: Any) -> None:
    print(json.dumps(what), flush=True)


def main(answer: Answering = _answer_readily) -> None:
    words = argparse.ArgumentParser(description=__doc__)
    for each in fields(Shape):
        words.add_argument(f"--{each.name}", type=int, default=each.default)
    words.add_argument("--port", type=int)
    given = vars(words.parse_args())
    port = given.pop("port")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    ports = (*SHIPPED_PORTS, 0) if port is None else (port,)
    with (
        contextlib.suppress(KeyboardInterrupt),
        asyncio.Runner(loop_factory=new_event_loop) as runner,
    ):
        runner.run(serve(Shape(**given), ports, answer))


if __name__ == "__main__":
    main()
