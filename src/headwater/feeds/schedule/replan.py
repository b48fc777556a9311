"""Replan a visit, without a request, after a user changed the feed's clamps or cadence."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from headwater.core.ports import Transaction
from headwater.feeds import feed_rows
from headwater.feeds.feed import Feed
from headwater.feeds.overrides import Overrides
from headwater.feeds.schedule.decide_next_visit import interval_in_force
from headwater.feeds.schedule.durations import format_duration
from headwater.feeds.schedule.hints import Hints, end_of_quiet, floors
from headwater.feeds.schedule.policy import SchedulePolicy
from headwater.feeds.schedule.state import ScheduleState


@dataclass(frozen=True, slots=True)
class ReplannedVisit:
    interval_sec: float
    next_visit_at: datetime
    reason: str


def replan_visit(
    feed: Feed, policy: SchedulePolicy, now: datetime, *, before: Overrides
) -> ReplannedVisit:
    """The new interval counts from the last fetch. A wait that politeness asked for stays.

    `before` are the overrides that the feed's present interval comes from.
    """
    own = feed.overrides.policy_from(policy)
    state = ScheduleState(feed.schedule.interval_sec, ewma=feed.stats.ewma_sec, overrides=before)
    interval = interval_in_force(state.with_overrides(feed.overrides, own), own)
    planned = feed.schedule.next_visit_at
    last = _last_fetch(feed, now)
    if planned is not None and _held_by_politeness(feed):
        reason = "the limits were changed; errors or the host's own wish still decide"
        return ReplannedVisit(interval, planned, reason)
    if last is None:
        return ReplannedVisit(
            interval, planned or now, "the limits were changed before the first visit"
        )
    hints = Hints.from_json(feed.hints)
    wait = max(interval, *floors(hints, own.max_interval).values(), 0.0)
    limit = timedelta(days=own.quiet_limit_days)
    moment = end_of_quiet(max(last + timedelta(seconds=wait), now), hints, limit)
    away = format_duration((moment - now).total_seconds())
    return ReplannedVisit(interval, moment, f"in {away}: the limits were changed by a user")


def _held_by_politeness(feed: Feed) -> bool:
    """A user's change must not shorten the backoff after errors, or a Retry-After."""
    return feed.stats.failures > 0 or feed.schedule.retry_after_sec is not None


def earliest_visit(feed: Feed, gap: timedelta, now: datetime) -> datetime:
    """The earliest moment at which a person may have the feed requested again."""
    moments = [now]
    last = _last_fetch(feed, now)
    if last is not None:
        moments.append(last + gap)
    rest, since = feed.schedule.retry_after_sec, feed.schedule.last_decision_at
    if rest is not None and since is not None:
        moments.append(min(since, now) + timedelta(seconds=rest))
    return max(moments)


def _last_fetch(feed: Feed, now: datetime) -> datetime | None:
    """Never in the future, where a clock that has been corrected since may have put it."""
    last = feed.stats.last_fetch_at
    return None if last is None else min(last, now)


async def replan_feed(
    tx: Transaction, before: Feed, after: Feed, policy: SchedulePolicy, now: datetime
) -> None:
    """Replan a feed whose pace was changed.

    A feed that is not visited, or is to be visited at once, keeps the new interval for later: else
    a cadence that was taken back would still be its interval.
    """
    plan = replan_visit(after, policy, now, before=before.overrides)
    if before.state != "active" or after.state != "active":
        await feed_rows.keep_interval(tx, after, plan.interval_sec)
        return
    await feed_rows.set_next_visit(
        tx,
        after,
        at=plan.next_visit_at,
        interval_sec=plan.interval_sec,
        reason=plan.reason,
        now=now,
    )
