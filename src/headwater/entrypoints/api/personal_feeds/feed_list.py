"""The list of a reader's own feeds, as OPML."""

from datetime import datetime
from urllib.parse import urlencode

from headwater.entrypoints.api.personal_feeds.feed_query import PersonalQuery, bad_query_field
from headwater.personal_feeds.personal_feed import FEED_FORMATS, FeedFormatSpec, shown_categories
from headwater.personal_feeds.ports import FeedReader
from headwater.publish.opml import OpmlRow, render_opml
from headwater.publish.safe_text import xml_safe_text

OPML_PATH = "/opml"
MEDIA_TYPE = "text/x-opml"
LIST_TITLE = "Personal feeds"
WHOLE_FEED_TITLE = "Everything I follow"
BLANK_TITLE = "(blank)"

_SHAPES: dict[str, FeedFormatSpec] = {str(format): shape for format, shape in FEED_FORMATS.items()}


def feeds_as_opml(query: PersonalQuery, reader: FeedReader, base: str, now: datetime) -> bytes:
    """With the token that was given: nobody else knows it any more, and it is its holder's file."""
    shape = _SHAPES.get(query.format or "rss")
    if shape is None:
        raise bad_query_field("format", "enum", f"Input should be one of {', '.join(_SHAPES)}")
    rows = [
        OpmlRow(
            _feed_url(base, shape, query, category=name), _row_title(name), categories=(LIST_TITLE,)
        )
        for name in shown_categories(reader, query.categories)
    ]
    if query.categories is None:
        rows.insert(0, OpmlRow(_feed_url(base, shape, query), WHOLE_FEED_TITLE))
    return render_opml(rows, LIST_TITLE, now)


def _row_title(name: str) -> str:
    """A row without a title is shown by its address, which has the token in it."""
    return name if xml_safe_text(name).strip() else BLANK_TITLE


def _feed_url(base: str, shape: FeedFormatSpec, query: PersonalQuery, **more: str) -> str:
    asked: dict[str, str | int] = {"token": query.token, **more}
    if query.limit is not None:
        asked["limit"] = query.limit
    return f"{base}{shape.path}?{urlencode(asked, errors='replace')}"
