"""Habits of single publishers, each with where it was seen and when it may go."""

from datetime import timedelta

from lxml import etree

from headwater.core.values.url import resolve
from headwater.parse.dates import parse_date
from headwater.parse.draft import Context, Draft, EntryDraft, FeedDraft
from headwater.parse.extensions import keep_extension
from headwater.parse.links import read_address
from headwater.parse.namespaces import plain_name
from headwater.parse.text import text_of

MIKAN_ZONE = timedelta(hours=8)


def read_mikan_torrent(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """mikanani.me: the date stands in a torrent block and has no zone: it is China's.

    Goes when the site writes a zone or an RSS pubDate.
    """
    keep_extension(draft, element, context)
    for child in element:
        if isinstance(child.tag, str) and plain_name(child.tag) == "mikan:pubdate":
            raw = text_of(child)
            found = parse_date(raw)
            if found is not None and draft.published is None:
                draft.raw_dates["published"] = raw[: context.limits.date_chars]
                draft.published = found if _has_zone(raw) else found - MIKAN_ZONE


def _has_zone(raw: str) -> bool:
    clock = raw.partition("T")[2]
    return clock[-1:] in "Zz" or "+" in clock or "-" in clock


_FEW = 16


def read_channel_attributes(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    given = _attributes(element)
    base = resolve(context.base, given.get("base", ""))
    if base is not None and base.startswith(("http://", "https://")):
        context.base = base
    draft.updated = parse_date(given.get("lastmod", ""))
    _read_page(draft, given, element, context)


def read_item_attributes(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    given = _attributes(element)
    raw = given.get("lastmod")
    if raw:
        draft.raw_dates["updated"] = raw[: context.limits.date_chars]
        draft.updated = parse_date(raw)
    _read_page(draft, given, element, context)


def _read_page(
    draft: Draft, given: dict[str, str], element: etree._Element, context: Context
) -> None:
    href = given.get("href")
    if href:
        read_address(draft, href, element, context)


def _attributes(element: etree._Element) -> dict[str, str]:
    """By their names in small letters: the format is older than XML."""
    names = element.keys()[:_FEW]
    return {str(name).lower(): (element.get(name) or "").strip() for name in names}
