"""Collections over HTTP: entries as feeds for readers, in Atom and JSON Feed, paged."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import quote

import orjson
from starlette.requests import Request
from starlette.responses import Response

from headwater import __version__
from headwater.core.ports import View
from headwater.core.values.instant import from_micros, to_micros
from headwater.entrypoints.api.dependencies import ApiContext, App, Cursor, Limit, ReaderTokenIn
from headwater.entrypoints.api.feed_response import (
    FeedAddress,
    base_url_of,
    is_later_than_asked,
    is_not_modified,
    last_modified,
    link_header,
)
from headwater.entrypoints.api.paging import Page, decode_entry_cursor, page_of
from headwater.entrypoints.api.router import Router
from headwater.personal_feeds.ports import TokenHolder
from headwater.publish import atom, collection_rows, json_feed
from headwater.publish.collection import no_such_collection, parse_collection_name
from headwater.publish.collection_rows import Collection, CollectionPage, EntryPosition
from headwater.publish.document import PublishedFeed, PublishedFeedLinks, urn
from headwater.publish.entry_item import item_of_entry

router = Router(tags=["meta"])

CACHING = "private, no-cache"


@dataclass(frozen=True, slots=True)
class CollectionFormat:
    media_type: str
    suffix: str
    render: Callable[[PublishedFeed], bytes]


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
    app: App,
    limit: Limit = None,
    cursor: Cursor = None,
    token: ReaderTokenIn = None,
) -> Response:
    """A collection as Atom 1.0, newest first by `first_seen`."""
    return await _answer(request, app, ATOM, name, limit, cursor)


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
    app: App,
    limit: Limit = None,
    cursor: Cursor = None,
    token: ReaderTokenIn = None,
) -> Response:
    """A collection as JSON Feed 1.1, newest first by `first_seen`."""
    return await _answer(request, app, JSON, name, limit, cursor)


async def _answer(
    request: Request,
    app: ApiContext,
    format: CollectionFormat,
    name: str,
    limit: int | None,
    cursor: str | None,
) -> Response:
    """One page of a collection. Whether anything changed is known before any text is read."""
    page = page_of("entries", app.page_size(limit), cursor, decode_entry_cursor)
    path = f"/meta/{quote(name, safe='')}.{format.suffix}"
    address = FeedAddress(base_url_of(request, app.settings), path, limit)
    holder: TokenHolder | None = request.scope.get("holder")
    async with app.database.read() as view:
        collection = await _get_collection(view, name, holder)
        keys = await collection_rows.get_collection_page(
            view, collection, after=page.position, limit=page.size
        )
        installation = await collection_rows.get_installation_id(view)
        links = _links(address, page, keys, cursor, app.settings.hub_url)
        changed = to_micros(collection.since) if keys.changed is None else keys.changed
        tag = _etag_of(collection, keys, links, installation)
        headers = {
            "etag": tag,
            "last-modified": last_modified(changed, to_micros(view.now)),
            "cache-control": CACHING,
            "link": link_header({"self": links.self_url, "next": links.next, "hub": links.hub}),
        }
        tags = request.headers.getlist("if-none-match")
        since = request.headers.get("if-modified-since")
        if is_not_modified(", ".join(tags) if tags else None, since, tag, changed):
            return Response(status_code=304, headers=headers)
        if not is_later_than_asked(headers["last-modified"], since):
            del headers["last-modified"]
        entries = await collection_rows.get_page_entries(view, keys)

    def render() -> bytes:
        return format.render(
            PublishedFeed(
                id=urn("collection", installation, collection.key),
                title=collection.title,
                updated=from_micros(changed),
                places=links,
                items=tuple(item_of_entry(row, edited) for row, edited in entries),
            )
        )

    # Beside the event loop: cleaning a page of long texts takes a while.
    body = await asyncio.to_thread(render)
    return Response(body, media_type=format.media_type, headers=headers)


async def _get_collection(view: View, text: str, holder: TokenHolder | None) -> Collection:
    """A reader gets only the entries of their categories, under names that tell of nothing else."""
    name = parse_collection_name(text)
    if holder is None:
        return await collection_rows.get_collection(view, name)
    reader = holder.reader
    if name.kind == "category" and name.value not in reader.categories:
        raise no_such_collection()
    collection = await collection_rows.get_collection(view, name)
    feeds = await collection_rows.list_feeds_with_category(view, reader.categories)
    return collection_rows.narrowed(collection, feeds, reader.id)


def _links(
    address: FeedAddress, page: Page, keys: CollectionPage, cursor: str | None, hub: str | None
) -> PublishedFeedLinks:
    def url_after(position: EntryPosition) -> str:
        return address.url(page.cursor_after(*position))

    start = None if keys.at_start else address.url()
    return PublishedFeedLinks(
        self_url=address.url(cursor),
        first=address.url(),
        previous=url_after(keys.previous) if keys.previous else start,
        next=url_after(keys.next) if keys.next else None,
        hub=hub,
    )


def _etag_of(
    collection: Collection, page: CollectionPage, links: PublishedFeedLinks, installation: str
) -> str:
    """The hash of everything that the document is made from: the same tag means the same bytes."""
    rows = [
        (
            *(row.feed, row.uid_key.hex(), row.version, row.content_hash),
            *(row.feed_title, row.home_link, row.feed_url),
        )
        for row in page.rows
    ]
    parts = [
        *(__version__, installation, collection.key, collection.title, collection.since),
        *(page.changed, links.self_url, links.first, links.previous, links.next, links.hub),
        rows,
    ]
    return f'"{sha256(orjson.dumps(parts)).hexdigest()[:32]}"'
