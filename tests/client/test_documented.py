"""What docs/client.md shows is what happens: its programs are run."""

import asyncio
import re
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from headwater.adapters.clock import SystemClock
from headwater.adapters.database import SqlDatabase
from headwater.client import Patience
from headwater.settings import Settings
from tests.support.api_server import Served, served
from tests.support.docs_pages import page
from tests.support.engine_parts import EngineParts
from tests.support.scripted_engine import River, ScriptedWeb, an_engine, an_entry

TEXT = page("docs/client.md")
THREADS, LOOPS = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)

on_sqlite = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)


@pytest.fixture
def engine(database: SqlDatabase, tmp_path: Path) -> EngineParts:
    return an_engine(database, SystemClock(), ScriptedWeb(), tmp_path)


@pytest.fixture
async def service(engine: EngineParts, tmp_path: Path) -> AsyncIterator[Served]:
    river = River(engine, ScriptedWeb())
    feed = await river.feed("a")
    await river.entries(feed, an_entry("one", "First"), an_entry("two", "Second"))
    async with served(engine, Settings(data_dir=tmp_path, port=0)) as running:
        yield running


@asynccontextmanager
async def program(text: str, service: Served, folder: Path) -> AsyncIterator[asyncio.StreamReader]:
    """Its output, until the block ends it."""
    there = text.replace("http://127.0.0.1:8470", service.url)
    assert there != text
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-u", "-c", there, cwd=folder, stdout=PIPE
    )
    assert process.stdout is not None
    try:
        yield process.stdout
    finally:
        process.kill()
        await process.wait()


@on_sqlite
async def test_the_first_program_goes_on_where_it_was(service: Served, tmp_path: Path) -> None:
    await service.tell(1, "feed_gone")
    await service.tell(1, entry_uid="one")
    await service.tell(1, entry_uid="two")
    cursor = tmp_path / "my-program.cursor"
    async with program(THREADS, service, tmp_path) as said:
        assert await said.readline() == b"2 First\n"
        assert await said.readline() == b"3 Second\n"
    cursor.write_text("2\n")  # as a crash in the middle of the third would leave it
    async with program(THREADS, service, tmp_path) as said:
        assert await said.readline() == b"3 Second\n"
        await service.tell(1, entry_uid="one")
        assert await said.readline() == b"4 First\n"


@on_sqlite
async def test_the_program_on_asyncio(service: Served, tmp_path: Path) -> None:
    await service.tell(2, "feed_gone")
    async with program(LOOPS, service, tmp_path) as said:
        assert await said.readline() == b"1 feed_gone\n"
        assert await said.readline() == b"2 feed_gone\n"


def test_the_limits_are_those_of_the_page() -> None:
    limits = Patience()
    told = (limits.connect, limits.ask, limits.stream, limits.longest_rest)
    assert told == (10.0, 60.0, 45.0, 60.0)
    assert (limits.most_bytes, limits.longest_event) == (256 * 1024**2, 16 * 1024**2)
