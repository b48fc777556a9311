"""The cache of personal feeds: what a process remembers, and what a change makes worthless.

Nothing here waits or asks: whoever owns a memory tells it what has changed.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headwater.personal_feeds.personal_feed import PersonalFeedRequest
from headwater.personal_feeds.ports import FeedReader, KeptItem, PersonalChanges, TokenHolder
from headwater.publish.document import PublishedItem

MOST_NAMES = 100_000
"""Names of categories and readers that changed; beyond that, everything may have."""

ENTRY_BYTES = 1_024
"""What is remembered of a document beside its bytes, roughly; and for each of its categories:"""
CATEGORY_BYTES = 16


@dataclass(frozen=True, slots=True, eq=False)
class BuiltFeed:
    """A document, ready to be sent. `zipped` is the same as gzip.

    `etag` is weak, as it stands for both. It comes from the document and from whose it is: workers
    agree on it, and that of another reader says nothing. `modified` is in microseconds; from
    `valid_until` on something in it has expired.
    """

    body: bytes
    zipped: bytes
    etag: str
    modified: int
    valid_until: int | None
    media_type: str
    self_url: str


@dataclass(slots=True, eq=False)
class CachedDocument:
    """A remembered document. Nothing that changed up to generation `since` is missing in it, and
    nothing that concerns it changed up to `checked`. It is good until `deadline`."""

    reader: FeedReader
    ask: PersonalFeedRequest
    categories: tuple[str, ...]
    built: BuiltFeed
    deadline: float
    since: int
    checked: int

    @property
    def size(self) -> int:
        kept = len(self.built.body) + len(self.built.zipped)
        return kept + ENTRY_BYTES + CATEGORY_BYTES * len(self.categories)


@dataclass(slots=True, eq=False)
class _ReaderCache:
    """One reader: who opens it, and the documents that are remembered."""

    reader: FeedReader
    hashes: set[bytes]
    documents: dict[PersonalFeedRequest, CachedDocument]


class PersonalFeedCache:
    """`generation` grows with every change. What was read from the store while it was `since` is
    kept only if nothing changed meanwhile that concerns it."""

    def __init__(self, most_bytes: int, most_holders: int) -> None:
        self._most_bytes, self._most_holders = most_bytes, most_holders
        self.generation = 0
        self._all_since = 0
        self._categories: dict[str, int] = {}
        self._readers: dict[str, int] = {}
        self.holders: dict[bytes, TokenHolder] = {}
        self._seats: dict[str, _ReaderCache] = {}
        self._order: OrderedDict[CachedDocument, None] = OrderedDict()
        self.size = 0

    # Holders

    def keep_holder(self, token_hash: bytes, holder: TokenHolder, since: int) -> TokenHolder:
        """The holder as it is remembered; all of one reader's are given the same reader."""
        reader = holder.reader
        if self._readers.get(reader.id, 0) > since or self._all_since > since:
            return holder
        seat = self._seats.get(reader.id)
        if seat is None or seat.reader != reader:
            self._clear(reader.id)
            seat = self._seats[reader.id] = _ReaderCache(reader, set(), {})
        kept = TokenHolder(seat.reader, holder.token_id, holder.until)
        seat.hashes.add(token_hash)
        self.holders[token_hash] = kept
        while len(self.holders) > self._most_holders:
            self.drop_holder(next(iter(self.holders)))
        return kept

    def drop_holder(self, token_hash: bytes) -> None:
        holder = self.holders.pop(token_hash, None)
        if holder is not None and (seat := self._seats.get(holder.reader.id)) is not None:
            seat.hashes.discard(token_hash)
            if not seat.hashes:
                self._clear(holder.reader.id)

    # Documents

    def document(self, reader: FeedReader, ask: PersonalFeedRequest) -> CachedDocument | None:
        """Only for the very reader that is remembered: one of an earlier time sees another feed."""
        seat = self._seats.get(reader.id)
        if seat is None or seat.reader is not reader:
            return None
        entry = seat.documents.get(ask)
        if entry is None:
            return None
        if entry.checked != self.generation and not self._still_good(entry):
            self._drop(entry)
            return None
        self._order.move_to_end(entry)
        return entry

    def keep_document(self, entry: CachedDocument) -> None:
        seat = self._seats.get(entry.reader.id)
        if seat is None or seat.reader is not entry.reader:
            return
        if (old := seat.documents.get(entry.ask)) is not None:
            self._drop(old)
        seat.documents[entry.ask] = entry
        self._order[entry] = None
        self.size += entry.size
        while self.size > self._most_bytes:
            self._drop(next(iter(self._order)))

    def _still_good(self, entry: CachedDocument) -> bool:
        since, changed = entry.since, self._categories
        if self._all_since > since or any(changed.get(c, 0) > since for c in entry.categories):
            return False
        entry.checked = self.generation
        return True

    def _drop(self, entry: CachedDocument) -> None:
        del self._order[entry]
        del self._seats[entry.reader.id].documents[entry.ask]
        self.size -= entry.size

    # Changes

    def forget(self, changes: PersonalChanges) -> None:
        """What these concern is worthless; documents are looked at when they are asked for."""
        if not (changes.everything or changes.categories or changes.readers):
            return
        self.generation += 1
        too_many = len(self._categories) + len(self._readers) > MOST_NAMES
        if changes.everything or too_many:
            self._forget_everything()
            return
        self._categories.update(dict.fromkeys(changes.categories, self.generation))
        for reader_id in changes.readers:
            self._readers[reader_id] = self.generation
            self._clear(reader_id)

    def _forget_everything(self) -> None:
        self._all_since = self.generation
        for known in (self._categories, self._readers, self.holders, self._seats, self._order):
            known.clear()
        self.size = 0

    def _clear(self, reader_id: str) -> None:
        seat = self._seats.get(reader_id)
        if seat is None:
            return
        for entry in list(seat.documents.values()):
            self._drop(entry)
        for token_hash in seat.hashes:
            self.holders.pop(token_hash, None)
        del self._seats[reader_id]


ITEM_BYTES = 2_048
"""What is remembered of an item beside its words, roughly."""


class CleanItemCache:
    """By the item itself with all its words: other words are another item."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._items: OrderedDict[KeptItem, PublishedItem] = OrderedDict()
        self.size = 0

    def known(self, wanted: Iterable[KeptItem]) -> dict[KeptItem, PublishedItem]:
        """Those of them that are remembered."""
        found: dict[KeptItem, PublishedItem] = {}
        for kept in wanted:
            if (item := self._items.get(kept)) is not None:
                self._items.move_to_end(kept)
                found[kept] = item
        return found

    def keep(self, cleaned: Mapping[KeptItem, PublishedItem]) -> None:
        """What was asked for longest ago goes when there are too many."""
        for kept, item in cleaned.items():
            if kept not in self._items:
                self._items[kept] = item
                self.size += _size(kept)
        while self.size > self._most_bytes:
            self.size -= _size(self._items.popitem(last=False)[0])


def _size(kept: KeptItem) -> int:
    """Both as it was given and clean, which is about as long; a letter may take four bytes."""
    words = len(kept.title) + len(kept.description) + len(kept.link) + len(kept.content or "")
    return ITEM_BYTES + 4 * words
