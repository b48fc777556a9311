"""Personal feeds copied between the stores, both ways: nothing is lost, nothing comes twice."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.auth.tokens import token_hash
from headwater.core.errors import ConnectionLost
from headwater.personal_feeds.copy import CopyResult, copy_personal
from headwater.personal_feeds.database_store import PersonalDatabase
from headwater.personal_feeds.ports import ItemAttachment, KeptItem, PersonalStore, ReaderToken
from headwater.personal_feeds.redis.store import PersonalRedis
from tests.support.clock import VirtualClock
from tests.support.personal_items import (
    BEGIN,
    DAY,
    ODD_NAMES,
    SECOND,
    a_reader,
    an_item,
    another_token,
    guid,
    with_token,
)
from tests.support.personal_redis import own_server, pen, store

__all__ = ["own_server", "pen", "store"]

Ways = tuple[PersonalStore, PersonalStore]


@pytest.fixture
async def kept(
    database: SqlDatabase, virtual_clock: VirtualClock
) -> AsyncIterator[PersonalDatabase]:
    opened = PersonalDatabase(database, virtual_clock)
    yield opened
    await opened.close()


@pytest.fixture(params=["database to redis", "redis to database"])
def way(request: pytest.FixtureRequest, store: PersonalRedis, kept: PersonalDatabase) -> Ways:
    return (kept, store) if request.param == "database to redis" else (store, kept)


async def all_items(store: PersonalStore, now: int = BEGIN) -> dict[tuple[str, str], KeptItem]:
    found: dict[tuple[str, str], KeptItem] = {}
    after: tuple[str, str] | None = None
    while page := await store.items_after(after, 7, now):
        found |= {(item.category, item.guid): item for item in page}
        after = page[-1].category, page[-1].guid
    return found


async def filled(source: PersonalStore) -> None:
    await with_token(source, a_reader("mia", *ODD_NAMES), "sesame", until=BEGIN + DAY)
    old = await another_token(source, "id-of-mia", "old", at=BEGIN - DAY)
    await source.end_token(old.id, until=BEGIN, revoked=True, now=BEGIN)
    await source.note_used({"id-of-sesame": BEGIN + 5})
    await source.add_reader(a_reader("bo"), most=10)
    await source.add(
        [an_item(name, n, caller_id=f"urn:{n}") for n, name in enumerate([*ODD_NAMES, *ODD_NAMES])]
    )
    rich = an_item(
        "rich",
        900,
        days=3,
        title="half \ud800 and ]]>",
        content="<p>long</p>",
        authors=("Ann",),
        enclosures=(ItemAttachment("https://a/b.mp3", "audio/mpeg", 12),),
        tags=("one",),
        pub_date=BEGIN - DAY,
    )
    await source.add([rich])


async def test_a_copy_has_everything(way: Ways, virtual_clock: VirtualClock) -> None:
    source, target = way
    await filled(source)
    copied = await copy_personal(source, target, virtual_clock, at_once=5)
    assert copied == CopyResult(
        readers=2, readers_new=2, tokens=2, tokens_new=2, items=25, items_new=25
    )
    assert await target.readers() == await source.readers()
    for name in ("mia", "bo"):
        theirs = await source.tokens_with_hashes(f"id-of-{name}")
        assert await target.tokens_with_hashes(f"id-of-{name}") == theirs
    assert await all_items(target) == await all_items(source)
    assert len(await all_items(target)) == 25
    assert await target.holder(token_hash("sesame"), "sesame", BEGIN) is not None
    assert await target.holder(token_hash("old"), "old", BEGIN) is None


async def test_a_copy_keeps_what_publishers_call_their_items(
    way: Ways, virtual_clock: VirtualClock
) -> None:
    source, target = way
    await source.add([an_item("news", 1, caller_id="x")])
    await copy_personal(source, target, virtual_clock)
    (again,) = await target.add([an_item("news", 2, caller_id="x")])
    assert (again.guid, again.expires_at, again.is_new) == (guid(1), BEGIN + 14 * DAY, False)


async def test_a_second_copy_changes_nothing(way: Ways, virtual_clock: VirtualClock) -> None:
    source, target = way
    await filled(source)
    await copy_personal(source, target, virtual_clock)
    version = (await target.changes(-1)).version
    again = await copy_personal(source, target, virtual_clock)
    assert again == CopyResult(readers=2, tokens=2, items=25)
    assert (await target.changes(-1)).version == version


async def test_a_second_copy_brings_what_came_and_what_changed(
    way: Ways, virtual_clock: VirtualClock
) -> None:
    source, target = way
    await filled(source)
    await copy_personal(source, target, virtual_clock)
    later = BEGIN + 60 * SECOND
    await source.change_reader("id-of-bo", name="Bo", categories=["art"], now=later)
    await source.end_token("id-of-sesame", until=later, revoked=True, now=later)
    await another_token(source, "id-of-bo", "new", at=later)
    await source.add([an_item("art", 950)])
    await source.revise([an_item("rich", 900, title="Revised", changed_at=later)])
    copied = await copy_personal(source, target, virtual_clock)
    assert copied == CopyResult(
        readers=2,
        readers_changed=1,
        tokens=3,
        tokens_new=1,
        tokens_ended=1,
        items=26,
        items_new=1,
    )
    assert await target.readers() == await source.readers()
    assert await target.tokens("id-of-mia") == await source.tokens("id-of-mia")
    assert await all_items(target) == await all_items(source)


async def test_what_was_changed_later_in_the_other_store_stays(
    way: Ways, virtual_clock: VirtualClock
) -> None:
    source, target = way
    await filled(source)
    await copy_personal(source, target, virtual_clock)
    later = BEGIN + 60 * SECOND
    await target.change_reader("id-of-bo", name=None, categories=["mine"], now=later)
    await target.end_token("id-of-sesame", until=BEGIN, revoked=True, now=later)
    await target.revise([an_item("rich", 900, title="Revised", changed_at=later)])
    await copy_personal(source, target, virtual_clock)
    bo = await target.reader("id-of-bo")
    assert bo is not None
    assert bo.categories == ("mine",)
    assert await target.holder(token_hash("sesame"), "sesame", BEGIN) is None
    assert (await all_items(target))["rich", guid(900)].title == "Revised"


async def test_there_and_back_again_is_where_it_was(way: Ways, virtual_clock: VirtualClock) -> None:
    source, target = way
    await filled(source)
    before = await all_items(source)
    await copy_personal(source, target, virtual_clock)
    back = await copy_personal(target, source, virtual_clock)
    assert (back.readers_new, back.tokens_new, back.items_new, back.items) == (0, 0, 0, 25)
    assert await all_items(source) == before


async def test_a_name_that_is_taken_is_said_and_the_others_are_copied(
    way: Ways, virtual_clock: VirtualClock
) -> None:
    source, target = way
    await filled(source)
    await target.add_reader(replace(a_reader("mia"), id="somebody-else"), most=10)
    copied = await copy_personal(source, target, virtual_clock)
    assert copied.refused == [("mia", "There is a reader of this name already.")]
    assert (copied.readers_new, copied.tokens_new, copied.items_new) == (1, 0, 25)
    assert await target.holder(token_hash("sesame"), "sesame", BEGIN) is None


async def test_a_token_that_belongs_to_somebody_else_there_stays_theirs(
    way: Ways, virtual_clock: VirtualClock
) -> None:
    source, target = way
    await with_token(source, a_reader("mia"), "sesame")
    await target.add_reader(a_reader("eve"), most=10)
    await target.add_token(
        ReaderToken("eves", "id-of-eve", "h", BEGIN), token_hash("sesame"), most=5
    )
    copied = await copy_personal(source, target, virtual_clock)
    assert copied.refused == [("mia", "There is such a token already.")]
    holder = await target.holder(token_hash("sesame"), "sesame", BEGIN)
    assert holder is not None
    assert holder.reader.id == "id-of-eve"


async def test_limits_are_for_new_ones(way: Ways, virtual_clock: VirtualClock) -> None:
    source, target = way
    await source.add_reader(a_reader("mia"), most=10)
    for number in range(40):
        await another_token(source, "id-of-mia", f"token-{number}")
    copied = await copy_personal(source, target, virtual_clock)
    assert (copied.tokens_new, copied.refused) == (40, [])


async def test_an_interrupted_copy_is_finished_by_the_next(
    kept: PersonalDatabase, store: PersonalRedis, virtual_clock: VirtualClock
) -> None:
    await filled(kept)
    whole, pages = kept.items_after, 0

    async def breaks(after: tuple[str, str] | None, limit: int, now: int) -> list[KeptItem]:
        nonlocal pages
        pages += 1
        if pages == 3:
            raise ConnectionLost("gone")
        return await whole(after, limit, now)

    kept.items_after = breaks  # type: ignore[method-assign]
    with pytest.raises(ConnectionLost):
        await copy_personal(kept, store, virtual_clock, at_once=5)
    assert len(await all_items(store)) == 10
    kept.items_after = whole  # type: ignore[method-assign]
    copied = await copy_personal(kept, store, virtual_clock, at_once=5)
    assert (copied.items, copied.items_new, copied.readers_new) == (25, 15, 0)
    assert await all_items(store) == await all_items(kept)


async def test_what_other_tools_left_in_redis_comes_along(
    kept: PersonalDatabase, store: PersonalRedis, pen: Any, virtual_clock: VirtualClock
) -> None:
    await pen.set("rss:token:never-used", "u:1")
    await pen.set("rss:user:u:1:categories", '["a:b"]')
    words = {"title": "T", "description": "D", "link": "https://l/"}
    for name in (guid(1), "not-a-uuid"):
        said = words | {"pub_date": "2026-01-05T11:00:00", "guid": name, "category": "a:b"}
        await pen.set(f"rss:category:a:b:{name}", json.dumps(said))
    copied = await copy_personal(store, kept, virtual_clock)
    assert (copied.readers_new, copied.tokens_new, copied.items_new) == (1, 1, 2)
    holder = await kept.holder(token_hash("never-used"), "", BEGIN)
    assert holder is not None
    assert (holder.reader.id, holder.reader.categories) == ("u:1", ("a:b",))
    assert set(await all_items(kept)) == {("a:b", guid(1)), ("a:b", "not-a-uuid")}
    assert await pen.get("rss:token:never-used") == "u:1"


async def test_expired_items_stay_behind(way: Ways, virtual_clock: VirtualClock) -> None:
    source, target = way
    await source.add([an_item("news", 1, days=1), an_item("news", 2, days=3)])
    await virtual_clock.advance(2 * 86_400)
    copied = await copy_personal(source, target, virtual_clock)
    assert (copied.items, copied.items_new) == (1, 1)
    assert set(await all_items(target, BEGIN + 2 * DAY)) == {("news", guid(2))}
