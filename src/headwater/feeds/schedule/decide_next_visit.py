"""Decide when to visit a feed next: the same inputs always give the same decision."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple, assert_never

from headwater.core.values.instant import EPOCH
from headwater.feeds.schedule.decision_inputs import DecisionInputs, sane_inputs
from headwater.feeds.schedule.durations import format_count, format_duration, ordinal
from headwater.feeds.schedule.hints import (
    Hints,
    after_not_modified,
    after_whole_answer,
    end_of_quiet,
    floors,
)
from headwater.feeds.schedule.policy import SchedulePolicy
from headwater.feeds.schedule.rhythm import adapt_interval, gap_or_silence, newest_times, usual_gap
from headwater.feeds.schedule.state import (
    NotModified,
    ReadDocument,
    SaidGone,
    ScheduleState,
    ToldToWait,
    Trouble,
    VisitOutcome,
)


def circuit_is_open(failures: int, policy: SchedulePolicy) -> bool:
    return failures >= policy.error_budget


def pause_after(failures: int, interval: float, policy: SchedulePolicy) -> float:
    """Seconds to stay away after the n-th failure in a row; the first is n = 1.

    Never below the remembered interval, and never below an earlier failure's pause: with a max
    interval below the backoff's cap the open circuit keeps to the cap.
    """
    pause = max(interval, _doubled(failures, policy))
    if circuit_is_open(failures, policy):
        return max(pause, policy.max_interval)
    return pause


def rest_asked_for(retry_after: float, policy: SchedulePolicy) -> float:
    """Retry-After as we obey it: to the second, within sane bounds."""
    if not retry_after > policy.min_interval:  # NaN too
        return policy.min_interval
    return max(min(retry_after, policy.retry_after_cap), policy.min_interval)


def _doubled(failures: int, policy: SchedulePolicy) -> float:
    try:
        grown = policy.initial_interval * policy.backoff_base**failures
    except OverflowError:
        return policy.backoff_cap
    return min(grown, policy.backoff_cap)


_HELD_BACK = {
    "ttl": "the publisher's ttl of {} holds it back",
    "update-period": "the publisher's update period of {} holds it back",
    "fresh-for": "the answer stays fresh for {}",
}


class VisitPlan(NamedTuple):
    """The next visit before luck and quiet hours.

    Luck may move `wait` between `floor` and `ceiling`; None means never again.
    """

    code: str
    why: str
    state: ScheduleState
    interval: float
    wait: float | None
    floor: float = 0.0
    ceiling: float = 0.0


def plan_next_visit(inputs: DecisionInputs) -> VisitPlan:
    match inputs.visited:
        case ReadDocument() | NotModified():
            return _after_success(inputs, inputs.visited)
        case ToldToWait(retry_after=float() | int() as seconds):
            if seconds < inputs.policy.min_interval:
                return _after_failure(inputs, _slow_down_in_words(seconds))
            return _after_request_to_rest(inputs, seconds)
        case ToldToWait():
            return _after_failure(inputs, "asked to slow down (no Retry-After)")
        case Trouble(code=code, retry_after=seconds):
            return _after_failure(inputs, f"failed ({code})", seconds or 0.0)
        case SaidGone():
            return _after_gone(inputs)
        case _:
            assert_never(inputs.visited)


def _after_success(inputs: DecisionInputs, visited: ReadDocument | NotModified) -> VisitPlan:
    policy, state = inputs.policy, _learn(inputs, visited)
    longest = _longest(state, policy)
    code, factor, met = _outcome_rule(visited, policy)
    if not state.overrides.has_fixed_interval:
        gap = gap_or_silence(state.ewma, state.recent_published, _seconds(inputs))
        interval = min(adapt_interval(state.interval * factor, gap, policy), longest)
        rhythm = _rhythm_in_words(state.ewma, gap)
        why = _with_bounds(f"{met} (× {factor:g}){rhythm}", interval, longest, policy)
    else:
        interval = interval_in_force(state, policy)
        why = f"{met}; {_fixed_interval_in_words(state, policy)}"
    floor, hint = _floor(state.hints, policy)
    if floor > interval:
        why = f"{why}; {_held_back(hint, floor)}"
        interval = floor
    return VisitPlan(
        code,
        why,
        state if interval == state.interval else state.with_interval(interval),
        interval,
        interval,
        max(floor, policy.min_interval),
        longest if floor < longest else policy.max_interval,
    )


def _after_request_to_rest(inputs: DecisionInputs, seconds: float) -> VisitPlan:
    """Exactly as long as the server said, never earlier: it knows better than our own numbers."""
    policy = inputs.policy
    rest = rest_asked_for(seconds, policy)
    why = f"asked to come back after {format_duration(rest)}"
    if seconds >= policy.retry_after_cap:
        why = f"asked to stay away for {format_duration(rest)} or longer, kept to that"
    return _plan_exactly(inputs, "retry-after", why, rest, inputs.state)


def _slow_down_in_words(seconds: float) -> str:
    """For a rest shorter than any interval of ours. Obeyed exactly, it would bring us back sooner
    than if nothing had been wrong, again and again for as long as it lasts."""
    return f"asked to slow down (Retry-After of {format_duration(seconds)})"


def _after_failure(inputs: DecisionInputs, met: str, asked_for: float = 0.0) -> VisitPlan:
    """`asked_for` is the rest in seconds that a failing answer asked for: we never come sooner."""
    policy, failures = inputs.policy, inputs.state.failures + 1
    interval = interval_in_force(inputs.state, policy)
    pause = pause_after(failures, interval, policy)
    code, why = "error-backoff", f"{met}, {ordinal(failures)} failure in a row"
    if circuit_is_open(failures, policy):
        code = "circuit-open"
        why = f"{why}; one try every {format_duration(pause)} until one succeeds"
    floor, hint = _floor(inputs.state.hints, policy)
    if floor > pause:
        why = f"{why}; {_held_back(hint, floor)}"
    rest = rest_asked_for(asked_for, policy) if asked_for else 0.0
    if rest > max(pause, floor):
        why = f"{why}; asked to come back after {format_duration(rest)}"
    wait = max(pause, floor, rest)
    state = inputs.state._replace(failures=failures)
    ceiling = max(wait, policy.max_interval)
    return VisitPlan(code, why, state, interval, wait, floor=wait, ceiling=ceiling)


def _after_gone(inputs: DecisionInputs) -> VisitPlan:
    """One 410 may be an accident: the feed is requested once more before we believe it."""
    state = inputs.state._replace(failures=inputs.state.failures + 1, gone=inputs.state.gone + 1)
    if state.gone < 2:
        why, wait = "said 410 Gone, asked once more to be sure", inputs.policy.max_interval
        return _plan_exactly(inputs, "gone-unconfirmed", why, wait, state)
    interval = interval_in_force(state, inputs.policy)
    return VisitPlan("gone", "said 410 Gone again", state, interval, wait=None)


def _plan_exactly(
    inputs: DecisionInputs, code: str, why: str, wait: float, state: ScheduleState
) -> VisitPlan:
    interval = interval_in_force(state, inputs.policy)
    return VisitPlan(code, why, state, interval, wait, floor=wait, ceiling=wait)


def _learn(inputs: DecisionInputs, visited: ReadDocument | NotModified) -> ScheduleState:
    """The state after a success, with the interval still as it was."""
    state = inputs.state
    if isinstance(visited, NotModified):
        hints = after_not_modified(state.hints, visited.fresh_for)
        if hints is state.hints and not state.failures and not state.gone:
            return state
        return state._replace(failures=0, gone=0, hints=hints)
    moments = newest_times(state.recent_published, visited.published, _seconds(inputs))
    gap = usual_gap(moments, inputs.policy.ewma_alpha)
    return state._replace(
        failures=0,
        gone=0,
        hints=after_whole_answer(state.hints, visited.hints, visited.fresh_for),
        recent_published=moments,
        ewma=state.ewma if gap is None else gap,
    )


def _outcome_rule(
    visited: ReadDocument | NotModified, policy: SchedulePolicy
) -> tuple[str, float, str]:
    """The code, the factor for the interval, and the outcome in words."""
    if isinstance(visited, NotModified):
        return "not-modified", policy.up_factor, "not modified"
    if visited.new_entries > 0:
        entries = format_count(visited.new_entries, "new entry", "new entries")
        return "new-entries", policy.down_factor, entries
    return "no-new-entries", policy.up_factor, "nothing new"


def interval_in_force(state: ScheduleState, policy: SchedulePolicy) -> float:
    """The interval that counts: the user's own, or the remembered one.

    Errors are measured by it.
    """
    order = _fixed_interval(state, policy)
    if order is not None:
        return policy.clamped(order)
    return min(policy.clamped(state.interval), _longest(state, policy))


def _longest(state: ScheduleState, policy: SchedulePolicy) -> float:
    """The longest adaptive interval: shorter for a feed whose releases are collected."""
    ceiling = state.overrides.ceiling_sec
    if ceiling is None or state.overrides.has_fixed_interval:
        return policy.max_interval
    return policy.clamped(ceiling)


def _fixed_interval(state: ScheduleState, policy: SchedulePolicy) -> float | None:
    """The interval in place of the adaptive one: push's slow safety check, else the user's."""
    overrides = state.overrides
    return policy.max_interval if overrides.push_only else overrides.interval_sec


def _fixed_interval_in_words(state: ScheduleState, policy: SchedulePolicy) -> str:
    if state.overrides.push_only:
        return "news is pushed, this is only a safety check"
    interval = state.overrides.interval_sec or 0
    order = f"asked for every {format_duration(interval)}"
    if interval < policy.min_interval:
        return f"{order}, sooner than the shortest interval allowed"
    if interval > policy.max_interval:
        return f"{order}, later than the longest interval allowed"
    return order


def _seconds(inputs: DecisionInputs) -> float:
    return (inputs.now - EPOCH).total_seconds()


def _rhythm_in_words(ewma: float | None, gap: float | None) -> str:
    if gap is None:
        return ""
    if gap != ewma:
        return f", silent for {format_duration(gap)}"
    return f", posts about every {format_duration(gap)}"


def _with_bounds(why: str, interval: float, longest: float, policy: SchedulePolicy) -> str:
    if interval >= policy.max_interval:
        return f"{why}, the longest interval allowed"
    if interval >= longest:
        return f"{why}, no longer as releases are collected from it"
    if interval <= policy.min_interval:
        return f"{why}, the shortest interval allowed"
    return why


def _floor(hints: Hints, policy: SchedulePolicy) -> tuple[float, str]:
    """The strongest of the publisher's hints, and its name."""
    strongest, name = 0.0, ""
    for hint, seconds in floors(hints, policy.max_interval).items():
        if seconds > strongest:
            strongest, name = seconds, hint
    return strongest, name


def _held_back(hint: str, floor: float) -> str:
    return _HELD_BACK[hint].format(format_duration(floor))


class Decision(NamedTuple):
    """When to come back, and why. `next` is None when the feed is gone for good.

    `interval` is the interval in force, in seconds, before luck and quiet hours. `state` is stored
    for the next visit. `code` is a stable word, `reason` a sentence. `inputs` replay the decision.
    """

    next: datetime | None
    interval: float
    code: str
    reason: str
    state: ScheduleState
    inputs: dict[str, Any]


def decide_next_visit(
    state: ScheduleState, visited: VisitOutcome, policy: SchedulePolicy, now: datetime, luck: float
) -> Decision:
    """Apply the outcome's rule, rhythm, clamps, floors, luck and quiet hours, in this order.

    `luck` is in [-1, 1], drawn by the caller.
    """
    return _decision_from(sane_inputs(state, visited, policy, now, luck))


def replay_decision(inputs: Mapping[str, Any]) -> Decision:
    """Make the decision again that was made from these stored inputs."""
    return _decision_from(DecisionInputs.from_json(inputs))


def first_state(policy: SchedulePolicy) -> ScheduleState:
    """The state of a feed that was never visited."""
    return ScheduleState(interval=policy.initial_interval)


def _decision_from(inputs: DecisionInputs) -> Decision:
    plan, stored = plan_next_visit(inputs), inputs.as_json()
    why = plan.why
    if plan.wait is None:
        reason = f"no more visits: {why}"
        return Decision(None, plan.interval, plan.code, reason, plan.state, stored)
    wait = add_jitter(plan.wait, plan.floor, plan.ceiling, inputs.policy.jitter_ratio * inputs.luck)
    due = inputs.now + timedelta(seconds=wait)
    moment = _after_quiet(due, plan.state, inputs)
    if moment != due:
        why = f"{why}; moved out of the publisher's quiet hours"
    reason = f"in {format_duration((moment - inputs.now).total_seconds())}: {why}"
    return Decision(moment, plan.interval, plan.code, reason, plan.state, stored)


def add_jitter(wait: float, floor: float, ceiling: float, shift: float) -> float:
    """Spread both ways.

    Luck that would leave the bounds is turned round, lest feeds bunch there.
    """
    moved = wait * (1 + shift)
    if not floor <= moved <= ceiling:
        moved = wait * (1 - shift)
    return min(max(moved, floor), ceiling)


def _after_quiet(due: datetime, state: ScheduleState, inputs: DecisionInputs) -> datetime:
    """The end of the quiet hours, spread over the open hour's first minutes."""
    limit = timedelta(days=inputs.policy.quiet_limit_days)
    opening = end_of_quiet(due, state.hints, limit)
    if opening == due:
        return due
    spread = timedelta(hours=inputs.policy.jitter_ratio * abs(inputs.luck))
    return min(opening + spread, due + limit)
