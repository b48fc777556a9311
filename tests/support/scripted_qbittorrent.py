"""A scripted qBittorrent: answers as its versions do, written from what they were seen to answer.

async with ScriptedQBittorrent(V5_2) as client:
    client.url                            # http://127.0.0.1:PORT
    client.torrents[infohash].state       # what it has, by hash
    client.password = "another"           # as after a restart with a temporary password
    client.forget_sessions()
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from email import message_from_bytes
from email.policy import HTTP
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import orjson

from headwater.anime.torrents.torrent_file import parse_torrent
from tests.support.webhook_receiver import Message, Receiver, Reply

USER = "admin"
BAN_AFTER = 5


@dataclass(frozen=True, slots=True)
class Dialect:
    """What differs between versions."""

    version: str
    stopped: str = "stopped"
    cookie: str = "SID"
    login_says: bytes = b"Ok."
    is_terse: bool = False
    """Nothing to say is a 204, a wrong password a 401, and adding answers with JSON."""


V4_5 = Dialect("v4.5.2", stopped="paused")
V5_1 = Dialect("v5.1.2")
V5_2 = Dialect("v5.2.0", cookie="QBT_SID_{port}", login_says=b"", is_terse=True)


@dataclass(slots=True)
class Held:
    """A torrent as the client has it."""

    name: str
    size: int
    save_path: str
    tags: str
    category: str
    state: str = "downloading"
    progress: float = 0.0
    files: list[tuple[str, int]] = field(default_factory=list)


@dataclass(slots=True)
class ScriptedQBittorrent:
    dialect: Dialect
    password: str = "open-sesame"
    torrents: dict[str, Held] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    deleted: list[tuple[str, bool]] = field(default_factory=list)
    adds_later: bool = False
    failures: int = 0
    _sessions: set[str] = field(default_factory=set)
    _made: int = 0
    _door: Receiver = field(default_factory=Receiver)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._door.port}"

    @property
    def logins(self) -> int:
        return self.calls.count(("POST", "/api/v2/auth/login"))

    def forget_sessions(self) -> None:
        self._sessions.clear()

    def hold(self, infohash: str, **facts: Any) -> Held:
        """A torrent that somebody else has added."""
        plain = Held("Somebody's", 1000, "/elsewhere", "", "")
        self.torrents[infohash] = replace(plain, **facts)
        return self.torrents[infohash]

    async def __aenter__(self) -> Self:
        self._door.answers = [self._answer]
        await self._door.listen()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        trouble: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        await self._door.go_away()

    async def _answer(self, reply: Reply) -> None:
        asked = reply.message
        method, target, _ = asked.line.split(" ")
        split = urlsplit(target)
        self.calls.append((method, split.path))
        asks = parse_qs(split.query)
        if asked.headers.get("referer") != self.url:
            return await self._say(reply, 401, b"Unauthorized")
        if split.path == "/api/v2/auth/login":
            return await self._log_in(reply)
        if asked.headers.get("cookie", "").partition("=")[2] not in self._sessions:
            return await self._say(reply, 403, b"Forbidden")
        status, body = self._done(split.path, asks, asked)
        return await self._say(reply, status, body)

    async def _log_in(self, reply: Reply) -> None:
        said = parse_qs(reply.message.body.decode(), keep_blank_values=True)
        if self.failures >= BAN_AFTER:
            return await self._say(reply, 403, b"Your IP address has been banned")
        if (said["username"], said["password"]) != ([USER], [self.password]):
            self.failures += 1
            status = 401 if self.dialect.is_terse else 200
            return await self._say(reply, status, b"Fails.")
        self._made += 1
        session = f"s/+{self._made}="
        self._sessions.add(session)
        name = self.dialect.cookie.format(port=self._door.port)
        cookie = f"Set-Cookie: {name}={session}; HttpOnly; SameSite=Strict; path=/\r\n"
        status = 204 if self.dialect.is_terse else 200
        return await self._say(reply, status, self.dialect.login_says, cookie)

    def _done(self, path: str, asks: Mapping[str, list[str]], asked: Message) -> tuple[int, bytes]:
        match path:
            case "/api/v2/app/version":
                return 200, self.dialect.version.encode()
            case "/api/v2/torrents/info":
                named = asks["hashes"][0].split("|") if "hashes" in asks else list(self.torrents)
                return 200, self._listed(named)
            case "/api/v2/torrents/files":
                return self._files(asks["hash"][0])
            case "/api/v2/torrents/add":
                return self._add(_fields(asked))
            case "/api/v2/torrents/delete":
                return self._delete(parse_qs(asked.body.decode()))
        return 404, b"Not Found"

    def _listed(self, hashes: list[str]) -> bytes:
        """An unknown word among the hashes names nothing, as in the real one."""
        return orjson.dumps(
            [
                {
                    "hash": infohash,
                    "name": held.name,
                    "size": held.size,
                    "progress": held.progress,
                    "state": held.state.replace("stopped", self.dialect.stopped),
                    "save_path": held.save_path,
                    "tags": held.tags,
                    "category": held.category,
                }
                for infohash, held in self.torrents.items()
                if infohash in hashes
            ]
        )

    def _files(self, infohash: str) -> tuple[int, bytes]:
        if infohash not in self.torrents:
            return 404, b"Not Found"
        listed = [{"name": name, "size": size} for name, size in self.torrents[infohash].files]
        return 200, orjson.dumps(listed)

    def _add(self, fields: Mapping[str, bytes]) -> tuple[int, bytes]:
        """One torrent at a time: that is all we ever send."""
        if (written := fields.get("torrents")) is not None:
            torrent = parse_torrent(written)
            infohash = torrent.infohash
            files = [("/".join(file.path), file.length) for file in torrent.files]
            held = Held(torrent.name, sum(length for _, length in files), *_wish(fields))
            held.files = files
        else:
            infohash = fields["urls"].decode().partition("btih:")[2][:40]
            held = Held(infohash, 0, *_wish(fields), state="metaDL")
        if infohash in self.torrents:
            return self._receipt(409, b"Fails.", infohash, added=0)
        self.torrents[infohash] = held
        if self.adds_later:
            return self._receipt(202, b"Ok.", infohash, added=0, later=1)
        return self._receipt(200, b"Ok.", infohash, added=1)

    def _receipt(
        self, status: int, words: bytes, infohash: str, *, added: int, later: int = 0
    ) -> tuple[int, bytes]:
        if not self.dialect.is_terse:
            return 200, words
        said = {
            "success_count": added,
            "pending_count": later,
            "failure_count": 1 - added - later,
            "added_torrent_ids": [infohash] * added,
        }
        return status, orjson.dumps(said)

    def _delete(self, form: Mapping[str, list[str]]) -> tuple[int, bytes]:
        with_files = form["deleteFiles"] == ["true"]
        for infohash in form["hashes"][0].split("|"):
            assert infohash != "all", "that would be everything"
            held = self.torrents.pop(infohash, None)
            self.deleted.append((infohash, with_files))
            for path, _ in held.files if held is not None and with_files else ():
                assert held is not None
                (Path(held.save_path) / path).unlink(missing_ok=True)
        return 204 if self.dialect.is_terse else 200, b""

    async def _say(self, reply: Reply, status: int, body: bytes, more: str = "") -> None:
        length = "" if status == 204 else f"Content-Length: {len(body)}\r\n"
        head = f"HTTP/1.1 {status} Said\r\n{length}{more}\r\n"
        await reply.say(head.encode() + body)


def _wish(fields: Mapping[str, bytes]) -> tuple[str, str, str]:
    return fields["savepath"].decode(), fields["tags"].decode(), fields["category"].decode()


def _fields(asked: Message) -> dict[str, bytes]:
    """The parts of a form, read by the standard library's own reader of such messages."""
    head = f"Content-Type: {asked.headers['content-type']}\r\n\r\n".encode()
    found: dict[str, bytes] = {}
    for part in message_from_bytes(head + asked.body, policy=HTTP).iter_parts():
        name = part["Content-Disposition"].params["name"]
        held = part.get_payload(decode=True)
        assert isinstance(held, bytes)
        found[name] = held
    return found
