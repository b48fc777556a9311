"""fastfeedparser's answer brought to the fields of a `Document`, as its users would do it.

Dates become moments, links absolute, texts typed, people taken apart, enclosures joined. Fields
that fastfeedparser does not keep (extensions, fragments, hints, thumbnails, sources) are left
out, and values are filled into the cheapest classes Python has: both in its favour.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import urljoin

_MARKUP = re.compile(r"<[a-zA-Z/!]|&[a-zA-Z#]+;")
_RELATIVE = re.compile(
    r"""((?:href|src|HREF|SRC)=["'])(?!https?:|mailto:|data:|tel:|javascript:)([^"']+)"""
)
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


class Typed(NamedTuple):
    value: str
    type: str


class Linked(NamedTuple):
    href: str
    rel: str
    type: str | None
    title: str | None


class Named(NamedTuple):
    name: str | None
    email: str | None


class Term(NamedTuple):
    term: str
    scheme: str | None
    label: str | None


class File(NamedTuple):
    url: str
    type: str | None
    length: int | None
    medium: str | None


class Post(NamedTuple):
    native_id: str | None
    uid: str
    title: Typed | None
    summary: Typed | None
    contents: tuple[Typed, ...]
    link: str | None
    links: tuple[Linked, ...]
    comments: str | None
    authors: tuple[Named, ...]
    categories: tuple[Term, ...]
    enclosures: tuple[File, ...]
    published: datetime | None
    updated: datetime | None


class Normalised(NamedTuple):
    title: Typed | None
    subtitle: Typed | None
    link: str | None
    links: tuple[Linked, ...]
    id: str | None
    language: str | None
    updated: datetime | None
    authors: tuple[Named, ...]
    categories: tuple[Term, ...]
    posts: tuple[Post, ...]


Given = Mapping[str, Any]


def normalised(found: Given, base: str) -> Normalised:
    feed = found["feed"]
    authors = _authors(feed)
    return Normalised(
        _typed(feed.get("title"), base),
        _typed(feed.get("subtitle"), base),
        _absolute(feed.get("link"), base),
        _links(feed.get("links"), base),
        feed.get("id"),
        feed.get("language"),
        _raw_moment(feed.get("updated")),
        authors,
        _terms(feed.get("tags")),
        tuple([_post(entry, authors, base) for entry in found["entries"]]),
    )


def _post(entry: Given, of_feed: tuple[Named, ...], base: str) -> Post:
    link = _absolute(entry.get("link"), base)
    native_id, title = entry.get("id"), entry.get("title")
    published = _moment(entry.get("published"))
    return Post(
        native_id,
        native_id or _uid(link, title, published),
        _typed(title, base),
        _typed(entry.get("description"), base),
        tuple([_body(one, base) for one in entry.get("content") or () if one.get("value")]),
        link,
        _links(entry.get("links"), base),
        _absolute(entry.get("comments"), base),
        _authors(entry) or of_feed,
        _terms(entry.get("tags")),
        _files(entry, base),
        published,
        _moment(entry.get("updated")),
    )


def _uid(link: str | None, title: str | None, published: datetime | None) -> str:
    return sha256(f"{link}\n{title}\n{published}".encode()).hexdigest()


def _typed(value: str | None, base: str) -> Typed | None:
    if not value:
        return None
    if _MARKUP.search(value) is None:
        return Typed(value, "text")
    return Typed(_with_absolute_links(value, base), "html")


def _body(content: Given, base: str) -> Typed:
    kind = "xhtml" if content.get("type") == "application/xhtml+xml" else "html"
    return Typed(_with_absolute_links(content["value"], base), kind)


def _with_absolute_links(value: str, base: str) -> str:
    return _RELATIVE.sub(lambda match: match[1] + urljoin(base, match[2]), value)


def _absolute(url: str | None, base: str) -> str | None:
    if not url:
        return None
    if not url.startswith(("http://", "https://")):
        url = urljoin(base, url)
    return url if url.startswith(("http://", "https://")) else None


def _links(found: Iterable[Given] | None, base: str) -> tuple[Linked, ...]:
    links = []
    for one in found or ():
        href = _absolute(one.get("href"), base)
        if href is not None:
            links.append(
                Linked(href, one.get("rel") or "alternate", one.get("type"), one.get("title"))
            )
    return tuple(links)


def _authors(found: Given) -> tuple[Named, ...]:
    text = found.get("author")
    if not text:
        return ()
    match = _EMAIL.search(text) if "@" in text else None
    if match is None:
        return (Named(text, None),)
    name = text.replace(match[0], "").strip(" ()<>")
    return (Named(name or None, match[0]),)


def _terms(found: Iterable[Given] | None) -> tuple[Term, ...]:
    return tuple([Term(one["term"], one.get("scheme"), one.get("label")) for one in found or ()])


def _files(entry: Given, base: str) -> tuple[File, ...]:
    files: dict[str, File] = {}
    for one in (*(entry.get("enclosures") or ()), *(entry.get("media_content") or ())):
        url = _absolute(one.get("url"), base)
        if url is not None and url not in files:
            length = one.get("length")
            files[url] = File(
                url, one.get("type"), int(length) if length else None, one.get("medium")
            )
    for link in entry.get("links") or ():
        if link.get("rel") == "enclosure":
            url = _absolute(link.get("href"), base)
            if url is not None and url not in files:
                files[url] = File(url, link.get("type"), None, None)
    return tuple(files.values())


def _raw_moment(found: str | None) -> datetime | None:
    """The feed's own date, which fastfeedparser leaves as it was written."""
    if not found:
        return None
    try:
        if found[:4].isdecimal():
            return datetime.fromisoformat(found).astimezone(UTC)
        return parsedate_to_datetime(found).astimezone(UTC)
    except ValueError:
        return None


def _moment(found: str | None) -> datetime | None:
    return datetime.fromisoformat(found).astimezone(UTC) if found else None
