"""The server of personal feeds: one answer to each request, the body only when it is new."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from starlette.types import Scope

from headwater.core.errors import Unauthorized
from headwater.core.values.instant import to_micros
from headwater.entrypoints.api.feed_response import (
    base_url_from,
    is_later_than_asked,
    is_not_modified,
    last_modified,
    link_header,
)
from headwater.entrypoints.api.personal_feeds.feed_list import MEDIA_TYPE, OPML_PATH, feeds_as_opml
from headwater.entrypoints.api.personal_feeds.feed_query import PersonalQuery, parse_feed_query
from headwater.entrypoints.api.personal_feeds.reader_auth import (
    ReaderAuthenticator,
    feeds_unavailable_on_error,
)
from headwater.personal_feeds.personal_feed import FEED_FORMATS, FeedFormat, shown_categories
from headwater.personal_feeds.ports import TokenHolder
from headwater.personal_feeds.served_feeds import BuiltFeed, PersonalFeedRequest
from headwater.settings import Settings
from headwater.wiring.services import Services

LONGEST_FIELD = 200
"""An Accept-Encoding header that is longer than this is not read."""

FORMAT_BY_PATH: dict[str, FeedFormat | None] = {
    **{shape.path: format for format, shape in FEED_FORMATS.items()},
    OPML_PATH: None,
}
"""The path that is asked for → the format of the feed there; None is the list of feeds."""

RawHeaders = list[tuple[bytes, bytes]]


class FeedAnswer(NamedTuple):
    """An answer, ready to be sent."""

    status: int
    headers: RawHeaders
    body: bytes


@dataclass(slots=True)
class _RequestHeaders:
    """The few header fields of a request that matter here."""

    host: str = ""
    codings: str = ""
    tags: str | None = None
    since: str | None = None


class PersonalFeedServer:
    """One per app."""

    def __init__(self, services: Services, settings: Settings) -> None:
        self._services = services
        self._authenticator = ReaderAuthenticator(services, settings)
        self._public = settings.public_base_url
        self._hub = settings.hub_url
        self._most = settings.personal_limit_max
        self._caching = f"private, max-age={settings.personal_max_age_sec}".encode()

    async def authenticate(
        self, scope: Scope, most: int | None = None
    ) -> tuple[PersonalQuery, TokenHolder]:
        """The query, and the reader whose token is in it. Without `most` the limit is not read."""
        client = scope.get("client")
        peer = str(client[0]) if client else ""
        try:
            query = parse_feed_query(scope["query_string"], most)
        except Unauthorized:
            self._authenticator.note_guess(peer)
            raise
        return query, await self._authenticator.authenticate(query.token, peer)

    async def answer(self, scope: Scope) -> FeedAnswer:
        """For one of the paths in FORMAT_BY_PATH."""
        format = FORMAT_BY_PATH[scope["path"]]
        return await (self._list(scope) if format is None else self._feed(scope, format))

    async def _feed(self, scope: Scope, format: FeedFormat) -> FeedAnswer:
        """A category that the reader does not follow holds nothing, whether it exists or not."""
        query, holder = await self.authenticate(scope, self._most)
        headers = _read_headers(scope["headers"])
        categories = query.categories
        if categories is not None:  # names that anybody may make up are not worth remembering
            categories = shown_categories(holder.reader, categories)
        base = base_url_from(scope["scheme"], headers.host, self._public)
        with feeds_unavailable_on_error():
            built = await self._services.personal.served.built(
                holder, PersonalFeedRequest(format, query.limit, categories, base)
            )
        return self._answer_with(built, headers)

    async def _list(self, scope: Scope) -> FeedAnswer:
        """The reader's own list of their feeds: it is full of tokens, so nobody keeps it."""
        query, holder = await self.authenticate(scope, self._most)
        base = base_url_from(scope["scheme"], _read_headers(scope["headers"]).host, self._public)
        body = feeds_as_opml(query, holder.reader, base, self._services.clock.now())
        headers = [
            (b"content-type", MEDIA_TYPE.encode()),
            (b"content-disposition", b'attachment; filename="feeds.opml"'),
            (b"cache-control", b"no-store"),
            (b"content-length", b"%d" % len(body)),
        ]
        return FeedAnswer(200, headers, body)

    def _answer_with(self, built: BuiltFeed, request: _RequestHeaders) -> FeedAnswer:
        modified_at = last_modified(built.modified, to_micros(self._services.clock.now()))
        modified = (b"last-modified", modified_at.encode())
        headers = [
            (b"etag", built.etag.encode()),
            modified,
            (b"cache-control", self._caching),
            (b"vary", b"accept-encoding"),
            (b"link", _links(built.self_url, self._hub)),
        ]
        if is_not_modified(request.tags, request.since, built.etag, built.modified):
            return FeedAnswer(304, headers, b"")
        if not is_later_than_asked(modified_at, request.since):
            headers.remove(modified)
        body = built.body
        if accepts_gzip(request.codings):
            body = built.zipped
            headers.append((b"content-encoding", b"gzip"))
        headers.append((b"content-type", built.media_type.encode()))
        headers.append((b"content-length", b"%d" % len(body)))
        return FeedAnswer(200, headers, body)


def _read_headers(headers: Iterable[tuple[bytes, bytes]]) -> _RequestHeaders:
    request = _RequestHeaders()
    for name, value in headers:
        if name == b"host":
            request.host = value.decode("latin-1")
        elif name == b"accept-encoding":
            request.codings = _joined(request.codings or None, value)
        elif name == b"if-none-match":
            request.tags = _joined(request.tags, value)
        elif name == b"if-modified-since":
            request.since = value.decode("latin-1")
    return request


def _joined(before: str | None, value: bytes) -> str:
    text = value.decode("latin-1")
    return text if before is None else f"{before}, {text}"


def accepts_gzip(field: str) -> bool:
    """gzip is named, or covered by `*`, and its weight is not 0."""
    return len(field) <= LONGEST_FIELD and _parse_accepts_gzip(field)


@lru_cache(maxsize=256)
def _parse_accepts_gzip(field: str) -> bool:
    weights: dict[str, bool] = {}
    for part in field.lower().split(","):
        coding, _, weight = part.partition(";")
        weights[coding.strip()] = weight.replace(" ", "") not in _ZERO_WEIGHTS
    return weights.get("gzip", weights.get("x-gzip", weights.get("*", False)))


_ZERO_WEIGHTS = frozenset({"q=0", "q=0.", "q=0.0", "q=0.00", "q=0.000"})


@lru_cache(maxsize=256)
def _links(self_url: str, hub: str | None) -> bytes:
    return link_header({"self": self_url, "hub": hub}).encode()
