"""A fetcher's side of Headwater's API: join, show up, claim, renew, report, listen for news."""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from headwater.client.conversation import send_request, stream_frames
from headwater.client.errors import Garbled
from headwater.client.errors import Refusal as Refusal
from headwater.client.errors import Unreachable as Unreachable
from headwater.client.requests import decode_response
from headwater.client.service_address import EVENT_STREAM_TYPE, Patience, Query, ServiceAddress
from headwater.client.sse_frames import Frame
from headwater.sdk.results import News, Result, Work

SECONDS = 60.0


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
        self._place = ServiceAddress.of(url, token, agent="headwater-sdk")
        self._patience = Patience(ask=seconds)

    def join(
        self, name: str, base_url: str, about: About | None = None, *, rotate: bool = False
    ) -> Identity:
        """Register, or say the same again. Token and key are there only when they are new."""
        told = about or About()
        said = _without_nones(
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
        cursor: str | None = None
        while True:
            query = [("cursor", cursor)]
            page = self.ask("GET", f"/fetcher-modules/{fetcher_id}/subscriptions", query=query)
            yield from page["subscriptions"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def claim(
        self, fetcher_id: int, *, limit: int = 10, lease_seconds: float | None = None
    ) -> tuple[list[Work], str | None]:
        """Due work, and when the next is due."""
        said = _without_nones(limit=limit, lease_seconds=lease_seconds)
        got = self.ask("POST", f"/fetcher-modules/{fetcher_id}/claims", said)
        return [Work.of(each) for each in got["claims"]], got["next_due_at"]

    def renew(
        self, fetcher_id: int, works: Iterable[Work], *, lease_seconds: float | None = None
    ) -> set[int]:
        """More time; 0 seconds gives the work back. Answers the subscriptions that are lost."""
        said = _without_nones(claims=[work.claim for work in works], lease_seconds=lease_seconds)
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
        headers = {"accept": EVENT_STREAM_TYPE}
        if after is not None:
            headers["last-event-id"] = str(after)
        path = f"/fetcher-modules/{fetcher_id}/events"
        request = self._place.request("GET", path, headers=headers)
        for frames in stream_frames(self._place, self._patience, request):
            yield from _parse_news(frames)

    def ask(
        self, method: str, path: str, said: Mapping[str, Any] | None = None, query: Query = ()
    ) -> Any:
        """One request, answered with JSON. Refusal or Unreachable otherwise."""
        body = None if said is None else orjson.dumps(said)
        request = self._place.request(method, path, query, body=body)
        return decode_response(*send_request(self._place, self._patience, request))


def _without_nones(**said: Any) -> dict[str, Any]:
    return {name: value for name, value in said.items() if value is not None}


def _parse_news(frames: Sequence[Frame]) -> Iterator[News]:
    """Only `data` is needed, the number is in it. A log that was set back is no news."""
    for frame in frames:
        if frame.data is None or frame.event in (b"log_reset", b"unreadable"):
            continue
        try:
            news = News.of(orjson.loads(frame.data))
        except (ValueError, KeyError, TypeError) as trouble:
            raise Garbled(f"The stream has news that are none: {trouble}") from trouble
        yield news
