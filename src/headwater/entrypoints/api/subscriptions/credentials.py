"""Credentials of private sources over HTTP: set and taken away, never read back."""

from typing import Annotated, Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from headwater.entrypoints.api.dependencies import (
    RouteContext,
    json_response,
    parse_number,
)
from headwater.entrypoints.api.models import CredentialsIn
from headwater.entrypoints.api.records import Record
from headwater.entrypoints.api.router import Router
from headwater.entrypoints.api.subscriptions.subscription_records import SourceUrl
from headwater.feeds.keyring import Credentials
from headwater.subscriptions import credentials


class GroupCredentialsIn(CredentialsIn):
    origins: Annotated[list[SourceUrl], Field(max_length=64)] = Field(
        default=[],
        description="For which origins; none said: for the one that all members share.",
    )


class CredentialsRecord(Record):
    """Which kinds are held, and who is shown them; the values are never told."""

    has_credentials: bool
    kinds: list[Literal["headers", "cookies", "basic", "bearer"]]
    origins: list[str]

    @classmethod
    def of(cls, held: Credentials | None) -> "CredentialsRecord":
        if held is None:
            return cls(has_credentials=False, kinds=[], origins=[])
        return cls(has_credentials=True, kinds=list(held.kinds), origins=list(held.origins))


router = Router(tags=["credentials"])


@router.put(
    "/subscriptions/{subscription_id}/credentials", right="admin", response_model=CredentialsRecord
)
async def set_credentials(
    subscription_id: str, body: CredentialsIn, request: Request, at: RouteContext
) -> Response:
    """Sent to the subscription's own origin and to no other. The feed is visited soon."""
    held = await credentials.set_subscription_credentials(
        parse_number(subscription_id, "subscription"),
        body.credentials(),
        at.registry,
        request.scope["credential"].name,
        at.gap,
    )
    return json_response(CredentialsRecord.of(held))


@router.delete(
    "/subscriptions/{subscription_id}/credentials", right="admin", response_model=CredentialsRecord
)
async def drop_credentials(subscription_id: str, request: Request, at: RouteContext) -> Response:
    """They are gone; those of its group still count."""
    known, who = parse_number(subscription_id, "subscription"), request.scope["credential"].name
    await credentials.remove_subscription_credentials(known, at.database, who)
    return json_response(CredentialsRecord.of(None))


@router.put("/groups/{group_id}/credentials", right="admin", response_model=CredentialsRecord)
async def set_group_credentials(
    group_id: str, body: GroupCredentialsIn, at: RouteContext
) -> Response:
    """For members that live at one of these origins; a member's own win, name by name."""
    held = await credentials.set_group_credentials(
        parse_number(group_id, "group"), body.credentials(), body.origins, at.registry
    )
    return json_response(CredentialsRecord.of(held))


@router.delete("/groups/{group_id}/credentials", right="admin", response_model=CredentialsRecord)
async def drop_group_credentials(group_id: str, at: RouteContext) -> Response:
    """They are gone for all members."""
    await credentials.remove_group_credentials(parse_number(group_id, "group"), at.database)
    return json_response(CredentialsRecord.of(None))
