"""The engine's own sink that decides on entries of tracked feeds, each once."""

from collections.abc import Sequence

from headwater.announce.sinks.wish import RELEASES
from headwater.collect.offers.queries import told_after
from headwater.collect.policy import CollectPolicy
from headwater.collecting import decide_entries
from headwater.errors import BadInput, DatabaseError
from headwater.ports import Clock, Database, Outlet, OutletPlan, Outlets, Parcel, Receipt

_STRETCH = 2_000
"""How far ahead in the log the rest of a visit is looked for."""


class WithReleases:
    """The Outlets port: the kind of sink that decides on releases, and all others behind it."""

    def __init__(
        self, others: Outlets, *, database: Database, clock: Clock, policy: CollectPolicy
    ) -> None:
        self._others, self._database = others, database
        self._clock, self._policy = clock, policy

    def checked(self, plan: OutletPlan) -> OutletPlan:
        if plan.kind != RELEASES:
            return self._others.checked(plan)
        for name in (*plan.options, *plan.secrets):
            raise BadInput(f"The releases option {name[:100]!r} is unknown.", field=name[:100])
        return plan

    async def open(self, plan: OutletPlan) -> Outlet:
        if plan.kind != RELEASES:
            return await self._others.open(plan)
        return ReleasesOutlet(self._database, self._clock, self._policy)


class ReleasesOutlet:
    """What was decided before is known by its entry: an event that comes twice changes nothing."""

    def __init__(self, database: Database, clock: Clock, policy: CollectPolicy) -> None:
        self._database, self._clock, self._policy = database, clock, policy

    async def deliver(self, parcels: Sequence[Parcel], *, replay: int) -> Receipt:
        told = [_entry_of(parcel) for parcel in parcels]
        unreadable: dict[str, frozenset[str]] = {}
        try:
            for feed_id in dict.fromkeys(feed_id for feed_id, _ in told if feed_id is not None):
                uids = [uid for feed, uid in told if feed == feed_id]
                unreadable[feed_id] = await self._decide(feed_id, uids, parcels[-1].seq)
        except DatabaseError as trouble:
            return Receipt(0, trouble.code, trouble.message)
        for place, (feed, uid) in enumerate(told):
            if feed is not None and uid in unreadable[feed]:
                return Receipt(place, "bad_entry", "The entry cannot be read.", about="event")
        return Receipt(len(parcels))

    async def close(self) -> None:
        """The database belongs to the engine."""

    async def _decide(self, feed_id: str, uids: Sequence[str], seq: int) -> frozenset[str]:
        """With the rest of their visit: among several for one episode the best is chosen, not the
        first that we were told of."""
        async with self._database.read() as view:
            further = await told_after(view, feed_id, seq, _STRETCH)
        looked = await decide_entries(
            self._database, self._clock, self._policy, feed_id, [*uids, *further]
        )
        return looked.unreadable


def _entry_of(parcel: Parcel) -> tuple[str | None, str]:
    """The feed and the entry; no feed for what speaks of none."""
    uid = parcel.payload.get("entry_uid")
    if parcel.type not in ("new_entry", "updated_entry") or not isinstance(uid, str):
        return None, ""
    return parcel.feed_id, uid
