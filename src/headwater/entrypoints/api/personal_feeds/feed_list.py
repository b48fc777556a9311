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

_FORMATS: dict[str, FeedFormatSpec] = {str(name): format for name, format in FEED_FORMATS.items()}


def feeds_as_opml(query: PersonalQuery, reader: FeedReader, base: str, now: datetime) -> bytes:
    """The feeds in it open with the token of the request: we keep no token that could be shown, and
    the list is for the holder of this one."""
    format = _FORMATS.get(query.format or "rss")
    if format is None:
        raise bad_query_field("format", "enum", f"Input should be one of {', '.join(_FORMATS)}")
    rows = [
        OpmlRow(
            _feed_url(base, format, query, category=name),
            _row_title(name),
            categories=(LIST_TITLE,),
        )
        for name in shown_categories(reader, query.categories)
    ]
    if query.categories is None:
        rows.insert(0, OpmlRow(_feed_url(base, format, query), WHOLE_FEED_TITLE))
    return render_opml(rows, LIST_TITLE, now)


def _row_title(name: str) -> str:
    """Programs show a row without a title by its URL, which has the token in it."""
    return name if xml_safe_text(name).strip() else BLANK_TITLE


def _feed_url(base: str, format: FeedFormatSpec, query: PersonalQuery, **more: str) -> str:
    fields: dict[str, str | int] = {"token": query.token, **more}
    if query.limit is not None:
        fields["limit"] = query.limit
    return f"{base}{format.path}?{urlencode(fields, errors='replace')}"
