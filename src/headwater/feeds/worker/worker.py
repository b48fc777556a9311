"""The worker claims due feeds, keeps hosts' turns, runs many visits at once and stops in order."""

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
"""How long a change that another process makes may go unnoticed."""

_TAKE_OVER_SECONDS = 4.0
"""How often we look whether another worker has died."""

_WAITING_PER_HOST = 8
"""A host with more claimed feeds than this has the rest given back, spread over its turns."""

_NO_TURN = "as soon as its host has a turn: others go first, or it asked for a rest"
_NO_TURN_THERE = (
    "as soon as the host that it leads to has a turn: others go first, or it asked for a rest"
)

_PAUSE_WITHOUT_STORAGE = 60.0
_PROBE = "probe/worker"


@dataclass(frozen=True, slots=True)
class Chore:
    """Work of other areas that the worker does every `every` seconds."""

    every: float
    action: Callable[[], Awaitable[None]]


class Worker:
    """One for each process. `run` works until `stop`."""

    def __init__(
        self, services: FeedServices, policy: WorkerPolicy, chores: Sequence[Chore] = ()
    ) -> None:
        """`chores` are done beside the visits, as long as the worker runs."""
        self._services = services
        self._policy = policy
        self._chores = chores
        self._claims = Claims(services, policy)
        self._queues = HostQueues(services.fetcher.turns, patience=policy.lease / 2)
        self._lookups = HostLookups(services.fetcher, self._enqueue_looked_up)
        self._running: dict[asyncio.Task[None], DueFeed] = {}
        self._returns: dict[str, float] = {}
        self._wakeup = asyncio.Event()
        self._claiming: asyncio.Task[None] | None = None
        self._stopping = False
        self._idle_until = 0.0
        self._paused_until = 0.0
        self._storage_is_doubtful = False
        self._more_is_due = True  # for all we know

    async def run(self) -> None:
        tune_garbage_collector()
        await self._claims.begin()
        heartbeat = self._policy.lease / 3
        chores = (
            Chore(heartbeat, self._show_up),
            Chore(min(heartbeat, _TAKE_OVER_SECONDS), self._take_over),
            *self._chores,
        )
        clock = self._services.clock
        # No error ends these loops, because without signs of life nothing is visited.
        loops = [
            Loop(chore.action, clock, chore.every, _KEEPER_LOG, pause_first=True)
            for chore in chores
        ]
        keepers = [asyncio.create_task(loop.run()) for loop in loops]
        try:
            while not self._stopping:
                await self._run_once()
        finally:
            await self._shut_down(keepers)

    def stop(self) -> None:
        """Ask the worker to stop. It claims no more, and visits under way have time to end."""
        self._stopping = True
        self._wakeup.set()

    async def _run_once(self) -> None:
        """Claim feeds if there is room, start visits whose turn it is, then wait for a change."""
        self._wakeup.clear()
        self._start_claiming()
        self._start_visits()
        try:
            await self._claims.give_back(self._spread(self._queues.turned_away()), _NO_TURN)
        except DatabaseError as error:
            self._pause_after_database_error(error)
        await self._wait_for_change()

    def _start_visits(self) -> None:
        self._drop_lapsed_claims()
        now = self._services.clock.monotonic()
        for due in self._queues.ready(now, self._policy.visits_at_once - len(self._running)):
            task = asyncio.create_task(self._visit(due))
            self._running[task] = due
            task.add_done_callback(self._visit_ended)

    def _visit_ended(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task)
        self._wakeup.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("visit_crashed", exc_info=error)

    def _start_claiming(self) -> None:
        """Claim in a task of its own, so that visits whose turn has come start meanwhile."""
        if self._claiming is not None:
            if not self._claiming.done():
                return
            claiming, self._claiming = self._claiming, None
            claiming.result()  # a mistake of ours ends the worker: else nobody would see it
        if self._services.database.woken("feeds").is_set():
            self._services.database.woken("feeds").clear()
            self._idle_until = 0.0
        now, places = self._services.clock.monotonic(), self._policy.visits_at_once
        room = 2 * places - len(self._running) - len(self._queues) - len(self._lookups)
        if room < max(1, places // 2) or now < max(self._idle_until, self._paused_until):
            return
        self._claiming = asyncio.create_task(self._claim(min(self._policy.claim_batch, room)))
        self._claiming.add_done_callback(lambda _: self._wakeup.set())

    async def _claim(self, most: int) -> None:
        try:
            if self._storage_is_doubtful and not await self._can_store():
                return
            if not self._more_is_due and not await self._is_anything_due():
                return
            claimed = await self._claims.claim(most)
            self._more_is_due = len(claimed) == most
            await self._enqueue(claimed)
        except DatabaseError as error:
            self._pause_after_database_error(error)

    async def _is_anything_due(self) -> bool:
        """Asked before claiming: reading keeps no writer waiting, and mostly nothing is due."""
        now, wait = self._services.clock.monotonic(), await self._claims.seconds_to_next()
        if wait is None or wait > 0:
            self._idle_until = now + min(_LOOK_AGAIN_SECONDS, wait or _LOOK_AGAIN_SECONDS)
            return False
        return True

    def _pause_after_database_error(self, error: DatabaseError) -> None:
        logger.error("calendar_failed", error=error.code, detail=error.message)
        self._pause(_LOOK_AGAIN_SECONDS)

    async def _can_store(self) -> bool:
        """Try whether the store takes bytes, because what is fetched now would be lost if not."""
        try:
            await self._services.blobs.put_many([(_PROBE, b"room?")])
            await self._services.blobs.delete([_PROBE])
        except StorageError as error:
            logger.error("storage_failed", error=error.code, detail=error.message)
            self._pause(_PAUSE_WITHOUT_STORAGE)
            return False
        self._storage_is_doubtful = False
        return True

    async def _enqueue(self, claimed: list[DueFeed]) -> None:
        """Queue claimed feeds; those that are too many for one host are given back."""
        turns, now = self._services.fetcher.turns, self._services.clock.monotonic()
        too_many = []
        for due in claimed:
            turns.lives_at(due.host, due.last_address)
            if self._queues.at(due.host) + self._lookups.at(due.host) >= _WAITING_PER_HOST:
                too_many.append((due, _WAITING_PER_HOST / self._policy.requests_per_second))
            elif turns.knows(due.host) or is_numeric(due.host):
                self._queues.add(due, now)
            else:
                self._lookups.add(due)
        await self._claims.give_back(self._spread(too_many), _NO_TURN)

    def _enqueue_looked_up(self, feeds: Sequence[DueFeed]) -> None:
        now = self._services.clock.monotonic()
        for due in feeds:
            self._queues.add(due, now)
        self._wakeup.set()

    def _spread(self, later: list[tuple[DueFeed, float]]) -> list[tuple[DueFeed, float]]:
        """Spread feeds of one host over its pace, so that not all are due when its rest ends."""
        place: dict[str, int] = {}
        spread = []
        for due, seconds in later:
            place[due.host] = place.get(due.host, 0) + 1
            spread.append((due, seconds + place[due.host] / self._policy.requests_per_second))
        return spread

    async def _wait_for_change(self) -> None:
        clock, now = self._services.clock, self._services.clock.monotonic()
        moments = [now + _LOOK_AGAIN_SECONDS, self._idle_until]
        next_turn = self._queues.next_moment()
        if next_turn is not None and len(self._running) < self._policy.visits_at_once:
            moments.append(max(now, next_turn))
        wait = min(moment for moment in moments if moment >= now) - now
        changes = {
            asyncio.ensure_future(clock.sleep(wait)),
            asyncio.ensure_future(self._wakeup.wait()),
        }
        if self._claiming is None:  # else we wait for its end, and the next claim comes then
            changes.add(asyncio.ensure_future(self._services.database.woken("feeds").wait()))
        try:
            await asyncio.wait(changes, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for change in changes:
                change.cancel()

    async def _visit(self, due: DueFeed) -> None:
        with start_visit_trace(self._services.tracer, due) as trail:
            await self._visit_and_report(due, trail)

    async def _visit_and_report(self, due: DueFeed, trail: VisitTrace | NoTrace) -> None:
        services, address = self._services, due.last_address
        try:
            result = await visit_feed(due, self._services)
            report_visit(due, result)
            if isinstance(result, JudgedVisit):
                address = result.finished.outcome.exchange.own_address
            elif isinstance(result, DatabaseRefused):
                await self._claims.give_back([(due, services.schedule.max_interval)])
        except TooSoon as rest:
            trail.fail(rest.code, rest.message)
            await self._give_back_after_rest(due, rest)
        except (StorageError, DatabaseError) as error:
            trail.fail(error.code, error.message)
            await self._give_back_unwritten(due, error)
        except Exception as error:  # a mistake of ours must not repeat the request for ever
            logger.error("visit_crashed", feed=due.feed_id, exc_info=error)
            report_visit(due, await record_mishap(due, error, self._services))
        finally:
            now = services.clock.monotonic()
            services.fetcher.turns.finish(due.host, now, address)
            self._queues.finished(due.host, now)

    async def _give_back_after_rest(self, due: DueFeed, rest: TooSoon) -> None:
        """The host that a feed redirects to has no turn for us now.

        The feed's own host was requested already, and is not requested again before the shortest
        interval. Of many feeds that lead to one host, each returns when the one before it has had
        its turn there.
        """
        host, now = rest.facts["host"], self._services.clock.monotonic()
        away = max(rest.facts["retry_after_sec"], self._services.schedule.min_interval)
        last = self._returns.get(host, now) + 1 / self._policy.requests_per_second
        ahead = {name: moment for name, moment in self._returns.items() if moment > now}
        self._returns = ahead | {host: max(now + away, last)}
        await self._claims.give_back([(due, self._returns[host] - now)], _NO_TURN_THERE)

    async def _give_back_unwritten(self, due: DueFeed, error: StorageError | DatabaseError) -> None:
        """Nothing was committed. All visits pause: fetching on would only lose what it brings."""
        logger.error("visit_lost", feed=due.feed_id, error=error.code, detail=error.message)
        self._pause(_PAUSE_WITHOUT_STORAGE)
        self._storage_is_doubtful = isinstance(error, StorageError)
        seconds = max(_PAUSE_WITHOUT_STORAGE, self._services.schedule.min_interval)
        await self._try_to_release(self._claims.give_back([(due, seconds)]))

    async def _try_to_release(self, action: Awaitable[None]) -> None:
        """A claim that cannot be released now ends with its lease."""
        try:
            await action
        except DatabaseError as error:
            logger.error("claim_kept", error=error.code, detail=error.message)

    async def _show_up(self) -> None:
        await self._claims.show_up(self._held())

    async def _take_over(self) -> None:
        await self._claims.take_over(self._held())

    def _drop_lapsed_claims(self) -> None:
        """After a long sleep (a stopped process) another worker requests hosts of waiting feeds.

        Feeds that nobody took are due again. Visits under way end, and their fence decides.
        """
        if self._claims.have_lapsed and (len(self._queues) or len(self._lookups)):
            lapsed = [*self._queues.empty(), *self._lookups.empty()]
            logger.warning("claims_lapsed", feeds=len(lapsed))

    def _held(self) -> list[DueFeed]:
        self._drop_lapsed_claims()
        return [*self._running.values(), *self._queues.waiting(), *self._lookups.waiting()]

    def _pause(self, seconds: float) -> None:
        self._paused_until = self._services.clock.monotonic() + seconds

    async def _shut_down(self, keepers: Sequence[asyncio.Task[None]]) -> None:
        """Finish or release within the policy's time; leave no shard behind."""
        try:
            await _cancel(keepers)
            if self._claiming is not None:
                await asyncio.wait({self._claiming})
            waiting = [(due, 0.0) for due in [*self._queues.empty(), *self._lookups.empty()]]
            await self._try_to_release(self._claims.give_back(waiting))
            if self._running:
                await asyncio.wait(set(self._running), timeout=self._policy.stop * 0.6)
        finally:  # also when stopped at once: no visit goes on while its services are being closed
            unfinished = dict(self._running)
            await _cancel(unfinished)
        await self._services.commits.drain()
        released = [(due, 0.0) for due in unfinished.values()]
        await self._try_to_release(self._claims.give_back(released))
        await self._try_to_release(self._claims.leave())


async def _cancel(tasks: Collection[asyncio.Task[None]]) -> None:
    """Return when they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
