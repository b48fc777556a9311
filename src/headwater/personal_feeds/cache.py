"""The cache of personal feeds: documents, holders of tokens and cleaned items.

Nothing here waits or asks the store: the owner of a cache passes in the changes.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headwater.personal_feeds.personal_feed import PersonalFeedRequest
from headwater.personal_feeds.ports import FeedReader, KeptItem, PersonalChanges, TokenHolder
from headwater.publish.document import PublishedItem

MOST_NAMES = 100_000
"""Names of changed categories and readers that are remembered; with more, the cache is cleared."""

ENTRY_BYTES = 1_024
"""The rough size of a cached document beside its body."""
CATEGORY_BYTES = 16
"""The rough size of each category of a cached document."""


@dataclass(frozen=True, slots=True, eq=False)
class BuiltFeed:
    """A document, ready to be sent. `zipped` is its body as gzip.

    `etag` is weak, as it stands for both. It is made from the document and its reader: all workers
    make the same one, and no reader can use that of another. `modified` is in microseconds; from
    `valid_until` on something in the document has expired.
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
    """A document in the cache. It has all changes up to generation `since`, and no later change up
    to generation `checked` concerns it. It is good until `deadline`."""

    reader: FeedReader
    request: PersonalFeedRequest
    categories: tuple[str, ...]
    built: BuiltFeed
    deadline: float
    since: int
    checked: int

    @property
    def size(self) -> int:
        bodies = len(self.built.body) + len(self.built.zipped)
        return bodies + ENTRY_BYTES + CATEGORY_BYTES * len(self.categories)


@dataclass(slots=True, eq=False)
class _ReaderCache:
    """The cache of one reader: the hashes of known tokens, and the documents."""

    reader: FeedReader
    hashes: set[bytes]
    documents: dict[PersonalFeedRequest, CachedDocument]


class PersonalFeedCache:
    """Holders and documents by reader. `generation` grows with every change: a value that was read
    in generation `since` is kept only if no later change concerns it."""

    def __init__(self, most_bytes: int, most_holders: int) -> None:
        self._most_bytes, self._most_holders = most_bytes, most_holders
        self.generation = 0
        self._all_since = 0
        self._categories: dict[str, int] = {}
        self._readers: dict[str, int] = {}
        self.holders: dict[bytes, TokenHolder] = {}
        self._by_reader: dict[str, _ReaderCache] = {}
        self._order: OrderedDict[CachedDocument, None] = OrderedDict()
        self.size = 0

    # Holders

    def keep_holder(self, token_hash: bytes, holder: TokenHolder, since: int) -> TokenHolder:
        """Keep a holder, and return it; all holders of one reader share one reader object."""
        reader = holder.reader
        if self._readers.get(reader.id, 0) > since or self._all_since > since:
            return holder
        cached = self._by_reader.get(reader.id)
        if cached is None or cached.reader != reader:
            self._clear(reader.id)
            cached = self._by_reader[reader.id] = _ReaderCache(reader, set(), {})
        shared = TokenHolder(cached.reader, holder.token_id, holder.until)
        cached.hashes.add(token_hash)
        self.holders[token_hash] = shared
        while len(self.holders) > self._most_holders:
            self.drop_holder(next(iter(self.holders)))
        return shared

    def drop_holder(self, token_hash: bytes) -> None:
        holder = self.holders.pop(token_hash, None)
        if holder is not None and (cached := self._by_reader.get(holder.reader.id)) is not None:
            cached.hashes.discard(token_hash)
            if not cached.hashes:
                self._clear(holder.reader.id)

    # Documents

    def document(self, reader: FeedReader, request: PersonalFeedRequest) -> CachedDocument | None:
        """Only for the reader object in the cache: one from before a change sees another feed."""
        cached = self._by_reader.get(reader.id)
        if cached is None or cached.reader is not reader:
            return None
        entry = cached.documents.get(request)
        if entry is None:
            return None
        if entry.checked != self.generation and not self._still_good(entry):
            self._drop(entry)
            return None
        self._order.move_to_end(entry)
        return entry

    def keep_document(self, entry: CachedDocument) -> None:
        cached = self._by_reader.get(entry.reader.id)
        if cached is None or cached.reader is not entry.reader:
            return
        if (old := cached.documents.get(entry.request)) is not None:
            self._drop(old)
        cached.documents[entry.request] = entry
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
        del self._by_reader[entry.reader.id].documents[entry.request]
        self.size -= entry.size

    # Changes

    def forget(self, changes: PersonalChanges) -> None:
        """Forget all that the changes concern; documents are checked when they are requested."""
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
        for part in (self._categories, self._readers, self.holders, self._by_reader, self._order):
            part.clear()
        self.size = 0

    def _clear(self, reader_id: str) -> None:
        cached = self._by_reader.get(reader_id)
        if cached is None:
            return
        for entry in list(cached.documents.values()):
            self._drop(entry)
        for token_hash in cached.hashes:
            self.holders.pop(token_hash, None)
        del self._by_reader[reader_id]


ITEM_BYTES = 2_048
"""The rough size of a cleaned item beside its texts."""


class CleanItemCache:
    """Cleaned items, by the stored item with all its texts: an edited item is another one."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._items: OrderedDict[KeptItem, PublishedItem] = OrderedDict()
        self.size = 0

    def find(self, items: Iterable[KeptItem]) -> dict[KeptItem, PublishedItem]:
        """The cleaned items of those that are in the cache."""
        cleaned: dict[KeptItem, PublishedItem] = {}
        for kept in items:
            if (item := self._items.get(kept)) is not None:
                self._items.move_to_end(kept)
                cleaned[kept] = item
        return cleaned

    def keep(self, cleaned: Mapping[KeptItem, PublishedItem]) -> None:
        """The item whose last use is longest ago goes when there are too many."""
        for kept, item in cleaned.items():
            if kept not in self._items:
                self._items[kept] = item
                self.size += _size(kept)
        while self.size > self._most_bytes:
            self.size -= _size(self._items.popitem(last=False)[0])


def _size(kept: KeptItem) -> int:
    """The stored and the cleaned item are about as long; a character may take four bytes."""
    characters = len(kept.title) + len(kept.description) + len(kept.link) + len(kept.content or "")
    return ITEM_BYTES + 4 * characters
