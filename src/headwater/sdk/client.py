"""A client of Headwater's API for fetchers: join, heartbeat, claim, renew, report, read news."""

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
    """The id and the secrets that a fetcher gets once, when it joins: save them, and keep them
    secret."""

    fetcher_id: int
    token: str | None = field(repr=False)
    signing_key: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class About:
    """A fetcher's description of itself. `config_schema` is a JSON Schema for its subscriptions.

    The priority counts when the fetcher is new; later the operator sets it. Without `wants_news`
    nothing is posted to the fetcher; it may read the stream.
    """

    version: str = "1.0.0"
    description: str | None = None
    priority: int = 50
    config_schema: Mapping[str, Any] | None = None
    wants_news: bool = True


class Client:
    """A client of one Headwater. Threads may share it: each call has a connection of its own."""

    def __init__(self, url: str, token: str | None = None, *, seconds: float = SECONDS) -> None:
        self._address = ServiceAddress.of(url, token, agent="headwater-sdk")
        self._patience = Patience(ask=seconds)

    def join(
        self, name: str, base_url: str, about: About | None = None, *, rotate: bool = False
    ) -> Identity:
        """Register, or register again. Token and key are set only when they are new."""
        about = about or About()
        body = _without_nones(
            service_name=name,
            base_url=base_url,
            version=about.version,
            description=about.description,
            priority=about.priority,
            config_schema=None if about.config_schema is None else dict(about.config_schema),
            wants_news=about.wants_news,
            rotate=rotate,
        )
        answer = self.ask("POST", "/services/register", body)
        return Identity(answer["fetcher_id"], answer["token"], answer["signing_key"])

    def heartbeat(self, fetcher_id: int) -> bool:
        """Send a sign of life. Returns whether the fetcher is enabled."""
        return bool(self.ask("POST", f"/fetcher-modules/{fetcher_id}/heartbeat")["is_enabled"])

    def subscriptions(self, fetcher_id: int) -> Iterator[dict[str, Any]]:
        """All subscriptions that are assigned to the fetcher."""
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
        """Claim due work. Returns it, and the time when the next is due."""
        body = _without_nones(limit=limit, lease_seconds=lease_seconds)
        answer = self.ask("POST", f"/fetcher-modules/{fetcher_id}/claims", body)
        return [Work.of(each) for each in answer["claims"]], answer["next_due_at"]

    def renew(
        self, fetcher_id: int, works: Iterable[Work], *, lease_seconds: float | None = None
    ) -> set[int]:
        """Ask for more time; 0 seconds gives the work back. Returns the subscriptions whose claim
        is lost."""
        body = _without_nones(claims=[work.claim for work in works], lease_seconds=lease_seconds)
        answer = self.ask("POST", f"/fetcher-modules/{fetcher_id}/claims/renew", body)
        return set(answer["lost"])

    def report(
        self, fetcher_id: int, work: Work | int, result: Result, *, elapsed_ms: float = 0.0
    ) -> dict[str, Any]:
        """Report a result of claimed work, or of a subscription (its number) that nobody has
        claimed."""
        claim = {"subscription_id": work} if isinstance(work, int) else work.claim
        body = {
            **claim,
            "fetcher_id": fetcher_id,
            "elapsed_ms": round(elapsed_ms),
            **result.as_json(),
        }
        answer: dict[str, Any] = self.ask("POST", "/fetcher-results", body)
        return answer

    def news(self, fetcher_id: int, after: int | None = None) -> Generator[News, None, None]:
        """News as it comes, until the stream ends. To go on, pass the last `seq` as `after`."""
        headers = {"accept": EVENT_STREAM_TYPE}
        if after is not None:
            headers["last-event-id"] = str(after)
        path = f"/fetcher-modules/{fetcher_id}/events"
        request = self._address.request("GET", path, headers=headers)
        for frames in stream_frames(self._address, self._patience, request):
            yield from _parse_news(frames)

    def ask(
        self, method: str, path: str, said: Mapping[str, Any] | None = None, query: Query = ()
    ) -> Any:
        """Send one request, with `said` as its JSON body, and return the JSON of the answer. Raises
        Refusal or Unreachable."""
        body = None if said is None else orjson.dumps(said)
        request = self._address.request(method, path, query, body=body)
        return decode_response(*send_request(self._address, self._patience, request))


def _without_nones(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _parse_news(frames: Sequence[Frame]) -> Iterator[News]:
    """Only `data` is needed: the number is in it. A log that was set back is no news."""
    for frame in frames:
        if frame.data is None or frame.event in (b"log_reset", b"unreadable"):
            continue
        try:
            news = News.of(orjson.loads(frame.data))
        except (ValueError, KeyError, TypeError) as trouble:
            raise Garbled(f"The stream has news that are none: {trouble}") from trouble
        yield news
