"""Fetchers over HTTP: list, change and register them; their heartbeats; what each visits."""

import secrets
from typing import Annotated

from starlette.responses import Response

from headwater.auth.tokens import SECRET_BYTES, token_text
from headwater.core.values.instant import from_micros
from headwater.entrypoints.api.dependencies import App, Caller, FetcherId, View
from headwater.entrypoints.api.idempotency import IdempotencyKey
from headwater.entrypoints.api.models import NothingIn
from headwater.entrypoints.api.paging import Page, paging
from headwater.entrypoints.api.router import Failed, Router
from headwater.entrypoints.api.subscriptions.fetcher_records import (
    FetcherChanges,
    FetcherPage,
    FetcherRecord,
    HeartbeatRecord,
    JoinedFetcherRecord,
    RegisterIn,
)
from headwater.entrypoints.api.subscriptions.subscription_records import (
    AssignedPage,
    SubscriptionRecord,
)
from headwater.subscriptions import subscription_rows
from headwater.subscriptions.fetchers import fetcher_commands, fetcher_rows

router = Router(tags=["fetchers"])


@router.get(
    "/fetcher-modules",
    right="read",
    failed=Failed("Failed to list fetchers", empty="fetcher_modules"),
)
async def list_fetchers(view: View) -> FetcherPage:
    """All of them, the oldest first; disabled ones too."""
    fetchers = await fetcher_rows.list_fetchers(view)
    return FetcherPage(fetcher_modules=[FetcherRecord.of(fetcher) for fetcher in fetchers])


@router.get("/fetcher-modules/{fetcher_id}", right=("read", "fetcher"))
async def show_fetcher(fetcher_id: FetcherId, view: View) -> FetcherRecord:
    """One fetcher, enabled or not."""
    return FetcherRecord.of(await fetcher_rows.get_fetcher(view, fetcher_id))


@router.patch(
    "/fetcher-modules/{fetcher_id}", right="admin", failed=Failed("Failed to change fetcher")
)
async def change_fetcher(
    fetcher_id: FetcherId, body: FetcherChanges, app: App, caller: Caller
) -> FetcherRecord:
    """Enable or disable it, set its priority, its address or its description."""
    return FetcherRecord.of(
        await fetcher_commands.change_fetcher(fetcher_id, body.patch(), app.registry, caller.name)
    )


async def show_heartbeat(seen_at_micros: str, fetcher_id: FetcherId, view: View) -> HeartbeatRecord:
    """The answer to a repeated request, whose heartbeat was noted already."""
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
    """A fetcher says that it is there; the answer says whether it is enabled."""
    fetcher, seen_at = await fetcher_commands.note_heartbeat(
        fetcher_id, app.database, idempotency=key
    )
    return HeartbeatRecord(
        fetcher_id=fetcher.id, last_seen_at=seen_at, is_enabled=fetcher.is_enabled
    )


@router.get(
    "/fetcher-modules/{fetcher_id}/subscriptions",
    right=("read", "fetcher"),
    failed=Failed("Failed to list subscriptions", empty="urls"),
)
async def list_assigned(
    fetcher_id: FetcherId, view: View, page: Annotated[Page, paging("assigned")]
) -> AssignedPage:
    """The active subscriptions that are assigned to this fetcher, in the order they were made."""
    fetcher = await fetcher_rows.get_fetcher(view, fetcher_id)
    subscriptions = await subscription_rows.list_subscriptions(
        view,
        after=page.after,
        limit=page.size + 1,
        include_inactive=False,
        fetcher_id=fetcher.id,
    )
    shown, next_cursor = page.cut(subscriptions)
    return AssignedPage(
        fetcher_id=fetcher.id,
        urls=[subscription.source_url for subscription in shown],
        subscriptions=[SubscriptionRecord.of(subscription) for subscription in shown],
        next_cursor=next_cursor,
    )


async def show_joined_fetcher(
    fetcher_id: FetcherId, view: View, response: Response
) -> JoinedFetcherRecord:
    """The answer to a repeated request of a fetcher that joined already, without its secrets: they
    were shown, or lost."""
    response.status_code = 200
    fetcher = await fetcher_rows.get_fetcher(view, fetcher_id)
    return JoinedFetcherRecord.of(fetcher, token=None, signing_key=None)


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
    registers again with the same or newer facts, without them unless `rotate` asks for new ones."""
    keys = fetcher_commands.NewFetcherKeys(
        token=token_text(secrets.token_bytes(SECRET_BYTES)),
        signing_key=secrets.token_bytes(SECRET_BYTES),
    )
    rules = fetcher_commands.JoinRules(
        app.settings.max_fetchers, app.settings.fetchers_start_disabled
    )
    joined = await fetcher_commands.register_fetcher(
        body.registration(),
        app.registry,
        caller,
        keys,
        rules,
        rotate=body.rotate,
        idempotency=key,
    )
    response.status_code = 201 if joined.is_new else 200
    shown = keys.shown if joined.has_keys else {"token": None, "signing_key": None}
    return JoinedFetcherRecord.of(joined.fetcher, **shown)
