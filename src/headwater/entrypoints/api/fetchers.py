"""Fetchers over HTTP: who there is, what an operator decides about them, and what each visits."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from headwater import joining
from headwater.access.store import remember_resource
from headwater.entrypoints.api.asking import REFUSALS, At, Cursor, Limit, told
from headwater.entrypoints.api.cursors import cursor, numbers_of
from headwater.entrypoints.api.failing import saying
from headwater.entrypoints.api.models import NothingIn
from headwater.entrypoints.api.numbers import number
from headwater.entrypoints.api.once import Told, once
from headwater.entrypoints.api.registry_models import FetcherChanges
from headwater.entrypoints.api.registry_records import (
    AssignedPage,
    FetcherPage,
    FetcherRecord,
    SeenRecord,
    SubscriptionRecord,
)
from headwater.subscribe.fetcher import FetcherId
from headwater.subscribe.fetchers import store
from headwater.subscribe.subscriptions import queries
from headwater.values.instant import from_micros, to_micros

router = APIRouter(tags=["fetchers"], responses=REFUSALS)


@router.get("/fetcher-modules", response_model=FetcherPage)
async def list_fetchers(at: At) -> Response:
    """All of them, the oldest first; disabled ones too."""
    with saying("Failed to list fetchers", fetcher_modules=[]):
        async with at.engine.database.read() as view:
            found = await store.fetchers(view)
    return told(FetcherPage(fetcher_modules=[FetcherRecord.of(each) for each in found]))


@router.get("/fetcher-modules/{fetcher_id}", response_model=FetcherRecord)
async def show_fetcher(fetcher_id: str, at: At) -> Response:
    """One fetcher, enabled or not."""
    async with at.engine.database.read() as view:
        return told(FetcherRecord.of(await store.fetcher(view, _id(fetcher_id))))


@router.patch("/fetcher-modules/{fetcher_id}", response_model=FetcherRecord)
async def change_fetcher(
    fetcher_id: str, body: FetcherChanges, request: Request, at: At
) -> Response:
    """Enable or disable it, set its priority, its address or its description."""
    who = request.scope["credential"].name
    with saying("Failed to change fetcher"):
        changed = await joining.change_fetcher(_id(fetcher_id), body.patch(), at.engine, who)
    return told(FetcherRecord.of(changed))


@router.post("/fetcher-modules/{fetcher_id}/heartbeat", response_model=SeenRecord)
async def heartbeat(
    fetcher_id: str, request: Request, at: At, body: NothingIn | None = None
) -> Response:
    """A fetcher says that it is there; the answer says whether it is wanted."""
    known, now = _id(fetcher_id), at.engine.clock.now()

    async def effect(key: bytes | None) -> str:
        async with at.engine.database.write() as tx:
            await store.fetcher(tx, known)
            await store.seen(tx, known, now)
            if key is not None:
                await remember_resource(tx, key, str(to_micros(now)))
        return str(to_micros(now))

    async def tell(seen_at: str) -> Told:
        async with at.engine.database.read() as view:
            is_enabled = (await store.fetcher(view, known)).is_enabled
        seen = from_micros(int(seen_at))
        return Told(200, SeenRecord(fetcher_id=known, last_seen_at=seen, is_enabled=is_enabled))

    return await once(request, at.engine, effect, tell)


@router.get("/fetcher-modules/{fetcher_id}/subscriptions", response_model=AssignedPage)
async def list_assigned(
    fetcher_id: str,
    at: At,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """The active subscriptions that are assigned to this fetcher, in the order they were made."""
    size = at.page_size(limit)
    (after,) = numbers_of(cursor_, "assigned", 1) if cursor_ else (0,)
    with saying("Failed to list subscriptions", urls=[]):
        async with at.engine.database.read() as view:
            fetcher = await store.fetcher(view, _id(fetcher_id))
            found = await queries.subscriptions(
                view, after=after, limit=size + 1, include_inactive=False, fetcher_id=fetcher.id
            )
    shown = [SubscriptionRecord.of(each) for each in found[:size]]
    return told(
        AssignedPage(
            fetcher_id=fetcher.id,
            urls=[each.source_url for each in shown],
            subscriptions=shown,
            next_cursor=cursor("assigned", found[size - 1].id) if len(found) > size else None,
        )
    )


def _id(text: str) -> FetcherId:
    return FetcherId(number(text, "fetcher"))
