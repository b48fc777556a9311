"""A reader's own feeds as a list for feed readers: the whole one, and one for each category."""

from datetime import datetime
from urllib.parse import urlencode

from headwater.entrypoints.api.personal_query import PersonalQuery, refused
from headwater.publish.personal.feed import SHAPES, Shape, shown_categories
from headwater.publish.wire_text import sound
from headwater.subscribe.opml import OpmlRow, write_opml
from headwater.values.personal import FeedReader

LIST = "/opml"
MEDIA_TYPE = "text/x-opml"
TITLE = "Personal feeds"
WHOLE = "Everything I follow"
BLANK = "(blank)"

_SHAPES: dict[str, Shape] = {str(format): shape for format, shape in SHAPES.items()}


def feeds_as_opml(query: PersonalQuery, reader: FeedReader, base: str, now: datetime) -> bytes:
    """With the token that was given: nobody else knows it any more, and it is its holder's file."""
    shape = _SHAPES.get(query.format or "rss")
    if shape is None:
        raise refused("format", "enum", f"Input should be one of {', '.join(_SHAPES)}")
    rows = [
        OpmlRow(_address(base, shape, query, category=name), _shown(name), categories=(TITLE,))
        for name in shown_categories(reader, query.categories)
    ]
    if query.categories is None:
        rows.insert(0, OpmlRow(_address(base, shape, query), WHOLE))
    return write_opml(rows, TITLE, now)


def _shown(name: str) -> str:
    """A row without a title is shown by its address, which has the token in it."""
    return name if sound(name).strip() else BLANK


def _address(base: str, shape: Shape, query: PersonalQuery, **more: str) -> str:
    asked: dict[str, str | int] = {"token": query.token, **more}
    if query.limit is not None:
        asked["limit"] = query.limit
    return f"{base}{shape.path}?{urlencode(asked, errors='replace')}"
