"""Items over HTTP: programs publish them in categories, one at a time or many."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response

from headwater.core.errors import ConnectionLost
from headwater.entrypoints.api.dependencies import ApiContext, App
from headwater.entrypoints.api.errors import RETRY_DATABASE_SECONDS, FeedsUnavailable
from headwater.entrypoints.api.idempotency import IdempotencyKey
from headwater.entrypoints.api.personal_feeds.item_lines import parse_item_lines
from headwater.entrypoints.api.personal_feeds.item_records import (
    ItemIn,
    ItemLinesResponse,
    ItemRecord,
)
from headwater.entrypoints.api.router import LINES, Router
from headwater.personal_feeds import publish_items as publish_items_module
from headwater.personal_feeds.publish_items import NewItem, PublishPolicy

router = Router(tags=["items"])
_NDJSON_CONTENT: dict[str, Any] = {"content": {LINES: {"schema": {"type": "string"}}}}
_SHORT_BATCH_BYTES = 64 * 1024


async def _mark_of(request: Request, key: IdempotencyKey) -> bytes | None:
    return publish_items_module.request_mark(key, await request.body())


RequestMark = Annotated[bytes | None, Depends(_mark_of)]
"""Stands for this request in the store of items, which remembers by it what it did. When the
request is repeated after a crash, the store answers the same. So the effect is not tied to the
request's key."""


@router.post(
    "/internal/rss/item",
    right="publish",
    most_bytes="personal_item_max_bytes",
    status_code=201,
    responses={200: {"model": ItemRecord}},
)
async def publish_item(body: ItemIn, app: App, mark: RequestMark, response: Response) -> ItemRecord:
    """It is in the feed of everybody who follows the category, within a second.

    An `id` that is known there already is answered with 200, and nothing changes.
    """
    (record,) = await _publish(app, [body.item()], mark)
    response.status_code = 201 if record.is_new else 200
    return record


@router.post(
    "/internal/rss/items",
    right="publish",
    most_bytes="personal_batch_max_bytes",
    takes_lines=True,
    response_class=Response,
    status_code=201,
    responses={200: _NDJSON_CONTENT, 201: _NDJSON_CONTENT},
    openapi_extra={"requestBody": {"required": True, **_NDJSON_CONTENT}},
)
async def publish_items(request: Request, app: App, mark: RequestMark) -> ItemLinesResponse:
    """Many items, one on each line: all of them, or none when a line does not work.

    The answer has one line for each, in the same order; 200 when none of them is new.
    """
    items = await _items_in(app, await request.body())
    return ItemLinesResponse(await _publish(app, items, mark))


async def _items_in(app: ApiContext, body: bytes) -> list[NewItem]:
    """Beside the event loop when the batch is long: it takes a while to read."""

    def parse() -> list[NewItem]:
        return parse_item_lines(
            body,
            _policy(app),
            most_items=app.settings.personal_batch_max_items,
            most_bytes=app.settings.personal_item_max_bytes,
        )

    return parse() if len(body) <= _SHORT_BATCH_BYTES else await asyncio.to_thread(parse)


async def _publish(
    app: ApiContext, items: Sequence[NewItem], mark: bytes | None
) -> list[ItemRecord]:
    try:
        added = await publish_items_module.publish_items(
            app.personal, items, _policy(app), request=mark
        )
    except ConnectionLost as trouble:
        raise FeedsUnavailable(
            "RSS service temporarily unavailable", retry_after_sec=RETRY_DATABASE_SECONDS
        ) from trouble
    return [ItemRecord.of(item) for item in added]


def _policy(app: ApiContext) -> PublishPolicy:
    settings = app.settings
    return PublishPolicy(
        days=settings.personal_days, allowed=frozenset(settings.personal_categories)
    )
