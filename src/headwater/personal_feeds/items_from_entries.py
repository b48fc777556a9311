"""Make items of personal feeds from entries: one for each category of the entry's feed."""

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.core.values.instant import to_micros
from headwater.feeds.entries.entry_version import KeptVersion, with_own_text
from headwater.personal_feeds.ports import ItemAttachment, KeptItem
from headwater.personal_feeds.source import FeedOrigin
from headwater.publish.clean_html import clean_html
from headwater.publish.document import PublishedItem
from headwater.publish.entry_item import item_of_entry

_SECOND = 1_000_000
_DATE_BITS, _TURN_BITS = 32, 42
_VERSION, _VARIANT = 7, 2


def entry_guid(seq: int, at: int, published: int | None) -> str:
    """A UUIDv7.

    `seq` is the event's number in the log; `at` and `published` are in microseconds.
    """
    dated = at if published is None else min(published, at)
    seconds = min(max(dated // _SECOND, 0), 2**_DATE_BITS - 1)
    # The first entry of a document is its newest, and has the lowest event number: so invert it.
    tail = seconds << _TURN_BITS | (~seq & 2**_TURN_BITS - 1)
    high, low = tail >> 62, tail & (2**62 - 1)
    milliseconds = min(max(at // 1_000, 0), 2**48 - 1)
    number = milliseconds << 80 | _VERSION << 76 | high << 64 | _VARIANT << 62 | low
    plain = f"{number:032x}"
    return "-".join((plain[:8], plain[8:12], plain[12:16], plain[16:20], plain[20:]))


_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class EntryItemPolicy:
    """Rules for items. They live `days` from the event on. `allowed` are the only categories that
    there may be; empty: any. A text of an item has at most about `most_bytes`."""

    days: float = 14.0
    allowed: frozenset[str] = frozenset()
    most_bytes: int = 262_144

    def expiry(self, at: int) -> int:
        return at + round(self.days * _DAY)


@dataclass(slots=True)
class _PublishableVersion:
    """The attributes of an entry that `publish.entry_item` reads, as a row would have them."""

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


def items_of_entry(
    version: KeptVersion, origin: FeedOrigin, seq: int, at: int, policy: EntryItemPolicy
) -> list[KeptItem]:
    """One item for each category. `seq` and `at` are those of the entry's event.

    Links to the feed itself are removed: its address may be a secret.
    """
    categories = origin.open_to(policy.allowed)
    if not categories:
        return []
    version = with_own_text(version)
    item = item_of_entry(_publishable(version, origin), None)
    guid = entry_guid(seq, at, version.published)
    return [
        _item_in_category(item, category, guid, at, caller_id(version), policy)
        for category in categories
    ]


def caller_id(version: KeptVersion) -> str:
    """The same id for every version of an entry; no program that publishes can have such an id."""
    return f"entry:{version.feed_id}:{version.uid_key.hex()}"


def _publishable(version: KeptVersion, origin: FeedOrigin) -> _PublishableVersion:
    return _PublishableVersion(
        public_id=version.feed_id,
        entry_uid=version.uid,
        canonical_link=version.link,
        title=version.title,
        summary=version.summary,
        content=version.content,
        authors=version.authors,
        categories=version.categories,
        enclosures=version.enclosures,
        details=version.details,
        published=version.published,
        updated=version.updated,
        first_seen=version.first_seen,
        feed_title=origin.title,
        home_link=origin.home_link,
        feed_url=origin.url,
    )


def _item_in_category(
    item: PublishedItem, category: str, guid: str, at: int, caller_id: str, policy: EntryItemPolicy
) -> KeptItem:
    names = (person.name or person.email for person in item.authors)
    return KeptItem(
        category=category,
        guid=guid,
        title=item.title,
        description=_bounded(item.summary, policy.most_bytes) or "",
        link=item.link or "",
        pub_date=at if item.published is None else min(to_micros(item.published), at),
        arrived_at=at,
        expires_at=policy.expiry(at),
        changed_at=at,
        content=_bounded(item.content, policy.most_bytes),
        authors=tuple(name for name in names if name),
        enclosures=tuple(
            ItemAttachment(each.url, each.type, each.length) for each in item.enclosures
        ),
        tags=item.categories,
        caller_id=caller_id,
    )


def _bounded(html: str | None, max_bytes: int) -> str | None:
    """Cut a text that is too long, and clean it again: the cut may be inside a tag."""
    if html is None or len(html.encode()) <= max_bytes:
        return html
    fitting = html.encode()[:max_bytes].decode("utf-8", "ignore")
    return clean_html(fitting, len(fitting))


def ordered_slices(items: Sequence[KeptItem], size: int) -> list[Sequence[KeptItem]]:
    return [items[place : place + size] for place in range(0, len(items), size)]
