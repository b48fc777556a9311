"""What a personal feed is made of: readers, their tokens, and items in categories.

Moments are microseconds. The ids of readers and tokens are texts: UUIDs where we made them.
"""

from dataclasses import dataclass, field


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
class Holder:
    """Whom a token that is known opens a feed for, and until when."""

    reader: FeedReader
    token_id: str
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Attached:
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
    enclosures: tuple[Attached, ...] = ()
    tags: tuple[str, ...] = ()
    caller_id: str | None = field(default=None)


@dataclass(frozen=True, slots=True)
class Added:
    """What became of an item: `guid` and `expires_at` are those it has, from whichever time it
    came first."""

    guid: str
    category: str
    expires_at: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class Shelf:
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
