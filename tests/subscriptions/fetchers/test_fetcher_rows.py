"""Fetchers that join, change and are built in, on both databases."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import ConflictError, NameTaken, NotFound
from headwater.core.values.ids import FetcherId
from headwater.events.event import Event
from headwater.events.event_rows import append_events
from headwater.subscriptions.fetchers import fetcher_rows
from headwater.subscriptions.fetchers.builtin import BUILTINS, FEED, BuiltinFetcher
from headwater.subscriptions.fetchers.fetcher import Fetcher, FetcherPatch, Registration
from tests.support.registry_rows import LATER, NOON, joined, registration


async def join(
    database: SqlDatabase,
    said: Registration,
    *,
    who: str = "carol",
    token_id: int | None = None,
    signing_key: bytes | None = None,
    may_move: bool = False,
) -> tuple[Fetcher, bool]:
    async with database.write() as tx:
        return await fetcher_rows.upsert_fetcher(
            tx, said, registered_by=who, token_id=token_id, signing_key=signing_key, now=LATER,
            may_move=may_move,
        )  # fmt: skip


async def test_a_fetcher_joins_with_what_it_says_of_itself(database: SqlDatabase) -> None:
    said = replace(registration(priority=70), config_schema='{"type":"object"}')
    made, is_new = await join(database, said)
    assert is_new
    assert made == Fetcher(
        FetcherId(3), "forum", "1.2.0", "Reads forums.", "https://forum.example", 70, True,
        '{"type":"object"}', True, LATER, LATER, LATER,
    )  # fmt: skip
    assert not made.is_builtin
    async with database.read() as view:
        assert await fetcher_rows.get_fetcher(view, made.id) == made


async def test_joining_again_brings_it_up_to_date_and_keeps_our_priority(
    database: SqlDatabase,
) -> None:
    first = await joined(database, priority=50)
    async with database.write() as tx:
        await fetcher_rows.update_fetcher(
            tx, first.id, FetcherPatch(priority=5, is_enabled=False), NOON
        )
    again = replace(registration(priority=999), version="2.0.0", wants_news=False)
    made, is_new = await join(database, again)
    assert (made.id, is_new) == (first.id, False)
    assert (made.version, made.wants_news, made.last_seen_at) == ("2.0.0", False, LATER)
    assert (made.priority, made.is_enabled) == (5, False)


@pytest.mark.parametrize("name", ["forum", "feed", "mikanani"])
async def test_a_name_belongs_to_whoever_had_it_first(database: SqlDatabase, name: str) -> None:
    await joined(database, who="carol")
    with pytest.raises(NameTaken) as refused:
        await join(database, registration(name), who="mallory")
    assert (refused.value.status, refused.value.code) == (409, "name_taken")


async def test_of_two_who_take_a_name_at_the_same_moment_one_gets_it(
    database: SqlDatabase, open_another: Callable[[], SqlDatabase]
) -> None:
    said = [join(open_another(), registration(), who=who) for who in ("anna", "bert", "carol")]
    answers = await asyncio.gather(*said, return_exceptions=True)
    made = [answer for answer in answers if isinstance(answer, tuple)]
    assert [is_new for _, is_new in made] == [True]
    assert sum(isinstance(answer, NameTaken) for answer in answers) == 2


async def test_two_registrations_of_one_credential_at_the_same_moment_are_one(
    database: SqlDatabase, open_another: Callable[[], SqlDatabase]
) -> None:
    answers = await asyncio.gather(*(join(open_another(), registration()) for _ in range(4)))
    assert len({fetcher.id for fetcher, _ in answers}) == 1
    assert sorted(is_new for _, is_new in answers) == [False, False, False, True]


async def test_another_base_url_needs_somebody_who_may_change_it(database: SqlDatabase) -> None:
    first = await joined(database)
    elsewhere = registration(base_url="https://elsewhere.example")
    with pytest.raises(ConflictError, match="another base_url"):
        await join(database, elsewhere)
    moved, _ = await join(database, elsewhere, may_move=True)
    assert (moved.id, moved.base_url) == (first.id, "https://elsewhere.example")


async def test_a_credential_is_kept_until_there_is_a_new_one(database: SqlDatabase) -> None:
    made, _ = await join(database, registration(), token_id=7, signing_key=b"sealed")
    await join(database, registration())
    async with database.read() as view:
        assert await fetcher_rows.get_owner(view, made.id) == fetcher_rows.FetcherOwner(
            7, "carol", b"sealed"
        )
        assert await fetcher_rows.find_fetcher_by_token(view, 7) == await fetcher_rows.get_fetcher(
            view, made.id
        )
        assert await fetcher_rows.find_fetcher_by_token(view, 8) is None
        assert await fetcher_rows.list_signing_keys(view) == {made.id: b"sealed"}
    await join(database, registration(), token_id=8, signing_key=b"other")
    async with database.read() as view:
        assert await fetcher_rows.get_owner(view, made.id) == fetcher_rows.FetcherOwner(
            8, "carol", b"other"
        )


async def test_news_begins_with_what_happens_after_joining(database: SqlDatabase) -> None:
    async with database.write() as tx:
        await append_events(tx, [Event("feed_gone", None, {})] * 3, NOON)
    made = await joined(database)
    async with database.write() as tx:
        await append_events(tx, [Event("feed_gone", None, {})], NOON)
    await join(database, registration())
    async with database.read() as view:
        row = await view.row("SELECT news_seq FROM fetcher_modules WHERE fetcher_id = ?", made.id)
    assert row is not None
    assert row.news_seq == 3


async def test_only_what_is_said_changes(database: SqlDatabase) -> None:
    before = await joined(database)
    async with database.write() as tx:
        assert await fetcher_rows.update_fetcher(tx, before.id, FetcherPatch(), LATER) == before
        after = await fetcher_rows.update_fetcher(
            tx, before.id, FetcherPatch(is_enabled=False, description=None), LATER
        )
    assert after == replace(before, is_enabled=False, description=None, updated_at=LATER)
    async with database.read() as view:
        names = [each.name for each in await fetcher_rows.list_fetchers(view, enabled_only=True)]
        every = [each.name for each in await fetcher_rows.list_fetchers(view)]
    assert (names, every) == (["feed", "mikanani"], ["feed", "mikanani", "forum"])


async def test_a_built_in_fetcher_stays_in_process(database: SqlDatabase) -> None:
    async with database.write() as tx:
        with pytest.raises(ConflictError):
            await fetcher_rows.update_fetcher(
                tx, 1, FetcherPatch(base_url="https://evil.example"), LATER
            )
        changed = await fetcher_rows.update_fetcher(tx, 1, FetcherPatch(priority=77), LATER)
    assert (changed.priority, changed.builtin_name) == (77, "feed")


async def test_who_is_not_there_is_not_found(database: SqlDatabase) -> None:
    async with database.write() as tx:
        for ask in (fetcher_rows.get_fetcher(tx, 99), fetcher_rows.get_owner(tx, 99)):
            with pytest.raises(NotFound):
                await ask
        with pytest.raises(NotFound):
            await fetcher_rows.update_fetcher(tx, 99, FetcherPatch(priority=1), NOON)


async def test_a_sign_of_life_is_remembered(database: SqlDatabase) -> None:
    made = await joined(database)
    async with database.write() as tx:
        await fetcher_rows.set_last_seen(tx, made.id, LATER)
        assert await fetcher_rows.get_fetcher(tx, made.id) == replace(made, last_seen_at=LATER)


async def test_a_new_built_in_gets_a_row_and_an_operators_word_is_kept(
    database: SqlDatabase,
) -> None:
    plugin = BuiltinFetcher("podcasts", "0.1", "Podcasts.", 30, lambda url, kind: False)
    newer = replace(FEED, version="9.9.9", priority=99)
    async with database.write() as tx:
        await fetcher_rows.update_fetcher(tx, 1, FetcherPatch(priority=3, is_enabled=False), NOON)
        assert not await fetcher_rows.has_all_builtins(tx, (newer, plugin))
        await fetcher_rows.insert_missing_builtins(tx, (newer, plugin), LATER)
        assert await fetcher_rows.has_all_builtins(tx, (newer, plugin))
        feed, _, podcasts = await fetcher_rows.list_fetchers(tx)
    assert (feed.version, feed.priority, feed.is_enabled) == ("9.9.9", 3, False)
    assert (podcasts.name, podcasts.base_url, podcasts.priority, podcasts.is_enabled) == (
        "podcasts",
        "inproc:podcasts",
        30,
        True,
    )


async def test_built_ins_that_are_there_cost_no_write(database: SqlDatabase) -> None:
    async with database.write() as tx:
        before = await fetcher_rows.list_fetchers(tx)
        await fetcher_rows.insert_missing_builtins(tx, BUILTINS, LATER)
        assert await fetcher_rows.list_fetchers(tx) == before


async def test_several_processes_may_introduce_the_same_built_in(
    database: SqlDatabase, open_another: Callable[[], SqlDatabase]
) -> None:
    plugin = BuiltinFetcher("podcasts", "0.1", "Podcasts.", 30, lambda url, kind: False)

    async def introduce(pool: SqlDatabase) -> None:
        async with pool.write() as tx:
            await fetcher_rows.insert_missing_builtins(tx, (plugin,), LATER)

    await asyncio.gather(*(introduce(open_another()) for _ in range(3)))
    async with database.read() as view:
        assert [each.name for each in await fetcher_rows.list_fetchers(view)] == [
            "feed",
            "mikanani",
            "podcasts",
        ]


async def test_a_built_in_does_not_take_a_registered_fetchers_name(database: SqlDatabase) -> None:
    await joined(database, "podcasts")
    plugin = BuiltinFetcher("podcasts", "0.1", "Podcasts.", 30, lambda url, kind: False)
    async with database.write() as tx:
        with pytest.raises(NameTaken):
            await fetcher_rows.insert_missing_builtins(tx, (plugin,), LATER)
