"""Credentials of private sources over HTTP: they are set and removed, and never shown."""

from headwater.entrypoints.api.dependencies import App, Caller, GroupId, SubscriptionId
from headwater.entrypoints.api.models import CredentialsIn
from headwater.entrypoints.api.router import Router
from headwater.entrypoints.api.subscriptions.credential_records import (
    CredentialsRecord,
    GroupCredentialsIn,
)
from headwater.subscriptions import credentials

router = Router(tags=["credentials"])


@router.put("/subscriptions/{subscription_id}/credentials", right="admin")
async def set_credentials(
    subscription_id: SubscriptionId, body: CredentialsIn, app: App, caller: Caller
) -> CredentialsRecord:
    """Sent to the subscription's own origin and to no other. The feed is visited soon."""
    return CredentialsRecord.of(
        await credentials.set_subscription_credentials(
            subscription_id, body.credentials(), app.registry, caller.name, app.gap
        )
    )


@router.delete("/subscriptions/{subscription_id}/credentials", right="admin")
async def drop_credentials(
    subscription_id: SubscriptionId, app: App, caller: Caller
) -> CredentialsRecord:
    """They are gone; those of its group still count."""
    await credentials.remove_subscription_credentials(subscription_id, app.database, caller.name)
    return CredentialsRecord.of(None)


@router.put("/groups/{group_id}/credentials", right="admin")
async def set_group_credentials(
    group_id: GroupId, body: GroupCredentialsIn, app: App
) -> CredentialsRecord:
    """For members that live at one of these origins; a member's own win, name by name."""
    return CredentialsRecord.of(
        await credentials.set_group_credentials(
            group_id, body.credentials(), body.origins, app.registry
        )
    )


@router.delete("/groups/{group_id}/credentials", right="admin")
async def drop_group_credentials(group_id: GroupId, app: App) -> CredentialsRecord:
    """They are gone for all members."""
    await credentials.remove_group_credentials(group_id, app.database)
    return CredentialsRecord.of(None)
