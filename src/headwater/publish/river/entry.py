"""An entry as an event told of it → an item for each category of its feed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from headwater.merge.told.version import KeptVersion, with_its_words
from headwater.publish.clean import clean_html
from headwater.publish.entries import item_of
from headwater.publish.item import Item
from headwater.publish.river.guid import guid_of
from headwater.values.instant import to_micros
from headwater.values.personal import Attached, KeptItem

_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class RiverPolicy:
    """Items live `days` from the event on. `allowed` are the only categories that there may be;
    empty: any. What an item says may have about `most_bytes`."""

    days: float = 14.0
    allowed: frozenset[str] = frozenset()
    most_bytes: int = 262_144

    def expiry(self, at: int) -> int:
        return at + round(self.days * _DAY)


@dataclass(frozen=True, slots=True)
class Origin:
    """A feed, and the categories that people gave it. Its `url` may be a private one."""

    feed_id: str
    url: str
    title: str | None
    home_link: str | None
    categories: tuple[str, ...]

    def open_to(self, policy: RiverPolicy) -> tuple[str, ...]:
        named = (name for name in self.categories if name and "\x00" not in name)
        return tuple(name for name in named if not policy.allowed or name in policy.allowed)


@dataclass(slots=True)
class _Told:
    """What `publish.entries` asks of an entry, as a row would have it."""

    public_id: str
    entry_uid: str
    canonical_link: str | None
    title: str | None
    summary: str | None
    content: str | None
    authors: str
    categories: str
    enclosures: str
    details: str
    published: int | None
    updated: int | None
    first_seen: int
    feed_title: str | None
    home_link: str | None
    feed_url: str


def items_of(
    kept: KeptVersion, origin: Origin, seq: int, at: int, policy: RiverPolicy
) -> list[KeptItem]:
    """One for each category. `seq` and `at` are those of the event that told of it.

    Links to the feed itself are gone: its address may be a key.
    """
    categories = origin.open_to(policy)
    if not categories:
        return []
    kept = with_its_words(kept)
    item = item_of(_told(kept, origin), None)
    guid = guid_of(seq, at, kept.published)
    return [_kept(item, category, guid, at, caller_id(kept), policy) for category in categories]


def caller_id(kept: KeptVersion) -> str:
    """The same in every version of an entry; no program that publishes can say it."""
    return f"entry:{kept.feed_id}:{kept.uid_key.hex()}"


def _told(kept: KeptVersion, origin: Origin) -> _Told:
    return _Told(
        public_id=kept.feed_id,
        entry_uid=kept.uid,
        canonical_link=kept.link,
        title=kept.title,
        summary=kept.summary,
        content=kept.content,
        authors=kept.authors,
        categories=kept.categories,
        enclosures=kept.enclosures,
        details=kept.details,
        published=kept.published,
        updated=kept.updated,
        first_seen=kept.first_seen,
        feed_title=origin.title,
        home_link=origin.home_link,
        feed_url=origin.url,
    )


def _kept(
    item: Item, category: str, guid: str, at: int, named: str, policy: RiverPolicy
) -> KeptItem:
    names = (person.name or person.email for person in item.authors)
    return KeptItem(
        category=category,
        guid=guid,
        title=item.title,
        description=_bounded(item.summary, policy.most_bytes) or "",
        link=item.link or "",
        pub_date=_shown_date(item.published, at),
        arrived_at=at,
        expires_at=policy.expiry(at),
        changed_at=at,
        content=_bounded(item.content, policy.most_bytes),
        authors=tuple(name for name in names if name),
        enclosures=tuple(Attached(each.url, each.type, each.length) for each in item.enclosures),
        tags=item.categories,
        caller_id=named,
    )


def _shown_date(published: datetime | None, at: int) -> int:
    return at if published is None else min(to_micros(published), at)


def _bounded(html: str | None, most: int) -> str | None:
    """Cut where it is too long, and whole again."""
    if html is None or len(html.encode()) <= most:
        return html
    fitting = html.encode()[:most].decode("utf-8", "ignore")
    return clean_html(fitting, len(fitting))


def ordered_slices(items: Sequence[KeptItem], size: int) -> list[Sequence[KeptItem]]:
    return [items[place : place + size] for place in range(0, len(items), size)]
