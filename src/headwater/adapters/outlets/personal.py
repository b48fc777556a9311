"""The engine's own sink: entries of feeds with categories become items of personal feeds."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from headwater.announce.sinks.wish import PERSONAL
from headwater.errors import BadInput, DatabaseError
from headwater.merge.told.queries import versions
from headwater.merge.told.version import KeptVersion, Version, version_of
from headwater.ports import (
    Clock,
    Database,
    Outlet,
    OutletPlan,
    Outlets,
    Parcel,
    PersonalStore,
    Receipt,
)
from headwater.publish.river.entry import Origin, RiverPolicy, items_of, ordered_slices
from headwater.publish.river.queries import origins
from headwater.telemetry.metrics import items_published
from headwater.values.instant import to_micros
from headwater.values.personal import KeptItem

AT_ONCE = 200
"""Items in one change of the store: visits, which may write to the same database, come first."""


class WithPersonal:
    """The Outlets port: the engine's own kind of sink, and all others behind it."""

    def __init__(
        self,
        others: Outlets,
        *,
        store: PersonalStore,
        database: Database,
        clock: Clock,
        policy: RiverPolicy,
    ) -> None:
        self._others, self._store, self._database = others, store, database
        self._clock, self._policy = clock, policy

    def checked(self, plan: OutletPlan) -> OutletPlan:
        if plan.kind != PERSONAL:
            return self._others.checked(plan)
        for name in (*plan.options, *plan.secrets):
            raise BadInput(f"The personal option {name[:100]!r} is unknown.", field=name[:100])
        return plan

    async def open(self, plan: OutletPlan) -> Outlet:
        if plan.kind != PERSONAL:
            return await self._others.open(plan)
        return PersonalOutlet(self._store, self._database, self._clock, self._policy)


class _Told(NamedTuple):
    """What one event means for categories: nothing, items, or why nobody can say."""

    items: Sequence[KeptItem] = ()
    is_edit: bool = False
    trouble: str | None = None


class PersonalOutlet:
    """What was taken before is known by its guid and its name: each item is there once, however
    often its event comes. New entries come first, then what the last edit of each says."""

    def __init__(
        self, store: PersonalStore, database: Database, clock: Clock, policy: RiverPolicy
    ) -> None:
        self._store, self._database = store, database
        self._clock, self._policy = clock, policy

    async def deliver(self, parcels: Sequence[Parcel], *, replay: int) -> Receipt:
        try:
            told = await self._told(parcels)
            bad = next((place for place, each in enumerate(told) if each.trouble), len(told))
            await self._keep(told[:bad])
        except DatabaseError as trouble:
            return Receipt(0, trouble.code, trouble.message)
        if bad == len(parcels):
            return Receipt(bad)
        return Receipt(bad, "bad_entry", told[bad].trouble or "", about="event")

    async def close(self) -> None:
        """The store belongs to the engine."""

    async def _told(self, parcels: Sequence[Parcel]) -> list[_Told]:
        wanted = self._wanted(parcels)
        async with self._database.read() as view:
            feeds = await origins(view, {each.feed_id for each in wanted.values()})
            asked = {each for each in wanted.values() if each.feed_id in feeds}
            kept = await versions(view, asked)
        return await asyncio.to_thread(self._made, parcels, wanted, feeds, kept)

    def _wanted(self, parcels: Sequence[Parcel]) -> dict[int, Version]:
        """By the event's number; what would have expired by now is nothing."""
        now = to_micros(self._clock.now())
        living = (each for each in parcels if self._policy.expiry(each.at) > now)
        found = ((each.seq, version_of(each.type, each.payload)) for each in living)
        return {seq: version for seq, version in found if version is not None}

    def _made(
        self,
        parcels: Sequence[Parcel],
        wanted: Mapping[int, Version],
        feeds: Mapping[str, Origin],
        kept: Mapping[Version, KeptVersion],
    ) -> list[_Told]:
        """In a thread: what strangers wrote is made safe here, which may take a while."""
        told = list[_Told]()
        for parcel in parcels:
            version = wanted.get(parcel.seq)
            if version is None or version not in kept:
                told.append(_Told())
            else:
                told.append(self._one(parcel, kept[version], feeds[version.feed_id]))
        return told

    def _one(self, parcel: Parcel, kept: KeptVersion, origin: Origin) -> _Told:
        try:
            items = items_of(kept, origin, parcel.seq, parcel.at, self._policy)
        except (ValueError, TypeError, KeyError, AttributeError) as trouble:
            # Its rows were damaged by a hand, or a disk. Others must not wait for that.
            return _Told(trouble=f"The entry cannot be read: {type(trouble).__name__}.")
        return _Told(items, is_edit=parcel.type == "updated_entry")

    async def _keep(self, told: Sequence[_Told]) -> None:
        new = [item for each in told if not each.is_edit for item in each.items]
        edits = [item for each in told if each.is_edit for item in each.items]
        for some in ordered_slices(new, AT_ONCE):
            added = await self._store.add(some)
            items_published("feed", sum(each.is_new for each in added))
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
