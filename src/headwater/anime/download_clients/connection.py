"""The way to a download client: the operator's own address and nothing else, bounded both ways."""

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
    """Where a client is and how it lets us in. `tag` is what our own torrents bear."""

    kind: str
    url: str
    username: str = ""
    password: str = ""
    category: str = "headwater"
    tag: str = "headwater"
    deadline: float = DEADLINE


class ClientConnection:
    """Redirects are never followed: they would carry the password along."""

    def __init__(self, plan: DownloadClientConfig, limits: WebLimits, user_agent: str) -> None:
        self.plan = plan
        self.base = plan.url.rstrip("/")
        try:
            parts = parts_of(plan.url)
        except BadUrl as trouble:
            said = f"The address of the download client cannot be used: {trouble.message}"
            raise BadSettings(said) from trouble
        self.origin = parts.origin
        place = f"[{parts.host}]" if ":" in parts.host else parts.host
        only_there = build_address_policy([f"{place}:{parts.port}"], ports=())
        small = replace(
            limits,
            body_bytes=MOST_ANSWER_BYTES,
            host_connections=2,
            first_byte=plan.deadline,  # how patient we are with a feed is another matter
            idle=plan.deadline,
        )
        self._web = CurlWeb(small, only_there)
        self._user_agent = user_agent
        self.door = asyncio.Lock()

    async def get(self, path: str, headers: Headers = ()) -> HttpAnswer:
        asked = (("User-Agent", self._user_agent), *headers)
        return self._arrived(
            await self._web.get(self.base + path, asked, deadline=self.plan.deadline)
        )

    async def post(self, path: str, body: bytes, kind: str, headers: Headers = ()) -> HttpAnswer:
        asked = (("User-Agent", self._user_agent), ("Content-Type", kind), *headers)
        return self._arrived(
            await self._web.post(self.base + path, asked, body, deadline=self.plan.deadline)
        )

    async def close(self) -> None:
        await self._web.close()

    def down(self, why: str) -> ClientDown:
        return ClientDown(f"The download client at {self.origin}: {why}", client=self.plan.kind)

    def refused(self, why: str) -> ClientRefused:
        return ClientRefused(f"The download client at {self.origin}: {why}", client=self.plan.kind)

    def named(self, infohashes: Sequence[str]) -> Sequence[str]:
        """Nothing but whole hashes reaches a client: to some, other words mean every torrent."""
        for infohash in infohashes:
            if _INFOHASH.fullmatch(infohash) is None:
                raise self.refused(f"{infohash[:_SHOWN]!r} names no torrent, it was not asked.")
        return infohashes

    def json_of(self, answer: HttpAnswer) -> Any:
        """What a healthy client answers; anything else is a client that is not itself."""
        if answer.status != 200:
            raise self.down(f"it answered {answer.status}.")
        try:
            return orjson.loads(answer.body)
        except ValueError as trouble:
            raise self.down(
                f"it answered something else: {printable_body(answer.body)!r}."
            ) from trouble

    def _arrived(self, answer: HttpAnswer) -> HttpAnswer:
        if answer.error is not None or answer.status is None:
            why = answer.error_detail or answer.error or "it gave no answer"
            raise self.down(f"{answer.error}: {why}.")
        if 300 <= answer.status < 400:
            raise self.down("it wants to send us elsewhere.")
        return answer


def printable_body(body: bytes) -> str:
    return printable_text(body[:_SHOWN].decode("utf-8", "replace"))


def printable_text(said: object) -> str:
    """Short, and without controls: it is written down and shown to people."""
    return "".join(each if each.isprintable() else " " for each in str(said)[:_SHOWN])


def parse_progress(said: Any) -> float:
    """Between 0 and 1, whatever a client calls its progress. ValueError: it is no number."""
    share = float(said)
    if share != share:
        raise ValueError("not a number")
    return min(max(share, 0.0), 1.0)
