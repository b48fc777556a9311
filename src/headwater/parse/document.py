"""The parsed document: one shape for feeds of all formats."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Text:
    """A text with its kind: `text`, `html` or `xhtml` (an inner fragment, never sanitised)."""

    value: str
    type: str = "text"


@dataclass(frozen=True, slots=True)
class Content(Text):
    """A body. Its `type` may also be a media type (`image/svg+xml`) where Atom allows one."""

    src: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A resolved link. `rel` is `alternate` when the publisher named none."""

    href: str
    rel: str = "alternate"
    type: str | None = None
    title: str | None = None
    length: int | None = None
    hreflang: str | None = None


@dataclass(frozen=True, slots=True)
class Person:
    name: str | None = None
    email: str | None = None
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class Category:
    term: str
    scheme: str | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Enclosure:
    """An attached file. `duration` is in seconds; `url` is http, https or magnet."""

    url: str
    type: str | None = None
    length: int | None = None
    duration: int | None = None
    title: str | None = None
    medium: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """The feed an entry was taken from."""

    title: str | None = None
    link: str | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Cloud:
    """RSS's `cloud` element: where to register for notifications."""

    domain: str
    port: int | None = None
    path: str | None = None
    register_procedure: str | None = None
    protocol: str | None = None


class Fragment(NamedTuple):
    """The place of an entry's own XML, in bytes of the body that `parse` got.

    That body is the document after content decoding (gzip, br, …) and *before* charset
    decoding, so `body[offset:offset + length]` is the slice in the document's own charset.
    """

    offset: int
    length: int


class Problem(NamedTuple):
    """A repair, cut or refusal: a stable code and a sentence for people."""

    code: str
    detail: str


Extensions = Mapping[str, Mapping[str, tuple[str, ...]]]
"""`{namespace URI: {name: values}}`; an element's attributes are named `element@attribute`."""


@dataclass(frozen=True, slots=True)
class Feed:
    """The document's facts about itself. Times are aware UTC."""

    title: Text | None = None
    subtitle: Text | None = None
    link: str | None = None
    links: tuple[Link, ...] = ()
    id: str | None = None
    language: str | None = None
    generator: str | None = None
    rights: str | None = None
    published: datetime | None = None
    updated: datetime | None = None
    authors: tuple[Person, ...] = ()
    contributors: tuple[Person, ...] = ()
    categories: tuple[Category, ...] = ()
    image: str | None = None
    icon: str | None = None
    ttl_minutes: int | None = None
    skip_hours: tuple[int, ...] = ()
    skip_days: tuple[str, ...] = ()
    update_period: str | None = None
    update_frequency: int | None = None
    update_base: datetime | None = None
    cloud: Cloud | None = None
    hub: str | None = None
    self_link: str | None = None
    next_link: str | None = None
    prev_archive: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One post. `uid` identifies it within its feed. `native_id` is the publisher's guid or id."""

    native_id: str | None = None
    id_is_permalink: bool = False
    uid: str = ""
    title: Text | None = None
    summary: Text | None = None
    contents: tuple[Content, ...] = ()
    link: str | None = None
    links: tuple[Link, ...] = ()
    comments: str | None = None
    authors: tuple[Person, ...] = ()
    contributors: tuple[Person, ...] = ()
    categories: tuple[Category, ...] = ()
    enclosures: tuple[Enclosure, ...] = ()
    published: datetime | None = None
    updated: datetime | None = None
    created: datetime | None = None
    expired: datetime | None = None
    raw_dates: Mapping[str, str] = field(default_factory=dict)
    source: Source | None = None
    language: str | None = None
    rights: str | None = None
    thumbnails: tuple[str, ...] = ()
    extensions: Extensions = field(default_factory=dict)
    fragment: Fragment | None = None

    @property
    def content(self) -> Content | None:
        """The best body: the first with markup, else the first with text, else the first."""
        for body in self.contents:
            if body.value and body.type in ("html", "xhtml"):
                return body
        for body in self.contents:
            if body.value:
                return body
        return self.contents[0] if self.contents else None


@dataclass(frozen=True, slots=True)
class Document:
    """A feed as it was served. `format` is `rss`, `atom`, `json`, or else `unknown`."""

    format: str
    version: str
    encoding: str | None
    partial: bool
    problems: tuple[Problem, ...]
    feed: Feed
    entries: tuple[Entry, ...]
