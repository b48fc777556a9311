"""A user changed a feed's clamps or cadence: when the next visit is now, without asking anybody."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from headwater.schedule.cadence import begun_anew
from headwater.schedule.hints import Hints, floors
from headwater.schedule.plan import interval_in_force
from headwater.schedule.policy import Policy
from headwater.schedule.quiet_hours import end_of_quiet
from headwater.schedule.state import State
from headwater.schedule.words import duration
from headwater.subscribe.feed import Feed, Overrides


@dataclass(frozen=True, slots=True)
class Replanned:
    interval_sec: float
    next_visit_at: datetime
    reason: str


def policy_of(overrides: Overrides, policy: Policy) -> Policy:
    """The feed's own clamps; BadInput when they contradict each other."""
    return policy.overridden(
        min_interval=overrides.min_interval_sec, max_interval=overrides.max_interval_sec
    )


def replanned(
    feed: Feed, policy: Policy, now: datetime, *, before: Overrides | None = None
) -> Replanned:
    """The new interval counts from the last fetch; what politeness asked for stays as it was."""
    own = policy_of(feed.overrides, policy)
    state = _state_of(feed)
    if before is not None and _orders(before) and not _orders(feed.overrides):
        # The interval was the order's own and says nothing about the feed.
        state = replace(state, interval=begun_anew(feed.stats.ewma_sec, own))
    interval = interval_in_force(state, own)
    planned = feed.schedule.next_visit_at
    last = _last_fetch(feed, now)
    if planned is not None and _held_by_politeness(feed):
        said = "the limits were changed; errors or the host's own wish still decide"
        return Replanned(interval, planned, said)
    if last is None:
        return Replanned(interval, planned or now, "the limits were changed before the first visit")
    hints = Hints.from_json(feed.hints)
    wait = max(interval, *floors(hints, own.max_interval).values(), 0.0)
    limit = timedelta(days=own.quiet_limit_days)
    moment = end_of_quiet(max(last + timedelta(seconds=wait), now), hints, limit)
    away = duration((moment - now).total_seconds())
    return Replanned(interval, moment, f"in {away}: the limits were changed by a user")


def _orders(overrides: Overrides) -> bool:
    """Whether a person's word takes the place of what is learnt from the feed."""
    return overrides.push_only or overrides.interval_sec is not None


def _state_of(feed: Feed) -> State:
    return State(
        interval=feed.schedule.interval_sec,
        asked_interval=feed.overrides.interval_sec,
        push_only=feed.overrides.push_only,
        ceiling=feed.overrides.ceiling_sec,
    )


def _held_by_politeness(feed: Feed) -> bool:
    """Backoff after errors and Retry-After are not ours to shorten."""
    return feed.stats.failures > 0 or feed.schedule.retry_after_sec is not None


def earliest_visit(feed: Feed, gap: timedelta, now: datetime) -> datetime:
    """Before this moment not even a person's wish may send us there again."""
    moments = [now]
    last = _last_fetch(feed, now)
    if last is not None:
        moments.append(last + gap)
    rest, since = feed.schedule.retry_after_sec, feed.schedule.last_decision_at
    if rest is not None and since is not None:
        moments.append(min(since, now) + timedelta(seconds=rest))
    return max(moments)


def _last_fetch(feed: Feed, now: datetime) -> datetime | None:
    """By a clock that was ahead and has been put right it is still to come; it was not."""
    last = feed.stats.last_fetch_at
    return None if last is None else min(last, now)
