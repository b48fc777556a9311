"""Decision inputs: finite, stored as JSON, and read back when a decision is replayed."""

import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple, assert_never

from headwater.core.values.instant import EPOCH, rfc3339
from headwater.feeds.schedule.hints import LONGEST, Hints
from headwater.feeds.schedule.policy import SchedulePolicy
from headwater.feeds.schedule.rhythm import are_in_order, newest_times
from headwater.feeds.schedule.state import (
    NotModified,
    ReadDocument,
    SaidGone,
    ScheduleState,
    ToldToWait,
    Trouble,
    VisitOutcome,
)


class DecisionInputs(NamedTuple):
    state: ScheduleState
    visited: VisitOutcome
    policy: SchedulePolicy
    now: datetime
    luck: float

    def as_json(self) -> dict[str, Any]:
        return {
            "state": self.state.as_json(),
            "visited": _visited_as_json(self.visited),
            "policy": self.policy.as_json,
            "now": rfc3339(self.now),
            "luck": self.luck,
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "DecisionInputs":
        return cls(
            ScheduleState.from_json(fields["state"]),
            _visited_from_json(fields["visited"]),
            SchedulePolicy.from_json(fields["policy"]),
            datetime.fromisoformat(fields["now"]),
            fields["luck"],
        )


def sane_inputs(
    state: ScheduleState, visited: VisitOutcome, policy: SchedulePolicy, now: datetime, luck: float
) -> DecisionInputs:
    """The same inputs, with every number finite and only as many publication times as count."""
    moment = (now - EPOCH).total_seconds()
    return DecisionInputs(
        _sane_state(state, policy, moment),
        _sane_visited(visited, moment),
        policy,
        now,
        min(max(luck, -1.0), 1.0) if math.isfinite(luck) else 0.0,
    )


def _sane_state(state: ScheduleState, policy: SchedulePolicy, now: float) -> ScheduleState:
    """The state itself when nothing is wrong with it, as with every state that we stored."""
    overrides = state.overrides.finite()
    if overrides is state.overrides and _is_sane(state, now):
        return state
    usable = math.isfinite(state.interval) and state.interval > 0
    return ScheduleState(
        min(state.interval, LONGEST) if usable else policy.initial_interval,
        max(state.failures, 0),
        state.gone,
        _finite(state.ewma),
        _sane_hints(state.hints),
        newest_times(state.recent_published, (), now),
        overrides,
    )


def _is_sane(state: ScheduleState, now: float) -> bool:
    """NaN fails every one of these comparisons."""
    ewma, fresh = state.ewma, state.hints.fresh_for
    return (
        0 < state.interval <= LONGEST
        and state.failures >= 0
        and (ewma is None or 0 <= ewma <= LONGEST)
        and (fresh is None or 0 <= fresh <= LONGEST)
        and _finite(state.hints.update_seconds) == state.hints.update_seconds
        and are_in_order(state.recent_published, now)
    )


def _sane_hints(hints: Hints) -> Hints:
    seconds, fresh = _finite(hints.update_seconds), _finite(hints.fresh_for)
    if seconds == hints.update_seconds and fresh == hints.fresh_for:
        return hints
    return hints._replace(update_seconds=seconds, fresh_for=fresh)


def _sane_visited(visited: VisitOutcome, now: float) -> VisitOutcome:
    match visited:
        case ReadDocument():
            return replace(
                visited,
                hints=None if visited.hints is None else _sane_hints(visited.hints),
                published=newest_times((), visited.published, now),
                fresh_for=_finite(visited.fresh_for),
            )
        case NotModified():
            fresh = _finite(visited.fresh_for)
            return visited if fresh == visited.fresh_for else NotModified(fresh)
        case ToldToWait():
            return ToldToWait(_finite(visited.retry_after, instead=0.0))
        case Trouble():
            return replace(visited, retry_after=_finite(visited.retry_after))
        case SaidGone():
            return visited
        case _:
            assert_never(visited)


def _finite(number: float | None, instead: float | None = None) -> float | None:
    """Between zero and a year; `instead` for NaN."""
    if number is None:
        return None
    return instead if math.isnan(number) else min(max(number, 0.0), LONGEST)


def _visited_as_json(visited: VisitOutcome) -> dict[str, Any]:
    fields: dict[str, Any]
    match visited:
        case ReadDocument():
            fields = {
                "new_entries": visited.new_entries,
                "hints": None if visited.hints is None else visited.hints.as_json(),
                "published": list(visited.published) or None,
                "fresh_for": visited.fresh_for,
            }
        case NotModified():
            fields = {"fresh_for": visited.fresh_for}
        case ToldToWait():
            fields = {"retry_after": visited.retry_after}
        case Trouble():
            fields = {"code": visited.code, "retry_after": visited.retry_after}
        case SaidGone():
            fields = {}
        case _:
            assert_never(visited)
    present = {name: value for name, value in fields.items() if value is not None}
    return {"met": type(visited).__name__, **present}


def _visited_from_json(fields: Mapping[str, Any]) -> VisitOutcome:
    match fields["met"]:
        case "ReadDocument":
            hints = fields.get("hints")
            return ReadDocument(
                fields["new_entries"],
                None if hints is None else Hints.from_json(hints),
                tuple(fields.get("published", ())),
                fields.get("fresh_for"),
            )
        case "NotModified":
            return NotModified(fields.get("fresh_for"))
        case "ToldToWait":
            return ToldToWait(fields.get("retry_after"))
        case "Trouble":
            return Trouble(fields["code"], fields.get("retry_after"))
        case "SaidGone":
            return SaidGone()
        case unknown:
            raise ValueError(f"no visit ever met {unknown!r}")
