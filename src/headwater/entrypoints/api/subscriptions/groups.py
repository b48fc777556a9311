"""Groups over HTTP: collections with shared configuration, and one wish for many subscriptions."""

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from headwater.entrypoints.api.idempotency import RouteAnswer, answer_idempotently
from headwater.entrypoints.api.models import NothingIn
from headwater.entrypoints.api.paging import cursor, decode_cursor
from headwater.entrypoints.api.router import Router
from headwater.entrypoints.api.routing import (
    Cursor,
    Limit,
    RouteContext,
    json_response,
    parse_number,
)
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
from headwater.subscriptions.groups.group import Group

router = Router(tags=["groups"])


@router.get("/groups", right="read", response_model=GroupPage)
async def list_groups(
    at: RouteContext, limit: Limit = None, cursor_: Annotated[Cursor, Query(alias="cursor")] = None
) -> Response:
    """In the order they were made."""
    size = at.page_size(limit)
    (after,) = decode_cursor(cursor_, "groups", 1) if cursor_ else (0,)
    async with at.engine.database.read() as view:
        found = await group_rows.list_groups(view, after=after, limit=size + 1)
    more = cursor("groups", found[size - 1].id) if len(found) > size else None
    return json_response(
        GroupPage(groups=[GroupRecord.of(each) for each in found[:size]], next_cursor=more)
    )


@router.post("/groups", right="admin", response_model=GroupRecord, status_code=201)
async def make_group(body: NewGroupIn, request: Request, at: RouteContext) -> Response:
    """A name of its own, and what holds for every member that says nothing else itself."""

    async def effect(key: bytes | None) -> str:
        return str((await group_commands.create_group(body.group(), at.engine, idempotency=key)).id)

    async def tell(group_id: str) -> RouteAnswer:
        record = GroupRecord.of(await _group(at, int(group_id)))
        return RouteAnswer(201, record, location=f"/groups/{group_id}")

    return await answer_idempotently(request, at.engine, effect, tell)


@router.get("/groups/{group_id}", right="read", response_model=GroupRecord)
async def show_group(group_id: str, at: RouteContext) -> Response:
    """One group."""
    return json_response(GroupRecord.of(await _group(at, parse_number(group_id, "group"))))


@router.patch("/groups/{group_id}", right="admin", response_model=ChangedGroupRecord)
async def change_group(group_id: str, body: GroupChanges, at: RouteContext) -> Response:
    """Only what is named changes, for all members that have no value of their own."""
    known = parse_number(group_id, "group")
    group, heard = await group_commands.change_group(known, body.patch(), at.engine)
    return json_response(ChangedGroupRecord.after(group, heard))


@router.delete("/groups/{group_id}", right="admin", response_model=DissolvedRecord)
async def dissolve_group(group_id: str, at: RouteContext) -> Response:
    """The group goes, with its credentials. Its subscriptions stay, in no group."""
    group = await group_commands.dissolve_group(parse_number(group_id, "group"), at.engine)
    return json_response(
        DissolvedRecord(group_id=group.id, name=group.name, subscriptions_kept=group.members)
    )


@router.get("/groups/{group_id}/subscriptions", right="read", response_model=SubscriptionPage)
async def list_members(
    group_id: str,
    at: RouteContext,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
    include_inactive: bool = False,
) -> Response:
    """In the order they were made."""
    size = at.page_size(limit)
    (after,) = decode_cursor(cursor_, "members", 1) if cursor_ else (0,)
    async with at.engine.database.read() as view:
        group = await group_rows.get_group(view, parse_number(group_id, "group"))
        found = await subscription_rows.list_subscriptions(
            view,
            after=after,
            limit=size + 1,
            include_inactive=include_inactive,
            group_id=group.id,
        )
    more = cursor("members", found[size - 1].id) if len(found) > size else None
    records = [SubscriptionRecord.of(each) for each in found[:size]]
    return json_response(SubscriptionPage(subscriptions=records, next_cursor=more))


@router.put(
    "/groups/{group_id}/subscriptions/{subscription_id}",
    right="admin",
    response_model=SubscriptionRecord,
)
async def join_group(
    group_id: str,
    subscription_id: str,
    request: Request,
    at: RouteContext,
    body: NothingIn | None = None,
) -> Response:
    """Into this group, out of any other."""
    joined = await group_commands.join_group(
        (await _group(at, parse_number(group_id, "group"))).id,
        parse_number(subscription_id, "subscription"),
        at.engine,
        request.scope["credential"].name,
        at.gap,
    )
    return json_response(SubscriptionRecord.of(joined))


@router.delete(
    "/groups/{group_id}/subscriptions/{subscription_id}",
    right="admin",
    response_model=SubscriptionRecord,
)
async def leave_group(
    group_id: str, subscription_id: str, request: Request, at: RouteContext
) -> Response:
    """Out of the group; it is followed as before it joined."""
    left = await group_commands.leave_group(
        parse_number(group_id, "group"),
        parse_number(subscription_id, "subscription"),
        at.engine,
        request.scope["credential"].name,
        at.gap,
    )
    return json_response(SubscriptionRecord.of(left))


@router.post("/groups/{group_id}/actions", right="admin", response_model=ActionReport)
async def act_on_group(
    group_id: str, body: ActionIn, request: Request, at: RouteContext
) -> Response:
    """One wish for all active members, or for those in `subscription_ids`, with a report for
    each. A large group is done in parts: ask again with `cursor` until there is no next one."""
    known = await _group(at, parse_number(group_id, "group"))
    if body.to_group_id is not None:
        await _group(at, body.to_group_id)
    reports: list[ActionReport] = []

    async def effect(_: bytes | None) -> str:
        # Doing it again after a crash does no harm, so the key is not tied to the first part.
        reports.append(await _act_on_members(at, known, body, request.scope["credential"].name))
        return str(known.id)

    async def tell(_: str) -> RouteAnswer:
        return RouteAnswer(200, reports[0])

    return await answer_idempotently(request, at.engine, effect, tell)


async def _act_on_members(at: RouteContext, group: Group, body: ActionIn, who: str) -> ActionReport:
    members, more = await _members_to_act_on(at, group, body)
    results = await group_commands.act_on_members(
        members, group.id, body.act(), at.engine, who, at.gap
    )
    records = [ActionResultRecord.of(each) for each in results]
    done = sum(each.done for each in records)
    return ActionReport(
        group_id=group.id,
        action=body.action,
        done=done,
        refused=len(records) - done,
        results=records,
        next_cursor=more,
    )


async def _members_to_act_on(
    at: RouteContext, group: Group, body: ActionIn
) -> tuple[list[int], str | None]:
    if body.subscription_ids is not None:
        return body.subscription_ids, None
    (after,) = decode_cursor(body.cursor, "actions", 1) if body.cursor else (0,)
    async with at.engine.database.read() as view:
        found = await subscription_rows.list_subscriptions(
            view, after=after, limit=MOST_AT_ONCE + 1, group_id=group.id
        )
    ids = [each.id for each in found[:MOST_AT_ONCE]]
    return ids, cursor("actions", ids[-1]) if len(found) > MOST_AT_ONCE else None


async def _group(at: RouteContext, group_id: int) -> Group:
    async with at.engine.database.read() as view:
        return await group_rows.get_group(view, group_id)
