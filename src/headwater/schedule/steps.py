"""What follows from a changed mind: the next visit is planned anew."""

from datetime import datetime

from headwater.ports import Transaction
from headwater.schedule.policy import Policy
from headwater.schedule.replan import replanned
from headwater.subscribe import store
from headwater.subscribe.feed import Feed


async def plan_anew(
    tx: Transaction, before: Feed, after: Feed, policy: Policy, now: datetime
) -> None:
    """A feed whose pace was changed. One that is not visited, or is to be visited at once, has the
    new interval for later: else a cadence that was taken back would still be its interval."""
    plan = replanned(after, policy, now, before=before.overrides)
    if before.state != "active" or after.state != "active":
        await store.keep_interval(tx, after, plan.interval_sec)
        return
    await store.plan_again(
        tx,
        after,
        at=plan.next_visit_at,
        interval_sec=plan.interval_sec,
        reason=plan.reason,
        now=now,
    )
