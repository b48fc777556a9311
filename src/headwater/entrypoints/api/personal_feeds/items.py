"""Publishing over HTTP: programs put items into categories, one at a time or many."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from fastapi import Depends
from pydantic import AfterValidator, Field, StrictInt, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from headwater.core.errors import BadInput, ConnectionLost
from headwater.core.values.instant import from_micros
from headwater.core.values.url import LONGEST_URL
from headwater.entrypoints.api.dependencies import (
    ApiContext,
    App,
)
from headwater.entrypoints.api.errors import (
    LONGEST_NAME,
    RETRY_DATABASE_SECONDS,
    BadBody,
    BadMoment,
    FeedsUnavailable,
)
from headwater.entrypoints.api.idempotency import IdempotencyKey
from headwater.entrypoints.api.models import Strict, parse_moment
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.request_body import check_json
from headwater.entrypoints.api.router import LINES, Router
from headwater.personal_feeds import publish_items as publish_items_module
from headwater.personal_feeds.ports import AddedItem, ItemAttachment
from headwater.personal_feeds.publish_items import NewItem, PublishPolicy, check_category
from headwater.publish.safe_text import web_url

LARGEST_FILE = 2**53 - 1

MOST_PROBLEMS_SHOWN = 100
"""Problems of a batch that are told in words; the numbers of bad lines are told all."""
_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d(?:\.\d{1,9})?)?([Zz]|[+-]\d\d:\d\d)?", re.ASCII
)
FieldProblem = dict[str, Any]


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _check_link(url: str) -> str:
    if web_url(url, "magnet:") is None or any(ord(letter) < 32 for letter in url):
        raise ValueError("must be an absolute http, https or magnet URL")
    return url


def _check_moment(text: str) -> str:
    _parse_pub_date(text)
    return text


def _parse_pub_date(text: str) -> int:
    """A time without a zone is UTC: many programs write one so."""
    found = _MOMENT.fullmatch(text)
    day, minute, second, zone = found.groups() if found else ("", "", "", "")
    try:
        moment = parse_moment(f"{day}T{minute}{second or ':00'}{zone or 'Z'}", "pub_date")
    except BadMoment as trouble:
        raise ValueError("must be an RFC 3339 moment, such as 2026-01-31T08:00:00Z") from trouble
    assert moment is not None
    return moment


Title = Annotated[str, Field(min_length=1, max_length=1_024), AfterValidator(_not_blank)]
LinkUrl = Annotated[str, Field(max_length=LONGEST_URL), AfterValidator(_check_link)]
Short = Annotated[str, Field(min_length=1, max_length=1_024), AfterValidator(_not_blank)]


class EnclosureIn(Strict):
    """A file that goes with an item."""

    url: LinkUrl
    type: Annotated[str, Field(max_length=255)] | None = None
    length: Annotated[StrictInt, Field(ge=0, le=LARGEST_FILE)] | None = None

    def attached(self) -> ItemAttachment:
        return ItemAttachment(self.url, self.type, self.length)


class ItemIn(Strict):
    """Something to show in the feeds of everybody who follows its category."""

    title: Title
    description: str = Field(description="HTML. It is cleaned wherever it is shown.")
    link: LinkUrl
    category: Annotated[str, Field(min_length=1, max_length=1_024)]
    pub_date: Annotated[str, Field(max_length=64), AfterValidator(_check_moment)] | None = Field(
        None, description="RFC 3339; without a zone it is UTC. Without one: now."
    )
    content: str | None = Field(None, description="HTML: the whole text, where there is more.")
    authors: list[Short] = Field([], max_length=64)
    enclosures: list[EnclosureIn] = Field([], max_length=64)
    tags: list[Short] = Field([], max_length=100)
    id: Short | None = Field(
        None, description="What you call it: nothing comes into a category twice under one id."
    )

    def wish(self) -> NewItem:
        return NewItem(
            title=self.title,
            description=self.description,
            link=self.link,
            category=self.category,
            pub_date=None if self.pub_date is None else _parse_pub_date(self.pub_date),
            content=self.content,
            authors=tuple(self.authors),
            enclosures=tuple(each.attached() for each in self.enclosures),
            tags=tuple(self.tags),
            name=self.id,
        )


def parse_item_lines(
    body: bytes, policy: PublishPolicy, *, most_items: int, most_bytes: int
) -> list[NewItem]:
    """One for each line; BadBody names every line that does not work. Blank lines are nothing."""
    lines = [(number, line) for number, line in enumerate(body.split(b"\n"), 1) if line.strip()]
    if not 0 < len(lines) <= most_items:
        raise BadInput(f"A batch has 1 to {most_items} items, one on each line.", field="body")
    wishes, problems = list[NewItem](), list[tuple[int, FieldProblem]]()
    for number, line in lines:
        try:
            wishes.append(_parse_item_line(line, policy, most_bytes))
        except BadInput as trouble:
            problems += ((number, each) for each in _problems_of(trouble))
        except ValidationError as trouble:
            problems += ((number, {**each}) for each in trouble.errors(include_url=False))
    if problems:
        raise _bad_lines(problems)
    return wishes


def _parse_item_line(line: bytes, policy: PublishPolicy, most_bytes: int) -> NewItem:
    if len(line) > most_bytes:
        raise BadInput(f"An item has at most {most_bytes} bytes.")
    check_json(line)
    wish = ItemIn.model_validate_json(line).wish()
    check_category(wish, policy)
    return wish


def _problems_of(trouble: BadInput) -> Iterator[FieldProblem]:
    if isinstance(trouble, BadBody):
        yield from ({**each, "loc": each["loc"][1:]} for each in trouble.facts["detail"])
    else:
        field = trouble.facts.get("field")
        yield {"type": trouble.code, "loc": [field] if field else [], "msg": trouble.message}


def _bad_lines(problems: Sequence[tuple[int, FieldProblem]]) -> BadBody:
    """Bounded, and without an echo of what was sent."""
    numbers = list(dict.fromkeys(number for number, _ in problems))
    detail = [
        {
            "type": each["type"],
            "loc": ["body", number, *(_short(part) for part in each["loc"])],
            "msg": each["msg"],
        }
        for number, each in problems[:MOST_PROBLEMS_SHOWN]
    ]
    which = ", ".join(map(str, numbers[:10])) + (", …" if len(numbers) > 10 else "")
    message = f"Nothing was published: {len(numbers)} of the lines do not work ({which})."
    return BadBody(message, detail=detail, bad_lines=numbers)


def _short(part: Any) -> Any:
    return part[:LONGEST_NAME] if isinstance(part, str) else part


router = Router(tags=["items"])
_NDJSON_CONTENT: dict[str, Any] = {"content": {LINES: {"schema": {"type": "string"}}}}
_QUICKLY_READ = 64 * 1024


class ItemRecord(Record):
    """`is_new`: false when it was there already, under the same id; then nothing has changed."""

    guid: str
    category: str
    expires_at: Moment
    is_new: bool

    @classmethod
    def of(cls, added: AddedItem) -> "ItemRecord":
        return cls(
            guid=added.guid,
            category=added.category,
            expires_at=from_micros(added.expires_at),
            is_new=added.is_new,
        )


class ItemLinesResponse(Response):
    """One record on each line; 201 when any of them is new."""

    media_type = LINES

    def __init__(self, records: Sequence[ItemRecord]) -> None:
        lines = "".join(f"{record.model_dump_json()}\n" for record in records)
        super().__init__(lines, 201 if any(record.is_new for record in records) else 200)


async def _mark_of(request: Request, key: IdempotencyKey) -> bytes | None:
    return publish_items_module.request_mark(key, await request.body())


RequestMark = Annotated[bytes | None, Depends(_mark_of)]
"""What stands for this request. The store of items remembers by it what it did: asked again after
a crash, it answers the same. So the effect is not tied to the request's key."""


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
    (record,) = await _publish(app, [body.wish()], mark)
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


async def _items_in(at: ApiContext, body: bytes) -> list[NewItem]:
    def read() -> list[NewItem]:
        return parse_item_lines(
            body,
            _policy(at),
            most_items=at.settings.personal_batch_max_items,
            most_bytes=at.settings.personal_item_max_bytes,
        )

    return read() if len(body) <= _QUICKLY_READ else await asyncio.to_thread(read)


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


def _policy(at: ApiContext) -> PublishPolicy:
    return PublishPolicy(
        days=at.settings.personal_days, allowed=frozenset(at.settings.personal_categories)
    )
