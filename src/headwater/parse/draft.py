"""Drafts of feeds and entries that the walk fills, and the context of their document."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any

from lxml import etree

from headwater.core.values.url import resolve
from headwater.parse.document import (
    Category,
    Cloud,
    Content,
    Enclosure,
    Entry,
    Fragment,
    Link,
    Person,
    Source,
    Text,
)
from headwater.parse.limits import ParseLimits, ProblemTally
from headwater.parse.namespaces import XML, plain_name
from headwater.parse.relative_links import ALL_ATTRIBUTES, AttributePatterns

CategoryKey = tuple[str, str | None, str | None]
"""Term, scheme and label."""

PersonKey = tuple[str | None, tuple[tuple[str, str], ...]]
"""The base of relative addresses, and the text of each child element by its tag."""

_values_of = attrgetter(*Entry.__slots__)
_LANG = XML + "lang"
_MOST_TAGS = 4_096


class EntryDraft:
    """A draft of an entry, with the slots of Entry. An Entry itself cannot be filled bit by bit."""

    __slots__ = Entry.__slots__

    def __init__(self) -> None:
        self.native_id: str | None = None
        self.id_is_permalink: bool = False
        self.uid: str = ""
        self.title: Text | None = None
        self.summary: Text | None = None
        self.contents: tuple[Content, ...] = ()
        self.link: str | None = None
        self.links: tuple[Link, ...] = ()
        self.comments: str | None = None
        self.authors: tuple[Person, ...] = ()
        self.contributors: tuple[Person, ...] = ()
        self.categories: tuple[Category, ...] = ()
        self.enclosures: tuple[Enclosure, ...] = ()
        self.published: datetime | None = None
        self.updated: datetime | None = None
        self.created: datetime | None = None
        self.expired: datetime | None = None
        self.raw_dates: dict[str, str] = {}
        self.source: Source | None = None
        self.language: str | None = None
        self.rights: str | None = None
        self.thumbnails: tuple[str, ...] = ()
        self.extensions: dict[str, dict[str, tuple[str, ...]]] = {}
        self.fragment: Fragment | None = None


def finished_entries(drafts: Sequence[EntryDraft], uids: Sequence[str]) -> tuple[Entry, ...]:
    for draft, uid in zip(drafts, uids, strict=True):
        draft.uid = uid
    return tuple([Entry(*_values_of(draft)) for draft in drafts])


class FeedDraft:
    """A draft of the feed. A field that the document lacks keeps the class's default."""

    native_id: str | None = None
    title: Text | None = None
    summary: Text | None = None
    link: str | None = None
    links: tuple[Link, ...] = ()
    authors: tuple[Person, ...] = ()
    contributors: tuple[Person, ...] = ()
    categories: tuple[Category, ...] = ()
    published: datetime | None = None
    updated: datetime | None = None
    language: str | None = None
    rights: str | None = None
    generator: str | None = None
    image: str | None = None
    icon: str | None = None
    logo: str | None = None
    thumbnail: str | None = None
    ttl_minutes: int | None = None
    skip_hours: tuple[int, ...] = ()
    skip_days: tuple[str, ...] = ()
    update_period: str | None = None
    update_frequency: int | None = None
    update_base: datetime | None = None
    cloud: Cloud | None = None


Draft = EntryDraft | FeedDraft


Captions = tuple[tuple[tuple[str, str], Text], ...]
"""Captions of files, each with the name of its element."""


class DraftNotes:
    """Notes for the time in which one feed or entry is read."""

    __slots__ = (
        "captions",
        "categories",
        "description",
        "duration",
        "extension_count",
        "link_rank",
        "more_summaries",
        "source_authors",
        "summary_tag",
        "title_rank",
    )

    def __init__(self) -> None:
        self.title_rank = 9
        self.link_rank = 9
        self.summary_tag = ""
        self.description: Text | None = None
        self.more_summaries: tuple[Text, ...] = ()
        self.captions: Captions = ()
        self.source_authors: tuple[Person, ...] = ()
        self.duration: int | None = None
        self.extension_count = 0
        self.categories: dict[CategoryKey, Category] = {}


class Context:
    """The context of a document: its bases and languages, the limits, and the tally of repairs."""

    __slots__ = (
        "base",
        "has_base",
        "has_lang",
        "is_atom",
        "language",
        "lifted",
        "limits",
        "people",
        "relative",
        "short_enough",
        "spare",
        "tally",
        "terms",
        "unwraps_div",
    )

    def __init__(self, base: str | None, limits: ParseLimits, tally: ProblemTally) -> None:
        self.base = base
        self.limits = limits
        # So many characters always fit into the limit in bytes.
        self.short_enough = limits.content_bytes // 4
        self.tally = tally
        self.is_atom = False
        self.unwraps_div = False
        self.spare = DraftNotes()
        # People and categories that this document named before are used again.
        self.people: dict[str | PersonKey, Person | None] = {}
        self.terms: dict[CategoryKey, Category] = {}
        self.has_base = False
        self.has_lang = False
        self.language: str | None = None
        """The language of the whole document, from its header."""
        self.lifted: dict[str, str] = {}
        self.relative: AttributePatterns = ALL_ATTRIBUTES

    def base_of(self, element: etree._Element) -> str | None:
        """The URL that relative references inside an element are resolved against."""
        if not self.has_base:
            return self.base
        declared = element.base
        if declared is None:
            return self.base
        url = resolve(self.base, declared)
        return url if url is not None and url.startswith("http") else self.base

    def language_of(self, element: etree._Element) -> str | None:
        """The nearest `xml:lang`. An empty one means that the language is not known."""
        if not self.has_lang:
            return self.language
        at: etree._Element | None = element
        while at is not None:
            declared = at.get(_LANG)
            if declared is not None:
                return language_tag(declared)
            at = at.getparent()
        return self.language


def language_tag(text: str) -> str | None:
    return text.strip().replace("_", "-")[:64] or None


EntryHandler = Callable[[EntryDraft, etree._Element, Context], None]
FeedHandler = Callable[[FeedDraft, etree._Element, Context], None]


class Dispatch(dict[Any, Any]):
    """Handlers by raw tag. A new tag is looked up by plain name once, and kept within bounds."""

    __slots__ = ("_by_name", "_otherwise")

    def __init__(
        self, known: Mapping[str, Any], by_name: Mapping[str, Any], otherwise: Any
    ) -> None:
        super().__init__(known)
        self._by_name = by_name
        self._otherwise = otherwise

    def __missing__(self, tag: Any) -> Any:
        if isinstance(tag, str):
            handler = self._by_name.get(plain_name(tag), self._otherwise)
        else:  # an entity reference that nobody declared
            handler = ignore
        if len(self) < _MOST_TAGS:
            self[tag] = handler
        return handler


def ignore(draft: Any, element: etree._Element, context: Context) -> None:
    """The handler of an element that is known and deliberately not read."""
