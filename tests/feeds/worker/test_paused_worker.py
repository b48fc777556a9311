"""A worker that stood still beyond its lease finds its feed in other hands, and writes nothing."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.values.ids import FeedId
from headwater.core.values.instant import to_micros
from headwater.feeds.commit_visits import ClaimLost, CommitResult
from headwater.feeds.feed import FeedOptions
from headwater.feeds.feed_rows import insert_or_restore_feed
from headwater.feeds.fetch.outcome import Outcome
from headwater.feeds.judge_visit import FinishedVisit, JudgedVisit
from headwater.feeds.schedule.due import DueFeed
from headwater.feeds.visit import archive_body, commit_visit, read_body, request_of_visit
from headwater.feeds.worker import claim_rows, worker_rows
from tests.support.clock import VirtualClock
from tests.support.engine import opened_engine
from tests.support.engine_parts import EngineParts
from tests.support.origin import Origin, OriginFeed, Post

LEASE = 120.0
STAGES = ("claimed", "fetched", "archived", "read")
WRITTEN = ("feeds", "visits", "entries", "entry_versions", "entry_aliases", "events", "counters")


class Hand:
    """One worker, moved step by step."""

    def __init__(self, engine: EngineParts) -> None:
        self.engine = engine
        self.services = engine.feeds

    async def claim(self) -> list[DueFeed]:
        """The feeds of all shards that are free or abandoned, with a lease."""
        engine, now = self.engine, to_micros(self.engine.clock.now())
        until = now + round(LEASE * 1_000_000)
        async with engine.database.write() as tx:
            await worker_rows.claim_shards(tx, engine.worker, now, until, worker_rows.SHARDS)
            return await claim_rows.claim_feeds(tx, engine.worker, now, until, 10)

    async def go_to(self, stage: str, due: DueFeed) -> "OnTheWay":
        """A visit that has come so far and no further."""
        way = OnTheWay(self, due)
        await way.go_on_to(stage)
        return way


@dataclass(slots=True)
class OnTheWay:
    """A visit under way."""

    hand: Hand
    due: DueFeed
    outcome: Outcome | None = None
    archived: Any = None
    document: Any = None
    stage: str = "claimed"

    async def go_on_to(self, stage: str) -> None:
        services = self.hand.services
        for here in STAGES[STAGES.index(self.stage) + 1 : STAGES.index(stage) + 1]:
            if here == "fetched":
                self.outcome = await services.fetcher.fetch(request_of_visit(self.due, services))
            elif here == "archived":
                assert self.outcome is not None
                self.archived = await archive_body(self.due.feed, self.outcome, services)
            else:
                assert self.outcome is not None
                self.document = await read_body(self.due, self.outcome, self.archived, services)
            self.stage = here

    async def finish(self) -> CommitResult:
        await self.go_on_to("read")
        assert self.outcome is not None
        now = self.hand.engine.clock.now()
        return await commit_visit(
            FinishedVisit(self.due, self.outcome, self.archived, self.document, False, now),
            self.hand.services,
        )


@dataclass(frozen=True, slots=True)
class Scene:
    """Two workers on one database, and a feed that is due."""

    anna: Hand
    bert: Hand
    feed: OriginFeed
    clock: VirtualClock
    database: SqlDatabase

    async def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """Everything that a visit's second commit could touch."""
        async with self.database.read() as view:
            tables = [(table, await view.rows(f"SELECT * FROM {table}")) for table in WRITTEN]
        return {table: sorted(map(tuple, rows), key=repr) for table, rows in tables}


@pytest.fixture
async def scene(
    database: SqlDatabase,
    open_another: Callable[[], SqlDatabase],
    virtual_clock: VirtualClock,
    tmp_path: Path,
) -> AsyncIterator[Scene]:
    async with (
        Origin(virtual_clock) as origin,
        opened_engine(open_another(), virtual_clock, tmp_path / "blobs", worker="anna") as first,
        opened_engine(open_another(), virtual_clock, tmp_path / "blobs", worker="bert") as second,
    ):
        feed = origin.feed("/feed.xml", [Post("1", "One")])
        now = virtual_clock.now()
        async with database.write() as tx:
            feed_id = FeedId(str(uuid4()))
            await insert_or_restore_feed(
                tx,
                feed.url,
                FeedOptions(),
                feed_id=feed_id,
                interval_sec=900,
                now=now,
                visit_at=now,
            )
        yield Scene(Hand(first), Hand(second), feed, virtual_clock, database)


@pytest.mark.parametrize("stage", STAGES)
async def test_a_worker_paused_past_its_lease_commits_nothing_after_another_has_committed(
    scene: Scene, stage: str
) -> None:
    (due,) = await scene.anna.claim()
    paused = await scene.anna.go_to(stage, due)
    await scene.clock.advance(LEASE + 1)
    scene.feed.publish(Post("2", "Two"))
    (taken_over,) = await scene.bert.claim()
    done = await (await scene.bert.go_to("claimed", taken_over)).finish()
    assert isinstance(done, JudgedVisit)
    before = await scene.rows()
    assert len(before["entries"]) == len(before["events"]) == 2
    assert await paused.finish() == ClaimLost()
    assert await scene.rows() == before


@pytest.mark.parametrize("stage", STAGES)
async def test_a_worker_paused_past_its_lease_commits_nothing_while_another_is_on_its_way(
    scene: Scene, stage: str
) -> None:
    (due,) = await scene.anna.claim()
    paused = await scene.anna.go_to("read", due)
    await scene.clock.advance(LEASE + 1)
    (taken_over,) = await scene.bert.claim()
    other = await scene.bert.go_to(stage, taken_over)
    before = await scene.rows()
    assert await paused.finish() == ClaimLost()
    assert await scene.rows() == before
    assert isinstance(await other.finish(), JudgedVisit)
    assert [len((await scene.rows())[table]) for table in ("visits", "entries", "events")] == [
        1
    ] * 3


async def test_a_worker_paused_past_its_lease_neither_renews_nor_gives_back_what_it_lost(
    scene: Scene,
) -> None:
    held = await scene.anna.claim()
    await scene.clock.advance(LEASE + 1)
    await scene.bert.claim()
    before = await scene.rows()
    later = to_micros(scene.clock.now()) + 999_000_000
    async with scene.anna.engine.database.write() as tx:
        await claim_rows.renew_claims(tx, held, later)
        await claim_rows.release_claims(tx, [(due, later) for due in held])
    assert await scene.rows() == before


async def test_the_visit_keeps_its_planned_moment_when_it_changes_hands(scene: Scene) -> None:
    (due,) = await scene.anna.claim()
    await scene.clock.advance(LEASE + 1)
    (taken_over,) = await scene.bert.claim()
    assert taken_over.scheduled_at == due.scheduled_at
    assert taken_over.fence == due.fence + 1
