"""Politeness survives a kill: a host asked a moment ago is not asked again at once (J5)."""

import asyncio
import time
from pathlib import Path

import pytest

from tests.crash.records import records_of
from tests.crash.running import Service
from tests.support.origin import Origin, Post

pytestmark = pytest.mark.crash

HOST_RPS = "0.01"
"""One request in a hundred seconds: longer than any restart takes."""

VISITED_WITHIN = 60.0
WATCHED_FOR = 4.0


async def visited(database_url: str, blobs: Path) -> None:
    """Returns when the first visit is committed."""
    deadline = time.monotonic() + VISITED_WITHIN
    while not (await records_of(database_url, blobs)).visits:
        assert time.monotonic() < deadline, "no visit is made"
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_host_asked_just_before_a_kill_has_its_rest_after_the_restart(
    database_url: str, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    settings = {
        "DATABASE_URL": database_url,
        "HEADWATER_BLOB_URL": str(tmp_path / "blobs"),
        "HOST_RPS": HOST_RPS,
    }
    service = Service(tmp_path / "data", settings)
    async with Origin() as origin:
        feed = origin.feed("/feed.xml", [Post("1", "One")])
        try:
            await service.start()
            await service.post("/feeds", {"url": feed.url, "visit": "later"})
            await visited(database_url, tmp_path / "blobs")
            await service.kill()
            await service.start()
            await asyncio.sleep(WATCHED_FOR)
        finally:
            await service.end()
        # The feed itself is due again after a second, but its host is not.
        assert len(origin.requests) == 1
