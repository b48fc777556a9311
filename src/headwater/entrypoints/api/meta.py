"""Collections of entries as feeds for readers: Atom and JSON Feed, paged, cheap when unchanged."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
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
from headwater.entrypoints.api.etags import is_known
from headwater.ports import Row
from headwater.publish import atom_xml, json_feed, queries
from headwater.publish.collection import meaning_of
from headwater.publish.document import Document, Places
from headwater.publish.entries import item_of
from headwater.publish.item import urn
from headwater.publish.queries import Collection, Page
from headwater.values.instant import from_micros

router = APIRouter(tags=["meta"], responses=REFUSALS)

CACHING = "private, no-cache"
_UNSETTLED = timedelta(minutes=2)
"""A visit may be committed this long after the moment it gives its entries."""


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
    async with at.engine.database.read() as view:
        of = await queries.collection(view, meaning_of(name))
        page = await queries.page(view, of, after=after, limit=at.page_size(limit))
        made_at = await queries.origin(view)
        places = _places(address, page, cursor_, at.settings.hub_url)
        changed = of.since if page.changed is None else from_micros(page.changed)
        headers = {
            "etag": _tag(of, page, places, made_at),
            "last-modified": _last_modified(changed, at.engine.clock.now()),
            "cache-control": CACHING,
            "link": link_header({"self": places.self_url, "next": places.next, "hub": places.hub}),
        }
        if _has_it(request, headers["etag"], changed):
            return Response(status_code=304, headers=headers)
        words = await queries.words(view, page)
    body = await asyncio.to_thread(_written, format, of, changed, words, places, made_at)
    return Response(body, media_type=format.media_type, headers=headers)


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


def _last_modified(changed: datetime, now: datetime) -> str:
    """The newest change, told a little too early while it is new.

    Until then an entry of an earlier moment, or of the same second, may still be committed: whoever
    asks by time alone must get it.
    """
    settled = changed + _UNSETTLED <= now
    told = changed if settled else changed - _UNSETTLED
    return format_datetime(told.replace(microsecond=0), usegmt=True)


def _has_it(request: Request, tag: str, changed: datetime) -> bool:
    """By tag when one is given; the time counts only without one (RFC 9110, 13.2.2)."""
    tags = request.headers.getlist("if-none-match")
    if tags:
        return is_known(tag, ", ".join(tags))
    since = _moment(request.headers.get("if-modified-since"))
    return since is not None and changed.replace(microsecond=0) <= since


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
