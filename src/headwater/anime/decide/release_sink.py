"""The sink that decides on releases: it is there while something is tracked."""

from collections.abc import Sequence
from functools import partial

from headwater.anime.decide.decision_rows import forget_caught_up
from headwater.anime.decide.policy import ReleasePolicy
from headwater.anime.decide.record_decisions import decide_entries
from headwater.anime.services import ReleaseServices
from headwater.anime.shows.tracking_rows import has_trackings
from headwater.anime.torrents.entry_rows import list_entry_uids_in_log
from headwater.core.errors import DatabaseError
from headwater.core.ports import Clock, Database, Transaction
from headwater.core.telemetry.log import get_logger
from headwater.events.event_filter import EventFilter
from headwater.events.event_json import WireEvent
from headwater.sinks import sink_rows
from headwater.sinks.ports import DeliveryResult, SinkConfig
from headwater.sinks.sink import SinkDefinition, SinkPatch
from headwater.sinks.sink_commands import SinkNameTaken, free_name, insert_new_sink
from headwater.sinks.sink_kind import SinkKind, check_no_options

logger = get_logger("sinks")

RELEASES = "releases"
"""The kind of the one sink that decides on releases."""

_WANTED = EventFilter(types=("new_entry", "updated_entry"), tracked=True)


async def ensure_release_sink(tx: Transaction, services: ReleaseServices) -> bool:
    """It is there and runs: whether it had to be made. A new one is told what comes from now on;
    what is kept already is looked at by catching up."""
    while True:
        there = await sink_rows.list_sinks(tx)
        own = next((sink for sink in there if sink.kind == RELEASES), None)
        if own is None:
            wish = SinkDefinition(free_name(RELEASES, there), RELEASES, wanted=_WANTED)
            plan = services.sinks.kinds.checked(SinkConfig(wish.name, RELEASES, {}, {}))
            try:
                made = await insert_new_sink(
                    tx, services.sinks, wish, plan, most=0, origin="settings"
                )
            except SinkNameTaken:  # by another process, which is done by now: its sink can be seen
                continue
            logger.info("sink_made", sink=made.name, kind=RELEASES, cursor=made.cursor)
            return True
        if not own.runs or own.wanted != _WANTED:
            patch = SinkPatch(enabled=True, wanted=_WANTED)
            await sink_rows.update_sink(tx, own.id, patch, tx.now)
            logger.info("sink_changed", sink=own.name, kind=RELEASES)
        return False


async def sync_release_sink(services: ReleaseServices) -> None:
    """As `ensure_release_sink` while something is tracked; without a tracking there is none."""
    async with services.database.read() as view:
        tracked = await has_trackings(view)
        own = [sink for sink in await sink_rows.list_sinks(view) if sink.kind == RELEASES]
    if tracked == bool(own) and all(sink.runs and sink.wanted == _WANTED for sink in own):
        return
    async with services.database.write() as tx:
        if await has_trackings(tx):
            if await ensure_release_sink(tx, services):
                # Nobody can say what was told in the meantime.
                await forget_caught_up(tx)
            return
        for sink in own:
            await sink_rows.delete_sink(tx, sink.id)
            logger.info("sink_removed", sink=sink.name, kind=RELEASES)


_STRETCH = 2_000
"""How far ahead in the log the rest of a visit is looked for."""


def release_kind(database: Database, clock: Clock, policy: ReleasePolicy) -> SinkKind:
    async def open_sink(_config: SinkConfig) -> ReleaseDecisionSink:
        return ReleaseDecisionSink(database, clock, policy)

    return SinkKind(
        check=partial(check_no_options, RELEASES), open=open_sink, own_task="decides on releases"
    )


class ReleaseDecisionSink:
    """What was decided before is known by its entry: an event that comes twice changes nothing."""

    def __init__(self, database: Database, clock: Clock, policy: ReleasePolicy) -> None:
        self._database, self._clock, self._policy = database, clock, policy

    async def deliver(self, parcels: Sequence[WireEvent], *, replay: int) -> DeliveryResult:
        told = [_entry_of(parcel) for parcel in parcels]
        unreadable: dict[str, frozenset[str]] = {}
        try:
            for feed_id in dict.fromkeys(feed_id for feed_id, _ in told if feed_id is not None):
                uids = [uid for feed, uid in told if feed == feed_id]
                unreadable[feed_id] = await self._decide(feed_id, uids, parcels[-1].seq)
        except DatabaseError as trouble:
            return DeliveryResult(0, trouble.code, trouble.message)
        for place, (feed, uid) in enumerate(told):
            if feed is not None and uid in unreadable[feed]:
                return DeliveryResult(
                    place, "bad_entry", "The entry cannot be read.", about="event"
                )
        return DeliveryResult(len(parcels))

    async def close(self) -> None:
        """The database belongs to the engine."""

    async def _decide(self, feed_id: str, uids: Sequence[str], seq: int) -> frozenset[str]:
        """With the rest of their visit: among several for one episode the best is chosen, not the
        first that we were told of."""
        async with self._database.read() as view:
            further = await list_entry_uids_in_log(view, feed_id, seq, _STRETCH)
        looked = await decide_entries(
            self._database, self._clock, self._policy, feed_id, [*uids, *further]
        )
        return looked.unreadable


def _entry_of(parcel: WireEvent) -> tuple[str | None, str]:
    """The feed and the entry; no feed for what speaks of none."""
    uid = parcel.payload.get("entry_uid")
    if parcel.type not in ("new_entry", "updated_entry") or not isinstance(uid, str):
        return None, ""
    return parcel.feed_id, uid
