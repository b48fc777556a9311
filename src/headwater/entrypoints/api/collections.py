"""Collections of entries as feeds for readers: Atom and JSON Feed, paged, cheap when unchanged."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Any
from urllib.parse import quote

import orjson
from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from headwater import __version__
from headwater.core.ports import Row, View
from headwater.core.values.instant import from_micros, to_micros
from headwater.entrypoints.api.dependencies import Cursor, Limit, RouteContext
from headwater.entrypoints.api.feed_response import (
    FeedAddress,
    base_url_of,
    is_later_than_asked,
    is_not_modified,
    last_modified,
    link_header,
)
from headwater.entrypoints.api.paging import cursor, decode_entry_cursor
from headwater.entrypoints.api.router import Router
from headwater.personal_feeds.ports import TokenHolder
from headwater.publish import atom, collection_rows, json_feed
from headwater.publish.collection import no_such_collection, parse_collection_name
from headwater.publish.collection_rows import Collection, CollectionPage
from headwater.publish.document import PublishedFeed, PublishedFeedLinks, urn
from headwater.publish.entry_item import item_of_entry

router = Router(tags=["meta"])

CACHING = "private, no-cache"

ReaderTokenIn = Annotated[
    str | None, Query(description="A reader's own token, where no API token is sent.")
]
"""The ring for readers has looked at it before any route is reached."""


@dataclass(frozen=True, slots=True)
class CollectionFormat:
    media_type: str
    suffix: str
    write: Callable[[PublishedFeed], bytes]


ATOM = CollectionFormat(atom.MEDIA_TYPE, "xml", atom.render_atom)
JSON = CollectionFormat(json_feed.MEDIA_TYPE, "json", json_feed.render_json_feed)


def _described(media_type: str, schema: dict[str, str]) -> dict[int | str, dict[str, Any]]:
    return {
        200: {"description": "One page of the feed.", "content": {media_type: {"schema": schema}}},
        304: {"description": "Nothing has changed since then."},
    }


@router.get(
    "/meta/{name:path}.xml",
    right="read",
    reader_token=True,
    response_class=Response,
    responses=_described(ATOM.media_type, {"type": "string"}),
)
async def show_atom(
    name: str,
    request: Request,
    at: RouteContext,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
    token: ReaderTokenIn = None,
) -> Response:
    """A collection as Atom 1.0, newest first by `first_seen`."""
    return await _answer(request, at, ATOM, name, limit, cursor_)


@router.get(
    "/meta/{name:path}.json",
    right="read",
    reader_token=True,
    response_class=Response,
    responses=_described(JSON.media_type, {"type": "object"}),
)
async def show_json(
    name: str,
    request: Request,
    at: RouteContext,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
    token: ReaderTokenIn = None,
) -> Response:
    """A collection as JSON Feed 1.1, newest first by `first_seen`."""
    return await _answer(request, at, JSON, name, limit, cursor_)


async def _answer(
    request: Request,
    at: RouteContext,
    format: CollectionFormat,
    name: str,
    limit: int | None,
    cursor_: str | None,
) -> Response:
    """Whether anything changed is known before any entry's words are read."""
    after = decode_entry_cursor(cursor_) if cursor_ else None
    path = f"/meta/{quote(name, safe='')}.{format.suffix}"
    address = FeedAddress(base_url_of(request, at.settings), path, limit)
    holder: TokenHolder | None = request.scope.get("holder")
    async with at.database.read() as view:
        of = await _collection(view, name, holder)
        page = await collection_rows.get_collection_page(
            view, of, after=after, limit=at.page_size(limit)
        )
        made_at = await collection_rows.get_installation_id(view)
        places = _places(address, page, cursor_, at.settings.hub_url)
        changed = to_micros(of.since) if page.changed is None else page.changed
        tag = _etag_of(of, page, places, made_at)
        headers = {
            "etag": tag,
            "last-modified": last_modified(changed, to_micros(view.now)),
            "cache-control": CACHING,
            "link": link_header({"self": places.self_url, "next": places.next, "hub": places.hub}),
        }
        since = request.headers.get("if-modified-since")
        if is_not_modified(_if_none_match(request), since, tag, changed):
            return Response(status_code=304, headers=headers)
        if not is_later_than_asked(headers["last-modified"], since):
            del headers["last-modified"]
        words = await collection_rows.get_page_entries(view, page)
    moment = from_micros(changed)
    body = await asyncio.to_thread(_written, format, of, moment, words, places, made_at)
    return Response(body, media_type=format.media_type, headers=headers)


async def _collection(view: View, name: str, holder: TokenHolder | None) -> Collection:
    """For a reader only what their categories hold, under names that tell of nothing else."""
    meant = parse_collection_name(name)
    if holder is None:
        return await collection_rows.get_collection(view, meant)
    reader = holder.reader
    if meant.kind == "category" and meant.value not in reader.categories:
        raise no_such_collection()
    whole = await collection_rows.get_collection(view, meant)
    return collection_rows.narrowed(
        whole, await collection_rows.list_feeds_with_category(view, reader.categories), reader.id
    )


def _if_none_match(request: Request) -> str | None:
    given = request.headers.getlist("if-none-match")
    return ", ".join(given) if given else None


def _written(
    format: CollectionFormat,
    of: Collection,
    changed: datetime,
    words: Sequence[tuple[Row, int | None]],
    places: PublishedFeedLinks,
    made_at: str,
) -> bytes:
    """Beside the event loop: cleaning a page of long texts takes a while."""
    return format.write(
        PublishedFeed(
            id=urn("collection", made_at, of.key),
            title=of.title,
            updated=changed,
            places=places,
            items=tuple(item_of_entry(row, edited) for row, edited in words),
        )
    )


def _places(
    address: FeedAddress, page: CollectionPage, cursor_: str | None, hub: str | None
) -> PublishedFeedLinks:
    def at(place: tuple[int, int, int, bytes]) -> str:
        return address.url(cursor("entries", *place))

    previous = None if page.at_start else address.url()
    return PublishedFeedLinks(
        self_url=address.url(cursor_),
        first=address.url(),
        previous=at(page.previous) if page.previous else previous,
        next=at(page.next) if page.next else None,
        hub=hub,
    )


def _etag_of(of: Collection, page: CollectionPage, places: PublishedFeedLinks, made_at: str) -> str:
    """Of all that the document is made from: the same tag means the same bytes."""
    rows = [
        (
            *(row.feed, row.uid_key.hex(), row.version, row.content_hash),
            *(row.feed_title, row.home_link, row.feed_url),
        )
        for row in page.rows
    ]
    said = [__version__, made_at, of.key, of.title, of.since, page.changed, *_all(places), rows]
    return f'"{sha256(orjson.dumps(said)).hexdigest()[:32]}"'


def _all(places: PublishedFeedLinks) -> tuple[str | None, ...]:
    return places.self_url, places.first, places.previous, places.next, places.hub
