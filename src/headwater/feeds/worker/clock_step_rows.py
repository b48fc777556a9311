"""Correct moments in the database after a clock step: the wall clock was set back."""

from headwater.core.ports import Transaction, View

_LONGEST_LEASE_ELSEWHERE = 86_400_000_000
"""A registered fetcher chooses the length of its lease itself, up to a day."""

_LONGEST_WAIT_FOR_A_TURN = 2 * 86_400_000_000
"""A host rests for a day at most, and the feeds that waited for it come one after the other."""

_WAITS_TOO_LONG = (
    "state = 'active' AND claimed_by IS NULL AND scheduled_at < next_visit_at AND next_visit_at > ?"
)
"""Feeds given back until their host has a turn, for longer than any host rests."""


async def has_clock_stepped_back(view: View, now: int, lease: int) -> bool:
    """Whether a feed has a moment in the future, as it does when the wall clock was set back.

    One look through the table; writers need not wait for it.
    """
    row = await view.row(
        "SELECT 1 AS found FROM feeds WHERE updated_at > ? OR last_decision_at > ?"
        f" OR ({_WAITS_TOO_LONG}) LIMIT 1",
        now + lease,
        now + lease,
        now + _LONGEST_WAIT_FOR_A_TURN,
    )
    return row is not None


async def reschedule_after_step_back(tx: Transaction, now: int, lease: int) -> None:
    """After the clock was set back, a visit decided on "in the future" keeps its wait, from now.

    So does a visit that a person asked for then (a feed followed, resumed, or refetched).
    """
    slack = now + lease
    await tx.run(
        "UPDATE feeds SET next_visit_at = next_visit_at - updated_at + ?,"
        " scheduled_at = next_visit_at - updated_at + ?, updated_at = ?"
        " WHERE state = 'active' AND claimed_by IS NULL AND updated_at > ?"
        " AND next_visit_at >= updated_at AND coalesce(last_decision_at, 0) <= ?",
        now,
        now,
        now,
        slack,
        slack,
    )
    await tx.run(
        "UPDATE feeds SET next_visit_at = next_visit_at - last_decision_at + ?,"
        " scheduled_at = next_visit_at - last_decision_at + ?, last_decision_at = ?,"
        " updated_at = ? WHERE state = 'active' AND claimed_by IS NULL AND last_decision_at > ?",
        now,
        now,
        now,
        now,
        slack,
    )
    await _let_no_host_rest_too_long(tx, now, slack)


async def cut_long_leases(tx: Transaction, now: int, lease: int) -> None:
    """Cut leases that would run for longer than any lease does: their clock was set back since.

    The lease of a registered fetcher may run for a day. A worker's last sign of life counts as one
    of now: if the worker is dead, that shows soon.
    """
    slack = now + lease
    await tx.run("UPDATE workers SET heartbeat_at = ? WHERE heartbeat_at > ?", now, slack)
    await tx.run(
        "UPDATE feeds SET next_visit_at = ? WHERE claimed_by IS NOT NULL"
        " AND next_visit_at > CASE WHEN shard >= 0 THEN CAST(? AS BIGINT)"
        " ELSE CAST(? AS BIGINT) END",
        slack,
        slack + lease,
        slack + _LONGEST_LEASE_ELSEWHERE,
    )
    await tx.run("UPDATE shards SET until = ? WHERE until > ?", slack, slack + lease)


async def _let_no_host_rest_too_long(tx: Transaction, now: int, slack: int) -> None:
    """The rest that a feed was asked for counts from now at the latest, also when nobody visits the
    feed any more. Feeds given back until their host has a turn are due: if the host still rests,
    they are given back again.
    """
    await tx.run(
        "UPDATE feeds SET last_decision_at = ? WHERE state <> 'active' AND last_decision_at > ?",
        now,
        slack,
    )
    await tx.run(
        f"UPDATE feeds SET next_visit_at = ? WHERE {_WAITS_TOO_LONG}",
        now,
        now + _LONGEST_WAIT_FOR_A_TURN,
    )
