"""Subscriptions over HTTP: subscribe, list, look, change, unsubscribe; and how it came about."""

from typing import Annotated
from urllib.parse import unquote_to_bytes

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from headwater.core.errors import BadInput
from headwater.core.ports import View as DatabaseView
from headwater.core.values.ids import FetcherId
from headwater.core.values.url import redacted
from headwater.entrypoints.api.dependencies import (
    App,
    Caller,
    Cursor,
    Limit,
    RouteContext,
    SubscriptionId,
    TextWithoutNul,
    View,
    is_number,
    json_response,
    parse_number,
)
from headwater.entrypoints.api.idempotency import IdempotencyKey
from headwater.entrypoints.api.paging import cursor, decode_cursor
from headwater.entrypoints.api.router import Failed, Router
from headwater.entrypoints.api.subscriptions.subscription_records import (
    HistoryPage,
    NewSubscriptionIn,
    SubscriptionChanges,
    SubscriptionHistoryRecord,
    SubscriptionPage,
    SubscriptionRecord,
    UnsubscribedRecord,
)
from headwater.subscriptions import change_subscription as change_subscription_module
from headwater.subscriptions import history_rows, subscription_rows
from headwater.subscriptions import subscribe as subscribe_module
from headwater.subscriptions import unsubscribe as unsubscribe_module
from headwater.subscriptions.conflicts import resolve_by_evidence
from headwater.subscriptions.subscription import Subscription


def last_path_part(request: Request) -> str:
    """What stands after the second slash of the path, decoded exactly once.

    The router has decoded the path already, so its own reading cannot be trusted to keep an
    encoded slash, question mark or percent sign apart from a plain one.
    """
    raw: bytes = request.scope["raw_path"]
    parts = raw.split(b"/", 2)
    try:
        return unquote_to_bytes(parts[2]).decode("utf-8") if len(parts) == 3 else ""
    except UnicodeDecodeError:
        return ""


def check_query_names(request: Request, *known: str) -> None:
    """A URL that was not encoded loses its query to ours: then it would name another source."""
    if strangers := sorted(set(request.query_params) - set(known)):
        raise BadInput(
            f"Unknown parameter {redacted(strangers[0][:100])}. In a path, a source URL must be"
            " percent-encoded once, its query too.",
            known=list(known),
        )


router = Router(tags=["subscriptions"])
IdFilter = Annotated[int | None, Query(ge=1, le=2**63 - 1)]


@router.get(
    "/subscriptions",
    right="read",
    failed=Failed("Failed to list subscriptions", empty="subscriptions"),
    response_model=SubscriptionPage,
)
async def list_subscriptions(
    at: RouteContext,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
    include_inactive: bool = False,
    fetcher_id: IdFilter = None,
    group_id: IdFilter = None,
    source_url: Annotated[
        TextWithoutNul | None, Query(description="Only the one of this URL.")
    ] = None,
) -> Response:
    """In the order they were made. Inactive ones are listed only when asked for."""
    size = at.page_size(limit)
    (after,) = decode_cursor(cursor_, "subscriptions", 1) if cursor_ else (0,)
    async with at.database.read() as view:
        if source_url is not None:
            one = await _find_by_url(view, source_url, include_inactive=include_inactive)
            found = [each for each in one if _matches_filters(each, fetcher_id, group_id)]
        else:
            found = await subscription_rows.list_subscriptions(
                view,
                after=after,
                limit=size + 1,
                include_inactive=include_inactive,
                fetcher_id=None if fetcher_id is None else FetcherId(fetcher_id),
                group_id=group_id,
            )
    records = [SubscriptionRecord.of(each) for each in found[:size]]
    more = cursor("subscriptions", found[size - 1].id) if len(found) > size else None
    return json_response(SubscriptionPage(subscriptions=records, next_cursor=more))


@router.get("/subscriptions/{subscription_id}", right="read")
async def show_subscription(subscription_id: SubscriptionId, view: View) -> SubscriptionRecord:
    """One subscription, active or not."""
    return SubscriptionRecord.of(await subscription_rows.get_subscription(view, subscription_id))


@router.post(
    "/subscriptions",
    right="admin",
    failed=Failed("Failed to create subscription"),
    status_code=201,
    location="/subscriptions/{subscription_id}",
    again=show_subscription,
)
async def subscribe(
    body: NewSubscriptionIn, app: App, caller: Caller, key: IdempotencyKey
) -> SubscriptionRecord:
    """Asks who can fetch it and assigns the best; does not fetch. The first visit is due at once.

    With `fetcher_id` only that fetcher is asked. Equal candidates at the top open a conflict.
    """
    new = await subscribe_module.create_subscription(
        body.wish(), app.registry, caller.name, idempotency=key
    )
    await resolve_by_evidence.resolve_new_conflict(new.id, app.registry)
    async with app.database.read() as view:
        return SubscriptionRecord.of(await subscription_rows.get_subscription(view, new.id))


@router.patch(
    "/subscriptions/{subscription_id}",
    right="admin",
    failed=Failed("Failed to change subscription"),
    response_model=SubscriptionRecord,
)
async def change_subscription(
    subscription_id: str, body: SubscriptionChanges, request: Request, at: RouteContext
) -> Response:
    """Only what is named changes; null goes back to the default. Another `fetcher_id` is asked
    whether it can, and takes over with the next visit."""
    known = parse_number(subscription_id, "subscription")
    who = request.scope["credential"].name
    changed = await change_subscription_module.change_subscription(
        known, body.changes(), at.registry, who, gap=at.gap
    )
    return json_response(SubscriptionRecord.of(changed))


@router.delete(
    "/subscriptions/{subscription_id:path}",
    right="admin",
    failed=Failed("Failed to delete subscription"),
    response_model=UnsubscribedRecord,
)
async def unsubscribe(
    subscription_id: str, request: Request, at: RouteContext, hard: bool = False
) -> Response:
    """By its id, or by its source URL, percent-encoded once. Soft: no more visits, all history
    stays. `hard`: entries, visits, raw and conflicts go for good."""
    check_query_names(request, "hard")
    said, who = last_path_part(request), request.scope["credential"].name
    if is_number(said):
        gone = await unsubscribe_module.delete_subscription(
            parse_number(said, "subscription"), at.database, who, hard=hard
        )
    else:
        gone = await unsubscribe_module.delete_by_url(said, at.database, who, hard=hard)
    return json_response(
        UnsubscribedRecord(
            message="Subscription deleted successfully",
            subscription_id=gone.id,
            source_url=gone.source_url,
            rss_url=gone.source_url,
            rows_deleted=1 if hard or gone.is_active else 0,
            hard=hard,
        )
    )


@router.get("/subscriptions/{subscription_id}/history", right="read", response_model=HistoryPage)
async def list_history(
    subscription_id: str,
    at: RouteContext,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """Newest first: who decided what and why, what was before and what after."""
    size = at.page_size(limit)
    before = decode_cursor(cursor_, "history", 1)[0] if cursor_ else None
    async with at.database.read() as view:
        known = await subscription_rows.get_subscription(
            view, parse_number(subscription_id, "subscription")
        )
        found = await history_rows.list_history(view, known.id, before=before, limit=size + 1)
    more = cursor("history", found[size - 1].id) if len(found) > size else None
    return json_response(
        HistoryPage(
            subscription_id=known.id,
            history=[SubscriptionHistoryRecord.of(each) for each in found[:size]],
            next_cursor=more,
        )
    )


async def _find_by_url(
    view: DatabaseView, url: str, *, include_inactive: bool
) -> list[Subscription]:
    found = await subscription_rows.find_subscription_by_url(view, url)
    return [found] if found is not None and (found.is_active or include_inactive) else []


def _matches_filters(one: Subscription, fetcher_id: int | None, group_id: int | None) -> bool:
    """What else was asked for, beside its URL."""
    return fetcher_id in (None, one.fetcher_id) and group_id in (None, one.group_id)
