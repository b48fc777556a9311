"""OPML lists of feeds: parse the ones in use, also faulty ones, and render them by the standard."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import format_datetime
from html import unescape

from lxml import etree

from headwater.core.errors import BadInput
from headwater.core.values.safe_xml import hardened_parser
from headwater.feeds.page_charset import codec_of_label, decode_page

MOST_BYTES = 5 * 1024 * 1024
MOST_FOLDERS = 16
"""Folders deeper than this add no category of their own."""

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SPACES = re.compile(r"\s+")
_REFERENCE = re.compile(r"&(#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});|&")
_PROLOG = re.compile(r"\A\s*<\?xml[^>]*\?>", re.DOTALL)
_CHARSET = re.compile(
    rb"\A(?:\xef\xbb\xbf)?\s*<\?xml[^>]{0,400}?encoding\s*=\s*[\"']\s*([A-Za-z0-9._:-]{1,40})"
)
_OUTLINE = re.compile(r"<outline\b", re.IGNORECASE)
_QUOTE = re.compile(r"""(=\s*")|(")(?=\s*(?:[/?]?>|[\w:.-]+\s*=\s*["']|\Z))|\"""")
"""A quote that opens a value, one that closes it, or one that does neither."""
_XML_ENTITIES = frozenset({"amp", "lt", "gt", "quot", "apos"})
_NO_FEED = frozenset({"link", "include"})
"""Types whose `url` leads to a page or to another list."""
_FEED = frozenset({"rss", "atom"})


@dataclass(frozen=True, slots=True)
class OpmlRow:
    """One feed of a list. Categories come from its folders and its own `category` attribute.

    `url` is empty where the list has a feed without an address.
    """

    url: str
    title: str | None = None
    home_page: str | None = None
    categories: tuple[str, ...] = ()


def parse_opml(body: bytes, most_bytes: int = MOST_BYTES) -> tuple[OpmlRow, ...]:
    """Each feed once, in the order of the list. A feed in several folders has all of them."""
    if len(body) > most_bytes:
        raise BadInput(f"an OPML list may have {most_bytes} bytes, this has more")
    root = _tree(body)
    if root is None or (_name(root) != "opml" and next(_outlines(root), None) is None):
        raise BadInput("This is no OPML list.", received=body[:200].decode("utf-8", "replace"))
    rows: dict[str, OpmlRow] = {}
    for place, row in enumerate(_rows(root)):
        key = row.url or f" {place}"
        earlier = rows.get(key)
        rows[key] = row if earlier is None else _join(earlier, row)
    return tuple(rows.values())


def render_opml(rows: Iterable[OpmlRow], title: str, now: datetime) -> bytes:
    """OPML 2.0: feeds stand in the folder of their first category."""
    opml = etree.Element("opml", version="2.0")
    head = etree.SubElement(opml, "head")
    etree.SubElement(head, "title").text = _clean(title)
    etree.SubElement(head, "dateCreated").text = format_datetime(now.astimezone(UTC), usegmt=True)
    body = etree.SubElement(opml, "body")
    folders: dict[tuple[str, ...], etree._Element] = {(): body}
    for row in map(_cleaned, rows):
        path = _path(row.categories)
        etree.SubElement(_folder(path, folders), "outline", _attributes(row, path))
    written: bytes = etree.tostring(opml, encoding="utf-8", xml_declaration=True, pretty_print=True)
    return written


# Reading --------------------------------------------------------------------------------------


def _tree(body: bytes) -> etree._Element | None:
    """Parse the list as it is when it is well-formed; otherwise repair its usual mistakes first."""
    declared = _CHARSET.match(body)
    label = declared[1].decode("ascii") if declared else None
    if codec_of_label(label) is None:  # lists in UTF-8 often claim an old charset
        try:
            return etree.fromstring(body, hardened_parser(recover=False))
        except etree.XMLSyntaxError:
            pass
    text = _PROLOG.sub("", decode_page(body, label))
    well_formed = _parse_xml(text, recover=False)
    return _parse_xml(_repair(text), recover=True) if well_formed is None else well_formed


def _parse_xml(text: str, *, recover: bool) -> etree._Element | None:
    try:
        parser = hardened_parser(recover=recover, encoding="utf-8")
        return etree.fromstring(text.encode("utf-8"), parser)
    except etree.XMLSyntaxError:
        return None


def _repair(text: str) -> str:
    first = _OUTLINE.search(text)
    at = first.start() if first else len(text)  # quotes before it may be those of a DOCTYPE
    quoted = text[:at] + _QUOTE.sub(_repair_quote, text[at:])
    return _REFERENCE.sub(_repair_reference, _NOT_XML.sub("", quoted))


def _repair_quote(match: re.Match[str]) -> str:
    """A bare quote in a title would end it, and the address behind it would be lost."""
    opening, closing = match.groups()
    return opening or ('" ' if closing else "&quot;")


def _repair_reference(match: re.Match[str]) -> str:
    """A bare `&` (mostly in URLs) stands for itself. XML does not have HTML's names."""
    name = match[1]
    if name is None:
        return "&amp;"
    if name in _XML_ENTITIES or name.startswith("#"):
        return match[0]
    letters = unescape(match[0])
    if letters == match[0]:
        return f"&amp;{name};"
    return "".join(f"&#{ord(letter)};" for letter in letters)


def _rows(root: etree._Element) -> Iterator[OpmlRow]:
    """Walk without recursion. Each outline gets the names of the folders it stands in."""
    walk: list[tuple[etree._Element, tuple[str, ...]]] = [(root, ())]
    while walk:
        element, folders = walk.pop()
        inside = folders
        if _name(element) == "outline":
            attributes = {str(key).lower(): value for key, value in element.attrib.items()}
            url = _feed_url(attributes)
            if url or _is_feed_without_url(element, attributes):
                yield _row(url, attributes, folders)
            elif len(folders) < MOST_FOLDERS:
                name = _clean(attributes.get("text") or attributes.get("title") or "")
                inside = (*folders, name) if name else folders
        walk.extend((child, inside) for child in reversed(element))


def _row(url: str, attributes: dict[str, str], folders: tuple[str, ...]) -> OpmlRow:
    title = _clean(attributes.get("title") or attributes.get("text") or "")
    own = (name.strip().strip("/") for name in attributes.get("category", "").split(","))
    return OpmlRow(
        url,
        title if title and title != url else None,
        _clean(attributes.get("htmlurl", "")) or None,
        _distinct((*folders, *map(_clean, own))),
    )


def _feed_url(attributes: dict[str, str]) -> str:
    url = attributes.get("xmlurl", "")
    if not url and attributes.get("type", "").lower() not in _NO_FEED:
        url = attributes.get("url", "")
    return _clean(url)


def _is_feed_without_url(element: etree._Element, attributes: dict[str, str]) -> bool:
    """Whether an outline without an address is a feed and no folder."""
    kind = attributes.get("type", "").strip().lower()
    return not len(element) and ("xmlurl" in attributes or kind in _FEED)


def _outlines(root: etree._Element) -> Iterator[etree._Element]:
    return (element for element in root.iter() if _name(element) == "outline")


def _name(element: etree._Element) -> str:
    """The local name in lower case; empty for a node that is no element."""
    tag = element.tag
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


def _join(earlier: OpmlRow, again: OpmlRow) -> OpmlRow:
    return OpmlRow(
        earlier.url,
        earlier.title or again.title,
        earlier.home_page or again.home_page,
        _distinct((*earlier.categories, *again.categories)),
    )


# Writing --------------------------------------------------------------------------------------


def _path(categories: tuple[str, ...]) -> tuple[str, ...]:
    """The folders of a row: its first category, or all categories when one of them cannot stand in
    the `category` attribute. Where that is deeper than we read, the first and those that cannot."""
    unlistable = [name for name in categories[1:] if "," in name or name != name.strip("/ ")]
    if unlistable and len(categories) <= MOST_FOLDERS:
        return categories
    return (*categories[:1], *unlistable)


def _folder(
    path: tuple[str, ...], folders: dict[tuple[str, ...], etree._Element]
) -> etree._Element:
    for depth in range(1, len(path) + 1):
        outer = path[:depth]
        if outer not in folders:
            folders[outer] = etree.SubElement(folders[outer[:-1]], "outline", text=outer[-1])
    return folders[path]


def _attributes(row: OpmlRow, path: tuple[str, ...]) -> dict[str, str]:
    title = row.title or row.url
    attributes = {"type": "rss", "text": title, "title": title, "xmlUrl": row.url}
    if row.home_page:
        attributes["htmlUrl"] = row.home_page
    if names := [name for name in row.categories if name not in path]:
        attributes["category"] = ",".join(names)
    return attributes


def _cleaned(row: OpmlRow) -> OpmlRow:
    return replace(
        row,
        url=_clean(row.url),
        title=_clean(row.title or "") or None,
        home_page=_clean(row.home_page or "") or None,
        categories=_distinct(map(_clean, row.categories)),
    )


def _clean(text: str) -> str:
    """The text on one line, without characters that XML cannot hold."""
    return _SPACES.sub(" ", _NOT_XML.sub("", text)).strip()


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name))
