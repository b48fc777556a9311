"""The claims of a worker: its shards, the feeds it may visit, the rests it owes to hosts."""

import asyncio
import os
import socket
from collections.abc import Sequence

from headwater.core.ports import Transaction
from headwater.core.values.instant import to_micros
from headwater.core.values.url import shard_of
from headwater.feeds.schedule.due import DueFeed
from headwater.feeds.services import FeedServices
from headwater.feeds.worker import claim_rows, clock_step_rows, host_rows, worker_rows
from headwater.feeds.worker.policy import WorkerPolicy
from headwater.feeds.worker.worker_rows import SHARDS

MICROS = 1_000_000

_STEPPED_BACK_SECONDS = 60.0
"""A wall clock that lost more than this against the monotonic one has been set back."""


class Claims:
    """The feeds that this worker may visit. Times are passed in seconds from now."""

    def __init__(self, services: FeedServices, policy: WorkerPolicy) -> None:
        self._services = services
        self._policy = policy
        self._lease = round(policy.lease * MICROS)
        self._offset = self._wall_minus_monotonic()
        self._held_until = 0
        # A feed claimed while shards are released would be on another worker's host.
        self._claim_lock = asyncio.Lock()

    @property
    def have_lapsed(self) -> bool:
        """No sign of life for a whole lease: other workers may have our feeds, and their hosts."""
        return self._now() >= self._held_until

    async def begin(self) -> None:
        """Feeds that we held when we died are due again.

        Their hosts may have just been requested.
        """
        services, now = self._services, self._now()
        async with services.database.read() as view:
            has_stepped_back = await clock_step_rows.has_clock_stepped_back(view, now, self._lease)
        async with self._claim_lock, services.database.write() as tx:
            hosts = await claim_rows.release_own_claims(tx, services.worker)
            if has_stepped_back:
                await clock_step_rows.reschedule_after_step_back(tx, now, self._lease)
            await clock_step_rows.cut_long_leases(tx, now, self._lease)
            now = self._now()  # waiting for the right to write may have taken long
            await self._share_shards(tx, [], now)
        self._held_until = now + self._lease
        await self._learn_pacing()
        self._space_hosts(hosts)

    async def seconds_to_next(self) -> float | None:
        """Seconds until the next feed of ours is due; not above zero when one is due now."""
        async with self._services.database.read() as view:
            due_at = await claim_rows.find_next_due(view, self._services.worker)
        return None if due_at is None else (due_at - self._now()) / MICROS

    async def claim(self, most: int) -> list[DueFeed]:
        now = self._now()
        lease_end = now + self._lease
        async with self._claim_lock, self._services.database.write() as tx:
            claimed = await claim_rows.claim_feeds(tx, self._services.worker, now, lease_end, most)
        # After a long sleep (a stopped process) they belong to another worker already.
        return claimed if self._now() < lease_end else []

    async def give_back(
        self, later: Sequence[tuple[DueFeed, float]], reason: str | None = None
    ) -> None:
        """Give feeds back unvisited, due in so many seconds. `reason` is shown with each feed."""
        if not later:
            return
        now = self._now()
        async with self._services.database.write() as tx:
            await claim_rows.release_claims(
                tx, [(due, now + round(seconds * MICROS)) for due, seconds in later], reason
            )

    async def show_up(self, held: Sequence[DueFeed]) -> None:
        """Write a sign of life, renew and share the shards, renew the leases of long visits.

        For shards just taken, the pacing of their hosts is learnt too.
        """
        services, now = self._services, self._now()
        offset = self._wall_minus_monotonic()
        async with self._claim_lock, services.database.write() as tx:
            if self._offset - offset > _STEPPED_BACK_SECONDS:
                await clock_step_rows.reschedule_after_step_back(tx, now, self._lease)
                await clock_step_rows.cut_long_leases(tx, now, self._lease)
            has_taken = await self._share_shards(tx, held, now)
        self._offset = offset  # only after the moments were corrected in the database
        self._held_until = now + self._lease
        if has_taken:
            await self._learn_pacing()

    async def _share_shards(self, tx: Transaction, held: Sequence[DueFeed], now: int) -> bool:
        """Take our fair share of the shards, and no more. True when some were taken."""
        worker, until = self._services.worker, now + self._lease
        await worker_rows.upsert_heartbeat(tx, worker, socket.gethostname(), os.getpid(), now)
        workers = max(1, await worker_rows.count_living_workers(tx, now - self._lease))
        share = -(-SHARDS // workers)
        mine = await worker_rows.renew_shards(tx, worker, until)
        taken = await worker_rows.claim_shards(tx, worker, now, until, max(0, share - mine))
        if mine > share:
            busy = sorted({shard_of(due.host) for due in held})
            await worker_rows.release_shards(tx, worker, mine - share, busy)
        await claim_rows.renew_claims(tx, held, until)
        return bool(taken)

    async def take_over(self, held: Sequence[DueFeed]) -> None:
        """Look for shards that a dead worker left. Without any, this only reads."""
        async with self._services.database.read() as view:
            abandoned = await worker_rows.count_abandoned_shards(view, self._now())
        if abandoned:
            await self.show_up(held)

    async def leave(self) -> None:
        async with self._services.database.write() as tx:
            await worker_rows.delete_worker(tx, self._services.worker)

    async def _learn_pacing(self) -> None:
        """Learn the spacing and the rests that the hosts of our shards are owed.

        Other workers made those requests, or we did before a restart.
        """
        services, now = self._services, self._now()
        monotonic = services.clock.monotonic()
        since = now - round(MICROS / self._policy.requests_per_second)
        async with services.database.read() as view:
            recently_asked = await host_rows.list_recently_asked_hosts(view, services.worker, since)
            resting = await host_rows.list_resting_hosts(
                view, services.schedule.initial_interval, now
            )
        self._space_hosts(recently_asked)
        for host, until in resting:
            services.fetcher.turns.rest(host, monotonic + (until - now) / MICROS)

    def _space_hosts(self, hosts: Sequence[str]) -> None:
        """We (before a restart) or a dead worker may have requested these hosts a moment ago."""
        now = self._services.clock.monotonic()
        for host in hosts:
            self._services.fetcher.turns.seen(host, now)

    def _wall_minus_monotonic(self) -> float:
        return self._now() / MICROS - self._services.clock.monotonic()

    def _now(self) -> int:
        return to_micros(self._services.clock.now())
