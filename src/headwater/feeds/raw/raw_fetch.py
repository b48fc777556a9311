"""A raw fetch: bytes and headers exactly as served, stored under the hash of the content."""

from dataclasses import dataclass
from hashlib import sha256

from headwater.core.values.ids import FeedPk, FetchId
from headwater.core.values.instant import to_micros
from headwater.core.values.response import Exchange, Headers, HttpAnswer, header
from headwater.core.values.url import redacted
from headwater.feeds.fetch.redact_headers import redacted_headers


@dataclass(frozen=True, slots=True)
class RawFetch:
    """A response to be archived. Headers and `url` are stored without their secrets."""

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


def has_body(answer: HttpAnswer) -> bool:
    """Whether the answer has any bytes to archive."""
    return bool(answer.body) and answer.status is not None


def raw_fetch_of(
    exchange: Exchange, feed: FeedPk, fetch_id: FetchId, *, truncated: bool, error: str | None
) -> RawFetch:
    answer = exchange.answer
    assert answer.status is not None, "the caller has asked has_body"
    return RawFetch(
        fetch_id=fetch_id,
        feed=feed,
        fetched_at=to_micros(exchange.started_at),
        url=redacted(answer.url),
        status=answer.status,
        request_headers=redacted_headers(answer.request_headers),
        response_headers=redacted_headers(answer.response_headers),
        body=answer.body,
        body_sha256=sha256(answer.body).hexdigest(),
        truncated=truncated,
        error=error,
    )


def blob_key(body_sha256: str, generation: int) -> str:
    """A key is named for its content and never used twice, so a late deletion hits nothing else.

    `generation` is the moment at which this content was first needed (again). There is one level of
    folders: a second one would cost a new folder, and its syncing, for nearly every blob.
    """
    return f"sha256/{body_sha256[:2]}/{body_sha256}-{generation:x}"
