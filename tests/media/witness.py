"""Between Headwater and its client: every call is seen, judged at that moment, and let through.

    async with Witness(client_port, eyes) as witness:
        witness.port               # what Headwater is told is the client
        witness.calls              # ("add" | "remove", infohash), in order

`eyes` sees each call before the client does, while nothing can have changed yet.
"""

import asyncio
import json
import re
from base64 import b64decode
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from email import message_from_bytes
from email.policy import HTTP
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import parse_qs

from headwater.anime.torrents.torrent_file import parse_torrent

Act = Literal["add", "remove"]
_HASH = re.compile(r"btih:([0-9a-f]{40})")
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


@dataclass(slots=True)
class Witness:
    client: int
    eyes: Callable[[Act, str], None]
    calls: list[tuple[Act, str]] = field(default_factory=list)
    port: int = 0
    gids: dict[str, str] = field(default_factory=dict)
    """aria2 calls its downloads by names of its own."""
    _server: asyncio.Server | None = None
    _talks: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._meet, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        trouble: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for talk in tuple(self._talks):
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.create_task(self._talk(reader, writer))
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A killed service or client ends in the middle of anything."""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readexactly(_length(head) or 0)
            for act, infohash in self._acts(head, body):
                self.calls.append((act, infohash))
                self.eyes(act, infohash)
            answer = await self._asked(head, body)
            self._learn(body, answer)
            writer.write(answer)
            await writer.drain()
        writer.close()

    async def _asked(self, head: bytes, body: bytes) -> bytes:
        """The client is to believe that it was asked itself."""
        own, its = f"127.0.0.1:{self.port}".encode(), f"127.0.0.1:{self.client}".encode()
        lines = head.replace(own, its).split(b"\r\n")
        kept = [line for line in lines if not line.lower().startswith(b"connection:")]
        kept.insert(1, b"Connection: close")
        reader, writer = await asyncio.open_connection("127.0.0.1", self.client)
        try:
            writer.write(b"\r\n".join(kept) + body)
            await writer.drain()
            said = await reader.readuntil(b"\r\n\r\n")
            length = 0 if said.split(b" ")[1] == b"204" else _length(said)
            rest = await (reader.read() if length is None else reader.readexactly(length))
            return said + rest
        finally:
            writer.close()

    def _acts(self, head: bytes, body: bytes) -> list[tuple[Act, str]]:
        path = head.split(b" ")[1]
        if path == b"/api/v2/torrents/add":
            return [("add", _added(head, body))]
        if path == b"/api/v2/torrents/delete":
            hashes = parse_qs(body.decode())["hashes"][0].split("|")
            return [("remove", infohash) for infohash in hashes]
        if path == b"/transmission/rpc":
            return _of_transmission(json.loads(body))
        if path == b"/jsonrpc":
            return self._of_aria2(json.loads(body))
        return []

    def _of_aria2(self, asked: dict[str, Any]) -> list[tuple[Act, str]]:
        wish = asked["params"][1:]
        match asked["method"]:
            case "aria2.addTorrent":
                return [("add", parse_torrent(b64decode(wish[0])).infohash)]
            case "aria2.addUri":
                return [("add", _in_magnet(wish[0][0]))]
            case "aria2.forceRemove" | "aria2.removeDownloadResult":
                return [("remove", self.gids.get(wish[0], wish[0]))]
        return []

    def _learn(self, body: bytes, answer: bytes) -> None:
        """Which download of aria2 is which torrent."""
        if b"aria2.tell" in body:
            listed = json.loads(answer.partition(b"\r\n\r\n")[2]).get("result", ())
            self.gids |= {each["gid"]: each["infoHash"] for each in listed if "infoHash" in each}


def _length(head: bytes) -> int | None:
    found = _LENGTH.search(head)
    return int(found[1]) if found else None


def _in_magnet(link: str) -> str:
    found = _HASH.search(link)
    assert found is not None, link
    return found[1]


def _added(head: bytes, body: bytes) -> str:
    for part in message_from_bytes(head.partition(b"\r\n")[2] + body, policy=HTTP).iter_parts():
        name, held = part["Content-Disposition"].params["name"], part.get_payload(decode=True)
        assert isinstance(held, bytes)
        if name == "torrents":
            return parse_torrent(held).infohash
        if name == "urls":
            return _in_magnet(held.decode())
    raise AssertionError("neither a torrent nor a magnet link")


def _of_transmission(asked: dict[str, Any]) -> list[tuple[Act, str]]:
    wish = asked["arguments"]
    if asked["method"] == "torrent-add" and "metainfo" in wish:
        return [("add", parse_torrent(b64decode(wish["metainfo"])).infohash)]
    if asked["method"] == "torrent-add":
        return [("add", _in_magnet(wish["filename"]))]
    if asked["method"] == "torrent-remove":
        return [("remove", str(infohash)) for infohash in wish["ids"]]
    return []
