"""Conflicts decided by evidence, where an operator allows it and the evidence is strong."""

from headwater.engine import Engine
from headwater.errors import AlreadyResolved, InvalidFetcher, NotFound
from headwater.resolving import resolve_conflict
from headwater.subscribe.conflicts import store
from headwater.subscribe.evidence import Suggestion
from headwater.subscribe.tallies.queries import suggestion_for
from headwater.telemetry.log import logger

AUTO = "auto"
"""Who decided, when nobody did."""

_AT_ONCE = 200

log = logger("deciding")


async def decide_by_evidence(conflict_id: int, engine: Engine) -> bool:
    """The same road as a person's choice, with the evidence as its reason. False: left open."""
    learning = engine.rules.learning
    if not learning.auto_resolve:
        return False
    async with engine.database.read() as view:
        conflict = await store.conflict(view, conflict_id)
        told = await suggestion_for(view, conflict, learning, engine.clock.now())
    if conflict.status != "unresolved" or not isinstance(told, Suggestion) or not told.is_strong:
        return False
    try:
        await resolve_conflict(
            conflict.id, told.fetcher_id, engine, AUTO, reason=told.why, automatic=True
        )
    except (AlreadyResolved, InvalidFetcher, NotFound) as meanwhile:
        # A person was faster, or has disabled the fetcher or deleted the subscription.
        log.info("not_decided", conflict=conflict.id, why=meanwhile.message)
        return False
    return True


async def decide_subscription(subscription_id: int, engine: Engine) -> bool:
    """For a subscription just made: its conflict, if one was opened with it."""
    if not engine.rules.learning.auto_resolve:
        return False
    async with engine.database.read() as view:
        found = await store.conflicts(view, limit=1, subscription_id=subscription_id)
    return bool(found) and await decide_by_evidence(found[0].id, engine)


async def decide_open_conflicts(engine: Engine) -> int:
    """All that are open: the evidence grows while they wait. Answers how many were decided."""
    decided, after = 0, 0
    while engine.rules.learning.auto_resolve:
        async with engine.database.read() as view:
            found = await store.conflicts(view, after=after, limit=_AT_ONCE)
        for conflict in found:
            decided += await decide_by_evidence(conflict.id, engine)
        if len(found) < _AT_ONCE:
            break
        after = found[-1].id
    return decided
