"""The ordeal: work in flight, kill -9, look, start again; at the end rest, stop, look once more."""

import asyncio
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.audit import Broken, Witness, broken_after_rest, broken_at_any_time, remember
from tests.crash.crowd import Crowd
from tests.crash.items import (
    CATEGORIES,
    Kept,
    Store,
    all_there,
    broken_items,
    broken_items_after_rest,
    items_in,
)
from tests.crash.receivers import Heard
from tests.crash.records import Digests, Records, records_of
from tests.crash.running import QUICK, Service
from tests.crash.sink_audit import Log, broken_after_catching_up, broken_deliveries
from tests.crash.sinks import TERMS, Sinks
from tests.support.origin import Origin, Request

WAITS_AT_MOST = 60.0
KILL_WITHIN, WOUND_WITHIN = 2.0, 0.6
"""After a start, or another act, a kill comes within so many seconds."""

AIMED = 0.5
BURST_WITHIN = 1.5

LEASE = float(QUICK["HEADWATER_LEASE_SECONDS"])
PAUSE = 1.5 * LEASE
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
    broker_kills: int = 0
    sinks: Counter[str] = field(default_factory=Counter)
    twice: Counter[str] = field(default_factory=Counter)

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
            f"brokers killed {self.broker_kills}; deliveries: {_counted(self.sinks)}",
            f"came more than once: {_counted(self.twice)}",
        ]


@dataclass(frozen=True, slots=True)
class Sight:
    """One look at everything from outside."""

    records: Records
    heard: Mapping[str, Heard]
    items: Sequence[Kept]
    asked: Mapping[str, list[Request]]
    at: int


class Ordeal:
    """One service (and perhaps a second worker) on one database, with one restless origin."""

    def __init__(
        self,
        folder: Path,
        database_url: str,
        crowd: Crowd,
        sinks: Sinks,
        *,
        seed: int,
        source: Path | None = None,
        helped: bool = False,
        personal: Store = "database",
    ) -> None:
        """`helped`: a second worker on the same database and blobs takes part. `personal`: where
        items are kept."""
        self._database_url = database_url
        self._blobs = folder / "blobs"
        self._crowd, self._sinks = crowd, sinks
        self._luck = random.Random(seed)
        self._items = items_in(personal, database_url, sinks.redis_url)
        shared = {
            **ADVERSE,
            **sinks.settings,
            **self._items.settings,
            "DATABASE_URL": database_url,
            "HEADWATER_BLOB_URL": str(self._blobs),
        }
        self.service = Service(_made(folder / "service"), shared, source=source)
        second = Service(_made(folder / "worker"), shared, command="work", source=source)
        self._workers = [self.service, *([second] if helped else [])]
        longest = float(QUICK["SCHED_MAX_INTERVAL_SEC"]) + LEASE
        self.witness = Witness({}, longest + MARGIN)
        self._log, self._digests = Log(), Digests()
        self.report = Report(seed)
        self._began = time.monotonic()

    async def begin(self, feeds: int) -> None:
        await self._crowd.settle(feeds)
        await self.service.start()
        await self._sinks.begin(self.service)
        for number, feed in enumerate(self._crowd.feeds):
            wish = {"url": feed.url, "categories": CATEGORIES[number % len(CATEGORIES)]}
            answer = await self.service.post("/feeds", {**wish, "visit": "later"})
            self.witness.promised.add(answer["id"])
        for worker in self._workers[1:]:
            await worker.start()
        self._crowd.start()

    async def kill(self) -> list[Broken]:
        """One kill that counts: with work in flight. One look at what is left, one start.

        What is left is read before the start, so that nothing can tidy up first; it is judged
        meanwhile.
        """
        hit, broken = 0, list[Broken]()
        while not hit and not broken:
            victim = self._luck.choice(self._workers)
            await self._in_flight(victim, KILL_WITHIN)
            self.report.hits["open requests"] += self._crowd.origin.open
            await victim.kill()
            sight = await self._sight()
            hit = self._note_hit(sight.records, victim)
            broken, _ = await asyncio.gather(self._judged(sight), victim.start())
        self.report.kills += 1
        return broken

    async def wound(self) -> list[Broken]:
        """Only a parse process dies, with whatever document it has in hand."""
        await asyncio.sleep(self._luck.uniform(0.1, WOUND_WITHIN))
        deadline = time.monotonic() + WAITS_AT_MOST
        while not (parsers := self.service.parse_processes()):
            assert time.monotonic() < deadline, f"nothing is read:\n{self.service.last_words()}"
            await asyncio.sleep(0.01)
        os.kill(self._luck.choice(parsers), signal.SIGKILL)
        self.report.wounds += 1
        return []

    async def kill_a_broker(self) -> list[Broken]:
        """A sink dies while it is delivered to, and comes back with what it acknowledged."""
        await self._sinks.kill_a_broker()
        self.report.broker_kills += 1
        return []

    async def pause(self) -> list[Broken]:
        """A worker stands still beyond its lease, and then goes on as if nothing had happened."""
        hit, broken = 0, list[Broken]()
        while not hit and not broken:
            victim = self._luck.choice(self._workers)
            await self._in_flight(victim, KILL_WITHIN)
            victim.pause()
            sight = await self._sight()
            hit, broken = self._note_hit(sight.records, victim), await self._judged(sight)
            await asyncio.sleep(PAUSE if hit else 0)
            victim.go_on()
        # It may have been about to claim any feed: then that lease began and ended in its sleep.
        self.witness.hit.update(feed.url for feed in self._crowd.feeds)
        self.report.pauses += 1
        await asyncio.sleep(1.0)
        return broken or await self.look()

    async def abandon(self) -> list[Broken]:
        """A worker dies and stays dead: the other one takes its feeds over (J4)."""
        victim = self._workers[-1]
        await self._in_flight(victim, KILL_WITHIN)
        await victim.kill()
        sight = await self._sight()
        self._note_hit(sight.records, victim)
        broken = await self._judged(sight)
        self.report.kills += 1
        left = await self._left_to(victim, LEASE + 5.0)
        broken += [Broken("J4", f"{url} still belongs to a dead worker") for url in left]
        await victim.start()
        return broken

    async def finish(self) -> list[Broken]:
        """The origin rests, every feed is visited once more, the service stops in order."""
        await self._crowd.rest()
        rested = time.time_ns() // 1000
        neglected = await self._crowd.neglected(WAITS_AT_MOST)
        neglected += await self._not_read_since(rested, WAITS_AT_MOST)
        broken = [Broken("J3", f"{url} is visited no more") for url in neglected]
        await all_there(self._items, self._database_url, WAITS_AT_MOST)
        if not await self._sinks.catch_up(self.service):
            broken.append(Broken("D5", "somebody does not come to the end of the log"))
        self.report.stopped_in = max([await worker.stop() for worker in self._workers])
        broken += await self.look()
        records = await self._records()
        shown = {feed.url: {post.guid for post in feed.shown()} for feed in self._crowd.feeds}
        broken += broken_after_rest(records, self.witness, shown)
        heard = await self._sinks.heard_from_the_beginning()
        broken += broken_after_catching_up(records, self._log, heard, TERMS)
        items = await self._items.kept()
        broken += broken_items_after_rest(records, items)
        self._sum_up(records, heard)
        self.report.records["items"] = len(items)
        return broken

    async def end(self) -> None:
        await self._crowd.rest()
        for worker in self._workers:
            await worker.end()

    async def look(self) -> list[Broken]:
        """Audit everything as it is now."""
        return await self._judged(await self._sight())

    async def _sight(self) -> Sight:
        """Everything there is: rows, blobs, what the sinks have, what the origin was asked."""
        records = await self._records()
        heard, items = await self._sinks.heard(), await self._items.kept()
        return Sight(records, heard, items, self._crowd.asked(), time.time_ns() // 1000)

    def _note_hit(self, records: Records, victim: Service) -> int:
        """How many feeds a worker had claimed when it was hit."""
        claimed = [feed["url"] for feed in records.feeds if feed["claimed_by"] == victim.worker]
        self.witness.hit.update(claimed)
        self._note_stages(records, len(claimed))
        return len(claimed)

    async def _judged(self, sight: Sight) -> list[Broken]:
        """In a thread: the origin goes on answering."""
        return await asyncio.to_thread(self._broken_in, sight)

    def _broken_in(self, sight: Sight) -> list[Broken]:
        self.witness.asked = sight.asked
        broken = broken_at_any_time(sight.records, self.witness, sight.at)
        remember(sight.records, self.witness)
        broken += broken_items(sight.records, sight.items)
        return broken + broken_deliveries(sight.records, self._log, sight.heard, TERMS)

    async def _left_to(self, dead: Service, seconds: float) -> list[str]:
        """The feeds that nobody has taken over in that time; not all of it must pass."""
        deadline = time.monotonic() + seconds
        while True:
            feeds = (await self._records()).feeds
            left = [feed["url"] for feed in feeds if feed["claimed_by"] == dead.worker]
            if not left or time.monotonic() > deadline:
                return left
            await asyncio.sleep(0.2)

    async def _not_read_since(self, moment: int, seconds: float) -> list[str]:
        """The feeds of which no answer that was asked for since then is committed in that time.

        Two requests are not enough to know: the first may be of a worker that lost its lease.
        """
        deadline = time.monotonic() + seconds
        while True:
            records = await self._records()
            read = {
                visit["feed_id"]
                for visit in records.visits
                if visit["started_at"] >= moment and visit["status"] in (200, 304)
            }
            left = [feed["url"] for feed in records.feeds if feed["id"] not in read]
            if not left or time.monotonic() > deadline:
                return left
            await asyncio.sleep(0.2)

    async def _in_flight(self, victim: Service, within: float) -> None:
        """A random moment, then the next one at which visits are really under way.

        Every other time it is one at which sinks are being delivered to.
        """
        await asyncio.sleep(self._luck.uniform(0.1, within))
        if self._luck.random() < AIMED:
            await self._sinks.burst(BURST_WITHIN)
        deadline = time.monotonic() + WAITS_AT_MOST
        while self._crowd.origin.open == 0:
            assert time.monotonic() < deadline, f"nothing is in flight:\n{victim.last_words()}"
            await asyncio.sleep(0.001)

    async def _records(self) -> Records:
        return await records_of(self._database_url, self._blobs, self._digests)

    def _note_stages(self, records: Records, claimed: int) -> None:
        """How far the visits were that were hit."""
        self.report.hits["claimed feeds"] += claimed
        remembered = {visit["fetch_id"] for visit in records.visits}
        archived = sum(raw["fetch_id"] not in remembered for raw in records.raw_fetches)
        self.report.hits["archived, not remembered"] = archived
        self.report.hits["blobs half written"] = sum(1 for _ in self._blobs.glob("tmp/*"))
        self.report.hits["sinks being delivered to"] += sum(
            row["next_try_at"] is not None and not row["failures"] for row in records.sinks
        )

    def _sum_up(self, records: Records, heard: Mapping[str, Heard]) -> None:
        report, origin = self.report, self._crowd.origin
        report.starts = sum(worker.starts for worker in self._workers)
        report.did = self._crowd.did
        report.requests, report.most_open = len(origin.requests), origin.most_open
        report.outcomes = Counter(visit["outcome"] for visit in records.visits)
        report.seconds = time.monotonic() - self._began
        for name, each in heard.items():
            report.sinks[name] = len(each.got)
            report.twice[name] = len(each.got) - len({got.event_id for got in each.got})
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
