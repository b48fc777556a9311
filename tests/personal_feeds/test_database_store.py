"""Personal feeds in the database: the promises on both kinds, and what a database adds to them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from random import Random

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import DatabaseRefused
from headwater.core.ports import Row, SqlValue, Transaction
from headwater.personal_feeds import item_rows
from headwater.personal_feeds.database_store import PersonalDatabase
from headwater.personal_feeds.ports import AddedItem, KeptItem, PersonalChanges, PersonalStore
from tests.support.clock import VirtualClock
from tests.support.personal_contract import PersonalContract
from tests.support.personal_items import (
    BEGIN,
    DAY,
    SECOND,
    a_reader,
    an_item,
    another_token,
    guid,
    guids_in,
    with_token,
)


@pytest.fixture
async def store(
    database: SqlDatabase, virtual_clock: VirtualClock
) -> AsyncIterator[PersonalDatabase]:
    opened = PersonalDatabase(database, virtual_clock)
    yield opened
    await opened.close()


@pytest.fixture
async def elsewhere(
    open_another: Callable[[], SqlDatabase], virtual_clock: VirtualClock
) -> AsyncIterator[PersonalStore]:
    opened = PersonalDatabase(open_another(), virtual_clock)
    yield opened
    await opened.close()


class TestOnTheDatabase(PersonalContract):
    """SQLite and PostgreSQL."""


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_a_call_that_the_database_refuses_takes_no_other_down(
    store: PersonalDatabase,
) -> None:
    """All of them share one commit; a name that PostgreSQL cannot keep comes with one of them."""
    answers = await asyncio.gather(
        store.add([an_item("news", 1)]),
        store.add([an_item("fine", 2), an_item("no\0such", 3)]),
        store.add([an_item("news", 4)]),
        return_exceptions=True,
    )
    assert isinstance(answers[1], DatabaseRefused)
    assert await guids_in(store, ["news", "fine"]) == [guid(4), guid(1)]


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_a_refused_call_leaves_nothing_behind(store: PersonalDatabase) -> None:
    version = (await store.changes(-1)).version
    with pytest.raises(DatabaseRefused):
        await store.add([an_item("fine", 2), an_item("no\0such", 3)])
    assert await guids_in(store, ["fine"]) == []
    assert await store.changes(version) == PersonalChanges(version)


async def test_many_at_once_share_a_commit(
    store: PersonalDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups: list[int] = []
    plain = store._add_together

    async def counted(lot: list[tuple[KeptItem, ...]]) -> list[list[AddedItem]]:
        groups.append(len(lot))
        return await plain(lot)

    monkeypatch.setattr(store, "_add_together", counted)
    await asyncio.gather(*(store.add([an_item("news", number)]) for number in range(100)))
    assert sum(groups) == 100
    assert len(groups) <= 3
    assert len(await guids_in(store, ["news"], limit=200)) == 100


async def test_half_a_character_pair_and_nul_in_words_are_kept(store: PersonalDatabase) -> None:
    item = an_item("news", 1, title="half \ud83d pair", description="nul \0", tags=("\udfff",))
    await store.add([item])
    assert (await store.newest(["news"], 1, BEGIN)).items == (item,)


@pytest.mark.parametrize(
    "text", ["abc", "x" * 15, "x" * 16, "019B8C00-0000-7000-8000-00000000000A"]
)
async def test_a_guid_of_another_tool_is_kept_letter_by_letter(
    store: PersonalDatabase, text: str
) -> None:
    item = an_item("news", 1, guid=text)
    await store.add([item, an_item("news", 2)])
    assert await guids_in(store, ["news"]) == [text, guid(2)]
    assert await store.items_after(None, 5, BEGIN) == [an_item("news", 2), item]


async def test_changes_of_a_day_ago_are_forgotten_and_whoever_missed_them_starts_anew(
    store: PersonalDatabase, virtual_clock: VirtualClock
) -> None:
    await store.add_reader(a_reader("mia"), most=10)
    missed = (await store.changes(-1)).version - 1
    seen = missed + 1
    await virtual_clock.advance(86_400 + 3_600)
    await store.add_reader(a_reader("bo", at=BEGIN + DAY + 3_600 * SECOND), most=10)
    await store.upkeep(BEGIN + DAY + 3_600 * SECOND)
    assert (await store.changes(missed)).everything
    assert await store.changes(seen) == PersonalChanges(seen + 1, readers=frozenset({"id-of-bo"}))


async def test_a_category_in_which_nothing_happens_is_forgotten_in_the_end(
    store: PersonalDatabase, database: SqlDatabase, virtual_clock: VirtualClock
) -> None:
    await store.add([an_item("once", 1, days=1), an_item("lasting", 2, days=500)])
    seen = (await store.changes(-1)).version
    await virtual_clock.advance(61 * 86_400)
    now = BEGIN + 61 * DAY
    await store.upkeep(now)
    assert (await store.newest(["once"], 5, now)).changed_at == BEGIN + DAY
    await virtual_clock.advance(86_400)
    await store.upkeep(now + DAY)
    assert (await store.newest(["once"], 5, now)).changed_at == 0
    assert (await store.newest(["lasting"], 5, now)).changed_at == BEGIN
    assert (await store.changes(seen)).everything


async def test_tokens_that_ended_long_ago_are_forgotten(
    store: PersonalDatabase, virtual_clock: VirtualClock
) -> None:
    await with_token(store, a_reader("mia"), "open")
    await another_token(store, "id-of-mia", "ended", until=BEGIN + DAY)
    await store.upkeep(BEGIN + 90 * DAY)
    assert len(await store.tokens("id-of-mia")) == 2
    await virtual_clock.advance(3_600)
    await store.upkeep(BEGIN + 92 * DAY)
    assert [token.id for token in await store.tokens("id-of-mia")] == ["id-of-open"]


async def test_all_that_expired_is_cleared_away_however_much_it_is(
    store: PersonalDatabase, database: SqlDatabase
) -> None:
    await store.add([an_item(f"c{n % 3}", n, days=1 + n % 2) for n in range(1_400)])
    await store.upkeep(BEGIN + DAY)
    async with database.read() as view:
        row = await view.row("SELECT count(*) AS n, min(expires_at) AS first FROM personal_items")
    assert row is not None
    assert (row.n, row.first) == (700, BEGIN + 2 * DAY)


async def test_upkeep_with_nothing_to_do_writes_nothing(
    store: PersonalDatabase, database: SqlDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.upkeep(BEGIN)

    def refuse() -> None:
        raise AssertionError("a write")

    monkeypatch.setattr(database, "write", refuse)
    await store.upkeep(BEGIN)


async def test_a_crowd_of_categories_gives_the_same_as_looking_at_everything(
    store: PersonalDatabase,
) -> None:
    """Uneven on purpose: some are busy, some are old, some hold the same guids, some are dead."""
    luck = Random(7)
    numbers = [(f"c{int(luck.random() ** 3 * 300)}", n) for n in range(2_000)]
    numbers += [(f"c{luck.randrange(300)}", luck.randrange(2_000)) for _ in range(300)]
    kept = {
        (category, number): an_item(category, number, days=luck.choice([1, 14, 14]))
        for category, number in numbers
    }
    await store.add(list(kept.values()))
    now = BEGIN + 2 * DAY
    for followed in (1, 3, 40, 150, 300):
        names = luck.sample([f"c{n}" for n in range(300)], followed)
        for limit in (1, 7, 50, 200):
            living = [i for i in kept.values() if i.category in names and i.expires_at > now]
            shown = sorted({item.guid for item in living}, reverse=True)[:limit]
            found = (await store.newest(names, limit, now)).items
            assert list(dict.fromkeys(item.guid for item in found)) == shown
            assert {(i.category, i.guid) for i in found} == {
                (i.category, i.guid) for i in living if i.guid in set(shown)
            }


async def test_finding_the_newest_walks_only_the_end_of_an_index(
    store: PersonalDatabase, database: SqlDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No plan scans the items, sorts a category, or looks for living items by their expiry."""
    asked: list[tuple[str, tuple[SqlValue, ...]]] = []
    await store.add([an_item(f"c{n}", n) for n in range(300)])
    await store.add([an_item("busy", n) for n in range(700, 2_000)])
    names = ["busy", *(f"c{n}" for n in range(5))]
    async with database.read() as view:
        plain = view.rows

        async def noted(_: Transaction, sql: str, *values: SqlValue) -> Sequence[Row]:
            asked.append((sql, values))
            return await plain(sql, *values)

        monkeypatch.setattr(type(view), "rows", noted)
        await item_rows.list_newest(view, names, 10, BEGIN)
        monkeypatch.undo()
        assert len(asked) == 2
        sqlite = database.dialect == "sqlite"
        explain = "EXPLAIN QUERY PLAN" if sqlite else "EXPLAIN"
        for sql, values in asked:
            plan = [row[-1] for row in await view.rows(f"{explain} {sql}", *values)]
            (_by_index_in_sqlite if sqlite else _by_index_in_postgresql)(plan)


def _by_index_in_sqlite(plan: list[str]) -> None:
    assert not [step for step in plan if step.startswith(("SCAN p", "SCAN g", "SCAN c"))]
    assert not [step for step in plan if "SEARCH p" in step and "_gone" in step]


def _by_index_in_postgresql(plan: list[str]) -> None:
    assert [step for step in plan if "Index Scan Backward using personal_items_pkey" in step]
    assert not [step for step in plan if "Bitmap" in step or "Seq Scan on personal_items" in step]
    sorted_by = [step.strip() for step in plan if "Sort Key" in step]
    assert sorted_by in ([], ["Sort Key: u_1.g DESC"])  # of those few that were found
