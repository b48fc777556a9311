"""What a personal feed is made of: readers, their tokens, and items in categories.

Moments are microseconds. The ids of readers and tokens are texts: UUIDs where we made them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FeedReader:
    """Somebody with a feed of their own. `categories` are exact names, each once, as given.

    `changed_at` is when the name or the categories last changed.
    """

    id: str
    name: str
    categories: tuple[str, ...]
    created_at: int
    changed_at: int


@dataclass(frozen=True, slots=True)
class ReaderToken:
    """A token as it is remembered: never its secret. `hint` is how it begins, for people.

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
    """Whom a token that is known opens a feed for, and until when."""

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
    """One thing published in one category, in the words it was given: nothing here is clean yet.

    `guid` is a UUIDv7 made at arrival, and gives the order. `description` and `content` are HTML.
    `caller_id` is what its publisher calls it: nothing comes into a category twice under one.
    `changed_at` is when its words last changed.
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
    """What became of an item: `guid` and `expires_at` are those it has, from whichever time it
    came first."""

    guid: str
    category: str
    expires_at: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class NewestItems:
    """The newest living items of some categories, newest first; each guid once per category.

    How many are asked for counts guids: one that is in two categories counts once and is here
    twice. `changed_at` is the last moment that anything came or changed in one of them, or, when
    the shelf holds fewer guids than were asked for, expired: what expires beyond the end of a full
    shelf changes nothing on it. As far as is still known; 0 when nothing ever did.
    """

    items: tuple[KeptItem, ...]
    changed_at: int


@dataclass(frozen=True, slots=True)
class PersonalChanges:
    """What is not as it was at an earlier `version`. `everything`: too long ago to say."""

    version: int
    categories: frozenset[str] = frozenset()
    readers: frozenset[str] = frozenset()
    everything: bool = False


class PersonalStore(Protocol):
    """Where readers, tokens and items are kept: the database or Redis, the same promises.

    Moments are microseconds. Every change raises one counter, the version. ConnectionLost when
    the place cannot be reached. Nothing in the name of a category or a reader is a pattern.
    """

    storage: str
    """`database` or `redis`."""

    async def readers(self) -> list[FeedReader]:
        """All, by name."""

    async def reader(self, reader_id: str) -> FeedReader | None: ...

    async def reader_named(self, name: str) -> FeedReader | None: ...

    async def add_reader(self, reader: FeedReader, *, most: int) -> FeedReader:
        """Conflict when the name or the id is taken, or when there are `most` already."""

    async def change_reader(
        self, reader_id: str, *, name: str | None, categories: Sequence[str] | None, now: int
    ) -> FeedReader | None:
        """None: as it was. The answer is None when there is no such reader."""

    async def remove_reader(self, reader_id: str, now: int) -> bool:
        """With all tokens."""

    async def add_token(self, token: ReaderToken, token_hash: bytes, *, most: int) -> None:
        """NotFound without the reader; Conflict when `most` open ones exist."""

    async def tokens(self, reader_id: str) -> list[ReaderToken]:
        """Oldest first, ended ones too."""

    async def end_token(self, token_id: str, *, until: int, revoked: bool, now: int) -> bool:
        """Never later than it would have ended anyway. False when there is none."""

    async def holder(self, token_hash: bytes, plain: str, now: int) -> TokenHolder | None:
        """None for a token that is unknown, ended or revoked. `plain` is for a store that may hold
        tokens as another tool wrote them: it is kept nowhere."""

    async def note_used(self, used: Mapping[str, int]) -> None:
        """Token id → moment."""

    async def add(self, items: Sequence[KeptItem]) -> list[AddedItem]:
        """All or none of them. One that is there already (by guid, or by caller_id, in its
        category; earlier in `items` counts) stays as it is. Expired ones are answered as not new,
        and not kept; what has expired is in nobody's way."""

    async def revise(self, items: Sequence[KeptItem]) -> int:
        """The words of those that are there (by guid, or by caller_id, in their category) become
        these; their guid, caller_id, arrival and expiry stay. One that is not there stays out: an
        edit of an old entry is no news. Words that are older by `changed_at`, or the same ones,
        change nothing. How many were there."""

    async def places(self, caller_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """caller_id → the categories that have an item of it; for some of them it may have expired
        since. Those without any are left out."""

    async def newest(self, categories: Sequence[str], limit: int, now: int) -> NewestItems:
        """Of the `limit` newest guids, every item in these categories."""

    async def changes(self, after: int) -> PersonalChanges:
        """-1 for somebody who knows nothing yet: the version, and `everything`. The same for a
        version that is not reached any more, as after a restore."""

    async def upkeep(self, now: int) -> None:
        """What is done every few seconds by one process: expired rows go, what other tools wrote is
        found."""

    async def tokens_with_hashes(self, reader_id: str) -> list[tuple[ReaderToken, bytes]]:
        """For a copy into another store."""

    async def items_after(
        self, after: tuple[str, str] | None, limit: int, now: int
    ) -> list[KeptItem]:
        """For a copy: all living items by category and guid, those after that pair."""

    async def trouble(self) -> str | None:
        """For the doctor: what would lose data, in words."""

    async def close(self) -> None: ...
