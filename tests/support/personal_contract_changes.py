"""Promises of every place that keeps personal feeds: what changed, and everything in turn."""

from dataclasses import replace

from headwater.auth.tokens import token_hash
from headwater.personal_feeds.ports import KeptItem, PersonalChanges, PersonalStore
from tests.support.clock import VirtualClock
from tests.support.personal_items import (
    BEGIN,
    DAY,
    ODD_NAMES,
    SECOND,
    a_reader,
    an_item,
    guid,
    guids_in,
    with_token,
)


class ChangePromises:
    """Versions: what is not as it was."""

    async def test_somebody_who_knows_nothing_is_told_everything(
        self, store: PersonalStore
    ) -> None:
        first = await store.changes(-1)
        assert first.everything
        assert await store.changes(first.version) == PersonalChanges(first.version)

    async def test_a_change_names_what_it_concerns_and_nothing_else(
        self, store: PersonalStore
    ) -> None:
        await store.add_reader(a_reader("bo", "art"), most=10)
        await store.add([an_item("old", 1)])
        start = (await store.changes(-1)).version
        await store.add([an_item("a:*", 2), an_item("b", 3)])
        items = await store.changes(start)
        assert _told(items) == (["a:*", "b"], [])
        made = await with_token(store, a_reader("mia"), "sesame")
        readers = await store.changes(items.version)
        assert _told(readers) == ([], ["id-of-mia"])
        await store.end_token(made.id, until=BEGIN, revoked=True, now=BEGIN)
        revoked = await store.changes(readers.version)
        assert revoked.readers == {"id-of-mia"}
        both = await store.changes(start)
        assert _told(both) == (["a:*", "b"], ["id-of-mia"])
        assert start < items.version < readers.version < revoked.version == both.version
        assert not any(each.everything for each in (items, readers, both))

    async def test_each_change_of_a_reader_is_told(self, store: PersonalStore) -> None:
        await store.add_reader(a_reader("mia", "a"), most=10)
        seen = (await store.changes(-1)).version
        await store.change_reader("id-of-mia", name=None, categories=["b"], now=BEGIN)
        changed = await store.changes(seen)
        assert changed.readers == {"id-of-mia"}
        await store.remove_reader("id-of-mia", BEGIN)
        assert (await store.changes(changed.version)).readers == {"id-of-mia"}

    async def test_new_words_are_a_change_of_their_category(self, store: PersonalStore) -> None:
        item = an_item("news", 1)
        await store.add([item, an_item("art", 2)])
        seen = (await store.changes(-1)).version
        await store.revise([replace(item, title="New", changed_at=BEGIN + 1)])
        assert (await store.changes(seen)).categories == {"news"}

    async def test_a_version_that_was_never_reached_means_everything(
        self, store: PersonalStore
    ) -> None:
        version = (await store.changes(-1)).version
        assert await store.changes(version + 1_000) == PersonalChanges(version, everything=True)

    async def test_another_process_sees_what_was_written(
        self, store: PersonalStore, elsewhere: PersonalStore
    ) -> None:
        seen = (await elsewhere.changes(-1)).version
        await with_token(store, a_reader("mia", "news"), "sesame")
        await store.add([an_item("news", 1)])
        changes = await elsewhere.changes(seen)
        assert _told(changes) == (["news"], ["id-of-mia"])
        assert await guids_in(elsewhere, ["news"]) == [guid(1)]
        assert await elsewhere.holder(token_hash("sesame"), "sesame", BEGIN) is not None

    async def test_a_shelf_says_when_something_last_came(
        self, store: PersonalStore, virtual_clock: VirtualClock
    ) -> None:
        assert (await store.newest(["news", "art"], 5, BEGIN)).changed_at == 0
        await store.add([an_item("news", 2)])
        assert (await store.newest(["news", "art"], 5, BEGIN)).changed_at == BEGIN
        await virtual_clock.advance(60)
        await store.add([an_item("art", 1)])  # it arrived earlier, and came only now
        now = BEGIN + 60 * SECOND
        assert (await store.newest(["news", "art"], 5, now)).changed_at == now
        assert (await store.newest(["news"], 5, now)).changed_at == BEGIN
        await virtual_clock.advance(60)
        await store.revise([an_item("news", 2, title="New", changed_at=BEGIN + 1)])
        latest = now + 60 * SECOND
        assert (await store.newest(["news"], 5, latest)).changed_at == latest

    async def test_a_shelf_with_room_says_when_something_last_expired(
        self, store: PersonalStore, virtual_clock: VirtualClock
    ) -> None:
        await store.add([an_item("news", number, days=number) for number in (1, 2, 3)])
        await virtual_clock.advance(2.5 * 86_400)
        now = BEGIN + 5 * DAY // 2
        for _ in range(2):  # before the expired ones are cleared away, and after
            assert (await store.newest(["news"], 2, now)).changed_at == BEGIN + 2 * DAY
            assert (await store.newest(["news"], 1, now)).changed_at == BEGIN
            assert (await store.newest(["news"], 2, BEGIN + DAY)).changed_at in (
                BEGIN,  # two lived then
                BEGIN + 2 * DAY,  # cleared away since
            )
            await store.upkeep(now)


class CopyPromises:
    """What a copy into another place needs."""

    async def test_all_living_items_come_in_pages_each_once(self, store: PersonalStore) -> None:
        kept = [
            an_item(name, number, caller_id=f"{name}{number}")
            for number, name in enumerate([*ODD_NAMES, *ODD_NAMES])
        ]
        await store.add([*kept, an_item("ab", 99, days=1)])
        found: list[KeptItem] = []
        after: tuple[str, str] | None = None
        while page := await store.items_after(after, 5, BEGIN + 2 * DAY):
            assert len(page) <= 5
            found += page
            after = (page[-1].category, page[-1].guid)
        assert sorted(found, key=lambda item: item.guid) == kept

    async def test_nothing_is_in_trouble(self, store: PersonalStore) -> None:
        assert store.storage in ("database", "redis")


def _told(changes: PersonalChanges) -> tuple[list[str], list[str]]:
    return sorted(changes.categories), sorted(changes.readers)
