"""Every feed has one subscription, always: when it is added, changed, removed and brought back."""

from datetime import timedelta

import orjson
import pytest

from headwater.core.errors import DuplicateUrl, NoCapableFetcher
from headwater.core.values.ids import FeedId, FetcherId
from headwater.feeds.change_feed import change_feed
from headwater.feeds.feed import FeedOptions, FeedPatch
from headwater.feeds.overrides import Overrides
from headwater.subscriptions import history_rows, subscription_rows
from headwater.subscriptions.add_feed import add_feed, add_feed_later
from headwater.subscriptions.conflicts import conflict_rows
from headwater.subscriptions.fetchers import fetcher_rows
from headwater.subscriptions.fetchers.builtin import BUILTINS, BuiltinFetcher
from headwater.subscriptions.fetchers.fetcher import Fetcher, FetcherPatch, Registration
from headwater.subscriptions.subscription import Subscription
from headwater.subscriptions.subscription_rows import get_subscription_of_feed
from headwater.subscriptions.unsubscribe import remove_feed
from tests.support.origin import Post, Reply
from tests.support.visits import River

ONE = Post("1", "One")


async def subscription_of(river: River, feed_id: FeedId) -> Subscription:
    async with river.engine.database.read() as view:
        return await get_subscription_of_feed(view, feed_id)


async def joined(river: River) -> Fetcher:
    said = Registration("forum", "1", None, "https://forum.example", 50, None, False)
    async with river.engine.database.write() as tx:
        made, _ = await fetcher_rows.upsert_fetcher(
            tx, said, registered_by="carol", token_id=None, signing_key=None,
            now=river.clock.now(),
        )  # fmt: skip
    return made


async def assigned(river: River, feed_id: FeedId, to: Fetcher) -> None:
    async with river.engine.database.write() as tx:
        await subscription_rows.assign(
            tx,
            await get_subscription_of_feed(tx, feed_id),
            to,
            auto_selected=False,
            status="assigned",
            now=river.clock.now(),
        )


@pytest.mark.parametrize("when", ["now", "later"])
async def test_a_followed_feed_is_a_subscription_of_the_best_built_in_fetcher(
    river: River, when: str
) -> None:
    feed = river.origin.feed("/feed.xml?token=hunter2", [ONE])
    follow = add_feed if when == "now" else add_feed_later
    options = FeedOptions(overrides=Overrides("Mine"))
    feed_id = await follow(feed.url, options, river.engine.registry, who="ada")
    made = await subscription_of(river, feed_id)
    assert (made.source_url, made.source_type, made.name) == (feed.url, "rss", "Mine")
    assert (made.fetcher_name, made.assignment_status) == ("feed", "auto_assigned")
    assert (made.auto_selected, made.assigned_at, made.is_active) == (True, None, True)
    (event,) = await river.rows("SELECT * FROM events WHERE type = 'subscription_created'")
    assert (event.seq, event.feed_id) == (1, feed_id)
    assert orjson.loads(event.payload) == {
        "subscription_id": made.id,
        "feed_id": feed_id,
        "source_url": feed.url.replace("hunter2", "REDACTED"),
        "source_type": "rss",
        "fetcher_id": 1,
        "fetcher": "feed",
        "assignment_status": "auto_assigned",
        "revived": False,
    }
    async with river.engine.database.read() as view:
        (decision,) = await history_rows.list_history(view, made.id, limit=10)
    assert (decision.who, decision.what, decision.before) == ("ada", "created", None)


async def test_a_built_in_of_higher_priority_that_can_gets_it(river: River) -> None:
    port = river.origin.feed("/feed.xml", [ONE]).url.rpartition(":")[2].partition("/")[0]
    special = BuiltinFetcher("special", "1", "One port.", 40, lambda url, kind: f":{port}/" in url)
    river.engine.builtins = (*BUILTINS, special)
    async with river.engine.database.write() as tx:
        await fetcher_rows.insert_missing_builtins(tx, river.engine.builtins, river.clock.now())
    feed = river.origin.feed("/feed.xml", [ONE])
    made = await subscription_of(river, await river.add(feed.url))
    assert made.fetcher_name == "special"


async def test_nothing_is_followed_that_no_built_in_fetcher_may_visit(river: River) -> None:
    feed = river.origin.feed("/feed.xml", [ONE])
    async with river.engine.database.write() as tx:
        await fetcher_rows.update_fetcher(tx, 1, FetcherPatch(is_enabled=False), river.clock.now())
    with pytest.raises(NoCapableFetcher):
        await add_feed_later(feed.url, FeedOptions(), river.engine.registry)
    assert [await river.count(t) for t in ("feeds", "rss_subscriptions", "events")] == [0, 0, 0]


async def test_a_refused_url_names_its_subscription(river: River) -> None:
    feed = river.origin.feed("/feed.xml", [ONE])
    made = await subscription_of(river, await river.add(feed.url))
    for follow in (add_feed, add_feed_later):
        with pytest.raises(DuplicateUrl) as refused:
            await follow(feed.url, FeedOptions(), river.engine.registry)
        assert refused.value.facts["subscription_id"] == made.id


async def test_pausing_and_resuming_leave_the_subscription_alone(river: River) -> None:
    feed = river.origin.feed("/feed.xml", [ONE])
    feed_id = await river.add(feed.url)
    remote = await joined(river)
    await assigned(river, feed_id, remote)
    for state in ("paused", "active"):
        patch = FeedPatch(state="paused" if state == "paused" else "active")
        await change_feed(feed_id, patch, river.engine.feeds, gap=timedelta())
        (row,) = await river.rows("SELECT state, shard FROM feeds")
        assert tuple(row) == (state, -remote.id)
        assert (await subscription_of(river, feed_id)).is_active


async def test_a_removed_feed_is_an_inactive_subscription_without_open_conflicts(
    river: River,
) -> None:
    feed = river.origin.feed("/feed.xml", [ONE])
    feed_id = await river.add(feed.url)
    made = await subscription_of(river, feed_id)
    async with river.engine.database.write() as tx:
        conflict, _ = await conflict_rows.insert_conflict(
            tx, made.id, "multi_fetcher_match", (FetcherId(1), FetcherId(2)), "a tie",
            river.clock.now(),
        )  # fmt: skip
    for _ in range(2):  # removing twice is removing once
        await remove_feed(feed_id, river.engine.database, hard=False, who="ada")
    assert (await subscription_of(river, feed_id)).is_active is False
    async with river.engine.database.read() as view:
        closed = await conflict_rows.get_conflict(view, conflict.id)
        newest, *_ = await history_rows.list_history(view, made.id, limit=10)
    assert closed.resolution is not None
    assert (closed.status, closed.chosen) == ("resolved", None)
    assert closed.resolution["resolution_reason"] == "subscription_deleted"
    assert (newest.who, newest.what) == ("ada", "deleted")
    assert await river.told() == [
        "subscription_created",
        "new_entry",
        "conflict_resolved",
        "subscription_deleted",
    ]
    (event,) = await river.rows("SELECT payload FROM events WHERE type = 'subscription_deleted'")
    assert orjson.loads(event.payload)["hard"] is False


async def test_deleting_for_good_leaves_one_event_and_no_row(river: River) -> None:
    feed = river.origin.feed("/feed.xml", [ONE])
    feed_id = await river.add(feed.url)
    made = await subscription_of(river, feed_id)
    async with river.engine.database.write() as tx:
        await conflict_rows.insert_conflict(
            tx, made.id, "multi_fetcher_match", (), "", river.clock.now()
        )
    await remove_feed(feed_id, river.engine.database, hard=True)
    tables = ("feeds", "rss_subscriptions", "subscription_conflicts", "assignment_history")
    assert [await river.count(table) for table in tables] == [0, 0, 0, 0]
    assert await river.told() == ["subscription_created", "new_entry", "subscription_deleted"]
    (event,) = await river.rows("SELECT * FROM events WHERE type = 'subscription_deleted'")
    told = orjson.loads(event.payload)
    assert (event.feed_id, told["feed_id"], told["url"]) == (feed_id, feed_id, feed.url)
    assert (told["hard"], told["deleted_at"]) == (True, "2026-01-05T12:00:02Z")
    again = await river.add(feed.url)
    assert again != feed_id


async def test_a_feed_that_comes_back_is_the_same_subscription(river: River) -> None:
    feed = river.origin.feed("/feed.xml", [ONE])
    feed_id = await river.add(feed.url)
    first = await subscription_of(river, feed_id)
    await remove_feed(feed_id, river.engine.database, hard=False)
    assert await river.add(feed.url) == feed_id
    back = await subscription_of(river, feed_id)
    assert (back.id, back.is_active, back.created_at) == (first.id, True, first.created_at)
    told = [
        orjson.loads(row.payload)["revived"]
        for row in await river.rows(
            "SELECT payload FROM events WHERE type = 'subscription_created' ORDER BY seq"
        )
    ]
    assert told == [False, True]


async def test_a_feed_that_moved_and_was_removed_comes_back_by_the_url_that_was_asked_for(
    river: River,
) -> None:
    old, new = river.origin.feed("/old", [ONE]), river.origin.feed("/new", [ONE])
    feed_id = await river.add(old.url)
    old.stand_in = Reply(301, headers={"Location": "/new"})
    for _ in range(3):
        await river.visit(seconds=86_400)
    await remove_feed(feed_id, river.engine.database, hard=False)
    await river.clock.advance(10)
    assert await river.add(old.url) == feed_id
    (row,) = await river.rows("SELECT url, state FROM feeds")
    assert tuple(row) == (new.url, "active")
    assert await river.count("entries") == 1


async def test_visits_remember_who_fetched(river: River) -> None:
    feed = river.origin.feed("/feed.xml", [ONE])
    await river.add(feed.url)
    await river.visit()
    rows = await river.rows("SELECT fetcher_id FROM visits")
    assert [row.fetcher_id for row in rows] == [1, 1]
