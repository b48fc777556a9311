"""Collections of entries as feeds for readers: Atom and JSON Feed, paged, cheap when unchanged."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Any
from urllib.parse import quote

import orjson
from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from headwater import __version__
from headwater.entrypoints.api.addresses import Address, base_of, link_header
from headwater.entrypoints.api.asking import REFUSALS, At, Cursor, Limit
from headwater.entrypoints.api.cursors import cursor, entry_place_of
from headwater.entrypoints.api.revalidation import has_it, is_later, last_modified
from headwater.ports import Reader, Row
from headwater.publish import atom_xml, json_feed, queries
from headwater.publish.collection import meaning_of, no_such_collection
from headwater.publish.document import Document, Places
from headwater.publish.entries import item_of
from headwater.publish.item import urn
from headwater.publish.queries import Collection, Page
from headwater.values.instant import from_micros, to_micros
from headwater.values.personal import Holder

router = APIRouter(tags=["meta"], responses=REFUSALS)

CACHING = "private, no-cache"

ReaderToken = Annotated[
    str | None, Query(description="A reader's own token, where no API token is sent.")
]
"""The ring for readers has looked at it before any route is reached."""


@dataclass(frozen=True, slots=True)
class Format:
    media_type: str
    suffix: str
    write: Callable[[Document], bytes]


ATOM = Format(atom_xml.MEDIA_TYPE, "xml", atom_xml.atom_xml)
JSON = Format(json_feed.MEDIA_TYPE, "json", json_feed.json_feed)


def _described(media_type: str, schema: dict[str, str]) -> dict[int | str, dict[str, Any]]:
    return {
        200: {"description": "One page of the feed.", "content": {media_type: {"schema": schema}}},
        304: {"description": "Nothing has changed since then."},
    }


@router.get(
    "/meta/{name:path}.xml",
    response_class=Response,
    responses=_described(ATOM.media_type, {"type": "string"}),
)
async def show_atom(
    name: str,
    request: Request,
    at: At,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
    token: ReaderToken = None,
) -> Response:
    """A collection as Atom 1.0, newest first by `first_seen`."""
    return await _answer(request, at, ATOM, name, limit, cursor_)


@router.get(
    "/meta/{name:path}.json",
    response_class=Response,
    responses=_described(JSON.media_type, {"type": "object"}),
)
async def show_json(
    name: str,
    request: Request,
    at: At,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
    token: ReaderToken = None,
) -> Response:
    """A collection as JSON Feed 1.1, newest first by `first_seen`."""
    return await _answer(request, at, JSON, name, limit, cursor_)


async def _answer(
    request: Request, at: At, format: Format, name: str, limit: int | None, cursor_: str | None
) -> Response:
    """Whether anything changed is known before any entry's words are read."""
    after = entry_place_of(cursor_) if cursor_ else None
    path = f"/meta/{quote(name, safe='')}.{format.suffix}"
    address = Address(base_of(request, at.settings), path, limit)
    holder: Holder | None = request.scope.get("holder")
    async with at.engine.database.read() as view:
        of = await _collection(view, name, holder)
        page = await queries.page(view, of, after=after, limit=at.page_size(limit))
        made_at = await queries.origin(view)
        places = _places(address, page, cursor_, at.settings.hub_url)
        changed = to_micros(of.since) if page.changed is None else page.changed
        tag = _tag(of, page, places, made_at)
        headers = {
            "etag": tag,
            "last-modified": last_modified(changed, to_micros(at.engine.clock.now())),
            "cache-control": CACHING,
            "link": link_header({"self": places.self_url, "next": places.next, "hub": places.hub}),
        }
        since = request.headers.get("if-modified-since")
        if has_it(_tags(request), since, tag, changed):
            return Response(status_code=304, headers=headers)
        if not is_later(headers["last-modified"], since):
            del headers["last-modified"]
        words = await queries.words(view, page)
    moment = from_micros(changed)
    body = await asyncio.to_thread(_written, format, of, moment, words, places, made_at)
    return Response(body, media_type=format.media_type, headers=headers)


async def _collection(view: Reader, name: str, holder: Holder | None) -> Collection:
    """For a reader only what their categories hold, under names that tell of nothing else."""
    meant = meaning_of(name)
    if holder is None:
        return await queries.collection(view, meant)
    reader = holder.reader
    if meant.kind == "category" and meant.value not in reader.categories:
        raise no_such_collection()
    whole = await queries.collection(view, meant)
    return queries.narrowed(whole, await queries.having(view, reader.categories), reader.id)


def _tags(request: Request) -> str | None:
    given = request.headers.getlist("if-none-match")
    return ", ".join(given) if given else None


def _written(
    format: Format,
    of: Collection,
    changed: datetime,
    words: Sequence[tuple[Row, int | None]],
    places: Places,
    made_at: str,
) -> bytes:
    """Beside the event loop: cleaning a page of long texts takes a while."""
    return format.write(
        Document(
            id=urn("collection", made_at, of.key),
            title=of.title,
            updated=changed,
            places=places,
            items=tuple(item_of(row, edited) for row, edited in words),
        )
    )


def _places(address: Address, page: Page, cursor_: str | None, hub: str | None) -> Places:
    def at(place: tuple[int, int, int, bytes]) -> str:
        return address.url(cursor("entries", *place))

    previous = None if page.at_start else address.url()
    return Places(
        self_url=address.url(cursor_),
        first=address.url(),
        previous=at(page.previous) if page.previous else previous,
        next=at(page.next) if page.next else None,
        hub=hub,
    )


def _tag(of: Collection, page: Page, places: Places, made_at: str) -> str:
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


def _all(places: Places) -> tuple[str | None, ...]:
    return places.self_url, places.first, places.previous, places.next, places.hub
