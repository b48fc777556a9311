"""Microsoft's channel definitions: RSS's ancestor, with addresses and dates in attributes."""

from lxml import etree

from headwater.parse.dates import parsed_date
from headwater.parse.draft import Context, Draft, EntryDraft, FeedDraft
from headwater.parse.links import read_address
from headwater.values.url import resolve

_FEW = 16


def read_channel_attributes(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    given = _attributes(element)
    base = resolve(context.base, given.get("base", ""))
    if base is not None and base.startswith(("http://", "https://")):
        context.base = base
    draft.updated = parsed_date(given.get("lastmod", ""))
    _read_page(draft, given, element, context)


def read_item_attributes(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    given = _attributes(element)
    raw = given.get("lastmod")
    if raw:
        draft.raw_dates["updated"] = raw[: context.limits.date_chars]
        draft.updated = parsed_date(raw)
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
