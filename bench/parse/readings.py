"""What three parsers say of an entry, in one shape that can be compared.

Left aside are white space, the spelling of entities and the rewriting of tags: of HTML the words
and the addresses are compared. feedparser keeps the feed's authors and media:content apart from
an entry's authors and enclosures; they are put together here as `parse` does, and what is said
twice counts once.
"""

import calendar
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from typing import Any

import fastfeedparser
import feedparser
from selectolax.lexbor import LexborHTMLParser

from bench.parse.contenders import without_core
from bench.parse.corpus import ADDRESS, Sample
from headwater.core.values.url import resolve
from headwater.parse import Document, Entry, parse

FIELDS = (
    "title", "link", "id", "published", "updated", "body", "addresses", "author", "tags",
    "enclosures",
)  # fmt: skip
"""`body` is the words of the body, `addresses` the links and pictures in it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One entry. Empty and absent are the same."""

    title: str
    link: str
    id: str
    published: str
    updated: str
    body: str
    addresses: tuple[str, ...]
    author: tuple[str, ...]
    tags: tuple[str, ...]
    enclosures: tuple[str, ...]

    def field(self, name: str) -> str | tuple[str, ...]:
        found: str | tuple[str, ...] = getattr(self, name)
        return found


def read_by_headwater(sample: Sample) -> list[Reading]:
    return [_ours(entry) for entry in _parsed(sample).entries]


def _parsed(sample: Sample) -> Document:
    return parse(sample.body, url=ADDRESS)


def _ours(entry: Entry) -> Reading:
    body = entry.content or entry.summary
    words, addresses = _html(body.value if body is not None else "")
    return Reading(
        title=_html(entry.title.value)[0] if entry.title is not None else "",
        link=_address(entry.link),
        id=entry.native_id or "",
        published=_second(entry.published),
        updated=_second(entry.updated),
        body=words,
        addresses=addresses,
        author=_once(person.name or person.email for person in entry.authors),
        tags=_once(category.term for category in entry.categories),
        enclosures=_once(_address(file.url) for file in entry.enclosures),
    )


def read_by_feedparser(sample: Sample) -> list[Reading]:
    """Its answers without its sanitiser, with relative addresses resolved as by default."""
    found = feedparser.parse(
        sample.body, response_headers={"content-location": ADDRESS}, sanitize_html=False
    )
    of_feed = dict.get(found.feed, "authors")
    return [_theirs(dict(entry), of_feed) for entry in found.entries]


def _theirs(entry: Mapping[str, Any], of_feed: Any) -> Reading:
    contents = entry.get("content")
    words, addresses = _html(contents[0]["value"] if contents else entry.get("summary"))
    authors = [_name(person) for person in entry.get("authors") or ()]
    files = [link.get("href") for link in entry.get("links") or () if _is_file(link)]
    files += [media.get("url") for media in entry.get("media_content") or ()]
    return Reading(
        title=_html(entry.get("title"))[0],
        link=_address(entry.get("link")),
        id=entry.get("id") or "",
        published=_moment(entry.get("published_parsed")),
        updated=_moment(entry.get("updated_parsed")),
        body=words,
        addresses=addresses,
        author=_once(authors if any(authors) else [_name(person) for person in of_feed or ()]),
        tags=_once(tag.get("term") for tag in entry.get("tags") or ()),
        enclosures=_once(_address(file) for file in files),
    )


def read_by_fastfeedparser(sample: Sample) -> list[Reading]:
    """The second opinion; an empty list when it refuses the document."""
    try:
        with without_core():
            found = fastfeedparser.parse(sample.body)
    except ValueError:
        return []
    return [_second_opinion(entry) for entry in found["entries"]]


def _second_opinion(entry: Mapping[str, Any]) -> Reading:
    contents = entry.get("content")
    words, addresses = _html(contents[0]["value"] if contents else entry.get("description"))
    files = [file.get("url") for file in entry.get("enclosures") or ()]
    files += [file.get("url") for file in entry.get("media_content") or ()]
    return Reading(
        title=_html(entry.get("title"))[0],
        link=_address(entry.get("link")),
        id=entry.get("id") or "",
        published=_iso(entry.get("published")),
        updated=_iso(entry.get("updated")),
        body=words,
        addresses=addresses,
        author=_once([entry.get("author")]),
        tags=_once(tag.get("term") for tag in entry.get("tags") or ()),
        enclosures=_once(_address(file) for file in files),
    )


def _is_file(link: Mapping[str, Any]) -> bool:
    return link.get("rel") == "enclosure"


def _name(person: Mapping[str, Any]) -> str | None:
    return person.get("name") or person.get("email")


def _html(value: str | None) -> tuple[str, tuple[str, ...]]:
    """The words of a piece of HTML, run together, and its addresses in order."""
    if not value:
        return "", ()
    tree = LexborHTMLParser(value)
    words = "".join((tree.body.text() if tree.body is not None else "").split())
    addresses = [
        address.strip()
        for node in tree.css("[href], [src]")
        for address in (node.attributes.get("href"), node.attributes.get("src"))
        if address and address.strip()
    ]
    return words, tuple(addresses)


def _address(url: str | None) -> str:
    """One spelling of an absolute address; a relative one stays what it is."""
    return (resolve(None, url.strip()) or url.strip()) if url else ""


def _once(values: Iterable[str | None]) -> tuple[str, ...]:
    cleaned = (" ".join(unescape(value).split()) for value in values if value)
    return tuple(dict.fromkeys(value for value in cleaned if value))


def _second(moment: datetime | None) -> str:
    return moment.replace(microsecond=0).isoformat() if moment is not None else ""


def _moment(found: time.struct_time | None) -> str:
    if found is None:
        return ""
    try:
        return datetime.fromtimestamp(calendar.timegm(found), UTC).isoformat()
    except (ValueError, OverflowError):
        return f"year {found.tm_year}"


def _iso(found: str | None) -> str:
    return _second(datetime.fromisoformat(found).astimezone(UTC)) if found else ""
