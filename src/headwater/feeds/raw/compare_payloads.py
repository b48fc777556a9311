"""Compare two payloads of a feed: both are read again, nothing is written."""

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
    """`feed`: what the document says of the feed itself. `same_bytes`: nothing can differ."""

    before: ArchivedFetch
    after: ArchivedFetch
    same_bytes: bool
    feed: tuple[FieldChange, ...]
    entries: tuple[Difference, ...]


async def compare_payloads(
    services: FeedServices, fetch_id: str, other_id: str | None
) -> Comparison:
    """`other_id` None: the payload before this one. Whatever the order given, older → newer."""
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
    return Comparison(before, after, False, _feed_changes(old, new), _entry_changes(old, new))


async def parse_archived_body(
    services: FeedServices,
    raw: ArchivedFetch,
    feed_id: FeedId,
    identity: dict[str, object] | None,
    *,
    url: str,
) -> ReadResult:
    """A body of the archive, read as a visit would read it today. `url` is where it came from."""
    job = parse_job_of(url, tuple(raw.response_headers.items()), feed_id, identity)
    body = await read_archived_body(services.database, services.blobs, raw)
    return await read_document(services.parsers, job, body, services.reading)


async def _parse_payload(
    services: FeedServices, raw: ArchivedFetch, identity: dict[str, object] | None
) -> ReadFeed:
    said = await parse_archived_body(services, raw, raw.feed_id, identity, url=raw.url)
    if isinstance(said, ReadFeed):
        return said
    assert isinstance(said, UnreadableDocument), "no document was named as known"
    raise ConflictError(
        f"The payload {raw.fetch_id} cannot be read as a feed: {said.detail}.",
        fetch_id=raw.fetch_id,
        reason=said.code,
    )


def _feed_changes(before: ReadFeed, after: ReadFeed) -> tuple[FieldChange, ...]:
    pairs = ((name, getattr(before, name), getattr(after, name)) for name in _OF_THE_FEED)
    return tuple(FieldChange(name, old, new) for name, old, new in pairs if old != new)


def _entry_changes(before: ReadFeed, after: ReadFeed) -> tuple[Difference, ...]:
    return tuple(diff_entries(before.entries, after.entries))
