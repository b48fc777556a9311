"""Compare two payloads of a feed: both are parsed again, nothing is written."""

from dataclasses import dataclass

from headwater.core.errors import BadInput, ConflictError, NotFound
from headwater.core.values.ids import FeedId
from headwater.feeds.entries.diff_entries import Difference, FieldChange, diff_entries
from headwater.feeds.feed_rows import get_feed_to_reparse
from headwater.feeds.raw import raw_rows
from headwater.feeds.raw.archive import read_archived_body
from headwater.feeds.raw.raw_rows import ArchivedFetch
from headwater.feeds.read_document import (
    ReadFeed,
    ReadResult,
    UnreadableDocument,
    parse_job_of,
    read_document,
)
from headwater.feeds.services import FeedServices

_OF_THE_FEED = ("format", "title", "home_link")


@dataclass(frozen=True, slots=True)
class Comparison:
    """`feed` holds the changes of the feed's own fields. `same_bytes`: nothing can differ."""

    before: ArchivedFetch
    after: ArchivedFetch
    same_bytes: bool
    feed: tuple[FieldChange, ...]
    entries: tuple[Difference, ...]


async def compare_payloads(
    services: FeedServices, fetch_id: str, other_id: str | None
) -> Comparison:
    """Compare the older payload with the newer, in whatever order they are named.

    Without `other_id` the other is the payload before this one.
    """
    async with services.database.read() as view:
        one = await raw_rows.get_raw_fetch(view, fetch_id)
        if other_id is None:
            other = await raw_rows.find_document_before(view, one)
        else:
            other = await raw_rows.get_raw_fetch(view, other_id)
        identity = (await get_feed_to_reparse(view, one.feed_id)).identity
    if other is None:
        raise NotFound("There is no payload before this one.", what="raw_fetch")
    if other.feed_id != one.feed_id:
        raise BadInput("These are payloads of two feeds.", feeds=[one.feed_id, other.feed_id])
    before, after = sorted((one, other), key=lambda raw: (raw.fetched_at, raw.fetch_id))
    if before.body_sha256 == after.body_sha256:
        return Comparison(before, after, True, (), ())
    old, new = (
        await _parse_payload(services, before, identity),
        await _parse_payload(services, after, identity),
    )
    return Comparison(
        before, after, False, _feed_changes(old, new), tuple(diff_entries(old.entries, new.entries))
    )


async def parse_archived_body(
    services: FeedServices,
    raw: ArchivedFetch,
    feed_id: FeedId,
    identity: dict[str, object] | None,
    *,
    url: str,
) -> ReadResult:
    """Parse an archived body as a visit would today. `url` is the one that it came from."""
    job = parse_job_of(url, tuple(raw.response_headers.items()), feed_id, identity)
    body = await read_archived_body(services.database, services.blobs, raw)
    return await read_document(services.parsers, job, body, services.reading)


async def _parse_payload(
    services: FeedServices, raw: ArchivedFetch, identity: dict[str, object] | None
) -> ReadFeed:
    document = await parse_archived_body(services, raw, raw.feed_id, identity, url=raw.url)
    if isinstance(document, ReadFeed):
        return document
    assert isinstance(document, UnreadableDocument), "no document was named as known"
    raise ConflictError(
        f"The payload {raw.fetch_id} cannot be read as a feed: {document.detail}.",
        fetch_id=raw.fetch_id,
        reason=document.code,
    )


def _feed_changes(before: ReadFeed, after: ReadFeed) -> tuple[FieldChange, ...]:
    pairs = ((name, getattr(before, name), getattr(after, name)) for name in _OF_THE_FEED)
    return tuple(FieldChange(name, old, new) for name, old, new in pairs if old != new)
