"""Readers over HTTP: who has a feed of their own, what they follow, and the tokens that open it."""

from datetime import timedelta
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from headwater import readers
from headwater.entrypoints.api.addresses import base_of
from headwater.entrypoints.api.asking import REFUSALS, At, Cursor, Desk, Limit, Text, told
from headwater.entrypoints.api.cursors import cursor, numbers_of
from headwater.entrypoints.api.once import Told, once
from headwater.entrypoints.api.reader_models import (
    NewReaderIn,
    NewTokenIn,
    ReaderChanges,
    RotateTokenIn,
)
from headwater.entrypoints.api.reader_records import (
    NewReaderTokenRecord,
    ReaderPage,
    ReaderRecord,
    ReaderTokenPage,
    ReaderTokenRecord,
    RemovedReaderRecord,
    RotatedTokenRecord,
)
from headwater.publish.sources.source import sources_opml
from headwater.readers import Issued, ReaderLimits, Rotated
from headwater.values.instant import from_micros

router = APIRouter(tags=["readers"], responses=REFUSALS)

OPML = "text/x-opml"
_NONE = {"token": None, "urls": None}


@router.get("/readers", response_model=ReaderPage)
async def list_readers(
    at: At,
    name: Annotated[Text | None, Query(description="Only the one of exactly this name.")] = None,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """In the order they were made."""
    size = at.page_size(limit)
    after = numbers_of(cursor_, "readers", 2) if cursor_ else None
    if name is None:
        every = await readers.every_reader(at.engine)
    else:
        named = await readers.reader_named(at.engine, name)
        every = [] if named is None else [named]
    found = [each for each in every if after is None or readers.place_of(each) > after]
    more = cursor("readers", *readers.place_of(found[size - 1])) if len(found) > size else None
    records = [ReaderRecord.of(each) for each in found[:size]]
    return told(ReaderPage(readers=records, next_cursor=more))


@router.post("/readers", response_model=ReaderRecord, status_code=201)
async def make_reader(body: NewReaderIn, request: Request, at: At) -> Response:
    """A reader without a token has a feed that nobody can open yet."""

    async def effect(key: bytes | None) -> str:
        made = await readers.create(
            at.engine, body.name, body.categories, _limits(at), idempotency=key
        )
        return made.id

    async def tell(reader_id: str) -> Told:
        record = ReaderRecord.of(await readers.reader(at.engine, reader_id))
        return Told(201, record, location=f"/readers/{quote(reader_id, safe='')}")

    return await once(request, at.engine, effect, tell)


@router.get("/readers/{reader_id}", response_model=ReaderRecord)
async def show_reader(reader_id: str, at: At) -> Response:
    """One reader."""
    return told(ReaderRecord.of(await readers.reader(at.engine, reader_id)))


@router.patch("/readers/{reader_id}", response_model=ReaderRecord)
async def change_reader(reader_id: str, body: ReaderChanges, at: At) -> Response:
    """Another name, or other categories: from now on the feed is made of those."""
    changed = await readers.change(
        at.engine,
        reader_id,
        _limits(at),
        name=body.said_name,
        categories=body.said_categories,
    )
    return told(ReaderRecord.of(changed))


@router.delete("/readers/{reader_id}", response_model=RemovedReaderRecord)
async def remove_reader(reader_id: str, at: At) -> Response:
    """With all tokens: none of them opens anything from this moment. Items stay."""
    gone = await readers.remove(at.engine, reader_id)
    return told(RemovedReaderRecord(id=gone.id, name=gone.name, removed=True))


@router.get("/readers/{reader_id}/tokens", response_model=ReaderTokenPage)
async def list_reader_tokens(reader_id: str, at: At) -> Response:
    """How each begins, whether it is open, when it was last used; never a secret."""
    found = await readers.tokens(at.engine, reader_id)
    now = at.engine.clock.now()
    records = [ReaderTokenRecord.of(each, now) for each in found]
    return told(ReaderTokenPage(reader_id=reader_id, tokens=records))


@router.post("/readers/{reader_id}/tokens", response_model=NewReaderTokenRecord, status_code=201)
async def issue_token(
    reader_id: str, request: Request, at: At, body: NewTokenIn | None = None
) -> Response:
    """The token is in this answer and nowhere else. A repeated request gets `token: null`."""
    made: list[Issued] = []

    async def effect(key: bytes | None) -> str:
        made.append(await readers.issue(at.engine, reader_id, _limits(at), idempotency=key))
        return made[0].token.id

    async def tell(token_id: str) -> Told:
        issued = made[0] if made else Issued(await readers.token(at.engine, reader_id, token_id))
        base, now = base_of(request, at.settings), at.engine.clock.now()
        record = NewReaderTokenRecord.after(issued, base, now)
        return Told(201, record, kept=record.model_copy(update=_NONE))

    return await once(request, at.engine, effect, tell)


@router.post("/readers/{reader_id}/tokens/{token_id}/rotate", response_model=RotatedTokenRecord)
async def rotate_token(
    reader_id: str, token_id: str, request: Request, at: At, body: RotateTokenIn | None = None
) -> Response:
    """A new token, shown once; the old one works beside it for a while."""
    made: list[Rotated] = []
    hours = None if body is None else body.grace_hours
    grace = None if hours is None else timedelta(hours=hours)

    async def effect(key: bytes | None) -> str:
        rotated = await readers.rotate(
            at.engine, reader_id, token_id, _limits(at), grace=grace, idempotency=key
        )
        made.append(rotated)
        return rotated.issued.token.id

    async def tell(new_id: str) -> Told:
        rotated = made[0] if made else await _rotated(at, reader_id, token_id, new_id)
        base, now = base_of(request, at.settings), at.engine.clock.now()
        record = RotatedTokenRecord.after_rotation(rotated, base, now)
        return Told(200, record, kept=record.model_copy(update=_NONE))

    return await once(request, at.engine, effect, tell)


@router.delete("/readers/{reader_id}/tokens/{token_id}", response_model=ReaderTokenRecord)
async def revoke_token(reader_id: str, token_id: str, at: At) -> Response:
    """It opens nothing from now on, everywhere within a second. Revoking twice is revoking once."""
    revoked = await readers.revoke(at.engine, reader_id, token_id)
    return told(ReaderTokenRecord.of(revoked, at.engine.clock.now()))


@router.get(
    "/readers/{reader_id}/opml",
    response_class=Response,
    responses={
        200: {
            "description": "The sources, in a folder for each category.",
            "content": {OPML: {"schema": {"type": "string"}}},
        }
    },
)
async def list_sources(reader_id: str, at: At) -> Response:
    """The feeds we follow that fill the reader's categories; secrets in their URLs are hidden."""
    reader = await readers.reader(at.engine, reader_id)
    found = await readers.sources(at.engine, reader)
    # Dated by the reader's last change: an unchanged list stays the same, byte for byte.
    made = from_micros(reader.changed_at)
    return Response(sources_opml(found, f"Sources of {reader.name}", made), media_type=OPML)


async def _rotated(at: Desk, reader_id: str, token_id: str, new_id: str) -> Rotated:
    """What a rotation made whose answer was lost in a crash."""
    new = await readers.token(at.engine, reader_id, new_id)
    return Rotated(Issued(new), await readers.token(at.engine, reader_id, token_id))


def _limits(at: Desk) -> ReaderLimits:
    settings = at.settings
    return ReaderLimits(
        readers=settings.personal_readers_max,
        categories=settings.personal_reader_categories_max,
        tokens=settings.personal_reader_tokens_max,
        grace=timedelta(hours=settings.personal_grace_hours),
        allowed=frozenset(settings.personal_categories),
    )
