"""Groups and sealed credentials in both databases."""

import pytest
from uuid_utils import uuid7

from headwater.adapters.database import SqlDatabase
from headwater.errors import Conflict, NotFound
from headwater.ports import Transaction
from headwater.subscribe import store as feeds
from headwater.subscribe.feed import Wish
from headwater.subscribe.fetcher import FetcherId
from headwater.subscribe.group import Group, GroupPatch, NewGroup, Shared, Spreading
from headwater.subscribe.groups import store
from headwater.subscribe.secrets import store as secrets
from headwater.subscribe.subscription import NewSubscription, Subscription, SubscriptionPatch
from headwater.subscribe.subscriptions import store as subscriptions
from headwater.values.ids import FeedId
from tests.clock import START

HOURLY = Shared(fetch_interval_minutes=60, categories=("news",), config='{"spreading": 1}')


async def subscribed(tx: Transaction, name: str, group: int | None = None) -> Subscription:
    url = f"https://{name}.example/feed"
    followed = await feeds.follow(
        tx,
        url,
        Wish(),
        feed_id=FeedId(str(uuid7())),
        interval_sec=900,
        now=START,
        visit_at=START,
    )
    new = NewSubscription(url, group_id=group)
    return await subscriptions.add(tx, new, followed, FetcherId(1), auto_selected=True, now=START)


async def test_a_group_comes_back_as_it_was_made(database: SqlDatabase) -> None:
    async with database.write() as tx:
        made = await store.add(tx, NewGroup("News", "what happens", HOURLY), START)
    async with database.read() as view:
        found = await store.group(view, made.id)
        listed = await store.groups(view, limit=10)
    assert found == Group(made.id, "News", "what happens", HOURLY, None, False, 0, START, START)
    assert listed == [found]


async def test_two_groups_cannot_have_one_name(database: SqlDatabase) -> None:
    async with database.write() as tx:
        await store.add(tx, NewGroup("News"), START)
        other = await store.add(tx, NewGroup("Other"), START)
        with pytest.raises(Conflict):
            await store.add(tx, NewGroup("News"), START)
        with pytest.raises(Conflict):
            await store.change(tx, other, GroupPatch(name="News"), START)
        same = await store.change(tx, other, GroupPatch(name="Other"), START)
    assert same.name == "Other"


async def test_a_change_of_what_is_shared_begins_to_spread_and_another_does_not(
    database: SqlDatabase,
) -> None:
    async with database.write() as tx:
        made = await store.add(tx, NewGroup("News", None, HOURLY), START)
        renamed = await store.change(tx, made, GroupPatch(name="Old news"), START)
        assert renamed.spreading is None
        changed = await store.change(tx, renamed, GroupPatch(shared={"priority": 80}), START)
        assert changed.shared == Shared(60, 80, ("news",), '{"spreading": 1}')
        assert changed.spreading == Spreading(HOURLY, 0)
        assert await store.half_told(tx) == [made.id]
        await store.spread(tx, changed, Spreading(HOURLY, 7))
        assert (await store.group(tx, made.id)).spreading == Spreading(HOURLY, 7)
        await store.spread(tx, changed, None)
        assert await store.half_told(tx) == []
        assert (await store.group(tx, made.id)).shared == changed.shared


async def test_members_come_in_the_order_of_their_feeds_and_only_active_ones_count(
    database: SqlDatabase,
) -> None:
    async with database.write() as tx:
        group = await store.add(tx, NewGroup("News"), START)
        one = await subscribed(tx, "one", group.id)
        await subscribed(tx, "stranger")
        two = await subscribed(tx, "two", group.id)
        gone = await subscribed(tx, "gone", group.id)
        await subscriptions.deactivate(tx, gone.id, START)
        everybody = await store.members_by_feed(tx, group.id, after=0, limit=10)
        second = await store.members_by_feed(tx, group.id, after=one.feed_pk, limit=1)
        assert [each.subscription_id for each in everybody] == [one.id, two.id, gone.id]
        assert [each.subscription_id for each in second] == [two.id]
        assert (await store.group(tx, group.id)).members == 2
        assert await store.source_urls(tx, group.id, 10) == [
            "https://one.example/feed",
            "https://two.example/feed",
        ]


async def test_a_deleted_group_leaves_its_subscriptions(database: SqlDatabase) -> None:
    async with database.write() as tx:
        group = await store.add(tx, NewGroup("News"), START)
        member = await subscribed(tx, "one", group.id)
        await store.delete(tx, group.id)
        with pytest.raises(NotFound):
            await store.group(tx, group.id)
        left = await subscriptions.change(tx, member.id, SubscriptionPatch(), START)
    assert left.group_id is None


async def test_a_visit_finds_the_groups_secret_before_the_own_one(database: SqlDatabase) -> None:
    async with database.write() as tx:
        group = await store.add(tx, NewGroup("News"), START)
        member = await subscribed(tx, "one", group.id)
        assert await secrets.sealed_for(tx, member.feed_pk) == []
        await secrets.keep_for_subscription(tx, member.id, b"own", START)
        await secrets.keep_for_group(tx, group.id, b"shared", START)
        found = await secrets.sealed_for(tx, member.feed_pk)
        assert [(each.about, each.secret) for each in found] == [
            (f"group:{group.id}", b"shared"),
            (f"subscription:{member.id}", b"own"),
        ]
        assert len(await secrets.sealed_otherwise(tx, b"", 10)) == 2
        assert (await store.group(tx, group.id)).has_credentials
        await secrets.keep_for_group(tx, group.id, None, START)
        await secrets.keep_for_subscription(tx, member.id, None, START)
        assert await secrets.sealed_for(tx, member.feed_pk) == []
        assert await secrets.sealed_otherwise(tx, b"", 10) == []


async def test_there_must_be_somebody_to_keep_a_secret_for(database: SqlDatabase) -> None:
    async with database.write() as tx:
        with pytest.raises(NotFound):
            await secrets.keep_for_subscription(tx, 999, b"x", START)
        with pytest.raises(NotFound):
            await secrets.keep_for_group(tx, 999, b"x", START)


async def test_a_sealed_secret_is_in_no_repr(database: SqlDatabase) -> None:
    async with database.write() as tx:
        member = await subscribed(tx, "one")
        await secrets.keep_for_subscription(tx, member.id, b"sealed-bytes", START)
        (found,) = await secrets.sealed_for(tx, member.feed_pk)
    assert "sealed-bytes" not in repr(found)
