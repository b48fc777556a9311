"""The part of a service that looks after personal feeds."""

import asyncio
from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.settings import Settings
from headwater.wiring.background import personal_loop
from tests.support.clock import VirtualClock
from tests.support.counting_store import CountingStore
from tests.support.engine import opened_engine
from tests.support.personal_items import BEGIN, DAY, a_reader, an_item, with_token

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)


async def test_it_clears_away_and_notes_uses_until_it_is_stopped(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> None:
    async with opened_engine(database, virtual_clock, tmp_path) as engine:
        await with_token(engine.personal, a_reader("mia"), "sesame")
        await engine.personal.add([an_item("news", 1, days=1)])
        part = personal_loop(engine.services, Settings(personal_pickup_sec=20))
        running = asyncio.create_task(part.run())
        await virtual_clock.asleep()
        engine.personal_feeds.note_use("id-of-sesame")
        await virtual_clock.advance(86_400)
        await virtual_clock.asleep()
        (token,) = await engine.personal.tokens("id-of-mia")
        assert token.last_used_at == BEGIN
        async with database.read() as view:
            assert await view.rows("SELECT 1 FROM personal_items") == []
        part.stop()
        await running


async def test_a_store_that_is_away_ends_nothing(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> None:
    async with opened_engine(database, virtual_clock, tmp_path) as engine:
        store = CountingStore(engine.personal)
        engine.personal = store
        store.is_away = True
        part = personal_loop(engine.services, Settings(personal_pickup_sec=20))
        running = asyncio.create_task(part.run())
        await virtual_clock.advance_to_next()
        store.is_away = False
        await virtual_clock.asleep()
        assert store.taken()["upkeep"] >= 2
        assert not running.done()
        part.stop()
        await running


async def test_its_last_uses_are_written_when_the_engine_closes(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> None:
    async with opened_engine(database, virtual_clock, tmp_path) as engine:
        await with_token(engine.personal, a_reader("mia"), "sesame")
        engine.personal_feeds.note_use("id-of-sesame")
        store = engine.personal
    (token,) = await store.tokens("id-of-mia")
    assert token.last_used_at == BEGIN
    assert token.is_open(BEGIN + DAY)
