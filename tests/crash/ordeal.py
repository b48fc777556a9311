"""The ordeal: work in flight, kill -9, look, start again; at the end rest, stop, look once more."""

import asyncio
import os
import random
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.audit import Broken, Witness, broken_after_rest, broken_at_any_time, remember
from tests.crash.crowd import Crowd
from tests.crash.records import Records, records_of
from tests.crash.running import QUICK, Service
from tests.origin import Origin

WAITS_AT_MOST = 60.0
LEASE = float(QUICK["HEADWATER_LEASE_SECONDS"])
MARGIN = 2.0

ADVERSE = {"HEADWATER_HOUSEKEEPING_MINUTES": "0.01", "HEADWATER_RAW_KEEP_UNCHANGED": "3"}
"""Retention runs all the time too: it must never take what somebody refers to."""


@dataclass(slots=True)
class Report:
    """The figures of one ordeal."""

    seed: int
    kills: int = 0
    pauses: int = 0
    wounds: int = 0
    starts: int = 0
    hits: Counter[str] = field(default_factory=Counter)
    did: Counter[str] = field(default_factory=Counter)
    records: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    most_open: int = 0
    seconds: float = 0.0
    stopped_in: float = 0.0

    def lines(self) -> list[str]:
        return [
            f"kills {self.kills}, pauses {self.pauses}, parse processes killed {self.wounds},"
            f" starts {self.starts}, {self.seconds:.0f} s, seed {self.seed}",
            f"hit in flight: {_counted(self.hits)}",
            f"origin: {self.requests} requests, at most {self.most_open} open",
            f"publishers: {_counted(self.did)}",
            f"records: {_counted(self.records)}",
            f"visits by outcome: {_counted(self.outcomes)}",
            f"graceful stop in {self.stopped_in:.1f} s",
        ]


class Ordeal:
    """One service (and perhaps a second worker) on one database, with one restless origin."""

    def __init__(
        self,
        folder: Path,
        database_url: str,
        crowd: Crowd,
        *,
        seed: int,
        source: Path | None = None,
        helped: bool = False,
    ) -> None:
        """`helped`: a second worker on the same database and blobs takes part."""
        self._database_url = database_url
        self._blobs = folder / "blobs"
        self._crowd = crowd
        self._luck = random.Random(seed)
        shared = {
            **ADVERSE,
            "DATABASE_URL": database_url,
            "HEADWATER_BLOB_URL": str(self._blobs),
        }
        self.service = Service(_made(folder / "service"), shared, source=source)
        second = Service(_made(folder / "worker"), shared, command="work", source=source)
        self._workers = [self.service, *([second] if helped else [])]
        longest = float(QUICK["SCHED_MAX_INTERVAL_SEC"]) + LEASE
        self.witness = Witness({}, longest + MARGIN)
        self.report = Report(seed)
        self._began = time.monotonic()

    async def begin(self, feeds: int) -> None:
        await self._crowd.settle(feeds)
        await self.service.start()
        for feed in self._crowd.feeds:
            answer = await self.service.post("/feeds", {"url": feed.url, "visit": "later"})
            self.witness.promised.add(answer["id"])
        for worker in self._workers[1:]:
            await worker.start()
        self._crowd.start()

    async def kill(self) -> list[Broken]:
        """One kill that counts: with work in flight. One look at what is left, one start."""
        hit, broken = 0, list[Broken]()
        while not hit and not broken:
            victim = self._luck.choice(self._workers)
            await self._in_flight(victim)
            self.report.hits["open requests"] += self._crowd.origin.open
            await victim.kill()
            hit, broken = await self._look_at_the_hit(victim)
            await victim.start()
        self.report.kills += 1
        return broken

    async def wound(self) -> list[Broken]:
        """Only a parse process dies, with whatever document it has in hand."""
        await self._in_flight(self.service)
        parsers = self.service.parse_processes()
        if parsers:
            os.kill(self._luck.choice(parsers), signal.SIGKILL)
            self.report.wounds += 1
        return []

    async def pause(self) -> list[Broken]:
        """A worker stands still beyond its lease, and then goes on as if nothing had happened."""
        hit, broken = 0, list[Broken]()
        while not hit and not broken:
            victim = self._luck.choice(self._workers)
            await self._in_flight(victim)
            victim.pause()
            hit, broken = await self._look_at_the_hit(victim)
            await asyncio.sleep(2 * LEASE if hit else 0)
            victim.go_on()
        # It may have been about to claim any feed: then that lease began and ended in its sleep.
        self.witness.hit.update(feed.url for feed in self._crowd.feeds)
        self.report.pauses += 1
        await asyncio.sleep(1.0)
        return broken or await self.look()

    async def abandon(self) -> list[Broken]:
        """A worker dies and stays dead: the other one takes its feeds over (J4)."""
        victim = self._workers[-1]
        await self._in_flight(victim)
        await victim.kill()
        _, broken = await self._look_at_the_hit(victim)
        self.report.kills += 1
        await asyncio.sleep(LEASE + 5.0)
        records = await self._records()
        broken += [
            Broken("J4", f"{feed['url']} still belongs to a dead worker")
            for feed in records.feeds
            if feed["claimed_by"] == victim.worker
        ]
        await victim.start()
        return broken

    async def finish(self) -> list[Broken]:
        """The origin rests, every feed is visited once more, the service stops in order."""
        await self._crowd.rest()
        neglected = await self._crowd.neglected(WAITS_AT_MOST)
        broken = [Broken("J3", f"{url} is visited no more") for url in neglected]
        self.report.stopped_in = max([await worker.stop() for worker in self._workers])
        broken += await self.look()
        records = await self._records()
        shown = {feed.url: {post.guid for post in feed.shown()} for feed in self._crowd.feeds}
        broken += broken_after_rest(records, self.witness, shown)
        self._sum_up(records)
        return broken

    async def end(self) -> None:
        await self._crowd.rest()
        for worker in self._workers:
            await worker.end()

    async def look(self) -> list[Broken]:
        """Audit everything as it is now."""
        return self._broken_in(await self._records())

    async def _look_at_the_hit(self, victim: Service) -> tuple[int, list[Broken]]:
        """How many feeds a worker had claimed when it was hit, and what that broke."""
        records = await self._records()
        claimed = [feed["url"] for feed in records.feeds if feed["claimed_by"] == victim.worker]
        self.witness.hit.update(claimed)
        self._note_stages(records, len(claimed))
        return len(claimed), self._broken_in(records)

    def _broken_in(self, records: Records) -> list[Broken]:
        self.witness.asked = self._crowd.asked()
        broken = broken_at_any_time(records, self.witness, time.time_ns() // 1000)
        remember(records, self.witness)
        return broken

    async def _in_flight(self, victim: Service) -> None:
        """A random moment, then the next one at which visits are really under way."""
        await asyncio.sleep(self._luck.uniform(0.2, 2.0))
        deadline = time.monotonic() + WAITS_AT_MOST
        while self._crowd.origin.open == 0:
            assert time.monotonic() < deadline, f"nothing is in flight:\n{victim.last_words()}"
            await asyncio.sleep(0.001)

    async def _records(self) -> Records:
        return await records_of(self._database_url, self._blobs)

    def _note_stages(self, records: Records, claimed: int) -> None:
        """How far the visits were that were hit."""
        self.report.hits["claimed feeds"] += claimed
        remembered = {visit["fetch_id"] for visit in records.visits}
        archived = sum(raw["fetch_id"] not in remembered for raw in records.raw_fetches)
        self.report.hits["archived, not remembered"] = archived
        self.report.hits["blobs half written"] = sum(1 for _ in self._blobs.glob("tmp/*"))

    def _sum_up(self, records: Records) -> None:
        report, origin = self.report, self._crowd.origin
        report.starts = sum(worker.starts for worker in self._workers)
        report.did = self._crowd.did
        report.requests, report.most_open = len(origin.requests), origin.most_open
        report.outcomes = Counter(visit["outcome"] for visit in records.visits)
        report.seconds = time.monotonic() - self._began
        for name in ("feeds", "visits", "raw_fetches", "entries", "entry_versions", "events"):
            report.records[name] = len(getattr(records, name))
        report.records["raw expired"] = sum(
            raw["expired_at"] is not None for raw in records.raw_fetches
        )


def open_crowd(origin: Origin, seed: int) -> Crowd:
    return Crowd(origin, random.Random(seed))


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common()) or "nothing"
