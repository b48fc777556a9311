"""Readers over HTTP: who has a feed of their own, what they follow, and the tokens that open it."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import Query
from pydantic import AfterValidator, Field
from starlette.requests import Request
from starlette.responses import Response

from headwater.core.values.instant import from_micros, maybe_moment, to_micros
from headwater.entrypoints.api.dependencies import (
    ApiContext,
    App,
    Cursor,
    Limit,
    RouteContext,
    TextWithoutNul,
    json_response,
)
from headwater.entrypoints.api.feed_response import base_url_of
from headwater.entrypoints.api.idempotency import IdempotencyKey, ShownOnce
from headwater.entrypoints.api.models import Strict, check_printable
from headwater.entrypoints.api.paging import cursor, decode_cursor
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.router import Router
from headwater.personal_feeds import reader_commands
from headwater.personal_feeds.ports import FeedReader, ReaderToken
from headwater.personal_feeds.reader_commands import (
    LONGEST_CATEGORY,
    LONGEST_NAME,
    IssuedToken,
    ReaderLimits,
    RotatedToken,
)
from headwater.personal_feeds.source import render_sources_opml

MOST_CATEGORIES = 10_000
"""More than any setting allows."""
LONGEST_GRACE = 8_760.0


def _each_once(names: list[str]) -> list[str]:
    if len(set(names)) != len(names):
        raise ValueError("must not name one category twice")
    return names


ReaderName = Annotated[
    str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(check_printable)
]
CategoryName = Annotated[
    str, Field(min_length=1, max_length=LONGEST_CATEGORY, description="Exactly this name.")
]
CategoryNames = Annotated[
    list[CategoryName], Field(max_length=MOST_CATEGORIES), AfterValidator(_each_once)
]


class NewReaderIn(Strict):
    """Somebody with a feed of their own."""

    name: ReaderName
    categories: CategoryNames = Field(default=[])


class ReaderChanges(Strict):
    """Only what is named changes; `categories` are all that is followed from then on."""

    name: ReaderName = "a name"
    categories: CategoryNames = Field(default=[])

    @property
    def said_name(self) -> str | None:
        return self.name if "name" in self.model_fields_set else None

    @property
    def said_categories(self) -> list[str] | None:
        return self.categories if "categories" in self.model_fields_set else None


class NewReaderTokenIn(Strict):
    """There is nothing to say about a new token yet: an empty object, or no body at all."""


class RotateTokenIn(Strict):
    grace_hours: (
        Annotated[float, Field(strict=True, ge=0, le=LONGEST_GRACE, allow_inf_nan=False)] | None
    ) = Field(
        None,
        description="How long the old token works beside the new one; 0: it ends now."
        " Without it as the setting `personal_grace_hours` says.",
    )


TokenState = Literal["open", "ending", "ended", "revoked"]


class ReaderRecord(Record):
    """`updated_at`: when the name or the categories last changed."""

    id: str
    name: str
    categories: list[str]
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, reader: FeedReader) -> "ReaderRecord":
        return cls(
            id=reader.id,
            name=reader.name,
            categories=list(reader.categories),
            created_at=from_micros(reader.created_at),
            updated_at=from_micros(reader.changed_at),
        )


class ReaderPage(Record):
    readers: list[ReaderRecord]
    next_cursor: str | None


class RemovedReaderRecord(Record):
    id: str
    name: str
    removed: bool


class ReaderTokenRecord(Record):
    """`ending`: it was rotated and works until `until`. `hint` is how the token begins."""

    id: str
    reader_id: str
    hint: str
    state: TokenState
    created_at: Moment
    until: Moment | None
    revoked_at: Moment | None
    last_used_at: Moment | None

    @classmethod
    def of(cls, token: ReaderToken, now: datetime) -> "ReaderTokenRecord":
        return cls(**cls.fields_of(token, now))

    @staticmethod
    def fields_of(token: ReaderToken, now: datetime) -> dict[str, Any]:
        return {
            "id": token.id,
            "reader_id": token.reader_id,
            "hint": token.hint,
            "state": _token_state(token, to_micros(now)),
            "created_at": from_micros(token.created_at),
            "until": maybe_moment(token.until),
            "revoked_at": maybe_moment(token.revoked_at),
            "last_used_at": maybe_moment(token.last_used_at),
        }


class ReaderTokenPage(Record):
    """Oldest first, those that opened something once too."""

    reader_id: str
    tokens: list[ReaderTokenRecord]


class FeedUrls(Record):
    """Each opens the reader's feed for whoever has it."""

    rss: str
    atom: str
    json_feed: str
    opml: str

    @classmethod
    def of(cls, base: str, secret: str) -> "FeedUrls":
        query = urlencode({"token": secret})
        return cls(
            rss=f"{base}/rss?{query}",
            atom=f"{base}/atom?{query}",
            json_feed=f"{base}/feed.json?{query}",
            opml=f"{base}/opml?{query}",
        )


class NewReaderTokenRecord(ReaderTokenRecord):
    """A token that was just made."""

    token: Annotated[str | None, ShownOnce] = Field(
        description="Shown once. Null when the request was a repeated one."
    )
    urls: Annotated[FeedUrls | None, ShownOnce] = Field(
        description="Where the feed is, with the token. Shown once."
    )

    @classmethod
    def after(cls, issued: IssuedToken, base: str, now: datetime) -> "NewReaderTokenRecord":
        return cls(**cls.fields_of(issued.token, now), **_secret_fields(issued, base))


class RotatedTokenRecord(NewReaderTokenRecord):
    """`replaces` is the old token, with the end it has now."""

    replaces: ReaderTokenRecord

    @classmethod
    def after_rotation(
        cls, rotated: RotatedToken, base: str, now: datetime
    ) -> "RotatedTokenRecord":
        return cls(
            **cls.fields_of(rotated.issued.token, now),
            **_secret_fields(rotated.issued, base),
            replaces=ReaderTokenRecord.of(rotated.replaced, now),
        )


def _secret_fields(issued: IssuedToken, base: str) -> dict[str, Any]:
    urls = None if issued.secret is None else FeedUrls.of(base, issued.secret)
    return {"token": issued.secret, "urls": urls}


def _token_state(token: ReaderToken, now: int) -> TokenState:
    if token.revoked_at is not None:
        return "revoked"
    if not token.is_open(now):
        return "ended"
    return "open" if token.until is None else "ending"


router = Router(tags=["readers"])
OPML = "text/x-opml"


@router.get("/readers", right="admin", response_model=ReaderPage)
async def list_readers(
    at: RouteContext,
    name: Annotated[
        TextWithoutNul | None, Query(description="Only the one of exactly this name.")
    ] = None,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """In the order they were made."""
    size = at.page_size(limit)
    after = decode_cursor(cursor_, "readers", 2) if cursor_ else None
    if name is None:
        every = await reader_commands.list_readers(at.personal.store)
    else:
        named = await reader_commands.find_reader_by_name(at.personal.store, name)
        every = [] if named is None else [named]
    found = [
        each for each in every if after is None or reader_commands.reader_position(each) > after
    ]
    more = (
        cursor("readers", *reader_commands.reader_position(found[size - 1]))
        if len(found) > size
        else None
    )
    records = [ReaderRecord.of(each) for each in found[:size]]
    return json_response(ReaderPage(readers=records, next_cursor=more))


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


@router.patch("/readers/{reader_id}", right="admin", response_model=ReaderRecord)
async def change_reader(reader_id: str, body: ReaderChanges, at: RouteContext) -> Response:
    """Another name, or other categories: from now on the feed is made of those."""
    changed = await reader_commands.change_reader(
        at.personal,
        reader_id,
        _limits(at),
        name=body.said_name,
        categories=body.said_categories,
    )
    return json_response(ReaderRecord.of(changed))


@router.delete("/readers/{reader_id}", right="admin", response_model=RemovedReaderRecord)
async def remove_reader(reader_id: str, at: RouteContext) -> Response:
    """With all tokens: none of them opens anything from this moment. Items stay."""
    gone = await reader_commands.remove_reader(at.personal, reader_id)
    return json_response(RemovedReaderRecord(id=gone.id, name=gone.name, removed=True))


@router.get("/readers/{reader_id}/tokens", right="admin", response_model=ReaderTokenPage)
async def list_reader_tokens(reader_id: str, at: RouteContext) -> Response:
    """How each begins, whether it is open, when it was last used; never a secret."""
    found = await reader_commands.list_tokens(at.personal.store, reader_id)
    now = at.clock.now()
    records = [ReaderTokenRecord.of(each, now) for each in found]
    return json_response(ReaderTokenPage(reader_id=reader_id, tokens=records))


async def show_issued_token(
    token_id: str, reader_id: str, request: Request, app: App
) -> NewReaderTokenRecord:
    """The answer to a token that was issued already, without its secret."""
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
    """The answer to a token that was rotated already, without its secret."""
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


@router.delete(
    "/readers/{reader_id}/tokens/{token_id}", right="admin", response_model=ReaderTokenRecord
)
async def revoke_token(reader_id: str, token_id: str, at: RouteContext) -> Response:
    """It opens nothing from now on, everywhere within a second. Revoking twice is revoking once."""
    revoked = await reader_commands.revoke_token(at.personal, reader_id, token_id)
    return json_response(ReaderTokenRecord.of(revoked, at.clock.now()))


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
async def list_sources(reader_id: str, at: RouteContext) -> Response:
    """The feeds we follow that fill the reader's categories; secrets in their URLs are hidden."""
    reader = await reader_commands.get_reader(at.personal.store, reader_id)
    found = await reader_commands.list_sources(at.database, reader)
    # Dated by the reader's last change: an unchanged list stays the same, byte for byte.
    made = from_micros(reader.changed_at)
    return Response(render_sources_opml(found, f"Sources of {reader.name}", made), media_type=OPML)


def _issued_record(issued: IssuedToken, request: Request, app: ApiContext) -> NewReaderTokenRecord:
    base, now = base_url_of(request, app.settings), app.clock.now()
    return NewReaderTokenRecord.after(issued, base, now)


def _rotated_record(rotated: RotatedToken, request: Request, app: ApiContext) -> RotatedTokenRecord:
    base, now = base_url_of(request, app.settings), app.clock.now()
    return RotatedTokenRecord.after_rotation(rotated, base, now)


def _limits(at: ApiContext) -> ReaderLimits:
    settings = at.settings
    return ReaderLimits(
        readers=settings.personal_readers_max,
        categories=settings.personal_reader_categories_max,
        tokens=settings.personal_reader_tokens_max,
        grace=timedelta(hours=settings.personal_grace_hours),
        allowed=frozenset(settings.personal_categories),
    )
