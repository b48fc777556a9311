"""Subscriptions over HTTP: subscribe, list, look, change, unsubscribe; and how it came about."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from headwater import deciding, registry
from headwater.entrypoints.api.asking import REFUSALS, At, Cursor, Limit, Text, told
from headwater.entrypoints.api.cursors import cursor, numbers_of
from headwater.entrypoints.api.failing import saying
from headwater.entrypoints.api.numbers import is_number, last_part, number, refuse_unknown_query
from headwater.entrypoints.api.once import Told, once
from headwater.entrypoints.api.registry_models import NewSubscriptionIn, SubscriptionChanges
from headwater.entrypoints.api.registry_records import (
    DecidedRecord,
    HistoryPage,
    SubscriptionPage,
    SubscriptionRecord,
    UnsubscribedRecord,
)
from headwater.ports import Reader
from headwater.subscribe.fetcher import FetcherId
from headwater.subscribe.history import store as history
from headwater.subscribe.subscription import Subscription
from headwater.subscribe.subscriptions import queries

router = APIRouter(tags=["subscriptions"], responses=REFUSALS)

SomeId = Annotated[int | None, Query(ge=1, le=2**63 - 1)]


@router.get("/subscriptions", response_model=SubscriptionPage)
async def list_subscriptions(
    at: At,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
    include_inactive: bool = False,
    fetcher_id: SomeId = None,
    group_id: SomeId = None,
    source_url: Annotated[Text | None, Query(description="Only the one of this URL.")] = None,
) -> Response:
    """In the order they were made. Inactive ones are listed only when asked for."""
    size = at.page_size(limit)
    (after,) = numbers_of(cursor_, "subscriptions", 1) if cursor_ else (0,)
    with saying("Failed to list subscriptions", subscriptions=[]):
        async with at.engine.database.read() as view:
            if source_url is not None:
                one = await _of_url(view, source_url, include_inactive=include_inactive)
                found = [each for each in one if _is_of(each, fetcher_id, group_id)]
            else:
                found = await queries.subscriptions(
                    view,
                    after=after,
                    limit=size + 1,
                    include_inactive=include_inactive,
                    fetcher_id=None if fetcher_id is None else FetcherId(fetcher_id),
                    group_id=group_id,
                )
    records = [SubscriptionRecord.of(each) for each in found[:size]]
    more = cursor("subscriptions", found[size - 1].id) if len(found) > size else None
    return told(SubscriptionPage(subscriptions=records, next_cursor=more))


@router.post("/subscriptions", response_model=SubscriptionRecord, status_code=201)
async def subscribe(body: NewSubscriptionIn, request: Request, at: At) -> Response:
    """Asks who can fetch it and assigns the best; does not fetch. The first visit is due at once.

    With `fetcher_id` only that fetcher is asked. Equal candidates at the top open a conflict.
    """
    wish, who = body.wish(), request.scope["credential"].name

    async def effect(key: bytes | None) -> str:
        with saying("Failed to create subscription"):
            made = await registry.create_subscription(wish, at.engine, who, idempotency=key)
            await deciding.decide_subscription(made.id, at.engine)
        return str(made.id)

    async def tell(subscription_id: str) -> Told:
        found = await _subscription(at, int(subscription_id))
        where = f"/subscriptions/{subscription_id}"
        return Told(201, SubscriptionRecord.of(found), location=where)

    return await once(request, at.engine, effect, tell)


@router.get("/subscriptions/{subscription_id}", response_model=SubscriptionRecord)
async def show_subscription(subscription_id: str, at: At) -> Response:
    """One subscription, active or not."""
    known = number(subscription_id, "subscription")
    return told(SubscriptionRecord.of(await _subscription(at, known)))


@router.patch("/subscriptions/{subscription_id}", response_model=SubscriptionRecord)
async def change_subscription(
    subscription_id: str, body: SubscriptionChanges, request: Request, at: At
) -> Response:
    """Only what is named changes; null goes back to the default. Another `fetcher_id` is asked
    whether it can, and takes over with the next visit."""
    known = number(subscription_id, "subscription")
    who = request.scope["credential"].name
    with saying("Failed to change subscription"):
        changed = await registry.change_subscription(
            known, body.changes(), at.engine, who, gap=at.gap
        )
    return told(SubscriptionRecord.of(changed))


@router.delete("/subscriptions/{subscription_id:path}", response_model=UnsubscribedRecord)
async def unsubscribe(
    subscription_id: str, request: Request, at: At, hard: bool = False
) -> Response:
    """By its id, or by its source URL, percent-encoded once. Soft: no more visits, all history
    stays. `hard`: entries, visits, raw and conflicts go for good."""
    refuse_unknown_query(request, "hard")
    said, who = last_part(request), request.scope["credential"].name
    with saying("Failed to delete subscription"):
        if is_number(said):
            gone = await registry.delete_subscription(
                number(said, "subscription"), at.engine, who, hard=hard
            )
        else:
            gone = await registry.delete_by_url(said, at.engine, who, hard=hard)
    return told(
        UnsubscribedRecord(
            message="Subscription deleted successfully",
            subscription_id=gone.id,
            source_url=gone.source_url,
            rss_url=gone.source_url,
            rows_deleted=1 if hard or gone.is_active else 0,
            hard=hard,
        )
    )


@router.get("/subscriptions/{subscription_id}/history", response_model=HistoryPage)
async def list_history(
    subscription_id: str,
    at: At,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """Newest first: who decided what and why, what was before and what after."""
    size = at.page_size(limit)
    before = numbers_of(cursor_, "history", 1)[0] if cursor_ else None
    async with at.engine.database.read() as view:
        known = await queries.subscription(view, number(subscription_id, "subscription"))
        found = await history.history(view, known.id, before=before, limit=size + 1)
    more = cursor("history", found[size - 1].id) if len(found) > size else None
    return told(
        HistoryPage(
            subscription_id=known.id,
            history=[DecidedRecord.of(each) for each in found[:size]],
            next_cursor=more,
        )
    )


async def _subscription(at: At, subscription_id: int) -> Subscription:
    async with at.engine.database.read() as view:
        return await queries.subscription(view, subscription_id)


async def _of_url(view: Reader, url: str, *, include_inactive: bool) -> list[Subscription]:
    found = await queries.by_url(view, url)
    return [found] if found is not None and (found.is_active or include_inactive) else []


def _is_of(one: Subscription, fetcher_id: int | None, group_id: int | None) -> bool:
    """What else was asked for, beside its URL."""
    return fetcher_id in (None, one.fetcher_id) and group_id in (None, one.group_id)
