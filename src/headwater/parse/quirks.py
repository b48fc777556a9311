"""Quirks of single publishers, each with the place where it was seen and when it may go."""

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
    """mikanani.me writes the date in a torrent block and without a zone: it is China's.

    This may go when the site writes a zone or an RSS pubDate.
    """
    keep_extension(draft, element, context)
    for child in element:
        if isinstance(child.tag, str) and plain_name(child.tag) == "mikan:pubdate":
            raw = text_of(child)
            moment = parse_date(raw)
            if moment is not None and draft.published is None:
                draft.raw_dates["published"] = raw[: context.limits.date_chars]
                draft.published = moment if _has_zone(raw) else moment - MIKAN_ZONE


def _has_zone(raw: str) -> bool:
    clock = raw.partition("T")[2]
    return clock[-1:] in "Zz" or "+" in clock or "-" in clock


_FEW = 16


def read_channel_attributes(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    attributes = _attributes(element)
    base = resolve(context.base, attributes.get("base", ""))
    if base is not None and base.startswith(("http://", "https://")):
        context.base = base
    draft.updated = parse_date(attributes.get("lastmod", ""))
    _read_page(draft, attributes, element, context)


def read_item_attributes(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    attributes = _attributes(element)
    raw = attributes.get("lastmod")
    if raw:
        draft.raw_dates["updated"] = raw[: context.limits.date_chars]
        draft.updated = parse_date(raw)
    _read_page(draft, attributes, element, context)


def _read_page(
    draft: Draft, attributes: dict[str, str], element: etree._Element, context: Context
) -> None:
    href = attributes.get("href")
    if href:
        read_address(draft, href, element, context)


def _attributes(element: etree._Element) -> dict[str, str]:
    """Attributes by their lower-case names: the format is older than XML."""
    names = element.keys()[:_FEW]
    return {str(name).lower(): (element.get(name) or "").strip() for name in names}
