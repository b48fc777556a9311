"""Every refusal that the first plan of personal feeds shows, met on the real service.

A client that was written against that plan finds its `detail` and `status_code` where it expects
them, whichever store the service has.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from headwater.settings import Settings
from tests.support import feed_rules_rss
from tests.support.api_caller import Answer
from tests.support.brokers import OwnServer
from tests.support.strict_xml import tree_of, words_of
from tests.support.wired_service import ADMIN, TOKEN, Live, live, settings_for

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)

ITEM = {
    "title": "A title",
    "description": "Some words",
    "link": "https://posts.example/1",
    "category": "finance",
}


@pytest.fixture(params=["database", "redis"])
def settings(request: pytest.FixtureRequest, database_url: str, tmp_path: Path) -> Settings:
    if request.param == "database":
        return settings_for(tmp_path, database_url)
    server: OwnServer = request.getfixturevalue("mortal_redis")
    return settings_for(
        tmp_path, database_url, personal_store="redis", personal_redis_url=server.url
    )


@pytest.fixture
async def service(settings: Settings) -> AsyncIterator[Live]:
    async with live(settings) as running:
        await running.readers.opened("Ada", "finance", "home", token=TOKEN)
        yield running


def said(answer: Answer) -> tuple[int, str, int]:
    """What such a client looks at."""
    assert answer.error
    assert answer.headers["content-type"] == "application/json"
    return answer.status, answer.json["detail"], answer.json["status_code"]


async def test_an_invalid_token_is_401(service: Live) -> None:
    for token in ("", "%20", "two%20words", "t%C3%B6ken", "a%00b", "x" * 257):
        assert said(await service.ask(f"/rss?token={token}")) == (401, "Invalid RSS token", 401)


async def test_a_token_that_nobody_has_is_404(service: Live) -> None:
    for token in ("unknown", TOKEN[:-1], TOKEN + "x", TOKEN.lower()):
        assert said(await service.ask(f"/rss?token={token}")) == (404, "RSS token not found", 404)


async def test_a_missing_token_is_422_in_the_shape_of_the_framework(service: Live) -> None:
    for query in ("", "?user=ada", "?Token=x", "?limit=5"):
        answer = await service.ask(f"/rss{query}")
        assert answer.status == 422
        assert answer.json["detail"] == [
            {"type": "missing", "loc": ["query", "token"], "msg": "Field required"}
        ]


async def test_an_item_without_a_field_is_422_in_the_shape_of_the_framework(service: Live) -> None:
    for missing in ITEM:
        answer = await posted(service, {name: ITEM[name] for name in ITEM if name != missing})
        assert answer.status == 422
        assert [(each["loc"], each["type"]) for each in answer.json["detail"]] == [
            (["body", missing], "missing")
        ]


async def test_a_feed_with_nothing_in_it_is_a_valid_feed(service: Live) -> None:
    answer = await service.ask(f"/rss?token={TOKEN}")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/rss+xml"
    assert answer.body.startswith(b"<?xml version='1.0' encoding='utf-8'?>")
    assert feed_rules_rss.broken(answer.body) == []
    rss = tree_of(answer.body)
    assert feed_rules_rss.items_of(rss) == []
    for name in ("title", "link", "description", "lastBuildDate"):
        assert words_of(rss, f"channel/{name}")


async def test_what_was_added_is_read_in_the_shape_that_was_planned(service: Live) -> None:
    answer = await posted(service, {**ITEM, "pub_date": "2026-03-01T12:30:15"})
    assert answer.status == 201
    body = (await service.ask(f"/rss?token={TOKEN}")).body
    assert feed_rules_rss.broken(body) == []
    (item,) = feed_rules_rss.items_of(tree_of(body))
    assert {name: item.findtext(name) for name in ("title", "description", "link", "guid")} == {
        "title": "A title",
        "description": "Some words",
        "link": "https://posts.example/1",
        "guid": answer.json["guid"],
    }
    assert item.findtext("pubDate") == "Sun, 01 Mar 2026 12:30:15 GMT"
    assert b"user=" not in body
    assert TOKEN.encode() not in body


async def posted(service: Live, item: dict[str, Any]) -> Answer:
    return await service.post("/internal/rss/item", item, Authorization=f"Bearer {ADMIN}")


async def test_a_redis_that_is_away_is_500_and_back_when_it_is_back(
    mortal_redis: OwnServer, database_url: str, tmp_path: Path
) -> None:
    settings = settings_for(
        tmp_path, database_url, personal_store="redis", personal_redis_url=mortal_redis.url
    )
    async with live(settings) as service:
        await service.readers.opened("Ada", "finance", token=TOKEN)
        assert (await service.ask(f"/rss?token={TOKEN}")).status == 200
        mortal_redis.kill()
        await until(service, 500)
        away = await service.ask(f"/rss?token={TOKEN}")
        assert said(away) == (500, "RSS service temporarily unavailable", 500)
        assert int(away.headers["retry-after"]) > 0
        assert str(mortal_redis.port) not in away.body.decode()
        unheard = await posted(service, ITEM)
        assert (unheard.status, int(unheard.headers["retry-after"]) > 0) == (500, True)
        mortal_redis.start()
        await until(service, 200)


async def until(service: Live, status: int) -> None:
    """What is remembered is good for half a second, so asking on is enough."""
    while (await service.ask(f"/rss?token={TOKEN}")).status != status:
        pass
