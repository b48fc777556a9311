"""Make items of personal feeds from entries: one for each category of the entry's feed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

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
    """`seq` is the event's number in the log; `at` and `published` are in microseconds."""
    dated = at if published is None else min(published, at)
    seconds = min(max(dated // _SECOND, 0), 2**_DATE_BITS - 1)
    # What comes first in a document is the newest, and has the first event: turned round.
    tail = seconds << _TURN_BITS | (~seq & 2**_TURN_BITS - 1)
    high, low = tail >> 62, tail & (2**62 - 1)
    milliseconds = min(max(at // 1_000, 0), 2**48 - 1)
    number = milliseconds << 80 | _VERSION << 76 | high << 64 | _VARIANT << 62 | low
    plain = f"{number:032x}"
    return "-".join((plain[:8], plain[8:12], plain[12:16], plain[16:20], plain[20:]))


_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class EntryItemPolicy:
    """Items live `days` from the event on. `allowed` are the only categories that there may be;
    empty: any. What an item says may have about `most_bytes`."""

    days: float = 14.0
    allowed: frozenset[str] = frozenset()
    most_bytes: int = 262_144

    def expiry(self, at: int) -> int:
        return at + round(self.days * _DAY)


@dataclass(slots=True)
class _PublishableVersion:
    """What `publish.entry_item` asks of an entry, as a row would have it."""

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
    kept: KeptVersion, origin: FeedOrigin, seq: int, at: int, policy: EntryItemPolicy
) -> list[KeptItem]:
    """One for each category. `seq` and `at` are those of the event that told of it.

    Links to the feed itself are gone: its address may be a key.
    """
    categories = origin.open_to(policy.allowed)
    if not categories:
        return []
    kept = with_own_text(kept)
    item = item_of_entry(_publishable(kept, origin), None)
    guid = entry_guid(seq, at, kept.published)
    return [_kept(item, category, guid, at, caller_id(kept), policy) for category in categories]


def caller_id(kept: KeptVersion) -> str:
    """The same in every version of an entry; no program that publishes can say it."""
    return f"entry:{kept.feed_id}:{kept.uid_key.hex()}"


def _publishable(kept: KeptVersion, origin: FeedOrigin) -> _PublishableVersion:
    return _PublishableVersion(
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
    item: PublishedItem, category: str, guid: str, at: int, named: str, policy: EntryItemPolicy
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
        enclosures=tuple(
            ItemAttachment(each.url, each.type, each.length) for each in item.enclosures
        ),
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
