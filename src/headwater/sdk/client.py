"""A fetcher's side of Headwater's API: join, show up, claim, renew, report, listen for news."""

import http.client
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

import orjson

from headwater.errors import BadSettings, HeadwaterError
from headwater.sdk.results import News, Result, Work

SECONDS = 60.0
STREAM_SECONDS = 45.0
"""Headwater pings a quiet stream every 15 seconds: after three of them it is dead."""

LONGEST_LINE = 4 * 1024 * 1024


_ENVELOPE = frozenset({"error", "message", "detail", "status_code"})


class Refusal(HeadwaterError):
    """Headwater said no: its code, its status and its facts."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        facts = {name: value for name, value in said.items() if name not in _ENVELOPE}
        super().__init__(said.get("message", "no reason was given"), **facts)
        self.code = said.get("error", "unknown")
        self.status = said.get("status_code", 0)


class Unreachable(HeadwaterError):
    """No answer from Headwater; try again in a while."""

    code = "service_unreachable"
    status = 503


@dataclass(frozen=True, slots=True)
class Identity:
    """What a fetcher gets when it joins, once: keep it, and keep it to yourself."""

    fetcher_id: int
    token: str | None = field(repr=False)
    signing_key: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class About:
    """What a fetcher says of itself. `config_schema` is a JSON Schema for its subscriptions.

    The priority counts when it is new; later it is the operator's. Without `wants_news` nothing is
    posted to it; it may read the stream.
    """

    version: str = "1.0.0"
    description: str | None = None
    priority: int = 50
    config_schema: Mapping[str, Any] | None = None
    wants_news: bool = True


class Client:
    """One Headwater. Safe to use from several threads: each call has a connection of its own."""

    def __init__(self, url: str, token: str | None = None, *, seconds: float = SECONDS) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadSettings("Headwater's URL begins with http:// or https://.", url=url)
        self._parts, self._token, self._seconds = parts, token, seconds

    def join(
        self, name: str, base_url: str, about: About | None = None, *, rotate: bool = False
    ) -> Identity:
        """Register, or say the same again. Token and key are there only when they are new."""
        told = about or About()
        said = _asked(
            service_name=name,
            base_url=base_url,
            version=told.version,
            description=told.description,
            priority=told.priority,
            config_schema=None if told.config_schema is None else dict(told.config_schema),
            wants_news=told.wants_news,
            rotate=rotate,
        )
        got = self.ask("POST", "/services/register", said)
        return Identity(got["fetcher_id"], got["token"], got["signing_key"])

    def heartbeat(self, fetcher_id: int) -> bool:
        """A sign of life; whether the fetcher is enabled."""
        return bool(self.ask("POST", f"/fetcher-modules/{fetcher_id}/heartbeat")["is_enabled"])

    def subscriptions(self, fetcher_id: int) -> Iterator[dict[str, Any]]:
        """All that is assigned to the fetcher."""
        path, cursor = f"/fetcher-modules/{fetcher_id}/subscriptions", None
        while True:
            page = self.ask("GET", f"{path}?cursor={quote(cursor)}" if cursor else path)
            yield from page["subscriptions"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def claim(
        self, fetcher_id: int, *, limit: int = 10, lease_seconds: float | None = None
    ) -> tuple[list[Work], str | None]:
        """Due work, and when the next is due."""
        said = _asked(limit=limit, lease_seconds=lease_seconds)
        got = self.ask("POST", f"/fetcher-modules/{fetcher_id}/claims", said)
        return [Work.of(each) for each in got["claims"]], got["next_due_at"]

    def renew(
        self, fetcher_id: int, works: Iterable[Work], *, lease_seconds: float | None = None
    ) -> set[int]:
        """More time; 0 seconds gives the work back. Answers the subscriptions that are lost."""
        said = _asked(claims=[work.claim for work in works], lease_seconds=lease_seconds)
        got = self.ask("POST", f"/fetcher-modules/{fetcher_id}/claims/renew", said)
        return set(got["lost"])

    def report(
        self, fetcher_id: int, work: Work | int, result: Result, *, elapsed_ms: float = 0.0
    ) -> dict[str, Any]:
        """For claimed work, or for a subscription (its number) that nobody has claimed."""
        claim = {"subscription_id": work} if isinstance(work, int) else work.claim
        said = {
            **claim,
            "fetcher_id": fetcher_id,
            "elapsed_ms": round(elapsed_ms),
            **result.as_json(),
        }
        got: dict[str, Any] = self.ask("POST", "/fetcher-results", said)
        return got

    def news(self, fetcher_id: int, after: int | None = None) -> Generator[News, None, None]:
        """News as it comes, until the stream ends; go on with `after` the last `seq`."""
        headers = self._headers() | {"accept": "text/event-stream"}
        if after is not None:
            headers["last-event-id"] = str(after)
        connection = self._connection(STREAM_SECONDS)
        try:
            connection.request("GET", self._path(f"/fetcher-modules/{fetcher_id}/events"), None,
                               headers)  # fmt: skip
            answer = connection.getresponse()
            if answer.status != 200:
                raise _refusal(answer.status, answer.read(LONGEST_LINE))
            yield from _events(answer)
        except (OSError, http.client.HTTPException) as trouble:
            raise Unreachable(f"The stream of news broke: {trouble}") from trouble
        finally:
            connection.close()

    def ask(self, method: str, path: str, said: Mapping[str, Any] | None = None) -> Any:
        """One request, answered with JSON. Refusal or Unreachable otherwise."""
        body = None if said is None else orjson.dumps(said)
        headers = self._headers()
        if body is not None:
            headers["content-type"] = "application/json"
        connection = self._connection(self._seconds)
        try:
            connection.request(method, self._path(path), body, headers)
            answer = connection.getresponse()
            status, got = answer.status, answer.read()
        except (OSError, http.client.HTTPException) as trouble:
            raise Unreachable(f"Headwater does not answer: {trouble}") from trouble
        finally:
            connection.close()
        if status >= 400:
            raise _refusal(status, got)
        return orjson.loads(got) if got else None

    def _headers(self) -> dict[str, str]:
        said = {"accept": "application/json", "user-agent": "headwater-sdk"}
        return said | ({"authorization": f"Bearer {self._token}"} if self._token else {})

    def _path(self, path: str) -> str:
        return f"{self._parts.path.rstrip('/')}{path}"

    def _connection(self, seconds: float) -> http.client.HTTPConnection:
        secure = self._parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        return kind(self._parts.hostname or "", self._parts.port, timeout=seconds)


def _asked(**said: Any) -> dict[str, Any]:
    return {name: value for name, value in said.items() if value is not None}


def _refusal(status: int, body: bytes) -> Refusal:
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError:
        said = None
    return Refusal(said if isinstance(said, dict) else {"status_code": status})


def _events(lines: http.client.HTTPResponse) -> Iterator[News]:
    """Server-sent events: only `data` is needed, the number is in it."""
    data: list[bytes] = []
    while line := lines.readline(LONGEST_LINE):
        line = line.rstrip(b"\r\n")
        if line.startswith(b"data:"):
            data.append(line.removeprefix(b"data:").removeprefix(b" "))
        elif not line and data:
            yield News.of(orjson.loads(b"\n".join(data)))
            data.clear()
