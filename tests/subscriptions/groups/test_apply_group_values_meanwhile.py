"""Groups that change while a member is on its way into another one."""

import asyncio
from collections.abc import Awaitable
from typing import Any

from headwater.subscriptions import subscription_rows
from headwater.subscriptions.groups import group_rows
from headwater.subscriptions.groups.apply_group_values import move_to_group, spread_group_change
from headwater.subscriptions.groups.group import GroupPatch
from headwater.subscriptions.groups.group_commands import dissolve_group
from tests.support.origin import Post
from tests.support.subscriptions_world import ADDRESSES, World


async def moved_during(world: World, made: dict[str, Any], to: int, other: Awaitable[Any]) -> None:
    """The other wish looks at its members, and waits for this one, which is on its way."""
    async with world.engine.database.write() as tx:
        there = await subscription_rows.get_subscription(tx, made["subscription_id"], lock=True)
        await move_to_group(tx, world.engine.schedule, there, to, world.clock.now())
        under_way = asyncio.ensure_future(other)
        await asyncio.wait({under_way}, timeout=0.3)
    await under_way


async def test_who_has_just_left_a_group_that_is_dissolved_stays_where_it_went(
    world: World,
) -> None:
    feed = world.origin.feed("/a.xml", [Post("1", "First")], address=ADDRESSES[0])
    old, new = await world.grouped("Old", priority=10), await world.grouped("New", priority=90)
    made = await world.subscribed(feed.url, group_id=old["group_id"])
    dissolving = dissolve_group(old["group_id"], world.engine.registry)
    await moved_during(world, made, new["group_id"], dissolving)
    look = (await world.api.get(f"/subscriptions/{made['subscription_id']}")).json
    priority = (await world.feed(made))["priority"]
    assert (look["group_id"], priority) == (new["group_id"], 90)


async def test_who_has_just_left_a_group_does_not_hear_its_new_word(world: World) -> None:
    feed = world.origin.feed("/a.xml", [Post("1", "First")], address=ADDRESSES[0])
    old, new = await world.grouped("Old"), await world.grouped("New")
    made = await world.subscribed(feed.url, group_id=old["group_id"])
    async with world.engine.database.write() as tx:
        held = await group_rows.lock_group(tx, old["group_id"])
        await group_rows.update_group(
            tx, held, GroupPatch(shared={"priority": 10}), world.clock.now()
        )
    telling = spread_group_change(world.engine.registry, old["group_id"])
    await moved_during(world, made, new["group_id"], telling)
    look = (await world.api.get(f"/subscriptions/{made['subscription_id']}")).json
    priority = (await world.feed(made))["priority"]
    assert (look["group_id"], priority) == (new["group_id"], 50)
