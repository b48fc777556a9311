"""Groups and sealed credentials in both databases."""

import pytest
from uuid_utils import uuid7

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import ConflictError, NotFound
from headwater.core.ports import Transaction
from headwater.core.values.ids import FeedId, FetcherId
from headwater.feeds import feed_rows
from headwater.feeds.feed import FeedOptions
from headwater.subscriptions import secret_rows, subscription_rows
from headwater.subscriptions.fetchers.fetcher_rows import get_fetcher
from headwater.subscriptions.groups import group_rows
from headwater.subscriptions.groups.group import (
    Group,
    GroupChange,
    GroupPatch,
    GroupValues,
    NewGroup,
)
from headwater.subscriptions.subscription import NewSubscription, Subscription, SubscriptionPatch
from tests.support.clock import START

HOURLY = GroupValues(fetch_interval_minutes=60, categories=("news",), config='{"spreading": 1}')


async def subscribed(tx: Transaction, name: str, group: int | None = None) -> Subscription:
    url = f"https://{name}.example/feed"
    followed = await feed_rows.insert_or_restore_feed(
        tx,
        url,
        FeedOptions(),
        feed_id=FeedId(str(uuid7())),
        interval_sec=900,
        now=START,
        visit_at=START,
    )
    new = NewSubscription(url, group_id=group)
    return await subscription_rows.insert_subscription(
        tx, new, followed, await get_fetcher(tx, FetcherId(1)), auto_selected=True, now=START
    )


async def test_a_group_comes_back_as_it_was_made(database: SqlDatabase) -> None:
    async with database.write() as tx:
        made = await group_rows.insert_group(tx, NewGroup("News", "what happens", HOURLY), START)
    async with database.read() as view:
        found = await group_rows.get_group(view, made.id)
        listed = await group_rows.list_groups(view, limit=10)
    assert found == Group(made.id, "News", "what happens", HOURLY, None, False, 0, START, START)
    assert listed == [found]


async def test_two_groups_cannot_have_one_name(database: SqlDatabase) -> None:
    async with database.write() as tx:
        await group_rows.insert_group(tx, NewGroup("News"), START)
        other = await group_rows.insert_group(tx, NewGroup("Other"), START)
        with pytest.raises(ConflictError):
            await group_rows.insert_group(tx, NewGroup("News"), START)
        with pytest.raises(ConflictError):
            await group_rows.update_group(tx, other, GroupPatch(name="News"), START)
        same = await group_rows.update_group(tx, other, GroupPatch(name="Other"), START)
    assert same.name == "Other"


async def test_a_change_of_what_is_shared_begins_to_spread_and_another_does_not(
    database: SqlDatabase,
) -> None:
    async with database.write() as tx:
        made = await group_rows.insert_group(tx, NewGroup("News", None, HOURLY), START)
        renamed = await group_rows.update_group(tx, made, GroupPatch(name="Old news"), START)
        assert renamed.spreading is None
        changed = await group_rows.update_group(
            tx, renamed, GroupPatch(shared={"priority": 80}), START
        )
        assert changed.shared == GroupValues(60, 80, ("news",), '{"spreading": 1}')
        assert changed.spreading == GroupChange(HOURLY, 0)
        assert await group_rows.list_unfinished_changes(tx) == [made.id]
        await group_rows.set_group_change(tx, changed, GroupChange(HOURLY, 7))
        assert (await group_rows.get_group(tx, made.id)).spreading == GroupChange(HOURLY, 7)
        await group_rows.set_group_change(tx, changed, None)
        assert await group_rows.list_unfinished_changes(tx) == []
        assert (await group_rows.get_group(tx, made.id)).shared == changed.shared


async def test_members_come_in_the_order_of_their_feeds_and_only_active_ones_count(
    database: SqlDatabase,
) -> None:
    async with database.write() as tx:
        group = await group_rows.insert_group(tx, NewGroup("News"), START)
        one = await subscribed(tx, "one", group.id)
        await subscribed(tx, "stranger")
        two = await subscribed(tx, "two", group.id)
        gone = await subscribed(tx, "gone", group.id)
        await subscription_rows.deactivate(tx, gone.id, START)
        everybody = await group_rows.list_members_by_feed(tx, group.id, after=0, limit=10)
        second = await group_rows.list_members_by_feed(tx, group.id, after=one.feed_pk, limit=1)
        assert [each.subscription_id for each in everybody] == [one.id, two.id, gone.id]
        assert [each.subscription_id for each in second] == [two.id]
        assert (await group_rows.get_group(tx, group.id)).members == 2
        assert await group_rows.list_source_urls(tx, group.id, 10) == [
            "https://one.example/feed",
            "https://two.example/feed",
        ]


async def test_a_deleted_group_leaves_its_subscriptions(database: SqlDatabase) -> None:
    async with database.write() as tx:
        group = await group_rows.insert_group(tx, NewGroup("News"), START)
        member = await subscribed(tx, "one", group.id)
        await group_rows.delete_group(tx, group.id)
        with pytest.raises(NotFound):
            await group_rows.get_group(tx, group.id)
        left = await subscription_rows.update_subscription(
            tx, member.id, SubscriptionPatch(), START
        )
    assert left.group_id is None


async def test_a_visit_finds_the_groups_secret_before_the_own_one(database: SqlDatabase) -> None:
    async with database.write() as tx:
        group = await group_rows.insert_group(tx, NewGroup("News"), START)
        member = await subscribed(tx, "one", group.id)
        assert await secret_rows.list_secrets_of_feed(tx, member.feed_pk) == []
        await secret_rows.set_subscription_secret(tx, member.id, b"own", START)
        await secret_rows.set_group_secret(tx, group.id, b"shared", START)
        found = await secret_rows.list_secrets_of_feed(tx, member.feed_pk)
        assert [(each.about, each.secret) for each in found] == [
            (f"group:{group.id}", b"shared"),
            (f"subscription:{member.id}", b"own"),
        ]
        assert len(await secret_rows.list_secrets_of_other_keys(tx, b"", 10)) == 2
        assert (await group_rows.get_group(tx, group.id)).has_credentials
        await secret_rows.set_group_secret(tx, group.id, None, START)
        await secret_rows.set_subscription_secret(tx, member.id, None, START)
        assert await secret_rows.list_secrets_of_feed(tx, member.feed_pk) == []
        assert await secret_rows.list_secrets_of_other_keys(tx, b"", 10) == []


async def test_there_must_be_somebody_to_keep_a_secret_for(database: SqlDatabase) -> None:
    async with database.write() as tx:
        with pytest.raises(NotFound):
            await secret_rows.set_subscription_secret(tx, 999, b"x", START)
        with pytest.raises(NotFound):
            await secret_rows.set_group_secret(tx, 999, b"x", START)


async def test_a_sealed_secret_is_in_no_repr(database: SqlDatabase) -> None:
    async with database.write() as tx:
        member = await subscribed(tx, "one")
        await secret_rows.set_subscription_secret(tx, member.id, b"sealed-bytes", START)
        (found,) = await secret_rows.list_secrets_of_feed(tx, member.feed_pk)
    assert "sealed-bytes" not in repr(found)
