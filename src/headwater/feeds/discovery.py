"""Discovery of the feeds that a page links to: only by `link rel=alternate`, never by a guess.

It scans tags and is no HTML parser: building a tree of 200,000 nested elements takes minutes, and
the facts we need are all in `link` and `base` tags.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from headwater.core.values.html_entities import unescaped_attribute
from headwater.core.values.url import canonical, resolve, without_feed_scheme
from headwater.feeds.page_charset import decode_page

FEED_TYPES = frozenset(
    {
        "application/rss+xml",
        "application/atom+xml",
        "application/rdf+xml",
        "application/feed+json",
    }
)
JSON = "application/json"
"""JSON Feed's first label, but also that of many other interfaces: so "feed" must be in the URL or
the title."""

MIB = 1024 * 1024
LONGEST_TAG = 8 * 1024
LONGEST_TITLE = 1024
MOST_TAGS = 2000
MOST_ATTRIBUTES = 64

_OPENING = re.compile(
    r"<(?:!--|(link|base|script|style|title|textarea|template)(?=[\s/>]))", re.IGNORECASE
)
_ATTRIBUTE = re.compile(
    r"""[\s/]*+([^\s/>=]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>]*+)))?""", re.DOTALL
)
_SPACES = re.compile(r"\s+")
_CHARSET = re.compile(r"charset\s*+=\s*+[\"']?+\s*+([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_FIRST_BYTES = 1024
"""Browsers look for a page's declaration of its charset in these bytes."""

Attributes = dict[str, str]


@dataclass(frozen=True, slots=True)
class FeedLink:
    """A feed that a page offers. The URL is absolute and http(s)."""

    url: str
    title: str | None
    type: str


def find_feed_links(
    html: bytes,
    base_url: str,
    content_type: str | None = None,
    *,
    scan_bytes: int = MIB,
    most: int = 20,
) -> tuple[FeedLink, ...]:
    """The feeds in the order of the page, each URL once."""
    base, links = base_url, dict[str, FeedLink]()
    has_base = False
    for name, attributes in islice(_tags(_text(html[:scan_bytes], content_type)), MOST_TAGS):
        if name == "base" and not has_base and "href" in attributes:
            has_base, base = True, _base(attributes["href"], base_url)
        elif name == "link" and (candidate := _feed_link_of(attributes, base)) is not None:
            links.setdefault(candidate.url, candidate)
        if len(links) >= most:
            break
    return tuple(links.values())


def _text(html: bytes, content_type: str | None) -> str:
    """Decode by the charset of the header, else by the one that the page names."""
    start = html[:_FIRST_BYTES].decode("latin-1")
    charset = _CHARSET.search(content_type or "") or _CHARSET.search(start)
    return decode_page(html, charset[1] if charset else None)


def _tags(page: str) -> Iterator[tuple[str, Attributes]]:
    """Each `link` and `base` outside comments and raw text. Every character is passed once."""
    at = 0
    while (opening := _OPENING.search(page, at)) is not None:
        name = (opening[1] or "").lower()
        if name in ("link", "base"):
            attributes, at = _attributes(page, opening.end())
            yield name, attributes
            continue
        closing = f"</{name}" if name else "-->"
        at = _after(page, closing, opening.end())


def _after(page: str, closing: str, at: int) -> int:
    """The place behind the closing mark. Raw text that never closes hides the rest of the page."""
    closed = re.compile(re.escape(closing), re.IGNORECASE).search(page, at)
    return len(page) if closed is None else closed.end()


def _attributes(page: str, at: int) -> tuple[Attributes, int]:
    """The first attribute of each name, as in browsers, and the end of the tag."""
    attributes: Attributes = {}
    end = min(len(page), at + LONGEST_TAG)
    for _ in range(MOST_ATTRIBUTES):
        attribute = _ATTRIBUTE.match(page, at, end)
        if attribute is None:
            return attributes, at
        name, *values = attribute.groups()
        value = unescaped_attribute(next((v for v in values if v), ""))
        attributes.setdefault(name.lower(), value)
        at = attribute.end()
    return attributes, end


def _base(href: str, base_url: str) -> str:
    resolved = resolve(base_url, href)
    return resolved if resolved and canonical(resolved) else base_url


def _feed_link_of(attributes: Attributes, base: str) -> FeedLink | None:
    relations = attributes.get("rel", "").lower().split()
    kind = attributes.get("type", "").lower().partition(";")[0].strip()
    href = attributes.get("href", "").strip()
    if "alternate" not in relations or not _is_feed_type(kind, attributes):
        return None
    url = resolve(base, without_feed_scheme(href))
    if url is None or canonical(url) is None:
        return None
    title = _SPACES.sub(" ", attributes.get("title", "")).strip()[:LONGEST_TITLE]
    return FeedLink(url, title or None, kind)


def _is_feed_type(kind: str, attributes: Attributes) -> bool:
    if kind == JSON:
        return "feed" in (attributes.get("href", "") + attributes.get("title", "")).lower()
    return kind in FEED_TYPES
