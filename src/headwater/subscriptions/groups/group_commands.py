"""What people ask of groups: make, change and dissolve them, and one wish for all members."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from headwater.core.engine import Engine
from headwater.core.errors import DatabaseError, HeadwaterError, NotFound
from headwater.core.idempotency_rows import set_key_resource
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
from headwater.subscriptions.subscription import Subscription, SubscriptionPatch
from headwater.subscriptions.unsubscribe import delete_subscription

LEFT_AT_ONCE = 100
"""Members that leave in one transaction when a group is dissolved."""

GroupAction = Literal["pause", "resume", "refetch", "delete", "move", "set"]


@dataclass(frozen=True, slots=True)
class MemberAction:
    """One wish for many. `to` is for `move`, `patch` for `set`, `hard` for `delete`."""

    action: GroupAction
    to: int | None = None
    patch: SubscriptionPatch = field(default=SubscriptionPatch())
    hard: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class MemberResult:
    """What became of it for one subscription; `error` is a code when it was refused."""

    subscription_id: int
    source_url: str | None = None
    error: str | None = None
    message: str | None = None
    next_visit_at: datetime | None = None
    retry_after_sec: float | None = None


async def create_group(new: NewGroup, engine: Engine, *, idempotency: bytes | None = None) -> Group:
    check_config(new.shared.config, None)
    async with engine.database.write() as tx:
        made = await group_rows.insert_group(tx, new, engine.clock.now())
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(made.id))
    return made


async def change_group(
    group_id: int, patch: GroupPatch, engine: Engine
) -> tuple[Group, SpreadResult]:
    """The new word, and how the members took it. One change spreads at a time."""
    check_config(patch.shared.get("config"), None)
    await spread_group_change(engine, group_id)
    while not await _try_change(group_id, patch, engine):
        await spread_group_change(engine, group_id)
    told = await spread_group_change(engine, group_id)
    async with engine.database.read() as view:
        return await group_rows.get_group(view, group_id), told


async def _try_change(group_id: int, patch: GroupPatch, engine: Engine) -> bool:
    """False while another change is on its way to the members."""
    async with engine.database.write() as tx:
        held = await group_rows.lock_group(tx, group_id)
        if held.spreading is not None:
            return False
        await group_rows.update_group(tx, held, patch, engine.clock.now())
    return True


async def dissolve_group(group_id: int, engine: Engine) -> Group:
    """The group as it was. Its subscriptions stay, and go on as if it had never spoken."""
    async with engine.database.read() as view:
        group = await group_rows.get_group(view, group_id)
    while not await _remove_some_members(group_id, engine):
        pass
    engine.database.woken("feeds").set()
    return group


async def _remove_some_members(group_id: int, engine: Engine) -> bool:
    """A batch of members leaves; with the last of them goes the group, and the answer is True."""
    now = engine.clock.now()
    async with engine.database.write() as tx:
        members = await group_rows.list_members_by_feed(tx, group_id, after=0, limit=LEFT_AT_ONCE)
        facts = []
        held: dict[int, Group] = {}
        for member in members:
            there = await subscription_rows.get_subscription(tx, member.subscription_id)
            if there.group_id != group_id:
                continue  # it went elsewhere while its lock was waited for
            left = await move_to_group(tx, engine, there, None, now, held)
            if left.is_active:
                facts.append(subscription_changed(left, ["group_id"]))
        if is_last := len(members) < LEFT_AT_ONCE:
            await group_rows.delete_group(tx, group_id)
        await event_rows.append_events(tx, facts, now)
    return is_last


async def join_group(
    group_id: int, subscription_id: int, engine: Engine, who: str, gap: timedelta
) -> Subscription:
    """From whatever group it is in."""
    wish = SubscriptionUpdate(SubscriptionPatch(group_id=group_id))
    return await change_subscription(subscription_id, wish, engine, who, gap=gap)


async def leave_group(
    group_id: int, subscription_id: int, engine: Engine, who: str, gap: timedelta
) -> Subscription:
    async with engine.database.read() as view:
        _check_member(await subscription_rows.get_subscription(view, subscription_id), group_id)
    wish = SubscriptionUpdate(SubscriptionPatch(group_id=None))
    return await change_subscription(subscription_id, wish, engine, who, gap=gap)


async def act_on_members(
    members: Sequence[int],
    group_id: int,
    act: MemberAction,
    engine: Engine,
    who: str,
    gap: timedelta,
) -> list[MemberResult]:
    """One after the other, each in a transaction of its own: a refusal stops nobody else.

    A refetch is as polite as one by hand: who was visited a moment ago is told when to ask again.
    """
    return [await _act_on_member(each, group_id, act, engine, who, gap) for each in members]


async def _act_on_member(
    subscription_id: int, group_id: int, act: MemberAction, engine: Engine, who: str, gap: timedelta
) -> MemberResult:
    there: Subscription | None = None
    try:
        async with engine.database.read() as view:
            there = await subscription_rows.get_subscription(view, subscription_id)
        _check_member(there, group_id)
        facts = await _carry_out(there, act, engine, who, gap)
    except DatabaseError:
        raise
    except HeadwaterError as refusal:
        return MemberResult(
            subscription_id,
            there.source_url if there else None,
            refusal.code,
            refusal.message,
            retry_after_sec=refusal.facts.get("retry_after_sec"),
        )
    return MemberResult(subscription_id, there.source_url, **facts)


async def _carry_out(
    there: Subscription, act: MemberAction, engine: Engine, who: str, gap: timedelta
) -> dict[str, Any]:
    match act.action:
        case "pause" | "resume":
            state: Literal["paused", "active"] = "paused" if act.action == "pause" else "active"
            feed = await change_feed(there.feed_id, FeedPatch(state=state), engine, gap)
            return {"next_visit_at": feed.schedule.next_visit_at}
        case "refetch":
            asked = await refetch(there.feed_id, engine, whole=act.whole, gap=gap)
            return {"next_visit_at": asked.next_visit_at}
        case "delete":
            await delete_subscription(there.id, engine, who, hard=act.hard)
        case "move":
            wish = SubscriptionUpdate(SubscriptionPatch(group_id=act.to))
            await change_subscription(there.id, wish, engine, who, gap=gap)
        case "set":
            await change_subscription(there.id, SubscriptionUpdate(act.patch), engine, who, gap=gap)
    return {}


def _check_member(subscription: Subscription, group_id: int) -> None:
    if subscription.group_id != group_id:
        raise NotFound("This subscription is not in this group.", what="subscription")
