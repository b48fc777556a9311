"""The server behind personal feeds: away, slow, restarted, forgetful; and what requests ask it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from redis.asyncio import Redis

from headwater.auth.tokens import token_hash
from headwater.core.errors import BadSettings, ConnectionLost
from headwater.personal_feeds.ports import PersonalChanges
from headwater.personal_feeds.redis.connection import RedisConnection
from headwater.personal_feeds.redis.store import PersonalRedis
from headwater.personal_feeds.redis.versions import changes_since, forget_old_changes
from headwater.personal_feeds.served_feeds import PersonalFeedRequest, PersonalFeeds, PersonalPolicy
from tests.support.brokers import OwnServer, own_redis
from tests.support.clock import VirtualClock
from tests.support.personal_items import BEGIN, a_reader, an_item, guid, guids_in, with_token
from tests.support.personal_redis import elsewhere, own_server, pen, store

__all__ = ["elsewhere", "own_server", "pen", "store"]

SEARCHES = {"SCAN", "KEYS", "SSCAN", "HSCAN", "ZSCAN", "RANDOMKEY", "SORT"}


@asynccontextmanager
async def watched(url: str) -> AsyncIterator[list[str]]:
    """Every command the server runs meanwhile, those of scripts too."""
    seen: list[str] = []
    async with Redis.from_url(url, protocol=2) as client, client.monitor() as monitor:

        async def listen() -> None:
            while "ECHO end" not in seen:
                seen.append((await monitor.next_command())["command"])

        listening = asyncio.create_task(listen())
        async with Redis.from_url(url, protocol=2) as other:
            await other.echo("begin")
            yield seen
            await other.echo("end")
            await listening


def verbs(seen: list[str]) -> set[str]:
    return {line.split(" ", 1)[0].upper() for line in seen}


async def test_requests_never_search_the_keys(
    own_server: OwnServer, store: PersonalRedis, pen: Any, virtual_clock: VirtualClock
) -> None:
    await pen.set("rss:token:plain", "bo")
    await pen.set("rss:user:bo:categories", '["news"]')
    await with_token(store, a_reader("mia", "news", "*"), "sesame")
    feeds = PersonalFeeds(store, virtual_clock, PersonalPolicy())
    async with watched(own_server.url) as seen:
        for number in range(3):
            await store.add([an_item("news", number, caller_id=f"c{number}"), an_item("*", 90)])
            await store.revise([an_item("news", number, title="New", changed_at=BEGIN + 1)])
            await virtual_clock.advance(1)
            for token in ("sesame", "plain", "unknown"):
                holder = await feeds.holder(token)
                if holder is not None:
                    await feeds.built(holder, PersonalFeedRequest("rss"))
                    feeds.note_use(holder.token_id)
        await feeds.flush()
        await store.readers()
        await store.reader_named("mia")
        await store.tokens("id-of-mia")
        await store.change_reader("id-of-mia", name=None, categories=["art"], now=BEGIN)
        await store.end_token("id-of-sesame", until=BEGIN, revoked=True, now=BEGIN)
        await store.remove_reader("id-of-mia", BEGIN)
    assert {"EVALSHA", "ZREVRANGEBYLEX", "GET", "ZADD"} <= verbs(seen)
    assert verbs(seen) & SEARCHES == set()
    async with watched(own_server.url) as upkeep:
        await store.upkeep(BEGIN)
    assert "SCAN" in verbs(upkeep)
    assert "KEYS" not in verbs(upkeep)
    await feeds.close()


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 50, 200, 1_000])
@pytest.mark.parametrize("odd", [False, True])
async def test_the_newest_of_many_categories_are_those_that_sorting_finds(
    store: PersonalRedis, pen: Any, limit: int, odd: bool
) -> None:
    """Uneven categories, guids in several of them, some names that are no UUIDs, some gone."""
    luck = Random(limit)
    items = [
        an_item(
            f"c{int(luck.triangular(0, 40, 0))}", number // 2 if luck.random() < 0.3 else number
        )
        for number in range(600)
    ]
    if odd:
        items = [
            replace(i, guid=f"{i.guid[-2:]}é{i.guid}") if luck.random() < 0.2 else i for i in items
        ]
    await store.add(items)
    kept = {(item.category, item.guid): item for item in items}
    for place in luck.sample(sorted(kept), 60):
        await pen.delete(f"rss:category:{place[0]}:{place[1]}")
        del kept[place]
    asked = [f"c{number}" for number in range(0, 40, 2)]
    wanted = {guid for category, guid in kept if category in asked}
    newest = sorted(wanted, key=lambda name: name.encode(), reverse=True)[:limit]
    shelf = await store.newest(asked, limit, BEGIN)
    found = [(item.category, item.guid) for item in shelf.items]
    assert list(dict.fromkeys(name for _, name in found)) == newest
    assert set(found) == {place for place in kept if place[0] in asked and place[1] in newest}
    assert len(found) == len(set(found))


async def test_a_feed_costs_what_it_shows_and_not_what_there_is(
    own_server: OwnServer, store: PersonalRedis
) -> None:
    async def cost() -> int:
        async with watched(own_server.url) as seen:
            assert len(await guids_in(store, ["news", "art"], limit=10)) == 10
        return len(seen)

    await store.add([an_item("news", number) for number in range(20)])
    small = await cost()
    for start in range(100, 4_100, 500):
        await store.add([an_item("news", number) for number in range(start, start + 500)])
    assert await cost() == small


async def test_a_server_that_is_away_is_said_so_and_found_again(
    mortal_redis: OwnServer, virtual_clock: VirtualClock
) -> None:
    store = PersonalRedis(mortal_redis.url, virtual_clock, timeout=2.0)
    await with_token(store, a_reader("mia", "news"), "sesame")
    await store.add([an_item("news", 1)])
    mortal_redis.kill()
    for asked in (
        store.holder(token_hash("sesame"), "sesame", BEGIN),
        store.newest(["news"], 5, BEGIN),
        store.changes(0),
        store.add([an_item("news", 2)]),
        store.upkeep(BEGIN),
        store.trouble(),
    ):
        with pytest.raises(ConnectionLost):
            await asked
    mortal_redis.start()
    assert await guids_in(store, ["news"]) == [guid(1)]
    assert await store.holder(token_hash("sesame"), "sesame", BEGIN) is not None
    await store.close()


async def test_a_restart_between_two_questions_is_not_noticed(
    mortal_redis: OwnServer, virtual_clock: VirtualClock
) -> None:
    store = PersonalRedis(mortal_redis.url, virtual_clock)
    await store.add([an_item("news", 1)])
    mortal_redis.kill()
    mortal_redis.start()
    assert await guids_in(store, ["news"]) == [guid(1)]
    await store.close()


async def test_a_server_that_says_nothing_is_not_waited_for(
    mortal_redis: OwnServer, virtual_clock: VirtualClock
) -> None:
    store = PersonalRedis(mortal_redis.url, virtual_clock, timeout=0.2)
    await store.add([an_item("news", 1)])
    mortal_redis.pause()
    with pytest.raises(ConnectionLost):
        await store.newest(["news"], 5, BEGIN)
    mortal_redis.go_on()
    assert await guids_in(store, ["news"]) == [guid(1)]
    await store.close()


async def test_a_wrong_password_is_told_without_repeating_it(virtual_clock: VirtualClock) -> None:
    with own_redis("--requirepass", "right") as server:
        url = server.url.replace("://", "://:wr0ng-secret@")
        store = PersonalRedis(url, virtual_clock)
        with pytest.raises(ConnectionLost) as lost:
            await store.readers()
        assert "wr0ng-secret" not in str(lost.value)
        await store.close()


@pytest.mark.parametrize("url", ["http://host", "redis://:s3cret@host:port", "host:6379", ""])
def test_an_address_that_is_none_is_refused_without_repeating_it(
    url: str, virtual_clock: VirtualClock
) -> None:
    with pytest.raises(BadSettings) as refused:
        PersonalRedis(url, virtual_clock)
    assert "s3cret" not in str(refused.value)
    assert refused.value.__cause__ is None


async def test_many_ask_at_once_over_few_connections(
    own_server: OwnServer, pen: Any, virtual_clock: VirtualClock
) -> None:
    store = PersonalRedis(own_server.url, virtual_clock, connections=2)
    await store.add([an_item("news", 1)])
    shelves = await asyncio.gather(*(store.newest(["news"], 5, BEGIN) for _ in range(50)))
    assert {len(shelf.items) for shelf in shelves} == {1}
    clients = await pen.client_list()
    assert sum(client["name"] == "headwater" for client in clients) <= 2
    await store.close()


async def test_nothing_is_lost_that_many_add_at_once(
    store: PersonalRedis, elsewhere: PersonalRedis
) -> None:
    """Two processes, the same callers' ids: each comes once, and both are told the same guid."""
    answers = await asyncio.gather(
        *(
            (store, elsewhere)[number % 2].add(
                [an_item("news", number, caller_id=f"c{number // 2}")]
            )
            for number in range(100)
        )
    )
    assert sum(answer[0].is_new for answer in answers) == 50
    shown = await guids_in(store, ["news"], limit=100)
    assert len(shown) == 50
    assert {answer[0].guid for answer in answers} == set(shown)


async def test_everything_lost_is_a_change_of_everything(
    store: PersonalRedis, pen: Any, virtual_clock: VirtualClock
) -> None:
    await store.add([an_item("news", number) for number in range(5)])
    seen = (await store.changes(-1)).version
    await pen.flushall()
    await virtual_clock.advance(1)
    for number in range(20):
        await store.add([an_item("news", number)])
    assert (await store.changes(seen)).everything


async def test_changes_of_long_ago_are_forgotten_and_said_so(
    own_server: OwnServer, store: PersonalRedis
) -> None:
    first = (await store.changes(-1)).version
    for number in range(10):
        await store.add([an_item(f"c{number}", number)])
    last = (await store.changes(-1)).version
    link = RedisConnection(own_server.url)
    assert await forget_old_changes(link, keep=4) == 6
    assert await forget_old_changes(link, keep=4) == 0
    assert await changes_since(link, first, BEGIN) == PersonalChanges(last, everything=True)
    known = await changes_since(link, last - 4, BEGIN)
    assert known.categories == {"c6", "c7", "c8", "c9"}
    await link.close()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--appendonly", "no", "--save", ""), "keeps nothing on disk"),
        (("--appendonly", "no", "--save", "60 1"), None),
        (("--appendonly", "yes"), None),
        (("--maxmemory", "100mb", "--maxmemory-policy", "volatile-ttl"), "volatile-ttl"),
        (("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"), "allkeys-lru"),
        (("--maxmemory", "100mb", "--maxmemory-policy", "noeviction"), None),
        (("--maxmemory-policy", "allkeys-lru"), None),
    ],
    ids=["nothing", "snapshots", "aof", "volatile", "allkeys", "noeviction", "no limit"],
)
async def test_what_would_lose_data_is_told(
    virtual_clock: VirtualClock, words: tuple[str, ...], told: str | None
) -> None:
    with own_redis(*words) as server:
        store = PersonalRedis(server.url, virtual_clock)
        trouble = await store.trouble()
        await store.close()
    assert (trouble is None) == (told is None)
    assert (told or "") in (trouble or "")
