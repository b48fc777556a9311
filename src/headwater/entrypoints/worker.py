"""The worker: claims due feeds, keeps hosts' turns, runs many visits at once, stops in order."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Iterable

from headwater.engine import Engine
from headwater.entrypoints.housekeeping import keep_house
from headwater.errors import DatabaseError, HeadwaterError, Refused, StorageError
from headwater.fetch.outcome import Throttled
from headwater.logbook import tell
from headwater.ports import Transaction
from headwater.schedule import store as calendar
from headwater.schedule.due import Due
from headwater.schedule.store import SHARDS
from headwater.settings import Settings
from headwater.settle import Settled
from headwater.telemetry.log import logger
from headwater.values.instant import to_micros
from headwater.values.url import shard_of
from headwater.visit import Visits
from headwater.waiting import WaitingRoom

log = logger("worker")

_LOOK_AGAIN_SECONDS = 1.0
"""How long a change made by another process may go unnoticed."""

_WAITING_PER_HOST = 8
"""More claimed feeds of one host than this go back to the calendar, spread over its turns."""

_PAUSE_AFTER_STORAGE_TROUBLE = 60.0
_MICROS = 1_000_000


class Worker:
    """One per process. `run` works until `stop`."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._engine = engine
        self._settings = settings
        self._visits = Visits(engine)
        self._room = WaitingRoom(engine.turns)
        self._running: dict[asyncio.Task[None], Due] = {}
        self._stirred = asyncio.Event()
        self._stopping = False
        self._nothing_due_before = 0
        self._paused_until = 0.0

    async def run(self) -> None:
        await self._begin()
        keepers = [
            asyncio.create_task(self._every(self._settings.lease_seconds / 3, self._show_up)),
            asyncio.create_task(self._every(self._settings.housekeeping_minutes * 60, self._tidy)),
        ]
        try:
            while not self._stopping:
                await self._turn()
        finally:
            for keeper in keepers:
                keeper.cancel()
            await asyncio.gather(*keepers, return_exceptions=True)
            await self._end()

    def stop(self) -> None:
        """Ask it to stop: no new claims, what is in flight may finish within the time given."""
        self._stopping = True
        self._stirred.set()

    async def _begin(self) -> None:
        """What we held when we died is due again, but its hosts may have been asked just now."""
        engine = self._engine
        async with engine.database.write() as tx:
            hosts = await calendar.take_back_own(tx, engine.worker)
        self._be_careful_with(hosts)
        await self._show_up()

    async def _turn(self) -> None:
        """Claim what there is room for, start what may start, then wait for something to happen."""
        self._stirred.clear()
        if self._engine.woken.is_set():
            self._engine.woken.clear()
            self._nothing_due_before = 0
        try:
            await self._claim()
        except DatabaseError as trouble:
            log.error("claim_failed", error=trouble.code, detail=trouble.message)
            self._pause(_LOOK_AGAIN_SECONDS)
        now = self._engine.clock.monotonic()
        for due in self._room.ready(now, self._settings.visits_at_once - len(self._running)):
            task = asyncio.create_task(self._visit(due))
            self._running[task] = due
            task.add_done_callback(self._over)
        await self._something_happens()

    def _over(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task)
        self._stirred.set()
        if not task.cancelled() and (trouble := task.exception()) is not None:
            log.error("visit_crashed", exc_info=trouble)

    async def _claim(self) -> None:
        engine, clock = self._engine, self._engine.clock
        places = self._settings.visits_at_once
        room = 2 * places - len(self._running) - len(self._room)
        now = to_micros(clock.now())
        if (
            room < max(1, places // 2)
            or now < self._nothing_due_before
            or clock.monotonic() < self._paused_until
        ):
            return
        lease_end = now + round(self._settings.lease_seconds * _MICROS)
        async with engine.database.read() as view:
            due_at = await calendar.next_due(view, engine.worker)
        if due_at is None or due_at > now:
            soon = now + round(_LOOK_AGAIN_SECONDS * _MICROS)
            self._nothing_due_before = min(due_at or soon, soon)
            return
        async with engine.database.write() as tx:
            most = min(self._settings.claim_batch, room)
            claimed = await calendar.claim(tx, engine.worker, now, lease_end, most)
        await self._seat(claimed)

    async def _seat(self, claimed: list[Due]) -> None:
        """Into the waiting room; what would wait too long goes back to the calendar."""
        clock, later = self._engine.clock, []
        now, monotonic = to_micros(clock.now()), clock.monotonic()
        spacing = 1.0 / self._settings.host_rps
        turned_away: dict[str, int] = {}
        for due in claimed:
            rest = self._engine.turns.wait_for(due.host, monotonic)
            is_long = rest != float("inf") and rest > self._settings.lease_seconds / 2
            if not is_long and self._room.at(due.host) < _WAITING_PER_HOST:
                self._room.add(due, monotonic)
                continue
            place = turned_away[due.host] = turned_away.get(due.host, 0) + 1
            seconds = (rest if is_long else _WAITING_PER_HOST * spacing) + place * spacing
            later.append((due, now + round(seconds * _MICROS)))
        if later:
            async with self._engine.database.write() as tx:
                await calendar.give_back(tx, later)

    async def _something_happens(self) -> None:
        clock = self._engine.clock
        moment = self._room.next_moment()
        full = len(self._running) >= self._settings.visits_at_once
        wait = _LOOK_AGAIN_SECONDS
        if not full and moment is not None:
            wait = min(wait, max(0.0, moment - clock.monotonic()))
        until_due = (self._nothing_due_before - to_micros(clock.now())) / _MICROS
        wait = min(wait, max(0.0, until_due)) if until_due > 0 else wait
        happenings = {
            asyncio.ensure_future(clock.sleep(wait)),
            asyncio.ensure_future(self._stirred.wait()),
            asyncio.ensure_future(self._engine.woken.wait()),
        }
        try:
            await asyncio.wait(happenings, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in happenings:
                each.cancel()

    async def _visit(self, due: Due) -> None:
        engine, address = self._engine, due.last_address
        try:
            remembered = await self._visits.visit(due)
            if isinstance(remembered, Settled):
                outcome = remembered.finished.outcome
                address = outcome.exchange.answer.address
                if isinstance(outcome, Throttled) and remembered.decision.next is not None:
                    rest = remembered.decision.next - remembered.finished.finished_at
                    engine.turns.rest(due.host, engine.clock.monotonic() + rest.total_seconds())
            if isinstance(remembered, Refused):
                await self._give_back([due], seconds=engine.schedule.max_interval)
            tell(due, remembered)
        except StorageError as trouble:
            log.error("storage_trouble", feed=due.feed_id, detail=trouble.message)
            self._pause(_PAUSE_AFTER_STORAGE_TROUBLE)
            await self._give_back([due], seconds=_PAUSE_AFTER_STORAGE_TROUBLE)
        except HeadwaterError as trouble:
            # Nothing was committed; the lease runs out and the feed is due again.
            log.error("visit_lost", feed=due.feed_id, error=trouble.code, detail=trouble.message)
        finally:
            now = engine.clock.monotonic()
            engine.turns.finish(due.host, now, address)
            self._room.finished(due.host, now)

    async def _show_up(self) -> None:
        """Sign of life, shards renewed and shared fairly, leases of long visits renewed."""
        engine, lease = self._engine, round(self._settings.lease_seconds * _MICROS)
        now = to_micros(engine.clock.now())
        async with engine.database.write() as tx:
            await calendar.show_up(tx, engine.worker, socket.gethostname(), os.getpid(), now)
            others = max(1, await calendar.living_workers(tx, now - lease))
            share = -(-SHARDS // others)
            mine = await calendar.renew_shards(tx, engine.worker, now, now + lease)
            taken = await calendar.take_shards(
                tx, engine.worker, now, now + lease, max(0, share - mine)
            )
            if mine > share:
                busy = sorted({shard_of(due.host) for due in self._held()})
                await calendar.let_go_of_shards(tx, engine.worker, mine - share, busy)
            hosts = await self._hosts_to_be_careful_with(tx, taken, now)
            await calendar.renew(tx, self._held(), now + lease)
        self._be_careful_with(hosts)

    async def _hosts_to_be_careful_with(
        self, tx: Transaction, taken: list[int], now: int
    ) -> list[str]:
        if not taken:
            return []
        since = now - round(60 * _MICROS / self._settings.host_rps)
        return await calendar.recently_asked_hosts(tx, taken, since)

    def _be_careful_with(self, hosts: Iterable[str]) -> None:
        """Somebody (we, before a restart, or a dead worker) may have asked them a moment ago."""
        now = self._engine.clock.monotonic()
        for host in hosts:
            self._engine.turns.seen(host, now)

    def _held(self) -> list[Due]:
        return [*self._running.values(), *self._room.waiting()]

    async def _tidy(self) -> None:
        await keep_house(self._engine, self._settings)

    async def _every(self, seconds: float, action: Callable[[], Awaitable[None]]) -> None:
        while True:
            await self._engine.clock.sleep(seconds)
            try:
                await action()
            except HeadwaterError as trouble:
                log.error("keeper_failed", error=trouble.code, detail=trouble.message)

    def _pause(self, seconds: float) -> None:
        self._paused_until = self._engine.clock.monotonic() + seconds

    async def _give_back(self, held: Iterable[Due], seconds: float = 0.0) -> None:
        when = to_micros(self._engine.clock.now()) + round(seconds * _MICROS)
        async with self._engine.database.write() as tx:
            await calendar.give_back(tx, [(due, when) for due in held])

    async def _end(self) -> None:
        """Finish or release within the time given; leave no shard behind."""
        await self._give_back(self._room.empty())
        if self._running:
            await asyncio.wait(set(self._running), timeout=self._settings.stop_seconds * 0.8)
        unfinished = dict(self._running)
        for task in unfinished:
            task.cancel()
        await asyncio.gather(*unfinished, return_exceptions=True)
        await self._visits.close()
        await self._give_back(unfinished.values())
        async with self._engine.database.write() as tx:
            await calendar.leave(tx, self._engine.worker)
