"""Walk over the tree of a document once, and fill drafts of its feed and its entries."""

from dataclasses import dataclass
from typing import Any

from lxml import etree

from headwater.parse import accelerator, entry_elements, feed_elements
from headwater.parse.categories import categories_of
from headwater.parse.draft import Context, Dispatch, EntryDraft, EntryHandler, FeedDraft, ignore
from headwater.parse.extensions import keep_extension
from headwater.parse.links import read_about, read_feed_about
from headwater.parse.namespaces import NAMESPACES, plain_name
from headwater.parse.quirks import read_channel_attributes, read_item_attributes

_SPELLINGS = {
    name.lower(): name
    for name in (
        "pubDate lastBuildDate managingEditor expirationDate skipHours skipDays updatePeriod "
        "updateFrequency updateBase generatorAgent alternateEnclosure fullItem"
    ).split()
}
_EXACT = {
    "http://www.w3.org/2005/atom": "http://www.w3.org/2005/Atom",
    "http://www.itunes.com/dtds/podcast-1.0.dtd": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "http://wellformedweb.org/commentapi/": "http://wellformedweb.org/CommentAPI/",
}


def _spelled(by_name: dict[str, Any]) -> dict[str, Any]:
    """Handlers by raw tag for the spellings that nearly all documents use."""
    known: dict[str, Any] = {}
    for name, handler in by_name.items():
        prefix, _, local = name.rpartition(":")
        local = _SPELLINGS.get(local, local)
        if not prefix:
            known[local] = handler
        for uri, short in NAMESPACES.items():
            if short == prefix:
                known[f"{{{_EXACT.get(uri, uri)}}}{local}"] = handler
    return known


_ENTRY_TAGS = _spelled(entry_elements.BY_NAME)
_ENTRY_ATTRIBUTES: dict[str, EntryHandler] = {
    "rdf:rdf": read_about,
    "rdf": read_about,
    "channel": read_item_attributes,
}
"""Readers of the entries' own attributes, by the plain name of the root."""
_CHANNELS = frozenset(_spelled({"channel": None}))
_FEED_TAGS = _spelled(feed_elements.BY_NAME)


@dataclass(slots=True)
class WalkResult:
    """The result of the walk: drafts of the feed and its entries, and the entries' elements."""

    feed: FeedDraft
    entries: list[EntryDraft]
    elements: list[etree._Element]


class Walk:
    """The walk over one document. Readers are looked up by raw tag, once per element."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.feed = FeedDraft()
        self.entries: list[EntryDraft] = []
        self.elements: list[etree._Element] = []
        self._entry_readers = _ENTRY_READERS
        self._feed_readers = _FEED_READERS

    def over(self, root: etree._Element, root_name: str) -> WalkResult:
        """Walk over the whole document. `root_name` is the root's plain name."""
        if root_name == "entry":
            self.elements.append(root)
        elif root_name in ("rss", "rdf:rdf"):
            self._envelope(root)
        else:
            if root_name == "channel":
                read_channel_attributes(self.feed, root, self.context)
            self._feed_level(root)
        self._read_feed_language(root)
        if self.context.base is None and self.feed.link is not None:
            # The relative links of a feed without an address are relative to its page.
            self.context.base = self.feed.link
        self.feed.categories = categories_of(self.context)
        self._read_entries(_ENTRY_ATTRIBUTES.get(root_name))
        return WalkResult(self.feed, self.entries, self.elements)

    def _envelope(self, root: etree._Element) -> None:
        """Walk over rss or RDF: both hold the channel, and in RDF the items stand beside it."""
        for child in root:
            name = plain_name(child.tag) if isinstance(child.tag, str) else "?"
            if name == "channel":
                read_feed_about(self.feed, child, self.context)
                self._feed_level(child)
            elif name in ("item", "entry"):
                self.elements.append(child)
            else:
                reader = self._feed_readers[child.tag]
                if reader not in (structure_item, structure_channel):
                    reader(self.feed, child, self.context)

    def _feed_level(self, element: etree._Element) -> None:
        readers, feed, context = self._feed_readers, self.feed, self.context
        for child in element:
            reader = readers[child.tag]
            if reader is structure_item:
                self.elements.append(child)
            elif reader is structure_channel:
                self._feed_level(child)
            else:
                reader(feed, child, context)

    def _read_feed_language(self, root: etree._Element) -> None:
        if self.feed.language is None and self.context.has_lang:
            channels = (child for child in root if child.tag in _CHANNELS)
            self.feed.language = self.context.language_of(next(channels, root))

    def _read_entries(self, read_attributes: EntryHandler | None) -> None:
        context, authors = self.context, self.feed.authors
        complete, keep = entry_elements.complete_entry, self.entries.append
        has_lang, language = context.has_lang, context.language
        reader = accelerator.in_use.reader(context, self._entry_readers)
        for element in self.elements[: context.limits.items]:
            draft, context.spare = reader.draft(), reader.spare()
            if read_attributes is not None:
                read_attributes(draft, element, context)
            draft.language = context.language_of(element) if has_lang else language
            reader.read(draft, element, draft.language)
            complete(draft, authors, context)
            keep(draft)
        extra = len(self.elements) - len(self.entries)
        if extra > 0:
            context.tally.note("items_cut", f"{extra} entries over {context.limits.items} were cut")


def structure_item(draft: Any, element: etree._Element, context: Context) -> None:
    """A marker of an item or entry. It is never called."""


def structure_channel(draft: Any, element: etree._Element, context: Context) -> None:
    """A marker of an element in a channel that may hold items. It is never called."""


_FEED_AND_STRUCTURE: dict[str, Any] = {
    **feed_elements.BY_NAME,
    "item": structure_item,
    "entry": structure_item,
    "channel": structure_channel,
    "items": structure_channel,
}
_FEED_TAGS.update(_spelled({"item": structure_item, "entry": structure_item}))
_ENTRY_READERS = Dispatch(_ENTRY_TAGS, entry_elements.BY_NAME, keep_extension)
_FEED_READERS = Dispatch(_FEED_TAGS, _FEED_AND_STRUCTURE, ignore)
