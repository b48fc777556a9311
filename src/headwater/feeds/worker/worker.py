"""The worker: claims due feeds, keeps hosts' turns, runs many visits at once, stops in order."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

from headwater.core.errors import DatabaseError, DatabaseRefused, StorageError, TooSoon
from headwater.core.loop import Loop, LoopLog
from headwater.core.telemetry.log import get_logger
from headwater.core.telemetry.trace import NoTrace, VisitTrace
from headwater.feeds.judge_visit import JudgedVisit
from headwater.feeds.schedule.due import DueFeed
from headwater.feeds.services import FeedServices
from headwater.feeds.visit import record_mishap, visit_feed
from headwater.feeds.visit_report import report_visit
from headwater.feeds.visit_trace import start_visit_trace
from headwater.feeds.worker.claims import Claims
from headwater.feeds.worker.garbage_collector import tune_garbage_collector
from headwater.feeds.worker.host_queues import HostQueues
from headwater.feeds.worker.look_up_hosts import HostLookups
from headwater.feeds.worker.policy import WorkerPolicy
from headwater.web.address_gate import is_numeric

logger = get_logger("worker")

_KEEPER_LOG = LoopLog(logger, waits="keeper_waits", failed="keeper_failed")

_LOOK_AGAIN_SECONDS = 1.0
"""How long a change made by another process may go unnoticed."""

_TAKE_OVER_SECONDS = 4.0
"""How often we look whether another worker has died."""

_WAITING_PER_HOST = 8
"""More claimed feeds of one host than this go back to the calendar, spread over its turns."""

_NO_TURN = "as soon as its host has a turn: others go first, or it asked for a rest"
_NO_TURN_THERE = (
    "as soon as the host that it leads to has a turn: others go first, or it asked for a rest"
)

_PAUSE_WITHOUT_STORAGE = 60.0
_PROBE = "probe/worker"


@dataclass(frozen=True, slots=True)
class Chore:
    """Work of other areas that the worker does every so many seconds."""

    every: float
    action: Callable[[], Awaitable[None]]


class Worker:
    """One per process. `run` works until `stop`."""

    def __init__(
        self, services: FeedServices, policy: WorkerPolicy, chores: Sequence[Chore] = ()
    ) -> None:
        """`chores` are done beside the visits, as long as the worker runs."""
        self._services = services
        self._policy = policy
        self._chores = chores
        self._claims = Claims(services, policy)
        self._room = HostQueues(services.fetcher.turns, patience=policy.lease / 2)
        self._newcomers = HostLookups(services.fetcher, self._let_in)
        self._running: dict[asyncio.Task[None], DueFeed] = {}
        self._homecomings: dict[str, float] = {}
        self._stirred = asyncio.Event()
        self._claiming: asyncio.Task[None] | None = None
        self._stopping = False
        self._idle_until = 0.0
        self._paused_until = 0.0
        self._storage_is_doubtful = False
        self._more_is_due = True  # for all we know

    async def run(self) -> None:
        tune_garbage_collector()
        await self._claims.begin()
        sign = self._policy.lease / 3
        chores = (
            Chore(sign, self._show_up),
            Chore(min(sign, _TAKE_OVER_SECONDS), self._take_over),
            *self._chores,
        )
        keepers = [asyncio.create_task(self._loop_of(chore).run()) for chore in chores]
        try:
            while not self._stopping:
                await self._turn()
        finally:
            await self._end(keepers)

    def stop(self) -> None:
        """Ask it to stop: no new claims, what is in flight may finish within the time given."""
        self._stopping = True
        self._stirred.set()

    async def _turn(self) -> None:
        """Claim what there is room for, start what may start, then wait for something to happen."""
        self._stirred.clear()
        self._claim_what_there_is_room_for()
        self._start_what_may_start()
        try:
            await self._claims.give_back(self._spread(self._room.turned_away()), _NO_TURN)
        except DatabaseError as trouble:
            self._calendar_failed(trouble)
        await self._something_happens()

    def _start_what_may_start(self) -> None:
        self._let_go_of_what_lapsed()
        now = self._services.clock.monotonic()
        for due in self._room.ready(now, self._policy.visits_at_once - len(self._running)):
            task = asyncio.create_task(self._visit(due))
            self._running[task] = due
            task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task)
        self._stirred.set()
        if not task.cancelled() and (trouble := task.exception()) is not None:
            logger.error("visit_crashed", exc_info=trouble)

    def _claim_what_there_is_room_for(self) -> None:
        """Aside: whoever waits already starts meanwhile, as soon as a place is free."""
        if self._claiming is not None:
            if not self._claiming.done():
                return
            over, self._claiming = self._claiming, None
            over.result()  # a mistake of ours ends the worker: nobody else would see it
        if self._services.database.woken("feeds").is_set():
            self._services.database.woken("feeds").clear()
            self._idle_until = 0.0
        now, places = self._services.clock.monotonic(), self._policy.visits_at_once
        room = 2 * places - len(self._running) - len(self._room) - len(self._newcomers)
        if room < max(1, places // 2) or now < max(self._idle_until, self._paused_until):
            return
        self._claiming = asyncio.create_task(self._claim(min(self._policy.claim_batch, room)))
        self._claiming.add_done_callback(lambda _: self._stirred.set())

    async def _claim(self, most: int) -> None:
        try:
            if self._storage_is_doubtful and not await self._can_store():
                return
            if not self._more_is_due and not await self._something_is_due():
                return
            claimed = await self._claims.claim(most)
            self._more_is_due = len(claimed) == most
            await self._seat(claimed)
        except DatabaseError as trouble:
            self._calendar_failed(trouble)

    async def _something_is_due(self) -> bool:
        """Asked first: looking costs nobody the right to write, and mostly there is nothing."""
        now, wait = self._services.clock.monotonic(), await self._claims.seconds_to_next()
        if wait is None or wait > 0:
            self._idle_until = now + min(_LOOK_AGAIN_SECONDS, wait or _LOOK_AGAIN_SECONDS)
            return False
        return True

    def _calendar_failed(self, trouble: DatabaseError) -> None:
        logger.error("calendar_failed", error=trouble.code, detail=trouble.message)
        self._pause(_LOOK_AGAIN_SECONDS)

    async def _can_store(self) -> bool:
        """No fetching while its harvest would be lost: first see whether the store takes bytes."""
        try:
            await self._services.blobs.put_many([(_PROBE, b"room?")])
            await self._services.blobs.delete([_PROBE])
        except StorageError as trouble:
            logger.error("storage_failed", error=trouble.code, detail=trouble.message)
            self._pause(_PAUSE_WITHOUT_STORAGE)
            return False
        self._storage_is_doubtful = False
        return True

    async def _seat(self, claimed: list[DueFeed]) -> None:
        """Into the waiting room; what is too much for one host goes back to the calendar."""
        turns, now = self._services.fetcher.turns, self._services.clock.monotonic()
        too_many = []
        for due in claimed:
            turns.lives_at(due.host, due.last_address)
            if self._room.at(due.host) + self._newcomers.at(due.host) >= _WAITING_PER_HOST:
                too_many.append((due, _WAITING_PER_HOST / self._policy.requests_per_second))
            elif turns.knows(due.host) or is_numeric(due.host):
                self._room.add(due, now)
            else:
                self._newcomers.add(due)
        await self._claims.give_back(self._spread(too_many), _NO_TURN)

    def _let_in(self, feeds: Sequence[DueFeed]) -> None:
        now = self._services.clock.monotonic()
        for due in feeds:
            self._room.add(due, now)
        self._stirred.set()

    def _spread(self, later: list[tuple[DueFeed, float]]) -> list[tuple[DueFeed, float]]:
        """One after the other at each host's own pace, not all at once when its rest ends."""
        place: dict[str, int] = {}
        spread = []
        for due, seconds in later:
            place[due.host] = place.get(due.host, 0) + 1
            spread.append((due, seconds + place[due.host] / self._policy.requests_per_second))
        return spread

    async def _something_happens(self) -> None:
        clock, now = self._services.clock, self._services.clock.monotonic()
        moments = [now + _LOOK_AGAIN_SECONDS, self._idle_until]
        moment = self._room.next_moment()
        if moment is not None and len(self._running) < self._policy.visits_at_once:
            moments.append(max(now, moment))
        wait = min(each for each in moments if each >= now) - now
        happenings = {
            asyncio.ensure_future(clock.sleep(wait)),
            asyncio.ensure_future(self._stirred.wait()),
        }
        if self._claiming is None:  # else its end is waited for, and then comes the next one
            happenings.add(asyncio.ensure_future(self._services.database.woken("feeds").wait()))
        try:
            await asyncio.wait(happenings, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in happenings:
                each.cancel()

    async def _visit(self, due: DueFeed) -> None:
        with start_visit_trace(self._services.tracer, due) as trail:
            await self._visit_and_tell(due, trail)

    async def _visit_and_tell(self, due: DueFeed, trail: VisitTrace | NoTrace) -> None:
        services, address = self._services, due.last_address
        try:
            remembered = await visit_feed(due, self._services)
            report_visit(due, remembered)
            if isinstance(remembered, JudgedVisit):
                address = remembered.finished.outcome.exchange.own_address
            elif isinstance(remembered, DatabaseRefused):
                await self._claims.give_back([(due, services.schedule.max_interval)])
        except TooSoon as rest:
            trail.fail(rest.code, rest.message)
            await self._send_home(due, rest)
        except (StorageError, DatabaseError) as trouble:
            trail.fail(trouble.code, trouble.message)
            await self._nowhere_to_write(due, trouble)
        except Exception as trouble:  # a mistake of ours must not ask for ever
            logger.error("visit_crashed", feed=due.feed_id, exc_info=trouble)
            report_visit(due, await record_mishap(due, trouble, self._services))
        finally:
            now = services.clock.monotonic()
            services.fetcher.turns.finish(due.host, now, address)
            self._room.finished(due.host, now)

    async def _send_home(self, due: DueFeed, rest: TooSoon) -> None:
        """The host that a feed led to has no turn for us now.

        The feed's own host was asked already, and is not asked again before the shortest interval.
        Of many that lead to one host each comes when the one before it has had its turn there.
        """
        host, now = rest.facts["host"], self._services.clock.monotonic()
        away = max(rest.facts["retry_after_sec"], self._services.schedule.min_interval)
        last = self._homecomings.get(host, now) + 1 / self._policy.requests_per_second
        ahead = {name: moment for name, moment in self._homecomings.items() if moment > now}
        self._homecomings = ahead | {host: max(now + away, last)}
        await self._claims.give_back([(due, self._homecomings[host] - now)], _NO_TURN_THERE)

    async def _nowhere_to_write(self, due: DueFeed, trouble: StorageError | DatabaseError) -> None:
        """Nothing was committed. Fetching on would only lose what it brings: a pause for all."""
        logger.error("visit_lost", feed=due.feed_id, error=trouble.code, detail=trouble.message)
        self._pause(_PAUSE_WITHOUT_STORAGE)
        self._storage_is_doubtful = isinstance(trouble, StorageError)
        seconds = max(_PAUSE_WITHOUT_STORAGE, self._services.schedule.min_interval)
        await self._if_the_database_lets_us(self._claims.give_back([(due, seconds)]))

    async def _if_the_database_lets_us(self, action: Awaitable[None]) -> None:
        """What we cannot say now, the end of the lease will."""
        try:
            await action
        except DatabaseError as trouble:
            logger.error("claim_kept", error=trouble.code, detail=trouble.message)

    async def _show_up(self) -> None:
        await self._claims.show_up(self._held())

    async def _take_over(self) -> None:
        await self._claims.take_over(self._held())

    def _let_go_of_what_lapsed(self) -> None:
        """After a long sleep (a stopped process) another worker asks the hosts of those who wait
        here. What nobody took is due again; visits under way end, and their fence decides."""
        if self._claims.have_lapsed and (len(self._room) or len(self._newcomers)):
            lapsed = [*self._room.empty(), *self._newcomers.empty()]
            logger.warning("claims_lapsed", feeds=len(lapsed))

    def _held(self) -> list[DueFeed]:
        self._let_go_of_what_lapsed()
        return [*self._running.values(), *self._room.waiting(), *self._newcomers.waiting()]

    def _loop_of(self, chore: Chore) -> Loop:
        """Without signs of life nothing is visited: no trouble ends it."""
        return Loop(chore.action, self._services.clock, chore.every, _KEEPER_LOG, pause_first=True)

    def _pause(self, seconds: float) -> None:
        self._paused_until = self._services.clock.monotonic() + seconds

    async def _end(self, keepers: Sequence[asyncio.Task[None]]) -> None:
        """Finish or release within the time given; leave no shard behind."""
        try:
            await _cancel(keepers)
            if self._claiming is not None:
                await asyncio.wait({self._claiming})
            waiting = [(due, 0.0) for due in [*self._room.empty(), *self._newcomers.empty()]]
            await self._if_the_database_lets_us(self._claims.give_back(waiting))
            if self._running:
                await asyncio.wait(set(self._running), timeout=self._policy.stop * 0.6)
        finally:  # stopped at once, too: no visit goes on while what it needs is being closed
            unfinished = dict(self._running)
            await _cancel(unfinished)
        await self._services.commits.drain()
        released = [(due, 0.0) for due in unfinished.values()]
        await self._if_the_database_lets_us(self._claims.give_back(released))
        await self._if_the_database_lets_us(self._claims.leave())


async def _cancel(tasks: Collection[asyncio.Task[None]]) -> None:
    """Returns when they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
