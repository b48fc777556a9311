"""Fetchers over HTTP: who there is, what an operator decides about them, and what each visits."""

import secrets
from typing import Annotated, Self

from fastapi import Query
from pydantic import AfterValidator, Field, StrictBool, StrictInt, model_validator
from starlette.requests import Request
from starlette.responses import Response

from headwater.auth.tokens import SECRET_BYTES, token_text
from headwater.core.idempotency_rows import set_key_resource
from headwater.core.values import ids
from headwater.core.values.instant import from_micros, to_micros
from headwater.entrypoints.api.dependencies import (
    App,
    Caller,
    Cursor,
    FetcherId,
    Limit,
    RouteContext,
    View,
    json_response,
    parse_number,
)
from headwater.entrypoints.api.idempotency import IdempotencyKey, ShownOnce
from headwater.entrypoints.api.models import JsonObject, NothingIn, Strict, check_printable
from headwater.entrypoints.api.paging import cursor, decode_cursor
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.router import Failed, Router
from headwater.entrypoints.api.subscriptions.subscription_records import (
    AssignedPage,
    Description,
    Name,
    SubscriptionRecord,
)
from headwater.subscriptions import subscription_rows
from headwater.subscriptions.fetchers import fetcher_commands, fetcher_rows
from headwater.subscriptions.fetchers.fetcher import (
    USUAL_FETCHER_PRIORITY,
    Fetcher,
    FetcherPatch,
    Registration,
)

HIGHEST_FETCHER_PRIORITY = 1_000
Version = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(check_printable)]
FetcherPriority = Annotated[StrictInt, Field(ge=0, le=HIGHEST_FETCHER_PRIORITY)]


class RegisterIn(Strict):
    """A fetcher that joins. Without `base_url` it is reached at `http://host:port`."""

    service_name: Name
    host: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    port: Annotated[StrictInt, Field(ge=1, le=65_535)] | None = None
    base_url: Annotated[str, Field(min_length=1, max_length=4_096)] | None = None
    version: Version = "1.0.0"
    description: Description | None = None
    priority: FetcherPriority = Field(
        USUAL_FETCHER_PRIORITY, description="Counts when it joins; later only an admin changes it."
    )
    config_schema: JsonObject | None = None
    wants_news: StrictBool = Field(
        False, description="Tell it of subscriptions at `POST {base_url}/subscriptions`."
    )
    rotate: StrictBool = Field(False, description="A new token and signing key; the old ones end.")

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        if self.base_url is None and (self.host is None or self.port is None):
            raise ValueError("base_url is needed, or host and port")
        return self

    @property
    def where(self) -> str:
        host = self.host or ""
        named = f"[{host}]" if ":" in host and not host.startswith("[") else host
        return self.base_url or f"http://{named}:{self.port}"

    def registration(self) -> Registration:
        return Registration(
            name=self.service_name,
            version=self.version,
            description=self.description,
            base_url=self.where,
            priority=self.priority,
            config_schema=self.config_schema,
            wants_news=self.wants_news,
        )


class FetcherChanges(Strict):
    """What an operator decides about a fetcher; only what is named changes."""

    is_enabled: StrictBool = True
    priority: FetcherPriority = USUAL_FETCHER_PRIORITY
    base_url: Annotated[str, Field(min_length=1, max_length=4_096)] = "http://localhost"
    description: Description | None = None

    def patch(self) -> FetcherPatch:
        return FetcherPatch(**{name: getattr(self, name) for name in self.model_fields_set})


class FetcherRecord(Record):
    fetcher_id: int
    name: str
    version: str
    description: str | None
    base_url: str
    priority: int
    is_enabled: bool
    is_builtin: bool
    config_schema: str | None
    wants_news: bool
    last_seen_at: Moment | None
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, fetcher: Fetcher) -> "FetcherRecord":
        return cls(
            fetcher_id=fetcher.id,
            name=fetcher.name,
            version=fetcher.version,
            description=fetcher.description,
            base_url=fetcher.base_url,
            priority=fetcher.priority,
            is_enabled=fetcher.is_enabled,
            is_builtin=fetcher.is_builtin,
            config_schema=fetcher.config_schema,
            wants_news=fetcher.wants_news,
            last_seen_at=fetcher.last_seen_at,
            created_at=fetcher.created_at,
            updated_at=fetcher.updated_at,
        )


class FetcherPage(Record):
    fetcher_modules: list[FetcherRecord]


class JoinedFetcherRecord(FetcherRecord):
    """A fetcher that joined, with what it needs to work."""

    token: Annotated[str | None, ShownOnce] = Field(
        description="Its own token. Shown once: null when it has one and no new one was asked for."
    )
    signing_key: Annotated[str | None, ShownOnce] = Field(
        description="Signs our requests to it (`whsec_…`). Shown once, like the token."
    )

    @classmethod
    def of_joined(
        cls, fetcher: Fetcher, token: str | None = None, signing_key: str | None = None
    ) -> "JoinedFetcherRecord":
        fields = FetcherRecord.of(fetcher).model_dump()
        return cls(**fields, token=token, signing_key=signing_key)


class HeartbeatRecord(Record):
    fetcher_id: int
    last_seen_at: Moment
    is_enabled: bool


router = Router(tags=["fetchers"])


@router.get(
    "/fetcher-modules",
    right="read",
    failed=Failed("Failed to list fetchers", empty="fetcher_modules"),
    response_model=FetcherPage,
)
async def list_fetchers(at: RouteContext) -> Response:
    """All of them, the oldest first; disabled ones too."""
    async with at.database.read() as view:
        found = await fetcher_rows.list_fetchers(view)
    return json_response(FetcherPage(fetcher_modules=[FetcherRecord.of(each) for each in found]))


@router.get(
    "/fetcher-modules/{fetcher_id}", right=("read", "fetcher"), response_model=FetcherRecord
)
async def show_fetcher(fetcher_id: str, at: RouteContext) -> Response:
    """One fetcher, enabled or not."""
    async with at.database.read() as view:
        return json_response(
            FetcherRecord.of(await fetcher_rows.get_fetcher(view, _id(fetcher_id)))
        )


@router.patch(
    "/fetcher-modules/{fetcher_id}",
    right="admin",
    failed=Failed("Failed to change fetcher"),
    response_model=FetcherRecord,
)
async def change_fetcher(
    fetcher_id: str, body: FetcherChanges, request: Request, at: RouteContext
) -> Response:
    """Enable or disable it, set its priority, its address or its description."""
    who = request.scope["credential"].name
    changed = await fetcher_commands.change_fetcher(_id(fetcher_id), body.patch(), at.registry, who)
    return json_response(FetcherRecord.of(changed))


async def show_heartbeat(seen_at_micros: str, fetcher_id: FetcherId, view: View) -> HeartbeatRecord:
    """The answer to a heartbeat that was noted."""
    fetcher = await fetcher_rows.get_fetcher(view, fetcher_id)
    return HeartbeatRecord(
        fetcher_id=fetcher.id,
        last_seen_at=from_micros(int(seen_at_micros)),
        is_enabled=fetcher.is_enabled,
    )


@router.post("/fetcher-modules/{fetcher_id}/heartbeat", right="fetcher", again=show_heartbeat)
async def heartbeat(
    fetcher_id: FetcherId, app: App, key: IdempotencyKey, body: NothingIn | None = None
) -> HeartbeatRecord:
    """A fetcher says that it is there; the answer says whether it is wanted."""
    now = app.clock.now()
    async with app.database.write() as tx:
        fetcher = await fetcher_rows.get_fetcher(tx, fetcher_id)
        await fetcher_rows.set_last_seen(tx, fetcher_id, now)
        if key is not None:
            await set_key_resource(tx, key, str(to_micros(now)))
    return HeartbeatRecord(fetcher_id=fetcher.id, last_seen_at=now, is_enabled=fetcher.is_enabled)


@router.get(
    "/fetcher-modules/{fetcher_id}/subscriptions",
    right=("read", "fetcher"),
    failed=Failed("Failed to list subscriptions", empty="urls"),
    response_model=AssignedPage,
)
async def list_assigned(
    fetcher_id: str,
    at: RouteContext,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """The active subscriptions that are assigned to this fetcher, in the order they were made."""
    size = at.page_size(limit)
    (after,) = decode_cursor(cursor_, "assigned", 1) if cursor_ else (0,)
    async with at.database.read() as view:
        fetcher = await fetcher_rows.get_fetcher(view, _id(fetcher_id))
        found = await subscription_rows.list_subscriptions(
            view, after=after, limit=size + 1, include_inactive=False, fetcher_id=fetcher.id
        )
    shown = [SubscriptionRecord.of(each) for each in found[:size]]
    return json_response(
        AssignedPage(
            fetcher_id=fetcher.id,
            urls=[each.source_url for each in shown],
            subscriptions=shown,
            next_cursor=cursor("assigned", found[size - 1].id) if len(found) > size else None,
        )
    )


def _id(text: str) -> ids.FetcherId:
    return ids.FetcherId(parse_number(text, "fetcher"))


async def show_joined_fetcher(
    fetcher_id: FetcherId, view: View, response: Response
) -> JoinedFetcherRecord:
    """The answer to a fetcher that joined already: its secrets were shown, or lost."""
    response.status_code = 200
    return JoinedFetcherRecord.of_joined(await fetcher_rows.get_fetcher(view, fetcher_id))


@router.post(
    "/services/register",
    right=("register", "fetcher"),
    failed=Failed("Failed to register"),
    status_code=201,
    responses={200: {"model": JoinedFetcherRecord}},
    location="/fetcher-modules/{fetcher_id}",
    again=show_joined_fetcher,
)
async def register_service(
    body: RegisterIn, app: App, caller: Caller, key: IdempotencyKey, response: Response
) -> JoinedFetcherRecord:
    """201 the first time, with the fetcher's own token and signing key, shown once; 200 when it
    says the same or something newer of itself, without them unless `rotate` asks for new ones."""
    keys = fetcher_commands.NewFetcherKeys(
        token=token_text(secrets.token_bytes(SECRET_BYTES)),
        signing_key=secrets.token_bytes(SECRET_BYTES),
    )
    joined = await fetcher_commands.register_fetcher(
        body.registration(),
        app.registry,
        caller,
        keys,
        _terms(app),
        rotate=body.rotate,
        idempotency=key,
    )
    response.status_code = 201 if joined.is_new else 200
    shown = keys.shown if joined.has_keys else {}
    return JoinedFetcherRecord.of_joined(joined.fetcher, **shown)


def _terms(at: RouteContext) -> fetcher_commands.JoinRules:
    settings = at.settings
    return fetcher_commands.JoinRules(settings.max_fetchers, settings.fetchers_start_disabled)
