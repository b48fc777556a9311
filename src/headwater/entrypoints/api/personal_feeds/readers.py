"""Readers over HTTP: create, change and remove them, and the tokens that open their feeds."""

from datetime import timedelta
from functools import partial
from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from headwater.core.values.instant import from_micros
from headwater.entrypoints.api.dependencies import ApiContext, App, TextWithoutNul
from headwater.entrypoints.api.feed_response import base_url_of
from headwater.entrypoints.api.idempotency import IdempotencyKey
from headwater.entrypoints.api.paging import Page, decode_cursor, paging
from headwater.entrypoints.api.personal_feeds.reader_records import (
    NewReaderIn,
    NewReaderTokenIn,
    NewReaderTokenRecord,
    ReaderChanges,
    ReaderPage,
    ReaderRecord,
    ReaderTokenPage,
    ReaderTokenRecord,
    RemovedReaderRecord,
    RotatedTokenRecord,
    RotateTokenIn,
)
from headwater.entrypoints.api.router import Router
from headwater.personal_feeds import reader_commands
from headwater.personal_feeds.reader_commands import (
    IssuedToken,
    ReaderLimits,
    RotatedToken,
    reader_position,
)
from headwater.personal_feeds.source import render_sources_opml

router = Router(tags=["readers"])
OPML = "text/x-opml"


@router.get("/readers", right="admin")
async def list_readers(
    app: App,
    page: Annotated[Page, paging("readers", partial(decode_cursor, kind="readers", count=2))],
    name: Annotated[
        TextWithoutNul | None, Query(description="Only the one of exactly this name.")
    ] = None,
) -> ReaderPage:
    """In the order they were made."""
    if name is None:
        readers = await reader_commands.list_readers(app.personal.store)
    else:
        named = await reader_commands.find_reader_by_name(app.personal.store, name)
        readers = [] if named is None else [named]
    after = page.position
    rest = [reader for reader in readers if after is None or reader_position(reader) > after]
    shown, next_cursor = page.cut(rest, key=reader_position)
    records = [ReaderRecord.of(reader) for reader in shown]
    return ReaderPage(readers=records, next_cursor=next_cursor)


@router.get("/readers/{reader_id}", right="admin")
async def show_reader(reader_id: str, app: App) -> ReaderRecord:
    """One reader."""
    return ReaderRecord.of(await reader_commands.get_reader(app.personal.store, reader_id))


@router.post(
    "/readers", right="admin", status_code=201, location="/readers/{id}", again=show_reader
)
async def make_reader(body: NewReaderIn, app: App, key: IdempotencyKey) -> ReaderRecord:
    """A reader without a token has a feed that nobody can open yet."""
    reader = await reader_commands.create_reader(
        app.personal, body.name, body.categories, _limits(app), idempotency=key
    )
    return ReaderRecord.of(await reader_commands.get_reader(app.personal.store, reader.id))


@router.patch("/readers/{reader_id}", right="admin")
async def change_reader(reader_id: str, body: ReaderChanges, app: App) -> ReaderRecord:
    """Another name, or other categories: from now on the feed is made of those."""
    return ReaderRecord.of(
        await reader_commands.change_reader(
            app.personal,
            reader_id,
            _limits(app),
            name=body.new_name,
            categories=body.new_categories,
        )
    )


@router.delete("/readers/{reader_id}", right="admin")
async def remove_reader(reader_id: str, app: App) -> RemovedReaderRecord:
    """Removes all tokens too: none of them opens anything from this moment. Items stay."""
    reader = await reader_commands.remove_reader(app.personal, reader_id)
    return RemovedReaderRecord.of(reader, removed=True)


@router.get("/readers/{reader_id}/tokens", right="admin")
async def list_reader_tokens(reader_id: str, app: App) -> ReaderTokenPage:
    """How each begins, whether it is open, when it was last used; never a secret."""
    tokens = await reader_commands.list_tokens(app.personal.store, reader_id)
    now = app.clock.now()
    records = [ReaderTokenRecord.of(token, now) for token in tokens]
    return ReaderTokenPage(reader_id=reader_id, tokens=records)


async def show_issued_token(
    token_id: str, reader_id: str, request: Request, app: App
) -> NewReaderTokenRecord:
    """The answer to a repeated request, whose token was issued already, without its secret."""
    token = await reader_commands.get_token(app.personal.store, reader_id, token_id)
    return _issued_record(IssuedToken(token), request, app)


@router.post("/readers/{reader_id}/tokens", right="admin", status_code=201, again=show_issued_token)
async def issue_token(
    reader_id: str,
    request: Request,
    app: App,
    key: IdempotencyKey,
    body: NewReaderTokenIn | None = None,
) -> NewReaderTokenRecord:
    """The token is in this answer and nowhere else. A repeated request gets `token: null`."""
    issued = await reader_commands.issue_token(
        app.personal, reader_id, _limits(app), idempotency=key
    )
    return _issued_record(issued, request, app)


async def show_rotated_token(
    new_id: str, reader_id: str, token_id: str, request: Request, app: App
) -> RotatedTokenRecord:
    """The answer to a repeated request, whose token was rotated already, without its secret."""
    new = await reader_commands.get_token(app.personal.store, reader_id, new_id)
    old = await reader_commands.get_token(app.personal.store, reader_id, token_id)
    return _rotated_record(RotatedToken(IssuedToken(new), old), request, app)


@router.post(
    "/readers/{reader_id}/tokens/{token_id}/rotate", right="admin", again=show_rotated_token
)
async def rotate_token(
    reader_id: str,
    token_id: str,
    request: Request,
    app: App,
    key: IdempotencyKey,
    body: RotateTokenIn | None = None,
) -> RotatedTokenRecord:
    """A new token, shown once; the old one works beside it for a while."""
    hours = None if body is None else body.grace_hours
    rotated = await reader_commands.rotate_token(
        app.personal,
        reader_id,
        token_id,
        _limits(app),
        grace=None if hours is None else timedelta(hours=hours),
        idempotency=key,
    )
    return _rotated_record(rotated, request, app)


@router.delete("/readers/{reader_id}/tokens/{token_id}", right="admin")
async def revoke_token(reader_id: str, token_id: str, app: App) -> ReaderTokenRecord:
    """It opens nothing from now on, everywhere within a second. Revoking twice is revoking once."""
    revoked = await reader_commands.revoke_token(app.personal, reader_id, token_id)
    return ReaderTokenRecord.of(revoked, app.clock.now())


@router.get(
    "/readers/{reader_id}/opml",
    right="admin",
    response_class=Response,
    responses={
        200: {
            "description": "The sources, in a folder for each category.",
            "content": {OPML: {"schema": {"type": "string"}}},
        }
    },
)
async def list_sources(reader_id: str, app: App) -> Response:
    """The feeds we follow that fill the reader's categories; secrets in their URLs are hidden."""
    reader = await reader_commands.get_reader(app.personal.store, reader_id)
    sources = await reader_commands.list_sources(app.database, reader)
    # Dated by the reader's last change: an unchanged list stays the same, byte for byte.
    made_at = from_micros(reader.changed_at)
    opml = render_sources_opml(sources, f"Sources of {reader.name}", made_at)
    return Response(opml, media_type=OPML)


def _issued_record(issued: IssuedToken, request: Request, app: ApiContext) -> NewReaderTokenRecord:
    base = base_url_of(request, app.settings)
    return NewReaderTokenRecord.of_issued(issued, base, app.clock.now())


def _rotated_record(rotated: RotatedToken, request: Request, app: ApiContext) -> RotatedTokenRecord:
    base = base_url_of(request, app.settings)
    return RotatedTokenRecord.of_rotated(rotated, base, app.clock.now())


def _limits(app: ApiContext) -> ReaderLimits:
    settings = app.settings
    return ReaderLimits(
        readers=settings.personal_readers_max,
        categories=settings.personal_reader_categories_max,
        tokens=settings.personal_reader_tokens_max,
        grace=timedelta(hours=settings.personal_grace_hours),
        allowed=frozenset(settings.personal_categories),
    )
