"""What each kind of visit means for the next one: how long to stay away, before luck."""

from dataclasses import dataclass, replace
from typing import assert_never

from headwater.schedule.backoff import circuit_is_open, pause_after, rest_asked_for
from headwater.schedule.cadence import felt_gap, newest_times, toward_rhythm, usual_gap
from headwater.schedule.hints import Hints, after_not_modified, after_whole_answer, floors
from headwater.schedule.inputs import Inputs
from headwater.schedule.policy import Policy
from headwater.schedule.state import (
    NotModified,
    ReadDocument,
    SaidGone,
    State,
    ToldToWait,
    Trouble,
)
from headwater.schedule.words import counted, duration, ordinal
from headwater.values.instant import EPOCH
from headwater.values.making import quickly_made

_HELD_BACK = {
    "ttl": "the publisher's ttl of {} holds it back",
    "update-period": "the publisher's update period of {} holds it back",
    "fresh-for": "the answer stays fresh for {}",
}


@quickly_made
@dataclass(frozen=True, slots=True)
class Plan:
    """`wait` may move by luck between `floor` and `ceiling`; None means never again."""

    code: str
    why: str
    state: State
    interval: float
    wait: float | None
    floor: float = 0.0
    ceiling: float = 0.0


def plan_after(given: Inputs) -> Plan:
    match given.visited:
        case ReadDocument() | NotModified():
            return _after_success(given, given.visited)
        case ToldToWait(retry_after=float() | int() as seconds):
            if seconds < given.policy.min_interval:
                return _after_failure(given, _slow_down_in_words(seconds))
            return _after_request_to_rest(given, seconds)
        case ToldToWait():
            return _after_failure(given, "asked to slow down (no Retry-After)")
        case Trouble(code=code, retry_after=seconds):
            return _after_failure(given, f"failed ({code})", seconds or 0.0)
        case SaidGone():
            return _after_gone(given)
        case _:
            assert_never(given.visited)


def _after_success(given: Inputs, visited: ReadDocument | NotModified) -> Plan:
    policy, learnt = given.policy, _learnt(given, visited)
    longest = _longest(learnt, policy)
    code, factor, met = _outcome_rule(visited, policy)
    if not learnt.is_ordered:
        gap = felt_gap(learnt.ewma, learnt.recent_published, _seconds(given))
        interval = min(toward_rhythm(learnt.interval * factor, gap, policy), longest)
        rhythm = _rhythm_in_words(learnt.ewma, gap)
        why = _with_bounds(f"{met} (× {factor:g}){rhythm}", interval, longest, policy)
    else:
        interval = interval_in_force(learnt, policy)
        why = f"{met}; {_order_in_words(learnt, policy)}"
    floor, hint = _floor(learnt.hints, policy)
    if floor > interval:
        why = f"{why}; {_held_back(hint, floor)}"
        interval = floor
    return Plan(
        code,
        why,
        learnt if interval == learnt.interval else learnt.with_interval(interval),
        interval,
        interval,
        max(floor, policy.min_interval),
        longest if floor < longest else policy.max_interval,
    )


def _after_request_to_rest(given: Inputs, seconds: float) -> Plan:
    """Exactly as long as the server said, never earlier; it knows better than our counting."""
    policy = given.policy
    rest = rest_asked_for(seconds, policy)
    why = f"asked to come back after {duration(rest)}"
    if seconds >= policy.retry_after_cap:
        why = f"asked to stay away for {duration(rest)} or longer, kept to that"
    return _plan_exactly(given, "retry-after", why, rest, given.state)


def _slow_down_in_words(seconds: float) -> str:
    """A rest shorter than any interval of ours: kept exactly, it would bring us back sooner than
    if nothing had been wrong, again and again for as long as it lasts."""
    return f"asked to slow down (Retry-After of {duration(seconds)})"


def _after_failure(given: Inputs, met: str, asked_for: float = 0.0) -> Plan:
    """`asked_for`: the rest that a failing answer asked for, in seconds: never sooner than that."""
    policy, failures = given.policy, given.state.failures + 1
    interval = interval_in_force(given.state, policy)
    pause = pause_after(failures, interval, policy)
    code, why = "error-backoff", f"{met}, {ordinal(failures)} failure in a row"
    if circuit_is_open(failures, policy):
        code = "circuit-open"
        why = f"{why}; one try every {duration(pause)} until one succeeds"
    floor, hint = _floor(given.state.hints, policy)
    if floor > pause:
        why = f"{why}; {_held_back(hint, floor)}"
    rest = rest_asked_for(asked_for, policy) if asked_for else 0.0
    if rest > max(pause, floor):
        why = f"{why}; asked to come back after {duration(rest)}"
    wait = max(pause, floor, rest)
    state = replace(given.state, failures=failures)
    ceiling = max(wait, policy.max_interval)
    return Plan(code, why, state, interval, wait, floor=wait, ceiling=ceiling)


def _after_gone(given: Inputs) -> Plan:
    """One 410 may be an accident: ask once more before believing it."""
    state = replace(given.state, failures=given.state.failures + 1, gone=given.state.gone + 1)
    if state.gone < 2:
        why, wait = "said 410 Gone, asked once more to be sure", given.policy.max_interval
        return _plan_exactly(given, "gone-unconfirmed", why, wait, state)
    interval = interval_in_force(state, given.policy)
    return Plan("gone", "said 410 Gone again", state, interval, wait=None)


def _plan_exactly(given: Inputs, code: str, why: str, wait: float, state: State) -> Plan:
    interval = interval_in_force(state, given.policy)
    return Plan(code, why, state, interval, wait, floor=wait, ceiling=wait)


def _learnt(given: Inputs, visited: ReadDocument | NotModified) -> State:
    """The state after a success, its interval not yet moved."""
    state = given.state
    if isinstance(visited, NotModified):
        hints = after_not_modified(state.hints, visited.fresh_for)
        if hints is state.hints and not state.failures and not state.gone:
            return state
        return replace(state, failures=0, gone=0, hints=hints)
    moments = newest_times(state.recent_published, visited.published, _seconds(given))
    gap = usual_gap(moments, given.policy.ewma_alpha)
    return replace(
        state,
        failures=0,
        gone=0,
        hints=after_whole_answer(state.hints, visited.hints, visited.fresh_for),
        recent_published=moments,
        ewma=state.ewma if gap is None else gap,
    )


def _outcome_rule(visited: ReadDocument | NotModified, policy: Policy) -> tuple[str, float, str]:
    """The code, what to multiply the interval by, and what was met in words."""
    if isinstance(visited, NotModified):
        return "not-modified", policy.up_factor, "not modified"
    if visited.new_entries > 0:
        news = counted(visited.new_entries, "new entry", "new entries")
        return "new-entries", policy.down_factor, news
    return "no-new-entries", policy.up_factor, "nothing new"


def interval_in_force(state: State, policy: Policy) -> float:
    """The interval that errors are measured against: the user's own, or the remembered one."""
    order = _standing_order(state, policy)
    if order is not None:
        return policy.clamped(order)
    return min(policy.clamped(state.interval), _longest(state, policy))


def _longest(state: State, policy: Policy) -> float:
    """How long an adaptive interval may be: shorter where somebody waits for what comes."""
    if state.ceiling is None or state.is_ordered:
        return policy.max_interval
    return policy.clamped(state.ceiling)


def _standing_order(state: State, policy: Policy) -> float | None:
    """What replaces the adaptive interval: push's slow safety check, else the user's wish."""
    return policy.max_interval if state.push_only else state.asked_interval


def _order_in_words(state: State, policy: Policy) -> str:
    if state.push_only:
        return "news is pushed, this is only a safety check"
    asked = state.asked_interval or 0
    said = f"asked for every {duration(asked)}"
    if asked < policy.min_interval:
        return f"{said}, sooner than the shortest interval allowed"
    if asked > policy.max_interval:
        return f"{said}, later than the longest interval allowed"
    return said


def _seconds(given: Inputs) -> float:
    return (given.now - EPOCH).total_seconds()


def _rhythm_in_words(ewma: float | None, gap: float | None) -> str:
    if gap is None:
        return ""
    if gap != ewma:
        return f", silent for {duration(gap)}"
    return f", posts about every {duration(gap)}"


def _with_bounds(said: str, interval: float, longest: float, policy: Policy) -> str:
    if interval >= policy.max_interval:
        return f"{said}, the longest interval allowed"
    if interval >= longest:
        return f"{said}, no longer as releases are collected from it"
    if interval <= policy.min_interval:
        return f"{said}, the shortest interval allowed"
    return said


def _floor(hints: Hints, policy: Policy) -> tuple[float, str]:
    """The strongest of the publisher's hints, and its name."""
    strongest, name = 0.0, ""
    for hint, seconds in floors(hints, policy.max_interval).items():
        if seconds > strongest:
            strongest, name = seconds, hint
    return strongest, name


def _held_back(hint: str, floor: float) -> str:
    return _HELD_BACK[hint].format(duration(floor))
