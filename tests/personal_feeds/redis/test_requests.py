"""The whole service on Redis: what requests answer, and that none of them searches the keys."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.entrypoints.api.app import create_app
from headwater.personal_feeds.redis.store import PersonalRedis
from headwater.personal_feeds.served_feeds import PersonalFeeds, PersonalPolicy
from headwater.settings import Settings
from tests.personal_feeds.redis.test_store_server_trouble import SEARCHES, verbs, watched
from tests.support.api_caller import Api
from tests.support.brokers import OwnServer
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.personal_items import BEGIN
from tests.support.personal_redis import own_server, pen, store
from tests.support.scripted_engine import ScriptedWeb, an_engine

__all__ = ["own_server", "pen", "store"]

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
ADMIN = "an-admin-token-of-the-tests"


@pytest.fixture
async def engine(
    database: SqlDatabase, store: PersonalRedis, virtual_clock: VirtualClock, tmp_path: Path
) -> AsyncIterator[EngineParts]:
    feeds = PersonalFeeds(store, virtual_clock, PersonalPolicy())
    plain = an_engine(database, virtual_clock, ScriptedWeb(), tmp_path)
    yield replace(plain, personal=store, personal_feeds=feeds)
    await feeds.close()


@pytest.fixture
def api(engine: EngineParts, tmp_path: Path) -> Api:
    settings = Settings(data_dir=tmp_path, admin_token=ADMIN)
    return Api(create_app(engine.services, settings), ADMIN)


def an_offer(number: int) -> dict[str, Any]:
    return {
        "title": f"Title {number}",
        "description": "Words",
        "link": f"https://posts.example/{number}",
        "category": "a:*",
        "id": f"c{number}",
    }


async def test_no_request_searches_the_keys(
    api: Api, own_server: OwnServer, store: PersonalRedis, pen: Any, virtual_clock: VirtualClock
) -> None:
    await pen.set("rss:token:of-another-tool", "bo")
    await pen.set("rss:user:bo:categories", '["a:*"]')
    async with watched(own_server.url) as seen:
        made = await api.post("/readers", {"name": "Ada", "categories": ["a:*"]})
        place = f"/readers/{made.json['id']}"
        given = await api.post(f"{place}/tokens", {})
        token = given.json["token"]
        for number in range(3):
            added = await api.post("/internal/rss/item", an_offer(number))
            assert added.status == 201
            await virtual_clock.advance(1)
            for path in ("/rss", "/atom", "/feed.json"):
                for shown in (token, "of-another-tool"):
                    answer = await api.get(f"{path}?token={shown}")
                    assert answer.status == 200
                    assert f"Title {number}".encode() in answer.body
        assert (await api.get("/rss?token=a-guess")).status == 404
        assert (await api.get("/readers")).status == 200
        assert (await api.get(place)).status == 200
        assert (await api.delete(place)).status < 300
    assert {"EVALSHA", "ZREVRANGEBYLEX"} <= verbs(seen)
    assert verbs(seen) & SEARCHES == set()


async def test_what_another_tool_wrote_is_in_the_feed_after_a_pass(
    api: Api, store: PersonalRedis, pen: Any, virtual_clock: VirtualClock
) -> None:
    await pen.set("rss:token:of-another-tool", "bo")
    await pen.set("rss:user:bo:categories", '["news"]')
    before = await api.get("/rss?token=of-another-tool")
    assert (before.status, b"<item>" in before.body) == (200, False)
    await pen.set(
        "rss:category:news:019b8e07-4600-7000-8000-000000000001",
        '{"title": "From elsewhere", "description": "d", "link": "https://x.example/",'
        ' "pub_date": "2026-01-05T11:00:00", "guid": "x", "category": "y"}',
    )
    await store.upkeep(BEGIN)
    await virtual_clock.advance(1)
    after = await api.get("/rss?token=of-another-tool")
    assert b"From elsewhere" in after.body
    await pen.set("rss:user:bo:categories", '["art"]')
    await store.upkeep(BEGIN)
    await virtual_clock.advance(1)
    moved = await api.get("/rss?token=of-another-tool")
    assert b"From elsewhere" not in moved.body
