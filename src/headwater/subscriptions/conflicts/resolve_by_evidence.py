"""Resolve conflicts by evidence, where an operator allows it and the evidence is strong."""

from headwater.core.errors import AlreadyResolved, InvalidFetcher, NotFound
from headwater.core.telemetry.log import get_logger
from headwater.subscriptions.conflicts import conflict_rows
from headwater.subscriptions.conflicts.conflict_commands import resolve_conflict
from headwater.subscriptions.conflicts.evidence import Suggestion, suggestion_for
from headwater.subscriptions.services import RegistryServices

AUTO = "auto"
"""Who decided, when nobody did."""

_AT_ONCE = 200

logger = get_logger("deciding")


async def resolve_by_evidence(conflict_id: int, services: RegistryServices) -> bool:
    """The same road as a person's choice, with the evidence as its reason. False: left open."""
    learning = services.evidence
    if not learning.auto_resolve:
        return False
    async with services.database.read() as view:
        conflict = await conflict_rows.get_conflict(view, conflict_id)
        told = await suggestion_for(view, conflict, learning, view.now)
    if conflict.status != "unresolved" or not isinstance(told, Suggestion) or not told.is_strong:
        return False
    try:
        await resolve_conflict(
            conflict.id, told.fetcher_id, services.database, AUTO, reason=told.why, automatic=True
        )
    except (AlreadyResolved, InvalidFetcher, NotFound) as meanwhile:
        # A person was faster, or has disabled the fetcher or deleted the subscription.
        logger.info("not_decided", conflict=conflict.id, why=meanwhile.message)
        return False
    return True


async def resolve_new_conflict(subscription_id: int, services: RegistryServices) -> bool:
    """For a subscription just made: its conflict, if one was opened with it."""
    if not services.evidence.auto_resolve:
        return False
    async with services.database.read() as view:
        found = await conflict_rows.list_conflicts(view, limit=1, subscription_id=subscription_id)
    return bool(found) and await resolve_by_evidence(found[0].id, services)


async def resolve_open_conflicts(services: RegistryServices) -> int:
    """All that are open: the evidence grows while they wait. Answers how many were decided."""
    decided, after = 0, 0
    while services.evidence.auto_resolve:
        async with services.database.read() as view:
            found = await conflict_rows.list_conflicts(view, after=after, limit=_AT_ONCE)
        for conflict in found:
            decided += await resolve_by_evidence(conflict.id, services)
        if len(found) < _AT_ONCE:
            break
        after = found[-1].id
    return decided
