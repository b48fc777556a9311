"""Other tools write the same keys: what they wrote is found, shown, and left as it is."""

import json
from dataclasses import replace
from typing import Any

import pytest
import structlog

from headwater.core.values.instant import from_micros
from headwater.personal_feeds.ports import PersonalChanges
from headwater.personal_feeds.redis import pickup
from headwater.personal_feeds.redis.pickup import PickupPolicy
from headwater.personal_feeds.redis.store import PersonalRedis
from tests.support.brokers import OwnServer
from tests.support.clock import VirtualClock
from tests.support.log_lines import heard
from tests.support.personal_items import (
    BEGIN,
    DAY,
    ODD_NAMES,
    SECOND,
    a_reader,
    an_item,
    guid,
    guids_in,
)
from tests.support.personal_redis import elsewhere, own_server, pen, store

__all__ = ["elsewhere", "own_server", "pen", "store"]

TWO_WEEKS = 14 * 86_400


def uuid7_at(micros: int, number: int = 0) -> str:
    """As another tool makes them: the moment in milliseconds, then anything."""
    stamp = f"{micros // 1000:012x}"
    return f"{stamp[:8]}-{stamp[8:]}-7000-8000-{number:012x}"


async def written(pen: Any, category: str, name: str, **said: Any) -> str:
    """An item as another tool writes it. Its key."""
    words = {
        "title": f"Title of {name}",
        "description": "Words",
        "link": "https://other.example/",
        "pub_date": "2026-01-05T11:30:00+00:00",
        "guid": name,
        "category": category,
    }
    key = f"rss:category:{category}:{name}"
    await pen.set(key, json.dumps(words | said), ex=TWO_WEEKS)
    return key


async def test_what_another_tool_wrote_is_shown_after_the_next_pass(
    store: PersonalRedis, pen: Any
) -> None:
    name = uuid7_at(BEGIN - DAY)
    seen = (await store.changes(-1)).version
    await written(pen, "news", name)
    assert await guids_in(store, ["news"]) == []
    await store.upkeep(BEGIN)
    (item,) = (await store.newest(["news"], 10, BEGIN)).items
    assert (item.guid, item.category, item.title) == (name, "news", f"Title of {name}")
    assert (item.arrived_at, item.changed_at) == (BEGIN - DAY, BEGIN - DAY)
    assert item.expires_at == BEGIN + 13 * DAY
    assert item.pub_date == BEGIN - 1_800 * SECOND
    assert (await store.changes(seen)).categories == {"news"}
    assert (await store.newest(["news"], 10, BEGIN)).changed_at == BEGIN


async def test_a_second_pass_finds_nothing_new(store: PersonalRedis, pen: Any) -> None:
    await written(pen, "news", uuid7_at(BEGIN))
    await pen.set("rss:user:mia:categories", '["news"]')
    await store.upkeep(BEGIN)
    seen = (await store.changes(-1)).version
    await store.upkeep(BEGIN + SECOND)
    assert await store.changes(seen) == PersonalChanges(seen)


async def test_a_category_is_all_before_the_last_colon(store: PersonalRedis, pen: Any) -> None:
    for number, name in enumerate(ODD_NAMES):
        await written(pen, name, uuid7_at(BEGIN, number))
    await store.upkeep(BEGIN)
    for number, name in enumerate(ODD_NAMES):
        assert await guids_in(store, [name]) == [uuid7_at(BEGIN, number)]
    assert await guids_in(store, ["a", "?", "a:", ""]) == []


async def test_theirs_and_ours_are_one_feed(store: PersonalRedis, pen: Any) -> None:
    await store.add(
        [replace(an_item("news", 1), guid=uuid7_at(BEGIN, number)) for number in (1, 3)]
    )
    for number in (0, 2, 4):
        await written(pen, "news", uuid7_at(BEGIN, number))
    await store.upkeep(BEGIN)
    assert await guids_in(store, ["news"]) == [uuid7_at(BEGIN, n) for n in (4, 3, 2, 1, 0)]
    assert await guids_in(store, ["news"], limit=2) == [uuid7_at(BEGIN, n) for n in (4, 3)]


async def test_no_key_of_another_tool_is_changed(
    store: PersonalRedis, pen: Any, virtual_clock: VirtualClock
) -> None:
    keys = [await written(pen, "news", uuid7_at(BEGIN, n)) for n in range(3)]
    await pen.persist(keys[0])
    await pen.set(keys[2], "{damaged")
    await pen.set("rss:user:mia:categories", '["news"]')
    keys.append("rss:user:mia:categories")
    before = [(await pen.get(key), await pen.ttl(key)) for key in keys]
    await store.upkeep(BEGIN)
    await virtual_clock.advance(15 * 86_400)
    await store.upkeep(BEGIN + 15 * DAY)
    after = [(await pen.get(key), await pen.ttl(key)) for key in keys]
    assert [words for words, _ in after] == [words for words, _ in before]
    assert all(abs(left - was) < 60 for (_, left), (_, was) in zip(after, before, strict=True))


async def test_an_item_without_an_end_is_shown_for_as_long_as_others(
    store: PersonalRedis, pen: Any
) -> None:
    key = await written(pen, "news", uuid7_at(BEGIN))
    await pen.persist(key)
    await store.upkeep(BEGIN)
    end = BEGIN + 14 * DAY
    assert await guids_in(store, ["news"], now=end - 1) == [uuid7_at(BEGIN)]
    assert await guids_in(store, ["news"], now=end) == []
    for _ in range(2):
        await store.upkeep(end)
        assert await guids_in(store, ["news"], now=end) == []
        assert (await store.newest(["news"], 5, end)).changed_at == end
    assert await pen.exists(key) == 1


async def test_one_that_is_too_old_when_it_is_found_is_not_shown(
    store: PersonalRedis, pen: Any
) -> None:
    await written(pen, "news", uuid7_at(BEGIN - 14 * DAY))
    await store.upkeep(BEGIN)
    assert await guids_in(store, ["news"]) == []


async def test_an_end_that_comes_earlier_is_kept(store: PersonalRedis, pen: Any) -> None:
    key = await written(pen, "news", uuid7_at(BEGIN))
    await pen.pexpire(key, 3_600_000)
    await store.upkeep(BEGIN)
    (item,) = (await store.newest(["news"], 10, BEGIN)).items
    assert BEGIN + 3_590 * SECOND < item.expires_at <= BEGIN + 3_600 * SECOND


async def test_other_words_are_found_too(
    store: PersonalRedis, pen: Any, virtual_clock: VirtualClock
) -> None:
    name = uuid7_at(BEGIN)
    await written(pen, "news", name)
    await written(pen, "art", uuid7_at(BEGIN))
    await store.upkeep(BEGIN)
    seen = (await store.changes(-1)).version
    await written(pen, "news", name, title="Better")
    await virtual_clock.advance(20)
    now = BEGIN + 20 * SECOND
    await store.upkeep(now)
    (item,) = (await store.newest(["news"], 10, now)).items
    assert (item.title, item.arrived_at, item.changed_at) == ("Better", BEGIN, now)
    assert (await store.changes(seen)).categories == {"news"}


async def test_one_that_is_taken_away_is_noticed(store: PersonalRedis, pen: Any) -> None:
    key = await written(pen, "news", uuid7_at(BEGIN, 1))
    await store.add([an_item("art", 1), an_item("sea", 2)])
    await store.upkeep(BEGIN)
    seen = (await store.changes(-1)).version
    await pen.delete(key, f"rss:category:art:{guid(1)}")
    assert await guids_in(store, ["news", "art"]) == []
    await store.upkeep(BEGIN + SECOND)
    assert (await store.changes(seen)).categories == {"news", "art"}
    assert await pen.zcard("rss:index:news") == 0
    assert await pen.exists("rss:foreign:news") == 0


async def test_gone_items_are_made_up_for_by_older_ones(store: PersonalRedis, pen: Any) -> None:
    await store.add([an_item("news", number) for number in range(40)])
    await pen.delete(*(f"rss:category:news:{guid(number)}" for number in range(20, 38)))
    shown = await guids_in(store, ["news"], limit=5)
    assert shown == [guid(39), guid(38), guid(19), guid(18), guid(17)]


@pytest.mark.parametrize("lost", ["rss:index:*", "rss:expiry:*", "rss:changed", "rss:[^ctu]*"])
async def test_a_lost_index_comes_back_with_everything_in_it(
    store: PersonalRedis, pen: Any, lost: str
) -> None:
    await store.add([an_item("a:b", number, caller_id=f"c{number}") for number in range(5)])
    await written(pen, "a:b", uuid7_at(BEGIN, 9))
    await store.upkeep(BEGIN)
    before = (await store.newest(["a:b"], 10, BEGIN)).items
    assert len(before) == 6
    seen = (await store.changes(-1)).version
    await pen.delete(*(await pen.keys(lost)))
    await written(pen, "a:b", uuid7_at(BEGIN, 10))
    await store.upkeep(BEGIN + SECOND)
    after = (await store.newest(["a:b"], 10, BEGIN + SECOND)).items
    assert set(before) < set(after)
    assert len(after) == 7
    told = await store.changes(seen)
    assert told.everything or told.categories == {"a:b"}


async def test_nothing_comes_twice_while_the_index_is_lost(store: PersonalRedis, pen: Any) -> None:
    await store.add([an_item("news", 1, caller_id="x")])
    await pen.delete("rss:index:news", "rss:expiry:news")
    (again,) = await store.add([an_item("news", 2, caller_id="x")])
    assert (again.guid, again.is_new) == (guid(1), False)


async def test_items_that_come_during_a_pass_are_found_by_the_next(
    own_server: OwnServer,
    store: PersonalRedis,
    pen: Any,
    virtual_clock: VirtualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The pass looks at a few keys at a time; another tool writes between any two looks."""
    busy = PersonalRedis(own_server.url, virtual_clock, PickupPolicy(keys=10, values=3))
    names = [uuid7_at(BEGIN, number) for number in range(150)]
    for name in names[:100]:
        await written(pen, "news", name)
    waiting = iter(names[100:])
    whole = busy._connection.run

    async def run(*words: Any) -> Any:
        if (name := next(waiting, None)) is not None:
            await written(pen, "news", name)
        return await whole(*words)

    monkeypatch.setattr(busy._connection, "run", run)
    await busy.upkeep(BEGIN)
    assert next(waiting, None) is None
    assert len(await guids_in(store, ["news"], limit=200)) >= 100
    await busy.upkeep(BEGIN)
    assert await guids_in(store, ["news"], limit=200) == names[::-1]
    await busy.close()


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "{",
        "[]",
        "null",
        '"text"',
        '{"title": "t"}',
        '{"title": 1, "description": "d", "link": "l", "pub_date": "2026-01-05T11:30:00Z"}',
        "\x00\x01",
        "[" * 100_000,
    ],
    ids=range(9),
)
async def test_damaged_json_is_passed_over_and_told_once(
    store: PersonalRedis, pen: Any, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await pen.set(f"rss:category:news:{uuid7_at(BEGIN, 2)}", damage)
    await written(pen, "news", uuid7_at(BEGIN, 1))
    with heard() as lines:
        monkeypatch.setattr(pickup, "logger", structlog.get_logger("personal"))
        for _ in range(3):
            await store.upkeep(BEGIN)
            assert await guids_in(store, ["news"]) == [uuid7_at(BEGIN, 1)]
    assert [(each["event"], each["category"], each["guid"]) for each in lines] == [
        ("personal_item_damaged", "news", uuid7_at(BEGIN, 2))
    ]


async def test_a_damaged_item_that_is_mended_is_shown(store: PersonalRedis, pen: Any) -> None:
    name = uuid7_at(BEGIN)
    await pen.set(f"rss:category:news:{name}", "{")
    await store.upkeep(BEGIN)
    await written(pen, "news", name)
    await store.upkeep(BEGIN)
    assert await guids_in(store, ["news"]) == [name]
    await pen.set(f"rss:category:news:{name}", "{")
    assert await guids_in(store, ["news"]) == []  # at once, though nobody looked for it yet
    await store.upkeep(BEGIN)
    assert await guids_in(store, ["news"]) == []


async def test_keys_that_only_look_like_items_are_passed_over(
    store: PersonalRedis, pen: Any
) -> None:
    await pen.hset(f"rss:category:news:{uuid7_at(BEGIN, 1)}", "a", "b")
    await pen.set(b"rss:category:\xff\xfe:" + uuid7_at(BEGIN, 2).encode(), "{}")
    await pen.set("rss:category:news:", "{}")
    await pen.set("rss:category::x", "{}")
    await pen.set("rss:category:", "{}")
    await pen.lpush("rss:user:odd:categories", "x")
    await pen.set("rss:user:worse:categories", "{")
    await written(pen, "news", uuid7_at(BEGIN, 3))
    for _ in range(2):
        await store.upkeep(BEGIN)
        assert await guids_in(store, ["news", ""]) == [uuid7_at(BEGIN, 3)]
    assert [each.categories for each in await store.readers()] == [()]


async def test_a_guid_of_another_kind_is_ordered_by_its_letters(
    store: PersonalRedis, pen: Any
) -> None:
    for name in ("post-2", "post-10", "Post-1", "é", "3f0e9d5a-0000-4000-8000-000000000000"):
        await written(pen, "news", name)
    await store.upkeep(BEGIN)
    shelf = await store.newest(["news"], 10, BEGIN)
    assert [item.guid for item in shelf.items] == [
        "é",
        "post-2",
        "post-10",
        "Post-1",
        "3f0e9d5a-0000-4000-8000-000000000000",
    ]
    assert {item.arrived_at for item in shelf.items} == {BEGIN - 1_800 * SECOND}
    assert await guids_in(store, ["news"], limit=2) == ["é", "post-2"]


async def test_a_moment_without_a_zone_is_utc(store: PersonalRedis, pen: Any) -> None:
    await written(pen, "news", uuid7_at(BEGIN), pub_date="2026-01-05T11:59:00")
    await store.upkeep(BEGIN)
    (item,) = (await store.newest(["news"], 1, BEGIN)).items
    assert from_micros(item.pub_date).isoformat() == "2026-01-05T11:59:00+00:00"


async def test_one_from_the_future_came_when_it_was_found(store: PersonalRedis, pen: Any) -> None:
    await written(pen, "news", uuid7_at(BEGIN + 300 * DAY))
    await store.upkeep(BEGIN)
    (item,) = (await store.newest(["news"], 1, BEGIN)).items
    assert (item.arrived_at, item.expires_at <= BEGIN + 14 * DAY) == (BEGIN, True)


async def test_what_we_write_another_tool_can_read(store: PersonalRedis, pen: Any) -> None:
    await store.add([an_item("a:b", 1, title="T", description="D", link="https://l/")])
    key = f"rss:category:a:b:{guid(1)}"
    words = json.loads(await pen.get(key))
    known = ("title", "description", "link", "pub_date", "guid", "category")
    assert {name: words[name] for name in known} == {
        "title": "T",
        "description": "D",
        "link": "https://l/",
        "pub_date": "2026-01-05T12:00:00Z",
        "guid": guid(1),
        "category": "a:b",
    }
    assert TWO_WEEKS - 60 < await pen.ttl(key) <= TWO_WEEKS
    await store.add_reader(a_reader("mia", "a:b", "ü"), most=5)
    assert json.loads(await pen.get("rss:user:id-of-mia:categories")) == ["a:b", "ü"]


async def test_one_process_at_a_time_looks_for_others_items(
    store: PersonalRedis, elsewhere: PersonalRedis, pen: Any
) -> None:
    await written(pen, "news", uuid7_at(BEGIN))
    await pen.set("rss:upkeep", "somebody", px=15_000)
    await store.upkeep(BEGIN)
    assert await guids_in(store, ["news"]) == []
    assert await pen.get("rss:upkeep") == "somebody"
    await pen.delete("rss:upkeep")  # they died, and their time is over
    await elsewhere.upkeep(BEGIN)
    assert await guids_in(store, ["news"]) == [uuid7_at(BEGIN)]
    assert await pen.exists("rss:upkeep") == 0


async def test_changes_may_be_looked_for_in_turns_and_new_items_are_found_every_time(
    own_server: OwnServer, store: PersonalRedis, pen: Any, virtual_clock: VirtualClock
) -> None:
    saving = PersonalRedis(own_server.url, virtual_clock, PickupPolicy(rounds=3))
    names = [uuid7_at(BEGIN, number) for number in range(12)]
    for name in names:
        await written(pen, f"c{name[-1]}", name)
    await saving.upkeep(BEGIN)
    assert len(await guids_in(store, [f"c{name[-1]}" for name in names])) == 12
    seen = (await store.changes(-1)).version
    for name in names[:9]:
        await written(pen, f"c{name[-1]}", name, title="Better")
    for name in names[9:]:
        await pen.delete(f"rss:category:c{name[-1]}:{name}")
    for number in range(3):
        await written(pen, "new", uuid7_at(BEGIN, 100 + number))
        await saving.upkeep(BEGIN)
        assert len(await guids_in(store, ["new"])) == number + 1
    changed = {f"c{name[-1]}" for name in names} | {"new"}
    assert (await store.changes(seen)).categories == changed
    await saving.close()


async def test_a_pass_is_enough_for_all_for_a_while(
    own_server: OwnServer, pen: Any, virtual_clock: VirtualClock
) -> None:
    resting = PersonalRedis(own_server.url, virtual_clock, PickupPolicy(rest=10.0))
    await resting.upkeep(BEGIN)
    assert 9_000 < await pen.pttl("rss:upkeep") <= 10_000
    await resting.close()


async def test_an_empty_category_is_forgotten_in_the_end(store: PersonalRedis, pen: Any) -> None:
    await store.add([an_item("news", 1)])
    await store.upkeep(BEGIN + 70 * DAY)
    assert await pen.hkeys("rss:changed") == ["news"]
    await store.upkeep(BEGIN + 75 * DAY)
    left = [key for key in await pen.keys("rss:*") if "version" not in key]
    assert sorted(left) == ["rss:changes", "rss:upkeep-turn"]


@pytest.mark.parametrize(
    "name", [uuid7_at(BEGIN + 10 * DAY), "5f2c1d34-0000-4000-8000-000000000001"]
)
async def test_one_from_the_future_does_not_come_again_when_its_time_is_over(
    name: str, store: PersonalRedis, pen: Any
) -> None:
    """Its date is ten days ahead when it is found, and it has no end of its own."""
    key = await written(pen, "news", name, pub_date="2026-01-15T12:00:00+00:00")
    await pen.persist(key)
    await store.upkeep(BEGIN)
    assert await guids_in(store, ["news"]) == [name]
    over = BEGIN + 14 * DAY
    for moment in (over, over + SECOND, over + DAY):
        await store.upkeep(moment)
        assert await guids_in(store, ["news"], now=moment) == []
    assert await pen.exists(key)
