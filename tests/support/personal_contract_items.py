"""Promises of every place that keeps personal feeds: items in categories, and their words."""

import asyncio
from dataclasses import replace

from headwater.personal_feeds.ports import (
    AddedItem,
    ItemAttachment,
    KeptItem,
    PersonalChanges,
    PersonalStore,
)
from tests.support.clock import VirtualClock
from tests.support.personal_items import BEGIN, DAY, ODD_NAMES, SECOND, an_item, guid, guids_in


class ItemPromises:
    """Items in categories."""

    async def test_an_item_comes_back_in_the_words_it_was_given(self, store: PersonalStore) -> None:
        item = an_item(
            "news",
            1,
            title='<b>]]> & "quotes" \u202e 🎏',
            description="<script>alert(1)</script>\x0b\x00",
            content="<p onclick=x>long</p>",
            authors=("Ann", "Bo"),
            enclosures=(
                ItemAttachment("https://a/b.mp3", "audio/mpeg", 12),
                ItemAttachment("magnet:?x"),
            ),
            tags=("one", "two"),
            caller_id="urn:1",
            pub_date=BEGIN - 3 * DAY,
        )
        added = await store.add([item])
        assert added == [AddedItem(item.guid, "news", item.expires_at, is_new=True)]
        assert (await store.newest(["news"], 10, BEGIN)).items == (item,)

    async def test_the_newest_come_first_and_no_more_than_asked_for(
        self, store: PersonalStore
    ) -> None:
        await store.add(
            [an_item(f"c{number % 7}", number) for number in (*range(30, 60), *range(30))]
        )
        every = [f"c{number}" for number in range(7)]
        assert await guids_in(store, every, limit=40) == [guid(n) for n in range(59, 19, -1)]
        assert await guids_in(store, every, limit=3) == [guid(59), guid(58), guid(57)]
        assert await guids_in(store, ["c0"], limit=3) == [guid(56), guid(49), guid(42)]
        assert await guids_in(store, ["c0", "c1"], limit=3) == [guid(57), guid(56), guid(50)]
        assert await guids_in(store, every, limit=1_000) == [guid(n) for n in range(59, -1, -1)]
        assert await guids_in(store, [], limit=3) == []
        assert await guids_in(store, ["nothing"], limit=3) == []

    async def test_one_busy_category_does_not_hide_quiet_ones(self, store: PersonalStore) -> None:
        await store.add([an_item("quiet", 1), an_item("calm", 2)])
        await store.add([an_item("busy", number) for number in range(10, 60)])
        shown = await guids_in(store, ["quiet", "busy", "calm"], limit=52)
        assert shown == [*(guid(n) for n in range(59, 9, -1)), guid(2), guid(1)]

    async def test_a_limit_counts_guids_and_every_category_of_one_is_there(
        self, store: PersonalStore
    ) -> None:
        await store.add([an_item("a", 1), an_item("b", 1), an_item("a", 2), an_item("c", 3)])
        await store.add([an_item(name, 4) for name in ("c", "b", "a")])
        shelf = await store.newest(["a", "b", "c"], 3, BEGIN)
        found = [(item.guid, item.category) for item in shelf.items]
        assert [number for number, _ in found] == [guid(4)] * 3 + [guid(3), guid(2)]
        assert {category for number, category in found if number == guid(4)} == {"a", "b", "c"}
        assert len((await store.newest(["a", "b", "c"], 4, BEGIN)).items) == 7

    async def test_names_of_categories_are_names(self, store: PersonalStore) -> None:
        await store.add([an_item(name, number) for number, name in enumerate(ODD_NAMES)])
        for number, name in enumerate(ODD_NAMES):
            (item,) = (await store.newest([name], 10, BEGIN)).items
            assert (item.category, item.guid) == (name, guid(number))
        for name in ("a", "A", "?", "[ab]", "a:*", "a:b:", ":b", "AB", " ab", "%"):
            assert await guids_in(store, [name]) == []

    async def test_a_caller_id_brings_one_item_into_a_category(self, store: PersonalStore) -> None:
        first = an_item("news", 1, caller_id="x")
        await store.add([first])
        again = await store.add(
            [an_item("news", 2, caller_id="x"), an_item("art", 3, caller_id="x")]
        )
        assert again == [
            AddedItem(guid(1), "news", first.expires_at, is_new=False),
            AddedItem(guid(3), "art", first.expires_at, is_new=True),
        ]
        assert (await store.newest(["news"], 10, BEGIN)).items == (first,)

    async def test_a_guid_is_once_in_a_category(self, store: PersonalStore) -> None:
        first = an_item("news", 1, caller_id="x")
        await store.add([first])
        twice = replace(first, title="Another", caller_id="y", expires_at=first.expires_at + DAY)
        assert await store.add([twice]) == [
            AddedItem(guid(1), "news", first.expires_at, is_new=False)
        ]
        assert (await store.newest(["news"], 10, BEGIN)).items == (first,)

    async def test_what_is_twice_in_one_call_comes_once(self, store: PersonalStore) -> None:
        items = [an_item("news", n, caller_id=c) for n, c in ((1, "x"), (2, "x"), (1, None))]
        answers = await store.add(items)
        assert [(each.guid, each.is_new) for each in answers] == [
            (guid(1), True),
            (guid(1), False),
            (guid(1), False),
        ]
        assert await guids_in(store, ["news"]) == [guid(1)]

    async def test_items_without_a_caller_id_do_not_get_in_each_others_way(
        self, store: PersonalStore
    ) -> None:
        answers = await store.add([an_item("news", 1), an_item("news", 2)])
        assert [each.is_new for each in answers] == [True, True]

    async def test_adding_again_changes_nothing(self, store: PersonalStore) -> None:
        items = [an_item("news", number, caller_id=str(number)) for number in range(5)]
        await store.add(items)
        version = (await store.changes(-1)).version
        assert not any(each.is_new for each in await store.add(items))
        assert await store.changes(version) == PersonalChanges(version)
        assert await store.add([]) == []

    async def test_two_who_add_the_same_at_once_add_it_once(
        self, store: PersonalStore, elsewhere: PersonalStore
    ) -> None:
        def lot(begin: int) -> list[KeptItem]:
            return [an_item("news", begin + n, caller_id=str(n)) for n in range(20)]

        answers = await asyncio.gather(
            *(place.add(lot(100 * n)) for n, place in enumerate([store, elsewhere] * 4))
        )
        for number in range(20):
            assert sum(answer[number].is_new for answer in answers) == 1
            assert len({answer[number].guid for answer in answers}) == 1
        assert len(await guids_in(store, ["news"])) == 20

    async def test_an_expired_item_is_gone_at_its_moment(self, store: PersonalStore) -> None:
        item = an_item("news", 1)
        await store.add([item, an_item("news", 2, days=20)])
        end = BEGIN + 14 * DAY
        assert await guids_in(store, ["news"], now=end - 1) == [guid(2), guid(1)]
        assert await guids_in(store, ["news"], now=end) == [guid(2)]

    async def test_an_item_that_has_expired_already_is_not_kept(self, store: PersonalStore) -> None:
        version = (await store.changes(-1)).version
        old = an_item("news", 1, expires_at=BEGIN)
        assert await store.add([old]) == [AddedItem(guid(1), "news", BEGIN, is_new=False)]
        assert await guids_in(store, ["news"], now=BEGIN - DAY) == []
        assert await store.changes(version) == PersonalChanges(version)

    async def test_what_has_expired_is_in_nobodys_way(
        self, store: PersonalStore, virtual_clock: VirtualClock
    ) -> None:
        await store.add([an_item("news", 1, caller_id="x")])
        await virtual_clock.advance(14 * 86_400)
        now = BEGIN + 14 * DAY
        again = an_item("news", 2, caller_id="x", arrived_at=now)
        same = an_item("news", 1, arrived_at=now)
        assert [each.is_new for each in await store.add([again, same])] == [True, True]
        assert await guids_in(store, ["news"], now=now) == [guid(2), guid(1)]

    async def test_upkeep_changes_nothing_that_is_shown(
        self, store: PersonalStore, virtual_clock: VirtualClock
    ) -> None:
        await store.add([an_item("news", number, days=number) for number in range(1, 9)])
        await virtual_clock.advance(4 * 86_400)
        now = BEGIN + 4 * DAY
        before, version = await store.newest(["news"], 50, now), (await store.changes(-1)).version
        await store.upkeep(now)
        await store.upkeep(now)
        assert await store.newest(["news"], 50, now) == before
        assert [item.guid for item in before.items] == [guid(n) for n in range(8, 4, -1)]
        assert await store.changes(version) == PersonalChanges(version)


class RevisionPromises:
    """Words that change."""

    async def test_new_words_leave_the_item_what_it_is(self, store: PersonalStore) -> None:
        old = an_item("news", 1, caller_id="x")
        await store.add([old])
        later = BEGIN + 60 * SECOND
        new = an_item(
            "news", 2, caller_id="x", arrived_at=later, title="New", content="<p>More</p>"
        )
        assert await store.revise([new]) == 1
        assert (await store.newest(["news"], 10, BEGIN)).items == (
            replace(
                old,
                title="New",
                description=new.description,
                link=new.link,
                content="<p>More</p>",
                pub_date=later,
                changed_at=later,
            ),
        )

    async def test_by_guid_too(self, store: PersonalStore) -> None:
        await store.add([an_item("news", 1)])
        assert await store.revise([an_item("news", 1, title="New", changed_at=BEGIN + 1)]) == 1
        (item,) = (await store.newest(["news"], 10, BEGIN)).items
        assert (item.title, item.changed_at, item.caller_id) == ("New", BEGIN + 1, None)

    async def test_one_that_is_not_there_stays_out(self, store: PersonalStore) -> None:
        await store.add([an_item("news", 1, caller_id="x")])
        version = (await store.changes(-1)).version
        strangers = [an_item("art", 1, caller_id="x"), an_item("news", 2, caller_id="y")]
        assert await store.revise(strangers) == 0
        assert await store.revise([]) == 0
        assert await guids_in(store, ["news", "art"]) == [guid(1)]
        assert await store.changes(version) == PersonalChanges(version)

    async def test_where_items_of_a_caller_stand(self, store: PersonalStore) -> None:
        assert await store.places(["x"]) == {}
        await store.add([an_item("news", 1, caller_id="x"), an_item("a:b *", 1, caller_id="x")])
        await store.add([an_item("news", 2, caller_id="y"), an_item("news", 3)])
        await store.add([an_item("art", 4, caller_id="x")])
        found = await store.places(["x", "y", "z", "x"])
        assert {name: sorted(listed) for name, listed in found.items()} == {
            "x": ["a:b *", "art", "news"],
            "y": ["news"],
        }
        assert await store.places([]) == {}

    async def test_older_words_and_the_same_words_change_nothing(
        self, store: PersonalStore
    ) -> None:
        item = an_item("news", 1, changed_at=BEGIN + 9)
        await store.add([item])
        version = (await store.changes(-1)).version
        assert await store.revise([replace(item, title="Old", changed_at=BEGIN + 8)]) == 1
        assert await store.revise([replace(item, changed_at=BEGIN + 99)]) == 1
        assert (await store.newest(["news"], 10, BEGIN)).items == (item,)
        assert await store.changes(version) == PersonalChanges(version)

    async def test_the_last_of_several_words_stays(self, store: PersonalStore) -> None:
        item = an_item("news", 1)
        await store.add([item])
        said = [replace(item, title=f"T{n}", changed_at=BEGIN + n) for n in (1, 3, 2)]
        assert await store.revise(said) == 3
        (kept,) = (await store.newest(["news"], 10, BEGIN)).items
        assert (kept.title, kept.changed_at) == ("T3", BEGIN + 3)

    async def test_an_expired_item_has_no_words_to_change(
        self, store: PersonalStore, virtual_clock: VirtualClock
    ) -> None:
        item = an_item("news", 1)
        await store.add([item])
        await virtual_clock.advance(14 * 86_400)
        assert await store.revise([replace(item, title="New", changed_at=BEGIN + DAY)]) == 0
