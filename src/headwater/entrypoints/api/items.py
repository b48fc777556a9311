"""Publishing over HTTP: programs put items into categories, one at a time or many."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from headwater import publishing
from headwater.entrypoints.api.asking import REFUSALS, At, Desk
from headwater.entrypoints.api.item_models import ItemIn, wishes_of
from headwater.entrypoints.api.once import Told, once
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.refusals import RETRY_DATABASE_SECONDS, FeedsUnavailable
from headwater.errors import ConnectionLost
from headwater.publishing import ItemWish, PublishPolicy
from headwater.values.instant import from_micros
from headwater.values.personal import Added

router = APIRouter(tags=["items"], responses=REFUSALS)

ONE, MANY = "/internal/rss/item", "/internal/rss/items"
LINES = "application/x-ndjson"

_LINES: dict[str, Any] = {"content": {LINES: {"schema": {"type": "string"}}}}
_QUICKLY_READ = 64 * 1024


class ItemRecord(Record):
    """`is_new`: false when it was there already, under the same id; then nothing has changed."""

    guid: str
    category: str
    expires_at: Moment
    is_new: bool

    @classmethod
    def of(cls, added: Added) -> "ItemRecord":
        return cls(
            guid=added.guid,
            category=added.category,
            expires_at=from_micros(added.expires_at),
            is_new=added.is_new,
        )


@dataclass(frozen=True, slots=True)
class ItemLines:
    """One record on each line."""

    records: Sequence[ItemRecord]

    def model_dump_json(self) -> str:
        return "".join(f"{each.model_dump_json()}\n" for each in self.records)


@router.post(
    ONE, response_model=ItemRecord, status_code=201, responses={200: {"model": ItemRecord}}
)
async def publish_item(body: ItemIn, request: Request, at: At) -> Response:
    """It is in the feed of everybody who follows the category, within a second.

    An `id` that is known there already is answered with 200, and nothing changes.
    """
    wish = body.wish()

    async def effect(key: bytes | None) -> str:
        return await _published(at, [wish], request, key)

    async def tell(answers: str) -> Told:
        (record,) = _records(answers)
        return Told(201 if record.is_new else 200, record)

    return await once(request, at.engine, effect, tell)


@router.post(
    MANY,
    response_class=Response,
    status_code=201,
    responses={200: _LINES, 201: _LINES},
    openapi_extra={"requestBody": {"required": True, **_LINES}},
)
async def publish_items(request: Request, at: At) -> Response:
    """Many items, one on each line: all of them, or none when a line does not work.

    The answer has one line for each, in the same order; 200 when none of them is new.
    """
    body = await request.body()
    wishes = await _wishes(at, body)

    async def effect(key: bytes | None) -> str:
        return await _published(at, wishes, request, key)

    async def tell(answers: str) -> Told:
        records = _records(answers)
        status = 201 if any(record.is_new for record in records) else 200
        return Told(status, ItemLines(records))

    return await once(request, at.engine, effect, tell, media_type=LINES)


async def _wishes(at: Desk, body: bytes) -> list[ItemWish]:
    def read() -> list[ItemWish]:
        return wishes_of(
            body,
            _policy(at),
            most_items=at.settings.personal_batch_max_items,
            most_bytes=at.settings.personal_item_max_bytes,
        )

    return read() if len(body) <= _QUICKLY_READ else await asyncio.to_thread(read)


async def _published(
    at: Desk, wishes: Sequence[ItemWish], request: Request, key: bytes | None
) -> str:
    mark = publishing.request_mark(key, await request.body())
    try:
        answers = await publishing.publish(at.engine, wishes, _policy(at), request=mark)
    except ConnectionLost as trouble:
        raise FeedsUnavailable(
            "RSS service temporarily unavailable", retry_after_sec=RETRY_DATABASE_SECONDS
        ) from trouble
    return orjson.dumps(answers).decode()


def _records(answers: str) -> list[ItemRecord]:
    return [ItemRecord.of(Added(**each)) for each in orjson.loads(answers)]


def _policy(at: Desk) -> PublishPolicy:
    return PublishPolicy(
        days=at.settings.personal_days, allowed=frozenset(at.settings.personal_categories)
    )
