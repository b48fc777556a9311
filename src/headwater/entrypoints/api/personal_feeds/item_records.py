"""Records of items: what programs publish, and what they get."""

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field, StrictInt
from starlette.responses import Response

from headwater.core.values.instant import from_micros
from headwater.core.values.url import LONGEST_URL
from headwater.entrypoints.api.errors import BadMoment
from headwater.entrypoints.api.models import Strict, parse_moment
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.router import LINES
from headwater.personal_feeds.ports import AddedItem, ItemAttachment
from headwater.personal_feeds.publish_items import NewItem
from headwater.publish.safe_text import web_url

LARGEST_FILE = 2**53 - 1
_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d(?:\.\d{1,9})?)?([Zz]|[+-]\d\d:\d\d)?", re.ASCII
)


def _check_not_blank(text: str) -> str:
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
    """A time without a zone is UTC: many programs write times without one."""
    match = _MOMENT.fullmatch(text)
    day, minute, second, zone = match.groups() if match else ("", "", "", "")
    try:
        moment = parse_moment(f"{day}T{minute}{second or ':00'}{zone or 'Z'}", "pub_date")
    except BadMoment as trouble:
        raise ValueError("must be an RFC 3339 moment, such as 2026-01-31T08:00:00Z") from trouble
    assert moment is not None
    return moment


ItemTitle = Annotated[str, Field(min_length=1, max_length=1_024), AfterValidator(_check_not_blank)]
LinkUrl = Annotated[str, Field(max_length=LONGEST_URL), AfterValidator(_check_link)]
ShortText = Annotated[str, Field(min_length=1, max_length=1_024), AfterValidator(_check_not_blank)]


class EnclosureIn(Strict):
    """A file that goes with an item."""

    url: LinkUrl
    type: Annotated[str, Field(max_length=255)] | None = None
    length: Annotated[StrictInt, Field(ge=0, le=LARGEST_FILE)] | None = None

    def attachment(self) -> ItemAttachment:
        return ItemAttachment(self.url, self.type, self.length)


class ItemIn(Strict):
    """Something to show in the feeds of everybody who follows its category."""

    title: ItemTitle
    description: str = Field(description="HTML. It is cleaned wherever it is shown.")
    link: LinkUrl
    category: Annotated[str, Field(min_length=1, max_length=1_024)]
    pub_date: Annotated[str, Field(max_length=64), AfterValidator(_check_moment)] | None = Field(
        None, description="RFC 3339; without a zone it is UTC. Without one: now."
    )
    content: str | None = Field(None, description="HTML: the whole text, where there is more.")
    authors: list[ShortText] = Field([], max_length=64)
    enclosures: list[EnclosureIn] = Field([], max_length=64)
    tags: list[ShortText] = Field([], max_length=100)
    id: ShortText | None = Field(
        None, description="What you call it: nothing comes into a category twice under one id."
    )

    def item(self) -> NewItem:
        return NewItem(
            title=self.title,
            description=self.description,
            link=self.link,
            category=self.category,
            pub_date=None if self.pub_date is None else _parse_pub_date(self.pub_date),
            content=self.content,
            authors=tuple(self.authors),
            enclosures=tuple(enclosure.attachment() for enclosure in self.enclosures),
            tags=tuple(self.tags),
            name=self.id,
        )


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
