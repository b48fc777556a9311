"""Subscriptions over HTTP: create, list, show, change and remove them; and their history."""

from typing import Annotated
from urllib.parse import unquote_to_bytes

from fastapi import Query
from starlette.requests import Request

from headwater.core.errors import BadInput
from headwater.core.ports import View as DatabaseView
from headwater.core.values import ids
from headwater.core.values.url import redacted
from headwater.entrypoints.api.dependencies import (
    LARGEST_ID,
    App,
    Caller,
    SubscriptionId,
    TextWithoutNul,
    View,
    is_number,
    parse_number,
)
from headwater.entrypoints.api.idempotency import IdempotencyKey
from headwater.entrypoints.api.paging import Page, paging
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
from headwater.subscriptions.subscription import Subscription

router = Router(tags=["subscriptions"])
IdFilter = Annotated[int | None, Query(ge=1, le=LARGEST_ID)]


@router.get(
    "/subscriptions",
    right="read",
    failed=Failed("Failed to list subscriptions", empty="subscriptions"),
)
async def list_subscriptions(
    view: View,
    page: Annotated[Page, paging("subscriptions")],
    include_inactive: bool = False,
    fetcher_id: IdFilter = None,
    group_id: IdFilter = None,
    source_url: Annotated[
        TextWithoutNul | None, Query(description="Only the one of this URL.")
    ] = None,
) -> SubscriptionPage:
    """In the order they were made. Inactive ones are listed only when asked for."""
    if source_url is None:
        subscriptions = await subscription_rows.list_subscriptions(
            view,
            after=page.after,
            limit=page.size + 1,
            include_inactive=include_inactive,
            fetcher_id=None if fetcher_id is None else ids.FetcherId(fetcher_id),
            group_id=group_id,
        )
    else:
        with_url = await _list_with_url(view, source_url, include_inactive=include_inactive)
        subscriptions = [
            subscription
            for subscription in with_url
            if fetcher_id in (None, subscription.fetcher_id)
            and group_id in (None, subscription.group_id)
        ]
    shown, next_cursor = page.cut(subscriptions)
    records = [SubscriptionRecord.of(subscription) for subscription in shown]
    return SubscriptionPage(subscriptions=records, next_cursor=next_cursor)


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
    """Asks which fetchers can fetch it and assigns the best; does not fetch. The first visit is due
    at once.

    With `fetcher_id` only that fetcher is asked. Equal candidates at the top open a conflict.
    """
    new = await subscribe_module.create_subscription(
        body.subscription(), app.registry, caller.name, idempotency=key
    )
    async with app.database.read() as view:
        return await show_subscription(new.id, view)


@router.patch(
    "/subscriptions/{subscription_id}",
    right="admin",
    failed=Failed("Failed to change subscription"),
)
async def change_subscription(
    subscription_id: SubscriptionId, body: SubscriptionChanges, app: App, caller: Caller
) -> SubscriptionRecord:
    """Only what is named changes; null goes back to the default. Another `fetcher_id` is asked
    whether it can, and takes over with the next visit."""
    return SubscriptionRecord.of(
        await change_subscription_module.change_subscription(
            subscription_id, body.update(), app.registry, caller.name, gap=app.gap
        )
    )


@router.delete(
    "/subscriptions/{subscription_id:path}",
    right="admin",
    failed=Failed("Failed to delete subscription"),
)
async def unsubscribe(
    subscription_id: str, request: Request, app: App, caller: Caller, hard: bool = False
) -> UnsubscribedRecord:
    """By its id, or by its source URL, percent-encoded once. Soft: no more visits, all history
    stays. `hard`: entries, visits, raw and conflicts go for good."""
    check_query_names(request, "hard")
    id_or_url = last_path_part(request)
    if is_number(id_or_url):
        subscription = await unsubscribe_module.delete_subscription(
            parse_number(id_or_url, "subscription"), app.database, caller.name, hard=hard
        )
    else:
        subscription = await unsubscribe_module.delete_by_url(
            id_or_url, app.database, caller.name, hard=hard
        )
    return UnsubscribedRecord.of(
        subscription,
        message="Subscription deleted successfully",
        rows_deleted=1 if hard or subscription.is_active else 0,
        hard=hard,
    )


@router.get("/subscriptions/{subscription_id}/history", right="read")
async def list_history(
    subscription_id: SubscriptionId, view: View, page: Annotated[Page, paging("history")]
) -> HistoryPage:
    """Newest first: who decided what and why, with the values before and after."""
    subscription = await subscription_rows.get_subscription(view, subscription_id)
    entries = await history_rows.list_history(
        view, subscription.id, before=page.before, limit=page.size + 1
    )
    shown, next_cursor = page.cut(entries)
    return HistoryPage(
        subscription_id=subscription.id,
        history=[SubscriptionHistoryRecord.of(entry) for entry in shown],
        next_cursor=next_cursor,
    )


async def _list_with_url(
    view: DatabaseView, url: str, *, include_inactive: bool
) -> list[Subscription]:
    subscription = await subscription_rows.find_subscription_by_url(view, url)
    is_shown = subscription is not None and (subscription.is_active or include_inactive)
    return [subscription] if subscription is not None and is_shown else []


def last_path_part(request: Request) -> str:
    """The part of the path after its second slash, decoded exactly once.

    The router has decoded the path already. So the path that it read cannot tell an encoded slash,
    question mark or percent sign from a plain one.
    """
    raw: bytes = request.scope["raw_path"]
    parts = raw.split(b"/", 2)
    try:
        return unquote_to_bytes(parts[2]).decode("utf-8") if len(parts) == 3 else ""
    except UnicodeDecodeError:
        return ""


def check_query_names(request: Request, *names: str) -> None:
    """The query of a URL that was not encoded becomes the query of our request, and the rest of
    the URL would name another source. So an unknown parameter is BadInput."""
    if unknown := sorted(set(request.query_params) - set(names)):
        raise BadInput(
            f"Unknown parameter {redacted(unknown[0][:100])}. In a path, a source URL must be"
            " percent-encoded once, its query too.",
            known=list(names),
        )
