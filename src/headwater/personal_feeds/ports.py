"""The ports of personal feeds, and their nouns: readers, their tokens, and items in categories.

Moments are microseconds. Ids of readers and tokens are texts; ours are UUIDs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FeedReader:
    """A person with a feed of their own. `categories` are exact names, each once, in their order.

    `changed_at` is when the name or the categories last changed.
    """

    id: str
    name: str
    categories: tuple[str, ...]
    created_at: int
    changed_at: int


@dataclass(frozen=True, slots=True)
class ReaderToken:
    """A token as it is stored, without its secret. `hint` is its beginning, for people.

    It opens nothing from `until` on, or once it is revoked.
    """

    id: str
    reader_id: str
    hint: str
    created_at: int
    until: int | None = None
    revoked_at: int | None = None
    last_used_at: int | None = None

    def is_open(self, now: int) -> bool:
        return self.revoked_at is None and (self.until is None or now < self.until)


@dataclass(frozen=True, slots=True)
class TokenHolder:
    """The reader for whom a token opens a feed, and until when."""

    reader: FeedReader
    token_id: str
    until: int | None = None


@dataclass(frozen=True, slots=True)
class ItemAttachment:
    """A file that goes with an item; `length` is in bytes."""

    url: str
    type: str | None = None
    length: int | None = None


@dataclass(frozen=True, slots=True)
class KeptItem:
    """One item in one category, with its texts as they came: nothing here is clean yet.

    `guid` is a UUIDv7 made at arrival, and gives the order. `description` and `content` are HTML.
    `caller_id` is its publisher's name for it: a category has only one item of each.
    `changed_at` is when its texts last changed.
    """

    category: str
    guid: str
    title: str
    description: str
    link: str
    pub_date: int
    arrived_at: int
    expires_at: int
    changed_at: int
    content: str | None = None
    authors: tuple[str, ...] = ()
    enclosures: tuple[ItemAttachment, ...] = ()
    tags: tuple[str, ...] = ()
    caller_id: str | None = field(default=None)


@dataclass(frozen=True, slots=True)
class AddedItem:
    """The result of adding an item: `guid` and `expires_at` are those from when it came first."""

    guid: str
    category: str
    expires_at: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class NewestItems:
    """The newest living items of some categories, newest first; each guid once per category.

    The limit counts guids: an item in two categories counts once and is here twice. `changed_at`
    is the last moment when an item came or changed in one of them, or expired, when there are
    fewer guids than the limit: an item that expires beyond the limit changes nothing here. It is
    as far as is still known; 0 when nothing ever happened.
    """

    items: tuple[KeptItem, ...]
    changed_at: int


@dataclass(frozen=True, slots=True)
class PersonalChanges:
    """The changes since an earlier version. `everything`: it is too long ago to know them."""

    version: int
    categories: frozenset[str] = frozenset()
    readers: frozenset[str] = frozenset()
    everything: bool = False


class PersonalStore(Protocol):
    """The store of readers, tokens and items: the database or Redis, with the same promises.

    Moments are microseconds. Every change raises one counter, the version. ConnectionLost when
    the store cannot be reached. Nothing in the name of a category or a reader is a pattern.
    """

    storage: str
    """`database` or `redis`."""

    async def readers(self) -> list[FeedReader]:
        """All readers, by name."""

    async def reader(self, reader_id: str) -> FeedReader | None: ...

    async def reader_named(self, name: str) -> FeedReader | None: ...

    async def add_reader(self, reader: FeedReader, *, most: int) -> FeedReader:
        """Conflict when the name or the id is taken, or when there are `most` already."""

    async def change_reader(
        self, reader_id: str, *, name: str | None, categories: Sequence[str] | None, now: int
    ) -> FeedReader | None:
        """Change the values that are not None. The result is None when there is no such reader."""

    async def remove_reader(self, reader_id: str, now: int) -> bool:
        """Remove a reader with all tokens."""

    async def add_token(self, token: ReaderToken, token_hash: bytes, *, most: int) -> None:
        """NotFound without the reader; Conflict when `most` open ones exist."""

    async def tokens(self, reader_id: str) -> list[ReaderToken]:
        """Oldest first, ended ones too."""

    async def end_token(self, token_id: str, *, until: int, revoked: bool, now: int) -> bool:
        """End a token, never later than it would have ended anyway. False when there is none."""

    async def holder(self, token_hash: bytes, plain: str, now: int) -> TokenHolder | None:
        """None for a token that is unknown, ended or revoked. `plain` is for a store that may have
        tokens as another tool wrote them: it is stored nowhere."""

    async def note_used(self, used: Mapping[str, int]) -> None:
        """Write last uses: token id → moment."""

    async def add(self, items: Sequence[KeptItem]) -> list[AddedItem]:
        """Add all or none of them. One that exists already (by guid, or by caller_id, in its
        category; earlier in `items` counts) stays as it is. An expired one is not stored, and its
        result is not new; an item in the store that has expired counts as not there."""

    async def revise(self, items: Sequence[KeptItem]) -> int:
        """Replace the texts of those that exist (by guid, or by caller_id, in their category);
        guid, caller_id, arrival and expiry stay. One that does not exist is not added: an edit of
        an old entry is not new. Texts that are older by `changed_at`, or the same, change nothing.
        Returns how many exist."""

    async def places(self, caller_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """caller_id → the categories that have an item of it, which may have expired since. Those
        without any are left out."""

    async def newest(self, categories: Sequence[str], limit: int, now: int) -> NewestItems:
        """All items of the `limit` newest guids in these categories."""

    async def changes(self, after: int) -> PersonalChanges:
        """The changes since version `after`. With -1, or a version above the present one (as after
        a restore): the present version, and `everything`."""

    async def upkeep(self, now: int) -> None:
        """Delete expired rows and pick up items of other tools; one process does it every few
        seconds."""

    async def tokens_with_hashes(self, reader_id: str) -> list[tuple[ReaderToken, bytes]]:
        """The tokens for a copy into another store."""

    async def items_after(
        self, after: tuple[str, str] | None, limit: int, now: int
    ) -> list[KeptItem]:
        """For a copy: items that have not expired, by category and guid, those after that pair."""

    async def trouble(self) -> str | None:
        """A danger for the data, in words, for the doctor; None when there is none."""

    async def close(self) -> None: ...
