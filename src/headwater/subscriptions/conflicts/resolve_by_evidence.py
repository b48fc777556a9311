"""Resolve conflicts by evidence, where an operator allows it and the evidence is strong."""

from headwater.core.errors import AlreadyResolved, InvalidFetcher, NotFound
from headwater.core.telemetry.log import get_logger
from headwater.subscriptions.conflicts import conflict_rows
from headwater.subscriptions.conflicts.conflict import Conflict
from headwater.subscriptions.conflicts.conflict_commands import (
    DetectedConflict,
    open_conflict,
    resolve_conflict,
)
from headwater.subscriptions.conflicts.evidence import Suggestion, suggestion_for
from headwater.subscriptions.services import RegistryServices

AUTO = "auto"
"""The name in the history when no person decided."""

_AT_ONCE = 200

logger = get_logger("deciding")


async def resolve_by_evidence(conflict_id: int, services: RegistryServices) -> bool:
    """Resolve one conflict as a person would, with the evidence as the reason. False: left open."""
    policy = services.evidence
    if not policy.auto_resolve:
        return False
    async with services.database.read() as view:
        conflict = await conflict_rows.get_conflict(view, conflict_id)
        suggestion = await suggestion_for(view, conflict, policy, view.now)
    if (
        conflict.status != "unresolved"
        or not isinstance(suggestion, Suggestion)
        or not suggestion.is_strong
    ):
        return False
    try:
        await resolve_conflict(
            conflict.id,
            suggestion.fetcher_id,
            services.database,
            AUTO,
            reason=suggestion.why,
            automatic=True,
        )
    except (AlreadyResolved, InvalidFetcher, NotFound) as meanwhile:
        # A person was faster, or has disabled the fetcher or deleted the subscription.
        logger.info("not_decided", conflict=conflict.id, why=meanwhile.message)
        return False
    return True


async def open_and_resolve_conflict(
    detected: DetectedConflict,
    services: RegistryServices,
    who: str,
    *,
    idempotency: bytes | None = None,
) -> tuple[Conflict, bool]:
    """Open a conflict, and resolve it at once where the evidence allows that. Answers the conflict
    as it is then, and whether it is new."""
    opened, is_new = await open_conflict(detected, services.database, who, idempotency=idempotency)
    await resolve_by_evidence(opened.id, services)
    async with services.database.read() as view:
        return await conflict_rows.get_conflict(view, opened.id), is_new


async def resolve_new_conflict(subscription_id: int, services: RegistryServices) -> bool:
    """Resolve the conflict that was opened with a new subscription, if there is one."""
    if not services.evidence.auto_resolve:
        return False
    async with services.database.read() as view:
        conflicts = await conflict_rows.list_conflicts(
            view, limit=1, subscription_id=subscription_id
        )
    return bool(conflicts) and await resolve_by_evidence(conflicts[0].id, services)


async def resolve_open_conflicts(services: RegistryServices) -> int:
    """Resolve all open conflicts that can be: evidence grows while they wait.

    How many were resolved.
    """
    resolved, after = 0, 0
    while services.evidence.auto_resolve:
        async with services.database.read() as view:
            conflicts = await conflict_rows.list_conflicts(view, after=after, limit=_AT_ONCE)
        for conflict in conflicts:
            resolved += await resolve_by_evidence(conflict.id, services)
        if len(conflicts) < _AT_ONCE:
            break
        after = conflicts[-1].id
    return resolved
