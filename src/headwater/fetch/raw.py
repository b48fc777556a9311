"""The raw fetch: bytes and headers exactly as served, under the name of their content."""

from dataclasses import dataclass
from hashlib import sha256

from headwater.fetch.redact import redacted_headers
from headwater.values.ids import FeedPk, FetchId
from headwater.values.instant import to_micros
from headwater.values.response import Exchange, Headers, header


@dataclass(frozen=True, slots=True)
class RawFetch:
    """One archived response; `keep` is set when it brought or changed an entry."""

    fetch_id: FetchId
    feed: FeedPk
    fetched_at: int
    url: str
    status: int
    request_headers: Headers
    response_headers: Headers
    body: bytes
    body_sha256: str
    truncated: bool
    error: str | None

    @property
    def content_type(self) -> str | None:
        return header(self.response_headers, "content-type")


def raw_fetch_of(
    exchange: Exchange, feed: FeedPk, fetch_id: FetchId, *, truncated: bool, error: str | None
) -> RawFetch | None:
    """None when nothing was served that could be kept."""
    answer = exchange.answer
    if not answer.body or answer.status is None:
        return None
    return RawFetch(
        fetch_id=fetch_id,
        feed=feed,
        fetched_at=to_micros(exchange.started_at),
        url=answer.url,
        status=answer.status,
        request_headers=redacted_headers(answer.request_headers),
        response_headers=redacted_headers(answer.response_headers),
        body=answer.body,
        body_sha256=sha256(answer.body).hexdigest(),
        truncated=truncated,
        error=error,
    )


def blob_key(body_sha256: str, generation: int) -> str:
    """Content-addressed; a new generation when the last one is just being deleted."""
    suffix = f"-{generation}" if generation else ""
    return f"sha256/{body_sha256[:2]}/{body_sha256[2:4]}/{body_sha256}{suffix}"
