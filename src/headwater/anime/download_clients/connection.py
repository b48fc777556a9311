"""The connection to a download client: to the operator's address alone, bounded both ways."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from headwater.anime.downloads.ports import ClientDown, ClientRefused
from headwater.core.errors import BadSettings, BadUrl
from headwater.core.values.response import Headers, HttpAnswer
from headwater.core.values.url import parts_of
from headwater.web.address_gate import build_address_policy
from headwater.web.http_client import CurlWeb
from headwater.web.limits import WebLimits

MOST_ANSWER_BYTES = 32 * 1024 * 1024
DEADLINE = 20.0
_SHOWN = 200
_INFOHASH = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class DownloadClientConfig:
    """The address of a client and the login. Our own torrents bear the `tag`."""

    kind: str
    url: str
    username: str = ""
    password: str = ""
    category: str = "headwater"
    tag: str = "headwater"
    deadline: float = DEADLINE


class ClientConnection:
    """A connection to one client. Redirects are never followed: they would carry the password
    along."""

    def __init__(self, config: DownloadClientConfig, limits: WebLimits, user_agent: str) -> None:
        self.config = config
        self.base = config.url.rstrip("/")
        try:
            parts = parts_of(config.url)
        except BadUrl as trouble:
            message = f"The address of the download client cannot be used: {trouble.message}"
            raise BadSettings(message) from trouble
        self.origin = parts.origin
        host = f"[{parts.host}]" if ":" in parts.host else parts.host
        only_there = build_address_policy([f"{host}:{parts.port}"], ports=())
        client_limits = replace(
            limits,
            body_bytes=MOST_ANSWER_BYTES,
            host_connections=2,
            first_byte=config.deadline,  # how long we wait for a feed is another matter
            idle=config.deadline,
        )
        self._web = CurlWeb(client_limits, only_there)
        self._user_agent = user_agent
        self.login_lock = asyncio.Lock()

    async def get(self, path: str, headers: Headers = ()) -> HttpAnswer:
        sent = (("User-Agent", self._user_agent), *headers)
        return self._checked(
            await self._web.get(self.base + path, sent, deadline=self.config.deadline)
        )

    async def post(self, path: str, body: bytes, kind: str, headers: Headers = ()) -> HttpAnswer:
        sent = (("User-Agent", self._user_agent), ("Content-Type", kind), *headers)
        return self._checked(
            await self._web.post(self.base + path, sent, body, deadline=self.config.deadline)
        )

    async def close(self) -> None:
        await self._web.close()

    def down(self, why: str) -> ClientDown:
        return ClientDown(f"The download client at {self.origin}: {why}", client=self.config.kind)

    def refused(self, why: str) -> ClientRefused:
        return ClientRefused(
            f"The download client at {self.origin}: {why}", client=self.config.kind
        )

    def check_infohashes(self, infohashes: Sequence[str]) -> None:
        """Only whole hashes may reach a client: to some, other words mean every torrent."""
        for infohash in infohashes:
            if _INFOHASH.fullmatch(infohash) is None:
                raise self.refused(f"{infohash[:_SHOWN]!r} names no torrent, it was not asked.")

    def json_of(self, answer: HttpAnswer) -> Any:
        """The JSON that a healthy client answers with; ClientDown for any other answer."""
        if answer.status != 200:
            raise self.down(f"it answered {answer.status}.")
        try:
            return orjson.loads(answer.body)
        except ValueError as trouble:
            raise self.down(
                f"it answered something else: {printable_body(answer.body)!r}."
            ) from trouble

    def _checked(self, answer: HttpAnswer) -> HttpAnswer:
        if answer.error is not None or answer.status is None:
            why = answer.error_detail or answer.error or "it gave no answer"
            raise self.down(f"{answer.error}: {why}.")
        if 300 <= answer.status < 400:
            raise self.down("it wants to send us elsewhere.")
        return answer


def printable_body(body: bytes) -> str:
    return printable_text(body[:_SHOWN].decode("utf-8", "replace"))


def printable_text(value: object) -> str:
    """Short, and without control characters: it is written down and shown to people."""
    return "".join(letter if letter.isprintable() else " " for letter in str(value)[:_SHOWN])


def parse_progress(value: Any) -> float:
    """A client's progress, between 0 and 1. ValueError when it is no number."""
    share = float(value)
    if share != share:
        raise ValueError("not a number")
    return min(max(share, 0.0), 1.0)
