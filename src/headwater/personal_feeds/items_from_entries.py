"""Make items of personal feeds from entries: one for each category of the entry's feed."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from headwater.core.errors import BadInput, DatabaseError
from headwater.core.ports import Clock, Database
from headwater.core.telemetry.metrics import count_published_items
from headwater.core.values.instant import to_micros
from headwater.events.event_json import WireEvent
from headwater.feeds.entries.entry_version import (
    KeptVersion,
    VersionKey,
    version_key_of,
    with_own_text,
)
from headwater.feeds.entries.entry_version_rows import find_versions
from headwater.personal_feeds.ports import ItemAttachment, KeptItem, PersonalStore
from headwater.personal_feeds.source import FeedOrigin
from headwater.personal_feeds.source_rows import list_feed_origins
from headwater.publish.clean_html import clean_html
from headwater.publish.document import PublishedItem
from headwater.publish.entry_item import item_of_entry
from headwater.sinks.ports import DeliveryResult, SinkConfig, SinkConnection, SinkKinds
from headwater.sinks.sink import PERSONAL

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


AT_ONCE = 200
"""Items in one change of the store: visits, which may write to the same database, come first."""


class SinkKindsWithPersonal:
    """`SinkKinds`: the engine's own kind of sink, and all others behind it."""

    def __init__(
        self,
        others: SinkKinds,
        *,
        store: PersonalStore,
        database: Database,
        clock: Clock,
        policy: EntryItemPolicy,
    ) -> None:
        self._others, self._store, self._database = others, store, database
        self._clock, self._policy = clock, policy

    def checked(self, plan: SinkConfig) -> SinkConfig:
        if plan.kind != PERSONAL:
            return self._others.checked(plan)
        for name in (*plan.options, *plan.secrets):
            raise BadInput(f"The personal option {name[:100]!r} is unknown.", field=name[:100])
        return plan

    async def open(self, plan: SinkConfig) -> SinkConnection:
        if plan.kind != PERSONAL:
            return await self._others.open(plan)
        return PersonalFeedSink(self._store, self._database, self._clock, self._policy)


class _EventItems(NamedTuple):
    """What one event means for categories: nothing, items, or why nobody can say."""

    items: Sequence[KeptItem] = ()
    is_edit: bool = False
    trouble: str | None = None


class PersonalFeedSink:
    """What was taken before is known by its guid and its name: each item is there once, however
    often its event comes. New entries come first, then what the last edit of each says."""

    def __init__(
        self, store: PersonalStore, database: Database, clock: Clock, policy: EntryItemPolicy
    ) -> None:
        self._store, self._database = store, database
        self._clock, self._policy = clock, policy

    async def deliver(self, parcels: Sequence[WireEvent], *, replay: int) -> DeliveryResult:
        try:
            told = await self._told(parcels)
            bad = next((place for place, each in enumerate(told) if each.trouble), len(told))
            await self._keep(told[:bad])
        except DatabaseError as trouble:
            return DeliveryResult(0, trouble.code, trouble.message)
        if bad == len(parcels):
            return DeliveryResult(bad)
        return DeliveryResult(bad, "bad_entry", told[bad].trouble or "", about="event")

    async def close(self) -> None:
        """The store belongs to the engine."""

    async def _told(self, parcels: Sequence[WireEvent]) -> list[_EventItems]:
        wanted = self._wanted(parcels)
        async with self._database.read() as view:
            feeds = await list_feed_origins(view, {each.feed_id for each in wanted.values()})
            asked = {each for each in wanted.values() if each.feed_id in feeds}
            kept = await find_versions(view, asked)
        return await asyncio.to_thread(self._made, parcels, wanted, feeds, kept)

    def _wanted(self, parcels: Sequence[WireEvent]) -> dict[int, VersionKey]:
        """By the event's number; what would have expired by now is nothing."""
        now = to_micros(self._clock.now())
        living = (each for each in parcels if self._policy.expiry(each.at) > now)
        found = ((each.seq, version_key_of(each.type, each.payload)) for each in living)
        return {seq: version for seq, version in found if version is not None}

    def _made(
        self,
        parcels: Sequence[WireEvent],
        wanted: Mapping[int, VersionKey],
        feeds: Mapping[str, FeedOrigin],
        kept: Mapping[VersionKey, KeptVersion],
    ) -> list[_EventItems]:
        """In a thread: what strangers wrote is made safe here, which may take a while."""
        told = list[_EventItems]()
        for parcel in parcels:
            version = wanted.get(parcel.seq)
            if version is None or version not in kept:
                told.append(_EventItems())
            else:
                told.append(self._one(parcel, kept[version], feeds[version.feed_id]))
        return told

    def _one(self, parcel: WireEvent, kept: KeptVersion, origin: FeedOrigin) -> _EventItems:
        try:
            items = items_of_entry(kept, origin, parcel.seq, parcel.at, self._policy)
        except (ValueError, TypeError, KeyError, AttributeError) as trouble:
            # Its rows were damaged by a hand, or a disk. Others must not wait for that.
            return _EventItems(trouble=f"The entry cannot be read: {type(trouble).__name__}.")
        return _EventItems(items, is_edit=parcel.type == "updated_entry")

    async def _keep(self, told: Sequence[_EventItems]) -> None:
        new = [item for each in told if not each.is_edit for item in each.items]
        edits = [item for each in told if each.is_edit for item in each.items]
        for some in ordered_slices(new, AT_ONCE):
            added = await self._store.add(some)
            count_published_items("feed", sum(each.is_new for each in added))
        for some in ordered_slices(await self._everywhere(edits), AT_ONCE):
            await self._store.revise(some)

    async def _everywhere(self, edits: Sequence[KeptItem]) -> list[KeptItem]:
        """The last edit of each, also where its item stands because its feed had that category
        when it came."""
        edited = {(item.category, item.caller_id): item for item in edits}
        last = {item.caller_id: item for item in edits if item.caller_id is not None}
        for caller_id, categories in (await self._store.places(list(last))).items():
            for category in categories:
                moved = replace(last[caller_id], category=category)
                edited.setdefault((category, caller_id), moved)
        return list(edited.values())
