"""Groups over HTTP: collections with shared values, and one action on many subscriptions."""

from typing import Annotated

from headwater.entrypoints.api.dependencies import App, Caller, GroupId, SubscriptionId, View
from headwater.entrypoints.api.idempotency import IdempotencyKey
from headwater.entrypoints.api.models import NothingIn
from headwater.entrypoints.api.paging import Page, page_of, paging
from headwater.entrypoints.api.router import Router
from headwater.entrypoints.api.subscriptions.group_records import (
    MOST_AT_ONCE,
    ActionIn,
    ActionReport,
    ActionResultRecord,
    ChangedGroupRecord,
    DissolvedRecord,
    GroupChanges,
    GroupPage,
    GroupRecord,
    NewGroupIn,
)
from headwater.entrypoints.api.subscriptions.subscription_records import (
    SubscriptionPage,
    SubscriptionRecord,
)
from headwater.subscriptions import subscription_rows
from headwater.subscriptions.groups import group_commands, group_rows

router = Router(tags=["groups"])


@router.get("/groups", right="read")
async def list_groups(view: View, page: Annotated[Page, paging("groups")]) -> GroupPage:
    """In the order they were made."""
    groups = await group_rows.list_groups(view, after=page.after, limit=page.size + 1)
    shown, next_cursor = page.cut(groups)
    return GroupPage(groups=[GroupRecord.of(group) for group in shown], next_cursor=next_cursor)


@router.get("/groups/{group_id}", right="read")
async def show_group(group_id: GroupId, view: View) -> GroupRecord:
    """One group."""
    return GroupRecord.of(await group_rows.get_group(view, group_id))


@router.post(
    "/groups", right="admin", status_code=201, location="/groups/{group_id}", again=show_group
)
async def make_group(body: NewGroupIn, app: App, key: IdempotencyKey) -> GroupRecord:
    """A name of its own, and what holds for every member that says nothing else itself."""
    group = await group_commands.create_group(body.group(), app.database, idempotency=key)
    return GroupRecord.of(group)


@router.patch("/groups/{group_id}", right="admin")
async def change_group(group_id: GroupId, body: GroupChanges, app: App) -> ChangedGroupRecord:
    """Only what is named changes, for all members that have no value of their own."""
    group, spread = await group_commands.change_group(group_id, body.patch(), app.registry)
    return ChangedGroupRecord.of(
        group,
        members_changed=spread.changed,
        members_unchanged=spread.unchanged,
        refused=spread.refused,
    )


@router.delete("/groups/{group_id}", right="admin")
async def dissolve_group(group_id: GroupId, app: App) -> DissolvedRecord:
    """The group goes, with its credentials. Its subscriptions stay, in no group."""
    return DissolvedRecord.of(await group_commands.dissolve_group(group_id, app.registry))


@router.get("/groups/{group_id}/subscriptions", right="read")
async def list_members(
    group_id: GroupId,
    view: View,
    page: Annotated[Page, paging("members")],
    include_inactive: bool = False,
) -> SubscriptionPage:
    """In the order they were made."""
    group = await group_rows.get_group(view, group_id)
    subscriptions = await subscription_rows.list_subscriptions(
        view,
        after=page.after,
        limit=page.size + 1,
        include_inactive=include_inactive,
        group_id=group.id,
    )
    shown, next_cursor = page.cut(subscriptions)
    records = [SubscriptionRecord.of(subscription) for subscription in shown]
    return SubscriptionPage(subscriptions=records, next_cursor=next_cursor)


@router.put("/groups/{group_id}/subscriptions/{subscription_id}", right="admin")
async def join_group(
    group_id: GroupId,
    subscription_id: SubscriptionId,
    app: App,
    caller: Caller,
    body: NothingIn | None = None,
) -> SubscriptionRecord:
    """Into this group, out of any other."""
    subscription = await group_commands.join_group(
        group_id, subscription_id, app.registry, caller.name, app.gap
    )
    return SubscriptionRecord.of(subscription)


@router.delete("/groups/{group_id}/subscriptions/{subscription_id}", right="admin")
async def leave_group(
    group_id: GroupId, subscription_id: SubscriptionId, app: App, caller: Caller
) -> SubscriptionRecord:
    """Out of the group; it is followed as before it joined."""
    subscription = await group_commands.leave_group(
        group_id, subscription_id, app.registry, caller.name, app.gap
    )
    return SubscriptionRecord.of(subscription)


@router.post("/groups/{group_id}/actions", right="admin")
async def act_on_group(group_id: GroupId, body: ActionIn, app: App, caller: Caller) -> ActionReport:
    """One action for all active members, or for those in `subscription_ids`, with a report for
    each. A large group is done in parts: ask again with `cursor` until there is no next one."""
    # Doing it again after a crash does no harm, so the effect is not tied to the request's key.
    members, next_cursor = await _members_to_act_on(group_id, body, app)
    results = await group_commands.act_on_members(
        members, group_id, body.member_action(), app.registry, caller.name, app.gap
    )
    done = sum(result.done for result in results)
    return ActionReport(
        group_id=group_id,
        action=body.action,
        done=done,
        refused=len(results) - done,
        results=[ActionResultRecord.of(result) for result in results],
        next_cursor=next_cursor,
    )


async def _members_to_act_on(
    group_id: int, body: ActionIn, app: App
) -> tuple[list[int], str | None]:
    """NotFound for a group that is not there, also for the one that members shall move to."""
    async with app.database.read() as view:
        for needed_id in (group_id, body.to_group_id):
            if needed_id is not None:
                await group_rows.get_group(view, needed_id)
        if body.subscription_ids is not None:
            return body.subscription_ids, None
        page = page_of("actions", MOST_AT_ONCE, body.cursor)
        members = await subscription_rows.list_subscriptions(
            view, after=page.after, limit=page.size + 1, group_id=group_id
        )
    shown, next_cursor = page.cut(members)
    return [member.id for member in shown], next_cursor
