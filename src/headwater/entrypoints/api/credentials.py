"""Credentials of private sources over HTTP: set and taken away, never read back."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from headwater import private_sources
from headwater.entrypoints.api.asking import REFUSALS, At, told
from headwater.entrypoints.api.group_models import CredentialsRecord, GroupCredentialsIn
from headwater.entrypoints.api.models import CredentialsIn
from headwater.entrypoints.api.numbers import number

router = APIRouter(tags=["credentials"], responses=REFUSALS)


@router.put("/subscriptions/{subscription_id}/credentials", response_model=CredentialsRecord)
async def set_credentials(
    subscription_id: str, body: CredentialsIn, request: Request, at: At
) -> Response:
    """Sent to the subscription's own origin and to no other. The feed is visited soon."""
    held = await private_sources.set_for_subscription(
        number(subscription_id, "subscription"),
        body.credentials(),
        at.engine,
        request.scope["credential"].name,
        at.gap,
    )
    return told(CredentialsRecord.of(held))


@router.delete("/subscriptions/{subscription_id}/credentials", response_model=CredentialsRecord)
async def drop_credentials(subscription_id: str, request: Request, at: At) -> Response:
    """They are gone; those of its group still count."""
    known, who = number(subscription_id, "subscription"), request.scope["credential"].name
    await private_sources.drop_for_subscription(known, at.engine, who)
    return told(CredentialsRecord.of(None))


@router.put("/groups/{group_id}/credentials", response_model=CredentialsRecord)
async def set_group_credentials(group_id: str, body: GroupCredentialsIn, at: At) -> Response:
    """For members that live at one of these origins; a member's own win, name by name."""
    held = await private_sources.set_for_group(
        number(group_id, "group"), body.credentials(), body.origins, at.engine
    )
    return told(CredentialsRecord.of(held))


@router.delete("/groups/{group_id}/credentials", response_model=CredentialsRecord)
async def drop_group_credentials(group_id: str, at: At) -> Response:
    """They are gone for all members."""
    await private_sources.drop_for_group(number(group_id, "group"), at.engine)
    return told(CredentialsRecord.of(None))
