"""A subscription is inserted with its feed in one way, whoever follows the source and however."""

import re
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import ConflictError, DuplicateUrl, NotFound
from headwater.core.values.url import shard_of
from headwater.feeds.feed import FeedOptions
from headwater.subscriptions import history_rows, subscription_rows
from headwater.subscriptions.add_feed import add_feed_later
from headwater.subscriptions.change_subscription import SubscriptionUpdate, change_subscription
from headwater.subscriptions.fetchers import fetcher_rows
from headwater.subscriptions.fetchers.fetcher import Fetcher, FetcherPatch
from headwater.subscriptions.groups import apply_group_values, group_rows
from headwater.subscriptions.groups.group import Group, GroupValues, NewGroup, check_not_full
from headwater.subscriptions.history_rows import HistoryEntry
from headwater.subscriptions.subscribe import create_subscription
from headwater.subscriptions.subscription import NewSubscription, Subscription, SubscriptionPatch
from headwater.subscriptions.unsubscribe import delete_subscription
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.registry_rows import FEED, NOON, joined
from tests.support.source_tree import SRC

URL = "https://a.example/feed"
BACK = SubscriptionUpdate(SubscriptionPatch(), is_active=True)


async def subscription(engine: EngineParts) -> Subscription:
    async with engine.database.read() as view:
        return await subscription_rows.get_subscription(view, 1)


async def history(engine: EngineParts) -> list[HistoryEntry]:
    """Newest first."""
    async with engine.database.read() as view:
        return await history_rows.list_history(view, 1, limit=10)


async def grouped(engine: EngineParts, **values: Any) -> Group:
    async with engine.database.write() as tx:
        return await group_rows.insert_group(
            tx, NewGroup("News", None, GroupValues(**values)), NOON
        )


async def removed(
    engine: EngineParts, clock: VirtualClock, fetcher: Fetcher | None = None
) -> Group:
    """A subscription about which much was said, an hour after it was made."""
    group = await grouped(engine, fetch_interval_minutes=30)
    await create_subscription(
        NewSubscription(
            URL, name="Mine", description="News.", config='{"a":1}', group_id=group.id,
            fetcher_id=FEED,
        ),
        engine.registry,
        "ada",
    )  # fmt: skip
    if fetcher is not None:
        async with engine.database.write() as tx:
            await subscription_rows.assign(
                tx, await subscription_rows.get_subscription(tx, 1), fetcher,
                auto_selected=False, status="assigned", now=NOON,
            )  # fmt: skip
    await clock.advance(3_600)
    await delete_subscription(1, engine.database, "ada", hard=False)
    return group


async def back(engine: EngineParts) -> Subscription:
    return await change_subscription(1, BACK, engine.registry, "ada", gap=timedelta())


async def switched_off(engine: EngineParts, fetcher: Fetcher) -> None:
    async with engine.database.write() as tx:
        await fetcher_rows.update_fetcher(tx, fetcher.id, FetcherPatch(is_enabled=False), NOON)


@pytest.mark.parametrize(
    "inserting", ["insert_or_restore_feed", "insert_subscription", "restore_subscription"]
)
def test_one_function_inserts_both(inserting: str) -> None:
    called = re.compile(rf"(?<!def )\b{inserting}\(")
    callers = [
        path.relative_to(SRC).as_posix()
        for path in sorted(SRC.rglob("*.py"))
        if called.search(path.read_text())
    ]
    assert callers == ["subscriptions/insert_subscription.py"]


async def test_every_way_in_says_who_did_it_and_why(engine: EngineParts) -> None:
    await create_subscription(NewSubscription(URL), engine.registry, "ada")
    await add_feed_later("https://b.example/feed", FeedOptions(), engine.registry, who="bob")
    async with engine.database.read() as view:
        told = [await history_rows.list_history(view, number, limit=9) for number in (1, 2)]
        events = await view.rows("SELECT type, feed_id FROM events ORDER BY seq")
        feeds = await view.rows("SELECT feed_id FROM feeds ORDER BY id")
    ((first,), (second,)) = told
    assert (first.who, first.what, first.before) == ("ada", "created", None)
    assert first.why == "the best of those who can"
    assert (second.who, second.what, second.before) == ("bob", "created", None)
    assert second.why == "the best built-in fetcher for this URL"
    assert first.after == second.after
    assert [tuple(row) for row in events] == [
        ("subscription_created", feed.feed_id) for feed in feeds
    ]


async def test_every_way_in_is_refused_with_the_same_facts(engine: EngineParts) -> None:
    made = await create_subscription(NewSubscription(URL), engine.registry, "ada")
    with pytest.raises(DuplicateUrl) as subscribed:
        await create_subscription(NewSubscription(f"{URL}#top"), engine.registry, "ada")
    with pytest.raises(DuplicateUrl) as added:
        await add_feed_later(f"{URL}#top", FeedOptions(), engine.registry)
    for refused in (subscribed, added):
        assert refused.value.facts["subscription_id"] == made.id
        assert refused.value.facts["feed_id"] == made.feed_id
    assert subscribed.value.message == f"Subscription already exists for this URL: {URL}"
    assert added.value.message == "This URL is followed already."


async def test_a_group_that_is_not_there_leaves_no_feed(engine: EngineParts) -> None:
    with pytest.raises(NotFound):
        await create_subscription(NewSubscription(URL, group_id=7), engine.registry, "ada")
    async with engine.database.read() as view:
        assert await view.rows("SELECT id FROM feeds") == []


async def test_who_subscribes_again_says_everything_anew(
    engine: EngineParts, virtual_clock: VirtualClock
) -> None:
    await removed(engine, virtual_clock)
    made = await create_subscription(NewSubscription(URL), engine.registry, "bob")
    assert (made.id, made.created_at) == (1, NOON)
    assert (made.name, made.description, made.config, made.group_id) == (None, None, None, None)
    assert (made.auto_selected, made.assigned_at) == (True, None)
    newest, *_ = await history(engine)
    assert (newest.who, newest.what, newest.why) == ("bob", "revived", "the best of those who can")


async def test_a_feed_that_is_added_again_keeps_its_subscription_as_it_was(
    engine: EngineParts, database: SqlDatabase, virtual_clock: VirtualClock
) -> None:
    remote = await joined(database)
    group = await removed(engine, virtual_clock, remote)
    await add_feed_later(URL, FeedOptions(), engine.registry, who="bob")
    made = await subscription(engine)
    assert (made.is_active, made.fetcher_id, made.assigned_at) == (True, remote.id, NOON)
    assert (made.description, made.config, made.group_id) == ("News.", '{"a":1}', group.id)
    assert (made.name, made.fetch_interval_minutes) == (None, 30)
    newest, *_ = await history(engine)
    assert (newest.who, newest.what, newest.why) == ("bob", "revived", None)


async def test_a_feed_whose_fetcher_is_switched_off_goes_to_a_built_in_one_and_keeps_its_words(
    engine: EngineParts, database: SqlDatabase, virtual_clock: VirtualClock
) -> None:
    remote = await joined(database)
    group = await removed(engine, virtual_clock, remote)
    await switched_off(engine, remote)
    await add_feed_later(URL, FeedOptions(), engine.registry, who="bob")
    made = await subscription(engine)
    assert (made.fetcher_id, made.assignment_status, made.assigned_at) == (
        FEED, "auto_assigned", None,
    )  # fmt: skip
    assert (made.description, made.config, made.group_id) == ("News.", None, group.id)
    assert made.fetch_interval_minutes == 30
    newest, *_ = await history(engine)
    assert (newest.what, newest.why) == ("revived", "the best built-in fetcher for this URL")
    async with engine.database.read() as view:
        (feed,) = await view.rows("SELECT shard FROM feeds")
    assert feed.shard == shard_of("a.example")


@pytest.mark.parametrize("is_enabled", [True, False])
async def test_what_is_switched_on_again_is_as_it_was(
    engine: EngineParts, database: SqlDatabase, virtual_clock: VirtualClock, is_enabled: bool
) -> None:
    """Its fetcher too, even one that is switched off, and the moment somebody named it."""
    remote = await joined(database)
    group = await removed(engine, virtual_clock, remote)
    if not is_enabled:
        await switched_off(engine, remote)
    made = await back(engine)
    assert (made.is_active, made.fetcher_id) == (True, remote.id)
    assert (made.assignment_status, made.assigned_at) == ("assigned", NOON)
    assert (made.name, made.description, made.config) == ("Mine", "News.", '{"a":1}')
    assert (made.group_id, made.fetch_interval_minutes) == (group.id, 30)
    newest, *_ = await history(engine)
    assert (newest.who, newest.what, newest.why) == ("ada", "revived", None)


async def test_nothing_comes_back_into_a_group_that_is_full(
    engine: EngineParts, virtual_clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = await removed(engine, virtual_clock)
    await create_subscription(
        NewSubscription("https://b.example/feed", group_id=group.id), engine.registry, "ada"
    )
    monkeypatch.setattr(apply_group_values, "check_not_full", partial(check_not_full, most=1))
    for again in (
        back(engine),
        add_feed_later(URL, FeedOptions(), engine.registry),
        create_subscription(NewSubscription(URL, group_id=group.id), engine.registry, "ada"),
    ):
        with pytest.raises(ConflictError, match="at most 1 subscriptions"):
            await again
        assert not (await subscription(engine)).is_active
