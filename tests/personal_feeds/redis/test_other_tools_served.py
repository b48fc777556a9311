"""Another tool wrote tokens, categories and items straight into Redis: readers get a sound feed."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from redis.asyncio import Redis
from uuid_utils import uuid7

from headwater.core.values.instant import to_micros
from tests.support import feed_rules_atom, feed_rules_json, feed_rules_rss
from tests.support.brokers import OwnServer
from tests.support.hostile_texts import NASTY
from tests.support.strict_xml import tree_of
from tests.support.wired_service import Live, live, settings_for

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)

TOKEN = "a-token-of-another-tool"
FORTNIGHT = 14 * 24 * 3600
BROKEN = {
    "/rss": feed_rules_rss.broken,
    "/atom": feed_rules_atom.broken,
    "/feed.json": feed_rules_json.broken,
}


@pytest.fixture
async def redis(mortal_redis: OwnServer) -> AsyncIterator[Redis]:
    async with Redis.from_url(mortal_redis.url) as client:
        yield client


@pytest.fixture
async def service(
    mortal_redis: OwnServer, database_url: str, tmp_path: Path
) -> AsyncIterator[Live]:
    settings = settings_for(
        tmp_path, database_url, personal_store="redis", personal_redis_url=mortal_redis.url
    )
    async with live(settings) as running:
        yield running


async def written(redis: Redis, category: str, **words: str) -> str:
    """As such a tool writes an item: one key with the time it lives, nothing else. Its guid."""
    guid = str(uuid7())
    item = {
        "title": "A title",
        "description": "Some words",
        "link": "https://posts.example/1",
        "pub_date": "2026-03-01T12:30:15",
        "guid": guid,
        "category": category,
    }
    key = f"rss:category:{category}:{guid}"
    await redis.set(key, json.dumps(item | words), ex=FORTNIGHT)
    return guid


async def with_a_reader(redis: Redis, *categories: str) -> None:
    await redis.set(f"rss:token:{TOKEN}", "user-1")
    await redis.set("rss:user:user-1:categories", json.dumps(categories))


async def test_what_another_tool_wrote_keeps_every_rule(redis: Redis, service: Live) -> None:
    categories = ("finance", "a:b", "*")
    await with_a_reader(redis, *categories)
    for number, text in enumerate(NASTY):
        category = categories[number % len(categories)]
        await written(redis, category, title=text, description=text, link=text)
    await service.engine.personal.upkeep(to_micros(service.engine.clock.now()))
    for path, broken in BROKEN.items():
        answer = await service.ask(f"{path}?token={TOKEN}")
        assert answer.status == 200
        assert broken(answer.body) == []
    rss = tree_of((await service.ask(f"/rss?token={TOKEN}")).body)
    assert len(feed_rules_rss.items_of(rss)) == len(NASTY)


async def test_what_another_tool_broke_is_left_out(redis: Redis, service: Live) -> None:
    await with_a_reader(redis, "finance")
    guid = await written(redis, "finance")
    for damage in (b"", b"{", b"[]", b"null", b'{"title": 1}', b"\xff"):
        await redis.set(f"rss:category:finance:{uuid7()}", damage, ex=FORTNIGHT)
    await service.engine.personal.upkeep(to_micros(service.engine.clock.now()))
    answer = await service.ask(f"/rss?token={TOKEN}")
    assert (answer.status, feed_rules_rss.broken(answer.body)) == (200, [])
    (item,) = feed_rules_rss.items_of(tree_of(answer.body))
    assert item.findtext("guid") == guid
