"""Commands of groups: create, change and dissolve one, and act on all of its members."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from headwater.core.errors import DatabaseError, HeadwaterError, NotFound
from headwater.core.idempotency_rows import set_key_resource
from headwater.core.ports import Database
from headwater.events import event_rows
from headwater.feeds.change_feed import change_feed, refetch
from headwater.feeds.feed import FeedPatch
from headwater.subscriptions import subscription_rows
from headwater.subscriptions.change_subscription import SubscriptionUpdate, change_subscription
from headwater.subscriptions.fetchers.config_schema import check_config
from headwater.subscriptions.groups import group_rows
from headwater.subscriptions.groups.apply_group_values import (
    SpreadResult,
    move_to_group,
    spread_group_change,
)
from headwater.subscriptions.groups.group import Group, GroupPatch, NewGroup
from headwater.subscriptions.registry_events import subscription_changed
from headwater.subscriptions.services import RegistryServices
from headwater.subscriptions.subscription import Subscription, SubscriptionPatch
from headwater.subscriptions.unsubscribe import delete_subscription

REMOVED_AT_ONCE = 100
"""Members that leave in one transaction when a group is dissolved."""

GroupAction = Literal["pause", "resume", "refetch", "delete", "move", "set"]


@dataclass(frozen=True, slots=True)
class MemberAction:
    """An action on many members. `to_group_id` is for `move`, `patch` for `set`, `hard` for
    `delete`, `whole` for `refetch`."""

    action: GroupAction
    to_group_id: int | None = None
    patch: SubscriptionPatch = field(default=SubscriptionPatch())
    hard: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class MemberResult:
    """How an action on one subscription ended; `error` is a code when it was refused."""

    subscription_id: int
    source_url: str | None = None
    error: str | None = None
    message: str | None = None
    next_visit_at: datetime | None = None
    retry_after_sec: float | None = None

    @property
    def done(self) -> bool:
        return self.error is None


async def create_group(
    new: NewGroup, database: Database, *, idempotency: bytes | None = None
) -> Group:
    check_config(new.shared.config, None)
    async with database.write() as tx:
        group = await group_rows.insert_group(tx, new, tx.now)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(group.id))
    return group


async def change_group(
    group_id: int, patch: GroupPatch, services: RegistryServices
) -> tuple[Group, SpreadResult]:
    """The changed group, and what the change did to its members.

    One change spreads at a time: one that is under way is finished before and after ours.
    """
    check_config(patch.shared.get("config"), None)
    await spread_group_change(services, group_id)
    while not await _try_change(services.database, group_id, patch):
        await spread_group_change(services, group_id)
    spread = await spread_group_change(services, group_id)
    async with services.database.read() as view:
        return await group_rows.get_group(view, group_id), spread


async def _try_change(database: Database, group_id: int, patch: GroupPatch) -> bool:
    """False while another change is on its way to the members."""
    async with database.write() as tx:
        group = await group_rows.lock_group(tx, group_id)
        if group.spreading is not None:
            return False
        await group_rows.update_group(tx, group, patch, tx.now)
    return True


async def dissolve_group(group_id: int, services: RegistryServices) -> Group:
    """The group as it was. Its subscriptions stay, without the values that they had from it."""
    async with services.database.read() as view:
        group = await group_rows.get_group(view, group_id)
    while not await _remove_batch_of_members(services, group_id):
        pass
    return group


async def _remove_batch_of_members(services: RegistryServices, group_id: int) -> bool:
    """A batch of members leaves. True when these were the last ones: the group is deleted too."""
    async with services.database.write() as tx:
        members = await group_rows.list_members_by_feed(
            tx, group_id, after=0, limit=REMOVED_AT_ONCE
        )
        events = []
        locked: dict[int, Group] = {}
        for member in members:
            subscription = await subscription_rows.get_subscription(tx, member.subscription_id)
            if subscription.group_id != group_id:
                continue  # it went elsewhere while its lock was waited for
            left = await move_to_group(
                tx, services.feeds.schedule, subscription, None, tx.now, locked
            )
            if left.is_active:
                events.append(subscription_changed(left, ["group_id"]))
        if is_last := len(members) < REMOVED_AT_ONCE:
            await group_rows.delete_group(tx, group_id)
        await event_rows.append_events(tx, events, tx.now)
    return is_last


async def join_group(
    group_id: int, subscription_id: int, services: RegistryServices, who: str, gap: timedelta
) -> Subscription:
    """From whatever group it is in; NotFound where there is no such group."""
    async with services.database.read() as view:
        await group_rows.get_group(view, group_id)
    update = SubscriptionUpdate(SubscriptionPatch(group_id=group_id))
    return await change_subscription(subscription_id, update, services, who, gap=gap)


async def leave_group(
    group_id: int, subscription_id: int, services: RegistryServices, who: str, gap: timedelta
) -> Subscription:
    async with services.database.read() as view:
        _check_member(await subscription_rows.get_subscription(view, subscription_id), group_id)
    update = SubscriptionUpdate(SubscriptionPatch(group_id=None))
    return await change_subscription(subscription_id, update, services, who, gap=gap)


async def act_on_members(
    subscription_ids: Sequence[int],
    group_id: int,
    action: MemberAction,
    services: RegistryServices,
    who: str,
    gap: timedelta,
) -> list[MemberResult]:
    """One after the other, each in a transaction of its own: a refusal stops no other member.

    A refetch is as polite as one by hand: for a feed that was just visited, the result says when
    to ask again.
    """
    return [
        await _act_on_member(services, subscription_id, group_id, action, who, gap)
        for subscription_id in subscription_ids
    ]


async def _act_on_member(
    services: RegistryServices,
    subscription_id: int,
    group_id: int,
    action: MemberAction,
    who: str,
    gap: timedelta,
) -> MemberResult:
    source_url: str | None = None
    try:
        async with services.database.read() as view:
            subscription = await subscription_rows.get_subscription(view, subscription_id)
        source_url = subscription.source_url
        _check_member(subscription, group_id)
        next_visit_at = await _carry_out(services, subscription, action, who, gap)
    except DatabaseError:
        raise
    except HeadwaterError as refusal:
        return MemberResult(
            subscription_id,
            source_url,
            refusal.code,
            refusal.message,
            retry_after_sec=refusal.facts.get("retry_after_sec"),
        )
    return MemberResult(subscription_id, source_url, next_visit_at=next_visit_at)


async def _carry_out(
    services: RegistryServices,
    subscription: Subscription,
    action: MemberAction,
    who: str,
    gap: timedelta,
) -> datetime | None:
    """The time of the next visit, where the action decides it."""
    match action.action:
        case "pause" | "resume":
            state: Literal["paused", "active"] = "paused" if action.action == "pause" else "active"
            feed = await change_feed(
                subscription.feed_id, FeedPatch(state=state), services.feeds, gap
            )
            return feed.schedule.next_visit_at
        case "refetch":
            result = await refetch(
                subscription.feed_id, services.feeds, whole=action.whole, gap=gap
            )
            return result.next_visit_at
        case "delete":
            await delete_subscription(subscription.id, services.database, who, hard=action.hard)
        case "move":
            update = SubscriptionUpdate(SubscriptionPatch(group_id=action.to_group_id))
            await change_subscription(subscription.id, update, services, who, gap=gap)
        case "set":
            update = SubscriptionUpdate(action.patch)
            await change_subscription(subscription.id, update, services, who, gap=gap)
    return None


def _check_member(subscription: Subscription, group_id: int) -> None:
    if subscription.group_id != group_id:
        raise NotFound("This subscription is not in this group.", what="subscription")
