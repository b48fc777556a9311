"""The sink that decides on releases: it is there while something is tracked."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from headwater.anime.decide.decision_rows import forget_caught_up
from headwater.anime.decide.policy import ReleasePolicy
from headwater.anime.decide.record_decisions import record_decisions_on_entries
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

_FILTER = EventFilter(types=("new_entry", "updated_entry"), tracked=True)


async def ensure_release_sink(tx: Transaction, services: ReleaseServices) -> bool:
    """Make sure that the sink is there and runs. True when it had to be made: a new one gets events
    from now on, and trackings decide on kept entries by catching up."""
    while True:
        there = await sink_rows.list_sinks(tx)
        own = next((sink for sink in there if sink.kind == RELEASES), None)
        if own is None:
            definition = SinkDefinition(free_name(RELEASES, there), RELEASES, wanted=_FILTER)
            config = services.sinks.kinds.checked(SinkConfig(definition.name, RELEASES, {}, {}))
            try:
                sink = await insert_new_sink(
                    tx, services.sinks, definition, config, most=0, origin="settings"
                )
            except SinkNameTaken:  # by another process, which is done by now: its sink can be seen
                continue
            logger.info("sink_made", sink=sink.name, kind=RELEASES, cursor=sink.cursor)
            return True
        if not own.runs or own.wanted != _FILTER:
            patch = SinkPatch(enabled=True, wanted=_FILTER)
            await sink_rows.update_sink(tx, own.id, patch, tx.now)
            logger.info("sink_changed", sink=own.name, kind=RELEASES)
        return False


async def sync_release_sink(services: ReleaseServices) -> None:
    """As `ensure_release_sink` while something is tracked; without a tracking there is none."""
    async with services.database.read() as view:
        tracked = await has_trackings(view)
        own = [sink for sink in await sink_rows.list_sinks(view) if sink.kind == RELEASES]
    if tracked == bool(own) and all(sink.runs and sink.wanted == _FILTER for sink in own):
        return
    async with services.database.write() as tx:
        if await has_trackings(tx):
            if await ensure_release_sink(tx, services):
                # Events of the time without a sink were not delivered to it.
                await forget_caught_up(tx)
            return
        for sink in own:
            await sink_rows.delete_sink(tx, sink.id)
            logger.info("sink_removed", sink=sink.name, kind=RELEASES)


_STRETCH = 2_000
"""Events further on in the event log among which the rest of a visit is looked for."""


def release_kind(database: Database, clock: Clock, policy: ReleasePolicy) -> SinkKind:
    async def open_sink(_config: SinkConfig) -> ReleaseDecisionSink:
        return ReleaseDecisionSink(database, clock, policy)

    return SinkKind(
        check=partial(check_no_options, RELEASES), open=open_sink, own_task="decides on releases"
    )


class ReleaseDecisionSink:
    """Deliver events by deciding on their entries. An event that comes twice changes nothing,
    because decisions are known by their entries."""

    def __init__(self, database: Database, clock: Clock, policy: ReleasePolicy) -> None:
        self._database, self._clock, self._policy = database, clock, policy

    async def deliver(self, events: Sequence[WireEvent], *, replay: int) -> DeliveryResult:
        entries = [_entry_of(event) for event in events]
        unreadable: dict[str, frozenset[str]] = {}
        try:
            for feed_id in dict.fromkeys(entry.feed_id for entry in entries if entry is not None):
                uids = [entry.uid for entry in entries if entry and entry.feed_id == feed_id]
                unreadable[feed_id] = await self._record_decisions(feed_id, uids, events[-1].seq)
        except DatabaseError as trouble:
            return DeliveryResult(0, trouble.code, trouble.message)
        for position, entry in enumerate(entries):
            if entry is not None and entry.uid in unreadable[entry.feed_id]:
                return DeliveryResult(
                    position, "bad_entry", "The entry cannot be read.", about="event"
                )
        return DeliveryResult(len(events))

    async def close(self) -> None:
        """Nothing to close: the database belongs to the process."""

    async def _record_decisions(
        self, feed_id: str, uids: Sequence[str], seq: int
    ) -> frozenset[str]:
        """Decide on these entries together with the rest of their visit: among several for one
        episode the best is chosen, not the first that was delivered. Returns unreadable uids."""
        async with self._database.read() as view:
            further = await list_entry_uids_in_log(view, feed_id, seq, _STRETCH)
        decided = await record_decisions_on_entries(
            self._database, self._clock, self._policy, feed_id, [*uids, *further]
        )
        return decided.unreadable


class _EntryOfEvent(NamedTuple):
    feed_id: str
    uid: str


def _entry_of(event: WireEvent) -> _EntryOfEvent | None:
    """None for an event that is about no entry, or about no feed."""
    uid = event.payload.get("entry_uid")
    if event.type not in ("new_entry", "updated_entry") or not isinstance(uid, str):
        return None
    return None if event.feed_id is None else _EntryOfEvent(event.feed_id, uid)
