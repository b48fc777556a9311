"""The sink of our own that fills personal feeds: made at every start."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import NamedTuple

from headwater.core.errors import DatabaseError
from headwater.core.ports import Clock, Database, Transaction
from headwater.core.telemetry.log import get_logger
from headwater.core.values.instant import to_micros
from headwater.events.event_filter import EventFilter
from headwater.events.event_json import WireEvent
from headwater.feeds.entries.entry_version import (
    KeptVersion,
    VersionKey,
    version_key_of,
)
from headwater.feeds.entries.entry_version_rows import find_versions
from headwater.personal_feeds.items_from_entries import (
    EntryItemPolicy,
    items_of_entry,
    ordered_slices,
)
from headwater.personal_feeds.metrics import count_published_items
from headwater.personal_feeds.ports import KeptItem, PersonalStore
from headwater.personal_feeds.services import PersonalServices
from headwater.personal_feeds.source import FeedOrigin
from headwater.personal_feeds.source_rows import list_feed_origins
from headwater.sinks import sink_rows
from headwater.sinks.ports import DeliveryResult, SinkConfig
from headwater.sinks.sink import SinkDefinition, SinkPatch, StartPosition
from headwater.sinks.sink_commands import SinkNameTaken, free_name, insert_new_sink
from headwater.sinks.sink_kind import SinkKind, check_no_options

logger = get_logger("sinks")

PERSONAL = "personal"
"""The kind of the one sink that fills personal feeds."""

_OWN_WANTED = EventFilter(types=("new_entry", "updated_entry"), categorised=True)


async def ensure_personal_sink(services: PersonalServices, *, days: float) -> None:
    """The engine's own sink is there and runs. A new one is told of the last `days`: older entries
    would be in no personal feed."""
    while True:
        try:
            async with services.database.write() as tx:
                await _write_personal_sink(tx, services, timedelta(days=days))
        except SinkNameTaken:
            continue
        return


async def _write_personal_sink(
    tx: Transaction, services: PersonalServices, window: timedelta
) -> None:
    there, now = await sink_rows.list_sinks(tx), tx.now
    own = next((sink for sink in there if sink.kind == PERSONAL), None)
    if own is None:
        start = StartPosition(moment=to_micros(now - window))
        wish = SinkDefinition(free_name(PERSONAL, there), PERSONAL, wanted=_OWN_WANTED, start=start)
        plan = services.sinks.kinds.checked(SinkConfig(wish.name, PERSONAL, {}, {}))
        made = await insert_new_sink(tx, services.sinks, wish, plan, most=0, origin="settings")
        logger.info("sink_made", sink=made.name, kind=PERSONAL, cursor=made.cursor)
    elif not own.runs or own.wanted != _OWN_WANTED:
        await sink_rows.update_sink(tx, own.id, SinkPatch(enabled=True, wanted=_OWN_WANTED), now)
        logger.info("sink_changed", sink=own.name, kind=PERSONAL)


AT_ONCE = 200
"""Items in one change of the store: visits, which may write to the same database, come first."""


def personal_kind(
    store: PersonalStore, database: Database, clock: Clock, policy: EntryItemPolicy
) -> SinkKind:
    async def open_sink(_config: SinkConfig) -> PersonalFeedSink:
        return PersonalFeedSink(store, database, clock, policy)

    return SinkKind(
        check=partial(check_no_options, PERSONAL), open=open_sink, own_task="fills personal feeds"
    )


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
