"""SIGTERM under load: what can finish finishes, the rest is let go, all within ten seconds."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.crash.records import records_of
from tests.crash.running import Service
from tests.support.origin import Origin, Post

pytestmark = pytest.mark.crash

FEEDS = 30
NEVER = 600.0
ASKED_WITHIN = 60.0


async def everybody_asked(origin: Origin) -> None:
    deadline = time.monotonic() + ASKED_WITHIN
    while len({request.address for request in origin.requests}) < FEEDS:
        assert time.monotonic() < deadline, "some feeds are not asked at all"
        await asyncio.sleep(0.01)


@asynccontextmanager
async def under_load(origin: Origin, database_url: str, folder: Path) -> AsyncIterator[Service]:
    """Feeds that answer after a second, and a third of them not at all; all are being asked."""
    (folder / "data").mkdir()
    settings = {"DATABASE_URL": database_url, "HEADWATER_BLOB_URL": str(folder / "blobs")}
    service = Service(folder / "data", settings)
    await service.start()
    try:
        for number in range(FEEDS):
            address = f"127.79.0.{number + 1}"
            await origin.listen(address)
            feed = origin.feed("/feed.xml", [Post("1", "One")], address=address)
            feed.delay = NEVER if number % 3 == 0 else 1.0
            await service.post("/feeds", {"url": feed.url, "visit": "later"})
        await everybody_asked(origin)
        yield service
    finally:
        await service.end()


async def test_a_stop_under_load_ends_in_ten_seconds_and_leaves_nothing_claimed(
    database_url: str, tmp_path: Path
) -> None:
    async with Origin() as origin, under_load(origin, database_url, tmp_path) as service:
        before = await records_of(database_url, tmp_path / "blobs")
        took = await service.stop()
        after = await records_of(database_url, tmp_path / "blobs")
    assert took < 10.0
    assert [feed["claimed_by"] for feed in after.feeds] == [None] * FEEDS
    assert all(feed["next_visit_at"] is not None for feed in after.feeds)
    assert {visit["outcome"] for visit in after.visits} == {"fetched"}
    # What could not finish is due again at once, as the same visit.
    planned = {feed["id"]: feed["scheduled_at"] for feed in before.feeds}
    let_go = [feed for feed in after.feeds if not after.visits_of[feed["id"]]]
    assert len(let_go) == FEEDS // 3
    assert all(feed["scheduled_at"] == planned[feed["id"]] for feed in let_go)
    assert all(feed["next_visit_at"] <= time.time() * 1_000_000 for feed in let_go)
