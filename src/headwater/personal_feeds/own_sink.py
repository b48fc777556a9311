"""Our own sink that fills personal feeds; it is inserted at a start if it is missing."""

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

_OWN_FILTER = EventFilter(types=("new_entry", "updated_entry"), categorised=True)


async def ensure_personal_sink(services: PersonalServices, *, days: float) -> None:
    """Insert our own sink if it is missing, and enable it. A new one begins `days` ago: older
    entries would be in no personal feed."""
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
    sinks, now = await sink_rows.list_sinks(tx), tx.now
    own = next((sink for sink in sinks if sink.kind == PERSONAL), None)
    if own is None:
        start = StartPosition(moment=to_micros(now - window))
        definition = SinkDefinition(
            free_name(PERSONAL, sinks), PERSONAL, wanted=_OWN_FILTER, start=start
        )
        config = services.sinks.kinds.checked(SinkConfig(definition.name, PERSONAL, {}, {}))
        sink = await insert_new_sink(
            tx, services.sinks, definition, config, most=0, origin="settings"
        )
        logger.info("sink_made", sink=sink.name, kind=PERSONAL, cursor=sink.cursor)
    elif not own.runs or own.wanted != _OWN_FILTER:
        await sink_rows.update_sink(tx, own.id, SinkPatch(enabled=True, wanted=_OWN_FILTER), now)
        logger.info("sink_changed", sink=own.name, kind=PERSONAL)


AT_ONCE = 200
"""Items in one write to the store: visits, which may write to the same database, come first."""


def personal_kind(
    store: PersonalStore, database: Database, clock: Clock, policy: EntryItemPolicy
) -> SinkKind:
    async def open_sink(_config: SinkConfig) -> PersonalFeedSink:
        return PersonalFeedSink(store, database, clock, policy)

    return SinkKind(
        check=partial(check_no_options, PERSONAL), open=open_sink, own_task="fills personal feeds"
    )


class _EventItems(NamedTuple):
    """The items that one event makes: none, some, or the trouble with its entry."""

    items: Sequence[KeptItem] = ()
    is_edit: bool = False
    trouble: str | None = None


class PersonalFeedSink:
    """Writes the items of entries. Each item exists once, by its guid and its name, however often
    its event comes. New entries are written first, then the last edit of each."""

    def __init__(
        self, store: PersonalStore, database: Database, clock: Clock, policy: EntryItemPolicy
    ) -> None:
        self._store, self._database = store, database
        self._clock, self._policy = clock, policy

    async def deliver(self, events: Sequence[WireEvent], *, replay: int) -> DeliveryResult:
        try:
            items = await self._items_of(events)
            bad = next((place for place, each in enumerate(items) if each.trouble), len(items))
            await self._keep(items[:bad])
        except DatabaseError as trouble:
            return DeliveryResult(0, trouble.code, trouble.message)
        if bad == len(events):
            return DeliveryResult(bad)
        return DeliveryResult(bad, "bad_entry", items[bad].trouble or "", about="event")

    async def close(self) -> None:
        """The store stays open: others use it too."""

    async def _items_of(self, events: Sequence[WireEvent]) -> list[_EventItems]:
        keys = self._version_keys(events)
        async with self._database.read() as view:
            feeds = await list_feed_origins(view, {key.feed_id for key in keys.values()})
            versions = await find_versions(
                view, {key for key in keys.values() if key.feed_id in feeds}
            )
        # In a thread: cleaning the texts of strangers may take a while.
        return await asyncio.to_thread(self._make_items, events, keys, feeds, versions)

    def _version_keys(self, events: Sequence[WireEvent]) -> dict[int, VersionKey]:
        """By the event's number, without events whose items would have expired by now."""
        now = to_micros(self._clock.now())
        living = (each for each in events if self._policy.expiry(each.at) > now)
        keys = ((each.seq, version_key_of(each.type, each.payload)) for each in living)
        return {seq: key for seq, key in keys if key is not None}

    def _make_items(
        self,
        events: Sequence[WireEvent],
        keys: Mapping[int, VersionKey],
        feeds: Mapping[str, FeedOrigin],
        versions: Mapping[VersionKey, KeptVersion],
    ) -> list[_EventItems]:
        items = list[_EventItems]()
        for event in events:
            key = keys.get(event.seq)
            if key is None or key not in versions:
                items.append(_EventItems())
            else:
                items.append(self._items_of_one(event, versions[key], feeds[key.feed_id]))
        return items

    def _items_of_one(
        self, event: WireEvent, version: KeptVersion, origin: FeedOrigin
    ) -> _EventItems:
        try:
            items = items_of_entry(version, origin, event.seq, event.at, self._policy)
        except (ValueError, TypeError, KeyError, AttributeError) as trouble:
            # Its rows were damaged by hand or by a disk. Other events must not wait for that.
            return _EventItems(trouble=f"The entry cannot be read: {type(trouble).__name__}.")
        return _EventItems(items, is_edit=event.type == "updated_entry")

    async def _keep(self, of_events: Sequence[_EventItems]) -> None:
        new = [item for each in of_events if not each.is_edit for item in each.items]
        edits = [item for each in of_events if each.is_edit for item in each.items]
        for page in ordered_slices(new, AT_ONCE):
            added = await self._store.add(page)
            count_published_items("feed", sum(each.is_new for each in added))
        for page in ordered_slices(await self._edits_in_all_categories(edits), AT_ONCE):
            await self._store.revise(page)

    async def _edits_in_all_categories(self, edits: Sequence[KeptItem]) -> list[KeptItem]:
        """The last edit of each item, also in categories that its feed had only when it came."""
        edited = {(item.category, item.caller_id): item for item in edits}
        last = {item.caller_id: item for item in edits if item.caller_id is not None}
        for caller_id, categories in (await self._store.places(list(last))).items():
            for category in categories:
                moved = replace(last[caller_id], category=category)
                edited.setdefault((category, caller_id), moved)
        return list(edited.values())
