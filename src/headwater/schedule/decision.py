"""All of the above in order: one Decision with its reason, made again from its inputs any time."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from headwater.schedule.inputs import Inputs, sane_inputs
from headwater.schedule.plan import plan_after
from headwater.schedule.policy import Policy
from headwater.schedule.quiet_hours import end_of_quiet
from headwater.schedule.state import State, Visited
from headwater.schedule.words import duration
from headwater.values.making import quickly_made


@quickly_made
@dataclass(frozen=True, slots=True)
class Decision:
    """When to come back, and why. `next` is None when the feed is gone for good.

    `interval` is the interval in force, in seconds, before luck and quiet hours; `state` is what
    to remember; `code` is a stable word, `reason` a sentence; `inputs` replays the decision.
    """

    next: datetime | None
    interval: float
    code: str
    reason: str
    state: State
    inputs: dict[str, Any]


def decide(state: State, visited: Visited, policy: Policy, now: datetime, luck: float) -> Decision:
    """Outcome rule, rhythm, clamps, the publisher's floors, luck, quiet hours: in this order.

    `luck` is in [-1, 1], drawn by the caller.
    """
    return _decided(sane_inputs(state, visited, policy, now, luck))


def replay(inputs: Mapping[str, Any]) -> Decision:
    """The decision that was made from these stored inputs."""
    return _decided(Inputs.from_json(inputs))


def first_state(policy: Policy) -> State:
    """A feed nobody has visited yet."""
    return State(interval=policy.initial_interval)


def _decided(given: Inputs) -> Decision:
    plan, inputs = plan_after(given), given.as_json()
    why = plan.why
    if plan.wait is None:
        reason = f"no more visits: {why}"
        return Decision(None, plan.interval, plan.code, reason, plan.state, inputs)
    wait = with_luck(plan.wait, plan.floor, plan.ceiling, given.policy.jitter_ratio * given.luck)
    due = given.now + timedelta(seconds=wait)
    moment = _after_quiet(due, plan.state, given)
    if moment != due:
        why = f"{why}; moved out of the publisher's quiet hours"
    reason = f"in {duration((moment - given.now).total_seconds())}: {why}"
    return Decision(moment, plan.interval, plan.code, reason, plan.state, inputs)


def with_luck(wait: float, floor: float, ceiling: float, shift: float) -> float:
    """Spread both ways; luck that would leave the bounds is turned round, lest feeds bunch."""
    moved = wait * (1 + shift)
    if not floor <= moved <= ceiling:
        moved = wait * (1 - shift)
    return min(max(moved, floor), ceiling)


def _after_quiet(due: datetime, state: State, given: Inputs) -> datetime:
    """The end of the quiet hours, spread over the open hour's first minutes."""
    limit = timedelta(days=given.policy.quiet_limit_days)
    opening = end_of_quiet(due, state.hints, limit)
    if opening == due:
        return due
    spread = timedelta(hours=given.policy.jitter_ratio * abs(given.luck))
    return min(opening + spread, due + limit)
