"""Groups over HTTP: collections with shared configuration, and one wish for many subscriptions."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from headwater import grouping
from headwater.entrypoints.api.asking import REFUSALS, At, Cursor, Limit, told
from headwater.entrypoints.api.cursors import cursor, numbers_of
from headwater.entrypoints.api.group_models import (
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
from headwater.entrypoints.api.models import NothingIn
from headwater.entrypoints.api.numbers import number
from headwater.entrypoints.api.once import Told, once
from headwater.entrypoints.api.registry_records import SubscriptionPage, SubscriptionRecord
from headwater.subscribe.group import Group
from headwater.subscribe.groups import store
from headwater.subscribe.subscriptions import queries

router = APIRouter(tags=["groups"], responses=REFUSALS)


@router.get("/groups", response_model=GroupPage)
async def list_groups(
    at: At, limit: Limit = None, cursor_: Annotated[Cursor, Query(alias="cursor")] = None
) -> Response:
    """In the order they were made."""
    size = at.page_size(limit)
    (after,) = numbers_of(cursor_, "groups", 1) if cursor_ else (0,)
    async with at.engine.database.read() as view:
        found = await store.groups(view, after=after, limit=size + 1)
    more = cursor("groups", found[size - 1].id) if len(found) > size else None
    return told(GroupPage(groups=[GroupRecord.of(each) for each in found[:size]], next_cursor=more))


@router.post("/groups", response_model=GroupRecord, status_code=201)
async def make_group(body: NewGroupIn, request: Request, at: At) -> Response:
    """A name of its own, and what holds for every member that says nothing else itself."""

    async def effect(key: bytes | None) -> str:
        return str((await grouping.create_group(body.group(), at.engine, idempotency=key)).id)

    async def tell(group_id: str) -> Told:
        record = GroupRecord.of(await _group(at, int(group_id)))
        return Told(201, record, location=f"/groups/{group_id}")

    return await once(request, at.engine, effect, tell)


@router.get("/groups/{group_id}", response_model=GroupRecord)
async def show_group(group_id: str, at: At) -> Response:
    """One group."""
    return told(GroupRecord.of(await _group(at, number(group_id, "group"))))


@router.patch("/groups/{group_id}", response_model=ChangedGroupRecord)
async def change_group(group_id: str, body: GroupChanges, at: At) -> Response:
    """Only what is named changes, for all members that have no value of their own."""
    known = number(group_id, "group")
    group, heard = await grouping.change_group(known, body.patch(), at.engine)
    return told(ChangedGroupRecord.after(group, heard))


@router.delete("/groups/{group_id}", response_model=DissolvedRecord)
async def dissolve_group(group_id: str, at: At) -> Response:
    """The group goes, with its credentials. Its subscriptions stay, in no group."""
    group = await grouping.dissolve_group(number(group_id, "group"), at.engine)
    return told(
        DissolvedRecord(group_id=group.id, name=group.name, subscriptions_kept=group.members)
    )


@router.get("/groups/{group_id}/subscriptions", response_model=SubscriptionPage)
async def list_members(
    group_id: str,
    at: At,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
    include_inactive: bool = False,
) -> Response:
    """In the order they were made."""
    size = at.page_size(limit)
    (after,) = numbers_of(cursor_, "members", 1) if cursor_ else (0,)
    async with at.engine.database.read() as view:
        group = await store.group(view, number(group_id, "group"))
        found = await queries.subscriptions(
            view,
            after=after,
            limit=size + 1,
            include_inactive=include_inactive,
            group_id=group.id,
        )
    more = cursor("members", found[size - 1].id) if len(found) > size else None
    records = [SubscriptionRecord.of(each) for each in found[:size]]
    return told(SubscriptionPage(subscriptions=records, next_cursor=more))


@router.put("/groups/{group_id}/subscriptions/{subscription_id}", response_model=SubscriptionRecord)
async def join_group(
    group_id: str, subscription_id: str, request: Request, at: At, body: NothingIn | None = None
) -> Response:
    """Into this group, out of any other."""
    joined = await grouping.join_group(
        (await _group(at, number(group_id, "group"))).id,
        number(subscription_id, "subscription"),
        at.engine,
        request.scope["credential"].name,
        at.gap,
    )
    return told(SubscriptionRecord.of(joined))


@router.delete(
    "/groups/{group_id}/subscriptions/{subscription_id}", response_model=SubscriptionRecord
)
async def leave_group(group_id: str, subscription_id: str, request: Request, at: At) -> Response:
    """Out of the group; it is followed as before it joined."""
    left = await grouping.leave_group(
        number(group_id, "group"),
        number(subscription_id, "subscription"),
        at.engine,
        request.scope["credential"].name,
        at.gap,
    )
    return told(SubscriptionRecord.of(left))


@router.post("/groups/{group_id}/actions", response_model=ActionReport)
async def act_on_group(group_id: str, body: ActionIn, request: Request, at: At) -> Response:
    """One wish for all active members, or for those in `subscription_ids`, with a report for
    each. A large group is done in parts: ask again with `cursor` until there is no next one."""
    known = await _group(at, number(group_id, "group"))
    if body.to_group_id is not None:
        await _group(at, body.to_group_id)
    reports: list[ActionReport] = []

    async def effect(_: bytes | None) -> str:
        # Doing it again after a crash does no harm, so the key is not tied to the first part.
        reports.append(await _acted(at, known, body, request.scope["credential"].name))
        return str(known.id)

    async def tell(_: str) -> Told:
        return Told(200, reports[0])

    return await once(request, at.engine, effect, tell)


async def _acted(at: At, group: Group, body: ActionIn, who: str) -> ActionReport:
    members, more = await _meant(at, group, body)
    results = await grouping.act_on_members(members, group.id, body.act(), at.engine, who, at.gap)
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


async def _meant(at: At, group: Group, body: ActionIn) -> tuple[list[int], str | None]:
    if body.subscription_ids is not None:
        return body.subscription_ids, None
    (after,) = numbers_of(body.cursor, "actions", 1) if body.cursor else (0,)
    async with at.engine.database.read() as view:
        found = await queries.subscriptions(
            view, after=after, limit=MOST_AT_ONCE + 1, group_id=group.id
        )
    ids = [each.id for each in found[:MOST_AT_ONCE]]
    return ids, cursor("actions", ids[-1]) if len(found) > MOST_AT_ONCE else None


async def _group(at: At, group_id: int) -> Group:
    async with at.engine.database.read() as view:
        return await store.group(view, group_id)
