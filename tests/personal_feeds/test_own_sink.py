"""Entries of feeds with categories become items: by the engine's own sink, each once."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import BadInput, BadSettings, ConnectionLost
from headwater.entrypoints.api.app import create_app
from headwater.feeds.visit import visit_feed
from headwater.feeds.worker import claim_rows, worker_rows
from headwater.personal_feeds.items_from_entries import EntryItemPolicy
from headwater.personal_feeds.own_sink import PERSONAL, ensure_personal_sink, personal_kind
from headwater.personal_feeds.ports import AddedItem, KeptItem, PersonalStore
from headwater.settings import Settings
from headwater.sinks import sink_rows
from headwater.sinks.dispatch import SinkDeliveries, SinkPolicy
from headwater.sinks.from_settings import apply_sink_settings
from headwater.sinks.ports import SinkConfig
from headwater.sinks.sink import BEGINNING, Sink, SinkDefinition
from headwater.sinks.sink_kind import SinkKind, SinkKinds
from tests.support.api_caller import Api
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.scripted_engine import ScriptedWeb, an_engine

URL = "https://tides.example/feed"
NOON = 1_767_614_400_000_000
SECOND, DAY = 1_000_000, 86_400_000_000
FAR = 2**62


@dataclass(slots=True)
class Shore:
    """An engine that follows feeds, and delivers when it is told to."""

    engine: EngineParts
    clock: VirtualClock
    web: ScriptedWeb
    api: Api

    @property
    def now(self) -> int:
        return NOON + round(self.clock.monotonic() * SECOND)

    def publish(self, *posts: str, url: str = URL) -> None:
        """The newest first, as publishers do it."""
        body = f"<rss version='2.0'><channel><title>Tides</title>{''.join(posts)}</channel></rss>"
        self.web.serve(url, body.encode())

    async def follow(self, *categories: str, url: str = URL) -> str:
        answer = await self.api.post("/feeds", {"url": url, "categories": list(categories)})
        assert answer.status == 201, answer.body
        return str(answer.json["id"])

    async def visit(self) -> None:
        """The one feed there is, an hour later."""
        await self.clock.advance(3_600)
        now = self.now
        async with self.engine.database.write() as tx:
            await worker_rows.claim_shards(tx, self.engine.worker, 0, FAR, 1024)
            await tx.run("UPDATE feeds SET next_visit_at = ?, scheduled_at = ?", now, now)
            (due,) = await claim_rows.claim_feeds(
                tx, self.engine.worker, now, now + 120 * SECOND, 10
            )
        await visit_feed(due, self.engine.feeds)

    def use(self, kind: SinkKind) -> None:
        """In place of the kind of sink that the engine has."""
        self.engine.outlets = SinkKinds({**self.engine.outlets.kinds, PERSONAL: kind})

    async def deliver(self) -> None:
        """A process starts, looks once, delivers what it began, and ends."""
        deliveries = SinkDeliveries(self.engine.sinks, SinkPolicy())
        await deliveries.look()
        await deliveries.all_done()
        await deliveries.end(5)

    async def items(self, *categories: str) -> list[KeptItem]:
        shelf = await self.engine.personal.newest(categories or ("sea",), 100, self.now)
        return list(shelf.items)

    async def titles(self, *categories: str) -> list[str]:
        return [item.title for item in await self.items(*categories)]

    async def sink(self, name: str = "personal") -> Sink:
        async with self.engine.database.read() as view:
            found = await sink_rows.find_sink(view, name)
        assert found is not None
        return found

    async def run(self, sql: str, *values: Any) -> None:
        async with self.engine.database.write() as tx:
            await tx.run(sql, *values)


def post(number: int, text: str = "words", *, day: int | None = None) -> str:
    date = "" if day is None else f"<pubDate>{day:02d} Dec 2025 10:00:00 GMT</pubDate>"
    return (
        f"<item><guid>g{number}</guid><title>Tide {number}</title>"
        f"<link>https://tides.example/{number}</link><description>{text}</description>{date}</item>"
    )


@pytest.fixture
def web() -> ScriptedWeb:
    return ScriptedWeb()


@pytest.fixture
async def shore(
    database: SqlDatabase, virtual_clock: VirtualClock, web: ScriptedWeb, tmp_path: Path
) -> Shore:
    engine = an_engine(database, virtual_clock, web, tmp_path)
    await ensure_personal_sink(engine.personal_services, days=14)
    api = Api(create_app(engine.services, Settings(data_dir=tmp_path)))
    return Shore(engine, virtual_clock, web, api)


async def test_an_entry_is_an_item_in_each_category_of_its_feed(shore: Shore) -> None:
    shore.publish(post(1, "&lt;p&gt;High &lt;script&gt;x&lt;/script&gt;&lt;/p&gt;", day=30))
    await shore.follow("sea", "a:b *")
    await shore.deliver()
    (sea,), (other,) = await shore.items("sea"), await shore.items("a:b *")
    assert (sea.title, sea.link) == ("Tide 1", "https://tides.example/1")
    assert sea.description == "<p>High </p>"
    assert (sea.arrived_at, sea.expires_at) == (NOON, NOON + 14 * DAY)
    assert sea.pub_date == 1_767_088_800_000_000
    assert replace(sea, category="a:b *") == other
    sink = await shore.sink()
    assert (sink.state, sink.delivered, sink.failures) == ("active", 1, 0)


async def test_of_entries_that_come_together_the_latest_is_the_newest_item(shore: Shore) -> None:
    shore.publish(post(3), post(2, day=30), post(1, day=28), post(4, day=29), post(5))
    await shore.follow("sea")
    await shore.deliver()
    # What has no date came now, in the order of the document.
    assert await shore.titles() == ["Tide 3", "Tide 5", "Tide 2", "Tide 4", "Tide 1"]
    shore.publish(post(6, day=1), post(3))
    await shore.visit()
    await shore.deliver()
    assert (await shore.titles())[0] == "Tide 6"


async def test_a_reader_finds_the_entries_of_what_they_follow_in_their_feed(shore: Shore) -> None:
    shore.publish(post(2, day=30), post(1, day=29))
    await shore.follow("sea", "moon")
    await shore.deliver()
    reader = (await shore.api.post("/readers", {"name": "Ada", "categories": ["sea", "moon"]})).json
    issued = await shore.api.post(f"/readers/{reader['id']}/tokens", {})
    feed = await shore.api.get(f"/feed.json?token={issued.json['token']}")
    assert [
        (item["title"], item["url"], sorted(item["tags"]), item["date_published"])
        for item in feed.json["items"]
    ] == [
        ("Tide 2", "https://tides.example/2", ["moon", "sea"], "2025-12-30T10:00:00Z"),
        ("Tide 1", "https://tides.example/1", ["moon", "sea"], "2025-12-29T10:00:00Z"),
    ]


async def test_a_feed_without_categories_costs_its_own_sink_nothing(shore: Shore) -> None:
    shore.publish(post(1), post(2))
    await shore.follow()
    before = await shore.sink()
    await shore.deliver()
    assert await shore.sink() == before
    assert (await shore.engine.personal.changes(0)).version == 0


async def test_an_edit_changes_the_words_of_an_item_and_not_its_place(shore: Shore) -> None:
    shore.publish(post(1, "early words", day=1))
    await shore.follow("sea")
    await shore.deliver()
    (before,) = await shore.items()
    shore.publish(post(1, "later words", day=1))
    await shore.visit()
    await shore.deliver()
    (after,) = await shore.items()
    assert after.description == "later words"
    assert after.changed_at == NOON + 3_600 * SECOND
    assert replace(after, description="early words", changed_at=NOON) == before


async def test_an_edit_reaches_an_item_in_a_category_that_its_feed_has_no_more(
    shore: Shore,
) -> None:
    shore.publish(post(1, "early words", day=1))
    feed_id = await shore.follow("sea")
    await shore.deliver()
    await shore.api.patch(f"/feeds/{feed_id}", {"categories": ["moon"]})
    shore.publish(post(1, "later words", day=1))
    await shore.visit()
    await shore.deliver()
    assert [item.description for item in await shore.items("sea")] == ["later words"]
    assert await shore.items("moon") == []


async def test_an_edit_that_is_delivered_with_its_entry_wins(shore: Shore) -> None:
    shore.publish(post(1, "first words"))
    await shore.follow("sea")
    for words in ("second words", "third words"):
        shore.publish(post(1, words))
        await shore.visit()
    await shore.deliver()
    (item,) = await shore.items()
    assert (item.description, item.arrived_at) == ("third words", NOON)


async def test_an_edit_of_an_entry_that_is_no_item_makes_none(shore: Shore) -> None:
    shore.publish(post(1))
    feed_id = await shore.follow()
    await shore.run("UPDATE sinks SET cursor = (SELECT max(seq) FROM events)")
    await shore.api.patch(f"/feeds/{feed_id}", {"categories": ["sea"]})
    shore.publish(post(2), post(1, "other words"))
    await shore.visit()
    await shore.deliver()
    assert await shore.titles() == ["Tide 2"]


async def test_what_is_delivered_again_is_there_once(shore: Shore) -> None:
    shore.publish(*(post(number) for number in range(30)))
    await shore.follow("sea", "moon")
    await shore.deliver()
    first = await shore.items("sea", "moon")
    version = (await shore.engine.personal.changes(0)).version
    await shore.run("UPDATE sinks SET cursor = 0, updated_at = updated_at + 1")
    await shore.deliver()
    assert await shore.items("sea", "moon") == first
    assert len(first) == 60
    assert (await shore.engine.personal.changes(0)).version == version


async def test_a_replay_fills_a_category_that_came_later(shore: Shore) -> None:
    shore.publish(post(2, day=2), post(1, day=1))
    feed_id = await shore.follow("sea")
    await shore.deliver()
    await shore.api.patch(f"/feeds/{feed_id}", {"categories": ["sea", "moon"]})
    await shore.api.post("/sinks/personal/replay", {"from": "beginning"})
    await shore.deliver()
    assert await shore.titles("moon") == ["Tide 2", "Tide 1"]
    assert [item.guid for item in await shore.items("moon")] == [
        item.guid for item in await shore.items("sea")
    ]


async def test_events_older_than_an_item_lives_are_nothing(shore: Shore) -> None:
    shore.publish(post(1))
    await shore.follow("sea")
    await shore.clock.advance(14 * 86_400)
    shore.publish(post(2))
    await shore.visit()
    await shore.deliver()
    assert await shore.titles() == ["Tide 2"]
    assert (await shore.sink()).delivered == 2


async def test_a_group_gives_its_categories_to_the_entries_of_its_members(shore: Shore) -> None:
    shore.publish(post(1))
    group = (await shore.api.post("/groups", {"name": "coast", "categories": ["sea"]})).json
    made = await shore.api.post(
        "/subscriptions", {"source_url": URL, "group_id": group["group_id"]}
    )
    assert made.status == 201, made.body
    await shore.visit()
    await shore.deliver()
    assert await shore.titles("sea") == ["Tide 1"]


async def test_items_stay_when_their_feed_is_deleted_and_late_events_are_nothing(
    shore: Shore,
) -> None:
    shore.publish(post(1))
    feed_id = await shore.follow("sea")
    await shore.deliver()
    shore.publish(post(2), post(1))
    await shore.visit()
    assert (await shore.api.delete(f"/feeds/{feed_id}?hard=true")).status == 200
    await shore.deliver()
    assert await shore.titles() == ["Tide 1"]
    sink = await shore.sink()
    assert (sink.state, sink.failures) == ("active", 0)


async def test_a_damaged_entry_is_set_aside_and_the_others_come(shore: Shore) -> None:
    shore.publish(post(3), post(2), post(1))
    await shore.follow("sea")
    await shore.run("UPDATE entries SET enclosures = '[5' WHERE entry_uid = 'g2'")
    for _ in range(3):
        await shore.deliver()
        await shore.clock.advance(60)
    await shore.deliver()
    assert await shore.titles() == ["Tide 3", "Tide 1"]
    letters = (await shore.api.get("/sinks/personal/dead-letters")).json["dead_letters"]
    assert [letter["error"] for letter in letters] == ["bad_entry"]


@dataclass(slots=True)
class Shaky:
    """A store that goes away after so many changes, for a while."""

    store: PersonalStore
    left: int

    async def add(self, items: list[KeptItem]) -> list[AddedItem]:
        self._spend()
        return await self.store.add(items)

    async def revise(self, items: list[KeptItem]) -> int:
        self._spend()
        return await self.store.revise(items)

    async def places(self, caller_ids: list[str]) -> Mapping[str, Sequence[str]]:
        return await self.store.places(caller_ids)

    def _spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise ConnectionLost("nobody is there")


async def test_a_store_that_goes_away_gets_the_rest_later_and_nothing_twice(
    shore: Shore, virtual_clock: VirtualClock
) -> None:
    shore.publish(*(post(number, day=1) for number in range(250)))
    await shore.follow("sea")
    shore.publish(post(1, "other words"), *(post(number, day=1) for number in range(2, 250)))
    await shore.visit()
    shaky = Shaky(shore.engine.personal, 3)
    shore.use(
        personal_kind(
            shaky,  # type: ignore[arg-type]
            shore.engine.database,
            virtual_clock,
            EntryItemPolicy(),
        )
    )
    await shore.deliver()
    sink = await shore.sink()
    assert (sink.state, sink.last_error) == ("waiting", "connection_error")
    shaky.left = 1_000
    await virtual_clock.advance(60)
    await shore.deliver()
    items = (await shore.engine.personal.newest(("sea",), 1_000, shore.now)).items
    assert sorted(item.title for item in items) == sorted(f"Tide {n}" for n in range(250))
    assert {item.description for item in items} == {"words", "other words"}
    assert (await shore.sink()).state == "active"


async def test_only_what_the_settings_allow_is_filled(shore: Shore) -> None:
    shore.publish(post(1))
    await shore.follow("sea", "moon")
    allowed = EntryItemPolicy(allowed=frozenset({"moon"}))
    shore.use(personal_kind(shore.engine.personal, shore.engine.database, shore.clock, allowed))
    await shore.deliver()
    assert (await shore.titles("sea"), await shore.titles("moon")) == ([], ["Tide 1"])


# The sink itself -------------------------------------------------------------------------------


async def test_it_is_there_after_a_start_and_shown_like_any_other(shore: Shore) -> None:
    shown = (await shore.api.get("/sinks")).json["sinks"]
    assert [(each["name"], each["kind"], each["origin"]) for each in shown] == [
        ("personal", "personal", "settings")
    ]
    assert shown[0]["wanted"]["types"] == ["new_entry", "updated_entry"]
    before = await shore.sink()
    await ensure_personal_sink(shore.engine.personal_services, days=14)
    assert await shore.sink() == before


async def test_a_new_one_begins_with_what_would_not_have_expired(shore: Shore) -> None:
    await shore.run("DELETE FROM sinks")
    shore.publish(post(1))
    await shore.follow("sea")
    await shore.clock.advance(15 * 86_400)
    shore.publish(post(2))
    await shore.visit()
    await ensure_personal_sink(shore.engine.personal_services, days=14)
    await shore.deliver()
    assert (await shore.titles(), (await shore.sink()).delivered) == (["Tide 2"], 1)


async def test_nobody_can_make_change_or_remove_it(shore: Shore) -> None:
    made = await shore.api.post("/sinks", {"name": "mine", "kind": "personal"})
    assert (made.status, made.json["field"]) == (422, "kind")
    before = await shore.sink()
    for answer in (
        await shore.api.patch("/sinks/personal", {"enabled": False}),
        await shore.api.patch("/sinks/personal", {"wanted": {"types": ["new_entry"]}}),
        await shore.api.patch("/sinks/personal", {"options": {"a": 1}}),
        await shore.api.delete("/sinks/personal"),
    ):
        assert (answer.status, answer.json["reason"]) == (409, "own_sink")
        assert "Headwater's own" in answer.json["message"]
    assert await shore.sink() == before
    assert (await shore.api.post("/sinks/personal/test")).status == 409
    with pytest.raises(BadInput):
        shore.engine.outlets.checked(SinkConfig("personal", "personal", {"a": 1}, {}))


async def test_settings_can_neither_take_it_away_nor_make_another(shore: Shore) -> None:
    await apply_sink_settings(shore.engine.sinks, [], most=5)
    assert (await shore.sink()).runs
    with pytest.raises(BadSettings, match="own"):
        await apply_sink_settings(shore.engine.sinks, [SinkDefinition("mine", "personal")], most=5)
    with pytest.raises(BadSettings, match="There is one of this name already"):
        await apply_sink_settings(
            shore.engine.sinks, [SinkDefinition("personal", "ndjson")], most=5
        )


async def test_one_that_was_stopped_runs_again_after_a_start(shore: Shore) -> None:
    await shore.run("UPDATE sinks SET stopped = 'failing_too_long', failures = 9, cursor = 0")
    await ensure_personal_sink(shore.engine.personal_services, days=14)
    sink = await shore.sink()
    assert (sink.state, sink.failures) == ("active", 0)


async def test_a_sink_of_somebody_elses_keeps_the_name(shore: Shore) -> None:
    await shore.run("DELETE FROM sinks")
    wish = {"name": "personal", "kind": "ndjson", "from": "beginning"}
    assert (await shore.api.post("/sinks", wish)).status == 201
    for _ in range(2):
        await ensure_personal_sink(shore.engine.personal_services, days=14)
    assert (await shore.sink()).kind == "ndjson"
    assert (await shore.sink("personal-2")).kind == "personal"


async def test_it_does_not_count_among_the_sinks_there_may_be(shore: Shore, tmp_path: Path) -> None:
    api = Api(create_app(shore.engine.services, Settings(data_dir=tmp_path, sinks_max=1)))
    assert (await api.post("/sinks", {"name": "tap", "kind": "ndjson"})).status == 201
    assert (await api.post("/sinks", {"name": "tap2", "kind": "ndjson"})).status == 409
    await shore.run("DELETE FROM sinks WHERE kind = 'personal'")
    await ensure_personal_sink(shore.engine.personal_services, days=14)
    await apply_sink_settings(
        shore.engine.sinks, [SinkDefinition("tap", "ndjson", start=BEGINNING)], most=1
    )
    assert len((await api.get("/sinks")).json["sinks"]) == 2


async def test_two_processes_that_start_together_make_one(
    shore: Shore,
    open_another: Callable[[], SqlDatabase],
    virtual_clock: VirtualClock,
    web: ScriptedWeb,
    tmp_path: Path,
) -> None:
    await shore.run("DELETE FROM sinks")
    other = an_engine(open_another(), virtual_clock, web, tmp_path)
    await asyncio.gather(
        ensure_personal_sink(shore.engine.personal_services, days=14),
        ensure_personal_sink(other.personal_services, days=14),
    )
    assert len((await shore.api.get("/sinks")).json["sinks"]) == 1


async def test_what_it_passed_over_is_in_its_row_within_a_minute_though_nothing_comes(
    shore: Shore,
) -> None:
    shore.publish(post(1))
    await shore.follow()
    deliveries = SinkDeliveries(shore.engine.sinks, SinkPolicy())
    for seconds, cursor in ((0, 0), (59, 0), (1, 2)):
        await shore.clock.advance(seconds)
        await deliveries.look()
        await deliveries.all_done()
        assert (await shore.sink()).cursor == cursor
    await deliveries.end(5)
